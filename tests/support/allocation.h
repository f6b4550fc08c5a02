/* allocation.h - make the n-th allocation of the code under test fail.
 *
 * The test programs are linked so that malloc, calloc, realloc and reallocarray of our own objects
 * come through here (-Wl,--wrap in the Makefile).  So do those of libcheck where it is a static
 * library: keep assertions, which allocate, out of the stretch between setting a failure and taking
 * it back.  */
#ifndef TESTS_ALLOCATION_H
#define TESTS_ALLOCATION_H

/* Let the n-th allocation from now on fail, 1 being the next, and only that one; 0 lets all
 * succeed.  */
void allocation_fail_at(unsigned long n);

/* How many allocations were asked for since the last allocation_fail_at().  */
unsigned long allocation_count(void);

/* Let SQLite allocate in the same way, so that its allocations are counted and fail too.  Before
 * anything else is asked of it.  */
void allocation_take_sqlite(void);

#endif /* TESTS_ALLOCATION_H */
