/* Stacks by fingerprint.  */
#include "libprofile/ingest/seen.h"

#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#define FIRST_SLOTS 1024u

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

static void put(struct seen_slot *slots, size_t mask, struct seen_slot slot)
{
    size_t at = slot.half & mask;

    while (slots[at].callsite)
        at = (at + 1) & mask;
    slots[at] = slot;
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
    for (size_t i = 0; i < size; i++)
        if (seen->slots[i].callsite)
            put(slots, 2 * size - 1, seen->slots[i]);
    free(seen->slots);
    seen->slots = slots;
    seen->mask = (size ? 2 * size : FIRST_SLOTS) - 1;
    return true;
}

bool seen_remember(struct seen_stacks *seen, const struct seen_print *print, uint32_t callsite)
{
    if (!reserve(seen))
        return false;
    put(seen->slots, seen->mask,
        (struct seen_slot){ print->halves[0], (uint32_t)print->halves[1], callsite });
    seen->used++;
    return true;
}

void seen_release(struct seen_stacks *seen)
{
    free(seen->slots);
}
