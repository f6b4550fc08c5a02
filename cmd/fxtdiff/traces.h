/* traces.h - traces as runs, several read at once.
 *
 * Each is taken into a profile of its own by a thread of its own; the runs then take over what
 * it holds, in the order in which the traces were added, so that nothing depends on how many are
 * read at once.  */
#ifndef FXTDIFF_TRACES_H
#define FXTDIFF_TRACES_H

#include "cmd/cli/cli_trace.h"
#include "cmd/fxtdiff/fxtdiff.h"

struct diff_traces;

/* For count traces at most.  options are borrowed.  */
struct diff_traces *diff_traces_open(struct diff_runs *runs,
                                     const struct cli_trace_options *options, size_t count);
/* files and label are borrowed until the traces are drained.  The status is that of a trace that
 * was added before, or CLI_OK.  */
enum cli_exit diff_traces_add(struct diff_traces *traces, enum compare_side side,
                              const struct cli_trace_files *files, const char *label);
/* Wait for all that were added.  */
enum cli_exit diff_traces_drain(struct diff_traces *traces);
void diff_traces_close(struct diff_traces *traces); /* after a drain */

#endif /* FXTDIFF_TRACES_H */
