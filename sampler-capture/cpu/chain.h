/* chain.h - the kernel's walk by frame pointers, behind the end of the copy of a stack.
 *
 * Which of its entries is the last frame that was found is decided by where both read it: on the
 * stack.  From there on an entry counts as long as the function that it lies in keeps frame
 * pointers, so that the next one is its caller.
 *
 * The outermost functions are those of the C library, which often keep none.  What they are was
 * seen in whole stacks: what starts a thread, or main(), has the same callers each time.  */
#ifndef CPU_CHAIN_H
#define CPU_CHAIN_H

#include "sampler-capture/perf_record.h"

#include <fxt/unwind.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the user part of a callchain is: [*start, *limit) of its words; none: both are the
 * count.  */
void chain_user_part(const struct perf_record *sample, size_t *start, size_t *limit);

uint64_t chain_word(const struct perf_record *sample, size_t i);

/* What the kernel's walk would find, for a sample that has registers and a copy of the stack but
 * was taken without that walk: words as of a callchain, at most max of them, as far as the copy
 * goes.  The words of 32-bit programs have 4 bytes on x86-64; on other machines, their first is
 * all.  Returns their number.  */
size_t chain_from_copy(const struct perf_record *sample, uint8_t *words, size_t max);

/* The entry that is the last frame of a stack, or a number that is no index: they took different
 * ways.  stack->pointers is needed.  */
#define CHAIN_NONE SIZE_MAX
size_t chain_align(const struct perf_record *sample, const struct unwind_registers *registers,
                   const struct unwind_memory *memory, const struct unwind_stack *stack);

/* ---- Outermost functions ---- */

#define CHAIN_MAX_TAIL 2

/* A return address and its callers.  */
struct chain_tail {
    uint64_t address; /* 0: free */
    size_t count;
    struct {
        uint64_t address;
        const void *code; /* that it lies in: a table, or NULL */
    } each[CHAIN_MAX_TAIL];
};

/* All zero is empty.  */
struct chain_tails {
    struct chain_tail each[256];
};

/* The tail that is known, or where to put one.  */
struct chain_tail *chain_tail_of(struct chain_tails *tails, uint64_t address);

#endif /* CPU_CHAIN_H */
