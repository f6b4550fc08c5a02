#include "sampler-capture/cpu/stack_copies.h"

#define FIRST_PROOF       50U
#define MOST_PROOF        5000U
#define RECENT            1000U
#define FIRST_PATIENCE_NS UINT64_C(1000000000)
#define MOST_PATIENCE_NS  UINT64_C(64000000000)

void copies_init(struct copies *copies, const struct copies_sizes *sizes)
{
    *copies = (struct copies){ .sizes = *sizes,
                               .now = copies_top(sizes),
                               .proof = FIRST_PROOF,
                               .patience_ns = FIRST_PATIENCE_NS };
}

enum copies_size copies_top(const struct copies_sizes *sizes)
{
    return sizes->bytes[COPIES_LARGEST] > 0 ? COPIES_LARGEST : COPIES_LARGE;
}

bool copies_is_fitting(enum copies_size size)
{
    return size >= COPIES_FIRST_FITTING && size < COPIES_LARGE;
}

enum copies_size copies_size_of(const struct copies_sizes *sizes, uint64_t bytes)
{
    int size = 0;

    while (size < COPIES_COUNT && sizes->bytes[size] < bytes)
        size++;
    return (enum copies_size)size;
}

bool copies_want_small(const struct copies *copies, enum copies_size taken)
{
    return copies->sizes.bytes[COPIES_SMALL] > 0 && (taken >= COPIES_LARGE || copies->is_lossy);
}

static void change(struct copies *copies, enum copies_size size)
{
    copies->now = size;
    copies->seen = copies->not_small = copies->strain = 0;
    for (int i = 0; i < COPIES_COUNT; i++)
        copies->needed[i] = 0;
}

/* Of the samples seen, those that a size would have cut.  */
static uint32_t cut_by(const struct copies *copies, int size)
{
    uint32_t cut = 0;

    if (size == COPIES_SMALL)
        return copies->not_small;
    for (int i = size + 1; i < COPIES_COUNT; i++)
        cut += copies->needed[i];
    return cut;
}

/* The first size of those from one on that cuts at most one stack in so many.  */
static enum copies_size first_enough(const struct copies *copies, int from, uint32_t one_in)
{
    int top = (int)copies_top(&copies->sizes);

    while (from < top &&
           (copies->sizes.bytes[from] == 0 || cut_by(copies, from) > copies->seen / one_in))
        from++;
    return (enum copies_size)from;
}

/* The smallest size into which all stacks have fit for so long.  */
static enum copies_size quiet_size(const struct copies *copies, uint64_t now_ns)
{
    int size = COPIES_FIRST_FITTING;

    while (size < COPIES_LARGE &&
           (copies->sizes.bytes[size] == 0 || now_ns < copies->deeper_ns[size] ||
            now_ns - copies->deeper_ns[size] < copies->patience_ns))
        size++;
    return (enum copies_size)size;
}

/* Whether all stacks that were seen fit into some size, and it is worth while to wait and see.  */
static bool may_fit(const struct copies *copies)
{
    return copies->patience_ns == FIRST_PATIENCE_NS &&
           first_enough(copies, COPIES_FIRST_FITTING, UINT32_MAX) < COPIES_LARGE;
}

/* The cheapest size that is enough.  Where samples are lost, that is the smallest one, and one
 * stack in ten may be cut instead.  */
static enum copies_size enough(const struct copies *copies, uint64_t now_ns)
{
    enum copies_size size;

    if (copies->is_lossy)
        return first_enough(copies, COPIES_SMALL, 10);
    size = quiet_size(copies, now_ns);
    if (size < COPIES_LARGE)
        return size;
    if (copies->sizes.bytes[COPIES_SMALL] > 0 && copies->not_small <= copies->seen / 100 &&
        !may_fit(copies))
        return COPIES_SMALL;
    return first_enough(copies, COPIES_LARGE, 20);
}

/* Whether stacks are cut too often: one that should fit; or more than one in a hundred, or in ten
 * where samples are lost.  Earlier stacks that were not cut do not count against that, because
 * a program may change what it does.  */
static bool is_strained(struct copies *copies, bool is_cut)
{
    uint32_t one_in = copies->is_lossy ? 10 : 100;

    if (is_cut)
        copies->strain += one_in;
    else if (copies->strain > 0)
        copies->strain--;
    return copies->strain > (copies_is_fitting(copies->now) && !copies->is_lossy ? 0 : 2 * one_in);
}

/* A program that changes its mind is looked at for longer.  */
static void give_up(struct copies *copies)
{
    if (copies_is_fitting(copies->now) && !copies->is_lossy)
        copies->patience_ns = copies->patience_ns < MOST_PATIENCE_NS / 4 ? 4 * copies->patience_ns
                                                                         : MOST_PATIENCE_NS;
    else
        copies->proof = copies->proof < MOST_PROOF / 4 ? 4 * copies->proof : MOST_PROOF;
    change(copies, copies_top(&copies->sizes));
}

static void look(struct copies *copies, uint64_t now_ns, bool is_cut)
{
    if (copies->now < COPIES_LARGE && is_strained(copies, is_cut)) {
        give_up(copies);
    } else if (copies->now != COPIES_SMALL && copies->seen >= copies->proof) {
        change(copies, enough(copies, now_ns));
    } else if (copies->seen >= RECENT) {
        copies->seen /= 2;
        copies->not_small /= 2;
        for (int i = 0; i < COPIES_COUNT; i++)
            copies->needed[i] /= 2;
    }
}

void copies_saw(struct copies *copies, const struct copies_sample *sample)
{
    enum copies_size needed = sample->needed < COPIES_COUNT ? sample->needed : COPIES_LARGEST;
    bool is_cut = copies->now == COPIES_SMALL ? !sample->fits_small : sample->needed > copies->now;

    if (sample->taken != copies->now)
        return;
    /* From small copies it is not known how deep stacks are.  */
    for (int size = COPIES_FIRST_FITTING; size < COPIES_LARGE; size++)
        if (!copies->has_begun || copies->now == COPIES_SMALL || size < (int)needed)
            copies->deeper_ns[size] = sample->time_ns;
    copies->has_begun = true;
    copies->seen++;
    copies->needed[needed]++;
    copies->not_small += !sample->fits_small;
    look(copies, sample->time_ns, is_cut);
}

void copies_lost(struct copies *copies)
{
    copies->is_lossy = true;
}
