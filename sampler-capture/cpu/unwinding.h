/* unwinding.h - stacks of samples by unwind tables, from the registers and the copy of the stack
 * that the kernel puts into them.
 *
 * It has a view of processes of its own, as they are when a sample is taken: side-band records are
 * handed over as they come, and applied in order of time, up to the time of the next sample.
 *
 * Where the copy of the stack ends early, what the kernel's walk by frame pointers found is
 * appended, if that walk went through the last frame and its module keeps frame pointers.  The
 * outermost functions may be known from another stack (chain.h).  */
#ifndef CPU_UNWINDING_H
#define CPU_UNWINDING_H

#include "cmd/cli/cuts.h"
#include "sampler-capture/cpu/stack_copies.h"
#include "sampler-capture/perf_record.h"

#include <fxt/unwind.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How stacks ended.  Counts only ever grow.  */
struct unwinding_counts {
    uint64_t stacks;
    uint64_t whole;     /* to the outermost function, by tables */
    uint64_t continued; /* to the outermost function, the rest by frame pointers */
    uint64_t joined;    /* likewise, and the outermost functions as in an earlier stack */
    uint64_t small;     /* of all stacks, those of which little was copied */
    uint64_t fitting;   /* of all stacks, those with copies of a size into which they fit */
    uint64_t ended[UNWIND_END_COUNT]; /* not whole, by the reason; [UNWIND_END_COMPLETE] is 0 */
    uint64_t other_stack;       /* the rest is on a stack that was not copied: of [NO_STACK] */
    uint64_t outgrown;          /* a smaller copy was chosen than there may be: of [NO_STACK] */
    uint64_t without_registers; /* the kernel's walk by frame pointers is all there is */
};

/* Stacks that reach the outermost function.  */
static inline uint64_t unwinding_complete(const struct unwinding_counts *counts)
{
    return counts->whole + counts->continued + counts->joined;
}

struct unwinding;

/* NULL: no memory, or this machine's stacks are not unwound by tables.  */
struct unwinding *unwinding_open(void);
void unwinding_close(struct unwinding *unwinding); /* accepts NULL */

/* Whether unwinding_open() does on this machine.  */
bool unwinding_is_possible(void);

/* Samples have copies of these sizes, one of which can be chosen.  */
void unwinding_adapt(struct unwinding *unwinding, const struct copies_sizes *sizes);

/* Samples were lost, since the kernel's buffers were full.  */
void unwinding_lost(struct unwinding *unwinding);

/* Which copies are wanted from now on.  */
enum copies_size unwinding_copies(const struct unwinding *unwinding);

/* Take a side-band record as the kernel wrote it.  False: no memory.  */
bool unwinding_tell(struct unwinding *unwinding, const uint8_t *bytes, size_t size,
                    uint64_t time_ns);

/* Samples come that were taken after those before: code that a process made may have changed.  */
void unwinding_renew(struct unwinding *unwinding);

/* Apply what was told of up to time_ns.  False: no memory.  */
bool unwinding_advance(struct unwinding *unwinding, uint64_t time_ns);

/* The program counters of a sample, at most max of them, leaf first, to frames as little-endian
 * words: with kernel those of the kernel, then those of the program.  Return addresses are as they
 * are; what a signal interrupted is one higher, so that 1 can be subtracted from all but the first.
 * False: no memory.  */
bool unwinding_frames(struct unwinding *unwinding, const struct perf_record *sample, bool kernel,
                      uint8_t *frames, size_t max, size_t *count);

const struct unwinding_counts *unwinding_counts(const struct unwinding *unwinding);

/* The modules that cut most stacks short.  Names are borrowed until the unwinding is closed.  */
struct cli_cuts unwinding_cuts(const struct unwinding *unwinding);

#endif /* CPU_UNWINDING_H */
