/* Columns: directories and blocks of any bytes, as a hostile store has them whose checksums fit.
 *
 * - What packing makes of values is those values again.
 * - A directory that is accepted is written as the same bytes.
 * - Every value of a block that its directory describes lies within the block's bytes.  */
#include <stdlib.h>
#include <string.h>

#include "libstore/columns.h"
#include "tests/fuzz/store_files.h"
#include "tests/fuzz/support.h"

/* Values and types, two choices each.  */
static void hold_packing(struct fuzz_choices choices)
{
    static int64_t values[BLOCK_ROWS];
    static uint8_t types[BLOCK_ROWS], bytes[BLOCK_MOST_BYTES];
    unsigned count = 1 + (unsigned)(fuzz_choose(&choices, 2) % BLOCK_ROWS);
    unsigned width = 1 + (unsigned)(fuzz_choose(&choices, 1) % 8);
    uint8_t mask = (uint8_t)fuzz_choose(&choices, 1);
    struct block_shape shape;
    struct block block;

    for (unsigned i = 0; i < count; i++) {
        types[i] = (uint8_t)((fuzz_choose(&choices, 1) & mask) % 3);
        values[i] = types[i] == BLOCK_NULL ? 0 : (int64_t)fuzz_choose(&choices, width);
    }
    block_pack(values, types, count, &shape, bytes);
    HOLD(block_shape_is_valid(&shape, count));
    block_view(&block, &shape, bytes, count);
    for (unsigned i = 0; i < count; i++) {
        HOLD(block_is_null(&block, i) == (types[i] == BLOCK_NULL));
        if (types[i] == BLOCK_NULL)
            continue;
        HOLD(block_value(&block, i) == values[i]);
        HOLD(block_is_real(&block, i) == (types[i] == BLOCK_REAL));
    }
}

/* So that no compiler leaves reads out.  */
static volatile uint64_t sink;

/* A sanitizer sees a read beyond the bytes.  */
static void read_block(const struct block_shape *shape, unsigned count)
{
    uint8_t *bytes = calloc(1, shape->size + BLOCK_PADDING);
    struct block block;
    uint64_t sum = 0;

    HOLD(bytes != NULL);
    block_view(&block, shape, bytes, count);
    for (unsigned i = 0; i < count; i++)
        sum += (uint64_t)block_value(&block, i) + block_is_null(&block, i) +
               block_is_real(&block, i);
    sink = sum;
    free(bytes);
}

static void hold_directory(enum columns_table table, const uint8_t *bytes, size_t size)
{
    struct columns_directory directory;
    uint8_t *again;
    size_t length;

    if (columns_directory_parse(bytes, size, table, &directory) != STORE_OK)
        return;
    for (size_t i = 0; i < directory.count; i++)
        for (unsigned c = 0; c < columns_tables[table].count; c++)
            read_block(&directory.groups[i].shapes[c], directory.groups[i].count);
    again = columns_directory_bytes(&directory, table, &length);
    HOLD(again && length == size);
    free(again);
    columns_directory_release(&directory);
}

/* The bytes as groups, after the head that a directory of as many has.  */
static void parse_groups(enum columns_table table, const uint8_t *data, size_t size)
{
    struct columns_directory empty = { .groups = NULL };
    size_t head, group = 24 + columns_tables[table].count * sizeof(struct block_shape);
    uint8_t *start = columns_directory_bytes(&empty, table, &head);
    uint64_t groups = size / group, checksum;
    uint8_t *bytes;

    HOLD(start != NULL);
    size = (size_t)groups * group;
    bytes = malloc(head + size);
    HOLD(bytes != NULL);
    memcpy(bytes, start, head);
    memcpy(bytes + head, data, size);
    checksum = block_checksum(bytes + head, size);
    memcpy(bytes + 8, &checksum, sizeof checksum);
    memcpy(bytes + 16, &groups, sizeof groups);
    hold_directory(table, bytes, head + size);
    free(start);
    free(bytes);
}

/* A group with shapes that fit, so that inputs need not find them: widths and flags are chosen.  */
static void read_shapes(struct fuzz_choices choices)
{
    for (int i = 0; i < 8; i++) {
        unsigned count = 1 + (unsigned)(fuzz_choose(&choices, 2) % BLOCK_ROWS);
        struct block_shape shape = { .width = (uint8_t)fuzz_choose(&choices, 1),
                                     .flags = (uint8_t)fuzz_choose(&choices, 1),
                                     .minimum = (int64_t)fuzz_choose(&choices, 8),
                                     .maximum = INT64_MAX };
        unsigned bits = (shape.flags & BLOCK_HAS_NULLS ? 1u : 0u) +
                        (shape.flags & BLOCK_HAS_REALS ? 1u : 0u);

        shape.size = (count * shape.width + 7) / 8 + bits * ((count + 7) / 8);
        if (block_shape_is_valid(&shape, count))
            read_block(&shape, count);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_choices choices = { data, size };
    enum columns_table table;

    if (size == 0)
        return 0;
    table = (enum columns_table)(data[0] % COLUMNS_TABLES);
    hold_packing(choices);
    read_shapes(choices);
    hold_directory(table, data, size);
    parse_groups(table, data + 1, size - 1);
    return 0;
}
