/* column_block.h - the values of one column for the rows of one group, packed.  Private to
 * libstore.
 *
 * A value takes `width` bits and is stored as its distance from the smallest one of its block, so
 * each value of a block can be read by itself.  After the values come, as far as flags has them, a
 * bit for each row that is NULL, and a bit for each row that is a real (whose 64 bits are its
 * value).  Texts of at most BLOCK_TEXT_BYTES bytes are numbers, too.  A block whose rows are all
 * equal has no bytes.  Numbers are stored as the machine has them; columns_format.c refuses those
 * of other machines.  */
#ifndef STORE_COLUMN_BLOCK_H
#define STORE_COLUMN_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BLOCK_ROWS       4096u
#define BLOCK_TEXT_BYTES 7u
/* Values are read as words of 8 bytes, the last one, too.  */
#define BLOCK_PADDING    8u
#define BLOCK_MOST_BYTES (BLOCK_ROWS * 8 + 2 * (BLOCK_ROWS / 8) + BLOCK_PADDING)

enum block_flags {
    BLOCK_HAS_NULLS = 1, /* the bits of NULL follow the values */
    BLOCK_ALL_NULL = 2,
    BLOCK_ALL_REAL = 4,
    BLOCK_HAS_REALS = 8,  /* integers and reals: the bits of reals come last */
    BLOCK_IS_SORTED = 16, /* no NULL, and no value is less than the one before */
};

/* Rows that are neither integers nor NULL among others.  */
#define BLOCK_HAS_OTHERS (BLOCK_ALL_NULL | BLOCK_ALL_REAL | BLOCK_HAS_REALS)

enum block_type { BLOCK_NULL, BLOCK_INTEGER, BLOCK_REAL };

/* How to read a block.  */
struct block_shape {
    int64_t minimum, maximum; /* of the values that are not NULL; of reals, of their bits */
    uint64_t checksum;        /* of the bytes */
    uint32_t size;            /* in bytes */
    uint8_t width;            /* in bits: 0 to 56, or 64 */
    uint8_t flags;
    uint16_t unused; /* 0 */
};

/* A block in memory.  */
struct block {
    const uint8_t *bytes;
    const uint8_t *nulls; /* NULL: no row is NULL, or all are */
    const uint8_t *reals; /* NULL: no row is a real, or all are */
    int64_t minimum;
    uint64_t mask;
    uint8_t width, flags;
};

/* Pack count rows (at most BLOCK_ROWS).  bytes has room for BLOCK_MOST_BYTES.  */
void block_pack(const int64_t *values, const uint8_t *types, unsigned count,
                struct block_shape *shape, uint8_t *bytes);

/* Whether a block of count rows can have that shape: what it says of its size is true.  */
bool block_shape_is_valid(const struct block_shape *shape, unsigned count);

/* View bytes, of a valid shape.  */
void block_view(struct block *block, const struct block_shape *shape, const uint8_t *bytes,
                unsigned count);

uint64_t block_checksum(const uint8_t *bytes, size_t size);

static inline bool block_bit(const uint8_t *bits, unsigned row)
{
    return bits[row >> 3] >> (row & 7) & 1;
}

/* The value of a row that is not NULL.  */
static inline int64_t block_value(const struct block *block, unsigned row)
{
    size_t bit = (size_t)row * block->width;
    uint64_t word;

    memcpy(&word, block->bytes + (bit >> 3), sizeof word);
    return (int64_t)((uint64_t)block->minimum + ((word >> (bit & 7)) & block->mask));
}

static inline bool block_is_null(const struct block *block, unsigned row)
{
    return block->nulls ? block_bit(block->nulls, row) : (block->flags & BLOCK_ALL_NULL) != 0;
}

static inline bool block_is_real(const struct block *block, unsigned row)
{
    return block->reals ? block_bit(block->reals, row) : (block->flags & BLOCK_ALL_REAL) != 0;
}

/* A short text as a number, which compares equal exactly if the texts do.  Returns false if it is
 * too long.  */
bool block_text_number(const char *text, size_t length, int64_t *out);

/* The text of such a number.  Returns its length.  */
unsigned block_number_text(int64_t number, char text[BLOCK_TEXT_BYTES]);

#endif /* STORE_COLUMN_BLOCK_H */
