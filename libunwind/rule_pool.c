/* rule_pool.c - byte strings that are stored once.  */
#include "libunwind/unwind_internal.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_of(const uint8_t *bytes, size_t size)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ size;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 29;
}

/* Each string follows its size.  */
static uint32_t size_at(const struct pool *pool, uint32_t place)
{
    uint32_t size;

    memcpy(&size, pool->bytes + place - sizeof size, sizeof size);
    return size;
}

static size_t slot_of(const struct pool *pool, const uint8_t *bytes, size_t size)
{
    size_t at = hash_of(bytes, size) & (pool->slot_count - 1);

    while (pool->slots[at] && (size_at(pool, pool->slots[at]) != size ||
                               memcmp(pool->bytes + pool->slots[at], bytes, size) != 0))
        at = (at + 1) & (pool->slot_count - 1);
    return at;
}

static bool grow_slots(struct pool *pool)
{
    struct pool larger = *pool;
    uint32_t *before = pool->slots;

    larger.slot_count = pool->slot_count ? 2 * pool->slot_count : 64;
    if (larger.slot_count * sizeof *larger.slots > POOL_LIMIT - pool->capacity)
        return false;
    larger.slots = calloc(larger.slot_count, sizeof *larger.slots);
    pool->failed |= !larger.slots;
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < pool->slot_count; i++) {
        uint32_t place = pool->slots[i];

        if (place)
            larger.slots[slot_of(&larger, pool->bytes + place, size_at(pool, place))] = place;
    }
    pool->slots = larger.slots;
    pool->slot_count = larger.slot_count;
    free(before);
    return true;
}

static bool grow_bytes(struct pool *pool, size_t size)
{
    size_t capacity = pool->capacity ? pool->capacity : 1024;
    uint8_t *bytes;

    while (capacity - pool->used < size)
        capacity *= 2;
    if (capacity == pool->capacity)
        return true;
    if (capacity > POOL_LIMIT - pool->slot_count * sizeof *pool->slots)
        return false;
    bytes = realloc(pool->bytes, capacity);
    pool->failed |= !bytes;
    if (!bytes)
        return false;
    pool->bytes = bytes;
    pool->capacity = capacity;
    return true;
}

uint32_t pool_intern(struct pool *pool, const void *bytes, size_t size)
{
    uint32_t length = (uint32_t)size, place;
    size_t at, padded = (size + 3) & ~(size_t)3;

    if (size > UINT16_MAX || (2 * (pool->count + 1) > pool->slot_count && !grow_slots(pool)))
        return 0;
    at = slot_of(pool, bytes, size);
    if (pool->slots[at])
        return pool->slots[at];
    if (!grow_bytes(pool, RULE_FIRST + 8 + padded))
        return 0;
    if (pool->used == 0) /* no string begins below RULE_FIRST */
        pool->used = RULE_FIRST;
    place = (uint32_t)(pool->used + sizeof length);
    memcpy(pool->bytes + pool->used, &length, sizeof length);
    memcpy(pool->bytes + place, bytes, size);
    pool->used = place + padded;
    pool->slots[at] = place;
    pool->count++;
    return place;
}

void pool_release(struct pool *pool)
{
    free(pool->bytes);
    free(pool->slots);
    *pool = (struct pool){ .bytes = NULL };
}
