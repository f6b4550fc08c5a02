#include "tests/support/describe.h"

#include <check.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct text {
    char *bytes;
    size_t used;
    size_t size;
};

static void put(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct text *text, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(text->bytes + text->used, text->size - text->used, format, arguments);
    va_end(arguments);
    if (length > 0)
        text->used += (size_t)length;
    if (text->used >= text->size)
        text->used = text->size - 1;
}

static void put_bytes(struct text *text, const void *bytes, uint64_t length)
{
    for (uint64_t i = 0; i < length; i++)
        put(text, "%02x", ((const uint8_t *)bytes)[i]);
}

/* A description is one line.  */
static void put_character(struct text *text, unsigned char character)
{
    if (character < 0x20) {
        put(text, "\\x%02x", character);
    } else if (text->used + 1 < text->size) {
        text->bytes[text->used++] = (char)character;
        text->bytes[text->used] = '\0';
    }
}

static void put_string(struct text *text, const char *label, const struct fxt_string *string)
{
    put(text, " %s", label);
    if (string->index)
        put(text, "[%u]", string->index);
    if (string->missing) {
        put(text, "?");
        return;
    }
    put(text, "='");
    for (uint32_t i = 0; i < string->length; i++)
        put_character(text, (unsigned char)string->bytes[i]);
    put(text, "'");
}

static void put_thread(struct text *text, const char *label, const struct fxt_thread *thread)
{
    put(text, " %s", label);
    if (thread->index)
        put(text, "[%u]", thread->index);
    if (thread->missing)
        put(text, "?");
    else
        put(text, "=%" PRIu64 "/%" PRIu64, thread->process, thread->thread);
}

static void put_words(struct text *text, const char *label, struct fxt_words words)
{
    put(text, " %s", label);
    for (size_t i = 0; i < words.count; i++)
        put(text, "%c%" PRIx64, i ? ',' : '=', fxt_word(words, i));
}

static void put_arg(struct text *text, const struct fxt_arg *arg)
{
    put_string(text, "arg", &arg->name);
    put(text, ":%s", fxt_arg_type_name(arg->type));
    switch (arg->type) {
    case FXT_ARG_NULL:
        break;
    case FXT_ARG_INT32:
        put(text, " %" PRId32, arg->value.int32);
        break;
    case FXT_ARG_UINT32:
        put(text, " %" PRIu32, arg->value.uint32);
        break;
    case FXT_ARG_INT64:
        put(text, " %" PRId64, arg->value.int64);
        break;
    case FXT_ARG_UINT64:
    case FXT_ARG_KOID:
        put(text, " %" PRIu64, arg->value.uint64);
        break;
    case FXT_ARG_POINTER:
        put(text, " 0x%" PRIx64, arg->value.uint64);
        break;
    case FXT_ARG_DOUBLE:
        put(text, " %.17g", arg->value.number);
        break;
    case FXT_ARG_STRING:
        put_string(text, "value", &arg->value.string);
        break;
    case FXT_ARG_BOOL:
        put(text, " %s", arg->value.boolean ? "true" : "false");
        break;
    case FXT_ARG_BLOB:
        put(text, " ");
        put_bytes(text, arg->value.blob.bytes, arg->value.blob.length);
        break;
    case FXT_ARG_UNKNOWN:
        put(text, " type %u", arg->value.unknown_type);
        break;
    }
}

static void put_event(struct text *text, const struct fxt_record *record)
{
    put(text, " %s(%u)", fxt_event_type_name(record->value.event.type), record->value.event.type);
    if (record->value.event.has_scope)
        put(text, " scope=%" PRIu64, record->value.event.scope);
    if (record->value.event.id)
        put(text, " id=%" PRIu64, record->value.event.id);
    if (record->value.event.type == FXT_EVENT_DURATION_COMPLETE)
        put(text, " end=%" PRIu64 ",%" PRId64 "ns", record->value.event.end_ticks,
            record->value.event.end_ns);
    if (record->value.event.rest.count)
        put_words(text, "rest", record->value.event.rest);
}

static void put_sched(struct text *text, const struct fxt_record *record)
{
    put(text, " cpu=%u state=%u out=%" PRIu64 " in=%" PRIu64, record->value.sched.cpu,
        record->value.sched.outgoing_state, record->value.sched.outgoing_tid,
        record->value.sched.incoming_tid);
    if (record->kind != FXT_RECORD_LEGACY_CONTEXT_SWITCH)
        return;
    put_thread(text, "outgoing", &record->value.sched.outgoing);
    put_thread(text, "incoming", &record->value.sched.incoming);
    put(text, " priorities=%u,%u", record->value.sched.outgoing_priority,
        record->value.sched.incoming_priority);
}

static void put_value(struct text *text, const struct fxt_record *record)
{
    switch (record->kind) {
    case FXT_RECORD_MAGIC:
        put(text, " number=%" PRIx32, record->value.magic.number);
        break;
    case FXT_RECORD_PROVIDER_INFO:
    case FXT_RECORD_PROVIDER_SECTION:
        put(text, " id=%" PRIx32, record->value.provider.id);
        break;
    case FXT_RECORD_PROVIDER_EVENT:
        put(text, " id=%" PRIx32 " event=%u", record->value.provider.id,
            record->value.provider.event);
        break;
    case FXT_RECORD_INIT:
        put(text, " ticks_per_second=%" PRIu64, record->value.init.ticks_per_second);
        if (record->value.init.extended)
            put(text, " base_ticks=%" PRIu64 " base_time_ns=%" PRId64,
                record->value.init.base_ticks, record->value.init.base_time_ns);
        break;
    case FXT_RECORD_STRING:
    case FXT_RECORD_THREAD:
        put(text, " index=%u", record->value.table.index);
        break;
    case FXT_RECORD_EVENT:
        put_event(text, record);
        break;
    case FXT_RECORD_BLOB:
        put(text, " type=%u payload=", record->value.blob.type);
        put_bytes(text, record->value.blob.payload.bytes, record->value.blob.payload.length);
        break;
    case FXT_RECORD_USERSPACE_OBJECT:
        put(text, " pointer=%" PRIx64, record->value.object.pointer);
        break;
    case FXT_RECORD_KERNEL_OBJECT:
        put(text, " type=%u koid=%" PRIu64, record->value.object.type, record->value.object.koid);
        break;
    case FXT_RECORD_CONTEXT_SWITCH:
    case FXT_RECORD_LEGACY_CONTEXT_SWITCH:
    case FXT_RECORD_THREAD_WAKEUP:
        put_sched(text, record);
        break;
    case FXT_RECORD_LOG:
        put_string(text, "message", &record->value.log.message);
        break;
    case FXT_RECORD_MODULE:
        put(text, " id=%u build_id=", record->value.module.id);
        put_bytes(text, record->value.module.build_id.bytes, record->value.module.build_id.length);
        break;
    case FXT_RECORD_MAPPING:
        put(text, " module=%u start=%" PRIx64 " length=%" PRIx64 " vaddr=%" PRIx64 " flags=%u",
            record->value.mapping.module_id, record->value.mapping.start,
            record->value.mapping.length, record->value.mapping.vaddr, record->value.mapping.flags);
        break;
    case FXT_RECORD_BACKTRACE:
        put_words(text, "frames", record->value.backtrace.frames);
        break;
    case FXT_RECORD_LARGE_BLOB:
        put(text, " format=%u payload=", record->value.large_blob.format);
        put_bytes(text, record->value.large_blob.payload.bytes,
                  record->value.large_blob.payload.length);
        break;
    case FXT_RECORD_UNKNOWN:
        put(text, " type=%u subtype=%u", record->value.unknown.type, record->value.unknown.subtype);
        put_words(text, "words", record->value.unknown.words);
        break;
    case FXT_RECORD_KINDS:
        break;
    }
}

void describe(const struct fxt_record *record, char *bytes, size_t size)
{
    struct text text = { .bytes = bytes, .size = size };

    bytes[0] = '\0';
    put(&text, "@%" PRIu64 "+%" PRIu64 " %s p%" PRIx32, record->offset, record->size,
        fxt_record_kind_name(record->kind), record->provider->id);
    if (record->has_time)
        put(&text, " t=%" PRIu64 ",%" PRId64 "ns", record->ticks, record->ts_ns);
    if (record->has_thread)
        put_thread(&text, "thread", &record->thread);
    if (record->category.length || record->category.index)
        put_string(&text, "category", &record->category);
    if (record->name.length || record->name.index)
        put_string(&text, "name", &record->name);
    put_value(&text, record);
    for (size_t i = 0; i < record->arg_count; i++)
        put_arg(&text, &record->args[i]);
}

void describe_damage(const struct fxt_damage *damage, char *bytes, size_t size)
{
    struct text text = { .bytes = bytes, .size = size };

    bytes[0] = '\0';
    for (enum fxt_damage_kind kind = 0; kind < FXT_DAMAGE_KINDS; kind++) {
        if (damage->kinds[kind].count)
            put(&text, "%s%s=%" PRIu64 "@%" PRIu64 "+%" PRIu64, text.used ? " " : "",
                fxt_damage_kind_name(kind), damage->kinds[kind].count,
                damage->kinds[kind].first_offset, damage->kinds[kind].bytes);
    }
}

ptrdiff_t read_source(void *context, void *buffer, size_t size)
{
    struct source *source = context;
    size_t length = size < source->left ? size : source->left;

    if (source->step && length > source->step)
        length = source->step;
    memcpy(buffer, source->bytes, length);
    source->bytes += length;
    source->left -= length;
    return (ptrdiff_t)length;
}

/* Every byte that was read is in a record that was delivered, or in the damage.  */
static void check_sum(const struct fxt_reader *reader, uint64_t delivered)
{
    const struct fxt_damage *damage = fxt_reader_damage(reader);
    uint64_t sum = delivered;

    for (enum fxt_damage_kind kind = 0; kind < FXT_DAMAGE_KINDS; kind++)
        sum += damage->kinds[kind].bytes;
    ck_assert_uint_eq(sum, fxt_reader_offset(reader));
}

enum fxt_status describe_input(struct fxt_input *input, const struct fxt_reader_options *options,
                               char *text, size_t size, struct reading *reading)
{
    struct fxt_reader *reader = NULL;
    const struct fxt_record *record;
    enum fxt_status status;
    uint64_t delivered = 0;
    size_t used = 0;

    text[0] = '\0';
    *reading = (struct reading){ .records = 0 };
    ck_assert_int_eq(fxt_reader_open(input, options, &reader, NULL), FXT_OK);
    while ((status = fxt_reader_next(reader, &record, &reading->error)) == FXT_OK) {
        if (record->offset + record->size != fxt_reader_offset(reader)) /* no slow assertion */
            ck_abort_msg("the reader does not stand behind the record it delivered");
        delivered += record->size;
        reading->records++;
        describe(record, text + used, size - used);
        used += strlen(text + used);
        if (used + 2 < size) {
            text[used++] = '\n';
            text[used] = '\0';
        }
    }
    ck_assert_int_eq(fxt_reader_next(reader, &record, NULL), status); /* and stays so */
    check_sum(reader, delivered);
    reading->damage = *fxt_reader_damage(reader);
    reading->offset = fxt_reader_offset(reader);
    reading->compression = fxt_input_compression(input);
    fxt_reader_close(reader);
    fxt_input_close(input);
    return status;
}

struct fxt_input *open_bytes(struct source *source, const void *bytes, size_t length, size_t step)
{
    struct fxt_input *input;

    *source = (struct source){ bytes, length, step };
    ck_assert_int_eq(fxt_input_open_callback(read_source, source, &input, NULL), FXT_OK);
    return input;
}

enum fxt_status describe_all(const void *bytes, size_t length, size_t step, char *text, size_t size,
                             struct fxt_damage *damage)
{
    const struct fxt_reader_options options = { .size = sizeof options, .trust_start = true };
    struct source source;
    struct reading reading;
    enum fxt_status status = describe_input(open_bytes(&source, bytes, length, step), &options,
                                            text, size, &reading);

    if (status == FXT_END && reading.compression == FXT_PLAIN)
        ck_assert_uint_eq(reading.offset, length);
    if (damage)
        *damage = reading.damage;
    return status;
}
