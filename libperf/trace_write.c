/* trace_write.c - records of FXT in the layout of a capture.  */
#include "libperf/trace_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/utf8.h"

#define TICKS_PER_SECOND UINT64_C(1000000000)
#define MOST_CPUS        65536U

/* ---- Bytes ---- */

uint8_t *trace_room(struct perf_trace *trace, size_t size)
{
    if (!base_make_room(&trace->bytes, &trace->capacity, trace->used + size, 1)) {
        trace->failure = ENOMEM;
        return NULL;
    }
    trace->used += size;
    return trace->bytes + trace->used - size;
}

bool trace_put(struct perf_trace *trace, const struct fxt_record *record)
{
    if (fxt_writer_record(trace->writer, record, NULL) == FXT_OK)
        return true;
    if (!trace->failure)
        trace->failure = EINVAL;
    return false;
}

/* Any bytes as text: '?' for each that is none, and of a long text its end.  */
static void copy_text(char *buffer, size_t size, const char *text)
{
    size_t length = strlen(text), used = 0;

    if (length >= size)
        text += length - (size - 1);
    length = strlen(text);
    while (length > 0) {
        size_t character = base_utf8_character(text, length);

        if (character == 0)
            buffer[used++] = '?';
        for (size_t i = 0; i < character; i++)
            buffer[used++] = text[i];
        text += character ? character : 1;
        length -= character ? character : 1;
    }
    buffer[used] = '\0';
}

/* ---- Providers ---- */

static bool switch_to(struct perf_trace *trace, uint32_t id)
{
    struct fxt_record section = { .kind = FXT_RECORD_PROVIDER_SECTION };

    if (trace->provider == id)
        return true;
    section.value.provider.id = id;
    trace->provider = id;
    return trace_put(trace, &section);
}

/* Indexes of strings that the providers of CPUs have.  */
enum { CATEGORY = 1, SAMPLE, EVENT, AMOUNT };

static bool introduce(struct perf_trace *trace, uint32_t id, const char *name)
{
    static const char *const strings[] = {
        [CATEGORY] = "fxt.capture", [SAMPLE] = "sample", [EVENT] = "event", [AMOUNT] = "amount"
    };
    struct fxt_record info = { .kind = FXT_RECORD_PROVIDER_INFO, .name = fxt_inline(name) };
    struct fxt_record init = { .kind = FXT_RECORD_INIT };

    info.value.provider.id = id;
    init.value.init.ticks_per_second = TICKS_PER_SECOND;
    trace->provider = id;
    if (!trace_put(trace, &info) || !trace_put(trace, &init))
        return false;
    for (unsigned i = CATEGORY; i <= AMOUNT; i++) {
        struct fxt_record string = { .kind = FXT_RECORD_STRING, .name = fxt_inline(strings[i]) };

        string.value.table.index = (uint16_t)i;
        if (!trace_put(trace, &string))
            return false;
    }
    return true;
}

bool trace_to_tool(struct perf_trace *trace)
{
    return switch_to(trace, TRACE_TOOL_PROVIDER);
}

bool trace_to_cpu(struct perf_trace *trace, uint32_t cpu)
{
    char name[16];

    if (cpu >= MOST_CPUS)
        return trace_to_tool(trace);
    if (cpu < trace->cpu_count && trace->cpus[cpu])
        return switch_to(trace, cpu + 1);
    if (cpu >= trace->cpu_count) {
        size_t room = trace->cpu_count;

        if (!base_make_room(&trace->cpus, &room, (size_t)cpu + 1, 1))
            return false;
        memset(trace->cpus + trace->cpu_count, 0, room - trace->cpu_count);
        trace->cpu_count = room;
    }
    trace->cpus[cpu] = true;
    (void)snprintf(name, sizeof name, "cpu-%u", cpu);
    return introduce(trace, cpu + 1, name);
}

/* ---- The session ---- */

struct fxt_arg trace_number(const char *name, uint64_t value)
{
    return (
        struct fxt_arg){ .type = FXT_ARG_UINT64, .name = fxt_inline(name), .value.uint64 = value };
}

static struct fxt_arg text(const char *name, const char *value)
{
    return (struct fxt_arg){ .type = FXT_ARG_STRING,
                             .name = fxt_inline(name),
                             .value.string = fxt_inline(value) };
}

static bool put_event(struct perf_trace *trace, unsigned type, const char *name, uint64_t ticks,
                      uint64_t id, const struct fxt_arg *args, size_t count)
{
    struct fxt_record event = { .kind = FXT_RECORD_EVENT,
                                .ticks = ticks,
                                .category = fxt_inline("fxt.capture"),
                                .name = fxt_inline(name),
                                .args = args,
                                .arg_count = count };

    event.value.event.type = type;
    event.value.event.id = id;
    event.value.event.has_scope = type == FXT_EVENT_INSTANT;
    event.value.event.scope = FXT_SCOPE_GLOBAL;
    return trace_put(trace, &event);
}

enum { SOFTWARE = 1, CPU_CLOCK = 0, TASK_CLOCK = 1, DUMMY = 9 };

static bool is_clock(const struct perf_data_event *event)
{
    return event->type == SOFTWARE && (event->config == CPU_CLOCK || event->config == TASK_CLOCK);
}

/* Whether a name ends in modifiers, "cycles:u"; how long it is without them.  */
static size_t bare_length(const char *name)
{
    const char *colon = strrchr(name, ':');

    if (!colon || colon == name || !colon[1] ||
        strspn(colon + 1, "ukhGHpPSDWIe") != strlen(colon + 1))
        return strlen(name);
    return (size_t)(colon - name);
}

/* "cycles" for "cycles:u", so that captures of different users can be compared, unless another
 * event has the same bare name.  */
static size_t name_length(const struct perf_trace *trace, size_t event)
{
    const char *name = perf_data_event(trace->data, event)->name;
    size_t length = bare_length(name);

    for (size_t i = 0; i < perf_data_event_count(trace->data); i++) {
        const char *other = perf_data_event(trace->data, i)->name;

        if (i != event && bare_length(other) == length && strncmp(other, name, length) == 0)
            return strlen(name);
    }
    return length;
}

/* perf adds an event for records about tasks (of all CPUs, of instruction traces), and that of an
 * instruction trace has packets in place of samples.  */
static bool has_no_samples(const struct perf_trace *trace, const struct perf_data_event *event)
{
    return (event->type == SOFTWARE && event->config == DUMMY) ||
           (trace->aux && event->type == trace->pmu_type);
}

/* Events that are not the clock of the session.  Their ids count from 1 in the order of the file.
 */
static bool put_sample_events(struct perf_trace *trace, uint64_t time_ns)
{
    char name[256];

    for (; trace->events_written < perf_data_event_count(trace->data); trace->events_written++) {
        size_t i = trace->events_written, length = name_length(trace, i);
        const struct perf_data_event *event = perf_data_event(trace->data, i);

        if (i + 1 == trace->clock || has_no_samples(trace, event))
            continue;
        copy_text(name, length + 1 < sizeof name ? length + 1 : sizeof name, event->name);
        if (length < sizeof name) {
            memcpy(name, event->name, length);
            name[length] = '\0';
        }
        const struct fxt_arg args[] = { trace_number("id", i + 1), text("name", name),
                                        text("unit", is_clock(event) ? "nanoseconds" : "count") };

        if (!trace_to_tool(trace) || !put_event(trace, FXT_EVENT_INSTANT, "sample_event", time_ns,
                                                0, args, sizeof args / sizeof *args))
            return false;
    }
    return true;
}

static void find_clock(struct perf_trace *trace)
{
    for (size_t i = 0; i < perf_data_event_count(trace->data) && !trace->clock; i++) {
        const struct perf_data_event *event = perf_data_event(trace->data, i);

        if (!is_clock(event))
            continue;
        trace->clock = (uint32_t)i + 1;
        trace->period_ns = event->period;
        if (event->is_frequency)
            trace->period_ns = event->period ? TICKS_PER_SECOND / event->period : 0;
    }
}

static const char *known(const char *value)
{
    return value ? value : "";
}

static bool put_session(struct perf_trace *trace)
{
    const struct perf_data_facts *facts = perf_data_facts(trace->data);
    char command[1024], host[256];
    struct fxt_record magic = { .kind = FXT_RECORD_MAGIC };
    struct fxt_arg args[16];
    size_t count = 0;

    copy_text(command, sizeof command, known(facts->command));
    copy_text(host, sizeof host, known(facts->host));
    find_clock(trace);
    if (trace->clock)
        args[count++] = trace_number("period_ns", trace->period_ns);
    args[count++] = trace_number("max_frames", TRACE_MOST_FRAMES);
    args[count++] = text("layout", trace->aux ? "insntrace" : "sampler");
    args[count++] = text("source", "perf");
    args[count++] = text("arch", known(facts->arch));
    if (facts->has_clock) {
        args[count++] = trace_number("realtime_ns", facts->wall_ns);
        args[count++] = trace_number("monotonic_ns", facts->clock_ns);
    }
    args[count++] = text("kernel", known(facts->kernel));
    args[count++] = text("cpu_model", known(facts->cpu));
    args[count++] = text("command", command);
    args[count++] = text("host", host);
    args[count++] = text("tool_version", known(facts->perf_version));
    magic.value.magic.number = 0x16547846;
    return trace_put(trace, &magic) && introduce(trace, TRACE_TOOL_PROVIDER, "perf") &&
           put_event(trace, FXT_EVENT_INSTANT, "session", trace_time(facts->first_ns), 0, args,
                     count);
}

bool trace_introduce(struct perf_trace *trace)
{
    if (!trace->introduced) {
        trace->introduced = true;
        if (!put_session(trace))
            return false;
    }
    return trace->events_written == perf_data_event_count(trace->data) ||
           put_sample_events(trace, trace_time(perf_data_facts(trace->data)->first_ns));
}

/* ---- Names and maps ---- */

bool trace_put_process(struct perf_trace *trace, const struct trace_process *process)
{
    char name[sizeof process->name];
    struct fxt_record object = { .kind = FXT_RECORD_KERNEL_OBJECT };

    copy_text(name, sizeof name, process->name);
    object.name = fxt_inline(name);
    object.value.object.type = FXT_OBJECT_PROCESS;
    object.value.object.koid = process->koid;
    return trace_to_tool(trace) && trace_put(trace, &object);
}

bool trace_put_thread(struct perf_trace *trace, const struct trace_thread *thread)
{
    const struct trace_process *process = &trace->processes[thread->process - 1];
    char name[sizeof thread->name];
    const struct fxt_arg owner = { .type = FXT_ARG_KOID,
                                   .name = fxt_inline("process"),
                                   .value.uint64 = process->koid };
    struct fxt_record object = { .kind = FXT_RECORD_KERNEL_OBJECT, .args = &owner, .arg_count = 1 };

    copy_text(name, sizeof name, thread->named ? thread->name : process->name);
    object.name = fxt_inline(name);
    object.value.object.type = FXT_OBJECT_THREAD;
    object.value.object.koid = thread->koid;
    return trace_to_tool(trace) && trace_put(trace, &object);
}

bool trace_put_module(struct perf_trace *trace, uint64_t koid, const struct trace_module *module,
                      uint16_t id, uint64_t time_ns)
{
    char name[4096];
    struct fxt_record record = { .kind = FXT_RECORD_MODULE,
                                 .ticks = time_ns,
                                 .thread.process = koid };

    copy_text(name, sizeof name, module->name);
    record.name = fxt_inline(name);
    record.value.module.id = id;
    record.value.module.build_id.bytes = module->build_id;
    record.value.module.build_id.length = module->build_id_length;
    return trace_to_tool(trace) && trace_put(trace, &record);
}

bool trace_put_mapping(struct perf_trace *trace, uint64_t koid, const struct trace_mapping *mapping,
                       uint64_t vaddr, uint16_t id)
{
    struct fxt_record record = { .kind = FXT_RECORD_MAPPING,
                                 .ticks = mapping->time_ns,
                                 .thread.process = koid };

    record.value.mapping.module_id = id;
    record.value.mapping.flags = 1 | 4;
    record.value.mapping.start = mapping->start;
    record.value.mapping.length = mapping->length;
    record.value.mapping.vaddr = vaddr;
    return trace_to_tool(trace) && trace_put(trace, &record);
}

/* The size of the next record's part of lines: a blob record holds less than 32 KiB.  */
static size_t whole_lines(const char *text, size_t size)
{
    enum { PIECE = 30000 };
    const char *end;

    if (size <= PIECE)
        return size;
    end = memrchr(text, '\n', PIECE);
    return end ? (size_t)(end - text) + 1 : PIECE;
}

bool trace_put_code(struct perf_trace *trace, const char *name, uint64_t koid, uint64_t time_ns,
                    const char *lines, size_t size)
{
    struct fxt_record blob = { .kind = FXT_RECORD_LARGE_BLOB,
                               .category = fxt_inline("fxt.capture"),
                               .name = fxt_inline(name),
                               .ticks = time_ns,
                               .thread = { .process = koid } };

    if (!trace_to_tool(trace))
        return false;
    while (size > 0) {
        size_t piece = whole_lines(lines, size);

        blob.value.large_blob.payload.bytes = (const uint8_t *)lines;
        blob.value.large_blob.payload.length = piece;
        if (!trace_put(trace, &blob))
            return false;
        lines += piece;
        size -= piece;
    }
    return true;
}

bool trace_put_kernel_symbols(struct perf_trace *trace, const char *text, size_t size)
{
    struct fxt_record blob = { .kind = FXT_RECORD_BLOB, .name = fxt_inline("linux.kallsyms") };

    if (!trace_to_tool(trace))
        return false;
    blob.value.blob.type = FXT_BLOB_DATA;
    while (size > 0) {
        size_t piece = whole_lines(text, size);

        blob.value.blob.payload.bytes = (const uint8_t *)text;
        blob.value.blob.payload.length = piece;
        if (!trace_put(trace, &blob))
            return false;
        text += piece;
        size -= piece;
    }
    return true;
}

/* ---- Samples, switches, losses ---- */

static void store(uint8_t *bytes, uint64_t value)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    memcpy(bytes, &value, sizeof value);
}

/* A large blob of the addresses (docs/formats/zx-sampler.md section 3).  Where it is not a sample
 * of the session's clock, it has a name, and arguments that say of which event it is.  */
bool trace_put_sample(struct perf_trace *trace, const struct trace_sample *sample)
{
    enum { LARGE = 15, HEADER_WORDS = 6, ARGUMENT_WORDS = 4, UINT64 = 4 };
    bool is_plain = sample->event + 1 == trace->clock && sample->amount == trace->period_ns;
    size_t arguments = is_plain ? 0 : ARGUMENT_WORDS;
    size_t words = HEADER_WORDS + arguments + trace->address_count;
    uint64_t event = sample->event + 1 == trace->clock ? 0 : sample->event + 1;
    const char *arch = perf_data_facts(trace->data)->arch;
    /* There, Zircon itself subtracts 4 from the second address, and readers nothing.  */
    bool is_arm64 = arch && strcmp(arch, "aarch64") == 0;
    uint8_t *bytes;

    if (!trace_to_cpu(trace, sample->cpu))
        return false;
    bytes = trace_room(trace, 8 * words);
    if (!bytes)
        return false;
    store(bytes, LARGE | (uint64_t)words << 4);
    store(bytes + 8, is_plain ? 0 : CATEGORY | (uint64_t)SAMPLE << 16 | UINT64_C(2) << 32);
    store(bytes + 16, sample->time_ns);
    store(bytes + 24, sample->process);
    store(bytes + 32, sample->thread);
    bytes += 40;
    if (!is_plain) {
        store(bytes, UINT64 | UINT64_C(2) << 4 | (uint64_t)EVENT << 16);
        store(bytes + 8, event);
        store(bytes + 16, UINT64 | UINT64_C(2) << 4 | (uint64_t)AMOUNT << 16);
        store(bytes + 24, sample->amount);
        bytes += 32;
    }
    store(bytes, 8 * (uint64_t)trace->address_count);
    for (size_t i = 0; i < trace->address_count; i++)
        store(bytes + 8 + 8 * i, trace->addresses[i]);
    if (is_arm64 && trace->address_count > 1)
        store(bytes + 16, trace->addresses[1] - 4);
    trace->counts.samples++;
    return true;
}

bool trace_put_switch(struct perf_trace *trace, const struct perf_data_record *record,
                      uint64_t outgoing, uint64_t incoming)
{
    enum { NEW = 0, BLOCKED = 3 };
    struct fxt_record change = { .kind = FXT_RECORD_CONTEXT_SWITCH, .ticks = record->time_ns };

    if (record->cpu >= MOST_CPUS || outgoing == incoming)
        return true;
    change.value.sched.cpu = record->cpu;
    change.value.sched.outgoing_state = record->context_switch.is_preempted ? NEW : BLOCKED;
    change.value.sched.outgoing_tid = outgoing;
    change.value.sched.incoming_tid = incoming;
    return trace_to_tool(trace) && trace_put(trace, &change);
}

bool trace_put_losses(struct perf_trace *trace, uint64_t time_ns)
{
    const struct fxt_arg args[] = { trace_number("ring", trace->lost),
                                    trace_number("throttled", trace->throttled) };

    if (trace->lost == 0 && trace->throttled == 0)
        return true;
    return trace_to_tool(trace) && put_event(trace, FXT_EVENT_COUNTER, "lost", time_ns, 0, args,
                                             sizeof args / sizeof *args);
}
