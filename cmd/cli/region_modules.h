/* region_modules.h - what the addresses of raw regions mean: files of symbolizer markup, one a
 * process.
 *
 * Sampler regions hold samples alone.  "sampler-capture cpu --regions" puts modules-PID.markup
 * beside them, modules-PID.INCARNATION.markup where an exec or a new use of the pid made another
 * process of it.  Their modules and mappings are turned into the records that an archive has for
 * them.  */
#ifndef CLI_REGION_MODULES_H
#define CLI_REGION_MODULES_H

#include <fxt/fxt.h>
#include "cmd/cli/cli.h"

#include <stdio.h>

/* One file, read line by line.  */
struct cli_modules {
    const char *path;
    FILE *file;
    uint64_t process; /* koid */
    char *line;       /* owned */
    size_t capacity;
    const char *rest; /* of the line */
    size_t left;
    uint64_t ignored; /* elements that make no record: malformed, numbers too large */
    int failed;       /* errno of a failed read, 0: none failed */
    struct fxt_provider provider;
    struct fxt_record record;
};

/* Whether a name, behind its folders, is that of such a file, and whose: *process is its koid.  */
bool cli_modules_is(const char *path, uint64_t *process);

/* CLI_OK; CLI_USAGE (after a message) when the name does not say whose modules these are;
 * CLI_ENVIRONMENT when the file cannot be read.  */
enum cli_exit cli_modules_open(struct cli_modules *modules, const char *path);

/* The next module or mapping, as a record without an offset; borrowed until the next call.  False
 * at the end.  */
bool cli_modules_next(struct cli_modules *modules, const struct fxt_record **record);

/* Says what was left out.  CLI_OK, CLI_DAMAGED then, CLI_ENVIRONMENT when reading failed.  */
enum cli_exit cli_modules_close(struct cli_modules *modules);

#endif /* CLI_REGION_MODULES_H */
