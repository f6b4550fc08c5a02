/* files.h - which source files of both builds are the same.  */
#ifndef FXTDIFF_FILES_H
#define FXTDIFF_FILES_H

#include "cmd/fxtdiff/fxtdiff.h"

#define DIFF_NO_FILE UINT32_MAX

/* The number of the file of each function, for the base and the new build beside each other:
 * 2 * function_count numbers below 2 * function_count, or DIFF_NO_FILE, from malloc().
 *
 * Build folders differ, so files are the same whose paths end in the same two parts; where several
 * of one build do - each crate has a src/lib.rs - in so many more parts as tell them apart.  */
uint32_t *diff_number_files(const struct diff_set *set);

#endif /* FXTDIFF_FILES_H */
