#include "sampler-capture/cpu/trace.h"

#include "libfxt/fxt.h"
#include "sampler-capture/cpu/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TICKS_PER_SECOND 1000000000
#define BUFFER_SIZE      (1U << 20)
#define MODULE_NAME_SIZE 256 /* with NUL: the length is an 8-bit field */

struct trace_cpu {
    bool introduced; /* provider info and initialization are written */
    struct trace_loss loss;
};

struct trace {
    int fd;
    struct fxt_writer *writer; /* owned */
    uint8_t *buffer;           /* owned; whole records */
    size_t used;
    int failed; /* errno */
    uint32_t provider;
    struct trace_totals totals;
    struct trace_cpu cpus[];
};

/* ---- Bytes ---- */

/* Bytes of the whole records among the first size bytes of buffer, which starts with one.  */
static size_t whole_records(const uint8_t *buffer, size_t size)
{
    size_t end = 0;

    while (size - end >= 8) {
        uint64_t header = fxt_load_u64(buffer + end);
        uint64_t words = (header & 15) == 15 ? header >> 4 & 0xffffffff : header >> 4 & 0xfff;
        if (words * 8 > size - end)
            break;
        end += (size_t)words * 8;
    }
    return end;
}

/* Take a cut record off the end of the file.  A pipe keeps it.  */
static void cut_file(struct trace *trace, size_t extra)
{
    struct stat status;
    off_t end = lseek(trace->fd, 0, SEEK_CUR);

    if (extra > 0 && end >= (off_t)extra && fstat(trace->fd, &status) == 0 &&
        S_ISREG(status.st_mode) && ftruncate(trace->fd, end - (off_t)extra) == 0)
        trace->totals.bytes -= extra;
}

bool trace_flush(struct trace *trace)
{
    size_t done = 0;

    while (done < trace->used && trace->failed == 0) {
        ssize_t n = write(trace->fd, trace->buffer + done, trace->used - done);
        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR)
            trace->failed = errno;
    }
    trace->totals.bytes += done;
    if (done < trace->used)
        cut_file(trace, done - whole_records(trace->buffer, done));
    trace->used = 0;
    return trace->failed == 0;
}

static int take_record(void *context, const void *bytes, size_t size)
{
    struct trace *trace = context;

    if (size > BUFFER_SIZE - trace->used && !trace_flush(trace))
        return trace->failed;
    memcpy(trace->buffer + trace->used, bytes, size); /* no record here is larger than 64 KiB */
    trace->used += size;
    return 0;
}

static bool put(struct trace *trace, const struct fxt_record *record)
{
    enum fxt_status status;

    if (trace->failed)
        return false;
    status = fxt_writer_record(trace->writer, record, NULL);
    if (status != FXT_OK && trace->failed == 0)
        trace->failed = status == FXT_NO_MEMORY ? ENOMEM : EINVAL;
    return status == FXT_OK;
}

struct trace *trace_open(int fd, size_t cpu_limit)
{
    struct trace *trace = calloc(1, sizeof *trace + cpu_limit * sizeof trace->cpus[0]);

    if (!trace)
        return NULL;
    trace->fd = fd;
    trace->buffer = malloc(BUFFER_SIZE);
    if (!trace->buffer || fxt_writer_open(take_record, trace, &trace->writer, NULL) != FXT_OK) {
        trace_close(trace);
        return NULL;
    }
    return trace;
}

void trace_close(struct trace *trace)
{
    if (!trace)
        return;
    fxt_writer_close(trace->writer);
    free(trace->buffer);
    free(trace);
}

int trace_errno(const struct trace *trace)
{
    return trace->failed;
}

const struct trace_totals *trace_totals(const struct trace *trace)
{
    return &trace->totals;
}

/* ---- Providers ---- */

static bool introduce_provider(struct trace *trace, uint32_t id, const char *name)
{
    struct fxt_record info = { .kind = FXT_RECORD_PROVIDER_INFO, .name = fxt_inline(name) };
    struct fxt_record init = { .kind = FXT_RECORD_INIT };

    info.value.provider.id = id;
    init.value.init.ticks_per_second = TICKS_PER_SECOND;
    trace->provider = id;
    return put(trace, &info) && put(trace, &init);
}

static bool switch_provider(struct trace *trace, uint32_t id)
{
    struct fxt_record section = { .kind = FXT_RECORD_PROVIDER_SECTION };

    if (trace->provider == id)
        return true;
    section.value.provider.id = id;
    trace->provider = id;
    return put(trace, &section);
}

static bool switch_to_cpu(struct trace *trace, unsigned cpu)
{
    char name[16] = "cpu-";
    char digits[12];
    size_t count = 0, length = 4;

    if (trace->cpus[cpu].introduced)
        return switch_provider(trace, cpu + 1);
    for (unsigned rest = cpu; count == 0 || rest > 0; rest /= 10)
        digits[count++] = (char)('0' + rest % 10);
    while (count > 0)
        name[length++] = digits[--count];
    name[length] = '\0';
    trace->cpus[cpu].introduced = true;
    return introduce_provider(trace, cpu + 1, name);
}

/* ---- Session ---- */

static struct fxt_arg number_arg(const char *name, uint64_t value)
{
    return (
        struct fxt_arg){ .type = FXT_ARG_UINT64, .name = fxt_inline(name), .value.uint64 = value };
}

static struct fxt_arg text_arg(const char *name, const char *value)
{
    return (struct fxt_arg){ .type = FXT_ARG_STRING,
                             .name = fxt_inline(name),
                             .value.string = fxt_inline(value) };
}

static bool put_event(struct trace *trace, unsigned type, const char *name, uint64_t ticks,
                      uint64_t id, const struct fxt_arg *args, size_t arg_count)
{
    struct fxt_record event = {
        .kind = FXT_RECORD_EVENT,
        .ticks = ticks,
        .category = fxt_inline("fxt.capture"),
        .name = fxt_inline(name),
        .args = args,
        .arg_count = arg_count,
    };

    event.value.event.type = type;
    event.value.event.id = id;
    event.value.event.has_scope = type == FXT_EVENT_INSTANT;
    event.value.event.scope = FXT_SCOPE_GLOBAL;
    return put(trace, &event);
}

bool trace_write_session(struct trace *trace, const struct trace_session *session)
{
    const struct fxt_arg args[] = {
        number_arg("period_ns", session->period_ns),
        text_arg("clock", session->clock),
        number_arg("max_frames", session->max_frames),
        text_arg("layout", "sampler"),
        text_arg("arch", session->arch),
        number_arg("realtime_ns", session->realtime_ns),
        number_arg("monotonic_ns", session->monotonic_ns),
        text_arg("kernel", session->kernel),
        text_arg("cpu_model", session->cpu_model),
        text_arg("command", session->command),
        text_arg("tool_version", session->tool_version),
    };
    struct fxt_record magic = { .kind = FXT_RECORD_MAGIC };

    magic.value.magic.number = 0x16547846;
    return put(trace, &magic) &&
           introduce_provider(trace, TRACE_TOOL_PROVIDER, "sampler-capture") &&
           put_event(trace, FXT_EVENT_INSTANT, "session", session->monotonic_ns, 0, args,
                     sizeof args / sizeof args[0]);
}

/* ---- What samples need ---- */

static bool put_process(struct trace *trace, struct process *process)
{
    char name[TASK_NAME_SIZE];
    struct fxt_record object = { .kind = FXT_RECORD_KERNEL_OBJECT };

    if (process->name_written)
        return true;
    utf8_copy(name, sizeof name, process->name);
    object.name = fxt_inline(name);
    object.value.object.type = FXT_OBJECT_PROCESS;
    object.value.object.koid = process->koid;
    process->name_written = true;
    return put(trace, &object);
}

static bool put_thread(struct trace *trace, struct thread *thread)
{
    char name[TASK_NAME_SIZE];
    const struct fxt_arg owner = { .type = FXT_ARG_KOID,
                                   .name = fxt_inline("process"),
                                   .value.uint64 = thread->process->koid };
    struct fxt_record object = { .kind = FXT_RECORD_KERNEL_OBJECT, .args = &owner, .arg_count = 1 };

    if (thread->name_written)
        return true;
    utf8_copy(name, sizeof name, thread->name);
    object.name = fxt_inline(name);
    object.value.object.type = FXT_OBJECT_THREAD;
    object.value.object.koid = thread->koid;
    thread->name_written = true;
    return put(trace, &object);
}

/* Code of no file, which only appears to replace a mapping.  No build ID: nothing can be looked up
 * in it.  */
static const struct module anonymous_module = { .serial = 0 };

static bool put_module(struct trace *trace, const struct process *process,
                       const struct module *module, uint16_t id, uint64_t ticks)
{
    char name[MODULE_NAME_SIZE];
    struct fxt_record record = { .kind = FXT_RECORD_MODULE,
                                 .ticks = ticks,
                                 .thread.process = process->koid };

    utf8_copy_tail(name, sizeof name, module->name ? module->name : "[anon]");
    record.name = fxt_inline(name);
    record.value.module.id = id;
    record.value.module.build_id.bytes = module->image.build_id;
    record.value.module.build_id.length = module->image.build_id_size;
    return put(trace, &record);
}

/* One mapping record, after the module's where the process does not have that yet.  */
static bool put_mapping(struct trace *trace, struct process *process, const struct mapping *mapping,
                        const struct module *module)
{
    struct fxt_record record = { .kind = FXT_RECORD_MAPPING,
                                 .ticks = mapping->time_ns,
                                 .thread.process = process->koid };
    bool is_new;
    uint16_t id;

    if (!process_module_id(process, module, &id, &is_new)) {
        trace->totals.unmapped++;
        return true;
    }
    if (is_new && !put_module(trace, process, module, id, mapping->time_ns))
        return false;
    record.value.mapping.module_id = id;
    record.value.mapping.flags = mapping->flags;
    record.value.mapping.start = mapping->start;
    record.value.mapping.length = mapping->limit - mapping->start;
    record.value.mapping.vaddr = mapping->vaddr;
    return put(trace, &record);
}

/* Readers let a mapping that replaces none hold from the beginning.  Where there was code of no
 * file, samples of it may be in the trace: it gets its mapping now, in time to be replaced.  */
static bool put_replacement(struct trace *trace, struct process *process,
                            const struct mapping *mapping)
{
    struct mapping old = *mapping;

    old.vaddr = 0;
    if (mapping->over_anonymous && !put_mapping(trace, process, &old, &anonymous_module))
        return false;
    return put_mapping(trace, process, mapping,
                       mapping->module ? mapping->module : &anonymous_module);
}

static bool put_map(struct trace *trace, struct process *process)
{
    for (size_t i = 0; i < process->map.count; i++) {
        struct mapping *mapping = &process->map.mappings[i];
        if (!mapping->written && !put_replacement(trace, process, mapping))
            return false;
        mapping->written = true;
    }
    process->map.has_unwritten = false;
    return true;
}

static bool put_meaning(struct trace *trace, struct thread *thread)
{
    struct process *process = thread->process;

    if (process->name_written && thread->name_written && !process->map.has_unwritten)
        return true;
    return switch_provider(trace, TRACE_TOOL_PROVIDER) && put_process(trace, process) &&
           put_thread(trace, thread) && put_map(trace, process);
}

/* ---- Samples and losses ---- */

bool trace_write_sample(struct trace *trace, unsigned cpu, const struct region_sample *sample,
                        struct thread *thread)
{
    struct fxt_record blob = {
        .kind = FXT_RECORD_LARGE_BLOB,
        .ticks = sample->ticks,
        .thread = { .process = thread->process->koid, .thread = thread->koid },
    };

    blob.value.large_blob.payload.bytes = sample->frames;
    blob.value.large_blob.payload.length = sample->frame_count * 8;
    if (!put_meaning(trace, thread) || !switch_to_cpu(trace, cpu) || !put(trace, &blob))
        return false;
    trace->totals.samples++;
    trace->totals.processes += !thread->process->sampled;
    trace->totals.threads += !thread->sampled;
    thread->process->sampled = thread->sampled = true;
    return true;
}

uint64_t trace_loss_total(const struct trace_loss *loss)
{
    return loss->ring + loss->throttled + loss->region_full + loss->unreadable + loss->exited;
}

bool trace_write_loss(struct trace *trace, unsigned cpu, uint64_t ticks,
                      const struct trace_loss *loss, bool always)
{
    const struct fxt_arg args[] = {
        number_arg("ring", loss->ring),
        number_arg("throttled", loss->throttled),
        number_arg("region_full", loss->region_full),
        number_arg("unreadable", loss->unreadable),
        number_arg("exited", loss->exited),
    };
    bool grew = trace_loss_total(loss) != trace_loss_total(&trace->cpus[cpu].loss);
    struct fxt_record full = { .kind = FXT_RECORD_PROVIDER_EVENT };

    if (!grew && !always)
        return true;
    trace->cpus[cpu].loss = *loss;
    if (!switch_provider(trace, TRACE_TOOL_PROVIDER) ||
        !put_event(trace, FXT_EVENT_COUNTER, "lost", ticks, cpu, args,
                   sizeof args / sizeof args[0]))
        return false;
    /* Readers that know nothing of our counter know this one.  It names its provider and switches
     * to none.  */
    full.value.provider.id = cpu + 1;
    return !grew || (switch_to_cpu(trace, cpu) && put(trace, &full));
}
