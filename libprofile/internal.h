/* internal.h - what all files of libprofile share: errors, growing arrays, arenas, indexes.  */
#ifndef PROFILE_INTERNAL_H
#define PROFILE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <fxt/profile.h>

/* ---- Errors ---- */

/* Fill *error, which may be NULL, and return status.  */
enum profile_status profile_fail(struct profile_error *error, enum profile_status status,
                                 const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same with PROFILE_IO and the phrase of system_errno.  */
enum profile_status profile_fail_errno(struct profile_error *error, int system_errno,
                                       const char *what);

static inline enum profile_status profile_no_memory(struct profile_error *error)
{
    (void)profile_fail(error, PROFILE_NO_MEMORY, "out of memory");
    return PROFILE_NO_MEMORY; /* seen to be a failure by those who read one file at a time */
}

/* ---- Growing arrays ---- */

/* A block with room for at least count items of size bytes, made from items (NULL or a former
 * result) by realloc(); *capacity says how much it holds.  NULL when memory is short: items is then
 * untouched.  Grows by half, so that adding one by one costs constant time each.  */
void *profile_grow(void *items, size_t *capacity, size_t count, size_t size);

/* ---- Arena: memory that goes away together ---- */

struct profile_arena_block;

struct profile_arena {
    struct profile_arena_block *blocks; /* newest first */
    size_t used;                        /* bytes of the newest block */
};

/* Zeroed room for size bytes, aligned for any type; NULL when memory is short.  It never moves. */
void *profile_arena_alloc(struct profile_arena *arena, size_t size);
/* length bytes and a NUL behind them.  */
char *profile_arena_text(struct profile_arena *arena, const char *bytes, size_t length);
void profile_arena_release(struct profile_arena *arena);

/* ---- Hashing ---- */

/* Fixed, without a seed: ids depend on the order in which things are met, never on hashes, but
 * fixed hashes also keep the work the same from run to run.  */
static inline uint64_t profile_hash(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)(a ^ UINT64_C(0x9e3779b97f4a7c15)) *
                                (b ^ UINT64_C(0xd6e8feb86659fd93));

    /* The sum keeps apart what a factor of 0 would make equal: koids are the trace's choice.  */
    return (uint64_t)product ^ (uint64_t)(product >> 64) ^ (a + b);
}

uint64_t profile_hash_bytes(const void *bytes, size_t length);

/* ---- Index: from a hash to ids ---- */

/* Open addressing.  The index holds ids and the lower half of their hashes; what an id stands for
 * is the caller's, who compares:
 *
 *     for (id = profile_index_first(&index, hash, &probe); id;
 *          id = profile_index_next(&index, hash, &probe))
 *         if (items[id] is it)
 *             return id;
 *     ... add the item, then profile_index_add(&index, hash, id)
 *
 * Nothing is ever taken out.  */
struct profile_slot {
    uint32_t tag; /* lower half of the hash */
    uint32_t id;  /* 0: free */
};

struct profile_index {
    struct profile_slot *slots;
    size_t mask; /* slots - 1; slots is a power of two.  Meaningless while slots is NULL */
    size_t used;
};

static inline uint32_t profile_index_at(const struct profile_index *index, uint64_t hash,
                                        size_t *probe)
{
    for (;; *probe = (*probe + 1) & index->mask) {
        const struct profile_slot *slot = &index->slots[*probe];

        if (slot->id == 0 || slot->tag == (uint32_t)hash)
            return slot->id;
    }
}

static inline uint32_t profile_index_first(const struct profile_index *index, uint64_t hash,
                                           size_t *probe)
{
    if (!index->slots)
        return 0;
    *probe = (uint32_t)hash & index->mask;
    return profile_index_at(index, hash, probe);
}

static inline uint32_t profile_index_next(const struct profile_index *index, uint64_t hash,
                                          size_t *probe)
{
    *probe = (*probe + 1) & index->mask;
    return profile_index_at(index, hash, probe);
}

/* Make room for one more; false when memory is short.  Call it before changing anything else, then
 * profile_index_add() cannot fail.  */
bool profile_index_reserve(struct profile_index *index);
void profile_index_add(struct profile_index *index, uint64_t hash, uint32_t id);
void profile_index_release(struct profile_index *index);

/* ---- Small things ---- */

/* Sums of counts from hostile files stop at the top instead of wrapping.  */
static inline uint64_t profile_add(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline uint64_t profile_multiply(uint64_t a, uint64_t b)
{
    uint64_t product;

    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* The id of a string that is there, or 0.  */
profile_id profile_stacks_find_string(const struct profile_stacks *stacks, const char *bytes,
                                      size_t length);
profile_id profile_stacks_string_count(const struct profile_stacks *stacks);

/* A named frame of one line that knows a function only.  */
enum profile_status profile_stacks_function_frame(struct profile_stacks *stacks, const char *name,
                                                  size_t length, profile_id *out,
                                                  struct profile_error *error);

/* Names of frames that stand for what is not known; no function is called so.  */
#define PROFILE_TRUNCATED "[truncated]"
#define PROFILE_ANONYMOUS "[anon]"
#define PROFILE_UNKNOWN   "[unknown]"

#endif /* PROFILE_INTERNAL_H */
