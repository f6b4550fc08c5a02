/* table.h - from pairs of numbers to what is open.  Private to libprofile/ingest.  */
#ifndef PROFILE_INGEST_TABLE_H
#define PROFILE_INGEST_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* An entry is there while its count is not 0.  */
struct open_entry {
    uint64_t a, b; /* key */
    uint32_t value;
    uint32_t count;
};

struct open_table {
    struct open_entry *entries; /* open addressing; a power of two of them, at most half used */
    size_t mask, used;
};

/* At most so many flows, and as many async slices, are open; more are left out and counted.  */
#define MAX_OPEN 1000000u

/* The entry, or NULL.  */
struct open_entry *open_table_find(const struct open_table *table, uint64_t a, uint64_t b);
/* A new one, with value and count 0, for a key that is not there.  The caller makes its count other
 * than 0.  Moves entries; NULL when memory is short.  */
struct open_entry *open_table_add(struct open_table *table, uint64_t a, uint64_t b);
/* Moves entries.  */
void open_table_remove(struct open_table *table, struct open_entry *entry);
void open_table_release(struct open_table *table);

#endif /* PROFILE_INGEST_TABLE_H */
