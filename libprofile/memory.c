/* memory.c - growing arrays, arenas and indexes.  */
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "libprofile/internal.h"

void *profile_grow(void *items, size_t *capacity, size_t count, size_t size)
{
    size_t wanted = *capacity + *capacity / 2;
    size_t bytes;
    void *bigger;

    if (count <= *capacity && items)
        return items;
    if (wanted < count)
        wanted = count;
    if (wanted < 16)
        wanted = 16;
    if (__builtin_mul_overflow(wanted, size, &bytes))
        return NULL;
    bigger = realloc(items, bytes);
    if (bigger)
        *capacity = wanted;
    return bigger;
}

/* ---- Arena ---- */

#define BLOCK_BYTES ((size_t)64 << 10)

struct profile_arena_block {
    struct profile_arena_block *next;
    size_t capacity; /* bytes behind the block's head */
    alignas(max_align_t) unsigned char bytes[];
};

static bool arena_add_block(struct profile_arena *arena, size_t size)
{
    struct profile_arena_block *block;
    size_t capacity = size > BLOCK_BYTES ? size : BLOCK_BYTES;

    if (capacity > SIZE_MAX / 2)
        return false;
    block = calloc(1, sizeof *block + capacity);
    if (!block)
        return false;
    block->capacity = capacity;
    block->next = arena->blocks;
    arena->blocks = block;
    arena->used = 0;
    return true;
}

void *profile_arena_alloc(struct profile_arena *arena, size_t size)
{
    const size_t align = alignof(max_align_t);
    void *room;

    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + align - 1) & ~(align - 1);
    if (!arena->blocks || size > arena->blocks->capacity - arena->used)
        if (!arena_add_block(arena, size))
            return NULL;
    room = arena->blocks->bytes + arena->used;
    arena->used += size;
    return room;
}

char *profile_arena_text(struct profile_arena *arena, const char *bytes, size_t length)
{
    char *text;

    if (length == SIZE_MAX)
        return NULL;
    text = profile_arena_alloc(arena, length + 1);
    if (text && length > 0)
        memcpy(text, bytes, length);
    return text;
}

void profile_arena_release(struct profile_arena *arena)
{
    while (arena->blocks) {
        struct profile_arena_block *next = arena->blocks->next;

        free(arena->blocks);
        arena->blocks = next;
    }
    arena->used = 0;
}

/* ---- Index ---- */

uint64_t profile_hash_bytes(const void *bytes, size_t length)
{
    const unsigned char *next = bytes;
    uint64_t hash = profile_hash(length, 0);
    uint64_t word;

    for (; length >= sizeof word; length -= sizeof word, next += sizeof word) {
        memcpy(&word, next, sizeof word);
        hash = profile_hash(hash, word);
    }
    word = 0;
    if (length > 0)
        memcpy(&word, next, length);
    return profile_hash(hash, word);
}

/* Put slot into the first free place of its probe sequence.  */
static void index_place(struct profile_slot *slots, size_t mask, struct profile_slot slot)
{
    size_t start = slot.tag & mask;

    while (slots[start].id != 0)
        start = (start + 1) & mask;
    slots[start] = slot;
}

bool profile_index_reserve(struct profile_index *index)
{
    size_t count = index->slots ? index->mask + 1 : 0;
    size_t bigger = count ? 2 * count : 64;
    struct profile_slot *slots;

    if (index->used + 1 <= count / 4 * 3)
        return true;
    slots = calloc(bigger, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < count; i++)
        if (index->slots[i].id != 0)
            index_place(slots, bigger - 1, index->slots[i]);
    free(index->slots);
    index->slots = slots;
    index->mask = bigger - 1;
    return true;
}

void profile_index_add(struct profile_index *index, uint64_t hash, uint32_t id)
{
    index_place(index->slots, index->mask,
                (struct profile_slot){ .tag = (uint32_t)hash, .id = id });
    index->used++;
}

void profile_index_release(struct profile_index *index)
{
    free(index->slots);
    *index = (struct profile_index){ .slots = NULL };
}
