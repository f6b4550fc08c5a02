/* perf_unwind.h - the callers of samples of `perf record --call-graph dwarf`.  */
#ifndef CLI_PERF_UNWIND_H
#define CLI_PERF_UNWIND_H

#include <fxt/symbolize.h>

#include "cmd/cli/cuts.h"
#include "libperf/perf_trace.h"

struct cli_perf_unwind;

/* Tables of objects are those that the session finds, which is borrowed; NULL: none.  Returns NULL
 * if memory is short.  */
struct cli_perf_unwind *cli_perf_unwind_open(struct sym_session *session);
void cli_perf_unwind_close(struct cli_perf_unwind *unwind); /* accepts NULL */

/* As unwind() of struct perf_trace_options.  */
size_t cli_perf_unwind_stack(struct cli_perf_unwind *unwind, const struct perf_trace_copy *copy,
                             uint64_t *addresses, size_t capacity, bool *is_whole);

/* Write which stacks ended early, by cause, as a phrase; false, and an empty text, if none did.  */
bool cli_perf_unwind_describe(const struct cli_perf_unwind *unwind, char *text, size_t size);
/* Whether copies of stacks were smaller than their stacks, or the stacks damaged.  */
bool cli_perf_unwind_ended_with_copies(const struct cli_perf_unwind *unwind);

/* The modules in which most stacks ended early.  Names are borrowed until perf_trace_close().  */
struct cli_cuts cli_perf_unwind_cuts(const struct cli_perf_unwind *unwind);

#endif /* CLI_PERF_UNWIND_H */
