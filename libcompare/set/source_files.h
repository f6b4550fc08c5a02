/* source_files.h - which source files of both builds are the same.  */
#ifndef COMPARE_SOURCE_FILES_H
#define COMPARE_SOURCE_FILES_H

#include <fxt/compare_set.h>

#define SOURCE_FILES_NONE UINT32_MAX

/* The number of the file of each function, for the base and the new build beside each other:
 * 2 * function_count numbers below 2 * function_count, or SOURCE_FILES_NONE, to be released with
 * free().  NULL: no memory.
 *
 * Build folders differ, so files are the same whose paths end in the same two parts; where several
 * of one build do - each crate has a src/lib.rs - in so many more parts as tell them apart.  */
uint32_t *source_files_number(const struct compare_set *set);

#endif /* COMPARE_SOURCE_FILES_H */
