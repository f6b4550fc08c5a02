#include "sampler-capture/id_table.h"

#include <stdlib.h>

#include "base/grow.h"

static struct id_slot *slot_of(const struct id_table *table, uint32_t id)
{
    uint64_t hash = base_hash(id, 0);
    size_t probe;

    for (uint32_t at = base_index_first(&table->index, hash, &probe); at;
         at = base_index_next(&table->index, hash, &probe))
        if (table->slots[at - 1].id == id)
            return &table->slots[at - 1];
    return NULL;
}

static struct id_slot *add_slot(struct id_table *table, uint32_t id)
{
    if (!base_make_room(&table->slots, &table->capacity, table->count + 1, sizeof *table->slots) ||
        !base_index_reserve(&table->index))
        return NULL;
    table->slots[table->count++] = (struct id_slot){ .id = id };
    base_index_add(&table->index, base_hash(id, 0), (uint32_t)table->count);
    return &table->slots[table->count - 1];
}

void *id_table_find(const struct id_table *table, uint32_t id)
{
    const struct id_slot *slot = slot_of(table, id);

    return slot ? slot->object : NULL;
}

bool id_table_begin(struct id_table *table, uint32_t id, void *object, uint64_t *koid)
{
    struct id_slot *slot = slot_of(table, id);

    if (!slot)
        slot = add_slot(table, id);
    if (!slot)
        return false;
    *koid = id | (uint64_t)slot->incarnations << 32;
    slot->incarnations++;
    slot->object = object;
    return true;
}

void id_table_end(struct id_table *table, uint32_t id)
{
    struct id_slot *slot = slot_of(table, id);

    if (slot)
        slot->object = NULL;
}

void id_table_release(struct id_table *table)
{
    base_index_release(&table->index);
    free(table->slots);
    *table = (struct id_table){ .slots = NULL };
}
