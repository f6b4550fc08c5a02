#include "base/numbering.h"
#include <stdlib.h>
#include <string.h>

#include "base/account.h"
#include "base/grow.h"

#define NUMBERS_MAX (UINT32_MAX - 1)

/* ---- Pairs of numbers ---- */

static uint32_t find_pair(const struct base_pairs *pairs, uint64_t a, uint64_t b, uint64_t hash)
{
    size_t probe;

    for (uint32_t id = base_index_first(&pairs->index, hash, &probe); id;
         id = base_index_next(&pairs->index, hash, &probe))
        if (pairs->items[id - 1].a == a && pairs->items[id - 1].b == b)
            return id;
    return 0;
}

uint32_t base_pairs_find(const struct base_pairs *pairs, uint64_t a, uint64_t b)
{
    return find_pair(pairs, a, b, base_hash(a, b));
}

uint32_t base_pairs_add(struct base_pairs *pairs, uint64_t a, uint64_t b, bool *is_new)
{
    uint64_t hash = base_hash(a, b);
    uint32_t id = find_pair(pairs, a, b, hash);

    if (is_new)
        *is_new = id == 0;
    if (id != 0)
        return id;
    if (pairs->count >= NUMBERS_MAX || !base_index_reserve(&pairs->index))
        return 0;
    if (!base_make_room(&pairs->items, &pairs->capacity, pairs->count + 1, sizeof *pairs->items))
        return 0;
    pairs->items[pairs->count++] = (struct base_pair){ a, b };
    base_index_add(&pairs->index, hash, (uint32_t)pairs->count);
    return (uint32_t)pairs->count;
}

void base_pairs_release(struct base_pairs *pairs)
{
    base_index_release(&pairs->index);
    base_free(pairs->items);
    *pairs = (struct base_pairs){ .items = NULL };
}

/* ---- Texts ---- */

static uint32_t find_text(const struct base_texts *texts, const char *bytes, size_t length,
                          uint64_t hash)
{
    size_t probe;

    for (uint32_t id = base_index_first(&texts->index, hash, &probe); id;
         id = base_index_next(&texts->index, hash, &probe)) {
        const struct base_text_item *item = &texts->items[id - 1];

        if (item->hash == hash && item->length == length &&
            (length == 0 || memcmp(item->bytes, bytes, length) == 0))
            return id;
    }
    return 0;
}

uint32_t base_texts_find(const struct base_texts *texts, const char *bytes, size_t length)
{
    return find_text(texts, bytes, length, base_hash_bytes(bytes, length));
}

uint32_t base_texts_add(struct base_texts *texts, const char *bytes, size_t length, bool *is_new)
{
    uint64_t hash = base_hash_bytes(bytes, length);
    uint32_t id = find_text(texts, bytes, length, hash);
    const char *copy;

    if (is_new)
        *is_new = id == 0;
    if (id != 0)
        return id;
    if (texts->count >= NUMBERS_MAX || !base_index_reserve(&texts->index))
        return 0;
    if (!base_make_room(&texts->items, &texts->capacity, texts->count + 1, sizeof *texts->items))
        return 0;
    copy = base_arena_text(&texts->arena, bytes, length);
    if (!copy)
        return 0;
    texts->items[texts->count++] =
        (struct base_text_item){ .bytes = copy, .length = length, .hash = hash };
    base_index_add(&texts->index, hash, (uint32_t)texts->count);
    return (uint32_t)texts->count;
}

const char *base_texts_get(const struct base_texts *texts, uint32_t number, size_t *length)
{
    const struct base_text_item *item = &texts->items[number - 1];

    *length = item->length;
    return item->bytes;
}

void base_texts_release(struct base_texts *texts)
{
    base_arena_release(&texts->arena);
    base_index_release(&texts->index);
    base_free(texts->items);
    *texts = (struct base_texts){ .arena.limit = texts->arena.limit };
}
