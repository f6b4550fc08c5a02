/* trace.h - reading a trace as the programs do: open, loop, and say in the end what was wrong
 * with it.
 *
 *     struct cli_trace trace;
 *     const struct fxt_record *record;
 *     enum cli_exit status = cli_trace_open(&trace, path, NULL);
 *     while (status == CLI_OK && cli_trace_next(&trace, &record))
 *         visit(record);
 *     status = cli_worse(status, cli_trace_close(&trace, strict));
 * / */
#ifndef CLI_TRACE_H
#define CLI_TRACE_H

#include "cmd/cli/cli.h"
#include "libfxt/fxt.h"

struct cli_trace {
    const char *path; /* "standard input" for "-" */
    int fd;
    struct fxt_input *input;
    struct fxt_reader *reader;
    enum fxt_status status; /* how reading ended */
    struct fxt_error error;
    struct cli_progress progress;
    uint64_t records;       /* delivered or counted */
    uint64_t next_progress; /* how many there are when progress is shown again */
    bool shows_damage;      /* the caller shows it: reports only tell what stopped the reading */
};

/* path "-" is stdin.  CLI_OK, or CLI_ENVIRONMENT with a message.  options may be NULL.  */
enum cli_exit cli_trace_open(struct cli_trace *trace, const char *path,
                             const struct fxt_reader_options *options);

/* The next record, or false at the end, whatever ended it.  */
bool cli_trace_next(struct cli_trace *trace, const struct fxt_record **record);

/* fxt_reader_tally() between two calls of cli_trace_next().  */
size_t cli_trace_tally(struct cli_trace *trace, struct fxt_tally *tally);

/* Say on stderr what was wrong: one sentence for damage, one for notices.  CLI_OK; CLI_DAMAGED
 * for bytes that were not understood, with strict for any notice too; CLI_ENVIRONMENT when
 * reading failed.  */
enum cli_exit cli_trace_report(const struct cli_trace *trace, bool strict);

/* Report and close.  Also for a trace that could not be opened.  */
enum cli_exit cli_trace_close(struct cli_trace *trace, bool strict);

#endif /* CLI_TRACE_H */
