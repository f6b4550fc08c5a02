/* readers.h - the functions behind diff_readers[].  */
#ifndef FXTDIFF_READERS_H
#define FXTDIFF_READERS_H

#include "cmd/fxtdiff/fxtdiff.h"

enum cli_exit diff_read_pprof(struct diff_builder *builder, enum diff_side side, const char *path,
                              const char *label);
enum cli_exit diff_read_folded(struct diff_builder *builder, enum diff_side side, const char *path,
                               const char *label);

#endif /* FXTDIFF_READERS_H */
