/* Writing records: the handle, the buffer and the parts that records are made of.  What a record of
 * each kind looks like is in writer_records.c.  */
#include "libfxt/fxt_writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/grow.h"

/* Size fields (section 1.1): words, the header included.  */
#define MAX_WORDS       4095u
#define MAX_LARGE_WORDS UINT32_MAX

/* The buffer's first size: most records fit.  */

void writer_fail(struct fxt_writer *writer, enum fxt_status status, const char *format, ...)
{
    if (writer->failure.status != FXT_OK)
        return;
    writer->failure = (struct fxt_error){ .status = status, .offset = writer->written };
    BASE_FORMAT(writer->failure.message, format);
}

uint64_t writer_field(struct fxt_writer *writer, uint64_t value, unsigned first, unsigned last,
                      const char *what)
{
    unsigned width = last - first + 1;

    if (value >> width) { /* no field is 64 bits wide */
        writer_fail(writer, FXT_INVALID, "%s %llu does not fit in %u bits", what,
                    (unsigned long long)value, width);
        return 0;
    }
    return value << first;
}

/* ---- The buffer ---- */

/* Room for size more bytes, or NULL after a failure.  */
static uint8_t *extend(struct fxt_writer *writer, uint64_t size)
{
    const uint64_t limit = (uint64_t)MAX_LARGE_WORDS * 8;
    uint8_t *room;
    size_t needed;

    if (writer->failure.status != FXT_OK)
        return NULL;
    if (size > limit - writer->used || size > SIZE_MAX / 2 - writer->used) {
        writer_fail(writer, FXT_INVALID, "%llu bytes do not fit in a record",
                    (unsigned long long)size);
        return NULL;
    }
    needed = writer->used + (size_t)size;
    if (!base_make_room(&writer->bytes, &writer->capacity, needed < 512 ? 512 : needed, 1)) {
        writer_fail(writer, FXT_NO_MEMORY, "out of memory for %zu bytes of a record", needed);
        return NULL;
    }
    room = writer->bytes + writer->used;
    writer->used += (size_t)size;
    return room;
}

static void store_u64(uint8_t *bytes, uint64_t value)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    memcpy(bytes, &value, sizeof value);
}

void writer_word(struct fxt_writer *writer, uint64_t word)
{
    uint8_t *room = extend(writer, 8);

    if (room)
        store_u64(room, word);
}

void writer_words(struct fxt_writer *writer, struct fxt_words words)
{
    if (words.count > SIZE_MAX / 8)
        writer_fail(writer, FXT_INVALID, "%zu words do not fit in a record", words.count);
    else
        writer_stream(writer, words.bytes, 8 * (uint64_t)words.count);
}

void writer_stream(struct fxt_writer *writer, const void *bytes, uint64_t length)
{
    unsigned padding = (unsigned)(-length & 7);
    uint8_t *room;

    if (length == 0)
        return;
    if (!bytes) {
        writer_fail(writer, FXT_INVALID, "%llu bytes at NULL", (unsigned long long)length);
        return;
    }
    if (length > UINT64_MAX - padding)
        padding = 0; /* far too long: extend() says so */
    room = extend(writer, length + padding);
    if (!room)
        return;
    memcpy(room, bytes, (size_t)length);
    memset(room + length, 0, padding);
}

void writer_begin(struct fxt_writer *writer, enum writer_type type, uint64_t header)
{
    writer_word(writer, header | type);
}

void writer_end(struct fxt_writer *writer, const char *name)
{
    uint64_t words = writer->used / 8;
    uint64_t header;
    uint64_t most;

    if (writer->failure.status != FXT_OK)
        return;
    header = fxt_load_u64(writer->bytes);
    most = (header & 15) == WRITER_LARGE ? MAX_LARGE_WORDS : MAX_WORDS;
    if (words > most)
        writer_fail(writer, FXT_INVALID, "%s record of %llu words; at most %llu fit", name,
                    (unsigned long long)words, (unsigned long long)most);
    else
        store_u64(writer->bytes, header | words << 4);
}

/* ---- Strings and threads ---- */

uint32_t writer_text_length(struct fxt_string string)
{
    uint32_t length = WRITER_MAX_TEXT;

    if (string.length <= WRITER_MAX_TEXT || !string.bytes)
        return string.length;
    /* Back to where a character begins, which is at most 3 bytes away in UTF-8.  */
    while (length > WRITER_MAX_TEXT - 3 && (string.bytes[length] & 0xc0) == 0x80)
        length--;
    return (string.bytes[length] & 0xc0) == 0x80 ? WRITER_MAX_TEXT : length;
}

uint64_t writer_string_ref(struct fxt_writer *writer, struct fxt_string string)
{
    if (string.index)
        return writer_field(writer, string.index, 0, 14, "string index");
    if (string.length == 0)
        return 0;
    return WRITER_INLINE | (writer_text_length(string) & 0x7fff);
}

void writer_string_text(struct fxt_writer *writer, struct fxt_string string)
{
    if (!string.index)
        writer_stream(writer, string.bytes, writer_text_length(string));
}

uint64_t writer_thread_ref(struct fxt_thread thread)
{
    return thread.index;
}

void writer_thread_words(struct fxt_writer *writer, struct fxt_thread thread)
{
    if (thread.index)
        return;
    writer_word(writer, thread.process);
    writer_word(writer, thread.thread);
}

/* ---- Arguments (section 2.6) ---- */

uint64_t writer_argument_count(struct fxt_writer *writer, const struct fxt_record *record,
                               unsigned first)
{
    if (record->arg_count > FXT_MAX_ARGS)
        writer_fail(writer, FXT_INVALID, "%zu arguments; a record holds at most %d",
                    record->arg_count, FXT_MAX_ARGS);
    else if (record->arg_count && !record->args)
        writer_fail(writer, FXT_INVALID, "%zu arguments at NULL", record->arg_count);
    return writer->failure.status == FXT_OK ? (uint64_t)record->arg_count << first : 0;
}

/* Bits 32..63 of the argument's header.  */
static uint64_t argument_high_half(struct fxt_writer *writer, const struct fxt_arg *arg)
{
    switch (arg->type) {
    case FXT_ARG_INT32:
        return (uint64_t)(uint32_t)arg->value.int32 << 32;
    case FXT_ARG_UINT32:
        return (uint64_t)arg->value.uint32 << 32;
    case FXT_ARG_STRING:
        return writer_string_ref(writer, arg->value.string) << 32;
    case FXT_ARG_BOOL:
        return (uint64_t)arg->value.boolean << 32;
    case FXT_ARG_BLOB:
        return writer_field(writer, arg->value.blob.length, 32, 63, "length of a blob argument");
    default:
        return 0;
    }
}

/* What follows the argument's name.  */
static void put_argument_value(struct fxt_writer *writer, const struct fxt_arg *arg)
{
    uint64_t bits;

    switch (arg->type) {
    case FXT_ARG_INT64:
        writer_word(writer, (uint64_t)arg->value.int64);
        break;
    case FXT_ARG_UINT64:
    case FXT_ARG_POINTER:
    case FXT_ARG_KOID:
        writer_word(writer, arg->value.uint64);
        break;
    case FXT_ARG_DOUBLE:
        memcpy(&bits, &arg->value.number, sizeof bits);
        writer_word(writer, bits);
        break;
    case FXT_ARG_STRING:
        writer_string_text(writer, arg->value.string);
        break;
    case FXT_ARG_BLOB:
        writer_stream(writer, arg->value.blob.bytes, arg->value.blob.length);
        break;
    default: /* null, int32, uint32, bool: all in the header; unknown types: no value was kept */
        break;
    }
}

/* The type as the format numbers it.  */
static uint64_t argument_type(struct fxt_writer *writer, const struct fxt_arg *arg)
{
    if ((unsigned)arg->type < FXT_ARG_UNKNOWN)
        return arg->type;
    if (arg->type == FXT_ARG_UNKNOWN && arg->value.unknown_type >= 11 &&
        arg->value.unknown_type <= 15)
        return arg->value.unknown_type;
    writer_fail(writer, FXT_INVALID, "argument of type %d, unknown type %u", (int)arg->type,
                arg->type == FXT_ARG_UNKNOWN ? arg->value.unknown_type : 0);
    return 0;
}

static void put_argument(struct fxt_writer *writer, const struct fxt_arg *arg)
{
    size_t start = writer->used;
    uint64_t header = argument_type(writer, arg);
    uint64_t words;

    header |= writer_string_ref(writer, arg->name) << 16;
    header |= argument_high_half(writer, arg);
    if (arg->type == FXT_ARG_BLOB && arg->value.blob.length > 8 * (uint64_t)MAX_WORDS)
        writer_fail(writer, FXT_INVALID, "blob argument of %llu bytes; at most %u words fit",
                    (unsigned long long)arg->value.blob.length, MAX_WORDS);
    writer_word(writer, header);
    writer_string_text(writer, arg->name);
    put_argument_value(writer, arg);
    if (writer->failure.status != FXT_OK)
        return;

    words = (writer->used - start) / 8;
    if (words > MAX_WORDS)
        writer_fail(writer, FXT_INVALID, "argument of %llu words; at most %u fit",
                    (unsigned long long)words, MAX_WORDS);
    else
        store_u64(writer->bytes + start, header | words << 4);
}

void writer_arguments(struct fxt_writer *writer, const struct fxt_record *record)
{
    for (size_t i = 0; i < record->arg_count && writer->failure.status == FXT_OK; i++)
        put_argument(writer, &record->args[i]);
}

/* ---- The handle ---- */

struct fxt_string fxt_inline(const char *text)
{
    size_t length = strlen(text);

    return (struct fxt_string){
        .bytes = text,
        .length = length < UINT32_MAX ? (uint32_t)length : UINT32_MAX,
    };
}

enum fxt_status fxt_writer_open(fxt_write_fn write, void *context, struct fxt_writer **out,
                                struct fxt_error *error)
{
    struct fxt_writer *writer = calloc(1, sizeof *writer);

    if (!writer) {
        if (error)
            *error = (struct fxt_error){ .status = FXT_NO_MEMORY,
                                         .message = "out of memory for a writer" };
        return FXT_NO_MEMORY;
    }
    writer->write = write;
    writer->context = context;
    *out = writer;
    return FXT_OK;
}

/* Hand the finished record out.  */
static void flush(struct fxt_writer *writer)
{
    int system_errno = writer->write(writer->context, writer->bytes, writer->used);

    if (system_errno) {
        writer_fail(writer, FXT_IO, "write failed: %s", strerror(system_errno));
        writer->failure.system_errno = system_errno;
        return;
    }
    writer->written += writer->used;
}

enum fxt_status fxt_writer_record(struct fxt_writer *writer, const struct fxt_record *record,
                                  struct fxt_error *error)
{
    if (writer->failure.status != FXT_IO) { /* how much of a failed write arrived is unknown */
        writer->failure.status = FXT_OK;
        writer->used = 0;
        writer_build(writer, record);
        if (writer->failure.status == FXT_OK)
            flush(writer);
    }
    if (writer->failure.status != FXT_OK && error)
        *error = writer->failure;
    return writer->failure.status;
}

uint64_t fxt_writer_bytes(const struct fxt_writer *writer)
{
    return writer->written;
}

void fxt_writer_close(struct fxt_writer *writer)
{
    if (!writer)
        return;
    free(writer->bytes);
    free(writer);
}
