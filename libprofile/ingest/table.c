/* table.c - from a pair of numbers to what is open under it.  Unlike an index, entries go away:
 * memory follows how much was open at once, not how much ever was.  */
#include <stdlib.h>

#include "base/index.h"
#include "libprofile/ingest/table.h"

static size_t home_of(const struct open_table *table, uint64_t a, uint64_t b)
{
    return base_hash(a, b) & table->mask;
}

struct open_entry *open_table_find(const struct open_table *table, uint64_t a, uint64_t b)
{
    if (!table->entries)
        return NULL;
    for (size_t at = home_of(table, a, b); table->entries[at].count > 0;
         at = (at + 1) & table->mask)
        if (table->entries[at].a == a && table->entries[at].b == b)
            return &table->entries[at];
    return NULL;
}

static struct open_entry *free_place(const struct open_table *table, uint64_t a, uint64_t b)
{
    size_t at = home_of(table, a, b);

    while (table->entries[at].count > 0)
        at = (at + 1) & table->mask;
    return &table->entries[at];
}

static bool enlarge(struct open_table *table)
{
    struct open_table bigger = { .mask = table->entries ? 2 * table->mask + 1 : 63,
                                 .used = table->used };

    bigger.entries = calloc(bigger.mask + 1, sizeof *bigger.entries);
    if (!bigger.entries)
        return false;
    for (size_t i = 0; table->entries && i <= table->mask; i++) {
        const struct open_entry *entry = &table->entries[i];

        if (entry->count > 0)
            *free_place(&bigger, entry->a, entry->b) = *entry;
    }
    free(table->entries);
    *table = bigger;
    return true;
}

struct open_entry *open_table_add(struct open_table *table, uint64_t a, uint64_t b)
{
    struct open_entry *entry;

    if ((!table->entries || 2 * (table->used + 1) > table->mask) && !enlarge(table))
        return NULL;
    entry = free_place(table, a, b);
    *entry = (struct open_entry){ .a = a, .b = b };
    table->used++;
    return entry;
}

/* Entries behind the gap move up where their search would pass it.  */
void open_table_remove(struct open_table *table, struct open_entry *entry)
{
    size_t gap = (size_t)(entry - table->entries);

    for (size_t at = (gap + 1) & table->mask; table->entries[at].count > 0;
         at = (at + 1) & table->mask) {
        size_t home = home_of(table, table->entries[at].a, table->entries[at].b);

        if (((at - home) & table->mask) < ((at - gap) & table->mask))
            continue;
        table->entries[gap] = table->entries[at];
        gap = at;
    }
    table->entries[gap] = (struct open_entry){ .count = 0 };
    table->used--;
}

void open_table_release(struct open_table *table)
{
    free(table->entries);
}
