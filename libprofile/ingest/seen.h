/* seen.h - whole stacks that were met before, by a fingerprint.  Private to libprofile/ingest.
 *
 * Most samples repeat a stack.  Comparing its addresses one by one costs a miss of the cache for
 * nearly every frame; a fingerprint of 96 bits costs one for the whole stack.  It is made with a
 * secret that each ingest draws anew, so no trace can be made to have two stacks of one; by chance
 * two of 2^30 stacks have the same with a probability of 2^-37.  */
#ifndef PROFILE_INGEST_SEEN_H
#define PROFILE_INGEST_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seen_print {
    uint64_t halves[2];
};

struct seen_slot {
    uint64_t half;
    uint32_t quarter;   /* lower half of the other half */
    uint32_t callsite;  /* raw; 0: free */
    uint32_t final;     /* of the call site, which is 0 or known from the beginning */
    uint32_t thread_id; /* of the first sample; 0: not of samples */
    uint32_t event;     /* as in struct profile_sample */
    uint64_t hits;      /* samples, not reported yet */
    uint64_t amount;    /* of all these samples: nanoseconds, or of the event */
};

struct seen_stacks {
    uint64_t secret[4]; /* start and factor of each half; factor 0: not drawn yet */
    struct seen_slot *slots;
    size_t mask, used;
};

/* Begin a fingerprint, add words, and look it up.  */
void seen_start(struct seen_stacks *seen, struct seen_print *print);

static inline uint64_t seen_mix(uint64_t state, uint64_t word, uint64_t factor)
{
    unsigned __int128 product = (unsigned __int128)(state ^ word) * factor;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline void seen_add(const struct seen_stacks *seen, struct seen_print *print, uint64_t word)
{
    print->halves[0] = seen_mix(print->halves[0], word, seen->secret[2]);
    print->halves[1] = seen_mix(print->halves[1], word, seen->secret[3]);
}

/* Begin to fetch where the stack would be: seen_find() soon will not wait for memory.  */
static inline void seen_prefetch(const struct seen_stacks *seen, const struct seen_print *print)
{
    if (seen->slots)
        __builtin_prefetch(&seen->slots[print->halves[0] & seen->mask], 1);
}

/* The stack of that fingerprint; NULL: it was not met.  Until the next seen_remember().  */
static inline struct seen_slot *seen_find(const struct seen_stacks *seen,
                                          const struct seen_print *print)
{
    if (!seen->slots)
        return NULL;
    for (size_t i = print->halves[0] & seen->mask;; i = (i + 1) & seen->mask) {
        struct seen_slot *slot = &seen->slots[i];

        if (slot->callsite == 0)
            return NULL;
        if (slot->half == print->halves[0] && slot->quarter == (uint32_t)print->halves[1])
            return slot;
    }
}

/* Remember a stack that is not there: the members from callsite on are more's.  NULL when memory is
 * short.  */
struct seen_slot *seen_remember(struct seen_stacks *seen, const struct seen_print *print,
                                const struct seen_slot *more);
void seen_release(struct seen_stacks *seen);

#endif /* PROFILE_INGEST_SEEN_H */
