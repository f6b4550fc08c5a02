/* perf_input.h - perf.data files as inputs: they are read as the traces that libperf makes of
 * them.  */
#ifndef CLI_PERF_INPUT_H
#define CLI_PERF_INPUT_H

#include <fxt/fxt.h>
#include "cmd/cli/cli.h"
#include "cmd/cli/symbol_options.h"

struct cli_perf;

/* Where the bytes of an input come from.  */
struct cli_perf_source {
    const char *path;  /* "-" is standard input */
    const char *label; /* for messages */
    int fd;            /* if read is NULL */
    fxt_read_fn read;
    void *read_context;
    const struct cli_symbols *symbols; /* where objects are found; may be NULL; borrowed */
};

/* Whether a file, or what is in standard input (-), begins like a perf.data file.  */
bool cli_perf_begins(const char *path);

/* Look whether an input is a perf.data file.  Returns CLI_OK; *out is NULL if it is not and nothing
 * had to be taken from the input to see that, else what cli_perf_read() reads.  Returns another
 * status, with a message printed, if it is one that cannot be read.  */
enum cli_exit cli_perf_open(const struct cli_perf_source *source, struct cli_perf **out);

/* The bytes of the trace, or what was taken from the input and then the input itself.  */
ptrdiff_t cli_perf_read(void *perf, void *buffer, size_t size);

/* Whether the input is a perf.data file, and cli_perf_read() has a trace.  */
bool cli_perf_is(const struct cli_perf *perf);

/* Whether cli_perf_report() has the sentence about a failure of cli_perf_read().  */
bool cli_perf_says_failure(const struct cli_perf *perf);

/* Say on stderr what was damaged, what is not used, and which objects were not found.  CLI_OK, or
 * CLI_DAMAGED.  Accepts NULL.  */
enum cli_exit cli_perf_report(const struct cli_perf *perf);

void cli_perf_close(struct cli_perf *perf); /* accepts NULL */

#endif /* CLI_PERF_INPUT_H */
