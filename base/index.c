#include "base/index.h"
#include <stdlib.h>
#include <string.h>

#include "base/account.h"

#define FIRST_SLOTS 64u

uint64_t base_hash_bytes(const void *bytes, size_t length)
{
    const unsigned char *next = bytes;
    uint64_t hash = base_hash(length, 0);
    uint64_t word;

    for (; length >= sizeof word; length -= sizeof word, next += sizeof word) {
        memcpy(&word, next, sizeof word);
        hash = base_hash(hash, word);
    }
    word = 0;
    if (length > 0)
        memcpy(&word, next, length);
    return base_hash(hash, word);
}

/* Store slot in the first free place of its probe sequence.  */
static void place_slot(struct base_index_slot *slots, size_t mask, struct base_index_slot slot)
{
    size_t at = slot.tag & mask;

    while (slots[at].id != 0)
        at = (at + 1) & mask;
    slots[at] = slot;
}

bool base_index_reserve(struct base_index *index)
{
    size_t count = index->slots ? index->mask + 1 : 0;
    size_t bigger = count ? 2 * count : FIRST_SLOTS;
    struct base_index_slot *slots;

    if (index->used + 1 <= count / 4 * 3)
        return true;
    slots = base_calloc(bigger, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < count; i++)
        if (index->slots[i].id != 0)
            place_slot(slots, bigger - 1, index->slots[i]);
    base_free(index->slots);
    index->slots = slots;
    index->mask = bigger - 1;
    return true;
}

void base_index_add(struct base_index *index, uint64_t hash, uint32_t id)
{
    place_slot(index->slots, index->mask,
               (struct base_index_slot){ .tag = (uint32_t)hash, .id = id });
    index->used++;
}

void base_index_clear(struct base_index *index)
{
    size_t count = index->slots ? index->mask + 1 : 0;

    if (count > FIRST_SLOTS && index->used < count / 8) /* emptying it again and again is dear */
        base_index_release(index);
    else if (count)
        memset(index->slots, 0, count * sizeof *index->slots);
    index->used = 0;
}

void base_index_release(struct base_index *index)
{
    base_free(index->slots);
    *index = (struct base_index){ .slots = NULL };
}
