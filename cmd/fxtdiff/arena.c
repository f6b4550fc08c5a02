/* arena.c - memory that goes away together, and texts stored once.  */
#include "cmd/fxtdiff/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/cli.h"

#define BLOCK_BYTES ((size_t)256 << 10)

struct block {
    struct block *next;
    size_t capacity;
    alignas(max_align_t) unsigned char bytes[];
};

struct diff_arena {
    struct block *blocks; /* newest first */
    size_t used;          /* of the newest */
};

struct diff_arena *diff_arena_open(void)
{
    return cli_allocate(1, sizeof(struct diff_arena));
}

void *diff_arena_take(struct diff_arena *arena, size_t size)
{
    const size_t align = alignof(max_align_t);
    void *room;

    if (size > SIZE_MAX / 2) /* more than there is: ends here */
        return cli_allocate(SIZE_MAX, 1);
    size = (size + align - 1) & ~(align - 1);
    if (!arena->blocks || size > arena->blocks->capacity - arena->used) {
        size_t capacity = size > BLOCK_BYTES ? size : BLOCK_BYTES;
        struct block *block = cli_allocate(1, sizeof *block + capacity);

        block->capacity = capacity;
        block->next = arena->blocks;
        arena->blocks = block;
        arena->used = 0;
    }
    room = arena->blocks->bytes + arena->used;
    arena->used += size;
    return room;
}

char *diff_arena_copy(struct diff_arena *arena, const char *bytes, size_t length)
{
    char *copy = diff_arena_take(arena, length + 1);

    if (length > 0)
        memcpy(copy, bytes, length);
    return copy;
}

void diff_arena_close(struct diff_arena *arena)
{
    struct block *next;

    if (!arena)
        return;
    for (struct block *block = arena->blocks; block; block = next) {
        next = block->next;
        free(block);
    }
    free(arena);
}

void *diff_grow(void *items, size_t *capacity, size_t count, size_t size)
{
    size_t wanted = *capacity + *capacity / 2;
    void *bigger;

    if (count <= *capacity && items)
        return items;
    if (wanted < count)
        wanted = count;
    if (wanted < 16)
        wanted = 16;
    bigger = reallocarray(items, wanted, size);
    if (!bigger) {
        free(items);
        cli_error("out of memory");
        exit(CLI_ENVIRONMENT);
    }
    *capacity = wanted;
    return bigger;
}

/* ---- Texts by number ---- */

/* FNV-1a: the same everywhere.  */
static uint64_t hash_of(const char *bytes, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 32;
}

/* The slot of a text, or the free one where it would go.  */
static size_t slot_of(const struct diff_texts *texts, const char *bytes, size_t length,
                      uint64_t hash)
{
    size_t slot = hash & (texts->slot_count - 1);

    for (; texts->slots[slot] != 0; slot = (slot + 1) & (texts->slot_count - 1)) {
        const struct diff_text *text = &texts->items[texts->slots[slot] - 1];

        if (text->hash == hash && text->length == length &&
            (length == 0 || memcmp(text->bytes, bytes, length) == 0))
            break;
    }
    return slot;
}

static void grow_slots(struct diff_texts *texts)
{
    free(texts->slots);
    texts->slot_count = texts->slot_count ? 2 * texts->slot_count : 64;
    texts->slots = cli_allocate(texts->slot_count, sizeof *texts->slots);
    for (size_t i = 0; i < texts->count; i++) {
        size_t slot = texts->items[i].hash & (texts->slot_count - 1);

        while (texts->slots[slot] != 0)
            slot = (slot + 1) & (texts->slot_count - 1);
        texts->slots[slot] = (uint32_t)i + 1;
    }
}

uint32_t diff_texts_add(struct diff_texts *texts, const char *bytes, size_t length)
{
    uint64_t hash = hash_of(bytes, length);
    size_t slot;

    if (texts->count >= texts->slot_count / 2)
        grow_slots(texts);
    slot = slot_of(texts, bytes, length, hash);
    if (texts->slots[slot] == 0) {
        texts->items = diff_grow(texts->items, &texts->capacity, texts->count + 1,
                                 sizeof *texts->items);
        texts->items[texts->count] = (struct diff_text){
            .bytes = diff_arena_copy(texts->arena, bytes, length),
            .length = length,
            .hash = hash,
        };
        texts->slots[slot] = (uint32_t)++texts->count;
    }
    return texts->slots[slot] - 1;
}

uint32_t diff_texts_find(const struct diff_texts *texts, const char *bytes, size_t length)
{
    uint32_t found = 0;

    if (texts->slot_count > 0)
        found = texts->slots[slot_of(texts, bytes, length, hash_of(bytes, length))];
    return found ? found - 1 : DIFF_NO_TEXT;
}

void diff_texts_release(struct diff_texts *texts)
{
    free(texts->items);
    free(texts->slots);
    *texts = (struct diff_texts){ .arena = texts->arena };
}
