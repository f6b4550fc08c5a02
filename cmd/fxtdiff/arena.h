/* arena.h - memory that goes away together, and texts stored once.  */
#ifndef FXTDIFF_ARENA_H
#define FXTDIFF_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diff_arena;

struct diff_arena *diff_arena_open(void);
/* Zeroed room, aligned for any type; never NULL: without memory the program ends.  */
void *diff_arena_take(struct diff_arena *arena, size_t size);
/* length bytes and a NUL.  */
char *diff_arena_copy(struct diff_arena *arena, const char *bytes, size_t length);
void diff_arena_close(struct diff_arena *arena); /* accepts NULL */

/* items with room for at least count of size bytes; grows by half.  */
void *diff_grow(void *items, size_t *capacity, size_t count, size_t size);

/* ---- Texts by number ---- */

/* All zero but arena: empty.  Numbers count from 0.  */
struct diff_texts {
    struct diff_arena *arena; /* where copies go; borrowed */
    struct diff_text {
        const char *bytes; /* NUL-terminated, in the arena */
        size_t length;
        uint64_t hash;
    } * items;
    size_t count, capacity;
    uint32_t *slots; /* number + 1, 0 free; open addressing */
    size_t slot_count;
};

#define DIFF_NO_TEXT UINT32_MAX

/* The number of a text, which is put in when it is new.  */
uint32_t diff_texts_add(struct diff_texts *texts, const char *bytes, size_t length);
/* DIFF_NO_TEXT when it is not there.  */
uint32_t diff_texts_find(const struct diff_texts *texts, const char *bytes, size_t length);
void diff_texts_release(struct diff_texts *texts); /* what was copied stays */

#endif /* FXTDIFF_ARENA_H */
