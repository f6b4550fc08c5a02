/* Which columns there are; directories as bytes.  */
#include "libstore/columns.h"

#include <stdlib.h>

#include <fxt/fxt.h>

#include "base/grow.h"

/* A machine with the other order of bytes reads another number, and no columns.  */
#define MAGIC UINT64_C(0x31306c6f63747866)
/* Ids that a hostile store has stay far from where sums of them wrap.  */
#define LARGEST_ID (INT64_C(1) << 62)

const struct columns_table_info columns_tables[COLUMNS_TABLES] = {
    [COLUMNS_SLICE] = { STORE_SLICE,
                        "slice_data",
                        10,
                        { "ts", "dur", "track_id", "name_id", "depth", "parent_id", "arg_set_id",
                          "instant", "async_id", "scope" },
                        0,
                        false },
    [COLUMNS_COUNTER] = { STORE_COUNTER, "counter", 3, { "ts", "track_id", "value" }, 0, false },
    [COLUMNS_SCHED] = { STORE_SCHED_SLICE,
                        "sched_slice",
                        6,
                        { "ts", "dur", "cpu", "utid", "end_state", "priority" },
                        1u << 4,
                        false },
    [COLUMNS_WAIT] = { STORE_THREAD_WAIT,
                       "thread_wait",
                       5,
                       { "ts", "dur", "utid", "state", "waker_utid" },
                       1u << 3,
                       false },
    [COLUMNS_SAMPLE] = { STORE_CPU_SAMPLE,
                         "cpu_sample",
                         6,
                         { "ts", "cpu", "utid", "callsite_id", "weight", "sample_type_id" },
                         0,
                         false },
    [COLUMNS_ARG] = { STORE_ARG,
                      "arg",
                      5,
                      { "arg_set_id", "ordinal", "key_id", "type", "value" },
                      0,
                      true },
};

bool columns_arg_fits(int64_t type, enum store_cell_type value)
{
    switch (type) {
    case FXT_ARG_NULL:
    case FXT_ARG_UNKNOWN:
        return value == STORE_NULL;
    case FXT_ARG_DOUBLE: /* NaN is NULL */
        return value == STORE_REAL || value == STORE_NULL;
    case FXT_ARG_STRING:
        return value == STORE_TEXT;
    case FXT_ARG_BLOB:
        return value == STORE_BLOB;
    default:
        return type > FXT_ARG_NULL && type < FXT_ARG_UNKNOWN && value == STORE_INTEGER;
    }
}

struct head {
    uint64_t magic;
    uint64_t checksum; /* of the groups */
    uint64_t groups;
    uint32_t columns, table;
};

struct stored_group {
    int64_t first_id, base;
    uint32_t count, unused;
};

static size_t group_size(enum columns_table table)
{
    return sizeof(struct stored_group) + columns_tables[table].count * sizeof(struct block_shape);
}

struct columns_group *columns_add_group(struct columns_directory *directory)
{
    struct columns_group *group;

    if (!base_make_room(&directory->groups, &directory->capacity, directory->count + 1,
                        sizeof *directory->groups))
        return NULL;
    group = &directory->groups[directory->count++];
    memset(group, 0, sizeof *group);
    return group;
}

void columns_directory_release(struct columns_directory *directory)
{
    free(directory->groups);
    *directory = (struct columns_directory){ .groups = NULL };
}

uint8_t *columns_directory_bytes(const struct columns_directory *directory,
                                 enum columns_table table, size_t *size)
{
    struct head head = { .magic = MAGIC,
                         .groups = directory->count,
                         .columns = columns_tables[table].count,
                         .table = (uint32_t)table };
    uint8_t *bytes, *at;

    *size = sizeof head + directory->count * group_size(table);
    bytes = malloc(*size);
    if (!bytes)
        return NULL;
    at = bytes + sizeof head;
    for (size_t i = 0; i < directory->count; i++, at += group_size(table)) {
        const struct columns_group *group = &directory->groups[i];
        struct stored_group stored = { .first_id = group->first_id,
                                       .base = group->base,
                                       .count = group->count };

        memcpy(at, &stored, sizeof stored);
        memcpy(at + sizeof stored, group->shapes,
               columns_tables[table].count * sizeof *group->shapes);
    }
    head.checksum = block_checksum(bytes + sizeof head, *size - sizeof head);
    memcpy(bytes, &head, sizeof head);
    return bytes;
}

/* Whether ids grow, and sizes are what rows take.  */
static bool is_valid(const struct columns_group *group, const struct columns_directory *directory,
                     enum columns_table table)
{
    const struct columns_group *before = directory->count > 1 ? group - 1 : NULL;

    if (group->count == 0 || group->count > BLOCK_ROWS || group->first_id < -LARGEST_ID ||
        group->first_id > LARGEST_ID || group->base < COLUMNS_FIRST_BLOCK ||
        group->base > LARGEST_ID)
        return false;
    if (before && group->first_id < before->first_id + (int64_t)before->count)
        return false;
    for (unsigned i = 0; i < columns_tables[table].count; i++)
        if (!block_shape_is_valid(&group->shapes[i], group->count))
            return false;
    return true;
}

static enum store_status parse_group(const uint8_t *bytes, enum columns_table table,
                                     struct columns_directory *out)
{
    struct columns_group *group = columns_add_group(out);
    struct stored_group stored;

    if (!group)
        return STORE_NO_MEMORY;
    memcpy(&stored, bytes, sizeof stored);
    memcpy(group->shapes, bytes + sizeof stored,
           columns_tables[table].count * sizeof *group->shapes);
    group->first_id = stored.first_id;
    group->base = stored.base;
    group->count = stored.count;
    group->first_row = out->rows;
    out->rows += stored.count;
    return is_valid(group, out, table) ? STORE_OK : STORE_CORRUPT;
}

enum store_status columns_directory_parse(const uint8_t *bytes, size_t size,
                                          enum columns_table table, struct columns_directory *out)
{
    enum store_status status = STORE_OK;
    struct head head;

    *out = (struct columns_directory){ .groups = NULL };
    if (size < sizeof head)
        return STORE_CORRUPT;
    memcpy(&head, bytes, sizeof head);
    if (head.magic != MAGIC || head.columns != columns_tables[table].count ||
        head.table != (uint32_t)table || (size - sizeof head) % group_size(table) != 0 ||
        head.groups != (size - sizeof head) / group_size(table) ||
        head.checksum != block_checksum(bytes + sizeof head, size - sizeof head))
        return STORE_CORRUPT;
    for (size_t i = 0; i < head.groups && status == STORE_OK; i++)
        status = parse_group(bytes + sizeof head + i * group_size(table), table, out);
    if (status != STORE_OK)
        columns_directory_release(out);
    return status;
}
