/* arena.h - memory that is released all at once.  */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct base_arena_block;

/* All zero is an empty arena without a limit.  */
struct base_arena {
    struct base_arena_block *blocks; /* owned; the newest first */
    size_t used;                     /* bytes of the newest block */
    size_t total;                    /* bytes handed out */
    size_t limit;                    /* total may not exceed this; 0: no limit */
};

/* Zeroed room for size bytes, aligned for any type.  It does not move until the arena is released.
 * Returns NULL when memory is short or the limit would be exceeded.  */
void *base_arena_alloc(struct base_arena *arena, size_t size);
/* The same for count items of size bytes.  */
void *base_arena_array(struct base_arena *arena, size_t count, size_t size);
/* A copy of length bytes, followed by a NUL.  Texts are packed, without alignment.  */
char *base_arena_text(struct base_arena *arena, const char *bytes, size_t length);
/* Free all memory.  The limit stays.  */
void base_arena_release(struct base_arena *arena);

#endif /* BASE_ARENA_H */
