/* rule_pool.c - byte strings that are stored once.  */
#include "libunwind/unwind_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* Each string follows its size.  */
static uint32_t size_at(const struct pool *pool, uint32_t place)
{
    uint32_t size;

    memcpy(&size, pool->bytes + place - sizeof size, sizeof size);
    return size;
}

uint32_t pool_intern(struct pool *pool, const void *bytes, size_t size)
{
    uint64_t hash = base_hash_bytes(bytes, size);
    uint32_t length = (uint32_t)size, place;
    size_t probe, padded = (size + 3) & ~(size_t)3;

    if (size > UINT16_MAX)
        return 0;
    for (place = base_index_first(&pool->index, hash, &probe); place;
         place = base_index_next(&pool->index, hash, &probe))
        if (size_at(pool, place) == size && memcmp(pool->bytes + place, bytes, size) == 0)
            return place;
    if (pool->used == 0) /* no string begins below RULE_FIRST */
        pool->used = RULE_FIRST;
    if (pool->index.used >= POOL_STRINGS || padded > POOL_BYTES - pool->used - sizeof length)
        return 0;
    if (!base_make_room(&pool->bytes, &pool->capacity, pool->used + sizeof length + padded, 1) ||
        !base_index_reserve(&pool->index)) {
        pool->failed = true;
        return 0;
    }
    place = (uint32_t)(pool->used + sizeof length);
    memcpy(pool->bytes + pool->used, &length, sizeof length);
    memcpy(pool->bytes + place, bytes, size);
    pool->used = place + padded;
    base_index_add(&pool->index, hash, place);
    return place;
}

size_t pool_memory(const struct pool *pool)
{
    return pool->capacity +
           (pool->index.slots ? (pool->index.mask + 1) * sizeof *pool->index.slots : 0);
}

void pool_release(struct pool *pool)
{
    free(pool->bytes);
    base_index_release(&pool->index);
    *pool = (struct pool){ .bytes = NULL };
}
