/* Values of one column, packed.  */
#include "libstore/blocks/column_block.h"

#include "base/index.h"

/* ---- Packing ---- */

struct contents {
    unsigned nulls, reals;
    bool falls; /* somewhere */
    int64_t minimum, maximum;
};

static struct contents look(const int64_t *values, const uint8_t *types, unsigned count)
{
    struct contents contents = { .minimum = INT64_MAX, .maximum = INT64_MIN };

    for (unsigned i = 0; i < count; i++) {
        if (types[i] == BLOCK_NULL) {
            contents.nulls++;
            continue;
        }
        contents.reals += types[i] == BLOCK_REAL;
        contents.falls |= i > 0 && values[i] < values[i - 1];
        if (values[i] < contents.minimum)
            contents.minimum = values[i];
        if (values[i] > contents.maximum)
            contents.maximum = values[i];
    }
    if (contents.nulls == count)
        contents.minimum = contents.maximum = 0;
    return contents;
}

static uint8_t width_of(const struct contents *contents)
{
    uint64_t range = (uint64_t)contents->maximum - (uint64_t)contents->minimum;
    unsigned bits = range ? 64 - (unsigned)__builtin_clzll(range) : 0;

    return (uint8_t)(bits > 56 ? 64 : bits);
}

static size_t value_bytes(unsigned count, unsigned width)
{
    return ((size_t)count * width + 7) / 8;
}

static size_t bit_bytes(unsigned count)
{
    return (count + 7) / 8;
}

static void put_values(const int64_t *values, const uint8_t *types, unsigned count,
                       const struct block_shape *shape, uint8_t *bytes)
{
    size_t bit = 0;

    for (unsigned i = 0; i < count; i++, bit += shape->width) {
        uint64_t distance = types[i] == BLOCK_NULL ? 0
                                                   : (uint64_t)values[i] - (uint64_t)shape->minimum;
        uint64_t word;

        memcpy(&word, bytes + (bit >> 3), sizeof word);
        word |= distance << (bit & 7);
        memcpy(bytes + (bit >> 3), &word, sizeof word);
    }
}

static uint8_t *put_bits(const uint8_t *types, unsigned count, enum block_type type, uint8_t *bytes)
{
    for (unsigned i = 0; i < count; i++)
        bytes[i >> 3] = (uint8_t)(bytes[i >> 3] | (types[i] == type) << (i & 7));
    return bytes + bit_bytes(count);
}

static uint8_t flags_of(const struct contents *contents, unsigned count)
{
    unsigned flags = 0, valued = count - contents->nulls;

    if (contents->nulls == count)
        return BLOCK_ALL_NULL;
    if (contents->nulls == 0 && !contents->falls)
        flags |= BLOCK_IS_SORTED;
    if (contents->nulls > 0)
        flags |= BLOCK_HAS_NULLS;
    if (contents->reals == valued)
        flags |= BLOCK_ALL_REAL;
    else if (contents->reals > 0)
        flags |= BLOCK_HAS_REALS;
    return (uint8_t)flags;
}

void block_pack(const int64_t *values, const uint8_t *types, unsigned count,
                struct block_shape *shape, uint8_t *bytes)
{
    struct contents contents = look(values, types, count);
    uint8_t *end = bytes;

    *shape = (struct block_shape){ .minimum = contents.minimum,
                                   .maximum = contents.maximum,
                                   .width = width_of(&contents),
                                   .flags = flags_of(&contents, count) };
    memset(bytes, 0, BLOCK_MOST_BYTES);
    if (shape->width > 0)
        put_values(values, types, count, shape, bytes);
    end += value_bytes(count, shape->width);
    if (shape->flags & BLOCK_HAS_NULLS)
        end = put_bits(types, count, BLOCK_NULL, end);
    if (shape->flags & BLOCK_HAS_REALS)
        end = put_bits(types, count, BLOCK_REAL, end);
    shape->size = (uint32_t)(end - bytes);
    shape->checksum = block_checksum(bytes, shape->size);
}

uint64_t block_checksum(const uint8_t *bytes, size_t size)
{
    uint64_t sum = base_hash(size, 1), word;

    for (; size >= sizeof word; bytes += sizeof word, size -= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        sum = base_hash(sum, word);
    }
    word = 0;
    memcpy(&word, bytes, size);
    return base_hash(sum, word);
}

/* ---- Reading ---- */

bool block_shape_is_valid(const struct block_shape *shape, unsigned count)
{
    size_t size = value_bytes(count, shape->width);

    if (shape->flags & BLOCK_HAS_NULLS)
        size += bit_bytes(count);
    if (shape->flags & BLOCK_HAS_REALS)
        size += bit_bytes(count);
    return (shape->width <= 56 || shape->width == 64) && count <= BLOCK_ROWS &&
           shape->minimum <= shape->maximum && shape->size == size;
}

void block_view(struct block *block, const struct block_shape *shape, const uint8_t *bytes,
                unsigned count)
{
    const uint8_t *bits = bytes + value_bytes(count, shape->width);

    *block = (struct block){ .bytes = bytes,
                             .minimum = shape->minimum,
                             .mask = shape->width == 64 ? UINT64_MAX
                                                        : (UINT64_C(1) << shape->width) - 1,
                             .width = shape->width,
                             .flags = shape->flags };
    if (shape->flags & BLOCK_HAS_NULLS) {
        block->nulls = bits;
        bits += bit_bytes(count);
    }
    if (shape->flags & BLOCK_HAS_REALS)
        block->reals = bits;
}

/* ---- Short texts ---- */

bool block_text_number(const char *text, size_t length, int64_t *out)
{
    uint64_t number = 0;

    if (length > BLOCK_TEXT_BYTES)
        return false;
    for (size_t i = 0; i < length; i++)
        number |= (uint64_t)(unsigned char)text[i] << (8 * i);
    /* Texts have no NUL, so the length need not be stored.  */
    *out = (int64_t)number;
    return memchr(text, '\0', length) == NULL;
}

unsigned block_number_text(int64_t number, char text[BLOCK_TEXT_BYTES])
{
    uint64_t rest = (uint64_t)number;
    unsigned length = 0;

    for (; rest && length < BLOCK_TEXT_BYTES; rest >>= 8)
        text[length++] = (char)(rest & 0xff);
    return length;
}
