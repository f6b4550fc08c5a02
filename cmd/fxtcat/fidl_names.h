/* fidl_names.h - from the ordinal of a FIDL method to its name, as FIDL IR says: the JSON that
 * fidlc writes of a library (protocol_declarations, in older files interface_declarations, and
 * their methods).  */
#ifndef FIDL_NAMES_H
#define FIDL_NAMES_H

#include "base/arena.h"
#include "base/map.h"
#include "cmd/cli/cli.h"

struct fidl_method {
    const char *name;     /* "EchoString" */
    const char *protocol; /* "fidl.examples.echo/Echo"; "" if the file does not say it */
};

/* All zero: empty.  */
struct fidl_names {
    struct fidl_method *methods; /* owned */
    size_t count, capacity;
    struct base_map by_ordinal; /* to an index in methods */
    struct base_arena texts;
    uint64_t files, left_out; /* read; methods without a usable name or ordinal */
    uint64_t conflicts;       /* methods whose ordinal had another name; the first one holds */
};

/* Take a file, or all files of a folder and those below whose names end in .json.  CLI_OK;
 * CLI_DAMAGED after a message, if a file is no JSON: what comes before the damage is taken;
 * CLI_ENVIRONMENT after one.  */
enum cli_exit fidl_names_read(struct fidl_names *names, const char *path);

/* NULL: not known.  */
const struct fidl_method *fidl_names_find(const struct fidl_names *names, uint64_t ordinal);

void fidl_names_release(struct fidl_names *names);

#endif /* FIDL_NAMES_H */
