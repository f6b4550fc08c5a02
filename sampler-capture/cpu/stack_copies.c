#include "sampler-capture/cpu/stack_copies.h"

#define FIRST_PROOF 50U
#define MOST_PROOF  5000U
#define RECENT      1000U

void copies_init(struct copies *copies, const struct copies_sizes *sizes)
{
    *copies = (struct copies){ .sizes = *sizes, .now = COPIES_LARGE, .proof = FIRST_PROOF };
}

enum copies_size copies_size_of(const struct copies_sizes *sizes, uint64_t bytes)
{
    int size = 0;

    while (size < COPIES_COUNT && sizes->bytes[size] < bytes)
        size++;
    return (enum copies_size)size;
}

static void change(struct copies *copies, enum copies_size size)
{
    copies->now = size;
    copies->seen = copies->strain = 0;
    for (int i = 0; i < COPIES_COUNT; i++)
        copies->needed[i] = 0;
}

/* How many stacks of so many may be cut by a size: one in a hundred, or one in twenty where copies
 * are large already, or one in ten instead of samples that are lost.  */
static uint32_t tolerated_one_in(const struct copies *copies, int size)
{
    return copies->is_lossy ? 10 : size >= COPIES_LARGE ? 20 : 100;
}

static uint32_t tolerated(const struct copies *copies, int size)
{
    return copies->seen / tolerated_one_in(copies, size);
}

/* The smallest size that is enough.  The kernel copies no more than the stack has, so medium copies
 * save room in its buffers and hardly any time, and stacks are cut when the program begins to use
 * more: they are for buffers that were too small.  */
static enum copies_size enough(const struct copies *copies)
{
    uint32_t cut = 0;
    int size = COPIES_COUNT - 1;

    while (size > 0 && cut + copies->needed[size] <= tolerated(copies, size - 1))
        cut += copies->needed[size--];
    if (size == COPIES_MEDIUM && !copies->is_lossy)
        size = COPIES_LARGE;
    while (copies->sizes.bytes[size] == 0) /* there is none of it */
        size += size < COPIES_LARGE ? 1 : -1;
    return (enum copies_size)size;
}

/* Whether more stacks are cut than one in so many.  Many that were not, long before,
 * do not make up for cuts: what a program did says nothing of what it does next.  */
static bool is_strained(struct copies *copies, bool is_cut)
{
    uint32_t one_in = tolerated_one_in(copies, (int)copies->now);

    if (is_cut)
        copies->strain += one_in;
    else if (copies->strain > 0)
        copies->strain--;
    return copies->strain > 2 * one_in;
}

/* A program that changes its mind is looked at for longer.  */
static void look(struct copies *copies, bool is_cut)
{
    if (copies->now < COPIES_LARGE && is_strained(copies, is_cut)) {
        copies->proof = copies->proof < MOST_PROOF / 4 ? 4 * copies->proof : MOST_PROOF;
        change(copies, COPIES_LARGE);
    } else if (copies->now != COPIES_SMALL && copies->seen >= copies->proof) {
        change(copies, enough(copies));
    } else if (copies->seen >= RECENT) {
        copies->seen /= 2;
        for (int i = 0; i < COPIES_COUNT; i++)
            copies->needed[i] /= 2;
    }
}

void copies_saw(struct copies *copies, enum copies_size taken, enum copies_size needed)
{
    if (taken != copies->now)
        return;
    copies->seen++;
    copies->needed[needed < COPIES_COUNT ? needed : COPIES_COUNT - 1]++;
    look(copies, needed > copies->now);
}

void copies_lost(struct copies *copies)
{
    copies->is_lossy = true;
}
