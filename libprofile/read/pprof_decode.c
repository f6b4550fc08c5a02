/* pprof_decode.c - entries of a pprof message into tables; by nanopb, but for samples.  */
#include <pb_decode.h>
#include <stdlib.h>
#include <string.h>

#include "libprofile/read/byte_source.h"
#include "libprofile/read/pprof_tables.h"
#include "schemas/profile.pb.h"

void pprof_tables_release(struct pprof_tables *tables)
{
    base_arena_release(&tables->arena);
    base_index_release(&tables->mapping_index);
    base_index_release(&tables->function_index);
    base_index_release(&tables->location_index);
    free(tables->strings);
    free(tables->types);
    free(tables->comments.items);
    free(tables->mappings);
    free(tables->functions);
    free(tables->locations);
    free(tables->lines);
    free(tables->sample_locations.items);
    free(tables->sample_values.items);
    free(tables->labels);
}

/* ---- Room ---- */

static bool fail_memory(struct pprof_tables *tables)
{
    tables->status = profile_no_memory(tables->error);
    return false;
}

/* Count bytes that a table is going to take, its growth and its index included.  */
static bool charge(struct pprof_tables *tables, size_t bytes)
{
    if (bytes <= tables->bytes_left) {
        tables->bytes_left -= bytes;
        return true;
    }
    tables->status = fail_tables(tables->error, tables->most_bytes);
    return false;
}

/* Make room for one more item; array is the address of the pointer to the items.  Their count stays
 * below 2^32 - 1.  */
static bool make_room(struct pprof_tables *tables, void *array, size_t *capacity, size_t count,
                      size_t size)
{
    if (count >= UINT32_MAX - 1) {
        tables->status = profile_fail(tables->error, PROFILE_LIMIT, "more than 2^32 - 2 entries");
        return false;
    }
    return base_make_room(array, capacity, count + 1, size) || fail_memory(tables);
}

/* The same for a table.  */
static bool make_table_room(struct pprof_tables *tables, void *array, size_t *capacity,
                            size_t count, size_t size)
{
    return charge(tables, 2 * size) && make_room(tables, array, capacity, count, size);
}

static bool add_number(struct pprof_tables *tables, struct numbers *numbers, uint64_t number)
{
    if (!make_room(tables, &numbers->items, &numbers->capacity, numbers->count,
                   sizeof *numbers->items))
        return false;
    numbers->items[numbers->count++] = number;
    return true;
}

/* ---- Ids ---- */

/* Most writers number from 1 in the order of the file: such ids are numbers, and not indexed.  */
#define DEFINE_FIND(kind)                                                      \
    uint32_t pprof_find_##kind(const struct pprof_tables *tables, uint64_t id) \
    {                                                                          \
        const struct base_index *index = &tables->kind##_index;                \
        uint64_t hash;                                                         \
        size_t probe = 0;                                                      \
                                                                               \
        if (!index->slots)                                                     \
            return id <= tables->kind##_count ? (uint32_t)id : 0;              \
        if (id == 0)                                                           \
            return 0;                                                          \
        if (id <= tables->kind##_count && tables->kind##s[id - 1].id == id)    \
            return (uint32_t)id;                                               \
        hash = base_hash(id, 0);                                               \
        for (uint32_t at = base_index_first(index, hash, &probe); at;          \
             at = base_index_next(index, hash, &probe))                        \
            if (tables->kind##s[at - 1].id == id)                              \
                return at;                                                     \
        return 0;                                                              \
    }

DEFINE_FIND(mapping)
DEFINE_FIND(function)
DEFINE_FIND(location)

/* Enter an id that is not there yet; the number is that of an item which was just added.  */
static bool enter(struct pprof_tables *tables, struct base_index *index, uint64_t id, size_t number)
{
    if (id == number)
        return true;
    if (!base_index_reserve(index))
        return fail_memory(tables);
    base_index_add(index, base_hash(id, 0), (uint32_t)number);
    return true;
}

/* ---- Strings ---- */

uint32_t pprof_string(int64_t string)
{
    return string < 0 || string > UINT32_MAX ? UINT32_MAX : (uint32_t)string;
}

static void add_string(struct pprof_tables *tables, const uint8_t *bytes, size_t length)
{
    char *copy;

    if (!charge(tables, length + 1))
        return;
    if (!make_table_room(tables, &tables->strings, &tables->string_capacity, tables->string_count,
                         sizeof *tables->strings))
        return;
    copy = base_arena_text(&tables->arena, (const char *)bytes, length);
    if (!copy) {
        (void)fail_memory(tables);
        return;
    }
    tables->strings[tables->string_count++] = (struct profile_text){ copy, length };
}

void pprof_lose_string(struct pprof_tables *tables)
{
    add_string(tables, NULL, 0);
}

/* ---- Small messages ---- */

static bool decode(const uint8_t *bytes, size_t length, const pb_msgdesc_t *description,
                   void *message)
{
    pb_istream_t stream = pb_istream_from_buffer(bytes, length);

    return pb_decode(&stream, description, message);
}

/* A sample type that makes no sense keeps its place among the values.  */
static bool add_type(struct pprof_tables *tables, const uint8_t *bytes, size_t length)
{
    perftools_profiles_ValueType message = perftools_profiles_ValueType_init_zero;
    bool sound = decode(bytes, length, perftools_profiles_ValueType_fields, &message);

    if (!make_table_room(tables, &tables->types, &tables->type_capacity, tables->type_count,
                         sizeof *tables->types))
        return true;
    tables->types[tables->type_count++] = (struct profile_pprof_type){
        .type = sound ? pprof_string(message.type) : 0,
        .unit = sound ? pprof_string(message.unit) : 0,
    };
    return sound;
}

static bool set_period_type(struct pprof_tables *tables, const uint8_t *bytes, size_t length)
{
    perftools_profiles_ValueType message = perftools_profiles_ValueType_init_zero;

    if (!decode(bytes, length, perftools_profiles_ValueType_fields, &message))
        return false;
    tables->header.has_period_type = true;
    tables->header.period_type = (struct profile_pprof_type){
        .type = pprof_string(message.type),
        .unit = pprof_string(message.unit),
    };
    return true;
}

static bool add_mapping(struct pprof_tables *tables, const uint8_t *bytes, size_t length)
{
    perftools_profiles_Mapping message = perftools_profiles_Mapping_init_zero;

    if (!decode(bytes, length, perftools_profiles_Mapping_fields, &message))
        return false;
    if (message.id == 0 || pprof_find_mapping(tables, message.id)) {
        tables->notices->bad_ids++;
        return true;
    }
    if (!make_table_room(tables, &tables->mappings, &tables->mapping_capacity,
                         tables->mapping_count, sizeof *tables->mappings))
        return true;
    tables->mappings[tables->mapping_count++] = (struct profile_pprof_mapping){
        .id = message.id,
        .start = message.memory_start,
        .limit = message.memory_limit,
        .file_offset = message.file_offset,
        .filename = pprof_string(message.filename),
        .build_id = pprof_string(message.build_id),
        .has_functions = message.has_functions,
        .has_filenames = message.has_filenames,
        .has_line_numbers = message.has_line_numbers,
        .has_inline_frames = message.has_inline_frames,
    };
    (void)enter(tables, &tables->mapping_index, message.id, tables->mapping_count);
    return true;
}

static bool add_function(struct pprof_tables *tables, const uint8_t *bytes, size_t length)
{
    perftools_profiles_Function message = perftools_profiles_Function_init_zero;

    if (!decode(bytes, length, perftools_profiles_Function_fields, &message))
        return false;
    if (message.id == 0 || pprof_find_function(tables, message.id)) {
        tables->notices->bad_ids++;
        return true;
    }
    if (!make_table_room(tables, &tables->functions, &tables->function_capacity,
                         tables->function_count, sizeof *tables->functions))
        return true;
    tables->functions[tables->function_count++] = (struct profile_pprof_function){
        .id = message.id,
        .name = pprof_string(message.name),
        .system_name = pprof_string(message.system_name),
        .filename = pprof_string(message.filename),
        .start_line = message.start_line,
    };
    (void)enter(tables, &tables->function_index, message.id, tables->function_count);
    return true;
}

/* ---- Locations ---- */

static bool decode_line(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    struct pprof_tables *tables = *arg;
    perftools_profiles_Line message = perftools_profiles_Line_init_zero;

    (void)field;
    if (!pb_decode(stream, perftools_profiles_Line_fields, &message))
        return false;
    if (!make_table_room(tables, &tables->lines, &tables->line_capacity, tables->line_count,
                         sizeof *tables->lines))
        return false;
    tables->lines[tables->line_count++] = (struct raw_line){
        .function_id = message.function_id,
        .line = message.line,
        .column = message.column,
    };
    return true;
}

static bool add_location(struct pprof_tables *tables, const uint8_t *bytes, size_t length)
{
    size_t first = tables->line_count;
    perftools_profiles_Location message = {
        .line = { .funcs.decode = decode_line, .arg = tables },
    };
    bool sound = decode(bytes, length, perftools_profiles_Location_fields, &message);

    if (tables->status != PROFILE_OK)
        return true;
    if (!sound || message.id == 0 || pprof_find_location(tables, message.id)) {
        tables->line_count = first;
        tables->notices->bad_ids += sound;
        return sound;
    }
    if (!make_table_room(tables, &tables->locations, &tables->location_capacity,
                         tables->location_count, sizeof *tables->locations))
        return true;
    tables->locations[tables->location_count++] = (struct raw_location){
        .id = message.id,
        .mapping_id = message.mapping_id,
        .address = message.address,
        .first_line = (uint32_t)first,
        .line_count = (uint32_t)(tables->line_count - first),
        .is_folded = message.is_folded,
    };
    (void)enter(tables, &tables->location_index, message.id, tables->location_count);
    return true;
}

/* ---- Samples ----
 *
 * Taken apart by hand: a profile is little else than samples, and nanopb, which looks every field
 * up in its description and calls back for every number, takes nearly four times as long.  */

struct cursor {
    const uint8_t *next, *limit;
};

static bool take_varint(struct cursor *cursor, uint64_t *number)
{
    unsigned shift = 0;

    *number = 0;
    while (cursor->next < cursor->limit) {
        uint8_t byte = *cursor->next++;

        if (shift == 63 && byte > 1) /* a tenth byte has room for one bit */
            return false;
        *number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
        shift += 7;
    }
    return false;
}

/* The bytes of a string, a message or a packed field.  */
static bool take_part(struct cursor *cursor, struct cursor *part)
{
    uint64_t length;

    if (!take_varint(cursor, &length) || length > (uint64_t)(cursor->limit - cursor->next))
        return false;
    *part = (struct cursor){ cursor->next, cursor->next + length };
    cursor->next += length;
    return true;
}

static bool take_tag(struct cursor *cursor, uint32_t *field, pb_wire_type_t *type)
{
    uint64_t tag;

    if (!take_varint(cursor, &tag) || tag > UINT32_MAX || tag < 8)
        return false;
    *field = (uint32_t)(tag >> 3);
    *type = (pb_wire_type_t)(tag & 7);
    return true;
}

static bool skip_field(struct cursor *cursor, pb_wire_type_t type)
{
    size_t size = type == PB_WT_64BIT ? 8 : 4;
    struct cursor part;
    uint64_t number;

    switch (type) {
    case PB_WT_VARINT:
        return take_varint(cursor, &number);
    case PB_WT_STRING:
        return take_part(cursor, &part);
    case PB_WT_64BIT:
    case PB_WT_32BIT:
        if (size > (size_t)(cursor->limit - cursor->next))
            return false;
        cursor->next += size;
        return true;
    default:
        return false;
    }
}

/* Numbers of a repeated field: one, or all that are packed.  */
static bool take_numbers(struct pprof_tables *tables, struct cursor *cursor, pb_wire_type_t type,
                         struct numbers *numbers)
{
    struct cursor part = *cursor;
    uint64_t number;

    if (type == PB_WT_VARINT)
        return take_varint(cursor, &number) && add_number(tables, numbers, number);
    if (type != PB_WT_STRING || !take_part(cursor, &part))
        return false;
    /* A number takes at least a byte, and a part is no longer than an entry may be.  */
    if (!base_make_room(&numbers->items, &numbers->capacity,
                        numbers->count + (size_t)(part.limit - part.next), sizeof *numbers->items))
        return fail_memory(tables);
    while (part.next < part.limit)
        if (!take_varint(&part, &numbers->items[numbers->count++]))
            return false;
    return true;
}

static bool take_label(struct pprof_tables *tables, struct cursor cursor)
{
    int64_t values[perftools_profiles_Label_num_unit_tag + 1] = { 0 };
    pb_wire_type_t type;
    uint32_t field;
    uint64_t number;

    if (!make_room(tables, &tables->labels, &tables->label_capacity, tables->label_count,
                   sizeof *tables->labels))
        return false;
    while (cursor.next < cursor.limit) {
        if (!take_tag(&cursor, &field, &type))
            return false;
        if (field > perftools_profiles_Label_num_unit_tag) {
            if (!skip_field(&cursor, type))
                return false;
            continue;
        }
        if (type != PB_WT_VARINT || !take_varint(&cursor, &number))
            return false;
        values[field] = (int64_t)number;
    }
    tables->labels[tables->label_count++] = (struct raw_label){
        .key = values[perftools_profiles_Label_key_tag],
        .str = values[perftools_profiles_Label_str_tag],
        .num = values[perftools_profiles_Label_num_tag],
        .num_unit = values[perftools_profiles_Label_num_unit_tag],
    };
    return true;
}

static bool take_sample_field(struct pprof_tables *tables, struct cursor *cursor)
{
    pb_wire_type_t type;
    struct cursor part;
    uint32_t field;

    if (!take_tag(cursor, &field, &type))
        return false;
    switch (field) {
    case perftools_profiles_Sample_location_id_tag:
        return take_numbers(tables, cursor, type, &tables->sample_locations);
    case perftools_profiles_Sample_value_tag:
        return take_numbers(tables, cursor, type, &tables->sample_values);
    case perftools_profiles_Sample_label_tag:
        return type == PB_WT_STRING && take_part(cursor, &part) && take_label(tables, part);
    default:
        return skip_field(cursor, type);
    }
}

bool pprof_decode_sample(struct pprof_tables *tables, const uint8_t *bytes, size_t length)
{
    struct cursor cursor = { bytes, bytes + length };

    tables->sample_locations.count = 0;
    tables->sample_values.count = 0;
    tables->label_count = 0;
    while (cursor.next < cursor.limit)
        if (!take_sample_field(tables, &cursor))
            return false;
    return true;
}

/* ---- Comments, and all of them ---- */

void pprof_add_comment(struct pprof_tables *tables, uint64_t string)
{
    if (charge(tables, 2 * sizeof string))
        (void)add_number(tables, &tables->comments, pprof_string((int64_t)string));
}

/* A packed list of them.  */
static bool decode_comments(struct pprof_tables *tables, const uint8_t *bytes, size_t length)
{
    pb_istream_t stream = pb_istream_from_buffer(bytes, length);
    uint64_t number;

    while (stream.bytes_left > 0 && tables->status == PROFILE_OK) {
        if (!pb_decode_varint(&stream, &number))
            return false;
        pprof_add_comment(tables, number);
    }
    return true;
}

bool pprof_decode_entry(struct pprof_tables *tables, uint32_t field, const uint8_t *bytes,
                        size_t length)
{
    switch (field) {
    case perftools_profiles_Profile_sample_type_tag:
        return add_type(tables, bytes, length);
    case perftools_profiles_Profile_mapping_tag:
        return add_mapping(tables, bytes, length);
    case perftools_profiles_Profile_location_tag:
        return add_location(tables, bytes, length);
    case perftools_profiles_Profile_function_tag:
        return add_function(tables, bytes, length);
    case perftools_profiles_Profile_string_table_tag:
        add_string(tables, bytes, length);
        return true;
    case perftools_profiles_Profile_period_type_tag:
        return set_period_type(tables, bytes, length);
    default: /* comment */
        return decode_comments(tables, bytes, length);
    }
}
