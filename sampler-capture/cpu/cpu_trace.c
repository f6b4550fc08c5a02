/* cpu_trace.c - what samples need goes before them, whatever the layout.  */
#include "sampler-capture/cpu/layout.h"

#include <stdlib.h>
#include <string.h>

struct trace *trace_open(int fd, size_t cpu_limit, const struct trace_options *options)
{
    struct trace *trace = calloc(1, sizeof *trace + cpu_limit * sizeof trace->losses[0]);

    if (!trace)
        return NULL;
    trace->fd = fd;
    trace->options = *options;
    trace->cpu_limit = cpu_limit;
    if (options->regions_fd >= 0)
        trace->layout = &layout_regions;
    else
        trace->layout = options->profiler ? &layout_profiler : &layout_sampler;
    if (!(options->regions_fd >= 0 ? regions_open(trace) : archive_open(trace))) {
        trace_close(trace);
        return NULL;
    }
    return trace;
}

void trace_close(struct trace *trace)
{
    if (!trace)
        return;
    trace->layout->close(trace);
    free(trace);
}

bool trace_flush(struct trace *trace)
{
    return trace->failed == 0 && trace->layout->flush(trace, false);
}

bool trace_finish(struct trace *trace)
{
    return trace->failed == 0 && trace->layout->flush(trace, true);
}

int trace_errno(const struct trace *trace)
{
    return trace->failed;
}

const struct trace_totals *trace_totals(const struct trace *trace)
{
    return &trace->totals;
}

bool trace_write_session(struct trace *trace, const struct trace_session *session)
{
    return trace->layout->session(trace, session);
}

/* ---- The kernel ---- */

#define SYMBOLS_PIECE 30000 /* bytes of a blob record, which holds less than 32 KiB */

/* Whole lines, as long as they are no longer than a piece.  */
static size_t piece_of(const char *text, size_t size)
{
    const char *end;

    if (size <= SYMBOLS_PIECE)
        return size;
    end = memrchr(text, '\n', SYMBOLS_PIECE);
    return end ? (size_t)(end - text) + 1 : SYMBOLS_PIECE;
}

static bool put_image(struct trace *trace, const struct process *process,
                      const struct kernel_image *image, uint16_t id, uint64_t ticks)
{
    struct module module = { .name = (char *)image->name,
                             .image.build_id_size = image->build_id_size };
    const struct mapping mapping = { .start = image->start,
                                     .limit = image->limit,
                                     .vaddr = image->vaddr,
                                     .time_ns = ticks,
                                     .flags = 1 | 4 };

    memcpy(module.image.build_id, image->build_id, image->build_id_size);
    return trace->layout->module(trace, process, &module, id, ticks) &&
           trace->layout->mapping(trace, process, &mapping, id);
}

bool trace_write_kernel(struct trace *trace, const struct kernel *kernel, uint64_t ticks)
{
    const struct process process = { .name = "kernel" };

    if (kernel->count > 0 && !trace->layout->process(trace, &process))
        return false;
    for (size_t i = 0; i < kernel->count && i < UINT16_MAX; i++)
        if (!put_image(trace, &process, &kernel->images[i], (uint16_t)(i + 1), ticks))
            return false;
    for (size_t at = 0; trace->layout->symbols && at < kernel->symbols_size;) {
        size_t size = piece_of(kernel->symbols + at, kernel->symbols_size - at);

        if (!trace->layout->symbols(trace, kernel->symbols + at, size))
            return false;
        at += size;
    }
    return trace->failed == 0;
}

/* ---- What samples need ---- */

static bool put_process(struct trace *trace, struct process *process)
{
    if (process->name_written)
        return true;
    process->name_written = true;
    return trace->layout->process(trace, process);
}

static bool put_thread(struct trace *trace, struct thread *thread)
{
    if (thread->name.written)
        return true;
    thread->name.written = true;
    return trace->layout->thread(trace, thread);
}

/* Code of no file, which only appears to replace a mapping.  No build ID: nothing can be looked up
 * in it.  */
static const struct module anonymous_module = { .serial = 0 };

/* One mapping, after its module where the process does not have that yet.  */
static bool put_mapping(struct trace *trace, struct process *process, const struct mapping *mapping,
                        const struct module *module)
{
    bool is_new;
    uint16_t id;

    if (!process_module_id(process, module, &id, &is_new)) {
        trace->totals.unmapped++;
        return true;
    }
    if (is_new && !trace->layout->module(trace, process, module, id, mapping->time_ns))
        return false;
    return trace->layout->mapping(trace, process, mapping, id);
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

    if (process->name_written && thread->name.written && !process->map.has_unwritten)
        return true;
    return put_process(trace, process) && put_thread(trace, thread) && put_map(trace, process);
}

/* ---- Samples and losses ---- */

bool trace_write_sample(struct trace *trace, unsigned cpu, const struct region_sample *sample,
                        struct thread *thread)
{
    if (trace->failed || !put_meaning(trace, thread) ||
        !trace->layout->sample(trace, cpu, sample, thread))
        return false;
    trace->totals.samples++;
    trace->totals.processes += !thread->process->sampled;
    trace->totals.threads += !thread->sampled;
    thread->process->sampled = thread->sampled = thread->name.sampled = true;
    return true;
}

bool trace_write_stacks(struct trace *trace, uint64_t ticks, const struct unwinding_counts *counts)
{
    return !trace->layout->stacks || trace->layout->stacks(trace, ticks, counts);
}

bool trace_write_code(struct trace *trace, uint64_t ticks, uint64_t process_koid, const char *lines,
                      size_t size)
{
    for (size_t at = 0, piece; trace->layout->code && at < size; at += piece) {
        piece = piece_of(lines + at, size - at);
        if (!trace->layout->code(trace, ticks, process_koid, lines + at, piece))
            return false;
    }
    return true;
}

bool trace_write_loss(struct trace *trace, unsigned cpu, uint64_t ticks, const struct loss *loss,
                      bool always)
{
    bool lost = loss_total(loss) != loss_total(&trace->losses[cpu]);

    trace->losses[cpu] = *loss;
    return (!lost && !always) || trace->layout->loss(trace, cpu, ticks, loss, lost);
}
