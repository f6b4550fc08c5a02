/* keys.h - from pairs of numbers, or texts, to numbers counted from 1.  Private to libstore.  */
#ifndef STORE_KEYS_H
#define STORE_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Open addressing; numbers count up in the order in which keys were first met.  Zeroed is empty. */
struct store_slots {
    uint32_t *tags;    /* lower halves of hashes */
    uint32_t *numbers; /* 0: free */
    size_t mask, used;
};

struct store_key {
    uint64_t a, b;
};

struct store_keys {
    struct store_slots slots;
    struct store_key *items; /* number i is at [i - 1] */
    size_t count, capacity;
};

/* The number of (a, b), given if need be (*is_new, may be NULL).  0: out of memory, or 2^32 - 2
 * keys.  */
uint32_t store_keys_add(struct store_keys *keys, uint64_t a, uint64_t b, bool *is_new);
/* The number of (a, b); 0: not there.  */
uint32_t store_keys_find(const struct store_keys *keys, uint64_t a, uint64_t b);
void store_keys_release(struct store_keys *keys);

struct store_text {
    size_t offset; /* in bytes */
    size_t length;
};

struct store_texts {
    struct store_slots slots;
    struct store_text *items;
    size_t count, capacity;
    char *bytes;
    size_t used, room;
};

uint32_t store_texts_add(struct store_texts *texts, const char *bytes, size_t length, bool *is_new);
const char *store_texts_get(const struct store_texts *texts, uint32_t number, size_t *length);
void store_texts_release(struct store_texts *texts);

/* Room for one more item of size bytes; false when memory is short, or after 2^32 - 2 items.  */
bool store_grow(void **items, size_t *capacity, size_t count, size_t size);

/* Room for count items of size bytes; false when memory is short.  */
bool store_reserve(void **items, size_t *capacity, size_t count, size_t size);

static inline uint64_t store_hash(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)(a ^ UINT64_C(0x9e3779b97f4a7c15)) *
                                (b ^ UINT64_C(0xd6e8feb86659fd93));

    return (uint64_t)product ^ (uint64_t)(product >> 64) ^ (a + b);
}

#endif /* STORE_KEYS_H */
