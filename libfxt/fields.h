/* fields.h - fields that several record families share (sections 1.2, 1.3, 2.6).
 *
 * They stand in a header so that each family's decoder becomes one piece of code: what a record
 * costs is mostly what is between its fields.  All are bounded by the cursor; false: it is too
 * short.  */
#ifndef FXT_FIELDS_H
#define FXT_FIELDS_H

#include <string.h>

#include "libfxt/fxt_internal.h"

#define FXT_INLINE_STRING 0x8000u /* in a reference: the low 15 bits are a length */

/* Nothing registered index.  */
void fxt_miss_string(struct fxt_reader *reader, uint64_t index, struct fxt_string *out)
    __attribute__((cold));
void fxt_miss_thread(struct fxt_reader *reader, uint64_t index, struct fxt_thread *out)
    __attribute__((cold));

static inline bool fxt_read_string(struct fxt_reader *reader, uint64_t reference,
                                   struct fxt_cursor *cursor, struct fxt_string *out)
{
    const struct fxt_string *registered;

    if (reference & FXT_INLINE_STRING) {
        uint32_t length = reference & 0x7fff;
        const uint8_t *bytes;

        if (!fxt_take_bytes(cursor, length, &bytes))
            return false;
        *out = (struct fxt_string){ .bytes = (const char *)bytes, .length = length };
        return true;
    }
    if (reference == 0) {
        *out = (struct fxt_string){ .bytes = "" };
        return true;
    }
    registered = fxt_contexts_string(&reader->contexts, (unsigned)reference);
    if (registered)
        *out = *registered;
    else
        fxt_miss_string(reader, reference, out);
    return true;
}

static inline bool fxt_read_thread(struct fxt_reader *reader, uint64_t reference,
                                   struct fxt_cursor *cursor, struct fxt_thread *out)
{
    const struct fxt_thread *registered;

    if (reference == 0) {
        *out = (struct fxt_thread){ .index = 0 };
        return fxt_take_word(cursor, &out->process) && fxt_take_word(cursor, &out->thread);
    }
    registered = fxt_contexts_thread(&reader->contexts, (unsigned)reference);
    if (registered)
        *out = *registered;
    else
        fxt_miss_thread(reader, reference, out);
    return true;
}

/* The current provider's time.  */
static inline bool fxt_ticks_time(const struct fxt_reader *reader, uint64_t ticks, int64_t *ns)
{
    const struct fxt_context *context = reader->contexts.current;

    return fxt_clock_ns(&context->clock, &context->provider, ticks, ns);
}

/* The timestamp, to record->ticks and ts_ns.  */
static inline enum fxt_decoded fxt_read_time(struct fxt_reader *reader, struct fxt_cursor *cursor)
{
    struct fxt_record *record = &reader->record;

    if (!fxt_take_word(cursor, &record->ticks))
        return FXT_DECODED_BAD;
    record->has_time = true;
    return fxt_ticks_time(reader, record->ticks, &record->ts_ns) ? FXT_DECODED
                                                                 : FXT_DECODED_OVERFLOW;
}

/* The value behind an argument's name.  */
__attribute__((always_inline)) static inline bool fxt_read_value(struct fxt_reader *reader,
                                                                 uint64_t header,
                                                                 struct fxt_cursor *cursor,
                                                                 struct fxt_arg *arg)
{
    uint64_t high = fxt_bits(header, 32, 63);
    uint64_t word;

    switch (fxt_bits(header, 0, 3)) {
    case FXT_ARG_NULL:
        arg->value.uint64 = 0;
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
        if (!fxt_take_word(cursor, &word))
            return false;
        memcpy(&arg->value.number, &word, sizeof word);
        return true;
    case FXT_ARG_STRING:
        return fxt_read_string(reader, fxt_bits(header, 32, 47), cursor, &arg->value.string);
    case FXT_ARG_BOOL:
        arg->value.boolean = high & 1;
        return true;
    case FXT_ARG_BLOB:
        arg->value.blob.length = high;
        return fxt_take_bytes(cursor, high, &arg->value.blob.bytes);
    default:
        arg->type = FXT_ARG_UNKNOWN;
        arg->value.unknown_type = (unsigned)fxt_bits(header, 0, 3);
        return true;
    }
}

__attribute__((always_inline)) static inline bool fxt_read_arg(struct fxt_reader *reader,
                                                               struct fxt_cursor *cursor,
                                                               struct fxt_arg *arg)
{
    uint64_t header, size;
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
    arg->type = (enum fxt_arg_type)fxt_bits(header, 0, 3);
    return fxt_read_string(reader, fxt_bits(header, 16, 31), &own, &arg->name) &&
           fxt_read_value(reader, header, &own, arg);
}

/* count arguments, to record->args.  */
__attribute__((always_inline)) static inline bool fxt_read_args(struct fxt_reader *reader,
                                                                uint64_t count,
                                                                struct fxt_cursor *cursor)
{
    reader->record.args = reader->args;
    reader->record.arg_count = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (!fxt_read_arg(reader, cursor, &reader->args[i]))
            return false;
    }
    reader->record.arg_count = (size_t)count;
    return true;
}

#endif /* FXT_FIELDS_H */
