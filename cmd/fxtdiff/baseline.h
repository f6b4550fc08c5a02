/* baseline.h - runs as a text file that is kept in a repository.
 *
 *     fxt-baseline 1
 *     # what people write here stays
 *     type cpu nanoseconds
 *     cpu_model AMD EPYC 7B13
 *     build 1f3a… app
 *     left_out 0.00012
 *     cost 2400000000 2412000000
 *     samples 2400 2412
 *     function main<TAB>src/main.c 10 12 40<TAB>app<TAB>1200 1180<TAB>998000 997500
 *
 * One run is one column: of cost, of samples, and of both vectors of each function, which are its
 * own cost and its cost with callees in millionths of the run's.  Functions are sorted by name,
 * place is "FILE START FIRST LAST" (lines; 0 unknown).  docs/comparison.md tells the rest.  */
#ifndef FXTDIFF_BASELINE_H
#define FXTDIFF_BASELINE_H

#include "cmd/fxtdiff/fxtdiff.h"

enum {
    DIFF_BASELINE_BYTES = 100000, /* larger files are not read, and not written */
};

bool diff_is_baseline(const unsigned char *start, size_t length);
enum cli_exit diff_read_baseline(struct diff_builder *builder, enum diff_side side,
                                 const char *path, const char *label);

/* Write the runs of one side.  comments are lines, "# …\n" each, that stand at the top; may be
 * "".  */
enum cli_exit diff_write_baseline(const struct diff_set *set, enum diff_side side,
                                  const char *comments, const char *path);

#endif /* FXTDIFF_BASELINE_H */
