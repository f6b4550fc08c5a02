/* stack_copies.h - how much of each stack is worth copying.
 *
 * With small copies callers of the innermost functions are found by tables and the rest by frame
 * pointers; that is enough for programs that keep them, and costs little.  Others need larger
 * copies.  A capture begins with large ones and computes what others would have given; it changes
 * to small ones once that is the same, and back as soon as stacks are cut.  If the kernel's buffers
 * are too small for large copies, medium ones are used, too, and more stacks may be cut.  */
#ifndef CPU_STACK_COPIES_H
#define CPU_STACK_COPIES_H

#include <stdbool.h>
#include <stdint.h>

enum copies_size { COPIES_SMALL, COPIES_MEDIUM, COPIES_LARGE, COPIES_LARGEST, COPIES_COUNT };

/* Bytes of each size, which grow; 0: there is none.  All have COPIES_LARGE, or nothing is copied at
 * all.  */
struct copies_sizes {
    uint32_t bytes[COPIES_COUNT];
};

struct copies {
    struct copies_sizes sizes;
    enum copies_size now;
    uint32_t seen;                 /* samples since the last change, those of long ago halved */
    uint32_t needed[COPIES_COUNT]; /* of them, by the size that would have been right */
    uint32_t proof;                /* samples that are looked at before a change to less */
    uint32_t strain;               /* grows with each stack that is cut, and shrinks with others */
    bool is_lossy;                 /* samples were lost */
};

void copies_init(struct copies *copies, const struct copies_sizes *sizes);

/* The size in which so many bytes of a stack fit; COPIES_COUNT: in none.  */
enum copies_size copies_size_of(const struct copies_sizes *sizes, uint64_t bytes);

/* A sample was taken, and would have been right with a copy of the size needed.  One that is of
 * another size than that in use, because it was taken before a change, does not count.  What is cut
 * in a copy needs the next size.  */
void copies_saw(struct copies *copies, enum copies_size taken, enum copies_size needed);

/* Samples of the size in use were lost, since the kernel's buffers were full.  */
void copies_lost(struct copies *copies);

#endif /* CPU_STACK_COPIES_H */
