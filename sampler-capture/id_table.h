/* id_table.h - from pid or tid to an object, and how often the id was used before.
 *
 * The kernel hands ids out again.  A koid must not repeat, so it is the id in the low half and the
 * incarnation in the high half: 0 for the first task of that id, one more for each next.  Slots are
 * therefore never removed; there are at most as many as kernel.pid_max.  */
#ifndef CAPTURE_ID_TABLE_H
#define CAPTURE_ID_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/index.h"

struct id_slot {
    uint32_t id;
    uint32_t incarnations; /* how many there were */
    void *object;          /* of the current incarnation, borrowed; NULL after its end */
};

/* All zero is an empty table.  */
struct id_table {
    struct base_index index;
    struct id_slot *slots; /* owned; in the order of first sight */
    size_t count, capacity;
};

/* The object of id, or NULL.  */
void *id_table_find(const struct id_table *table, uint32_t id);

/* Begin a new incarnation of id that stands for object, and store its koid in *koid.  False when
 * there is no memory.  */
bool id_table_begin(struct id_table *table, uint32_t id, void *object, uint64_t *koid);

/* End the current incarnation of id.  */
void id_table_end(struct id_table *table, uint32_t id);

/* Frees the slots, not the objects.  */
void id_table_release(struct id_table *table);

#endif /* CAPTURE_ID_TABLE_H */
