/* What of the shared fields is rare or large: references to nothing, arguments.  */
#include <string.h>

#include "libfxt/fields.h"

void fxt_notice(struct fxt_reader *reader, enum fxt_damage_kind kind)
{
    if (reader->noticed_offset != reader->offset) {
        reader->unnoticed = reader->damage;
        reader->noticed_offset = reader->offset;
    }
    fxt_count_damage(reader, kind, 0);
}

void fxt_miss_string(struct fxt_reader *reader, uint64_t index, struct fxt_string *out)
{
    *out = (struct fxt_string){ .bytes = "", .index = (uint16_t)index, .missing = true };
    fxt_notice(reader, FXT_DAMAGE_UNRESOLVED_STRING);
}

void fxt_miss_thread(struct fxt_reader *reader, uint64_t index, struct fxt_thread *out)
{
    *out = (struct fxt_thread){ .index = (uint8_t)index, .missing = true };
    fxt_notice(reader, FXT_DAMAGE_UNRESOLVED_THREAD);
}

static bool read_double(struct fxt_cursor *cursor, double *number)
{
    uint64_t word;

    if (!fxt_take_word(cursor, &word))
        return false;
    memcpy(number, &word, sizeof word);
    return true;
}

/* The value behind an argument's name.  */
static bool read_value(struct fxt_reader *reader, uint64_t header, struct fxt_cursor *cursor,
                       struct fxt_arg *arg)
{
    uint64_t high = fxt_bits(header, 32, 63);

    switch (arg->type) {
    case FXT_ARG_NULL:
        return true;
    case FXT_ARG_INT32:
        arg->value.int32 = (int32_t)(uint32_t)high;
        return true;
    case FXT_ARG_UINT32:
        arg->value.uint32 = (uint32_t)high;
        return true;
    case FXT_ARG_INT64:
    case FXT_ARG_UINT64:
    case FXT_ARG_POINTER:
    case FXT_ARG_KOID:
        return fxt_take_word(cursor, &arg->value.uint64);
    case FXT_ARG_DOUBLE:
        return read_double(cursor, &arg->value.number);
    case FXT_ARG_STRING:
        return fxt_read_string(reader, fxt_bits(header, 32, 47), cursor, &arg->value.string);
    case FXT_ARG_BOOL:
        arg->value.boolean = high & 1;
        return true;
    case FXT_ARG_BLOB:
        arg->value.blob.length = high;
        return fxt_take_bytes(cursor, high, &arg->value.blob.bytes);
    case FXT_ARG_UNKNOWN:
        break;
    }
    return true;
}

static bool read_arg(struct fxt_reader *reader, struct fxt_cursor *cursor, struct fxt_arg *arg)
{
    uint64_t header, size;
    unsigned type;
    struct fxt_cursor own;

    if (cursor->words == 0)
        return false;
    header = fxt_load_u64(cursor->next);
    size = fxt_bits(header, 4, 15);
    if (size == 0 || size > cursor->words)
        return false;
    /* Always on to the next argument by the size, whatever the value takes of it.  */
    own = (struct fxt_cursor){ cursor->next + 8, (size_t)size - 1 };
    cursor->next += 8 * size;
    cursor->words -= (size_t)size;

    type = (unsigned)fxt_bits(header, 0, 3);
    arg->type = type < FXT_ARG_UNKNOWN ? (enum fxt_arg_type)type : FXT_ARG_UNKNOWN;
    arg->value.uint64 = 0;
    if (arg->type == FXT_ARG_UNKNOWN)
        arg->value.unknown_type = type;
    return fxt_read_string(reader, fxt_bits(header, 16, 31), &own, &arg->name) &&
           read_value(reader, header, &own, arg);
}

bool fxt_read_args(struct fxt_reader *reader, uint64_t count, struct fxt_cursor *cursor)
{
    reader->record.args = reader->args;
    for (uint64_t i = 0; i < count; i++) {
        if (!read_arg(reader, cursor, &reader->args[i]))
            return false;
        reader->record.arg_count++;
    }
    return true;
}
