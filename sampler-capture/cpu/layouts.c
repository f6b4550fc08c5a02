/* layouts.c - a trace as one stream of records: the archive of a capture, or what Fuchsia's
 * profiler sends its host tool.  */
#include "sampler-capture/cpu/layout.h"

#include <fxt/fxt.h>
#include "sampler-capture/record_stream.h"

#include <stdlib.h>

/* What the streams say of themselves.  */
struct archive {
    struct stream *stream; /* owned */
    bool introduced[];     /* by CPU: provider info and initialization are written */
};

/* Take over how far the stream got.  */
static bool told(struct trace *trace, bool fine)
{
    trace->totals.bytes = stream_bytes(trace->archive->stream);
    if (!fine && trace->failed == 0)
        trace->failed = stream_errno(trace->archive->stream);
    return fine;
}

bool archive_open(struct trace *trace)
{
    struct archive *archive = calloc(1, sizeof *archive +
                                            trace->cpu_limit * sizeof archive->introduced[0]);

    trace->archive = archive;
    if (archive)
        archive->stream = stream_open(trace->fd, trace->options.compress);
    return archive && archive->stream;
}

static void archive_close(struct trace *trace)
{
    if (trace->archive)
        stream_close(trace->archive->stream);
    free(trace->archive);
}

static bool archive_flush(struct trace *trace, bool last)
{
    return told(trace, stream_flush(trace->archive->stream, last));
}

/* ---- Providers ---- */

static bool switch_provider(struct trace *trace, uint32_t id)
{
    return trace->options.profiler || stream_switch(trace->archive->stream, id);
}

static bool switch_to_cpu(struct trace *trace, unsigned cpu)
{
    char name[16] = "cpu-";
    char digits[12];
    size_t count = 0, length = 4;

    if (trace->archive->introduced[cpu])
        return switch_provider(trace, cpu + 1);
    for (unsigned rest = cpu; count == 0 || rest > 0; rest /= 10)
        digits[count++] = (char)('0' + rest % 10);
    while (count > 0)
        name[length++] = digits[--count];
    name[length] = '\0';
    trace->archive->introduced[cpu] = true;
    return stream_introduce(trace->archive->stream, cpu + 1, name);
}

/* ---- Session ---- */

static bool sampler_session(struct trace *trace, const struct trace_session *session)
{
    const struct fxt_arg args[] = {
        session->event ? stream_number("period", session->event_period)
                       : stream_number("period_ns", session->period_ns),
        session->event ? stream_text("event", session->event)
                       : stream_text("clock", session->clock),
        stream_number("max_frames", session->max_frames),
        stream_text("layout", "sampler"),
        stream_text("unwind", session->small_size   ? "auto"
                              : session->stack_size ? "dwarf"
                                                    : "fp"),
        stream_number("stack_size", session->stack_size),
    };

    return told(trace,
                stream_session(trace->archive->stream, session, args, sizeof args / sizeof *args));
}

/* No providers and no instant: Fuchsia's host tool takes neither.  */
static bool profiler_session(struct trace *trace, const struct trace_session *session)
{
    struct stream *stream = trace->archive->stream;

    (void)session;
    return told(trace, stream_magic(stream) && stream_init(stream));
}

/* ---- What samples need ---- */

static bool archive_process(struct trace *trace, const struct process *process)
{
    return told(trace, switch_provider(trace, TRACE_TOOL_PROVIDER) &&
                           stream_process(trace->archive->stream, process->koid, process->name));
}

static bool archive_thread(struct trace *trace, const struct thread *thread)
{
    return told(trace, switch_provider(trace, TRACE_TOOL_PROVIDER) &&
                           stream_thread(trace->archive->stream, thread->name.koid,
                                         thread->process->koid, thread->name.text));
}

static bool archive_module(struct trace *trace, const struct process *process,
                           const struct module *module, uint16_t id, uint64_t ticks)
{
    return told(trace, switch_provider(trace, TRACE_TOOL_PROVIDER) &&
                           stream_module(trace->archive->stream, process->koid, module, id, ticks));
}

static bool archive_mapping(struct trace *trace, const struct process *process,
                            const struct mapping *mapping, uint16_t id)
{
    return told(trace, switch_provider(trace, TRACE_TOOL_PROVIDER) &&
                           stream_mapping(trace->archive->stream, process->koid, mapping, id));
}

static bool sampler_symbols(struct trace *trace, const char *text, size_t size)
{
    struct fxt_record blob = { .kind = FXT_RECORD_BLOB, .name = fxt_inline("linux.kallsyms") };

    blob.value.blob.type = 1; /* data */
    blob.value.blob.payload.bytes = (const uint8_t *)text;
    blob.value.blob.payload.length = size;
    return told(trace, switch_provider(trace, TRACE_TOOL_PROVIDER) &&
                           stream_put(trace->archive->stream, &blob));
}

static bool sampler_code(struct trace *trace, uint64_t ticks, uint64_t process_koid,
                         const char *lines, size_t size)
{
    struct fxt_record blob = {
        .kind = FXT_RECORD_LARGE_BLOB,
        .category = fxt_inline("fxt.capture"),
        .name = fxt_inline("code_symbols"),
        .ticks = ticks,
        .thread = { .process = process_koid },
    };

    blob.value.large_blob.payload.bytes = (const uint8_t *)lines;
    blob.value.large_blob.payload.length = size;
    return told(trace, switch_provider(trace, TRACE_TOOL_PROVIDER) &&
                           stream_put(trace->archive->stream, &blob));
}

/* ---- Samples and losses ---- */

/* Its region holds the record as it is written.  */
static bool sampler_sample(struct trace *trace, unsigned cpu, const struct region_sample *sample,
                           const struct thread *thread)
{
    region_set_koids(sample, thread->process->koid, thread->name.koid);
    return told(trace, switch_to_cpu(trace, cpu) &&
                           stream_raw(trace->archive->stream, sample->record, sample->record_size));
}

static bool profiler_sample(struct trace *trace, unsigned cpu, const struct region_sample *sample,
                            const struct thread *thread)
{
    struct fxt_record backtrace = {
        .kind = FXT_RECORD_BACKTRACE,
        .ticks = sample->ticks,
        .thread = { .process = thread->process->koid, .thread = thread->name.koid },
    };

    (void)cpu;
    backtrace.value.backtrace.frames.bytes = sample->frames;
    backtrace.value.backtrace.frames.count = sample->frame_count;
    return told(trace, stream_put(trace->archive->stream, &backtrace));
}

static bool sampler_loss(struct trace *trace, unsigned cpu, uint64_t ticks, const struct loss *loss,
                         bool lost)
{
    const struct fxt_arg args[] = {
        stream_number("ring", loss->ring),
        stream_number("throttled", loss->throttled),
        stream_number("region_full", loss->region_full),
        stream_number("unreadable", loss->unreadable),
        stream_number("exited", loss->exited),
        stream_number("sideband", loss->sideband),
        stream_number("stopped", loss->stopped),
    };
    struct stream *stream = trace->archive->stream;

    if (!told(trace, switch_provider(trace, TRACE_TOOL_PROVIDER) &&
                         stream_event(stream, FXT_EVENT_COUNTER, "lost", ticks, cpu, args,
                                      sizeof args / sizeof args[0])))
        return false;
    /* Readers that know nothing of our counter know this one.  */
    return !lost || told(trace, switch_to_cpu(trace, cpu) && stream_provider_loss(stream, cpu + 1));
}

static bool sampler_stacks(struct trace *trace, uint64_t ticks,
                           const struct unwinding_counts *counts)
{
    const struct fxt_arg args[] = {
        stream_number("stacks", counts->stacks),
        stream_number("whole", counts->whole),
        stream_number("continued", counts->continued),
        stream_number("joined", counts->joined),
        stream_number("small", counts->small),
        stream_number("fitting", counts->fitting),
        stream_number("no_stack", counts->ended[UNWIND_END_NO_STACK]),
        stream_number("other_stack", counts->other_stack),
        stream_number("no_table", counts->ended[UNWIND_END_NO_TABLE]),
        stream_number("refused", counts->ended[UNWIND_END_REFUSED]),
        stream_number("loop", counts->ended[UNWIND_END_LOOP]),
        stream_number("not_code", counts->ended[UNWIND_END_NOT_CODE]),
        stream_number("no_room", counts->ended[UNWIND_END_NO_ROOM]),
        stream_number("no_register", counts->ended[UNWIND_END_NO_REGISTER]),
        stream_number("without_registers", counts->without_registers),
    };

    return told(trace, switch_provider(trace, TRACE_TOOL_PROVIDER) &&
                           stream_event(trace->archive->stream, FXT_EVENT_COUNTER, "stacks", ticks,
                                        0, args, sizeof args / sizeof *args));
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
    .process = archive_process,
    .thread = archive_thread,
    .module = archive_module,
    .mapping = archive_mapping,
    .symbols = sampler_symbols,
    .code = sampler_code,
    .sample = sampler_sample,
    .loss = sampler_loss,
    .stacks = sampler_stacks,
    .flush = archive_flush,
    .close = archive_close,
};

const struct layout layout_profiler = {
    .session = profiler_session,
    .process = archive_process,
    .thread = archive_thread,
    .module = archive_module,
    .mapping = archive_mapping,
    .sample = profiler_sample,
    .loss = profiler_loss,
    .flush = archive_flush,
    .close = archive_close,
};
