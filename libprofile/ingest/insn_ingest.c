/* insn_ingest.c - instruction traces: the packets of each thread become slices of functions, and
 * charges of stacks, which are delivered at the end.  docs/insntrace.md describes the blobs.  */
#include "libprofile/ingest/entities.h"
#include "libprofile/ingest/events.h"
#include "libprofile/ingest/insn_parts.h"
#include "libprofile/ingest/timeline.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"

#define MANY_STREAMS 4 /* from here on, one thread decodes each */

enum profile_status insn_failed(const struct insn_error *failure, struct profile_error *error)
{
    switch (failure->status) {
    case INSN_OK:
        return PROFILE_OK;
    case INSN_NO_MEMORY:
        return profile_no_memory(error);
    case INSN_IO:
        return profile_fail_errno(error, failure->system_errno, "code of an instruction trace");
    default:
        return profile_fail(error, PROFILE_INVALID, "%s", failure->message);
    }
}

/* ---- Stacks ---- */

/* What a function of the ingest returned, kept with its message until the stream returns.  */
static enum insn_status keep(enum profile_status status)
{
    return status == PROFILE_OK ? INSN_OK : INSN_STOPPED;
}

static void take_function(void *context, uint64_t address, struct insn_function *out)
{
    struct insn_thread *thread = context;
    const struct insn_place *place = insn_place_of(thread->process, address);

    if (place)
        *out = place->function;
}

static enum insn_status take_stack(void *context, uint32_t callers, uint64_t address, uint32_t *out)
{
    struct insn_thread *thread = context;
    struct profile_stacks *stacks = thread->ingest->stacks;
    const struct insn_place *place = insn_place_of(thread->process, address);
    enum profile_status status;
    profile_id frame;

    if (!place)
        return keep(profile_no_memory(&thread->error));
    if (place->module)
        status = profile_stacks_address_frame(stacks, place->module, place->vaddr, &frame,
                                              &thread->error);
    else
        status = profile_stacks_function_frame(stacks, PROFILE_ANONYMOUS, strlen(PROFILE_ANONYMOUS),
                                               &frame, &thread->error);
    if (status == PROFILE_OK)
        status = profile_stacks_callsite(stacks, callers, frame, out, &thread->error);
    return keep(status);
}

static enum insn_status take_charge(void *context, uint32_t callsite,
                                    const struct insn_charge *charge)
{
    struct insn_thread *thread = context;
    struct ingest_insn *insn = thread->process->insn;
    uint64_t hash = base_hash(thread->thread_id, callsite);
    struct insn_sum *sum;
    size_t probe;
    uint32_t id;

    for (id = base_index_first(&insn->sum_index, hash, &probe); id;
         id = base_index_next(&insn->sum_index, hash, &probe)) {
        sum = &insn->sums[id - 1];
        if (sum->thread_id != thread->thread_id || sum->callsite != callsite)
            continue;
        sum->charge.instructions += charge->instructions;
        sum->charge.ticks += charge->ticks;
        sum->charge.calls += charge->calls;
        return INSN_OK;
    }
    if (!base_make_room(&insn->sums, &insn->sum_capacity, insn->sum_count + 1,
                        sizeof *insn->sums) ||
        !base_index_reserve(&insn->sum_index))
        return keep(profile_no_memory(&thread->error));
    insn->sums[insn->sum_count++] = (struct insn_sum){ .thread_id = thread->thread_id,
                                                       .callsite = callsite,
                                                       .charge = *charge };
    base_index_add(&insn->sum_index, hash, (uint32_t)insn->sum_count);
    return INSN_OK;
}

/* ---- The timeline ---- */

static uint64_t scale(const struct insn_thread *thread, uint64_t ticks)
{
    uint64_t low = ticks & ((UINT64_C(1) << thread->time_shift) - 1);
    unsigned __int128 ns = (unsigned __int128)(ticks >> thread->time_shift) * thread->time_mult +
                           ((unsigned __int128)low * thread->time_mult >> thread->time_shift);

    return ns > INT64_MAX ? INT64_MAX : (uint64_t)ns;
}

static int64_t time_of(const struct insn_thread *thread, uint64_t ticks)
{
    uint64_t ns = scale(thread, ticks);

    /* The kernel's time_zero may be negative, as two's complement.  */
    return thread->time_zero <= INT64_MAX && ns > INT64_MAX - thread->time_zero
               ? INT64_MAX
               : (int64_t)(thread->time_zero + ns);
}

static enum profile_status name_of(struct insn_thread *thread, const struct insn_span *span,
                                   profile_id *out)
{
    struct profile_stacks *stacks = thread->ingest->stacks;
    const struct insn_place *place;
    const char *text = PROFILE_ANONYMOUS, *base;
    char shown[128];

    if (span->entry == INSN_ENTRY_UNTRACED) {
        text = "[untraced]";
    } else {
        place = insn_place_of(thread->process, span->address);
        if (!place)
            return profile_no_memory(&thread->error);
        *out = place->name;
        if (place->name)
            return PROFILE_OK;
        if (place->module) {
            base = base_name(profile_stacks_text(
                stacks, profile_stacks_get_module(stacks, place->module).name, NULL));
            (void)snprintf(shown, sizeof shown, base[0] == '[' ? "%s" : "[%s]", base);
            text = shown;
        }
    }
    return profile_stacks_string(stacks, text, strlen(text), out, &thread->error);
}

/* Callers are reported after their callees, so the place in the file is not the order in which they
 * begin: the stacks' own order is.  */
static enum insn_status take_span(void *context, const struct insn_span *span)
{
    struct insn_thread *thread = context;
    struct profile_ingest *ingest = thread->ingest;
    struct timeline_event event = {
        .key.ts_ns = time_of(thread, span->begin_ticks),
        .key.ordinal = (UINT64_C(1) << 62) | (uint64_t)thread->number << 44 | span->order,
        .value = (uint64_t)time_of(thread, span->end_ticks),
        .type = TIMELINE_COMPLETE,
        .category = thread->category,
    };
    enum profile_status status;
    profile_id name;

    if (!ingest->timeline->nested)
        return INSN_OK;
    status = name_of(thread, span, &name);
    if (status == PROFILE_OK)
        status = ingest_timeline_named(ingest, &event, thread->thread_id, name, &thread->error);
    return keep(status);
}

static enum profile_status put_instant(struct insn_thread *thread, const char *name, int64_t ts_ns,
                                       const char *member, uint64_t value)
{
    struct profile_ingest *ingest = thread->ingest;
    struct fxt_arg arg = { .type = FXT_ARG_UINT64, .value.uint64 = value };
    struct timeline_event event = { .key.ts_ns = ts_ns,
                                    .key.ordinal = ingest->timeline->ordinal++,
                                    .value = FXT_SCOPE_THREAD,
                                    .type = TIMELINE_INSTANT,
                                    .category = thread->category };
    profile_id id, arg_name;
    struct profile_args args = { event.key.ordinal + 1, &arg, &arg_name, 1 };
    enum profile_status status;

    status = profile_stacks_string(ingest->stacks, name, strlen(name), &id, &thread->error);
    if (status == PROFILE_OK)
        status = profile_stacks_string(ingest->stacks, member, strlen(member), &arg_name,
                                       &thread->error);
    if (status == PROFILE_OK && ingest->sink.args) {
        event.has_args = true;
        status = ingest_sink_status(ingest->sink.args(ingest->sink.context, &args), &thread->error);
    }
    if (status == PROFILE_OK)
        status = ingest_timeline_named(ingest, &event, thread->thread_id, id, &thread->error);
    return status;
}

static enum insn_status take_mark(void *context, const struct insn_mark *mark)
{
    struct insn_thread *thread = context;
    int64_t ts_ns = time_of(thread, mark->ticks);
    char name[40];

    if (!thread->ingest->timeline->slices)
        return INSN_OK;
    switch (mark->kind) {
    case INSN_STEP_PTWRITE:
        return keep(put_instant(thread, "ptwrite", ts_ns, "value", mark->value));
    case INSN_STEP_OVERFLOW:
        return keep(put_instant(thread, "overflow", ts_ns, "address", mark->ip));
    default:
        (void)snprintf(name, sizeof name, "gap: %s", insn_gap_reason_name(mark->reason));
        return keep(put_instant(thread, name, ts_ns, "bytes", mark->value));
    }
}

/* ---- Streams ---- */

static uint64_t number(const struct fxt_record *record, const char *name, uint64_t most)
{
    uint64_t value = 0;

    return ingest_argument_u64(record, name, &value) && value <= most ? value : 0;
}

static void configure(const struct fxt_record *record, struct insn_config *config)
{
    config->family = (uint16_t)number(record, "family", UINT16_MAX);
    config->model = (uint8_t)number(record, "model", UINT8_MAX);
    config->stepping = (uint8_t)number(record, "stepping", UINT8_MAX);
    config->mtc_freq = (uint8_t)number(record, "mtc_freq", UINT8_MAX);
    config->nom_freq = (uint8_t)number(record, "nom_freq", UINT8_MAX);
    config->cpuid_0x15_eax = (uint32_t)number(record, "cpuid_0x15_eax", UINT32_MAX);
    config->cpuid_0x15_ebx = (uint32_t)number(record, "cpuid_0x15_ebx", UINT32_MAX);
}

static enum profile_status open_thread(struct ingest_insn *insn, const struct fxt_record *record,
                                       struct insn_thread *thread, struct profile_error *error)
{
    struct insn_stream_options options = { .size = sizeof options };
    struct insn_receiver receiver = { .context = thread,
                                      .function = take_function,
                                      .stack = take_stack,
                                      .charge = take_charge,
                                      .span = take_span,
                                      .mark = take_mark };
    struct insn_error failure = { .status = INSN_OK };
    enum profile_status status = insn_prepare(insn, thread->process_id, &thread->process, error);

    if (status == PROFILE_OK)
        status = ingest_text(insn->ingest, &record->category, &thread->category, error);
    if (status != PROFILE_OK)
        return status;
    configure(record, &options.config);
    options.threads = insn->thread_count >= MANY_STREAMS;
    thread->time_shift = number(record, "time_shift", 63);
    thread->time_mult = number(record, "time_mult", UINT32_MAX);
    thread->time_zero = number(record, "time_zero", UINT64_MAX);
    if (insn_stacks_open(&receiver, &thread->stacks, &failure) == INSN_OK)
        (void)insn_stream_open(&options, thread->process->space, insn_stacks_take, thread->stacks,
                               &thread->stream, &failure);
    return insn_failed(&failure, error);
}

static void close_thread(struct insn_thread *thread)
{
    insn_stream_close(thread->stream);
    insn_stacks_close(thread->stacks);
    free(thread);
}

static enum profile_status add_thread(struct ingest_insn *insn, const struct fxt_record *record,
                                      uint32_t id, struct insn_thread **out,
                                      struct profile_error *error)
{
    enum profile_status status;

    if (!base_make_room(&insn->threads, &insn->thread_capacity, insn->thread_count + 1,
                        sizeof(void *)) ||
        !base_index_reserve(&insn->thread_index))
        return profile_no_memory(error);
    *out = calloc(1, sizeof **out);
    if (!*out)
        return profile_no_memory(error);
    (*out)->ingest = insn->ingest;
    (*out)->thread_id = id;
    (*out)->process_id = insn->ingest->threads[id - 1].process_id;
    (*out)->number = (uint32_t)(insn->thread_count + 1) & 0x3ffff;
    status = open_thread(insn, record, *out, error);
    if (status != PROFILE_OK) {
        close_thread(*out);
        return status;
    }
    insn->threads[insn->thread_count++] = *out;
    base_index_add(&insn->thread_index, base_hash(id, 0), (uint32_t)insn->thread_count);
    return PROFILE_OK;
}

/* NULL: it has no packets yet.  */
static struct insn_thread *find_thread(const struct ingest_insn *insn, uint32_t id)
{
    size_t probe;

    for (uint32_t i = base_index_first(&insn->thread_index, base_hash(id, 0), &probe); i;
         i = base_index_next(&insn->thread_index, base_hash(id, 0), &probe))
        if (insn->threads[i - 1]->thread_id == id)
            return insn->threads[i - 1];
    return NULL;
}

/* A stream that a receiver stopped says so; why is with the thread.  */
static enum profile_status stream_status(const struct insn_thread *thread, enum insn_status status,
                                         const struct insn_error *failure,
                                         struct profile_error *error)
{
    if (status == INSN_OK)
        return PROFILE_OK;
    if (status != INSN_STOPPED)
        return insn_failed(failure, error);
    if (thread->error.status == PROFILE_OK)
        return profile_no_memory(error);
    if (error)
        *error = thread->error;
    return thread->error.status;
}

static enum profile_status flush(struct ingest_insn *insn, uint32_t process_id,
                                 struct profile_error *error)
{
    enum profile_status status = PROFILE_OK;

    for (size_t i = 0; i < insn->thread_count && status == PROFILE_OK; i++) {
        struct insn_thread *thread = insn->threads[i];
        struct insn_error failure = { .status = INSN_OK };

        if (thread->process_id == process_id)
            status = stream_status(thread, insn_stream_flush(thread->stream, &failure), &failure,
                                   error);
    }
    return status;
}

/* Whether packets of the thread before those of the record are missing: they were not recorded, or
 * their record was lost or cut off.  */
static bool follows_others(const struct fxt_record *record, const struct insn_thread *thread)
{
    uint64_t offset = thread->offset;

    (void)ingest_argument_u64(record, "offset", &offset);
    return offset != thread->offset || number(record, "cut", 1);
}

static enum profile_status take_packets(struct ingest_insn *insn, const struct fxt_record *record,
                                        uint32_t id, struct profile_error *error)
{
    struct fxt_bytes payload = record->value.large_blob.payload;
    struct insn_error failure = { .status = INSN_OK };
    struct insn_thread *thread = find_thread(insn, id);
    enum profile_status status = PROFILE_OK;

    if (!thread)
        status = add_thread(insn, record, id, &thread, error);
    else if (follows_others(record, thread))
        status = stream_status(thread, insn_stream_break(thread->stream, &failure), &failure,
                               error);
    if (status != PROFILE_OK)
        return status;
    (void)ingest_argument_u64(record, "offset", &thread->offset);
    thread->offset += payload.length;
    return stream_status(thread,
                         insn_stream_feed(thread->stream, payload.bytes, payload.length, &failure),
                         &failure, error);
}

static enum profile_status take_code(struct ingest_insn *insn, const struct fxt_record *record,
                                     struct profile_error *error)
{
    const struct fxt_arg *address = fxt_record_arg(record, "address");
    uint32_t process;
    enum profile_status status;

    if (!address || address->type != FXT_ARG_POINTER) {
        insn->ingest->notices.unhandled_records++;
        return PROFILE_OK;
    }
    status = ingest_process(insn->ingest, record->thread.process, &process, error);
    if (status == PROFILE_OK)
        status = flush(insn, process, error);
    if (status == PROFILE_OK)
        status = insn_add_code(insn, process, address->value.uint64,
                               record->value.large_blob.payload, error);
    return status;
}

/* ---- The ingest ---- */

static struct ingest_insn *insn_of(struct profile_ingest *ingest)
{
    if (!ingest->insn)
        ingest->insn = calloc(1, sizeof *ingest->insn);
    if (ingest->insn)
        ingest->insn->ingest = ingest;
    return ingest->insn;
}

static bool is_wanted(const struct profile_ingest *ingest)
{
    return ingest->options.session && (ingest->sink.executed || ingest->timeline->nested);
}

bool ingest_is_insn(const struct profile_ingest *ingest, const struct fxt_record *record)
{
    return is_wanted(ingest) && ingest_string_is(&record->category, "insntrace") &&
           (ingest_string_is(&record->name, "pt") || ingest_string_is(&record->name, "code"));
}

enum profile_status ingest_insn_blob(struct profile_ingest *ingest, const struct fxt_record *record,
                                     struct profile_error *error)
{
    struct ingest_insn *insn = insn_of(ingest);
    enum profile_status status;
    uint32_t thread;

    if (!insn)
        return profile_no_memory(error);
    if (ingest_string_is(&record->name, "code"))
        return take_code(insn, record, error);
    status = ingest_thread(ingest, &record->thread, &thread, error);
    if (status != PROFILE_OK || !ingest->threads[thread - 1].chosen)
        return status;
    return take_packets(insn, record, thread, error);
}

enum profile_status ingest_insn_mapping(struct profile_ingest *ingest, uint32_t process,
                                        const struct profile_mapping *mapping,
                                        struct profile_error *error)
{
    const struct insn_mapping wanted = { .start = mapping->start,
                                         .limit = mapping->limit,
                                         .vaddr = mapping->vaddr,
                                         .module = mapping->module };
    struct ingest_insn *insn;
    enum profile_status status;

    if (!is_wanted(ingest))
        return PROFILE_OK;
    insn = insn_of(ingest);
    if (!insn)
        return profile_no_memory(error);
    status = flush(insn, process, error);
    return status == PROFILE_OK ? insn_add_mapping(insn, process, &wanted, error) : status;
}

static enum profile_status finish_thread(struct insn_thread *thread, struct profile_error *error)
{
    struct profile_notices *notices = &thread->ingest->notices;
    struct insn_error failure = { .status = INSN_OK };
    const struct insn_totals *totals;
    enum insn_status status = insn_stream_finish(thread->stream, &failure);

    if (status == INSN_OK)
        status = insn_stacks_finish(thread->stacks);
    totals = insn_stream_totals(thread->stream);
    notices->insn_overflows += totals->overflows;
    for (size_t i = 0; i < INSN_GAP_REASONS; i++)
        notices->insn_gaps += totals->gaps[i];
    notices->insn_uncoded += totals->gaps[INSN_GAP_NO_CODE];
    failure.status = status;
    return stream_status(thread, status, &failure, error);
}

static enum profile_status tell_sum(const struct ingest_insn *insn, const struct insn_sum *sum,
                                    struct profile_error *error)
{
    const struct insn_thread *thread = find_thread(insn, sum->thread_id);
    const struct profile_ingest *ingest = insn->ingest;
    const struct ingest_thread *owner = &ingest->threads[sum->thread_id - 1];
    const struct profile_executed call = { .process_koid = owner->process_koid,
                                           .thread_koid = owner->koid,
                                           .callsite = sum->callsite,
                                           .instructions = sum->charge.instructions,
                                           .calls = sum->charge.calls,
                                           .ns = scale(thread, sum->charge.ticks) };

    return ingest_sink_status(ingest->sink.executed(ingest->sink.context, &call), error);
}

enum profile_status ingest_insn_finish(struct profile_ingest *ingest, struct profile_error *error)
{
    struct ingest_insn *insn = ingest->insn;
    enum profile_status status = PROFILE_OK;

    for (size_t i = 0; insn && i < insn->thread_count && status == PROFILE_OK; i++)
        status = finish_thread(insn->threads[i], error);
    if (!insn || !ingest->sink.executed)
        return status;
    for (size_t i = 0; i < insn->sum_count && status == PROFILE_OK; i++)
        status = tell_sum(insn, &insn->sums[i], error);
    return status;
}

void ingest_insn_release(struct profile_ingest *ingest)
{
    struct ingest_insn *insn = ingest->insn;

    if (!insn)
        return;
    for (size_t i = 0; i < insn->thread_count; i++)
        close_thread(insn->threads[i]);
    free(insn->threads);
    free(insn->sums);
    base_index_release(&insn->thread_index);
    base_index_release(&insn->sum_index);
    insn_code_release(insn);
    free(insn);
    ingest->insn = NULL;
}
