/* unwind_self.h - this process as one that is unwound: its mappings, their tables, its stack.  */
#ifndef TESTS_UNWIND_SELF_H
#define TESTS_UNWIND_SELF_H

#include <fxt/unwind.h>
#include <ucontext.h>

/* Read /proc/self/maps and open the tables of what it names.  Again after dlopen().  */
void unwind_self_open(void);
void unwind_self_close(void);

/* Walk the stack that a context has, up to limit, of which at most size bytes are handed over.  The
 * bytes below the stack pointer are not.  Async-signal-safe once open, but for memory that rules
 * take.  */
enum unwind_status unwind_self_walk(const ucontext_t *context, uint64_t limit, size_t size,
                                    struct unwind_stack *stack);

/* The table of the object that has address; NULL: none.  */
struct unwind_table *unwind_self_table(uint64_t address);

#endif /* TESTS_UNWIND_SELF_H */
