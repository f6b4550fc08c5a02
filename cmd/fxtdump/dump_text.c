/* One record, one line, for people: offset, time, thread, kind, what it says.  */
#include <inttypes.h>
#include <string.h>

#include "base/visible.h"
#include "cmd/cli/hexdump.h"
#include "cmd/fxtdump/dump.h"

/* As base/visible.h says.  */
static void put_string(struct cli_output *output, const struct fxt_string *string)
{
    size_t start = 0, size;

    if (string->missing) {
        dump_print(output, "<string %u>", string->index);
        return;
    }
    for (size_t i = 0; i < string->length; i += size) {
        char escape[BASE_ESCAPE_BYTES];

        if (base_shown_as_is(string->bytes + i, string->length - i, &size))
            continue;
        (void)cli_output_write(output, string->bytes + start, i - start);
        (void)cli_output_write(output, escape, base_escape(escape, string->bytes + i, size));
        start = i + size;
    }
    (void)cli_output_write(output, string->bytes + start, string->length - start);
}

static void put_named(struct cli_output *output, const char *label, const struct fxt_string *string)
{
    if (string->length == 0 && !string->missing)
        return;
    dump_print(output, " %s=", label);
    put_string(output, string);
}

static void put_hex(struct cli_output *output, const struct fxt_bytes *bytes)
{
    for (uint64_t i = 0; i < bytes->length; i++)
        dump_print(output, "%02x", bytes->bytes[i]);
}

static void put_words(struct cli_output *output, struct fxt_words words)
{
    for (size_t i = 0; i < words.count; i++)
        dump_print(output, " 0x%" PRIx64, fxt_word(words, i));
}

static void put_value(struct cli_output *output, const struct fxt_arg *arg)
{
    char text[32];

    switch (arg->type) {
    case FXT_ARG_NULL:
        dump_put(output, "null");
        break;
    case FXT_ARG_INT32:
        dump_print(output, "%" PRId32, arg->value.int32);
        break;
    case FXT_ARG_UINT32:
        dump_print(output, "%" PRIu32, arg->value.uint32);
        break;
    case FXT_ARG_INT64:
        dump_print(output, "%" PRId64, arg->value.int64);
        break;
    case FXT_ARG_UINT64:
        dump_print(output, "%" PRIu64, arg->value.uint64);
        break;
    case FXT_ARG_KOID:
        dump_print(output, "koid:%" PRIu64, arg->value.uint64);
        break;
    case FXT_ARG_POINTER:
        dump_print(output, "0x%" PRIx64, arg->value.uint64);
        break;
    case FXT_ARG_DOUBLE:
        cli_shortest_double(text, arg->value.number);
        dump_put(output, text);
        break;
    case FXT_ARG_STRING:
        dump_put(output, "\"");
        put_string(output, &arg->value.string);
        dump_put(output, "\"");
        break;
    case FXT_ARG_BOOL:
        dump_put(output, arg->value.boolean ? "true" : "false");
        break;
    case FXT_ARG_BLOB:
        dump_put(output, "blob:");
        put_hex(output, &arg->value.blob);
        break;
    case FXT_ARG_UNKNOWN:
        dump_print(output, "<argument type %u>", arg->value.unknown_type);
        break;
    }
}

static void put_args(struct cli_output *output, const struct fxt_record *record)
{
    if (record->arg_count == 0)
        return;
    dump_put(output, " {");
    for (size_t i = 0; i < record->arg_count; i++) {
        dump_put(output, i ? ", " : "");
        put_string(output, &record->args[i].name);
        dump_put(output, ": ");
        put_value(output, &record->args[i]);
    }
    dump_put(output, "}");
}

static void put_event(struct cli_output *output, const struct fxt_record *record)
{
    unsigned type = record->value.event.type;

    dump_print(output, " %s", fxt_event_type_name(type));
    if (type > FXT_EVENT_FLOW_END)
        dump_print(output, " (type %u)", type);
    put_named(output, "category", &record->category);
    put_named(output, "name", &record->name);
    if (type == FXT_EVENT_DURATION_COMPLETE)
        dump_print(output, " end=%" PRId64, record->value.event.end_ns);
    else if (type == FXT_EVENT_COUNTER ||
             (type >= FXT_EVENT_ASYNC_BEGIN && type <= FXT_EVENT_FLOW_END))
        dump_print(output, " id=%" PRIu64, record->value.event.id);
    else if (type == FXT_EVENT_INSTANT && dump_scope_name(record->value.event.scope))
        dump_print(output, " scope=%s", dump_scope_name(record->value.event.scope));
    else if (type == FXT_EVENT_INSTANT)
        dump_print(output, " scope=%" PRIu64, record->value.event.scope);
    put_words(output, record->value.event.rest);
}

static void put_sched(struct cli_output *output, const struct fxt_record *record)
{
    const char *state = dump_state_name(record->value.sched.outgoing_state);

    dump_print(output, " cpu=%u", record->value.sched.cpu);
    if (record->kind == FXT_RECORD_THREAD_WAKEUP) {
        dump_print(output, " wakes=%" PRIu64, record->value.sched.incoming_tid);
        return;
    }
    dump_print(output, " out=%" PRIu64, record->value.sched.outgoing_tid);
    if (state)
        dump_print(output, " (%s)", state);
    else
        dump_print(output, " (state %u)", record->value.sched.outgoing_state);
    dump_print(output, " in=%" PRIu64, record->value.sched.incoming_tid);
    if (record->kind == FXT_RECORD_LEGACY_CONTEXT_SWITCH)
        dump_print(output, " priorities=%u,%u", record->value.sched.outgoing_priority,
                   record->value.sched.incoming_priority);
}

static void put_stack_sample(struct cli_output *output, struct fxt_bytes payload)
{
    struct fxt_stack_sample sample;
    struct dump_thread_state state;

    fxt_stack_sample_read(payload, &sample);
    if (dump_thread_state_read(&sample, &state))
        dump_print(output, " machine=%s pc=0x%" PRIx64 " sp=0x%" PRIx64, state.machine, state.pc,
                   state.sp);
    dump_print(output, " register_bytes=%" PRIu64, sample.registers.length);
    for (size_t i = 0; i < sample.piece_count; i++)
        dump_print(output, "%s0x%" PRIx64 "+%" PRIu64,
                   i ? "," : " memory=", sample.pieces[i].address, sample.pieces[i].bytes.length);
    if (sample.is_damaged)
        dump_put(output, " (damaged)");
}

static void put_large_blob(struct cli_output *output, const struct fxt_record *record)
{
    struct fxt_words pcs;

    put_named(output, "category", &record->category);
    put_named(output, "name", &record->name);
    dump_print(output, " format=%u size=%" PRIu64, record->value.large_blob.format,
               record->value.large_blob.payload.length);
    if (fxt_record_sampler_stack(record, &pcs)) {
        dump_put(output, " pcs");
        put_words(output, pcs);
    } else if (fxt_record_is_stack_sample(record)) {
        put_stack_sample(output, record->value.large_blob.payload);
    }
}

/* What only one kind of record has.  */
static void put_body(struct cli_output *output, const struct fxt_record *record)
{
    switch (record->kind) {
    case FXT_RECORD_EVENT:
        put_event(output, record);
        break;
    case FXT_RECORD_BLOB:
        put_named(output, "name", &record->name);
        dump_print(output, " type=%u size=%" PRIu64, record->value.blob.type,
                   record->value.blob.payload.length);
        break;
    case FXT_RECORD_USERSPACE_OBJECT:
        dump_print(output, " 0x%" PRIx64, record->value.object.pointer);
        put_named(output, "name", &record->name);
        break;
    case FXT_RECORD_KERNEL_OBJECT:
        dump_print(output, " type=%u koid=%" PRIu64, record->value.object.type,
                   record->value.object.koid);
        put_named(output, "name", &record->name);
        break;
    case FXT_RECORD_CONTEXT_SWITCH:
    case FXT_RECORD_LEGACY_CONTEXT_SWITCH:
    case FXT_RECORD_THREAD_WAKEUP:
        put_sched(output, record);
        break;
    case FXT_RECORD_LOG:
        dump_put(output, " ");
        put_string(output, &record->value.log.message);
        break;
    case FXT_RECORD_BACKTRACE:
        put_words(output, record->value.backtrace.frames);
        break;
    case FXT_RECORD_LARGE_BLOB:
        put_large_blob(output, record);
        break;
    case FXT_RECORD_UNKNOWN:
        dump_print(output, " type=%u subtype=%u size=%" PRIu64, record->value.unknown.type,
                   record->value.unknown.subtype, record->size);
        break;
    default: /* the others are descriptions */
        break;
    }
}

/* The same of records that describe others: providers, clocks, tables and modules.  */
static void put_description(struct cli_output *output, const struct fxt_record *record)
{
    switch (record->kind) {
    case FXT_RECORD_MAGIC:
        dump_print(output, " 0x%" PRIx32, record->value.magic.number);
        break;
    case FXT_RECORD_PROVIDER_INFO:
        dump_print(output, " id=%" PRIu32, record->value.provider.id);
        put_named(output, "name", &record->name);
        break;
    case FXT_RECORD_PROVIDER_SECTION:
        dump_print(output, " id=%" PRIu32, record->value.provider.id);
        break;
    case FXT_RECORD_PROVIDER_EVENT:
        dump_print(output, " id=%" PRIu32 " %s (%u)", record->value.provider.id,
                   record->value.provider.event == 0 ? "buffer filled up, records lost" : "event",
                   record->value.provider.event);
        break;
    case FXT_RECORD_INIT:
        dump_print(output, " ticks_per_second=%" PRIu64, record->value.init.ticks_per_second);
        if (record->value.init.extended)
            dump_print(output, " base_ticks=%" PRIu64 " base_time_ns=%" PRId64,
                       record->value.init.base_ticks, record->value.init.base_time_ns);
        break;
    case FXT_RECORD_STRING:
        dump_print(output, " %u = \"", record->value.table.index);
        put_string(output, &record->name);
        dump_put(output, "\"");
        break;
    case FXT_RECORD_THREAD:
        dump_print(output, " %u", record->value.table.index);
        break;
    case FXT_RECORD_MODULE:
        dump_print(output, " %u build_id=", record->value.module.id);
        put_hex(output, &record->value.module.build_id);
        put_named(output, "name", &record->name);
        break;
    case FXT_RECORD_MAPPING:
        dump_print(
            output,
            " module=%u start=0x%" PRIx64 " length=0x%" PRIx64 " vaddr=0x%" PRIx64 " flags=%u",
            record->value.mapping.module_id, record->value.mapping.start,
            record->value.mapping.length, record->value.mapping.vaddr, record->value.mapping.flags);
        break;
    default:
        put_body(output, record);
        break;
    }
}

/* Escapes for terminals.  */
#define DIM   "\033[2m"
#define BOLD  "\033[1m"
#define RED   "\033[31m"
#define RESET "\033[0m"

/* What every line begins with; escape is that of the kind's name.  */
static void put_head(const struct dump_form *form, uint64_t offset, const char *time,
                     const char *thread, const char *escape, const char *kind)
{
    if (form->colour)
        dump_print(form->output, DIM "%10" PRIu64 RESET " %16s %-13s %s%s" RESET, offset, time,
                   thread, escape, kind);
    else
        dump_print(form->output, "%10" PRIu64 " %16s %-13s %s", offset, time, thread, kind);
}

void dump_hex(const struct dump_form *form, uint64_t offset, const uint8_t *bytes, uint64_t length)
{
    if (form->colour)
        dump_put(form->output, DIM);
    cli_hexdump(form->output, offset, bytes, length);
    if (form->colour)
        dump_put(form->output, RESET);
}

void dump_head(const struct dump_form *form, uint64_t offset, const char *time, const char *thread,
               const char *kind)
{
    put_head(form, offset, time, thread, BOLD, kind);
}

/* " packets={ftrace_events: 12, clock_snapshot: 1}".  */
static void put_packets(struct cli_output *output, const struct fxt_packets *packets)
{
    const char *separator = " packets={";

    for (unsigned kind = 0; kind < FXT_PACKET_KINDS; kind++) {
        if (packets->kinds[kind] == 0)
            continue;
        dump_print(output, "%s%s: %" PRIu64, separator, fxt_packet_kind_name(kind),
                   packets->kinds[kind]);
        separator = ", ";
    }
    dump_put(output, *separator == ',' ? "}" : "");
    dump_put(output, packets->damaged ? " (no packets of Perfetto)" : "");
}

void dump_text(const struct dump_form *form, const struct fxt_record *record,
               const struct fxt_bytes *bytes, const struct fxt_packets *packets)
{
    struct cli_output *output = form->output;
    char time[32] = "-";
    char thread[48] = "-";

    if (record->has_time)
        (void)snprintf(time, sizeof time, "%" PRId64, record->ts_ns);
    if (record->has_thread && record->thread.missing)
        (void)snprintf(thread, sizeof thread, "<thread %u>", record->thread.index);
    else if (record->has_thread)
        (void)snprintf(thread, sizeof thread, "%" PRIu64 "/%" PRIu64, record->thread.process,
                       record->thread.thread);
    put_head(form, record->offset, time, thread, BOLD, fxt_record_kind_name(record->kind));
    put_description(output, record);
    if (record->kind == FXT_RECORD_BLOB && record->value.blob.type == FXT_BLOB_PERFETTO)
        put_packets(output, packets);
    put_args(output, record);
    dump_put(output, "\n");
    if (bytes)
        dump_hex(form, record->offset, bytes->bytes, bytes->length);
}

void dump_skipped_text(const struct dump_form *form, const struct fxt_skipped *skipped)
{
    put_head(form, skipped->offset, "-", "-", RED, fxt_damage_kind_name(skipped->kind));
    dump_print(form->output, " %s bytes: %s\n", cli_grouped(skipped->size),
               fxt_damage_kind_phrase(skipped->kind));
    if (skipped->kind == FXT_DAMAGE_ZERO_WORDS)
        dump_hex(form, skipped->offset, NULL, skipped->size);
    else
        dump_hex(form, skipped->offset, skipped->bytes.bytes, skipped->bytes.length);
}
