#include "sampler-capture/id_table.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 64

/* The slot of id, or the unused one where it belongs.  capacity is not 0 and a slot is free.  */
static struct id_slot *slot_of(const struct id_table *table, uint32_t id)
{
    size_t mask = table->capacity - 1;
    /* Knuth's multiplicative hash: ids come in rows.  */
    size_t i = (size_t)id * 2654435769U & mask;

    while (table->slots[i].incarnations != 0 && table->slots[i].id != id)
        i = (i + 1) & mask;
    return &table->slots[i];
}

static bool grow(struct id_table *table)
{
    struct id_table larger = { .count = table->count };

    larger.capacity = table->capacity ? table->capacity * 2 : FIRST_CAPACITY;
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < table->capacity; i++)
        if (table->slots[i].incarnations != 0)
            *slot_of(&larger, table->slots[i].id) = table->slots[i];
    free(table->slots);
    *table = larger;
    return true;
}

void *id_table_find(const struct id_table *table, uint32_t id)
{
    return table->capacity ? slot_of(table, id)->object : NULL;
}

bool id_table_begin(struct id_table *table, uint32_t id, void *object, uint64_t *koid)
{
    struct id_slot *slot;

    if (table->count >= table->capacity / 2 && !grow(table))
        return false;
    slot = slot_of(table, id);
    if (slot->incarnations == 0) {
        slot->id = id;
        table->count++;
    }
    *koid = id | (uint64_t)slot->incarnations << 32;
    slot->incarnations++;
    slot->object = object;
    return true;
}

void id_table_end(struct id_table *table, uint32_t id)
{
    if (table->capacity)
        slot_of(table, id)->object = NULL;
}

void id_table_release(struct id_table *table)
{
    free(table->slots);
    memset(table, 0, sizeof *table);
}
