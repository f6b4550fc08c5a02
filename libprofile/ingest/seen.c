/* Stacks by fingerprint.  */
#include "libprofile/ingest/seen.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>

#define FIRST_SLOTS 1024u
#define HUGE_PAGE   ((uintptr_t)2 << 20)

/* Early in boot there may be no random bytes; where nobody attacks, the time will do.  */
static void draw_secret(struct seen_stacks *seen)
{
    if (getrandom(seen->secret, sizeof seen->secret, GRND_NONBLOCK) !=
        (ssize_t)sizeof seen->secret) {
        struct timespec now;

        (void)clock_gettime(CLOCK_REALTIME, &now);
        for (unsigned i = 0; i < 4; i++)
            seen->secret[i] = ((uint64_t)now.tv_nsec + i) * UINT64_C(0x9e3779b97f4a7c15);
    }
    seen->secret[2] |= (uint64_t)1 << 63 | 1;
    seen->secret[3] |= (uint64_t)1 << 63 | 1;
}

void seen_start(struct seen_stacks *seen, struct seen_print *print)
{
    if (seen->secret[2] == 0)
        draw_secret(seen);
    print->halves[0] = seen->secret[0];
    print->halves[1] = seen->secret[1];
}

static struct seen_slot *put(struct seen_slot *slots, size_t mask, struct seen_slot slot)
{
    size_t at = slot.half & mask;

    while (slots[at].callsite)
        at = (at + 1) & mask;
    slots[at] = slot;
    return &slots[at];
}

/* Slots are met at random: with small pages, finding the page costs as much as the slot.  */
static void ask_for_huge_pages(void *items, size_t size)
{
    uintptr_t start = ((uintptr_t)items + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    uintptr_t limit = ((uintptr_t)items + size) & ~(HUGE_PAGE - 1);

    if (start < limit)
        (void)madvise((char *)items + (start - (uintptr_t)items), limit - start, MADV_HUGEPAGE);
}

/* At most three quarters are used.  */
static bool reserve(struct seen_stacks *seen)
{
    size_t size = seen->slots ? seen->mask + 1 : 0;
    struct seen_slot *slots;

    if (size && seen->used < size / 4 * 3)
        return true;
    slots = calloc(size ? 2 * size : FIRST_SLOTS, sizeof *slots);
    if (!slots)
        return false;
    ask_for_huge_pages(slots, (size ? 2 * size : FIRST_SLOTS) * sizeof *slots);
    for (size_t i = 0; i < size; i++)
        if (seen->slots[i].callsite)
            (void)put(slots, 2 * size - 1, seen->slots[i]);
    free(seen->slots);
    seen->slots = slots;
    seen->mask = (size ? 2 * size : FIRST_SLOTS) - 1;
    return true;
}

struct seen_slot *seen_remember(struct seen_stacks *seen, const struct seen_print *print,
                                const struct seen_slot *more)
{
    struct seen_slot slot = *more;

    slot.half = print->halves[0];
    slot.quarter = (uint32_t)print->halves[1];
    if (!reserve(seen))
        return NULL;
    seen->used++;
    return put(seen->slots, seen->mask, slot);
}

void seen_release(struct seen_stacks *seen)
{
    free(seen->slots);
}
