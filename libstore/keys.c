/* Pairs and texts to numbers.  */
#include "libstore/keys.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 64u
#define FIRST_ITEMS 16u
#define MOST_ITEMS  (UINT32_MAX - 1)

bool store_reserve(void **items, size_t *capacity, size_t count, size_t size)
{
    size_t more = count + count / 2;
    void *bigger;

    if (count <= *capacity)
        return true;
    bigger = reallocarray(*items, more, size);
    if (!bigger)
        return false;
    *items = bigger;
    *capacity = more;
    return true;
}

bool store_grow(void **items, size_t *capacity, size_t count, size_t size)
{
    if (count < *capacity)
        return true;
    return count < MOST_ITEMS && store_reserve(items, capacity, count + FIRST_ITEMS, size);
}

/* ---- Slots ---- */

static void put(struct store_slots *slots, uint32_t tag, uint32_t number)
{
    size_t probe = tag & slots->mask;

    while (slots->numbers[probe])
        probe = (probe + 1) & slots->mask;
    slots->tags[probe] = tag;
    slots->numbers[probe] = number;
}

/* Room for one more; at most three quarters are used.  */
static bool reserve(struct store_slots *slots)
{
    size_t size = slots->numbers ? slots->mask + 1 : 0;
    struct store_slots bigger;

    if (size && slots->used < size / 4 * 3)
        return true;
    size = size ? 2 * size : FIRST_SLOTS;
    bigger = (struct store_slots){ .tags = malloc(size * sizeof(uint32_t)),
                                   .numbers = calloc(size, sizeof(uint32_t)),
                                   .mask = size - 1,
                                   .used = slots->used };
    if (!bigger.tags || !bigger.numbers) {
        free(bigger.tags);
        free(bigger.numbers);
        return false;
    }
    for (size_t i = 0; slots->numbers && i <= slots->mask; i++)
        if (slots->numbers[i])
            put(&bigger, slots->tags[i], slots->numbers[i]);
    free(slots->tags);
    free(slots->numbers);
    *slots = bigger;
    return true;
}

static void release(struct store_slots *slots)
{
    free(slots->tags);
    free(slots->numbers);
}

/* ---- Pairs ---- */

static uint32_t find_key(const struct store_keys *keys, uint32_t tag, uint64_t a, uint64_t b)
{
    const struct store_slots *slots = &keys->slots;

    for (size_t probe = tag & slots->mask; slots->numbers && slots->numbers[probe];
         probe = (probe + 1) & slots->mask) {
        const struct store_key *key = &keys->items[slots->numbers[probe] - 1];

        if (slots->tags[probe] == tag && key->a == a && key->b == b)
            return slots->numbers[probe];
    }
    return 0;
}

uint32_t store_keys_find(const struct store_keys *keys, uint64_t a, uint64_t b)
{
    return find_key(keys, (uint32_t)store_hash(a, b), a, b);
}

uint32_t store_keys_add(struct store_keys *keys, uint64_t a, uint64_t b, bool *is_new)
{
    uint32_t tag = (uint32_t)store_hash(a, b);
    uint32_t number = find_key(keys, tag, a, b);
    void *items = keys->items;

    if (is_new)
        *is_new = number == 0;
    if (number)
        return number;
    if (!store_grow(&items, &keys->capacity, keys->count, sizeof *keys->items))
        return 0;
    keys->items = items;
    if (!reserve(&keys->slots))
        return 0;
    keys->items[keys->count++] = (struct store_key){ a, b };
    put(&keys->slots, tag, (uint32_t)keys->count);
    keys->slots.used++;
    return (uint32_t)keys->count;
}

void store_keys_release(struct store_keys *keys)
{
    release(&keys->slots);
    free(keys->items);
}

/* ---- Texts ---- */

static uint32_t hash_text(const char *bytes, size_t length)
{
    uint64_t hash = length, word = 0;

    for (; length >= 8; bytes += 8, length -= 8) {
        memcpy(&word, bytes, 8);
        hash = store_hash(hash, word);
    }
    word = 0;
    if (length > 0)
        memcpy(&word, bytes, length);
    return (uint32_t)store_hash(hash, word);
}

static bool reserve_bytes(struct store_texts *texts, size_t length)
{
    size_t room = texts->room ? texts->room : 4096;
    char *bigger;

    if (length <= texts->room - texts->used)
        return true;
    while (room - texts->used < length) {
        if (room > SIZE_MAX / 4)
            return false;
        room *= 2;
    }
    bigger = realloc(texts->bytes, room);
    if (!bigger)
        return false;
    texts->bytes = bigger;
    texts->room = room;
    return true;
}

uint32_t store_texts_add(struct store_texts *texts, const char *bytes, size_t length, bool *is_new)
{
    uint32_t tag = hash_text(bytes, length);
    struct store_slots *slots = &texts->slots;
    void *items = texts->items;

    if (is_new)
        *is_new = false;
    for (size_t probe = tag & slots->mask; slots->numbers && slots->numbers[probe];
         probe = (probe + 1) & slots->mask) {
        const struct store_text *text = &texts->items[slots->numbers[probe] - 1];

        if (slots->tags[probe] == tag && text->length == length &&
            (length == 0 || memcmp(texts->bytes + text->offset, bytes, length) == 0))
            return slots->numbers[probe];
    }
    if (!store_grow(&items, &texts->capacity, texts->count, sizeof *texts->items))
        return 0;
    texts->items = items;
    if (!reserve_bytes(texts, length) || !reserve(slots))
        return 0;
    texts->items[texts->count++] = (struct store_text){ texts->used, length };
    if (length > 0)
        memcpy(texts->bytes + texts->used, bytes, length);
    texts->used += length;
    put(slots, tag, (uint32_t)texts->count);
    slots->used++;
    if (is_new)
        *is_new = true;
    return (uint32_t)texts->count;
}

const char *store_texts_get(const struct store_texts *texts, uint32_t number, size_t *length)
{
    const struct store_text *text = &texts->items[number - 1];

    *length = text->length;
    return texts->bytes ? texts->bytes + text->offset : "";
}

void store_texts_release(struct store_texts *texts)
{
    release(&texts->slots);
    free(texts->items);
    free(texts->bytes);
}
