/* ingest.c - records in, calls of the sink out.  The parts are listed in ingest.h.  */
#include <stdlib.h>
#include <string.h>

#include "libprofile/ingest/async.h"
#include "libprofile/ingest/capture.h"
#include "libprofile/ingest/code.h"
#include "libprofile/ingest/copies.h"
#include "libprofile/ingest/entities.h"
#include "libprofile/ingest/events.h"
#include "libprofile/ingest/flows.h"
#include "libprofile/ingest/heap.h"
#include "libprofile/ingest/insn_ingest.h"
#include "libprofile/ingest/maps.h"
#include "libprofile/ingest/samples.h"
#include "libprofile/ingest/sched.h"
#include "libprofile/ingest/slices.h"
#include "libprofile/ingest/timeline.h"

enum profile_status ingest_reserve(void *array, size_t *capacity, size_t count, size_t size,
                                   struct base_index *index, struct profile_error *error)
{
    if (count >= UINT32_MAX - 1)
        return profile_fail(error, PROFILE_LIMIT, "more than %u things of a kind in a trace",
                            UINT32_MAX - 1);
    if (!base_make_room(array, capacity, count + 1, size))
        return profile_no_memory(error);
    if (index && !base_index_reserve(index))
        return profile_no_memory(error);
    return PROFILE_OK;
}

enum profile_status ingest_sink_status(enum profile_status status, struct profile_error *error)
{
    if (status == PROFILE_OK)
        return status;
    return profile_fail(error, status,
                        status == PROFILE_STOPPED     ? "stopped by the receiver"
                        : status == PROFILE_NO_MEMORY ? "out of memory"
                                                      : "the receiver of the trace failed");
}

bool ingest_string_is(const struct fxt_string *string, const char *text)
{
    return string->length == strlen(text) && memcmp(string->bytes, text, string->length) == 0;
}

/* ---- Opening and closing ---- */

static int compare_ids(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

/* A sorted copy of count ids, cut to their low 32 bits.  */
static bool copy_filter(const uint64_t *ids, size_t count, uint64_t **out)
{
    if (count == 0)
        return true;
    *out = calloc(count, sizeof **out);
    if (!*out)
        return false;
    for (size_t i = 0; i < count; i++)
        (*out)[i] = (uint32_t)ids[i];
    qsort(*out, count, sizeof **out, compare_ids);
    return true;
}

static bool copy_options(struct profile_ingest *ingest,
                         const struct profile_ingest_options *options)
{
    const char *directory = options && options->temporary_dir ? options->temporary_dir
                                                              : getenv("TMPDIR");

    if (options)
        memcpy(&ingest->options, options,
               options->size < sizeof *options ? options->size : sizeof *options);
    if (ingest->options.sort_bytes == 0)
        ingest->options.sort_bytes = (size_t)64 << 20;
    ingest->arm64 = ingest->options.arm64;
    ingest->temporary_dir = strdup(directory && *directory ? directory : "/tmp");
    return ingest->temporary_dir &&
           copy_filter(ingest->options.pids, ingest->options.pid_count, &ingest->pids) &&
           copy_filter(ingest->options.tids, ingest->options.tid_count, &ingest->tids);
}

/* An ingest and the states of its parts, which are freed with it.  */
struct whole {
    struct profile_ingest ingest;
    struct ingest_code code;
    struct ingest_samples samples;
    struct ingest_heap heap;
    struct ingest_timeline timeline;
    struct ingest_async async;
    struct ingest_flows flows;
    struct ingest_sched sched;
    struct ingest_slices slices;
    struct ingest_tracks tracks;
};

static struct profile_ingest *new_ingest(void)
{
    struct whole *whole = calloc(1, sizeof *whole);

    if (!whole)
        return NULL;
    whole->ingest.code = &whole->code;
    whole->ingest.samples = &whole->samples;
    whole->ingest.heap = &whole->heap;
    whole->ingest.timeline = &whole->timeline;
    whole->ingest.async = &whole->async;
    whole->ingest.flows = &whole->flows;
    whole->ingest.sched = &whole->sched;
    whole->ingest.slices = &whole->slices;
    whole->ingest.tracks = &whole->tracks;
    return &whole->ingest;
}

enum profile_status profile_ingest_open(const struct profile_sink *sink,
                                        struct profile_stacks *stacks,
                                        const struct profile_ingest_options *options,
                                        struct profile_ingest **out, struct profile_error *error)
{
    struct profile_ingest *ingest;

    if (sink->size < offsetof(struct profile_sink, capture))
        return profile_fail(error, PROFILE_INVALID, "a sink of %zu bytes", sink->size);
    if (options && options->size < sizeof options->size)
        return profile_fail(error, PROFILE_INVALID, "options of %zu bytes", options->size);
    ingest = new_ingest();
    if (!ingest)
        return profile_no_memory(error);
    memcpy(&ingest->sink, sink, sink->size < sizeof *sink ? sink->size : sizeof *sink);
    ingest->timeline->slices = ingest->sink.slice;
    ingest->timeline->flows = ingest->sink.flow;
    ingest->timeline->sched = ingest->sink.sched || ingest->sink.thread_state ||
                              ingest->sink.off_cpu;
    ingest->timeline->nested = ingest->sink.span || ingest->sink.slice || ingest->sink.flow ||
                               ingest->sink.off_cpu;
    ingest->stacks = stacks;
    if (!copy_options(ingest, options)) {
        profile_ingest_close(ingest);
        return profile_no_memory(error);
    }
    *out = ingest;
    return PROFILE_OK;
}

void profile_ingest_close(struct profile_ingest *ingest)
{
    if (!ingest)
        return;
#ifdef PROFILE_HAVE_INSN
    ingest_insn_release(ingest);
#endif
    ingest_copies_release(ingest);
    live_release(&ingest->heap->live);
    ingest_timeline_release(ingest);
    ingest_sample_release(ingest);
    ingest_map_release(ingest);
    ingest_code_release(ingest);
    base_index_release(&ingest->lost_index);
    base_index_release(&ingest->process_index);
    base_index_release(&ingest->thread_index);
    base_index_release(&ingest->koid_index);
    free(ingest->lost);
    free(ingest->events);
    free(ingest->processes);
    free(ingest->threads);
    free(ingest->koids);
    free(ingest->pids);
    free(ingest->tids);
    free(ingest->temporary_dir);
    base_arena_release(&ingest->arena);
    free(ingest); /* the first member of the whole */
}

const struct profile_notices *profile_ingest_notices(const struct profile_ingest *ingest)
{
    return &ingest->notices;
}

/* ---- Records ---- */

static enum profile_status ingest_event(struct profile_ingest *ingest,
                                        const struct fxt_record *record,
                                        struct profile_error *error)
{
    bool ours = ingest_string_is(&record->category, "fxt.capture"), is_loss = false;
    enum profile_status status = PROFILE_OK;

    switch (record->value.event.type) {
    case FXT_EVENT_INSTANT:
        if (ours && ingest_string_is(&record->name, "session"))
            return ingest_capture_session(ingest, record, error);
        if (ours && ingest_string_is(&record->name, "sample_event"))
            return ingest_capture_event(ingest, record, error);
        break;
    case FXT_EVENT_COUNTER:
        if (ours)
            status = ingest_capture_lost(ingest, record, &is_loss, error);
        if (ingest_string_is(&record->category, "memory") &&
            ingest_string_is(&record->name, "resident"))
            status = ingest_capture_resident(ingest, record, error);
        return status != PROFILE_OK || is_loss ? status : ingest_counter(ingest, record, error);
    default:
        break;
    }
    return ingest_timeline_event(ingest, record, error);
}

/* Kernel-sampler stacks have neither category nor name (docs/formats/zx-sampler.md section 3).  */
static enum profile_status ingest_blob(struct profile_ingest *ingest,
                                       const struct fxt_record *record, struct profile_error *error)
{
    struct fxt_bytes payload = record->value.blob.payload;

    if (record->value.blob.type == FXT_BLOB_PERFETTO) {
        fxt_packets_add(&ingest->packets, payload);
        ingest->notices.perfetto_packets = ingest->packets.count;
        ingest->notices.unhandled_records += ingest->packets.damaged;
        return PROFILE_OK;
    }
    if (!ingest_string_is(&record->name, "linux.kallsyms"))
        ingest->notices.unhandled_records++;
    else if (ingest->sink.kernel_symbols)
        return ingest_sink_status(ingest->sink.kernel_symbols(ingest->sink.context,
                                                              (const char *)payload.bytes,
                                                              payload.length),
                                  error);
    return PROFILE_OK;
}

static enum profile_status ingest_large_blob(struct profile_ingest *ingest,
                                             const struct fxt_record *record,
                                             struct profile_error *error)
{
    struct fxt_words pcs;

    if (fxt_record_sampler_stack(record, &pcs))
        return ingest_sample_stack(ingest, record, pcs, true, error);
    if (ingest_is_heap_message(record))
        return ingest_heap_message(ingest, record, error);
#ifdef PROFILE_HAVE_INSN
    if (ingest_is_insn(ingest, record))
        return ingest_insn_blob(ingest, record, error);
#endif
    if (record->value.large_blob.format == 0 && record->category.length == 0 &&
        record->name.length == 0 && record->arg_count == 0 &&
        record->value.large_blob.payload.length % 8 != 0)
        ingest->notices.odd_payloads++;
    else if (ingest_string_is(&record->category, "fxt.capture") &&
             (ingest_string_is(&record->name, "code_symbols") ||
              ingest_string_is(&record->name, "file_symbols")))
        return ingest_code_symbols(ingest, record, error);
    else if (ingest_string_is(&record->category, "fxt.capture") &&
             ingest_string_is(&record->name, "sample"))
        return ingest_sample_event(ingest, record, error);
    else if (fxt_record_is_stack_sample(record))
        return ingest_copy_take(ingest, record, error);
    else
        ingest->notices.unhandled_records++;
    return PROFILE_OK;
}

/* Kernel objects name processes and threads; what else there is, is the timeline's.  */
static enum profile_status ingest_any_object(struct profile_ingest *ingest,
                                             const struct fxt_record *record,
                                             struct profile_error *error)
{
    bool names = record->kind == FXT_RECORD_KERNEL_OBJECT &&
                 (record->value.object.type == FXT_OBJECT_PROCESS ||
                  record->value.object.type == FXT_OBJECT_THREAD);
    enum profile_status status = PROFILE_OK;

    if (names)
        status = ingest_object(ingest, record, error);
    else if (!ingest->sink.object)
        ingest->notices.unhandled_records++;
    return status == PROFILE_OK ? ingest_tell_object(ingest, record, error) : status;
}

static void note_time(struct profile_ingest *ingest, const struct fxt_record *record)
{
    int64_t ts_ns = record->ts_ns;

    if (!record->has_time)
        return;
    if (record->kind == FXT_RECORD_EVENT &&
        record->value.event.type == FXT_EVENT_DURATION_COMPLETE &&
        record->value.event.end_ns > ts_ns)
        ts_ns = record->value.event.end_ns;
    if (!ingest->has_time || ts_ns > ingest->last_ns)
        ingest->last_ns = ts_ns;
    ingest->has_time = true;
}

/* A failure of the sink has its own description.  */
static enum profile_status explain(const struct profile_ingest *ingest, enum profile_status status,
                                   struct profile_error *error)
{
    const struct profile_error *reason = ingest->sink.error;

    if (status != PROFILE_OK && error && reason && reason->status == status)
        *error = *reason;
    return status;
}

static enum profile_status take_record(struct profile_ingest *ingest,
                                       const struct fxt_record *record, struct profile_error *error)
{
    note_time(ingest, record);
    switch (record->kind) {
    case FXT_RECORD_EVENT:
        return ingest_event(ingest, record, error);
    case FXT_RECORD_LARGE_BLOB:
        return ingest_large_blob(ingest, record, error);
    case FXT_RECORD_BLOB:
        return ingest_blob(ingest, record, error);
    case FXT_RECORD_BACKTRACE:
        return ingest_sample_stack(ingest, record, record->value.backtrace.frames, false, error);
    case FXT_RECORD_MODULE:
        return ingest_map_module(ingest, record, error);
    case FXT_RECORD_MAPPING:
        return ingest_map_mapping(ingest, record, error);
    case FXT_RECORD_KERNEL_OBJECT:
    case FXT_RECORD_USERSPACE_OBJECT:
        return ingest_any_object(ingest, record, error);
    case FXT_RECORD_CONTEXT_SWITCH:
    case FXT_RECORD_LEGACY_CONTEXT_SWITCH:
    case FXT_RECORD_THREAD_WAKEUP:
        return ingest_sched_record(ingest, record, error);
    case FXT_RECORD_LOG:
        return ingest_log(ingest, record, error);
    case FXT_RECORD_INIT:
        return ingest_capture_init(ingest, record, error);
    case FXT_RECORD_PROVIDER_EVENT:
        if (record->value.provider.event == 0)
            ingest->provider_events++;
        return PROFILE_OK;
    /* The reader has used them already.  */
    case FXT_RECORD_MAGIC:
    case FXT_RECORD_PROVIDER_INFO:
    case FXT_RECORD_PROVIDER_SECTION:
    case FXT_RECORD_STRING:
    case FXT_RECORD_THREAD:
        return PROFILE_OK;
    default:
        ingest->notices.unhandled_records++;
        return PROFILE_OK;
    }
}

enum profile_status profile_ingest_record(struct profile_ingest *ingest,
                                          const struct fxt_record *record,
                                          struct profile_error *error)
{
    if (ingest->finished)
        return profile_fail(error, PROFILE_INVALID, "a record after the end of the trace");
    return explain(ingest, take_record(ingest, record, error), error);
}

enum profile_status profile_ingest_finish(struct profile_ingest *ingest,
                                          struct profile_error *error)
{
    enum profile_status status;

    if (ingest->finished)
        return profile_fail(error, PROFILE_INVALID, "the trace was finished already");
    ingest->finished = true;
    status = ingest_sched_threads(ingest, error);
#ifdef PROFILE_HAVE_INSN
    if (status == PROFILE_OK)
        status = ingest_insn_finish(ingest, error);
#endif
    if (status == PROFILE_OK)
        status = ingest_entities_finish(ingest, error);
    if (status == PROFILE_OK)
        status = ingest_heap_finish(ingest, error);
    if (status == PROFILE_OK)
        status = ingest_copies_finish(ingest, error);
    if (status == PROFILE_OK)
        status = ingest_sample_finish(ingest, error);
    if (status == PROFILE_OK)
        status = ingest_timeline_finish(ingest, error);
    if (status == PROFILE_OK)
        status = ingest_capture_finish(ingest, error);
    return explain(ingest, status, error);
}
