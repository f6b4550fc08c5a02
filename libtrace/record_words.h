/* record_words.h - strings and arguments as words of a record (docs/formats/fxt.md, sections 1.2
 * and 2.5).  */
#ifndef TRACE_RECORD_WORDS_H
#define TRACE_RECORD_WORDS_H

#include <stdint.h>
#include <string.h>

#include <fxt/trace_engine.h>

#define TRACE_MAX_STRING 32000u

static inline uint64_t trace_bytes_words(uint64_t bytes)
{
    return (bytes + 7) / 8;
}

/* Words of a string that stands in the record itself.  */
static inline uint64_t trace_ref_words(uint16_t encoded)
{
    return encoded & 0x8000 ? trace_bytes_words(encoded & 0x7fff) : 0;
}

/* Bytes and the zeros that fill the last word.  */
static inline uint64_t *trace_put_bytes(uint64_t *words, const void *bytes, uint64_t length)
{
    uint64_t count = trace_bytes_words(length);

    if (count > 0) {
        words[count - 1] = 0;
        memcpy(words, bytes, length);
    }
    return words + count;
}

static inline uint64_t *trace_put_text(uint64_t *words, uint16_t encoded, const char *text)
{
    return encoded & 0x8000 ? trace_put_bytes(words, text, encoded & 0x7fff) : words;
}

/* ---- Arguments ---- */

static inline uint64_t trace_arg_blob_length(const trace_arg_value_t *value)
{
    uint64_t length = value->value.blob_value.length;

    return length < TRACE_MAX_STRING ? length : TRACE_MAX_STRING;
}

static inline uint64_t trace_arg_words(uint16_t name, const trace_arg_value_t *value)
{
    uint64_t words = 1 + trace_ref_words(name);

    switch (value->type) {
    case TRACE_ARG_INT64:
    case TRACE_ARG_UINT64:
    case TRACE_ARG_DOUBLE:
    case TRACE_ARG_POINTER:
    case TRACE_ARG_KOID:
        return words + 1;
    case TRACE_ARG_STRING:
        return words + trace_ref_words(value->value.string_value_ref.encoded_value);
    case TRACE_ARG_BLOB:
        return words + trace_bytes_words(trace_arg_blob_length(value));
    default: /* in the header */
        return words;
    }
}

/* Bits 32 and above of the argument's header.  */
static inline uint64_t trace_arg_bits(const trace_arg_value_t *value)
{
    switch (value->type) {
    case TRACE_ARG_INT32:
    case TRACE_ARG_UINT32:
        return value->value.uint32_value;
    case TRACE_ARG_BOOL:
        return value->value.bool_value;
    case TRACE_ARG_STRING:
        return value->value.string_value_ref.encoded_value;
    case TRACE_ARG_BLOB:
        return trace_arg_blob_length(value);
    default:
        return 0;
    }
}

static inline uint64_t *trace_put_arg(uint64_t *words, uint16_t name, const char *name_text,
                                      const trace_arg_value_t *value)
{
    uint64_t *next = trace_put_text(words + 1, name, name_text);

    switch (value->type) {
    case TRACE_ARG_INT64:
    case TRACE_ARG_UINT64:
    case TRACE_ARG_DOUBLE:
    case TRACE_ARG_POINTER:
    case TRACE_ARG_KOID:
        *next++ = value->value.uint64_value;
        break;
    case TRACE_ARG_STRING:
        next = trace_put_text(next, value->value.string_value_ref.encoded_value,
                              value->value.string_value_ref.inline_string);
        break;
    case TRACE_ARG_BLOB:
        next = trace_put_bytes(next, value->value.blob_value.bytes, trace_arg_blob_length(value));
        break;
    default:
        break;
    }
    *words = (uint64_t)value->type | (uint64_t)(next - words) << 4 | (uint64_t)name << 16 |
             trace_arg_bits(value) << 32;
    return next;
}

static inline uint64_t trace_args_words(const trace_arg_t *args, size_t count)
{
    uint64_t words = 0;

    for (size_t i = 0; i < count; i++)
        words += trace_arg_words(args[i].name_ref.encoded_value, &args[i].value);
    return words;
}

static inline uint64_t *trace_put_args(uint64_t *words, const trace_arg_t *args, size_t count)
{
    for (size_t i = 0; i < count; i++)
        words = trace_put_arg(words, args[i].name_ref.encoded_value, args[i].name_ref.inline_string,
                              &args[i].value);
    return words;
}

#endif /* TRACE_RECORD_WORDS_H */
