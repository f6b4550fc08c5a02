/* base.h - errors, strings, bytes of sections and address ranges: what every part of libsymbolize
 * stands on.  "section N" means docs/formats/symbolizer.md.  */
#ifndef SYMBOLIZE_BASE_H
#define SYMBOLIZE_BASE_H

#include "libsymbolize/symbolize.h"

/* ---- Errors and memory ---- */

/* Fill *error, which may be NULL, and return status.  */
enum sym_status sym_fail(struct sym_error *error, enum sym_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Room for one more item behind count, doubling: the new place of items, or NULL, and then items is
 * as it was.  */
void *sym_grow(void *items, size_t *capacity, size_t count, size_t item_size);

/* ---- Strings ---- */

/* Equal strings are stored once; they live until sym_strings_release().  All zero is empty.  */
struct sym_strings {
    struct sym_chunk *chunks;
    const char **slots; /* hash table, at most half full */
    size_t slot_count;  /* 0 or a power of two */
    size_t count;
    uint64_t total_bytes; /* bounded by SYM_STRINGS_LIMIT */
};

/* The one copy of length bytes at bytes, NUL-terminated; "" for none; NULL: no memory.  */
const char *sym_strings_intern(struct sym_strings *strings, const char *bytes, size_t length);
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
uint64_t sym_read_number(struct sym_cursor *cursor, size_t size); /* of at most 8 bytes */
uint64_t sym_read_uleb(struct sym_cursor *cursor);
int64_t sym_read_sleb(struct sym_cursor *cursor);
const char *sym_read_string(struct sym_cursor *cursor); /* NUL-terminated, borrowed */
void sym_skip(struct sym_cursor *cursor, uint64_t size);

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
    size_t count;
};

/* SYM_OK, SYM_NO_MEMORY, or SYM_MALFORMED at the limit; an empty range is left out.  */
enum sym_status sym_ranges_add(struct sym_ranges *ranges, struct sym_range range);
void sym_ranges_release(struct sym_ranges *ranges);

/* Sorts ranges.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_segments_build(struct sym_segments *out, struct sym_ranges *ranges);
uint32_t sym_segments_find(const struct sym_segments *segments, uint64_t vaddr);
void sym_segments_release(struct sym_segments *segments);

#endif /* SYMBOLIZE_BASE_H */
