/* stack_copies.h - how much of each stack is worth copying.
 *
 * A copy that reaches over the end of the stack costs the program a page fault, and so does the
 * kernel's walk by frame pointers in most programs: where pages are faulted in slowly, as in
 * virtual machines, each may take as long as a fifth of the sample.  Therefore the copies are of
 * the smallest size into which the stacks fit, without that walk, once no stack has been deeper for
 * a while.  With small copies callers of the innermost functions are found by tables and the rest
 * by frame pointers: that is enough for programs that keep them.  Others have large copies.
 *
 * A capture begins with the largest copies and the walk, and computes what others would have
 * given; it changes to other copies once these give the same, and back as soon as stacks are cut.
 * If the kernel's buffers are too small, smaller copies are used, and more stacks may be cut.  */
#ifndef CPU_STACK_COPIES_H
#define CPU_STACK_COPIES_H

#include <stdbool.h>
#include <stdint.h>

#define COPIES_FITTING 2 /* sizes for stacks that fit */

enum copies_size {
    COPIES_SMALL, /* with the walk */
    COPIES_FIRST_FITTING,
    COPIES_LARGE = COPIES_FIRST_FITTING + COPIES_FITTING,
    COPIES_LARGEST, /* with the walk */
    COPIES_COUNT
};

/* Bytes of each size, which grow; 0: there is none.  All have COPIES_LARGE, or nothing is copied at
 * all.  */
struct copies_sizes {
    uint32_t bytes[COPIES_COUNT];
};

/* The largest that there is: samples of it, and of small copies, have the kernel's walk.  */
enum copies_size copies_top(const struct copies_sizes *sizes);

/* Whether it is a size for stacks that fit: a deeper one is cut.  */
bool copies_is_fitting(enum copies_size size);

/* The size in which so many bytes of a stack fit; COPIES_COUNT: in none.  */
enum copies_size copies_size_of(const struct copies_sizes *sizes, uint64_t bytes);

struct copies {
    struct copies_sizes sizes;
    enum copies_size now;
    uint32_t seen;                    /* samples since the last change, those of long ago halved */
    uint32_t needed[COPIES_COUNT];    /* of them, by the size into which they fit */
    uint32_t not_small;               /* of them, those that a small copy would have changed */
    uint32_t proof;                   /* samples that are looked at before a change to less */
    uint32_t strain;                  /* grows with stacks that are cut, and shrinks with others */
    uint64_t deeper_ns[COPIES_COUNT]; /* when a stack did not fit into a size */
    uint64_t patience_ns;             /* so long must all stacks have fit */
    bool has_begun;                   /* the first sample was seen */
    bool is_lossy;                    /* samples were lost */
};

void copies_init(struct copies *copies, const struct copies_sizes *sizes);

/* What is known from a sample.  */
struct copies_sample {
    uint64_t time_ns;
    enum copies_size taken;
    enum copies_size needed; /* what fits the stack; what is cut in a copy needs the next size */
    bool fits_small;         /* a small copy gives, or gave, the same */
};

/* Whether fits_small is of interest for samples of this size.  */
bool copies_want_small(const struct copies *copies, enum copies_size taken);

/* A sample was taken.  One that is of another size than that in use, because it was taken before a
 * change, does not count.  */
void copies_saw(struct copies *copies, const struct copies_sample *sample);

/* Samples of the size in use were lost, since the kernel's buffers were full.  */
void copies_lost(struct copies *copies);

#endif /* CPU_STACK_COPIES_H */
