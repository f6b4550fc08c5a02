/* numbering.h - distinct keys, numbered from 1 in the order in which they were first met.  */
#ifndef BASE_NUMBERING_H
#define BASE_NUMBERING_H

#include "base/arena.h"
#include "base/index.h"

/* ---- Pairs of numbers ---- */

struct base_pair {
    uint64_t a, b;
};

/* All zero is empty.  */
struct base_pairs {
    struct base_index index;
    struct base_pair *items; /* number i is items[i - 1] */
    size_t count, capacity;
};

/* The number of (a, b), which is added if it is new (*is_new, which may be NULL, says so).  Returns
 * 0 when memory is short or after 2^32 - 2 pairs.  */
uint32_t base_pairs_add(struct base_pairs *pairs, uint64_t a, uint64_t b, bool *is_new);
/* The number of (a, b), or 0.  */
uint32_t base_pairs_find(const struct base_pairs *pairs, uint64_t a, uint64_t b);
void base_pairs_release(struct base_pairs *pairs);

/* ---- Texts ---- */

struct base_text_item {
    const char *bytes; /* followed by a NUL, in the arena */
    size_t length;
    uint64_t hash;
};

/* All zero is empty.  Set arena.limit to bound the bytes of all texts.  */
struct base_texts {
    struct base_arena arena; /* of the bytes, which do not move */
    struct base_index index;
    struct base_text_item *items; /* number i is items[i - 1] */
    size_t count, capacity;
};

/* The number of a text, which is copied if it is new (*is_new, which may be NULL, says so).
 * Returns 0 when memory is short, the arena's limit is reached, or after 2^32 - 2 texts.  */
uint32_t base_texts_add(struct base_texts *texts, const char *bytes, size_t length, bool *is_new);
/* The bytes of a text by its number, followed by a NUL, valid until the texts are released.  */
const char *base_texts_get(const struct base_texts *texts, uint32_t number, size_t *length);
/* The number of a text, or 0.  */
uint32_t base_texts_find(const struct base_texts *texts, const char *bytes, size_t length);
void base_texts_release(struct base_texts *texts);

#endif /* BASE_NUMBERING_H */
