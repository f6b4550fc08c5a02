/* index.h - hashes, and a hash table from hashes to ids.  */
#ifndef BASE_INDEX_H
#define BASE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Hashing ---- */

/* Without a seed: ids depend on the order in which things are met, never on hashes, and fixed
 * hashes keep the work the same from run to run.  */
static inline uint64_t base_hash(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)(a ^ UINT64_C(0x9e3779b97f4a7c15)) *
                                (b ^ UINT64_C(0xd6e8feb86659fd93));

    /* The sum distinguishes keys that a factor of 0 would make equal: input chooses the keys.  */
    return (uint64_t)product ^ (uint64_t)(product >> 64) ^ (a + b);
}

uint64_t base_hash_bytes(const void *bytes, size_t length);

/* ---- Index: from a hash to ids ---- */

/* Open addressing.  The index holds ids and the lower half of their hashes.  The items belong to
 * the caller, who compares them:
 *
 *     for (id = base_index_first(&index, hash, &probe); id;
 *          id = base_index_next(&index, hash, &probe))
 *         if (items[id] is equal)
 *             return id;
 *     if (!base_index_reserve(&index))
 *         return NO_MEMORY;
 *     ... add the item ...
 *     base_index_add(&index, hash, id);
 *
 * No single id is ever removed.  All zero is an empty index.  */
struct base_index_slot {
    uint32_t tag; /* lower half of the hash */
    uint32_t id;  /* 0: free */
};

struct base_index {
    struct base_index_slot *slots;
    size_t mask; /* number of slots, a power of two, minus 1.  Undefined while slots is NULL */
    size_t used;
};

static inline uint32_t base_index_at(const struct base_index *index, uint64_t hash, size_t *probe)
{
    for (;; *probe = (*probe + 1) & index->mask) {
        const struct base_index_slot *slot = &index->slots[*probe];

        if (slot->id == 0 || slot->tag == (uint32_t)hash)
            return slot->id;
    }
}

/* The first id whose hash may be this one; 0: there is none.  */
static inline uint32_t base_index_first(const struct base_index *index, uint64_t hash,
                                        size_t *probe)
{
    if (!index->slots)
        return 0;
    *probe = (uint32_t)hash & index->mask;
    return base_index_at(index, hash, probe);
}

static inline uint32_t base_index_next(const struct base_index *index, uint64_t hash, size_t *probe)
{
    *probe = (*probe + 1) & index->mask;
    return base_index_at(index, hash, probe);
}

/* Make room for one more id.  Returns false when memory is short.  */
bool base_index_reserve(struct base_index *index);
/* Add an id; base_index_reserve() was called for it.  */
void base_index_add(struct base_index *index, uint64_t hash, uint32_t id);
/* Remove all ids.  Takes time for as many as there were.  */
void base_index_clear(struct base_index *index);
void base_index_release(struct base_index *index);

#endif /* BASE_INDEX_H */
