/* profile.c - the sink that adds samples and slices up.  */
#include <stdlib.h>
#include <string.h>

#include "libprofile/aggregate.h"

const char *profile_kind_name(enum profile_kind kind)
{
    static const char *const names[PROFILE_KINDS] = { "cpu",  "heap", "heap-free",
                                                      "insn", "span", "offcpu" };

    return (unsigned)kind < PROFILE_KINDS ? names[kind] : "unknown";
}

/* ---- Opening and closing ---- */

enum profile_status profile_open(struct profile **out, struct profile_error *error)
{
    struct profile *profile = calloc(1, sizeof *profile);
    enum profile_status status;

    if (!profile)
        return profile_no_memory(error);
    for (int kind = 0; kind < PROFILE_KINDS; kind++)
        profile->values[kind].types = kind == PROFILE_HEAP ? 4 : kind == PROFILE_INSN ? 3 : 2;
    profile->pending.types = 2;
    profile->cpu_types[0] = profile_known_types(PROFILE_CPU, &profile->cpu_type_count)[0];
    profile->cpu_types[1] = profile_known_types(PROFILE_CPU, &profile->cpu_type_count)[1];
    profile->cpu_slot = 1;
    profile->heap.blocks.values.types = 4;
    profile->heap.releases.values.types = 2;
    status = profile_stacks_open(&profile->stacks, error);
    if (status != PROFILE_OK) {
        profile_close(profile);
        return status;
    }
    *out = profile;
    return PROFILE_OK;
}

void profile_values_clear(struct profile_values *values)
{
    free(values->items);
    free(values->hints);
    base_index_release(&values->index);
    *values = (struct profile_values){ .types = values->types };
}

void profile_close(struct profile *profile)
{
    if (!profile)
        return;
    for (int kind = 0; kind < PROFILE_KINDS; kind++)
        profile_values_clear(&profile->values[kind]);
    profile_values_clear(&profile->pending);
    free(profile->sums);
    free(profile->event_slots);
    profile_times_close(profile->times);
    profile_heap_release(profile);
    base_index_release(&profile->process_index);
    base_index_release(&profile->thread_index);
    free(profile->processes);
    free(profile->threads);
    free(profile->places);
    free(profile->kernel_symbols);
    free(profile->coverage);
    profile_stacks_close(profile->stacks);
    free(profile);
}

struct profile_stacks *profile_stacks_of(struct profile *profile)
{
    return profile->stacks;
}

/* ---- Tables ---- */

/* Room for one more item; the messages of a sink are the ingest's.  */
static enum profile_status reserve(void **items, size_t *capacity, size_t count, size_t size,
                                   struct base_index *index)
{
    if (count >= UINT32_MAX - 1)
        return PROFILE_LIMIT;
    if (!base_make_room(&*items, capacity, count + 1, size))
        return PROFILE_NO_MEMORY;
    return base_index_reserve(index) ? PROFILE_OK : PROFILE_NO_MEMORY;
}

static enum profile_status find_process(struct profile *profile, uint64_t koid, uint32_t *out)
{
    uint64_t hash = base_hash(koid, 0);
    enum profile_status status;
    size_t probe;

    for (*out = base_index_first(&profile->process_index, hash, &probe); *out;
         *out = base_index_next(&profile->process_index, hash, &probe))
        if (profile->processes[*out - 1].koid == koid)
            return PROFILE_OK;
    void *items = profile->processes;
    status = reserve(&items, &profile->process_capacity, profile->process_count,
                     sizeof *profile->processes, &profile->process_index);
    profile->processes = items;
    if (status != PROFILE_OK)
        return status;
    profile->processes[profile->process_count++] = (struct profile_owner_process){ .koid = koid };
    *out = (uint32_t)profile->process_count;
    base_index_add(&profile->process_index, hash, *out);
    return PROFILE_OK;
}

static enum profile_status add_owner(struct profile *profile, const struct profile_owner *owner,
                                     uint64_t hash, uint32_t *out)
{
    void *items = profile->threads;
    enum profile_status status = reserve(&items, &profile->thread_capacity, profile->thread_count,
                                         sizeof *profile->threads, &profile->thread_index);

    profile->threads = items;
    if (status != PROFILE_OK)
        return status;
    profile->threads[profile->thread_count++] = *owner;
    *out = (uint32_t)profile->thread_count;
    base_index_add(&profile->thread_index, hash, *out);
    return PROFILE_OK;
}

static bool is_owner(const struct profile_owner *owner, uint64_t process, uint64_t koid,
                     uint8_t age)
{
    return owner->process_koid == process && owner->koid == koid && owner->age == age;
}

enum profile_status profile_find_owner(struct profile *profile, uint64_t process, uint64_t koid,
                                       uint32_t *out)
{
    uint64_t hash = base_hash(process, koid);
    struct profile_owner owner = { .process_koid = process, .koid = koid };
    enum profile_status status;
    size_t probe;

    *out = profile->last_thread;
    if (*out && is_owner(&profile->threads[*out - 1], process, koid, 0))
        return PROFILE_OK;
    for (*out = base_index_first(&profile->thread_index, hash, &probe); *out;
         *out = base_index_next(&profile->thread_index, hash, &probe))
        if (is_owner(&profile->threads[*out - 1], process, koid, 0)) {
            profile->last_thread = *out;
            return PROFILE_OK;
        }
    status = find_process(profile, process, &owner.process_id);
    if (status == PROFILE_OK)
        status = add_owner(profile, &owner, hash, out);
    if (status == PROFILE_OK)
        profile->last_thread = *out;
    return status;
}

uint64_t profile_age_ns(uint8_t age)
{
    uint64_t least_ns = 1000;

    if (age <= 1)
        return 0;
    for (uint8_t i = 2; i < age; i++)
        least_ns *= 10;
    return least_ns;
}

enum profile_status profile_find_aged(struct profile *profile, uint32_t thread, uint64_t age_ns,
                                      uint32_t *out)
{
    struct profile_owner owner = profile->threads[thread - 1];
    uint64_t hash;
    size_t probe;

    for (owner.age = 1; age_ns >= 1000; age_ns /= 10) /* at most 18 times */
        owner.age++;
    owner.base = thread;
    hash = base_hash(base_hash(owner.process_koid, owner.koid), owner.age);
    for (*out = base_index_first(&profile->thread_index, hash, &probe); *out;
         *out = base_index_next(&profile->thread_index, hash, &probe))
        if (is_owner(&profile->threads[*out - 1], owner.process_koid, owner.koid, owner.age))
            return PROFILE_OK;
    return add_owner(profile, &owner, hash, out);
}

static size_t value_size(const struct profile_values *values)
{
    return sizeof(struct profile_value) + values->types * sizeof(uint64_t);
}

static enum profile_status find_value(struct profile_values *values, profile_id callsite,
                                      uint32_t thread, size_t *out)
{
    uint64_t hash = base_hash(callsite, thread);
    enum profile_status status;
    struct profile_value *value;
    size_t probe;
    uint32_t id;

    for (id = base_index_first(&values->index, hash, &probe); id;
         id = base_index_next(&values->index, hash, &probe)) {
        value = profile_value_at(values, id - 1);
        if (value->callsite == callsite && value->thread_id == thread) {
            *out = id - 1;
            return PROFILE_OK;
        }
    }
    void *items = values->items;
    status = reserve(&items, &values->capacity, values->count, value_size(values), &values->index);
    values->items = items;
    if (status != PROFILE_OK)
        return status;
    value = profile_value_at(values, values->count);
    memset(value, 0, value_size(values));
    value->callsite = callsite;
    value->thread_id = thread;
    *out = values->count++;
    base_index_add(&values->index, hash, (uint32_t)values->count);
    return PROFILE_OK;
}

static void add_amounts(const struct profile_values *values, struct profile_value *value,
                        const uint64_t *amounts)
{
    for (size_t i = 0; i < values->types; i++)
        value->amounts[i] = profile_add(value->amounts[i], amounts[i]);
}

enum profile_status profile_values_add(struct profile_values *values, profile_id callsite,
                                       uint32_t thread, const uint64_t *amounts, size_t *out)
{
    size_t at;
    enum profile_status status = find_value(values, callsite, thread, &at);

    if (status != PROFILE_OK)
        return status;
    add_amounts(values, profile_value_at(values, at), amounts);
    if (out)
        *out = at;
    return PROFILE_OK;
}

/* The same for samples, most of which repeat one of the same thread: values->hints has, by call
 * site, 1 + the index of the value that was added to last.  */
static enum profile_status add_sample(struct profile_values *values, profile_id callsite,
                                      uint32_t thread, const uint64_t *amounts)
{
    enum profile_status status;
    struct profile_value *value;
    size_t at = callsite < values->hint_count ? values->hints[callsite] : 0;

    if (at > 0 && at <= values->count) {
        value = profile_value_at(values, at - 1);
        if (value->callsite == callsite && value->thread_id == thread) {
            add_amounts(values, value, amounts);
            return PROFILE_OK;
        }
    }
    status = profile_values_add(values, callsite, thread, amounts, &at);
    if (status != PROFILE_OK)
        return status;
    if (callsite >= values->hint_count) {
        if (!base_make_room(&values->hints, &values->hint_capacity, (size_t)callsite + 1,
                            sizeof *values->hints))
            return PROFILE_NO_MEMORY;
        memset(values->hints + values->hint_count, 0,
               (callsite + (size_t)1 - values->hint_count) * sizeof *values->hints);
        values->hint_count = (size_t)callsite + 1;
    }
    values->hints[callsite] = (uint32_t)at + 1;
    return PROFILE_OK;
}

/* ---- The sink ---- */

void profile_values_note_times(struct profile_values *values, int64_t start_ns, int64_t end_ns)
{
    if (!values->has_first || start_ns < values->first_ns)
        values->first_ns = start_ns;
    if (!values->has_first || end_ns > values->last_ns)
        values->last_ns = end_ns;
    values->has_first = true;
}

/* The trace is over: its times join those of the traces before.  */
static void close_times(const struct profile *profile, struct profile_values *values)
{
    int64_t time_ns;

    if (values->has_first) {
        values->duration_ns = profile_add(values->duration_ns,
                                          (uint64_t)values->last_ns - (uint64_t)values->first_ns);
        if (profile->has_clock &&
            !__builtin_add_overflow(profile->clock_ns, values->first_ns, &time_ns) &&
            (values->time_ns == 0 || time_ns < values->time_ns))
            values->time_ns = time_ns;
    }
    values->has_first = false;
}

/* The program of a command line, for finding the main binary: up to the first blank.  */
static size_t first_word(const struct fxt_string *command)
{
    size_t length = 0;

    while (length < command->length && command->bytes[length] != ' ')
        length++;
    return length;
}

static enum profile_status take_origin(struct profile *profile,
                                       const struct profile_capture *capture)
{
    struct profile_origin *origin = &profile->origin;
    const struct {
        const struct fxt_string *from;
        profile_id *to;
    } strings[] = { { &capture->command, &origin->command },
                    { &capture->arch, &origin->arch },
                    { &capture->kernel, &origin->kernel },
                    { &capture->cpu_model, &origin->cpu_model } };
    enum profile_status status = PROFILE_OK;

    origin->period_ns = capture->period_ns;
    for (size_t i = 0; i < sizeof strings / sizeof *strings && status == PROFILE_OK; i++)
        status = profile_stacks_string(profile->stacks, strings[i].from->bytes,
                                       strings[i].from->length, strings[i].to, NULL);
    return status;
}

static enum profile_status take_capture(void *context, const struct profile_capture *capture)
{
    struct profile *profile = context;
    enum profile_status status;

    if (capture->period_ns > profile->period_ns)
        profile->period_ns = capture->period_ns;
    profile->has_clock = capture->has_clock &&
                         !__builtin_sub_overflow(capture->realtime_ns, capture->monotonic_ns,
                                                 &profile->clock_ns);
    status = take_origin(profile, capture);
    if (profile->command != 0 || status != PROFILE_OK)
        return status;
    return profile_stacks_string(profile->stacks, capture->command.bytes,
                                 first_word(&capture->command), &profile->command, NULL);
}

static enum profile_status take_process(void *context, const struct profile_process *process)
{
    struct profile *profile = context;
    uint32_t id;
    enum profile_status status = find_process(profile, process->koid, &id);

    if (status != PROFILE_OK || process->name.length == 0)
        return status;
    return profile_stacks_string(profile->stacks, process->name.bytes, process->name.length,
                                 &profile->processes[id - 1].name, NULL);
}

static enum profile_status take_thread(void *context, const struct profile_thread *thread)
{
    struct profile *profile = context;
    uint32_t id;
    enum profile_status status = profile_find_owner(profile, thread->process_koid, thread->koid,
                                                    &id);

    if (status != PROFILE_OK || thread->name.length == 0)
        return status;
    return profile_stacks_string(profile->stacks, thread->name.bytes, thread->name.length,
                                 &profile->threads[id - 1].name, NULL);
}

/* Widen the range of the module's addresses.  */
static enum profile_status take_mapping(void *context, const struct profile_mapping *mapping)
{
    struct profile *profile = context;
    uint64_t last = mapping->vaddr + (mapping->limit - mapping->start - 1);
    struct profile_place *place;

    if (mapping->module > profile->place_count) {
        if (!base_make_room(&profile->places, &profile->place_capacity, mapping->module,
                            sizeof *profile->places))
            return PROFILE_NO_MEMORY;
        memset(profile->places + profile->place_count, 0,
               (mapping->module - profile->place_count) * sizeof *profile->places);
        profile->place_count = mapping->module;
    }
    place = &profile->places[mapping->module - 1];
    if (last < mapping->vaddr) /* wraps around within the module: nothing sane to show */
        last = UINT64_MAX;
    if (!place->mapped)
        *place = (struct profile_place){ .vaddr = mapping->vaddr,
                                         .last = last,
                                         .bias = mapping->start - mapping->vaddr,
                                         .mapped = true,
                                         .process_koid = mapping->process_koid };
    if (mapping->vaddr < place->vaddr)
        place->vaddr = mapping->vaddr;
    if (last > place->last)
        place->last = last;
    return PROFILE_OK;
}

/* Give all values of CPU samples room for one more type.  */
static bool widen(struct profile_values *values)
{
    size_t old = value_size(values), size = old + sizeof(uint64_t);
    uint8_t *items = values->capacity ? calloc(values->capacity, size) : NULL;

    if (values->capacity && !items)
        return false;
    for (size_t i = 0; items && i < values->count; i++)
        memcpy(items + i * size, (const uint8_t *)values->items + i * old, old);
    free(values->items);
    values->items = (void *)items;
    values->types++;
    return true;
}

/* The place of a type among those of CPU samples, made if need be; 0: there is no room for it.  The
 * first event takes the place of the CPU's time in a profile that has none.  */
static enum profile_status find_slot(struct profile *profile, const struct profile_known_type *type,
                                     size_t *out)
{
    bool has_time = profile->period_ns > 0 || profile->pending.samples > 0 ||
                    profile->values[PROFILE_CPU].samples > 0;

    for (*out = 1; *out < profile->cpu_type_count; ++*out)
        if (strcmp(profile->cpu_types[*out].type, type->type) == 0 &&
            strcmp(profile->cpu_types[*out].unit, type->unit) == 0)
            return PROFILE_OK;
    if (profile->cpu_slot == 1 && profile->cpu_type_count == 2 && !has_time) {
        profile->cpu_slot = 0;
        *out = 1;
    } else if (profile->cpu_type_count < PROFILE_MAX_TYPES) {
        if (!widen(&profile->values[PROFILE_CPU]) || !widen(&profile->pending))
            return PROFILE_NO_MEMORY;
        *out = profile->cpu_type_count++;
    } else {
        *out = 0;
        return PROFILE_OK;
    }
    profile->cpu_types[*out] = *type;
    return PROFILE_OK;
}

static enum profile_status take_event(void *context, const struct profile_event *event)
{
    struct profile *profile = context;
    struct profile_known_type type = { .kind = PROFILE_CPU, .units = 1 };
    profile_id name, unit;
    enum profile_status status = profile_stacks_string(profile->stacks, event->name.bytes,
                                                       event->name.length, &name, NULL);
    size_t slot;

    if (status == PROFILE_OK)
        status = profile_stacks_string(profile->stacks, event->unit.bytes, event->unit.length,
                                       &unit, NULL);
    if (status != PROFILE_OK)
        return status;
    type.type = profile_stacks_text(profile->stacks, name, NULL);
    type.unit = profile_stacks_text(profile->stacks, unit, NULL);
    status = find_slot(profile, &type, &slot);
    if (status != PROFILE_OK)
        return status;
    if (!base_make_room(&profile->event_slots, &profile->event_capacity, profile->event_count + 1,
                        sizeof *profile->event_slots))
        return PROFILE_NO_MEMORY;
    profile->event_slots[profile->event_count++] = slot;
    return PROFILE_OK;
}

/* Where the weight of a sample belongs.  */
static enum profile_status slot_of(struct profile *profile, uint32_t event, uint64_t weight_ns,
                                   size_t *out)
{
    *out = profile->cpu_slot;
    if (event != 0)
        *out = event <= profile->event_count ? profile->event_slots[event - 1] : 0;
    else if (*out == 0 && weight_ns > 0) {
        size_t count;
        enum profile_status status = find_slot(profile,
                                               &profile_known_types(PROFILE_CPU, &count)[1], out);

        profile->cpu_slot = *out;
        return status;
    }
    return PROFILE_OK;
}

static enum profile_status take_sample(void *context, const struct profile_sample *sample)
{
    struct profile *profile = context;
    uint64_t amounts[PROFILE_MAX_TYPES] = { 0 };
    size_t slot;
    uint32_t thread;
    enum profile_status status = profile_find_owner(profile, sample->process_koid,
                                                    sample->thread_koid, &thread);

    if (status == PROFILE_OK)
        status = slot_of(profile, sample->event, sample->weight_ns, &slot);
    if (status != PROFILE_OK)
        return status;
    profile_values_note_times(&profile->pending, sample->ts_ns, sample->ts_ns);
    profile->pending.samples++;
    profile->pending.unweighed += sample->weight_ns == 0 && sample->event == 0;
    amounts[slot] = sample->event ? sample->amount : sample->weight_ns;
    amounts[0] = 1;
    if (profile->times) {
        const struct profile_kept kept = { .ts_ns = sample->ts_ns,
                                           .weight_ns = amounts[slot],
                                           .slot = (uint32_t)slot,
                                           .callsite = sample->callsite,
                                           .thread_id = thread,
                                           .cpu = sample->cpu };

        status = profile_times_add(profile->times, &kept, &profile->failure);
    }
    if (status != PROFILE_OK)
        return status;
    return add_sample(&profile->pending, sample->callsite, thread, amounts);
}

/* Whose sample it is was left out, as in settle_sums().  */
static enum profile_status take_event_sum(struct profile *profile,
                                          const struct profile_sample_sum *told)
{
    uint64_t amounts[PROFILE_MAX_TYPES] = { 0 };
    uint32_t thread;
    size_t slot;
    enum profile_status status = profile_find_owner(profile, 0, 0, &thread);

    if (status == PROFILE_OK)
        status = slot_of(profile, told->event, 0, &slot);
    if (status != PROFILE_OK)
        return status;
    amounts[slot] = told->amount;
    amounts[0] = told->count;
    profile->pending.samples = profile_add(profile->pending.samples, told->count);
    return profile_values_add(&profile->pending, told->callsite, thread, amounts, NULL);
}

/* In place of take_sample(), once a stack.  */
static enum profile_status take_sample_sum(void *context, const struct profile_sample_sum *told)
{
    struct profile *profile = context;
    struct profile_stack_sum *sum;

    if (told->event != 0)
        return take_event_sum(profile, told);
    if (told->callsite > profile->sum_count) {
        if (!base_make_room(&profile->sums, &profile->sum_capacity, told->callsite,
                            sizeof *profile->sums))
            return PROFILE_NO_MEMORY;
        memset(profile->sums + profile->sum_count, 0,
               (told->callsite - profile->sum_count) * sizeof *profile->sums);
        profile->sum_count = told->callsite;
    }
    sum = &profile->sums[told->callsite - 1];
    sum->count = profile_add(sum->count, told->count);
    sum->weight_ns = profile_add(sum->weight_ns, told->weight_ns);
    profile->pending.samples = profile_add(profile->pending.samples, told->count);
    if (told->weight_ns == 0)
        profile->pending.unweighed = profile_add(profile->pending.unweighed, told->count);
    return PROFILE_OK;
}

/* In place of take_sample(), once a stack of a thread.  */
static enum profile_status take_thread_sum(void *context, const struct profile_sample_sum *told)
{
    struct profile *profile = context;
    struct profile_values *values = &profile->pending;
    uint64_t amounts[PROFILE_MAX_TYPES] = { 0 };
    size_t slot;
    uint32_t thread;
    enum profile_status status = profile_find_owner(profile, told->process_koid, told->thread_koid,
                                                    &thread);

    if (status == PROFILE_OK)
        status = slot_of(profile, told->event, told->weight_ns, &slot);
    if (status != PROFILE_OK)
        return status;
    profile_values_note_times(values, told->first_ns, told->last_ns);
    values->samples = profile_add(values->samples, told->count);
    if (told->weight_ns == 0 && told->event == 0)
        values->unweighed = profile_add(values->unweighed, told->count);
    amounts[slot] = told->event ? told->amount : told->weight_ns;
    amounts[0] = told->count;
    return profile_values_add(values, told->callsite, thread, amounts, NULL);
}

static enum profile_status take_span(void *context, const struct profile_span *span)
{
    struct profile *profile = context;
    struct profile_values *values = &profile->values[PROFILE_SPAN];
    uint32_t thread;
    enum profile_status status = profile_find_owner(profile, span->process_koid, span->thread_koid,
                                                    &thread);

    if (status != PROFILE_OK)
        return status;
    profile_values_note_times(values, span->start_ns, span->end_ns);
    values->samples++;
    return profile_values_add(values, span->callsite, thread,
                              (const uint64_t[]){ 1, (uint64_t)span->self_ns }, NULL);
}

static enum profile_status take_executed(void *context, const struct profile_executed *executed)
{
    struct profile *profile = context;
    struct profile_values *values = &profile->values[PROFILE_INSN];
    const uint64_t amounts[] = { executed->instructions, executed->calls, executed->ns };
    uint32_t thread;
    enum profile_status status = profile_find_owner(profile, executed->process_koid,
                                                    executed->thread_koid, &thread);

    if (status != PROFILE_OK)
        return status;
    values->samples = profile_add(values->samples, executed->instructions);
    return profile_values_add(values, executed->callsite, thread, amounts, NULL);
}

static enum profile_status take_off_cpu(void *context, const struct profile_off_cpu *wait)
{
    struct profile *profile = context;
    struct profile_values *values = &profile->values[PROFILE_OFF_CPU];
    uint64_t duration_ns = (uint64_t)wait->end_ns - (uint64_t)wait->start_ns;
    uint32_t thread;
    enum profile_status status = profile_find_owner(profile, wait->process_koid, wait->thread_koid,
                                                    &thread);

    if (status != PROFILE_OK)
        return status;
    profile_values_note_times(values, wait->start_ns, wait->end_ns);
    values->samples++;
    return profile_values_add(values, wait->callsite, thread, (const uint64_t[]){ 1, duration_ns },
                              NULL);
}

/* Whose samples they are was left out: they belong to thread 0 of process 0.  */
static enum profile_status settle_sums(struct profile *profile, const profile_id *final,
                                       uint32_t count)
{
    uint32_t thread = 0;
    enum profile_status status = PROFILE_OK;

    if (profile->sum_count > 0)
        status = profile_find_owner(profile, 0, 0, &thread);
    if (profile->sum_count > count)
        return PROFILE_INVALID;
    for (size_t i = 0; i < profile->sum_count && status == PROFILE_OK; i++) {
        const struct profile_stack_sum *sum = &profile->sums[i];
        uint64_t amounts[PROFILE_MAX_TYPES] = { 0 };
        size_t slot;

        if (sum->count == 0)
            continue;
        status = slot_of(profile, 0, sum->weight_ns, &slot);
        if (status != PROFILE_OK)
            return status;
        amounts[slot] = sum->weight_ns;
        amounts[0] = sum->count;
        status = profile_values_add(&profile->values[PROFILE_CPU], final[i + 1], thread, amounts,
                                    NULL);
    }
    profile->sum_count = 0;
    return status;
}

static enum profile_status take_callsites(void *context, const profile_id *final, uint32_t count)
{
    struct profile *profile = context;
    struct profile_values *pending = &profile->pending, *values = &profile->values[PROFILE_CPU];
    enum profile_status status = PROFILE_OK;

    for (size_t i = 0; i < pending->count && status == PROFILE_OK; i++) {
        const struct profile_value *value = profile_value_at(pending, i);

        if (value->callsite == 0 || value->callsite > count)
            return PROFILE_INVALID;
        status = profile_values_add(values, final[value->callsite], value->thread_id,
                                    value->amounts, NULL);
    }
    if (status == PROFILE_OK)
        status = settle_sums(profile, final, count);
    values->samples += pending->samples;
    values->unweighed += pending->unweighed;
    if (pending->has_first)
        profile_values_note_times(values, pending->first_ns, pending->last_ns);
    profile_values_clear(pending);
    if (status == PROFILE_OK && profile->times)
        status = profile_times_settle(profile->times, final, count, &profile->failure);
    return status == PROFILE_OK ? profile_heap_take_callsites(profile, final, count) : status;
}

/* How many distinct stacks there are: threads share them.  */
static enum profile_status count_stacks(const struct profile *profile,
                                        struct profile_values *values)
{
    bool *seen = calloc((size_t)profile_stacks_callsite_count(profile->stacks) + 1, sizeof *seen);

    if (!seen)
        return PROFILE_NO_MEMORY;
    values->stacks = 0;
    for (size_t i = 0; i < values->count; i++) {
        profile_id callsite = profile_value_at(values, i)->callsite;

        values->stacks += !seen[callsite];
        seen[callsite] = true;
    }
    free(seen);
    return PROFILE_OK;
}

/* The last call of a trace.  */
static enum profile_status take_loss(void *context, const struct profile_loss *loss)
{
    struct profile *profile = context;
    enum profile_status status = PROFILE_OK;

    profile_loss_add(&profile->loss, loss);
    for (int kind = 0; kind < PROFILE_KINDS && status == PROFILE_OK; kind++) {
        close_times(profile, &profile->values[kind]);
        status = count_stacks(profile, &profile->values[kind]);
    }
    profile->has_clock = false;
    return status;
}

/* What an ingest before left behind that was given up belongs to call sites that nobody knows.  */
static void forget_unfinished(struct profile *profile)
{
    profile_values_clear(&profile->pending);
    if (profile->times)
        profile_times_forget(profile->times);
    profile->sum_count = 0;
    for (int kind = 0; kind < PROFILE_KINDS; kind++)
        profile->values[kind].has_first = false;
    profile->has_clock = false;
}

/* Symbols beyond this are left out: no kernel has so many.  */
#define MAX_KERNEL_SYMBOLS ((size_t)64 << 20)

static enum profile_status take_kernel_symbols(void *context, const char *text, size_t size)
{
    struct profile *profile = context;

    if (profile->kernel_symbols_done || size > MAX_KERNEL_SYMBOLS - profile->kernel_symbols_size)
        return PROFILE_OK;
    if (!base_make_room(&profile->kernel_symbols, &profile->kernel_symbols_capacity,
                        profile->kernel_symbols_size + size, 1))
        return PROFILE_NO_MEMORY;
    memcpy(profile->kernel_symbols + profile->kernel_symbols_size, text, size);
    profile->kernel_symbols_size += size;
    return PROFILE_OK;
}

void profile_omit_threads(struct profile *profile)
{
    profile->omits_threads = true;
}

void profile_omit_spans(struct profile *profile)
{
    profile->omits_spans = true;
}

void profile_sink_of(struct profile *profile, struct profile_sink *out)
{
    forget_unfinished(profile);
    profile->kernel_symbols_done = profile->kernel_symbols_size > 0;
    profile->origin = (struct profile_origin){ .period_ns = 0 };
    profile->failure = (struct profile_error){ .status = PROFILE_OK };
    *out = (struct profile_sink){
        .size = sizeof *out,
        .context = profile,
        .capture = take_capture,
        .process = take_process,
        .thread = take_thread,
        .mapping = take_mapping,
        .sample = take_sample,
        .span = take_span,
        .off_cpu = take_off_cpu,
        .executed = take_executed,
        .loss = take_loss,
        .kernel_symbols = take_kernel_symbols,
        .callsites = take_callsites,
        .error = &profile->failure,
        .event = take_event,
    };
    profile->event_count = 0;
    if (profile->omits_threads) {
        out->sample = NULL;
        out->sample_sum = take_sample_sum;
    } else if (!profile->times) {
        out->sample = NULL;
        out->sample_sum = take_thread_sum;
        out->sums_of_threads = true;
    }
    if (profile->omits_spans) {
        out->span = NULL;
        out->off_cpu = NULL;
    }
    profile_heap_take_sink(profile, out);
}

/* ---- Questions ---- */

uint64_t profile_sample_count(const struct profile *profile, enum profile_kind kind)
{
    return profile->values[kind].samples;
}

uint64_t profile_stack_count(const struct profile *profile, enum profile_kind kind)
{
    return profile->values[kind].stacks;
}

struct profile_origin profile_origin_of(const struct profile *profile)
{
    return profile->origin;
}

const char *profile_kernel_symbols_of(const struct profile *profile, size_t *size)
{
    *size = profile->kernel_symbols_size;
    return profile->kernel_symbols_size > 0 ? profile->kernel_symbols : "";
}

const struct profile_loss *profile_loss_of(const struct profile *profile)
{
    return &profile->loss;
}

/* ---- Sample types ---- */

const struct profile_known_type *profile_types(const struct profile *profile,
                                               enum profile_kind kind, size_t *count)
{
    const struct profile_values *values = &profile->values[kind];
    const struct profile_known_type *types = profile_known_types(kind, count);

    if (kind == PROFILE_HEAP && values->types == 6) /* by the names of Fuchsia's memory sampler */
        types = profile_known_type_find("residual_allocated_objects", NULL);
    *count = values->types;
    if (kind != PROFILE_CPU)
        return types;
    if (values->samples == 0 || (values->unweighed > 0 && profile->cpu_type_count == 2))
        *count = 1;
    return profile->cpu_types;
}

/* Time rather than counts; what is in use rather than what ever was.  */
size_t profile_default_type(const struct profile *profile, enum profile_kind kind)
{
    size_t count;

    (void)profile_types(profile, kind, &count);
    if (kind == PROFILE_CPU)
        return count > 1; /* of several events the first */
    return count == 6 ? 1 : count - 1;
}
