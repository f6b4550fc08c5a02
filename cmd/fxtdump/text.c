/* One record, one line, for people: offset, time, thread, kind, what it says.  */
#include <inttypes.h>
#include <string.h>

#include "cmd/cli/utf8.h"
#include "cmd/fxtdump/dump.h"

static void put(struct cli_output *output, const char *text)
{
    (void)cli_output_write(output, text, strlen(text));
}

static void print(struct cli_output *output, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void print(struct cli_output *output, const char *format, ...)
{
    char text[256];
    va_list arguments;

    va_start(arguments, format);
    if (vsnprintf(text, sizeof text, format, arguments) > 0)
        put(output, text);
    va_end(arguments);
}

/* Control characters: U+0000 to U+001F, U+007F, and U+0080 to U+009F in their two bytes.  */
static bool is_control(const char *character, size_t length)
{
    unsigned char first = (unsigned char)character[0];

    return first < 0x20 || first == 0x7f ||
           (length == 2 && first == 0xc2 && (unsigned char)character[1] < 0xa0);
}

/* Text from a trace must not drive the terminal or break the line: control characters and what is
 * not UTF-8 as \xNN.  */
static void put_string(struct cli_output *output, const struct fxt_string *string)
{
    size_t start = 0, i = 0;

    if (string->missing) {
        print(output, "<string %u>", string->index);
        return;
    }
    while (i < string->length) {
        unsigned char byte = (unsigned char)string->bytes[i];
        size_t character = utf8_character(string->bytes + i, string->length - i);

        if (character > 0 && !is_control(string->bytes + i, character)) {
            i += character;
            continue;
        }
        (void)cli_output_write(output, string->bytes + start, i - start);
        print(output, "\\x%02x", byte);
        start = ++i;
    }
    (void)cli_output_write(output, string->bytes + start, string->length - start);
}

static void put_named(struct cli_output *output, const char *label, const struct fxt_string *string)
{
    if (string->length == 0 && !string->missing)
        return;
    print(output, " %s=", label);
    put_string(output, string);
}

static void put_hex(struct cli_output *output, const struct fxt_bytes *bytes)
{
    for (uint64_t i = 0; i < bytes->length; i++)
        print(output, "%02x", bytes->bytes[i]);
}

static void put_words(struct cli_output *output, struct fxt_words words)
{
    for (size_t i = 0; i < words.count; i++)
        print(output, " 0x%" PRIx64, fxt_word(words, i));
}

static void put_value(struct cli_output *output, const struct fxt_arg *arg)
{
    char text[32];

    switch (arg->type) {
    case FXT_ARG_NULL:
        put(output, "null");
        break;
    case FXT_ARG_INT32:
        print(output, "%" PRId32, arg->value.int32);
        break;
    case FXT_ARG_UINT32:
        print(output, "%" PRIu32, arg->value.uint32);
        break;
    case FXT_ARG_INT64:
        print(output, "%" PRId64, arg->value.int64);
        break;
    case FXT_ARG_UINT64:
        print(output, "%" PRIu64, arg->value.uint64);
        break;
    case FXT_ARG_KOID:
        print(output, "koid:%" PRIu64, arg->value.uint64);
        break;
    case FXT_ARG_POINTER:
        print(output, "0x%" PRIx64, arg->value.uint64);
        break;
    case FXT_ARG_DOUBLE:
        cli_shortest_double(text, arg->value.number);
        put(output, text);
        break;
    case FXT_ARG_STRING:
        put(output, "\"");
        put_string(output, &arg->value.string);
        put(output, "\"");
        break;
    case FXT_ARG_BOOL:
        put(output, arg->value.boolean ? "true" : "false");
        break;
    case FXT_ARG_BLOB:
        put(output, "blob:");
        put_hex(output, &arg->value.blob);
        break;
    case FXT_ARG_UNKNOWN:
        print(output, "<argument type %u>", arg->value.unknown_type);
        break;
    }
}

static void put_args(struct cli_output *output, const struct fxt_record *record)
{
    if (record->arg_count == 0)
        return;
    put(output, " {");
    for (size_t i = 0; i < record->arg_count; i++) {
        put(output, i ? ", " : "");
        put_string(output, &record->args[i].name);
        put(output, ": ");
        put_value(output, &record->args[i]);
    }
    put(output, "}");
}

static void put_event(struct cli_output *output, const struct fxt_record *record)
{
    unsigned type = record->value.event.type;

    print(output, " %s", fxt_event_type_name(type));
    if (type > FXT_EVENT_FLOW_END)
        print(output, " (type %u)", type);
    put_named(output, "category", &record->category);
    put_named(output, "name", &record->name);
    if (type == FXT_EVENT_DURATION_COMPLETE)
        print(output, " end=%" PRId64, record->value.event.end_ns);
    else if (type == FXT_EVENT_COUNTER ||
             (type >= FXT_EVENT_ASYNC_BEGIN && type <= FXT_EVENT_FLOW_END))
        print(output, " id=%" PRIu64, record->value.event.id);
    else if (type == FXT_EVENT_INSTANT && dump_scope_name(record->value.event.scope))
        print(output, " scope=%s", dump_scope_name(record->value.event.scope));
    else if (type == FXT_EVENT_INSTANT)
        print(output, " scope=%" PRIu64, record->value.event.scope);
    put_words(output, record->value.event.rest);
}

static void put_sched(struct cli_output *output, const struct fxt_record *record)
{
    const char *state = dump_state_name(record->value.sched.outgoing_state);

    print(output, " cpu=%u", record->value.sched.cpu);
    if (record->kind == FXT_RECORD_THREAD_WAKEUP) {
        print(output, " wakes=%" PRIu64, record->value.sched.incoming_tid);
        return;
    }
    print(output, " out=%" PRIu64, record->value.sched.outgoing_tid);
    if (state)
        print(output, " (%s)", state);
    else
        print(output, " (state %u)", record->value.sched.outgoing_state);
    print(output, " in=%" PRIu64, record->value.sched.incoming_tid);
    if (record->kind == FXT_RECORD_LEGACY_CONTEXT_SWITCH)
        print(output, " priorities=%u,%u", record->value.sched.outgoing_priority,
              record->value.sched.incoming_priority);
}

static void put_large_blob(struct cli_output *output, const struct fxt_record *record)
{
    struct fxt_words pcs;

    put_named(output, "category", &record->category);
    put_named(output, "name", &record->name);
    print(output, " format=%u size=%" PRIu64, record->value.large_blob.format,
          record->value.large_blob.payload.length);
    if (fxt_record_sampler_stack(record, &pcs)) {
        put(output, " pcs");
        put_words(output, pcs);
    }
}

static void put_body(struct cli_output *output, const struct fxt_record *record)
{
    switch (record->kind) {
    case FXT_RECORD_MAGIC:
        print(output, " 0x%" PRIx32, record->value.magic.number);
        break;
    case FXT_RECORD_PROVIDER_INFO:
        print(output, " id=%" PRIu32, record->value.provider.id);
        put_named(output, "name", &record->name);
        break;
    case FXT_RECORD_PROVIDER_SECTION:
        print(output, " id=%" PRIu32, record->value.provider.id);
        break;
    case FXT_RECORD_PROVIDER_EVENT:
        print(output, " id=%" PRIu32 " %s (%u)", record->value.provider.id,
              record->value.provider.event == 0 ? "buffer filled up, records lost" : "event",
              record->value.provider.event);
        break;
    case FXT_RECORD_INIT:
        print(output, " ticks_per_second=%" PRIu64, record->value.init.ticks_per_second);
        if (record->value.init.extended)
            print(output, " base_ticks=%" PRIu64 " base_time_ns=%" PRId64,
                  record->value.init.base_ticks, record->value.init.base_time_ns);
        break;
    case FXT_RECORD_STRING:
        print(output, " %u = \"", record->value.table.index);
        put_string(output, &record->name);
        put(output, "\"");
        break;
    case FXT_RECORD_THREAD:
        print(output, " %u", record->value.table.index);
        break;
    case FXT_RECORD_EVENT:
        put_event(output, record);
        break;
    case FXT_RECORD_BLOB:
        put_named(output, "name", &record->name);
        print(output, " type=%u size=%" PRIu64, record->value.blob.type,
              record->value.blob.payload.length);
        break;
    case FXT_RECORD_USERSPACE_OBJECT:
        print(output, " 0x%" PRIx64, record->value.object.pointer);
        put_named(output, "name", &record->name);
        break;
    case FXT_RECORD_KERNEL_OBJECT:
        print(output, " type=%u koid=%" PRIu64, record->value.object.type,
              record->value.object.koid);
        put_named(output, "name", &record->name);
        break;
    case FXT_RECORD_CONTEXT_SWITCH:
    case FXT_RECORD_LEGACY_CONTEXT_SWITCH:
    case FXT_RECORD_THREAD_WAKEUP:
        put_sched(output, record);
        break;
    case FXT_RECORD_LOG:
        put(output, " ");
        put_string(output, &record->value.log.message);
        break;
    case FXT_RECORD_MODULE:
        print(output, " %u build_id=", record->value.module.id);
        put_hex(output, &record->value.module.build_id);
        put_named(output, "name", &record->name);
        break;
    case FXT_RECORD_MAPPING:
        print(output,
              " module=%u start=0x%" PRIx64 " length=0x%" PRIx64 " vaddr=0x%" PRIx64 " flags=%u",
              record->value.mapping.module_id, record->value.mapping.start,
              record->value.mapping.length, record->value.mapping.vaddr,
              record->value.mapping.flags);
        break;
    case FXT_RECORD_BACKTRACE:
        put_words(output, record->value.backtrace.frames);
        break;
    case FXT_RECORD_LARGE_BLOB:
        put_large_blob(output, record);
        break;
    case FXT_RECORD_UNKNOWN:
        print(output, " type=%u subtype=%u size=%" PRIu64, record->value.unknown.type,
              record->value.unknown.subtype, record->size);
        break;
    case FXT_RECORD_KINDS:
        break;
    }
}

void dump_text(struct cli_output *output, const struct fxt_record *record)
{
    char time[32] = "-";
    char thread[48] = "-";

    if (record->has_time)
        (void)snprintf(time, sizeof time, "%" PRId64, record->ts_ns);
    if (record->has_thread && record->thread.missing)
        (void)snprintf(thread, sizeof thread, "<thread %u>", record->thread.index);
    else if (record->has_thread)
        (void)snprintf(thread, sizeof thread, "%" PRIu64 "/%" PRIu64, record->thread.process,
                       record->thread.thread);
    print(output, "%10" PRIu64 " %16s %-13s %s", record->offset, time, thread,
          fxt_record_kind_name(record->kind));
    put_body(output, record);
    put_args(output, record);
    put(output, "\n");
}
