/* run_builder.h - a builder of runs to compare, and stacks for them.  */
#ifndef TESTS_RUN_BUILDER_H
#define TESTS_RUN_BUILDER_H

#include <fxt/compare_set.h>

/* That of the running test, between both fixtures.  */
extern struct compare_builder *run_builder;

void run_builder_open(void);
void run_builder_close(void);

/* The set.  The running test fails if there is none.  */
const struct compare_set *run_builder_finish(void);

/* The call site below parent (0: a root) of a function's line.  The name is that of the first
 * length bytes of function; line has all else.  The running test fails when there is none.  */
profile_id run_builder_call(profile_id parent, const char *function, size_t length,
                            struct profile_line line);

/* Add a value to a stack "main;f;g", root first, of the current run.  */
void run_builder_stack(const char *folded, double value);

#endif /* TESTS_RUN_BUILDER_H */
