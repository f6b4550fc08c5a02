/* What a record of each kind looks like.  Bit numbers are those of section 2.  */
#include "libfxt/fxt_writer.h"

/* ---- Metadata, initialization and tables (sections 2.1 to 2.4) ---- */

#define PROVIDER_INFO    (UINT64_C(1) << 16)
#define PROVIDER_SECTION (UINT64_C(2) << 16)
#define PROVIDER_EVENT   (UINT64_C(3) << 16)
#define TRACE_INFO       (UINT64_C(4) << 16)

static void build_magic(struct fxt_writer *writer, const struct fxt_record *record)
{
    writer_begin(writer, WRITER_METADATA, TRACE_INFO | (uint64_t)record->value.magic.number << 24);
}

static void build_provider_info(struct fxt_writer *writer, const struct fxt_record *record)
{
    uint64_t header = PROVIDER_INFO | (uint64_t)record->value.provider.id << 20;

    header |= writer_field(writer, record->name.length, 52, 59, "length of the provider's name");
    writer_begin(writer, WRITER_METADATA, header);
    writer_stream(writer, record->name.bytes, record->name.length);
}

static void build_provider_section(struct fxt_writer *writer, const struct fxt_record *record)
{
    writer_begin(writer, WRITER_METADATA,
                 PROVIDER_SECTION | (uint64_t)record->value.provider.id << 20);
}

static void build_provider_event(struct fxt_writer *writer, const struct fxt_record *record)
{
    uint64_t header = PROVIDER_EVENT | (uint64_t)record->value.provider.id << 20;

    header |= writer_field(writer, record->value.provider.event, 52, 55, "provider event");
    writer_begin(writer, WRITER_METADATA, header);
}

static void build_init(struct fxt_writer *writer, const struct fxt_record *record)
{
    writer_begin(writer, WRITER_INIT, 0);
    writer_word(writer, record->value.init.ticks_per_second);
    if (record->value.init.extended) {
        writer_word(writer, record->value.init.base_ticks);
        writer_word(writer, (uint64_t)record->value.init.base_time_ns);
    }
}

static void build_string(struct fxt_writer *writer, const struct fxt_record *record)
{
    uint32_t length = writer_text_length(record->name);
    uint64_t header = writer_field(writer, record->value.table.index, 16, 30, "string index");

    writer_begin(writer, WRITER_STRING, header | (uint64_t)length << 32);
    writer_stream(writer, record->name.bytes, length);
}

static void build_thread(struct fxt_writer *writer, const struct fxt_record *record)
{
    writer_begin(writer, WRITER_THREAD,
                 writer_field(writer, record->value.table.index, 16, 23, "thread index"));
    writer_word(writer, record->thread.process);
    writer_word(writer, record->thread.thread);
}

/* ---- Events (section 2.5) ---- */

/* What follows the arguments.  */
static void put_event_tail(struct fxt_writer *writer, const struct fxt_record *record)
{
    switch (record->value.event.type) {
    case FXT_EVENT_INSTANT:
        if (record->value.event.has_scope)
            writer_word(writer, record->value.event.scope);
        else if (record->value.event.scope)
            writer_fail(writer, FXT_INVALID, "instant with scope %llu but without has_scope",
                        (unsigned long long)record->value.event.scope);
        break;
    case FXT_EVENT_DURATION_BEGIN:
    case FXT_EVENT_DURATION_END:
        break;
    case FXT_EVENT_DURATION_COMPLETE:
        writer_word(writer, record->value.event.end_ticks);
        break;
    case FXT_EVENT_COUNTER:
    case FXT_EVENT_ASYNC_BEGIN:
    case FXT_EVENT_ASYNC_INSTANT:
    case FXT_EVENT_ASYNC_END:
    case FXT_EVENT_FLOW_BEGIN:
    case FXT_EVENT_FLOW_STEP:
    case FXT_EVENT_FLOW_END:
        writer_word(writer, record->value.event.id);
        break;
    default: /* 11..15 */
        writer_words(writer, record->value.event.rest);
        break;
    }
}

static void build_event(struct fxt_writer *writer, const struct fxt_record *record)
{
    uint64_t header = writer_field(writer, record->value.event.type, 16, 19, "event type");

    header |= writer_argument_count(writer, record, 20);
    header |= writer_thread_ref(record->thread) << 24;
    header |= writer_string_ref(writer, record->category) << 32;
    header |= writer_string_ref(writer, record->name) << 48;
    writer_begin(writer, WRITER_EVENT, header);
    writer_word(writer, record->ticks);
    writer_thread_words(writer, record->thread);
    writer_string_text(writer, record->category);
    writer_string_text(writer, record->name);
    writer_arguments(writer, record);
    put_event_tail(writer, record);
}

/* ---- Blobs and objects (sections 2.7, 2.9 and 2.10) ---- */

static void build_blob(struct fxt_writer *writer, const struct fxt_record *record)
{
    struct fxt_bytes payload = record->value.blob.payload;
    uint64_t header = writer_string_ref(writer, record->name) << 16;

    header |= writer_field(writer, payload.length, 32, 46, "length of the blob");
    header |= writer_field(writer, record->value.blob.type, 48, 55, "blob type");
    writer_begin(writer, WRITER_BLOB, header);
    writer_string_text(writer, record->name);
    writer_stream(writer, payload.bytes, payload.length);
}

static void build_userspace_object(struct fxt_writer *writer, const struct fxt_record *record)
{
    uint64_t header = writer_thread_ref(record->thread) << 16;

    header |= writer_string_ref(writer, record->name) << 24;
    header |= writer_argument_count(writer, record, 40);
    writer_begin(writer, WRITER_USERSPACE_OBJECT, header);
    writer_word(writer, record->value.object.pointer);
    if (!record->thread.index)
        writer_word(writer, record->thread.process); /* as documented: no thread word */
    writer_string_text(writer, record->name);
    writer_arguments(writer, record);
}

static void build_kernel_object(struct fxt_writer *writer, const struct fxt_record *record)
{
    uint64_t header = writer_field(writer, record->value.object.type, 16, 23, "object type");

    header |= writer_string_ref(writer, record->name) << 24;
    header |= writer_argument_count(writer, record, 40);
    writer_begin(writer, WRITER_KERNEL_OBJECT, header);
    writer_word(writer, record->value.object.koid);
    writer_string_text(writer, record->name);
    writer_arguments(writer, record);
}

/* ---- Scheduling (section 2.11) ---- */

#define CONTEXT_SWITCH (UINT64_C(1) << 60)
#define THREAD_WAKEUP  (UINT64_C(2) << 60)

static void build_legacy_context_switch(struct fxt_writer *writer, const struct fxt_record *record)
{
    struct fxt_thread outgoing = record->value.sched.outgoing;
    struct fxt_thread incoming = record->value.sched.incoming;
    unsigned outgoing_priority = record->value.sched.outgoing_priority;
    unsigned incoming_priority = record->value.sched.incoming_priority;
    uint64_t header = writer_field(writer, record->value.sched.cpu, 16, 23, "CPU");

    header |= writer_field(writer, record->value.sched.outgoing_state, 24, 27, "thread state");
    header |= writer_thread_ref(outgoing) << 28;
    header |= writer_thread_ref(incoming) << 36;
    header |= writer_field(writer, outgoing_priority, 44, 51, "outgoing priority");
    header |= writer_field(writer, incoming_priority, 52, 59, "incoming priority");
    writer_begin(writer, WRITER_SCHEDULING, header);
    writer_word(writer, record->ticks);
    writer_thread_words(writer, outgoing);
    writer_thread_words(writer, incoming);
}

static void build_context_switch(struct fxt_writer *writer, const struct fxt_record *record)
{
    uint64_t header = CONTEXT_SWITCH | writer_argument_count(writer, record, 16);

    header |= writer_field(writer, record->value.sched.cpu, 20, 35, "CPU");
    header |= writer_field(writer, record->value.sched.outgoing_state, 36, 39, "thread state");
    writer_begin(writer, WRITER_SCHEDULING, header);
    writer_word(writer, record->ticks);
    writer_word(writer, record->value.sched.outgoing_tid);
    writer_word(writer, record->value.sched.incoming_tid);
    writer_arguments(writer, record);
}

static void build_thread_wakeup(struct fxt_writer *writer, const struct fxt_record *record)
{
    uint64_t header = THREAD_WAKEUP | writer_argument_count(writer, record, 16);

    header |= writer_field(writer, record->value.sched.cpu, 20, 35, "CPU");
    writer_begin(writer, WRITER_SCHEDULING, header);
    writer_word(writer, record->ticks);
    writer_word(writer, record->value.sched.incoming_tid);
    writer_arguments(writer, record);
}

/* ---- Log (section 2.12) ---- */

static void build_log(struct fxt_writer *writer, const struct fxt_record *record)
{
    struct fxt_string message = record->value.log.message;
    uint32_t length = writer_text_length(message);

    writer_begin(writer, WRITER_LOG,
                 (uint64_t)length << 16 | writer_thread_ref(record->thread) << 32);
    writer_word(writer, record->ticks);
    writer_thread_words(writer, record->thread);
    writer_stream(writer, message.bytes, length);
}

/* ---- Profiler (section 2.13) ---- */

#define PROFILER_MODULE    (UINT64_C(0) << 16)
#define PROFILER_MAPPING   (UINT64_C(1) << 16)
#define PROFILER_BACKTRACE (UINT64_C(2) << 16)

/* What all three begin with.  An inline thread is two words also for modules and mappings.  */
static void begin_profiler(struct fxt_writer *writer, const struct fxt_record *record,
                           uint64_t header)
{
    writer_begin(writer, WRITER_PROFILER, header | writer_thread_ref(record->thread) << 20);
    writer_word(writer, record->ticks);
    writer_thread_words(writer, record->thread);
}

static void build_module(struct fxt_writer *writer, const struct fxt_record *record)
{
    struct fxt_bytes build_id = record->value.module.build_id;
    uint64_t header = PROFILER_MODULE | (uint64_t)record->value.module.id << 28;

    header |= writer_field(writer, record->name.length, 44, 51, "length of the module's name");
    header |= writer_field(writer, build_id.length, 52, 59, "length of the build ID");
    begin_profiler(writer, record, header);
    writer_stream(writer, record->name.bytes, record->name.length);
    writer_stream(writer, build_id.bytes, build_id.length);
}

static void build_mapping(struct fxt_writer *writer, const struct fxt_record *record)
{
    uint64_t header = PROFILER_MAPPING | (uint64_t)record->value.mapping.module_id << 28;

    header |= writer_field(writer, record->value.mapping.flags, 44, 46, "mapping flags");
    begin_profiler(writer, record, header);
    writer_word(writer, record->value.mapping.start);
    writer_word(writer, record->value.mapping.length);
    writer_word(writer, record->value.mapping.vaddr);
}

static void build_backtrace(struct fxt_writer *writer, const struct fxt_record *record)
{
    struct fxt_words frames = record->value.backtrace.frames;
    /* Readers go by the size (section 2.13); one that goes by the count gets the innermost.  */
    uint64_t count = frames.count < 255 ? frames.count : 255;

    begin_profiler(writer, record, PROFILER_BACKTRACE | count << 28);
    writer_words(writer, frames);
}

/* ---- Large records (section 2.8) ---- */

static void build_large_blob(struct fxt_writer *writer, const struct fxt_record *record)
{
    struct fxt_bytes payload = record->value.large_blob.payload;
    unsigned format = record->value.large_blob.format;
    uint64_t references = writer_string_ref(writer, record->category);

    if (format > 1)
        writer_fail(writer, FXT_INVALID, "large blob of format %u; 0 and 1 are known", format);
    references |= writer_string_ref(writer, record->name) << 16;
    if (format == 0) {
        references |= writer_argument_count(writer, record, 32);
        references |= writer_thread_ref(record->thread) << 36;
    }
    writer_begin(writer, WRITER_LARGE, (uint64_t)format << 40);
    writer_word(writer, references);
    writer_string_text(writer, record->category);
    writer_string_text(writer, record->name);
    if (format == 0) {
        writer_word(writer, record->ticks);
        writer_thread_words(writer, record->thread);
        writer_arguments(writer, record);
    }
    writer_word(writer, payload.length);
    writer_stream(writer, payload.bytes, payload.length);
}

/* ---- All kinds ---- */

/* What the reader did not understand goes back as it came, if at least its size is right: a wrong
 * one would hide the records behind it.  */
static void build_unknown(struct fxt_writer *writer, const struct fxt_record *record)
{
    struct fxt_words words = record->value.unknown.words;
    uint64_t header;
    uint64_t size;

    if (words.count == 0 || !words.bytes) {
        writer_fail(writer, FXT_INVALID, "unknown record without words");
        return;
    }
    header = fxt_word(words, 0);
    size = (header & 15) == WRITER_LARGE ? header >> 4 & UINT32_MAX : header >> 4 & 0xfff;
    if (size != words.count)
        writer_fail(writer, FXT_INVALID, "unknown record of %zu words whose header says %llu",
                    words.count, (unsigned long long)size);
    else
        writer_words(writer, words);
}

static const struct {
    const char *name;
    void (*build)(struct fxt_writer *writer, const struct fxt_record *record);
    bool takes_arguments;
} kinds[FXT_RECORD_KINDS] = {
    [FXT_RECORD_UNKNOWN] = { "unknown", build_unknown, false },
    [FXT_RECORD_MAGIC] = { "magic", build_magic, false },
    [FXT_RECORD_PROVIDER_INFO] = { "provider info", build_provider_info, false },
    [FXT_RECORD_PROVIDER_SECTION] = { "provider section", build_provider_section, false },
    [FXT_RECORD_PROVIDER_EVENT] = { "provider event", build_provider_event, false },
    [FXT_RECORD_INIT] = { "initialization", build_init, false },
    [FXT_RECORD_STRING] = { "string", build_string, false },
    [FXT_RECORD_THREAD] = { "thread", build_thread, false },
    [FXT_RECORD_EVENT] = { "event", build_event, true },
    [FXT_RECORD_BLOB] = { "blob", build_blob, false },
    [FXT_RECORD_USERSPACE_OBJECT] = { "userspace object", build_userspace_object, true },
    [FXT_RECORD_KERNEL_OBJECT] = { "kernel object", build_kernel_object, true },
    [FXT_RECORD_CONTEXT_SWITCH] = { "context switch", build_context_switch, true },
    [FXT_RECORD_LEGACY_CONTEXT_SWITCH] = { "legacy context switch", build_legacy_context_switch,
                                           false },
    [FXT_RECORD_THREAD_WAKEUP] = { "thread wakeup", build_thread_wakeup, true },
    [FXT_RECORD_LOG] = { "log", build_log, false },
    [FXT_RECORD_MODULE] = { "module", build_module, false },
    [FXT_RECORD_MAPPING] = { "mapping", build_mapping, false },
    [FXT_RECORD_BACKTRACE] = { "backtrace", build_backtrace, false },
    [FXT_RECORD_LARGE_BLOB] = { "large blob", build_large_blob, true },
};

static bool takes_arguments(const struct fxt_record *record)
{
    if (record->kind == FXT_RECORD_LARGE_BLOB)
        return record->value.large_blob.format == 0;
    return kinds[record->kind].takes_arguments;
}

void writer_build(struct fxt_writer *writer, const struct fxt_record *record)
{
    if ((unsigned)record->kind >= FXT_RECORD_KINDS) {
        writer_fail(writer, FXT_INVALID, "record kind %d does not exist", (int)record->kind);
        return;
    }
    kinds[record->kind].build(writer, record);
    if (record->arg_count && !takes_arguments(record))
        writer_fail(writer, FXT_INVALID, "%s record with %zu arguments, which it cannot hold",
                    kinds[record->kind].name, record->arg_count);
    if (record->kind != FXT_RECORD_UNKNOWN)
        writer_end(writer, kinds[record->kind].name);
}
