/* run_builder.h - a builder of the runs that fxtdiff compares, and stacks for them.  */
#ifndef TESTS_RUN_BUILDER_H
#define TESTS_RUN_BUILDER_H

#include "cmd/fxtdiff/builder.h"

/* That of the running test, between both fixtures; nothing is symbolized.  */
extern struct diff_builder *run_builder;

void run_builder_open(void);
void run_builder_close(void);

/* The call site below parent (0: a root) of a function's line.  The name is that of the first
 * length bytes of function; line has all else.  The running test fails when there is none.  */
profile_id run_builder_call(profile_id parent, const char *function, size_t length,
                            struct profile_line line);

#endif /* TESTS_RUN_BUILDER_H */
