/* readers.h - the functions behind diff_readers[].  */
#ifndef FXTDIFF_READERS_H
#define FXTDIFF_READERS_H

#include "cmd/fxtdiff/fxtdiff.h"

enum cli_exit diff_read_pprof(struct diff_runs *runs, enum compare_side side, const char *path,
                              const char *label);
enum cli_exit diff_read_folded(struct diff_runs *runs, enum compare_side side, const char *path,
                               const char *label);

enum cli_exit diff_read_baseline(struct diff_runs *runs, enum compare_side side, const char *path,
                                 const char *label);

/* A store, by its first bytes.  read_store.c: every capture of it is a run.  */
bool diff_is_store(const unsigned char *start, size_t length);
enum cli_exit diff_read_store(struct diff_runs *runs, enum compare_side side, const char *path,
                              const char *label);

/* Whether an operand is STORE#CAPTURE; and that capture as a run.  */
bool diff_is_capture(const char *operand);
enum cli_exit diff_read_capture(struct diff_runs *runs, enum compare_side side,
                                const char *operand);

#endif /* FXTDIFF_READERS_H */
