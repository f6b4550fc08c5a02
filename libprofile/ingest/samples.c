/* samples.c - stacks of addresses.
 *
 * A sample's stack is stored as it comes, as call sites of raw frames (process, epoch, address),
 * because its modules may follow at the end of the trace.  ingest_sample_finish() gives every raw
 * frame its module once and makes the call sites anew.  */
#include <stdlib.h>
#include <string.h>

#include "libprofile/ingest/code.h"
#include "libprofile/ingest/entities.h"
#include "libprofile/ingest/maps.h"
#include "libprofile/ingest/samples.h"

/* How deep stacks can get where the capture does not say (docs/formats/fxt.md sections 4.1, 4.2).
 */
#define KERNEL_SAMPLER_FRAMES 64
#define BACKTRACE_FRAMES      255

/* One stack on its way in.  */
struct stack {
    struct fxt_words pcs;
    bool cut;        /* reached the capture's depth */
    size_t exact;    /* so many entries are looked up as they are, the others less 1 */
    uint32_t space;  /* of the process, in its present epoch */
    uint32_t kernel; /* of process 0; 0 while no address needed it */
    uint32_t thread; /* of a sample; 0: of the heap */
    uint32_t event;  /* as in struct profile_sample */
    uint64_t amount; /* of the event, or nanoseconds */
};

/* The lookup address of entry i (design, "Words"): return addresses point behind the call.  0 is no
 * address at all and stays 0.  */
static uint64_t lookup_address(const struct stack *stack, size_t i)
{
    uint64_t pc = fxt_word(stack->pcs, i);

    return pc - (i >= stack->exact && pc > 0);
}

static uint32_t space_of(const struct stack *stack, uint64_t address)
{
    return address >= KERNEL_START ? stack->kernel : stack->space;
}

/* If the sink takes no single samples, a stack waits for a few others before it is looked up, so
 * that its place in the table of stacks has come from memory by then: most of the time of a large
 * trace would be spent waiting for that.  */
enum {
    WAITING = 8,
    WAITING_WORDS = 64, /* of a stack; a larger one does not wait */
};

struct sample_waiting {
    struct stack stack;
    struct seen_print print;
    uint8_t words[8 * WAITING_WORDS];
};

/* ---- Tables ---- */

/* The space of a process as its map is now.  */
static enum profile_status find_space(struct profile_ingest *ingest, uint32_t process,
                                      uint32_t *out, struct profile_error *error)
{
    struct ingest_samples *samples = ingest->samples;
    struct ingest_process *owner = &ingest->processes[process - 1];
    enum profile_status status;

    if (owner->space == 0) {
        status = ingest_reserve(&samples->spaces, &samples->space_capacity, samples->space_count,
                                sizeof *samples->spaces, NULL, error);
        if (status != PROFILE_OK)
            return status;
        samples->spaces[samples->space_count++] = (struct sample_space){ process, owner->epoch };
        owner->space = (uint32_t)samples->space_count;
    }
    *out = owner->space;
    return PROFILE_OK;
}

/* Its final frame, if the module is known already, and by name: the modules of messages get theirs
 * later.  Modules come first in our captures and last in Fuchsia's.  */
static enum profile_status finish_frame(struct profile_ingest *ingest, struct raw_frame *frame,
                                        struct profile_error *error)
{
    const struct sample_space *space;
    profile_id module;
    uint64_t vaddr;

    if (frame->space == 0)
        return profile_stacks_function_frame(ingest->stacks, PROFILE_TRUNCATED,
                                             strlen(PROFILE_TRUNCATED), &frame->final, error);
    space = &ingest->samples->spaces[frame->space - 1];
    if (ingest->code->has_files || /* the name may be there, or may come */
        space->epoch != ingest->processes[space->process_id - 1].epoch || /* the map of the past */
        !ingest_map_find(ingest, space->process_id, frame->address, &module, &vaddr) ||
        profile_stacks_get_module(ingest->stacks, module).name == 0)
        return PROFILE_OK;
    return profile_stacks_address_frame(ingest->stacks, module, vaddr, &frame->final, error);
}

static enum profile_status find_frame(struct profile_ingest *ingest, uint32_t space,
                                      uint64_t address, uint32_t *out, struct profile_error *error)
{
    struct ingest_samples *samples = ingest->samples;
    uint64_t hash = base_hash(address, space);
    enum profile_status status;
    size_t probe;

    for (*out = base_index_first(&samples->frame_index, hash, &probe); *out;
         *out = base_index_next(&samples->frame_index, hash, &probe)) {
        const struct raw_frame *frame = &samples->frames[*out - 1];

        if (frame->address == address && frame->space == space)
            return PROFILE_OK;
    }
    status = ingest_reserve(&samples->frames, &samples->frame_capacity, samples->frame_count,
                            sizeof *samples->frames, &samples->frame_index, error);
    if (status != PROFILE_OK)
        return status;
    struct raw_frame raw = { .address = address, .space = space };
    status = finish_frame(ingest, &raw, error);
    if (status != PROFILE_OK)
        return status;
    samples->frames[samples->frame_count++] = raw;
    *out = (uint32_t)samples->frame_count;
    base_index_add(&samples->frame_index, hash, *out);
    return PROFILE_OK;
}

/* Its final call site, if all its frames are final.  */
static enum profile_status finish_callsite(struct profile_ingest *ingest,
                                           struct raw_callsite *callsite,
                                           struct profile_error *error)
{
    const struct ingest_samples *samples = ingest->samples;
    profile_id frame = samples->frames[callsite->frame - 1].final;
    profile_id parent = callsite->parent ? samples->callsites[callsite->parent - 1].final : 0;

    if (frame == 0 || (callsite->parent && parent == 0))
        return PROFILE_OK;
    return profile_stacks_callsite(ingest->stacks, parent, frame, &callsite->final, error);
}

static enum profile_status find_callsite(struct profile_ingest *ingest, uint32_t parent,
                                         uint32_t frame, uint32_t *out, struct profile_error *error)
{
    struct ingest_samples *samples = ingest->samples;
    uint64_t hash = base_hash(parent, frame);
    enum profile_status status;
    size_t probe;

    for (*out = base_index_first(&samples->callsite_index, hash, &probe); *out;
         *out = base_index_next(&samples->callsite_index, hash, &probe)) {
        const struct raw_callsite *callsite = &samples->callsites[*out - 1];

        if (callsite->parent == parent && callsite->frame == frame)
            return PROFILE_OK;
    }
    status = ingest_reserve(&samples->callsites, &samples->callsite_capacity,
                            samples->callsite_count, sizeof *samples->callsites,
                            &samples->callsite_index, error);
    if (status != PROFILE_OK)
        return status;
    struct raw_callsite callsite = { .parent = parent, .frame = frame };
    status = finish_callsite(ingest, &callsite, error);
    if (status != PROFILE_OK)
        return status;
    samples->callsites[samples->callsite_count++] = callsite;
    *out = (uint32_t)samples->callsite_count;
    base_index_add(&samples->callsite_index, hash, *out);
    return PROFILE_OK;
}

/* ---- Whole stacks ---- */

/* by_thread: stacks of two threads are two.  */
static struct seen_print print_of(struct seen_stacks *seen, const struct stack *stack,
                                  bool by_thread)
{
    struct seen_print print;

    seen_start(seen, &print);
    seen_add(seen, &print, (uint64_t)stack->event << 32 | (by_thread ? stack->thread : 0));
    seen_add(seen, &print, (uint64_t)stack->space << 32 | stack->kernel);
    seen_add(seen, &print, (uint64_t)stack->pcs.count << 3 | stack->exact << 1 | stack->cut);
    /* Those of samples have exact > 0.  */
    for (size_t i = 0; i < stack->pcs.count; i++)
        seen_add(seen, &print, fxt_word(stack->pcs, i));
    return print;
}

static enum profile_status add_stack(struct profile_ingest *ingest, const struct stack *stack,
                                     uint32_t *out, struct profile_error *error)
{
    enum profile_status status = PROFILE_OK;
    uint32_t frame;

    *out = 0;
    if (stack->cut)
        status = find_callsite(ingest, 0, RAW_TRUNCATED, out, error);
    for (size_t i = stack->pcs.count; i-- > 0 && status == PROFILE_OK;) {
        uint64_t address = lookup_address(stack, i);

        status = find_frame(ingest, space_of(stack, address), address, &frame, error);
        if (status == PROFILE_OK)
            status = find_callsite(ingest, *out, frame, out, error);
    }
    return status;
}

/* Its place among the stacks that were met, made if need be; and one more hit.  */
static enum profile_status look_up(struct profile_ingest *ingest, const struct stack *stack,
                                   const struct seen_print *print, struct seen_slot **out,
                                   struct profile_error *error)
{
    struct ingest_samples *samples = ingest->samples;
    struct seen_slot slot = { .thread_id = stack->thread, .event = stack->event };
    enum profile_status status;

    *out = seen_find(&samples->seen, print);
    if (!*out) {
        status = add_stack(ingest, stack, &slot.callsite, error);
        if (status != PROFILE_OK)
            return status;
        slot.final = samples->callsites[slot.callsite - 1].final;
        *out = seen_remember(&samples->seen, print, &slot);
        if (!*out)
            return profile_no_memory(error);
    }
    (*out)->hits++;
    (*out)->amount = profile_add((*out)->amount, stack->amount);
    return PROFILE_OK;
}

static enum profile_status find_stack(struct profile_ingest *ingest, const struct stack *stack,
                                      struct seen_slot **out, struct profile_error *error)
{
    struct seen_print print = print_of(&ingest->samples->seen, stack, ingest->sink.sums_of_threads);

    return look_up(ingest, stack, &print, out, error);
}

static enum profile_status look_up_oldest(struct profile_ingest *ingest,
                                          struct profile_error *error)
{
    struct ingest_samples *samples = ingest->samples;
    const struct sample_waiting *oldest = &samples->waiting[samples->waiting_first];
    struct seen_slot *seen;

    samples->waiting_first = (samples->waiting_first + 1) % WAITING;
    samples->waiting_count--;
    return look_up(ingest, &oldest->stack, &oldest->print, &seen, error);
}

enum profile_status ingest_sample_settle(struct profile_ingest *ingest, struct profile_error *error)
{
    enum profile_status status = PROFILE_OK;

    while (ingest->samples->waiting_count > 0 && status == PROFILE_OK)
        status = look_up_oldest(ingest, error);
    return status;
}

/* Count a stack, some stacks later.  */
static enum profile_status count_stack(struct profile_ingest *ingest, const struct stack *stack,
                                       struct profile_error *error)
{
    struct ingest_samples *samples = ingest->samples;
    enum profile_status status = PROFILE_OK;
    struct sample_waiting *last;

    if (!samples->waiting)
        samples->waiting = calloc(WAITING, sizeof *samples->waiting);
    if (!samples->waiting)
        return profile_no_memory(error);
    if (stack->pcs.count > WAITING_WORDS) {
        struct seen_slot *seen;

        status = ingest_sample_settle(ingest, error);
        return status == PROFILE_OK ? find_stack(ingest, stack, &seen, error) : status;
    }
    if (samples->waiting_count == WAITING)
        status = look_up_oldest(ingest, error);
    last = &samples->waiting[(samples->waiting_first + samples->waiting_count++) % WAITING];
    memcpy(last->words, stack->pcs.bytes, 8 * stack->pcs.count);
    last->stack = *stack;
    last->stack.pcs.bytes = last->words;
    last->print = print_of(&samples->seen, stack, ingest->sink.sums_of_threads);
    seen_prefetch(&samples->seen, &last->print);
    return status;
}

/* ---- Samples ---- */

/* KERNEL_START is one bit, so that a few words can be looked at in one step.  */
static bool has_kernel_address(struct fxt_words pcs)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < pcs.count; i++)
        bits |= fxt_word(pcs, i);
    return bits & KERNEL_START;
}

/* Spaces for the stack's addresses, of a process and, if need be, of the kernel.  */
static enum profile_status find_spaces(struct profile_ingest *ingest, uint32_t process,
                                       struct stack *stack, struct profile_error *error)
{
    uint32_t *kernel = &ingest->samples->kernel, truncated;
    enum profile_status status = PROFILE_OK;

    if (ingest->samples->frame_count == 0)
        status = find_frame(ingest, 0, 0, &truncated, error); /* RAW_TRUNCATED */
    if (status == PROFILE_OK)
        status = find_space(ingest, process, &stack->space, error);
    if (status != PROFILE_OK)
        return status;
    ingest->processes[process - 1].sampled = true;
    if (!has_kernel_address(stack->pcs))
        return PROFILE_OK;
    if (*kernel == 0)
        status = ingest_process(ingest, 0, kernel, error);
    if (status == PROFILE_OK)
        status = find_space(ingest, *kernel, &stack->kernel, error);
    return status;
}

/* Captures have a provider cpu + 1 called "cpu-N" for each CPU; -1: it is another one.  */
static int32_t cpu_of(const struct fxt_provider *provider)
{
    const char *name = provider ? provider->name.bytes : NULL;
    uint32_t cpu = 0;

    if (!name || provider->name.length < 5 || provider->name.length > 10 ||
        memcmp(name, "cpu-", 4) != 0)
        return -1;
    for (size_t i = 4; i < provider->name.length; i++) {
        if (name[i] < '0' || name[i] > '9')
            return -1;
        cpu = 10 * cpu + (uint32_t)(name[i] - '0');
    }
    return provider->id == cpu + 1 ? (int32_t)cpu : -1;
}

/* Count a sample, and tell of it if the receiver wants every one.  */
static enum profile_status tell_sample(struct profile_ingest *ingest, struct profile_sample *sample,
                                       const struct stack *stack, struct profile_error *error)
{
    struct seen_slot *seen = NULL;
    enum profile_status status = find_stack(ingest, stack, &seen, error);

    if (status != PROFILE_OK || !ingest->sink.sample)
        return status;
    sample->callsite = seen->callsite;
    sample->final = seen->final;
    return ingest_sink_status(ingest->sink.sample(ingest->sink.context, sample), error);
}

static void note_sample_time(struct ingest_samples *samples, int64_t ts_ns)
{
    if (!samples->has_times || ts_ns < samples->first_ns)
        samples->first_ns = ts_ns;
    if (!samples->has_times || ts_ns > samples->last_ns)
        samples->last_ns = ts_ns;
    samples->has_times = true;
}

/* A stack without frames says nothing and is no sample.  own: what the sample weighs.  */
static enum profile_status take_sample(struct profile_ingest *ingest,
                                       const struct fxt_record *record, struct fxt_words pcs,
                                       bool kernel_sampler, const struct profile_sample *own,
                                       struct profile_error *error)
{
    uint32_t depth = kernel_sampler ? KERNEL_SAMPLER_FRAMES : BACKTRACE_FRAMES;
    struct stack stack = { .pcs = pcs,
                           .exact = kernel_sampler && ingest->arm64 ? 2 : 1,
                           .event = own->event,
                           .amount = own->event ? own->amount : own->weight_ns };
    struct profile_sample sample = {
        .ts_ns = record->ts_ns,
        .process_koid = record->thread.process,
        .thread_koid = record->thread.thread,
        .weight_ns = own->weight_ns,
        .event = own->event,
        .amount = own->amount,
    };
    enum profile_status status;

    if (!ingest->sink.sample && !ingest->sink.sample_sum)
        return PROFILE_OK;
    if (pcs.count == 0) {
        ingest->notices.unhandled_records++;
        return PROFILE_OK;
    }
    status = ingest_thread(ingest, &record->thread, &stack.thread, error);
    if (status != PROFILE_OK || !ingest->threads[stack.thread - 1].chosen)
        return status;
    stack.cut = pcs.count >= (ingest->max_frames ? ingest->max_frames : depth);
    ingest->notices.truncated_stacks += stack.cut;
    status = find_spaces(ingest, ingest->threads[stack.thread - 1].process_id, &stack, error);
    if (status != PROFILE_OK)
        return status;
    note_sample_time(ingest->samples, record->ts_ns);
    if (!ingest->sink.sample)
        return count_stack(ingest, &stack, error);
    sample.thread_id = stack.thread;
    sample.cpu = cpu_of(record->provider);
    return tell_sample(ingest, &sample, &stack, error);
}

enum profile_status ingest_sample_stack(struct profile_ingest *ingest,
                                        const struct fxt_record *record, struct fxt_words pcs,
                                        bool kernel_sampler, struct profile_error *error)
{
    const struct profile_sample own = {
        .weight_ns = ingest->session.event ? 0 : ingest->period_ns,
        .event = ingest->session.event,
        .amount = ingest->session.event ? ingest->session.amount : 0,
    };

    return take_sample(ingest, record, pcs, kernel_sampler, &own, error);
}

enum profile_status ingest_sample_place(struct profile_ingest *ingest,
                                        const struct fxt_record *record, struct sample_place *out,
                                        bool *wanted, struct profile_error *error)
{
    enum profile_status status = ingest_thread(ingest, &record->thread, &out->thread_id, error);
    uint32_t process;

    *wanted = (ingest->sink.sample || ingest->sink.sample_sum) && status == PROFILE_OK &&
              ingest->threads[out->thread_id - 1].chosen;
    if (!*wanted)
        return status;
    out->ts_ns = record->ts_ns;
    out->process_koid = record->thread.process;
    out->thread_koid = record->thread.thread;
    out->weight_ns = ingest->period_ns;
    out->cpu = cpu_of(record->provider);
    status = ingest_process(ingest, out->process_koid, &process, error);
    return status == PROFILE_OK ? find_space(ingest, process, &out->space, error) : status;
}

enum profile_status ingest_sample_unwound(struct profile_ingest *ingest,
                                          const struct sample_place *place, struct fxt_words pcs,
                                          bool cut, struct profile_error *error)
{
    struct stack stack = {
        .pcs = pcs, .exact = 1, .cut = cut, .thread = place->thread_id, .amount = place->weight_ns
    };
    struct profile_sample sample = { .ts_ns = place->ts_ns,
                                     .cpu = place->cpu,
                                     .process_koid = place->process_koid,
                                     .thread_koid = place->thread_koid,
                                     .thread_id = place->thread_id,
                                     .weight_ns = place->weight_ns };
    uint32_t process = ingest->threads[place->thread_id - 1].process_id;
    enum profile_status status = find_spaces(ingest, process, &stack, error);

    ingest->notices.truncated_stacks += cut;
    stack.space = place->space;
    if (status != PROFILE_OK)
        return status;
    note_sample_time(ingest->samples, place->ts_ns);
    return tell_sample(ingest, &sample, &stack, error);
}

/* The id that an event has for receivers; 0: they know nothing of it.  */
static uint32_t event_of(const struct profile_ingest *ingest, uint64_t id)
{
    for (size_t i = 0; i < ingest->event_count; i++)
        if (ingest->events[i] == id)
            return (uint32_t)i + 1;
    return 0;
}

enum profile_status ingest_sample_event(struct profile_ingest *ingest,
                                        const struct fxt_record *record,
                                        struct profile_error *error)
{
    struct fxt_bytes payload = record->value.large_blob.payload;
    const struct fxt_words pcs = { payload.bytes, (size_t)(payload.length / 8) };
    struct profile_sample own = { .weight_ns = 0 };
    uint64_t event = 0;

    if (payload.length % 8 != 0) {
        ingest->notices.odd_payloads++;
        return PROFILE_OK;
    }
    (void)ingest_argument_u64(record, "event", &event);
    (void)ingest_argument_u64(record, "amount", &own.amount);
    own.event = event_of(ingest, event);
    if (event == 0) { /* the CPU's clock, with a period of its own */
        own.weight_ns = own.amount;
        own.amount = 0;
    } else if (own.event == 0) {
        ingest->notices.event_samples++;
        return PROFILE_OK;
    }
    return take_sample(ingest, record, pcs, true, &own, error);
}

enum profile_status ingest_return_stack(struct profile_ingest *ingest, uint64_t process,
                                        struct fxt_words pcs, bool cut, uint32_t *out,
                                        struct profile_error *error)
{
    struct stack stack = { .pcs = pcs, .cut = cut };
    struct seen_slot *seen = NULL;
    enum profile_status status;
    uint32_t id;

    *out = 0;
    if (pcs.count == 0)
        return PROFILE_OK;
    ingest->notices.truncated_stacks += cut;
    status = ingest_process(ingest, process, &id, error);
    if (status == PROFILE_OK)
        status = find_spaces(ingest, id, &stack, error);
    if (status == PROFILE_OK)
        status = find_stack(ingest, &stack, &seen, error);
    if (status == PROFILE_OK)
        *out = seen->callsite;
    return status;
}

/* ---- The end ---- */

/* Raw frames in a map that has mappings, but none at that address, are code in no module: [anon].
 * Where no map is known at all, nothing can be said: [unknown], as perf has it.  Neither has an
 * address, which would differ from run to run.  */
static const char *name_of_nowhere(const struct profile_ingest *ingest, uint32_t space)
{
    uint32_t process = ingest->samples->spaces[space - 1].process_id;
    return ingest->processes[process - 1].segments ? PROFILE_ANONYMOUS : PROFILE_UNKNOWN;
}

/* *out becomes the frame of raw frame i, whose mapping is known.  */
static enum profile_status make_frame(struct profile_ingest *ingest, size_t i,
                                      const struct map_query *mapped, profile_id *out,
                                      bool *anonymous, struct profile_error *error)
{
    const struct raw_frame *raw = &ingest->samples->frames[i];
    uint32_t process = ingest->samples->spaces[raw->space - 1].process_id;
    const char *name = name_of_nowhere(ingest, raw->space);
    struct profile_line line = {
        .function = ingest_code_find(ingest, process, raw->address, mapped->module != 0),
    };

    *anonymous = mapped->module == 0 && line.function == 0 && strcmp(name, PROFILE_ANONYMOUS) == 0;
    if (line.function)
        return profile_stacks_named_frame_in(ingest->stacks, mapped->module, &line, 1, out, error);
    if (mapped->module)
        return profile_stacks_address_frame(ingest->stacks, mapped->module, mapped->vaddr, out,
                                            error);
    return profile_stacks_function_frame(ingest->stacks, name, strlen(name), out, error);
}

/* final_frames[i - 1] becomes the frame of raw frame i.  */
static enum profile_status make_frames(struct profile_ingest *ingest, profile_id *final_frames,
                                       bool *anonymous, struct profile_error *error)
{
    const struct ingest_samples *samples = ingest->samples;
    struct map_query *queries = calloc(samples->frame_count, sizeof *queries);
    struct map_query *by_frame = calloc(samples->frame_count, sizeof *by_frame);
    enum profile_status status = queries && by_frame ? PROFILE_OK : profile_no_memory(error);
    size_t count = 0;

    for (size_t i = 0; i < samples->frame_count && status == PROFILE_OK; i++) {
        const struct sample_space *space;

        if (samples->frames[i].final)
            continue;
        space = &samples->spaces[samples->frames[i].space - 1];
        queries[count++] = (struct map_query){ .process_id = space->process_id,
                                               .epoch = space->epoch,
                                               .address = samples->frames[i].address,
                                               .frame = (uint32_t)i };
    }
    if (status == PROFILE_OK)
        status = ingest_map_resolve(ingest, queries, count, error);
    ingest_code_sort(ingest);
    for (size_t i = 0; i < count && status == PROFILE_OK; i++)
        by_frame[queries[i].frame] = queries[i];
    /* In the order of the raw frames: ids must not depend on how queries were sorted.  */
    for (size_t i = 0; i < samples->frame_count && status == PROFILE_OK; i++) {
        final_frames[i] = samples->frames[i].final;
        if (!final_frames[i])
            status = make_frame(ingest, i, &by_frame[i], &final_frames[i], &anonymous[i], error);
    }
    free(queries);
    free(by_frame);
    return status;
}

/* final[i] becomes the call site of raw call site i.  Parents come before their children.  */
static enum profile_status make_callsites(struct profile_ingest *ingest,
                                          const profile_id *final_frames, profile_id *final,
                                          struct profile_error *error)
{
    const struct ingest_samples *samples = ingest->samples;
    enum profile_status status = PROFILE_OK;

    for (size_t i = 0; i < samples->callsite_count && status == PROFILE_OK; i++) {
        const struct raw_callsite *raw = &samples->callsites[i];

        final[i + 1] = raw->final;
        if (raw->final == 0)
            status = profile_stacks_callsite(ingest->stacks, final[raw->parent],
                                             final_frames[raw->frame - 1], &final[i + 1], error);
    }
    return status;
}

/* Frames in no module, each as often as samples have it.  Adds the hits of children to their
 * parents, so they are used up.  */
static void count_anonymous(struct profile_ingest *ingest, const bool *anonymous)
{
    struct ingest_samples *samples = ingest->samples;
    uint64_t *count = &ingest->notices.anonymous_frames;

    for (size_t i = samples->callsite_count; i-- > 0;) {
        const struct raw_callsite *raw = &samples->callsites[i];

        if (anonymous[raw->frame - 1])
            *count = profile_add(*count, samples->callsites[i].hits);
        if (raw->parent)
            samples->callsites[raw->parent - 1].hits += samples->callsites[i].hits;
    }
}

static void count_unmapped(struct profile_ingest *ingest)
{
    for (size_t i = 0; i < ingest->process_count; i++)
        if (ingest->processes[i].sampled && !ingest->processes[i].segments)
            ingest->notices.unmapped_processes++;
}

/* Samples of one stack that are not reported yet.  */
struct untold {
    struct seen_slot *slot;
};

/* By what they are, not by where they are in their table, which differs from run to run.  */
static int compare_untold(const void *left, const void *right)
{
    const struct seen_slot *a = ((const struct untold *)left)->slot;
    const struct seen_slot *b = ((const struct untold *)right)->slot;

    if (a->callsite != b->callsite)
        return a->callsite < b->callsite ? -1 : 1;
    if (a->thread_id != b->thread_id)
        return a->thread_id < b->thread_id ? -1 : 1;
    return (a->event > b->event) - (a->event < b->event);
}

/* The stacks of samples that are not reported yet, in order.  The hits of all go to their call
 * sites.  */
static size_t take_untold(struct ingest_samples *samples, struct untold *untold)
{
    size_t count = 0;

    for (size_t i = 0; samples->seen.slots && i <= samples->seen.mask; i++) {
        struct seen_slot *slot = &samples->seen.slots[i];

        if (slot->hits == 0)
            continue;
        samples->callsites[slot->callsite - 1].hits += slot->hits;
        if (slot->thread_id)
            untold[count++].slot = slot;
        else
            slot->hits = 0;
    }
    if (count > 1)
        qsort(untold, count, sizeof *untold, compare_untold);
    return count;
}

static enum profile_status tell_slot(struct profile_ingest *ingest, struct seen_slot *slot,
                                     struct profile_error *error)
{
    const struct ingest_thread *thread = &ingest->threads[slot->thread_id - 1];
    struct profile_sample_sum sum = { .process_id = thread->process_id,
                                      .callsite = slot->callsite,
                                      .count = slot->hits,
                                      .event = slot->event,
                                      .first_ns = ingest->samples->first_ns,
                                      .last_ns = ingest->samples->last_ns };

    *(slot->event ? &sum.amount : &sum.weight_ns) = slot->amount;
    if (ingest->sink.sums_of_threads) {
        sum.process_koid = thread->process_koid;
        sum.thread_koid = thread->koid;
    }
    slot->hits = slot->amount = 0;
    if (!ingest->sink.sample_sum)
        return PROFILE_OK;
    return ingest_sink_status(ingest->sink.sample_sum(ingest->sink.context, &sum), error);
}

enum profile_status ingest_sample_tell(struct profile_ingest *ingest, struct profile_error *error)
{
    struct ingest_samples *samples = ingest->samples;
    enum profile_status status = ingest_sample_settle(ingest, error);
    struct untold *untold;
    size_t count;

    if (status != PROFILE_OK || samples->seen.used == 0)
        return status;
    untold = calloc(samples->seen.used, sizeof *untold);
    if (!untold)
        return profile_no_memory(error);
    count = take_untold(samples, untold);
    for (size_t i = 0; i < count && status == PROFILE_OK; i++)
        status = tell_slot(ingest, untold[i].slot, error);
    free(untold);
    samples->has_times = false;
    return status;
}

enum profile_status ingest_sample_finish(struct profile_ingest *ingest, struct profile_error *error)
{
    struct ingest_samples *samples = ingest->samples;
    enum profile_status status = ingest_sample_tell(ingest, error); /* now all are there */
    profile_id *final_frames = calloc(samples->frame_count + 1, sizeof *final_frames);
    profile_id *final = calloc(samples->callsite_count + 1, sizeof *final);
    bool *anonymous = calloc(samples->frame_count + 1, sizeof *anonymous);

    if (status == PROFILE_OK && !(final_frames && final && anonymous))
        status = profile_no_memory(error);
    if (status == PROFILE_OK && samples->frame_count > 0)
        status = make_frames(ingest, final_frames, anonymous, error);
    if (status == PROFILE_OK)
        status = make_callsites(ingest, final_frames, final, error);
    if (status == PROFILE_OK) {
        count_anonymous(ingest, anonymous);
        count_unmapped(ingest);
    }
    if (status == PROFILE_OK && ingest->sink.callsites)
        status = ingest_sink_status(
            ingest->sink.callsites(ingest->sink.context, final, (uint32_t)samples->callsite_count),
            error);
    free(final_frames);
    free(final);
    free(anonymous);
    return status;
}

void ingest_sample_release(struct profile_ingest *ingest)
{
    struct ingest_samples *samples = ingest->samples;

    free(samples->spaces);
    free(samples->frames);
    free(samples->callsites);
    free(samples->waiting);
    base_index_release(&samples->frame_index);
    base_index_release(&samples->callsite_index);
    seen_release(&samples->seen);
}
