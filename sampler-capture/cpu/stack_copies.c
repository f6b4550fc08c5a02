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
    copies->seen = 0;
    for (int i = 0; i < COPIES_COUNT; i++)
        copies->needed[i] = 0;
}

/* How many stacks of so many may be cut by a size: one in a hundred, or one in twenty where copies
 * are large already, or one in ten instead of samples that are lost.  */
static uint32_t tolerated(const struct copies *copies, int size)
{
    return copies->seen / (copies->is_lossy ? 10 : size >= COPIES_LARGE ? 20 : 100);
}

/* The smallest size that is enough.  */
static enum copies_size enough(const struct copies *copies)
{
    uint32_t cut = 0;
    int size = COPIES_COUNT - 1;

    while (size > 0 && cut + copies->needed[size] <= tolerated(copies, size - 1))
        cut += copies->needed[size--];
    while (copies->sizes.bytes[size] == 0) /* there is none of it */
        size += size < COPIES_LARGE ? 1 : -1;
    return (enum copies_size)size;
}

/* A program that changes its mind is looked at for longer.  */
static void look(struct copies *copies)
{
    uint32_t cut = 0;

    for (unsigned size = copies->now + 1; size < COPIES_COUNT; size++)
        cut += copies->needed[size];
    if (copies->now < COPIES_LARGE && cut > 2 + tolerated(copies, (int)copies->now)) {
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
    look(copies);
}

void copies_lost(struct copies *copies)
{
    copies->is_lossy = true;
}
