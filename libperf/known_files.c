/* known_files.c - functions of the files that were mapped, which simpleperf looks up on the device
 * that it records: features FILE, an array of structures, and FILE2, messages of protocol buffers
 * (record_file_format.h and record_file.proto of simpleperf).  */
#include <stdlib.h>

#include "base/grow.h"
#include "libperf/perf_internal.h"

/* The least that a symbol takes: its address, its length and the NUL of its name; as a message, the
 * tag and size of itself, of its length and of a name of one byte.  */
enum { LEAST_SYMBOL = 13, LEAST_MESSAGE = 5 };

/* Types of protocol buffers that are used.  */
enum { WIRE_NUMBER = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

static uint64_t hash_of(const char *path)
{
    return base_hash_bytes(path, strlen(path));
}

const struct perf_data_file *perf_data_find_file(const struct perf_data *data, const char *path)
{
    uint64_t hash = hash_of(path);
    size_t probe;

    for (uint32_t id = base_index_first(&data->file_index, hash, &probe); id;
         id = base_index_next(&data->file_index, hash, &probe))
        if (strcmp(data->files[id - 1].path, path) == 0)
            return &data->files[id - 1];
    return NULL;
}

static int by_address(const void *left, const void *right)
{
    const struct perf_data_symbol *a = left, *b = right;

    return (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
}

/* Of several files of a path, the first one counts.  */
static void add_file(struct perf_data *data, const struct perf_data_file *file,
                     struct perf_data_symbol *symbols)
{
    if (perf_data_find_file(data, file->path))
        return;
    if (!base_make_room(&data->files, &data->file_capacity, data->file_count + 1,
                        sizeof *data->files) ||
        !base_index_reserve(&data->file_index)) {
        data->out_of_memory = true;
        return;
    }
    if (file->symbol_count > 0)
        qsort(symbols, file->symbol_count, sizeof *symbols, by_address);
    data->files[data->file_count] = *file;
    data->files[data->file_count++].symbols = symbols;
    base_index_add(&data->file_index, hash_of(file->path), (uint32_t)data->file_count);
}

static const char *keep(struct perf_data *data, const char *text, size_t length)
{
    const char *copy = base_arena_text(&data->arena, text, length);

    data->out_of_memory |= !copy;
    return copy;
}

static struct perf_data_symbol *make_symbols(struct perf_data *data, size_t count)
{
    struct perf_data_symbol *symbols = base_arena_array(&data->arena, count ? count : 1,
                                                        sizeof *symbols);

    data->out_of_memory |= !symbols;
    return symbols;
}

/* ---- FILE ---- */

/* A text up to its NUL.  */
static const char *take_text(struct perf_data *data, struct perf_cursor *cursor)
{
    size_t length = strnlen((const char *)cursor->at, cursor->left);
    const char *text = (const char *)perf_take(cursor, (uint64_t)length + 1);

    return text ? keep(data, text, length) : NULL;
}

static void take_symbols(struct perf_data *data, struct perf_cursor *cursor, uint32_t count,
                         struct perf_data_file *file, struct perf_data_symbol *symbols)
{
    for (uint32_t i = 0; i < count && !cursor->failed && !data->out_of_memory; i++) {
        struct perf_data_symbol symbol = { .vaddr = perf_take_u64(cursor),
                                           .length = perf_take_u32(cursor) };

        symbol.name = take_text(data, cursor);
        if (symbol.name && *symbol.name && symbol.length > 0)
            symbols[file->symbol_count++] = symbol;
    }
}

/* What follows the symbols is of the type; older files have nothing there.  */
static void take_place(struct perf_cursor *cursor, struct perf_data_file *file)
{
    file->has_min_offset = (file->type == PERF_DATA_FILE_ELF ||
                            file->type == PERF_DATA_FILE_MODULE) &&
                           cursor->left >= 8;
    if (file->has_min_offset)
        file->min_offset = perf_take_u64(cursor);
}

bool perf_files_read(struct perf_data *data, struct perf_cursor *cursor)
{
    while (cursor->left > 0 && !cursor->failed && !data->out_of_memory) {
        struct perf_cursor rest = { .left = perf_take_u32(cursor), .swap = cursor->swap };
        struct perf_data_file file = { .path = NULL };
        struct perf_data_symbol *symbols;
        uint32_t count;

        rest.at = perf_take(cursor, rest.left);
        if (!rest.at)
            return false;
        file.path = take_text(data, &rest);
        file.type = perf_take_u32(&rest);
        file.min_vaddr = perf_take_u64(&rest);
        count = perf_take_u32(&rest);
        if (rest.failed || count > rest.left / LEAST_SYMBOL)
            return false;
        symbols = make_symbols(data, count);
        if (!symbols || !file.path)
            return true;
        take_symbols(data, &rest, count, &file, symbols);
        if (rest.failed)
            return false;
        take_place(&rest, &file);
        if (!data->out_of_memory)
            add_file(data, &file, symbols);
    }
    return !cursor->failed;
}

/* ---- FILE2 ---- */

struct field {
    uint32_t number, type;
    uint64_t value;            /* WIRE_NUMBER */
    struct perf_cursor within; /* WIRE_BYTES */
};

static uint64_t take_varint(struct perf_cursor *cursor)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        const uint8_t *byte = perf_take(cursor, 1);

        if (!byte)
            return 0;
        value |= (uint64_t)(*byte & 0x7f) << shift;
        if (!(*byte & 0x80))
            return value;
    }
    cursor->failed = true;
    return 0;
}

/* False at the end, and where a field does not fit.  */
static bool take_field(struct perf_cursor *cursor, struct field *out)
{
    uint64_t tag;

    if (cursor->left == 0 || cursor->failed)
        return false;
    tag = take_varint(cursor);
    *out = (struct field){ .number = (uint32_t)(tag >> 3), .type = tag & 7 };
    if (out->type == WIRE_NUMBER)
        out->value = take_varint(cursor);
    else if (out->type == WIRE_FIXED64 || out->type == WIRE_FIXED32)
        (void)perf_take(cursor, out->type == WIRE_FIXED64 ? 8 : 4);
    else if (out->type == WIRE_BYTES) {
        uint64_t size = take_varint(cursor);

        out->within.at = perf_take(cursor, size);
        out->within.left = out->within.at ? (size_t)size : 0;
    } else
        cursor->failed = true;
    return !cursor->failed;
}

static bool is_number(const struct field *field, uint32_t number)
{
    return field->number == number && field->type == WIRE_NUMBER;
}

static bool is_bytes(const struct field *field, uint32_t number)
{
    return field->number == number && field->type == WIRE_BYTES;
}

static bool is_symbol(const struct field *field)
{
    enum { SYMBOL = 4 };

    return is_bytes(field, SYMBOL) && field->within.left >= LEAST_MESSAGE;
}

static size_t count_symbols(struct perf_cursor message)
{
    struct field field;
    size_t count = 0;

    while (take_field(&message, &field))
        count += is_symbol(&field);
    return count;
}

static bool read_symbol(struct perf_data *data, struct perf_cursor message,
                        struct perf_data_symbol *out)
{
    enum { VADDR = 1, LENGTH = 2, NAME = 3 };
    struct perf_cursor name = { .left = 0 };
    struct field field;

    *out = (struct perf_data_symbol){ .vaddr = 0 };
    while (take_field(&message, &field)) {
        if (is_number(&field, VADDR))
            out->vaddr = field.value;
        else if (is_number(&field, LENGTH))
            out->length = (uint32_t)field.value;
        else if (is_bytes(&field, NAME))
            name = field.within;
    }
    name.left = name.left ? strnlen((const char *)name.at, name.left) : 0;
    if (message.failed || name.left == 0 || out->length == 0)
        return false;
    out->name = keep(data, (const char *)name.at, name.left);
    return out->name != NULL;
}

/* The one number in the message of a type.  */
static bool read_place(struct perf_cursor message, uint64_t *out)
{
    struct field field;

    *out = 0; /* which protocol buffers leave out */
    while (take_field(&message, &field))
        if (is_number(&field, 1))
            *out = field.value;
    return !message.failed;
}

static bool read_message(struct perf_data *data, struct perf_cursor message)
{
    enum { PATH = 1, TYPE = 2, MIN_VADDR = 3, ELF = 6, MODULE = 7 };
    struct perf_data_symbol *symbols = make_symbols(data, count_symbols(message));
    struct perf_data_file file = { .path = NULL };
    struct field field;

    while (symbols && !data->out_of_memory && take_field(&message, &field)) {
        if (is_bytes(&field, PATH) && field.within.left > 0)
            file.path = keep(data, (const char *)field.within.at,
                             strnlen((const char *)field.within.at, field.within.left));
        else if (is_number(&field, TYPE))
            file.type = (uint32_t)field.value;
        else if (is_number(&field, MIN_VADDR))
            file.min_vaddr = field.value;
        else if (is_symbol(&field))
            file.symbol_count += read_symbol(data, field.within, &symbols[file.symbol_count]);
        else if (is_bytes(&field, ELF) || is_bytes(&field, MODULE))
            file.has_min_offset = read_place(field.within, &file.min_offset);
    }
    if (!data->out_of_memory && !message.failed && file.path)
        add_file(data, &file, symbols);
    return !message.failed;
}

bool perf_files_read_messages(struct perf_data *data, struct perf_cursor *cursor)
{
    bool good = true;

    while (cursor->left > 0 && !cursor->failed && !data->out_of_memory) {
        uint32_t size = perf_take_u32(cursor);
        const uint8_t *message = perf_take(cursor, size);

        if (message)
            good &= read_message(data, (struct perf_cursor){ .at = message, .left = size });
    }
    return good && !cursor->failed;
}

/* ---- Addresses ---- */

uint64_t perf_data_file_vaddr(const struct perf_data_file *file, uint64_t start,
                              uint64_t file_offset)
{
    switch (file->type) {
    case PERF_DATA_FILE_DEX:
        return file_offset;
    case PERF_DATA_FILE_ELF:
        return file->has_min_offset ? file_offset - file->min_offset + file->min_vaddr
                                    : file->min_vaddr;
    case PERF_DATA_FILE_MODULE:
        return file->min_vaddr - file->min_offset;
    default:
        return start;
    }
}

void perf_files_release(struct perf_data *data)
{
    free(data->files);
    base_index_release(&data->file_index);
}
