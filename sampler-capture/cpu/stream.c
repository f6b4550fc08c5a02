/* stream.c - a trace as one stream of records: the archive of a capture, or what Fuchsia's profiler
 * sends its host tool.  */
#include "sampler-capture/cpu/layout.h"

#include "libfxt/fxt.h"
#include "sampler-capture/cpu/host.h"
#include "sampler-capture/cpu/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#define TICKS_PER_SECOND 1000000000
#define BUFFER_SIZE      (1U << 20)
#define MODULE_NAME_SIZE 256 /* with NUL: the length is an 8-bit field */
#define FRAME_NS         TICKS_PER_SECOND
#define FRAME_SIZE       (1U << 20) /* compressed bytes after which a frame ends early */

struct stream {
    struct fxt_writer *writer; /* owned */
    uint8_t *buffer;           /* owned; whole records */
    size_t used;
    uint32_t provider;
    bool *introduced; /* owned; by CPU: provider info and initialization are written */

    /* Compressed output: a frame is written when it is whole.  */
    ZSTD_CCtx *zstd; /* owned; NULL: not compressed */
    uint8_t *frame;  /* owned */
    size_t frame_used;
    size_t frame_capacity;
    uint64_t frame_started_ns; /* 0: nothing is in it */
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

/* Take what is cut off the end of the file.  A pipe keeps it.  */
static void cut_file(struct trace *trace, size_t extra)
{
    struct stat status;
    off_t end = lseek(trace->fd, 0, SEEK_CUR);

    if (extra > 0 && end >= (off_t)extra && fstat(trace->fd, &status) == 0 &&
        S_ISREG(status.st_mode) && ftruncate(trace->fd, end - (off_t)extra) == 0)
        trace->totals.bytes -= extra;
}

static bool write_plain(struct trace *trace)
{
    struct stream *stream = trace->stream;
    size_t done;

    trace->failed = layout_write(trace->fd, stream->buffer, stream->used, &done);
    trace->totals.bytes += done;
    if (done < stream->used)
        cut_file(trace, done - whole_records(stream->buffer, done));
    stream->used = 0;
    return trace->failed == 0;
}

/* Room for more of the frame.  */
static bool reserve_frame(struct stream *stream)
{
    size_t needed = stream->frame_used + ZSTD_CStreamOutSize();
    uint8_t *larger;

    if (needed <= stream->frame_capacity)
        return true;
    larger = realloc(stream->frame, 2 * needed);
    if (!larger)
        return false;
    stream->frame = larger;
    stream->frame_capacity = 2 * needed;
    return true;
}

/* What is in the buffer goes into the frame; with end the frame is whole.  */
static bool compress(struct trace *trace, bool end)
{
    struct stream *stream = trace->stream;
    ZSTD_inBuffer in = { .src = stream->buffer, .size = stream->used };
    size_t left = 1;

    while (end ? left > 0 : in.pos < in.size) {
        ZSTD_outBuffer out;

        if (!reserve_frame(stream)) {
            trace->failed = ENOMEM;
            return false;
        }
        out = (ZSTD_outBuffer){ .dst = stream->frame,
                                .size = stream->frame_capacity,
                                .pos = stream->frame_used };
        left = ZSTD_compressStream2(stream->zstd, &out, &in, end ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left)) {
            trace->failed = ENOMEM; /* the only way to fail with valid parameters */
            return false;
        }
        stream->frame_used = out.pos;
    }
    stream->used = 0;
    return true;
}

/* A frame is on its way for at most a second: that much is lost when the capture is killed, and
 * what is in the file can be read.  */
static bool write_frames(struct trace *trace, bool last)
{
    struct stream *stream = trace->stream;
    uint64_t now_ns = host_clock_ns(CLOCK_MONOTONIC);
    size_t done;
    bool end;

    if (stream->used > 0 && stream->frame_started_ns == 0)
        stream->frame_started_ns = now_ns;
    if (stream->frame_started_ns == 0)
        return true;
    end = last || now_ns - stream->frame_started_ns >= FRAME_NS || stream->frame_used >= FRAME_SIZE;
    if (!compress(trace, end))
        return false;
    if (!end)
        return true;
    trace->failed = layout_write(trace->fd, stream->frame, stream->frame_used, &done);
    trace->totals.bytes += done;
    if (done < stream->frame_used)
        cut_file(trace, done);
    stream->frame_used = 0;
    stream->frame_started_ns = 0;
    return trace->failed == 0;
}

static bool stream_flush(struct trace *trace, bool last)
{
    return trace->stream->zstd ? write_frames(trace, last) : write_plain(trace);
}

static int take_record(void *context, const void *bytes, size_t size)
{
    struct trace *trace = context;
    struct stream *stream = trace->stream;

    if (size > BUFFER_SIZE - stream->used && !stream_flush(trace, false))
        return trace->failed;
    memcpy(stream->buffer + stream->used, bytes, size); /* no record here is larger than 64 KiB */
    stream->used += size;
    return 0;
}

static bool put(struct trace *trace, const struct fxt_record *record)
{
    enum fxt_status status;

    if (trace->failed)
        return false;
    status = fxt_writer_record(trace->stream->writer, record, NULL);
    if (status != FXT_OK && trace->failed == 0)
        trace->failed = status == FXT_NO_MEMORY ? ENOMEM : EINVAL;
    return status == FXT_OK;
}

bool stream_open(struct trace *trace)
{
    struct stream *stream = calloc(1, sizeof *stream);

    trace->stream = stream;
    if (!stream)
        return false;
    stream->buffer = malloc(BUFFER_SIZE);
    stream->introduced = calloc(trace->cpu_limit + 1, sizeof *stream->introduced);
    if (trace->options.compress)
        stream->zstd = ZSTD_createCCtx();
    return stream->buffer && stream->introduced && (stream->zstd || !trace->options.compress) &&
           fxt_writer_open(take_record, trace, &stream->writer, NULL) == FXT_OK;
}

static void stream_close(struct trace *trace)
{
    struct stream *stream = trace->stream;

    if (!stream)
        return;
    fxt_writer_close(stream->writer);
    free(stream->buffer);
    free(stream->introduced);
    (void)ZSTD_freeCCtx(stream->zstd);
    free(stream->frame);
    free(stream);
}

/* ---- Providers ---- */

static bool put_init(struct trace *trace)
{
    struct fxt_record init = { .kind = FXT_RECORD_INIT };

    init.value.init.ticks_per_second = TICKS_PER_SECOND;
    return put(trace, &init);
}

static bool introduce_provider(struct trace *trace, uint32_t id, const char *name)
{
    struct fxt_record info = { .kind = FXT_RECORD_PROVIDER_INFO, .name = fxt_inline(name) };

    info.value.provider.id = id;
    trace->stream->provider = id;
    return put(trace, &info) && put_init(trace);
}

static bool switch_provider(struct trace *trace, uint32_t id)
{
    struct fxt_record section = { .kind = FXT_RECORD_PROVIDER_SECTION };

    if (trace->options.profiler || trace->stream->provider == id)
        return true;
    section.value.provider.id = id;
    trace->stream->provider = id;
    return put(trace, &section);
}

static bool switch_to_cpu(struct trace *trace, unsigned cpu)
{
    char name[16] = "cpu-";
    char digits[12];
    size_t count = 0, length = 4;

    if (trace->stream->introduced[cpu])
        return switch_provider(trace, cpu + 1);
    for (unsigned rest = cpu; count == 0 || rest > 0; rest /= 10)
        digits[count++] = (char)('0' + rest % 10);
    while (count > 0)
        name[length++] = digits[--count];
    name[length] = '\0';
    trace->stream->introduced[cpu] = true;
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

static bool put_magic(struct trace *trace)
{
    struct fxt_record magic = { .kind = FXT_RECORD_MAGIC };

    magic.value.magic.number = 0x16547846;
    return put(trace, &magic);
}

static bool sampler_session(struct trace *trace, const struct trace_session *session)
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

    return put_magic(trace) && introduce_provider(trace, TRACE_TOOL_PROVIDER, "sampler-capture") &&
           put_event(trace, FXT_EVENT_INSTANT, "session", session->monotonic_ns, 0, args,
                     sizeof args / sizeof args[0]);
}

/* No providers and no instant: Fuchsia's host tool takes neither.  */
static bool profiler_session(struct trace *trace, const struct trace_session *session)
{
    (void)session;
    return put_magic(trace) && put_init(trace);
}

/* ---- What samples need ---- */

static bool stream_process(struct trace *trace, const struct process *process)
{
    char name[TASK_NAME_SIZE];
    struct fxt_record object = { .kind = FXT_RECORD_KERNEL_OBJECT };

    utf8_copy(name, sizeof name, process->name);
    object.name = fxt_inline(name);
    object.value.object.type = FXT_OBJECT_PROCESS;
    object.value.object.koid = process->koid;
    return switch_provider(trace, TRACE_TOOL_PROVIDER) && put(trace, &object);
}

static bool stream_thread(struct trace *trace, const struct thread *thread)
{
    char name[TASK_NAME_SIZE];
    const struct fxt_arg owner = { .type = FXT_ARG_KOID,
                                   .name = fxt_inline("process"),
                                   .value.uint64 = thread->process->koid };
    struct fxt_record object = { .kind = FXT_RECORD_KERNEL_OBJECT, .args = &owner, .arg_count = 1 };

    utf8_copy(name, sizeof name, thread->name);
    object.name = fxt_inline(name);
    object.value.object.type = FXT_OBJECT_THREAD;
    object.value.object.koid = thread->koid;
    return switch_provider(trace, TRACE_TOOL_PROVIDER) && put(trace, &object);
}

static bool stream_module(struct trace *trace, const struct process *process,
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
    return switch_provider(trace, TRACE_TOOL_PROVIDER) && put(trace, &record);
}

static bool stream_mapping(struct trace *trace, const struct process *process,
                           const struct mapping *mapping, uint16_t id)
{
    struct fxt_record record = { .kind = FXT_RECORD_MAPPING,
                                 .ticks = mapping->time_ns,
                                 .thread.process = process->koid };

    record.value.mapping.module_id = id;
    record.value.mapping.flags = mapping->flags;
    record.value.mapping.start = mapping->start;
    record.value.mapping.length = mapping->limit - mapping->start;
    record.value.mapping.vaddr = mapping->vaddr;
    return switch_provider(trace, TRACE_TOOL_PROVIDER) && put(trace, &record);
}

static bool sampler_symbols(struct trace *trace, const char *text, size_t size)
{
    struct fxt_record blob = { .kind = FXT_RECORD_BLOB, .name = fxt_inline("linux.kallsyms") };

    blob.value.blob.type = 1; /* data */
    blob.value.blob.payload.bytes = (const uint8_t *)text;
    blob.value.blob.payload.length = size;
    return switch_provider(trace, TRACE_TOOL_PROVIDER) && put(trace, &blob);
}

/* ---- Samples and losses ---- */

static bool sampler_sample(struct trace *trace, unsigned cpu, const struct region_sample *sample,
                           const struct thread *thread)
{
    struct fxt_record blob = {
        .kind = FXT_RECORD_LARGE_BLOB,
        .ticks = sample->ticks,
        .thread = { .process = thread->process->koid, .thread = thread->koid },
    };

    blob.value.large_blob.payload.bytes = sample->frames;
    blob.value.large_blob.payload.length = sample->frame_count * 8;
    return switch_to_cpu(trace, cpu) && put(trace, &blob);
}

static bool profiler_sample(struct trace *trace, unsigned cpu, const struct region_sample *sample,
                            const struct thread *thread)
{
    struct fxt_record backtrace = {
        .kind = FXT_RECORD_BACKTRACE,
        .ticks = sample->ticks,
        .thread = { .process = thread->process->koid, .thread = thread->koid },
    };

    (void)cpu;
    backtrace.value.backtrace.frames.bytes = sample->frames;
    backtrace.value.backtrace.frames.count = sample->frame_count;
    return put(trace, &backtrace);
}

static bool sampler_loss(struct trace *trace, unsigned cpu, uint64_t ticks, const struct loss *loss,
                         bool lost)
{
    const struct fxt_arg args[] = {
        number_arg("ring", loss->ring),
        number_arg("throttled", loss->throttled),
        number_arg("region_full", loss->region_full),
        number_arg("unreadable", loss->unreadable),
        number_arg("exited", loss->exited),
    };
    struct fxt_record full = { .kind = FXT_RECORD_PROVIDER_EVENT };

    if (!switch_provider(trace, TRACE_TOOL_PROVIDER) ||
        !put_event(trace, FXT_EVENT_COUNTER, "lost", ticks, cpu, args,
                   sizeof args / sizeof args[0]))
        return false;
    /* Readers that know nothing of our counter know this one.  It names its provider and switches
     * to none.  */
    full.value.provider.id = cpu + 1;
    return !lost || (switch_to_cpu(trace, cpu) && put(trace, &full));
}

/* The stream has no place for it: the summary tells.  */
static bool profiler_loss(struct trace *trace, unsigned cpu, uint64_t ticks,
                          const struct loss *loss, bool lost)
{
    (void)trace, (void)cpu, (void)ticks, (void)loss, (void)lost;
    return true;
}

const struct layout layout_sampler = {
    .session = sampler_session,
    .process = stream_process,
    .thread = stream_thread,
    .module = stream_module,
    .mapping = stream_mapping,
    .symbols = sampler_symbols,
    .sample = sampler_sample,
    .loss = sampler_loss,
    .flush = stream_flush,
    .close = stream_close,
};

const struct layout layout_profiler = {
    .session = profiler_session,
    .process = stream_process,
    .thread = stream_thread,
    .module = stream_module,
    .mapping = stream_mapping,
    .sample = profiler_sample,
    .loss = profiler_loss,
    .flush = stream_flush,
    .close = stream_close,
};
