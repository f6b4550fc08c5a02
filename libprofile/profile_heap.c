/* profile_heap.c - the sink's members for the heap: what is in use, what is gone, and the most
 * there was.
 *
 * While a trace is taken in, each provisional call site of a thread has what is in use and what is
 * gone of the blocks allocated there, and apart from that what was released there.  A peak is
 * found in one pass, without copying everything at each new maximum: a level - a process, or all
 * together - counts its maxima, and a value that changes keeps what it had at the last one, unless
 * it has done so already.  */
#include <stdlib.h>
#include <string.h>

#include "libprofile/profile_heap.h"

enum { LIVE_OBJECTS, LIVE_BYTES, GONE_OBJECTS, GONE_BYTES };

/* ---- Options ---- */

enum profile_status profile_heap_configure(struct profile *profile,
                                           const struct profile_heap_options *options,
                                           struct profile_error *error)
{
    struct profile_heap_options *chosen = &profile->heap.options;

    if (options->size < sizeof options->size)
        return profile_fail(error, PROFILE_INVALID, "heap options of %zu bytes", options->size);
    *chosen = (struct profile_heap_options){ .every_ns = 0 };
    memcpy(chosen, options, options->size < sizeof *chosen ? options->size : sizeof *chosen);
    if (chosen->every_ns && chosen->at != PROFILE_HEAP_AT_END)
        return profile_fail(error, PROFILE_INVALID, "partial profiles have ends of their own");
    if (chosen->ages && (chosen->every_ns || chosen->at > PROFILE_HEAP_AT_TIME))
        return profile_fail(error, PROFILE_INVALID, "ages are known at the end, or at a time");
    profile->values[PROFILE_HEAP].types = chosen->types == PROFILE_HEAP_TYPES_FUCHSIA ? 6 : 4;
    profile->heap.until_ns = INT64_MAX;
    return PROFILE_OK;
}

void profile_heap_until(struct profile *profile, int64_t ts_ns)
{
    profile->heap.until_ns = ts_ns;
}

static bool is_later(const struct profile_heap *heap, bool has_time, int64_t ts_ns)
{
    return heap->options.at == PROFILE_HEAP_AT_TIME && has_time && ts_ns > heap->until_ns;
}

/* ---- Levels and the values at their peaks ---- */

static enum profile_status process_level(struct profile_heap *heap, uint32_t process,
                                         struct heap_level **out)
{
    if (process > heap->process_count) {
        if (!base_make_room(&heap->processes, &heap->process_capacity, process,
                            sizeof *heap->processes))
            return PROFILE_NO_MEMORY;
        memset(heap->processes + heap->process_count, 0,
               (process - heap->process_count) * sizeof *heap->processes);
        heap->process_count = process;
    }
    *out = &heap->processes[process - 1];
    return PROFILE_OK;
}

/* The level whose peak is asked for; NULL when none is.  */
static const struct heap_level *watched_level(const struct profile_heap *heap, uint32_t process)
{
    if (heap->options.at == PROFILE_HEAP_AT_PEAK)
        return &heap->total;
    return heap->options.at == PROFILE_HEAP_AT_PROCESS_PEAK ? &heap->processes[process - 1] : NULL;
}

static void raise(struct heap_level *level, uint64_t bytes, bool has_time, int64_t ts_ns)
{
    level->live = profile_add(level->live, bytes);
    if (level->live <= level->peak)
        return;
    level->peak = level->live;
    level->epoch++;
    level->peak_ns = ts_ns;
    level->has_time = has_time;
}

/* Sums that have stopped at the top must not go below 0 now.  */
static void subtract(uint64_t *amount, uint64_t less)
{
    *amount -= *amount < less ? *amount : less;
}

/* The value of (call site, thread), which is about to change: what it had at the level's peak is
 * kept first.  */
static enum profile_status find_value(struct heap_table *table, uint32_t callsite, uint32_t thread,
                                      const struct heap_level *level, struct profile_value **out)
{
    static const uint64_t nothing[4];
    enum profile_status status;
    size_t at;

    status = profile_values_add(&table->values, callsite, thread, nothing, &at);
    if (status != PROFILE_OK)
        return status;
    *out = profile_value_at(&table->values, at);
    if (!level)
        return PROFILE_OK;
    if (!base_make_room(&table->past, &table->past_capacity, at + 1, sizeof *table->past))
        return PROFILE_NO_MEMORY;
    if (at == table->past_count)
        table->past[table->past_count++] = (struct heap_past){ .epoch = 0 };
    if (table->past[at].epoch == level->epoch)
        return PROFILE_OK;
    table->past[at].epoch = level->epoch;
    memcpy(table->past[at].amounts, (*out)->amounts,
           table->values.types * sizeof *table->past[at].amounts);
    return PROFILE_OK;
}

/* What value index had when it mattered.  */
static const uint64_t *final_amounts(const struct profile *profile, const struct heap_table *table,
                                     size_t index)
{
    const struct profile_value *value = profile_value_at(&table->values, index);
    uint32_t process = profile->threads[value->thread_id - 1].process_id;
    const struct heap_level *level = watched_level(&profile->heap, process);

    if (level && table->past[index].epoch == level->epoch)
        return table->past[index].amounts;
    return value->amounts;
}

/* ---- The sink ---- */

/* Whose a block is, or a release.  */
struct place {
    uint32_t thread, process; /* ids */
    struct heap_level *level; /* of the process */
};

static enum profile_status find_place(struct profile *profile, uint64_t process, uint64_t thread,
                                      struct place *out)
{
    enum profile_status status = profile_find_owner(profile, process, thread, &out->thread);

    if (status != PROFILE_OK)
        return status;
    out->process = profile->threads[out->thread - 1].process_id;
    return process_level(&profile->heap, out->process, &out->level);
}

/* The time from one event to another, for what goes by age.  */
struct age {
    bool known;
    uint64_t ns;
};

static struct age age_of(const struct profile_heap *heap, bool has_time, int64_t ts_ns,
                         const struct profile_allocation *allocation)
{
    bool known = heap->options.ages && has_time && allocation->has_time;

    if (!known || ts_ns <= allocation->ts_ns)
        return (struct age){ .known = known };
    return (struct age){ true, (uint64_t)ts_ns - (uint64_t)allocation->ts_ns };
}

/* The value of a call site there, which is about to change.  */
static enum profile_status find_aged_value(struct profile *profile, struct heap_table *table,
                                           uint32_t callsite, const struct place *place,
                                           struct age age, struct profile_value **out)
{
    uint32_t owner = place->thread;
    enum profile_status status = PROFILE_OK;

    if (age.known)
        status = profile_find_aged(profile, place->thread, age.ns, &owner);
    if (status != PROFILE_OK)
        return status;
    return find_value(table, callsite, owner, watched_level(&profile->heap, place->process), out);
}

static void add_amounts(uint64_t *amounts, const struct profile_allocation *allocation)
{
    amounts[0] = profile_add(amounts[0],
                             profile_to_units(allocation->objects, PROFILE_OBJECT_UNITS));
    amounts[1] = profile_add(amounts[1], profile_to_units(allocation->bytes, PROFILE_BYTE_UNITS));
}

/* The block is in use.  */
static enum profile_status add_live(struct profile *profile, const struct place *place,
                                    const struct profile_allocation *allocation, struct age age)
{
    struct profile_value *value;
    enum profile_status status = find_aged_value(profile, &profile->heap.blocks,
                                                 allocation->callsite, place, age, &value);

    if (status == PROFILE_OK)
        add_amounts(&value->amounts[LIVE_OBJECTS], allocation);
    return status;
}

/* Where ages are asked for, a block is counted when its age is known.  */
static enum profile_status take_allocation(void *context,
                                           const struct profile_allocation *allocation)
{
    struct profile *profile = context;
    struct profile_heap *heap = &profile->heap;
    uint64_t bytes = profile_to_units(allocation->bytes, PROFILE_BYTE_UNITS);
    struct place place;
    enum profile_status status;

    if (is_later(heap, allocation->has_time, allocation->ts_ns))
        return PROFILE_OK;
    status = profile_heap_advance(profile, allocation->has_time, allocation->ts_ns);
    if (status == PROFILE_OK)
        status = find_place(profile, allocation->process_koid, allocation->thread_koid, &place);
    if (status == PROFILE_OK && !heap->options.ages)
        status = add_live(profile, &place, allocation, (struct age){ .known = false });
    if (status != PROFILE_OK)
        return status;
    raise(place.level, bytes, allocation->has_time, allocation->ts_ns);
    raise(&heap->total, bytes, allocation->has_time, allocation->ts_ns);
    heap->blocks.values.samples++;
    if (allocation->interval_bytes > heap->interval_bytes)
        heap->interval_bytes = allocation->interval_bytes;
    return PROFILE_OK;
}

/* The block leaves the stack that allocated it.  */
static enum profile_status end_block(struct profile *profile,
                                     const struct profile_allocation *allocation, struct age age)
{
    struct profile_heap *heap = &profile->heap;
    uint64_t bytes = profile_to_units(allocation->bytes, PROFILE_BYTE_UNITS);
    struct profile_value *value;
    struct place place;
    enum profile_status status = find_place(profile, allocation->process_koid,
                                            allocation->thread_koid, &place);

    if (status == PROFILE_OK)
        status = find_aged_value(profile, &heap->blocks, allocation->callsite, &place, age, &value);
    if (status != PROFILE_OK)
        return status;
    if (!heap->options.ages) {
        subtract(&value->amounts[LIVE_OBJECTS],
                 profile_to_units(allocation->objects, PROFILE_OBJECT_UNITS));
        subtract(&value->amounts[LIVE_BYTES], bytes);
    }
    add_amounts(&value->amounts[GONE_OBJECTS], allocation);
    subtract(&place.level->live, bytes);
    subtract(&heap->total.live, bytes);
    return PROFILE_OK;
}

/* It is counted at the stack of its release.  If no release was recorded, nothing is counted.  */
static enum profile_status count_release(struct profile *profile,
                                         const struct profile_release *release, struct age age)
{
    struct profile_heap *heap = &profile->heap;
    struct profile_value *value;
    struct place place;
    enum profile_status status;

    if (release->assumed)
        return PROFILE_OK;
    status = find_place(profile, release->process_koid, release->thread_koid, &place);
    if (status == PROFILE_OK)
        status = find_aged_value(profile, &heap->releases, release->callsite, &place, age, &value);
    if (status != PROFILE_OK)
        return status;
    add_amounts(value->amounts, release->allocation);
    heap->releases.values.samples++;
    return PROFILE_OK;
}

/* In use at time ts_ns, when it ends: of those that count by age.  */
static enum profile_status take_survivor(struct profile *profile, bool has_time, int64_t ts_ns,
                                         const struct profile_allocation *allocation)
{
    struct profile_heap *heap = &profile->heap;
    struct place place;
    enum profile_status status;

    if (heap->options.at == PROFILE_HEAP_AT_TIME && ts_ns > heap->until_ns)
        ts_ns = heap->until_ns;
    status = find_place(profile, allocation->process_koid, allocation->thread_koid, &place);
    if (status != PROFILE_OK)
        return status;
    return add_live(profile, &place, allocation, age_of(heap, has_time, ts_ns, allocation));
}

static enum profile_status take_release(void *context, const struct profile_release *release)
{
    const struct profile_allocation *allocation = release->allocation;
    struct profile *profile = context;
    struct profile_heap *heap = &profile->heap;
    struct age age = age_of(heap, release->has_time, release->ts_ns, allocation);
    enum profile_status status;

    /* Times need not be in order: a block may have been released before it counted.  */
    if (is_later(heap, allocation->has_time, allocation->ts_ns))
        return PROFILE_OK;
    if (is_later(heap, release->has_time, release->ts_ns))
        return heap->options.ages
                   ? take_survivor(profile, release->has_time, release->ts_ns, allocation)
                   : PROFILE_OK;
    status = profile_heap_advance(profile, release->has_time, release->ts_ns);
    if (status == PROFILE_OK)
        status = end_block(profile, allocation, age);
    return status == PROFILE_OK ? count_release(profile, release, age) : status;
}

static enum profile_status take_in_use(void *context, const struct profile_in_use *in_use)
{
    struct profile *profile = context;

    if (is_later(&profile->heap, in_use->allocation->has_time, in_use->allocation->ts_ns))
        return PROFILE_OK;
    return take_survivor(profile, in_use->has_time, in_use->ts_ns, in_use->allocation);
}

static enum profile_status take_resident(void *context, const struct profile_resident *resident)
{
    struct profile *profile = context;
    struct place place;
    enum profile_status status = find_place(profile, resident->process_koid, 0, &place);

    if (status == PROFILE_OK && resident->peak_bytes > place.level->resident_bytes)
        place.level->resident_bytes = resident->peak_bytes;
    return status;
}

static void clear_table(struct heap_table *table)
{
    profile_values_clear(&table->values);
    free(table->past);
    table->past = NULL;
    table->past_count = table->past_capacity = 0;
}

static void forget_trace(struct profile_heap *heap)
{
    clear_table(&heap->blocks);
    clear_table(&heap->releases);
    heap->total = (struct heap_level){ .live = 0 };
    free(heap->processes);
    heap->processes = NULL;
    heap->process_count = heap->process_capacity = 0;
}

void profile_heap_take_sink(struct profile *profile, struct profile_sink *out)
{
    forget_trace(&profile->heap);
    profile_heap_forget_partials(&profile->heap);
    out->allocation = take_allocation;
    out->release = take_release;
    out->resident = take_resident;
    if (profile->heap.options.ages)
        out->in_use = take_in_use;
}

/* ---- The end of a trace ---- */

static bool is_nothing(const uint64_t *amounts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (amounts[i])
            return false;
    return true;
}

enum profile_status profile_heap_add_block(struct profile *profile, profile_id callsite,
                                           uint32_t thread, const uint64_t *amounts)
{
    struct profile_values *values = &profile->values[PROFILE_HEAP];
    uint64_t allocated = profile_add(amounts[LIVE_OBJECTS], amounts[GONE_OBJECTS]);
    uint64_t allocated_bytes = profile_add(amounts[LIVE_BYTES], amounts[GONE_BYTES]);
    const uint64_t pprof[] = { allocated, allocated_bytes, amounts[LIVE_OBJECTS],
                               amounts[LIVE_BYTES] };
    const uint64_t fuchsia[] = {
        amounts[LIVE_OBJECTS], amounts[LIVE_BYTES], allocated, allocated_bytes, 0, 0
    };

    if (is_nothing(amounts, 4))
        return PROFILE_OK;
    return profile_values_add(values, callsite, thread, values->types == 6 ? fuchsia : pprof, NULL);
}

enum profile_status profile_heap_add_release(struct profile *profile, profile_id callsite,
                                             uint32_t thread, const uint64_t *amounts)
{
    const uint64_t fuchsia[] = { 0, 0, 0, 0, amounts[0], amounts[1] };
    enum profile_status status = PROFILE_OK;

    if (is_nothing(amounts, 2))
        return PROFILE_OK;
    if (profile->values[PROFILE_HEAP].types == 6)
        status = profile_values_add(&profile->values[PROFILE_HEAP], callsite, thread, fuchsia,
                                    NULL);
    if (status == PROFILE_OK)
        status = profile_values_add(&profile->values[PROFILE_HEAP_FREE], callsite, thread, amounts,
                                    NULL);
    return status;
}

enum profile_status profile_heap_unknown(struct profile *profile, profile_id *out)
{
    profile_id frame;
    enum profile_status status = profile_stacks_function_frame(
        profile->stacks, PROFILE_UNKNOWN, strlen(PROFILE_UNKNOWN), &frame, NULL);

    if (status == PROFILE_OK)
        status = profile_stacks_callsite(profile->stacks, 0, frame, out, NULL);
    return status;
}

static enum profile_status add_table(struct profile *profile, const struct heap_table *table,
                                     const profile_id *final, uint32_t count, heap_add_fn *add)
{
    enum profile_status status = PROFILE_OK;

    for (size_t i = 0; i < table->values.count && status == PROFILE_OK; i++) {
        const struct profile_value *value = profile_value_at(&table->values, i);
        profile_id callsite;

        if (value->callsite > count)
            return PROFILE_INVALID;
        callsite = final[value->callsite];
        if (value->callsite == 0)
            status = profile_heap_unknown(profile, &callsite);
        if (status == PROFILE_OK)
            status = add(profile, callsite, value->thread_id, final_amounts(profile, table, i));
    }
    return status;
}

static struct profile_heap_peak peak_of(const struct heap_level *level, uint64_t process)
{
    return (struct profile_heap_peak){
        .process_koid = process,
        .bytes = level->peak / PROFILE_BYTE_UNITS,
        .has_time = level->has_time,
        .ts_ns = level->peak_ns,
        .resident_bytes = level->resident_bytes,
    };
}

static enum profile_status list_peaks(struct profile *profile)
{
    struct profile_heap *heap = &profile->heap;

    free(heap->peaks);
    heap->peak_count = 0;
    heap->peaks = calloc(heap->process_count + 1, sizeof *heap->peaks);
    if (!heap->peaks)
        return PROFILE_NO_MEMORY;
    if (heap->total.epoch > 0)
        heap->peaks[heap->peak_count++] = peak_of(&heap->total, 0);
    for (size_t i = 0; i < heap->process_count; i++)
        if (heap->processes[i].epoch > 0)
            heap->peaks[heap->peak_count++] = peak_of(&heap->processes[i],
                                                      profile->processes[i].koid);
    if (heap->peak_count == 2)
        heap->peaks[0].resident_bytes = heap->peaks[1].resident_bytes;
    return PROFILE_OK;
}

static void add_samples(struct profile_values *values, const struct profile_values *more)
{
    values->samples += more->samples;
    if (more->has_first)
        profile_values_note_times(values, more->first_ns, more->last_ns);
}

enum profile_status profile_heap_take_callsites(struct profile *profile, const profile_id *final,
                                                uint32_t count)
{
    struct profile_heap *heap = &profile->heap;
    enum profile_status status = list_peaks(profile);

    if (status != PROFILE_OK)
        return status;
    add_samples(&profile->values[PROFILE_HEAP], &heap->blocks.values);
    add_samples(&profile->values[PROFILE_HEAP_FREE], &heap->releases.values);
    if (heap->options.every_ns) {
        status = profile_heap_end_partials(profile, final, count);
    } else {
        status = add_table(profile, &heap->blocks, final, count, profile_heap_add_block);
        if (status == PROFILE_OK)
            status = add_table(profile, &heap->releases, final, count, profile_heap_add_release);
    }
    forget_trace(&profile->heap);
    return status;
}

const struct profile_heap_peak *profile_heap_peaks(const struct profile *profile, size_t *count)
{
    *count = profile->heap.peak_count;
    return profile->heap.peaks;
}

void profile_heap_release(struct profile *profile)
{
    forget_trace(&profile->heap);
    profile_heap_forget_partials(&profile->heap);
    free(profile->heap.peaks);
}
