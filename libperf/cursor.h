/* cursor.h - numbers of a file in either byte order, taken one after the other.  */
#ifndef PERF_CURSOR_H
#define PERF_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A take that does not fit sets failed and gives 0; so do all that follow.  */
struct perf_cursor {
    const uint8_t *at;
    size_t left;
    bool swap; /* the file has the other byte order */
    bool failed;
};

static inline uint64_t perf_load_u64(const uint8_t *bytes, bool swap)
{
    uint64_t value;

    memcpy(&value, bytes, sizeof value);
    return swap ? __builtin_bswap64(value) : value;
}

static inline uint32_t perf_load_u32(const uint8_t *bytes, bool swap)
{
    uint32_t value;

    memcpy(&value, bytes, sizeof value);
    return swap ? __builtin_bswap32(value) : value;
}

static inline uint16_t perf_load_u16(const uint8_t *bytes, bool swap)
{
    uint16_t value;

    memcpy(&value, bytes, sizeof value);
    return swap ? __builtin_bswap16(value) : value;
}

/* size bytes as they are, or NULL.  */
static inline const uint8_t *perf_take(struct perf_cursor *cursor, uint64_t size)
{
    const uint8_t *bytes = cursor->at;

    if (cursor->failed || size > cursor->left) {
        cursor->failed = true;
        return NULL;
    }
    cursor->at += size;
    cursor->left -= (size_t)size;
    return bytes;
}

static inline uint64_t perf_take_u64(struct perf_cursor *cursor)
{
    const uint8_t *bytes = perf_take(cursor, 8);

    return bytes ? perf_load_u64(bytes, cursor->swap) : 0;
}

static inline uint32_t perf_take_u32(struct perf_cursor *cursor)
{
    const uint8_t *bytes = perf_take(cursor, 4);

    return bytes ? perf_load_u32(bytes, cursor->swap) : 0;
}

/* A text with a NUL somewhere in the rest, which is taken whole; NULL when there is none.  */
static inline const char *perf_take_text(struct perf_cursor *cursor)
{
    const uint8_t *text = cursor->at;

    if (cursor->failed || cursor->left == 0 || !memchr(text, '\0', cursor->left)) {
        cursor->failed = true;
        return NULL;
    }
    cursor->at += cursor->left;
    cursor->left = 0;
    return (const char *)text;
}

#endif /* PERF_CURSOR_H */
