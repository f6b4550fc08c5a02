/* The JSON contract of fxtdump: docs/fxtdump.md.  */
#include "cmd/cli/cli_json.h"
#include "cmd/fxtdump/dump.h"

const char *dump_state_name(unsigned state)
{
    static const char *const names[] = {
        "new", "running", "suspended", "blocked", "dying", "dead"
    };

    return state < sizeof names / sizeof *names ? names[state] : NULL;
}

const char *dump_scope_name(uint64_t scope)
{
    static const char *const names[] = { "thread", "process", "global" };

    return scope < sizeof names / sizeof *names ? names[scope] : NULL;
}

static void put_string(struct json *json, const char *key, const struct fxt_string *string)
{
    char text[24];

    if (!string->missing) {
        json_string(json, key, string->bytes, string->length);
        return;
    }
    (void)snprintf(text, sizeof text, "<string %u>", string->index);
    json_text(json, key, text);
}

static void put_words(struct json *json, const char *key, struct fxt_words words)
{
    json_open(json, key, '[');
    for (size_t i = 0; i < words.count; i++)
        json_address(json, NULL, fxt_word(words, i));
    json_close(json, ']');
}

static void put_value(struct json *json, const struct fxt_arg *arg)
{
    switch (arg->type) {
    case FXT_ARG_INT32:
        json_number(json, "value", arg->value.int32);
        break;
    case FXT_ARG_UINT32:
        json_number(json, "value", arg->value.uint32);
        break;
    case FXT_ARG_INT64:
        json_number(json, "value", arg->value.int64);
        break;
    case FXT_ARG_UINT64:
    case FXT_ARG_KOID:
        json_unsigned(json, "value", arg->value.uint64);
        break;
    case FXT_ARG_POINTER:
        json_address(json, "value", arg->value.uint64);
        break;
    case FXT_ARG_DOUBLE:
        json_double(json, "value", arg->value.number);
        break;
    case FXT_ARG_STRING:
        put_string(json, "value", &arg->value.string);
        break;
    case FXT_ARG_BOOL:
        json_bool(json, "value", arg->value.boolean);
        break;
    case FXT_ARG_BLOB:
        json_hex(json, "value", arg->value.blob.bytes, (size_t)arg->value.blob.length);
        break;
    case FXT_ARG_NULL:
    case FXT_ARG_UNKNOWN:
        json_null(json, "value");
        break;
    }
}

static void put_args(struct json *json, const struct fxt_record *record)
{
    json_open(json, "args", '[');
    for (size_t i = 0; i < record->arg_count; i++) {
        json_open(json, NULL, '{');
        put_string(json, "name", &record->args[i].name);
        json_text(json, "type", fxt_arg_type_name(record->args[i].type));
        put_value(json, &record->args[i]);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void put_event(struct json *json, const struct fxt_record *record)
{
    unsigned type = record->value.event.type;

    json_text(json, "event", fxt_event_type_name(type));
    if (type == FXT_EVENT_DURATION_COMPLETE) {
        json_unsigned(json, "end", record->value.event.end_ticks);
        json_number(json, "end_ns", record->value.event.end_ns);
    } else if (type == FXT_EVENT_COUNTER ||
               (type >= FXT_EVENT_ASYNC_BEGIN && type <= FXT_EVENT_FLOW_END)) {
        json_unsigned(json, "id", record->value.event.id);
    } else if (type == FXT_EVENT_INSTANT && record->value.event.has_scope) {
        const char *name = dump_scope_name(record->value.event.scope);

        if (name)
            json_text(json, "scope", name);
        else
            json_unsigned(json, "scope", record->value.event.scope);
    } else if (type > FXT_EVENT_FLOW_END) {
        json_number(json, "event_type", type);
        put_words(json, "words", record->value.event.rest);
    }
}

/* The older form names processes and priorities too.  */
static void put_legacy(struct json *json, const struct fxt_record *record)
{
    json_unsigned(json, "outgoing_pid", record->value.sched.outgoing.process);
    json_unsigned(json, "incoming_pid", record->value.sched.incoming.process);
    json_number(json, "outgoing_priority", record->value.sched.outgoing_priority);
    json_number(json, "incoming_priority", record->value.sched.incoming_priority);
}

static void put_sched(struct json *json, const struct fxt_record *record)
{
    const char *state = dump_state_name(record->value.sched.outgoing_state);

    json_number(json, "cpu", record->value.sched.cpu);
    if (record->kind == FXT_RECORD_THREAD_WAKEUP) {
        json_unsigned(json, "tid", record->value.sched.incoming_tid);
        return;
    }
    if (state)
        json_text(json, "state", state);
    else
        json_number(json, "state", record->value.sched.outgoing_state);
    json_unsigned(json, "outgoing_tid", record->value.sched.outgoing_tid);
    json_unsigned(json, "incoming_tid", record->value.sched.incoming_tid);
    if (record->kind == FXT_RECORD_LEGACY_CONTEXT_SWITCH)
        put_legacy(json, record);
}

/* Registers are words in the order of zx_thread_state_general_regs_t.  */
static void put_stack_sample(struct json *json, struct fxt_bytes payload)
{
    struct fxt_stack_sample sample;
    struct dump_thread_state state;

    fxt_stack_sample_read(payload, &sample);
    if (dump_thread_state_read(&sample, &state)) {
        json_text(json, "machine", state.machine);
        json_address(json, "pc", state.pc);
        json_address(json, "sp", state.sp);
    }
    put_words(json, "registers",
              (struct fxt_words){ sample.registers.bytes, (size_t)(sample.registers.length / 8) });
    json_open(json, "pieces", '[');
    for (size_t i = 0; i < sample.piece_count; i++) {
        json_open(json, NULL, '{');
        json_address(json, "address", sample.pieces[i].address);
        json_unsigned(json, "size", sample.pieces[i].bytes.length);
        json_close(json, '}');
    }
    json_close(json, ']');
    if (sample.is_damaged)
        json_bool(json, "damaged", true);
}

static void put_large_blob(struct json *json, const struct fxt_record *record)
{
    struct fxt_words pcs;

    json_number(json, "format", record->value.large_blob.format);
    json_unsigned(json, "size", record->value.large_blob.payload.length);
    if (fxt_record_sampler_stack(record, &pcs))
        put_words(json, "pcs", pcs);
    else if (fxt_record_is_stack_sample(record))
        put_stack_sample(json, record->value.large_blob.payload);
}

static void put_init(struct json *json, const struct fxt_record *record)
{
    json_unsigned(json, "ticks_per_second", record->value.init.ticks_per_second);
    if (record->value.init.extended) {
        json_unsigned(json, "base_ticks", record->value.init.base_ticks);
        json_number(json, "base_time_ns", record->value.init.base_time_ns);
    }
}

static void put_module(struct json *json, const struct fxt_record *record)
{
    json_number(json, "module_id", record->value.module.id);
    json_hex(json, "build_id", record->value.module.build_id.bytes,
             (size_t)record->value.module.build_id.length);
}

static void put_mapping(struct json *json, const struct fxt_record *record)
{
    json_number(json, "module_id", record->value.mapping.module_id);
    json_address(json, "start", record->value.mapping.start);
    json_unsigned(json, "length", record->value.mapping.length);
    json_address(json, "vaddr", record->value.mapping.vaddr);
    json_number(json, "flags", record->value.mapping.flags);
}

static void put_unknown(struct json *json, const struct fxt_record *record)
{
    json_number(json, "record_type", record->value.unknown.type);
    json_number(json, "subtype", record->value.unknown.subtype);
    json_unsigned(json, "size", record->size);
}

static void put_magic(struct json *json, const struct fxt_record *record)
{
    json_address(json, "magic", record->value.magic.number);
}

static void put_provider_event(struct json *json, const struct fxt_record *record)
{
    json_number(json, "event", record->value.provider.event);
}

static void put_table_entry(struct json *json, const struct fxt_record *record)
{
    json_number(json, "index", record->value.table.index);
    if (record->kind == FXT_RECORD_STRING)
        put_string(json, "text", &record->name);
}

static void put_blob(struct json *json, const struct fxt_record *record)
{
    json_number(json, "blob_type", record->value.blob.type);
    json_unsigned(json, "size", record->value.blob.payload.length);
}

static void put_userspace_object(struct json *json, const struct fxt_record *record)
{
    json_address(json, "pointer", record->value.object.pointer);
}

static void put_kernel_object(struct json *json, const struct fxt_record *record)
{
    json_number(json, "object_type", record->value.object.type);
    json_unsigned(json, "koid", record->value.object.koid);
}

static void put_log(struct json *json, const struct fxt_record *record)
{
    put_string(json, "message", &record->value.log.message);
}

static void put_backtrace(struct json *json, const struct fxt_record *record)
{
    put_words(json, "frames", record->value.backtrace.frames);
}

/* What only one kind of record has.  */
static void (*const bodies[FXT_RECORD_KINDS])(struct json *, const struct fxt_record *) = {
    [FXT_RECORD_MAGIC] = put_magic,
    [FXT_RECORD_PROVIDER_EVENT] = put_provider_event,
    [FXT_RECORD_INIT] = put_init,
    [FXT_RECORD_STRING] = put_table_entry,
    [FXT_RECORD_THREAD] = put_table_entry,
    [FXT_RECORD_EVENT] = put_event,
    [FXT_RECORD_BLOB] = put_blob,
    [FXT_RECORD_USERSPACE_OBJECT] = put_userspace_object,
    [FXT_RECORD_KERNEL_OBJECT] = put_kernel_object,
    [FXT_RECORD_CONTEXT_SWITCH] = put_sched,
    [FXT_RECORD_LEGACY_CONTEXT_SWITCH] = put_sched,
    [FXT_RECORD_THREAD_WAKEUP] = put_sched,
    [FXT_RECORD_LOG] = put_log,
    [FXT_RECORD_MODULE] = put_module,
    [FXT_RECORD_MAPPING] = put_mapping,
    [FXT_RECORD_BACKTRACE] = put_backtrace,
    [FXT_RECORD_LARGE_BLOB] = put_large_blob,
    [FXT_RECORD_UNKNOWN] = put_unknown,
};

static bool has_name(enum fxt_record_kind kind)
{
    return kind == FXT_RECORD_EVENT || kind == FXT_RECORD_BLOB || kind == FXT_RECORD_MODULE ||
           kind == FXT_RECORD_USERSPACE_OBJECT || kind == FXT_RECORD_KERNEL_OBJECT ||
           kind == FXT_RECORD_LARGE_BLOB || kind == FXT_RECORD_PROVIDER_INFO;
}

static bool has_args(const struct fxt_record *record)
{
    switch (record->kind) {
    case FXT_RECORD_EVENT:
    case FXT_RECORD_USERSPACE_OBJECT:
    case FXT_RECORD_KERNEL_OBJECT:
    case FXT_RECORD_CONTEXT_SWITCH:
    case FXT_RECORD_THREAD_WAKEUP:
        return true;
    case FXT_RECORD_LARGE_BLOB:
        return record->value.large_blob.format == 0;
    default:
        return false;
    }
}

/* Modules and mappings belong to a process; their thread word is 0 by the format.  */
static bool has_tid(enum fxt_record_kind kind)
{
    return kind != FXT_RECORD_USERSPACE_OBJECT && kind != FXT_RECORD_MODULE &&
           kind != FXT_RECORD_MAPPING;
}

static void put_packets(struct json *json, const struct fxt_packets *packets)
{
    json_open(json, "packets", '{');
    for (unsigned kind = 0; kind < FXT_PACKET_KINDS; kind++)
        if (packets->kinds[kind])
            json_unsigned(json, fxt_packet_kind_name(kind), packets->kinds[kind]);
    json_close(json, '}');
}

void dump_json(struct cli_output *output, const struct fxt_record *record,
               const struct fxt_bytes *bytes, const struct fxt_packets *packets)
{
    struct json json = { .output = output };
    uint32_t provider = record->kind == FXT_RECORD_PROVIDER_EVENT ? record->value.provider.id
                                                                  : record->provider->id;

    json_open(&json, NULL, '{');
    json_unsigned(&json, "offset", record->offset);
    json_text(&json, "type", fxt_record_kind_name(record->kind));
    json_number(&json, "provider", provider);
    if (record->has_time) {
        json_unsigned(&json, "ts", record->ticks);
        json_number(&json, "ts_ns", record->ts_ns);
    }
    if (record->has_thread)
        json_unsigned(&json, "pid", record->thread.process);
    if (record->has_thread && has_tid(record->kind))
        json_unsigned(&json, "tid", record->thread.thread);
    if (record->kind == FXT_RECORD_EVENT || record->kind == FXT_RECORD_LARGE_BLOB)
        put_string(&json, "category", &record->category);
    if (has_name(record->kind))
        put_string(&json, "name", &record->name);
    if (bodies[record->kind])
        bodies[record->kind](&json, record);
    if (record->kind == FXT_RECORD_BLOB && record->value.blob.type == FXT_BLOB_PERFETTO)
        put_packets(&json, packets);
    if (has_args(record))
        put_args(&json, record);
    if (bytes)
        json_hex(&json, "hex", bytes->bytes, (size_t)bytes->length);
    json_close(&json, '}');
    json_end_line(&json);
}

void dump_skipped_json(struct cli_output *output, const struct fxt_skipped *skipped)
{
    struct json json = { .output = output };

    json_open(&json, NULL, '{');
    json_unsigned(&json, "offset", skipped->offset);
    json_text(&json, "damage", fxt_damage_kind_name(skipped->kind));
    json_unsigned(&json, "size", skipped->size);
    if (skipped->bytes.length)
        json_hex(&json, "hex", skipped->bytes.bytes, (size_t)skipped->bytes.length);
    json_close(&json, '}');
    json_end_line(&json);
}

static void put_damage(struct json *json, const struct fxt_damage *damage)
{
    json_open(json, "damage", '{');
    for (enum fxt_damage_kind kind = 0; kind < FXT_DAMAGE_KINDS; kind++) {
        if (damage->kinds[kind].count == 0)
            continue;
        json_open(json, fxt_damage_kind_name(kind), '{');
        json_unsigned(json, "count", damage->kinds[kind].count);
        json_unsigned(json, "first_offset", damage->kinds[kind].first_offset);
        json_unsigned(json, "bytes", damage->kinds[kind].bytes);
        json_close(json, '}');
    }
    json_close(json, '}');
}

void dump_stats_json(struct cli_output *output, const char *path, const struct dump_stats *stats,
                     uint64_t bytes, const struct fxt_damage *damage)
{
    struct json json = { .output = output };

    json_open(&json, NULL, '{');
    if (path)
        json_text(&json, "path", path);
    json_open(&json, "records", '{');
    for (enum fxt_record_kind kind = 0; kind < FXT_RECORD_KINDS; kind++) {
        if (stats->records[kind])
            json_unsigned(&json, fxt_record_kind_name(kind), stats->records[kind]);
    }
    json_close(&json, '}');
    json_open(&json, "providers", '[');
    for (size_t i = 0; i < stats->providers.count; i++)
        json_unsigned(&json, NULL, stats->providers.items[i]);
    json_close(&json, ']');
    if (stats->has_time) {
        json_number(&json, "first_ns", stats->first_ns);
        json_number(&json, "last_ns", stats->last_ns);
    } else {
        json_null(&json, "first_ns");
        json_null(&json, "last_ns");
    }
    json_unsigned(&json, "bytes", bytes);
    put_damage(&json, damage);
    json_close(&json, '}');
    json_end_line(&json);
}

void dump_damage_json(struct cli_output *output, const char *path, uint64_t bytes,
                      const struct fxt_damage *damage)
{
    struct json json = { .output = output };

    json_open(&json, NULL, '{');
    if (path)
        json_text(&json, "path", path);
    json_unsigned(&json, "bytes", bytes);
    json_bool(&json, "damaged", fxt_damage_total(damage, false) > 0);
    put_damage(&json, damage);
    json_close(&json, '}');
    json_end_line(&json);
}
