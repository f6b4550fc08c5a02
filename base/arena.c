#include "base/arena.h"
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/account.h"

/* Blocks double up to the largest: an arena may hold a few bytes, and there may be many arenas.  */
#define BLOCK_LEAST ((size_t)1 << 10)
#define BLOCK_MOST  ((size_t)64 << 10)

struct base_arena_block {
    struct base_arena_block *next;
    size_t capacity; /* of bytes */
    alignas(max_align_t) unsigned char bytes[];
};

static bool add_block(struct base_arena *arena, size_t size)
{
    size_t capacity = arena->blocks ? arena->blocks->capacity * 2 : BLOCK_LEAST;
    struct base_arena_block *block;

    if (capacity > BLOCK_MOST)
        capacity = BLOCK_MOST;
    if (capacity < size)
        capacity = size;
    if (capacity > SIZE_MAX / 2)
        return false;
    block = base_calloc(1, sizeof *block + capacity);
    if (!block)
        return false;
    block->capacity = capacity;
    block->next = arena->blocks;
    arena->blocks = block;
    arena->used = 0;
    return true;
}

static void *take(struct base_arena *arena, size_t size, size_t align)
{
    size_t start = (arena->used + align - 1) & ~(align - 1);

    if (arena->limit && size > arena->limit - arena->total)
        return NULL;
    if (!arena->blocks || start > arena->blocks->capacity ||
        size > arena->blocks->capacity - start) {
        if (!add_block(arena, size))
            return NULL;
        start = 0;
    }
    arena->used = start + size;
    arena->total += size;
    return arena->blocks->bytes + start;
}

void *base_arena_alloc(struct base_arena *arena, size_t size)
{
    return take(arena, size, alignof(max_align_t));
}

void *base_arena_array(struct base_arena *arena, size_t count, size_t size)
{
    size_t bytes;

    return __builtin_mul_overflow(count, size, &bytes) ? NULL : base_arena_alloc(arena, bytes);
}

char *base_arena_text(struct base_arena *arena, const char *bytes, size_t length)
{
    char *text = length == SIZE_MAX ? NULL : take(arena, length + 1, 1);

    if (text && length > 0)
        memcpy(text, bytes, length);
    return text;
}

void base_arena_release(struct base_arena *arena)
{
    while (arena->blocks) {
        struct base_arena_block *next = arena->blocks->next;

        base_free(arena->blocks);
        arena->blocks = next;
    }
    arena->used = 0;
    arena->total = 0;
}
