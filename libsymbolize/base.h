/* base.h - errors, strings, bytes of sections and address ranges: what every part of libsymbolize
 * stands on.  "section N" means docs/formats/symbolizer.md.  */
#ifndef SYMBOLIZE_BASE_H
#define SYMBOLIZE_BASE_H

#include <fxt/symbolize.h>
#include <string.h>

#include "base/account.h"
#include "base/numbering.h"

/* ---- Errors ---- */

/* Fill *error, which may be NULL, and return status.  */
enum sym_status sym_fail(struct sym_error *error, enum sym_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- Strings ---- */

/* Equal strings are stored once; they live until sym_strings_release().  All zero is empty.  */
struct sym_strings {
    struct base_texts texts;
    uint64_t limit; /* in bytes; 0: that of a module without a file */
    bool is_full;   /* some did not fit */
};

/* What all names of a module may take whose file has so many bytes.  */
uint64_t sym_strings_limit(uint64_t file_bytes);

/* The one copy of length bytes at bytes, NUL-terminated; "" for none, or for one that does not fit;
 * NULL: no memory.  The second is for what users are told: it always fits.  */
const char *sym_strings_intern(struct sym_strings *strings, const char *bytes, size_t length);
const char *sym_strings_keep(struct sym_strings *strings, const char *bytes, size_t length);
void sym_strings_release(struct sym_strings *strings);

/* directory/name, or name alone when that is absolute or directory is empty.  Interned; NULL: no
 * memory.  */
const char *sym_strings_join(struct sym_strings *strings, const char *directory, const char *name);

/* A heap copy from a format, owned by the caller; NULL: no memory.  */
char *sym_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- Bytes of sections ---- */

struct sym_bytes {
    const uint8_t *data;
    size_t size;
};

/* A place in a section.  Reading past the end sets failed, gives 0 or "", and leaves nothing.  */
struct sym_cursor {
    const uint8_t *next;
    size_t left;
    bool big_endian;
    bool failed;
};

struct sym_cursor sym_cursor_at(const struct sym_bytes *bytes, uint64_t offset, bool big_endian);
int64_t sym_read_sleb(struct sym_cursor *cursor);
const char *sym_read_string(struct sym_cursor *cursor); /* NUL-terminated, borrowed */

/* A number of at most 8 bytes that are known to be there.  */
static inline uint64_t sym_load(const uint8_t *bytes, size_t size, bool big_endian)
{
    const bool swap = big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    uint64_t value = 0;
    uint32_t word;
    uint16_t half;

    switch (size) {
    case 1:
        return bytes[0];
    case 2:
        memcpy(&half, bytes, sizeof half);
        return swap ? __builtin_bswap16(half) : half;
    case 4:
        memcpy(&word, bytes, sizeof word);
        return swap ? __builtin_bswap32(word) : word;
    case 8:
        memcpy(&value, bytes, sizeof value);
        return swap ? __builtin_bswap64(value) : value;
    default:
        for (size_t i = 0; i < size; i++)
            value |= (uint64_t)bytes[i] << 8 * (big_endian ? size - 1 - i : i);
        return value;
    }
}

static inline void sym_skip(struct sym_cursor *cursor, uint64_t size)
{
    if (size > cursor->left) {
        cursor->failed = true;
        cursor->left = 0;
        return;
    }
    cursor->next += size;
    cursor->left -= (size_t)size;
}

static inline uint64_t sym_read_number(struct sym_cursor *cursor, size_t size) /* at most 8 */
{
    if (size > cursor->left) {
        sym_skip(cursor, size);
        return 0;
    }
    uint64_t value = sym_load(cursor->next, size, cursor->big_endian);
    cursor->next += size;
    cursor->left -= size;
    return value;
}

uint64_t sym_read_long_uleb(struct sym_cursor *cursor);

static inline uint64_t sym_read_uleb(struct sym_cursor *cursor)
{
    if (cursor->left && !(cursor->next[0] & 0x80)) { /* nearly all */
        cursor->left--;
        return *cursor->next++;
    }
    return sym_read_long_uleb(cursor);
}

/* ---- Address ranges to disjoint segments ---- */

#define SYM_NO_VALUE UINT32_MAX

/* [low, high) stands for value.  Where ranges overlap the higher rank wins, then the later low,
 * then the higher tie, then the higher value.  */
struct sym_range {
    uint64_t low, high;
    uint32_t rank, tie, value;
};

struct sym_ranges {
    struct sym_range *items;
    size_t count, capacity;
};

struct sym_segment {
    uint64_t start; /* up to the start of the next one */
    uint32_t value; /* SYM_NO_VALUE: a gap */
};

struct sym_segments {
    struct sym_segment *items; /* by start */
    size_t count, capacity;
};

/* Room that laying out segments takes, kept from one call to the next.  All zero is empty.  */
struct sym_sweep {
    const struct sym_range **heap;
    size_t capacity;
};

/* SYM_OK, SYM_NO_MEMORY, or SYM_MALFORMED at the limit; an empty range is left out.  */
enum sym_status sym_ranges_add(struct sym_ranges *ranges, struct sym_range range);
void sym_ranges_release(struct sym_ranges *ranges);

/* Sorts ranges.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_segments_build(struct sym_segments *out, struct sym_ranges *ranges);

/* The same behind what out holds already: segments of their own, from out->count on.  */
enum sym_status sym_segments_append(struct sym_segments *out, struct sym_ranges *ranges,
                                    struct sym_sweep *room);
void sym_sweep_release(struct sym_sweep *room);

/* The last of count segments that starts at or before vaddr; -1: none.  near is a guess, such as
 * the answer for an address just below.  */
ptrdiff_t sym_segments_search(const struct sym_segment *items, size_t count, uint64_t vaddr,
                              ptrdiff_t near);

/* The same, and cuts span to where the answer holds.  */
struct sym_span {
    uint64_t start, limit;
};
ptrdiff_t sym_segments_narrow(const struct sym_segment *items, size_t count, uint64_t vaddr,
                              ptrdiff_t near, struct sym_span *span);

void sym_segments_release(struct sym_segments *segments);

#endif /* SYMBOLIZE_BASE_H */
