/* text_file.h - small files that are read whole: budgets, suppressions, baselines.  */
#ifndef FXTDIFF_TEXT_FILE_H
#define FXTDIFF_TEXT_FILE_H

#include "cmd/cli/cli.h"

struct diff_text_file {
    const char *name; /* for messages */
    char *bytes;      /* owned */
    size_t length;
};

/* Read at most one byte more than most, for libcompare to complain about; "-" is stdin.  CLI_OK, or
 * CLI_ENVIRONMENT after a message.  */
enum cli_exit diff_text_open(struct diff_text_file *file, const char *path, size_t most);
void diff_text_close(struct diff_text_file *file);

#endif /* FXTDIFF_TEXT_FILE_H */
