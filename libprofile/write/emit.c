/* emit.c - a profile, handed to whatever takes one entry by entry: a writer, a store.  */
#include <stdlib.h>

#include <fxt/profile_files.h>
#include "libprofile/write/emit_plan.h"

enum { LABELS_MAX = 5 };

struct emission {
    const struct pprof_plan *plan;
    const struct profile_pprof_sink *sink;
    struct profile_error *error;
    uint32_t *stack; /* scratch: locations of one sample */
    size_t stack_capacity;
    struct profile_pprof_line *lines; /* scratch: of one location */
    size_t line_capacity;
};

/* Profiles of other tools have signed values.  */
static int64_t to_int64(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* ---- Strings and the header ---- */

static enum profile_status emit_strings(struct emission *emission)
{
    const struct pprof_plan *plan = emission->plan;
    size_t count = (size_t)profile_stacks_string_count(plan->strings) + 1;
    struct profile_text *texts;
    enum profile_status status;

    if (!emission->sink->strings)
        return PROFILE_OK;
    texts = calloc(count, sizeof *texts);
    if (!texts)
        return profile_no_memory(emission->error);
    for (size_t i = 0; i < count; i++)
        texts[i].bytes = profile_stacks_text(plan->strings, (profile_id)i, &texts[i].length);
    status = emission->sink->strings(emission->sink->context, texts, count);
    free(texts);
    return status;
}

/* Samples that weigh nanoseconds were taken every period of them; blocks, one in the interval's
 * bytes on average; spans were not sampled.  */
static void fill_period(const struct pprof_plan *plan, struct profile_pprof_header *header)
{
    if (plan->kind == PROFILE_HEAP || plan->kind == PROFILE_HEAP_FREE) {
        header->has_period_type = true;
        header->period_type = (struct profile_pprof_type){ plan->texts[PPROF_SPACE],
                                                           plan->types[1].unit };
        header->period = to_int64(plan->profile->heap.interval_bytes);
    } else if (plan->kind == PROFILE_CPU && plan->type_count > 1 && plan->profile->cpu_slot > 0) {
        const struct pprof_type *time = &plan->types[plan->profile->cpu_slot];

        header->has_period_type = true;
        header->period_type = (struct profile_pprof_type){ time->type, time->unit };
        header->period = to_int64(plan->profile->period_ns);
    }
}

static enum profile_status emit_header(const struct emission *emission)
{
    const struct pprof_plan *plan = emission->plan;
    struct profile_pprof_type types[PROFILE_MAX_TYPES];
    struct profile_pprof_header header = {
        .types = types,
        .type_count = plan->type_count,
        .default_sample_type = plan->types[plan->default_type].type,
        .time_ns = plan->values->time_ns,
        .duration_ns = to_int64(plan->values->duration_ns),
        .mapping_count = plan->mapping_count,
        .function_count = plan->function_count,
        .location_count = plan->location_count,
        .sample_count = plan->sample_count,
    };

    for (size_t i = 0; i < plan->type_count; i++) {
        types[i] = (struct profile_pprof_type){ plan->types[i].type, plan->types[i].unit };
        if (plan->own_types[i].units > 1)
            header.parts = PROFILE_OBJECT_UNITS; /* the smallest units of all */
    }
    fill_period(plan, &header);
    return emission->sink->header ? emission->sink->header(emission->sink->context, &header)
                                  : PROFILE_OK;
}

/* ---- Mappings, functions, locations ---- */

static enum profile_status emit_mappings(const struct emission *emission)
{
    const struct pprof_plan *plan = emission->plan;
    enum profile_status status = PROFILE_OK;

    for (size_t i = 0; emission->sink->mapping && i < plan->mapping_count && status == PROFILE_OK;
         i++) {
        const struct pprof_mapping *from = &plan->mappings[i];
        struct profile_pprof_mapping mapping = {
            .id = i + 1,
            .start = from->start,
            .limit = from->limit,
            .file_offset = from->file_offset,
            .filename = from->file,
            .build_id = from->build_id,
            .has_functions = from->has_functions,
            .has_filenames = from->has_files,
            .has_line_numbers = from->has_lines,
            .has_inline_frames = from->has_inlines,
        };

        status = emission->sink->mapping(emission->sink->context, &mapping);
    }
    return status;
}

static enum profile_status emit_functions(const struct emission *emission)
{
    const struct pprof_plan *plan = emission->plan;
    enum profile_status status = PROFILE_OK;

    for (size_t i = 0; emission->sink->function && i < plan->function_count && status == PROFILE_OK;
         i++) {
        const struct pprof_function *from = &plan->functions[i];
        struct profile_pprof_function function = {
            .id = i + 1,
            .name = from->name,
            .system_name = from->system_name,
            .filename = from->file,
            .start_line = from->start_line,
        };

        status = emission->sink->function(emission->sink->context, &function);
    }
    return status;
}

static enum profile_status emit_location(struct emission *emission, size_t index)
{
    const struct pprof_plan *plan = emission->plan;
    const struct pprof_location *from = &plan->locations[index];
    struct profile_frame frame = profile_stacks_get_frame(plan->profile->stacks, from->frame);
    struct profile_pprof_location location = { .id = index + 1, .line_count = frame.line_count };

    if (!base_make_room(&emission->lines, &emission->line_capacity, frame.line_count,
                        sizeof *emission->lines))
        return profile_no_memory(emission->error);
    location.lines = emission->lines;
    for (uint32_t i = 0; i < frame.line_count; i++)
        emission->lines[i] =
            (struct profile_pprof_line){ .function = plan->lines[from->first_line + i],
                                         .line = frame.lines[i].line,
                                         .column = frame.lines[i].column };
    if (frame.module) {
        location.mapping = plan->module_mappings[frame.module];
        location.address = frame.vaddr + plan->mappings[location.mapping - 1].bias;
    }
    return emission->sink->location(emission->sink->context, &location);
}

static enum profile_status emit_locations(struct emission *emission)
{
    enum profile_status status = PROFILE_OK;

    for (size_t i = 0;
         emission->sink->location && i < emission->plan->location_count && status == PROFILE_OK;
         i++)
        status = emit_location(emission, i);
    return status;
}

/* ---- Threads ---- */

/* Those of one label set are one thread.  */
static enum profile_status emit_threads(const struct emission *emission)
{
    const struct pprof_plan *plan = emission->plan;
    enum profile_status status = PROFILE_OK;

    for (size_t i = 0; emission->sink->thread && i < plan->label_count && status == PROFILE_OK;
         i++) {
        const struct pprof_labels *from = &plan->labels[i];
        const struct profile_pprof_thread thread = { .process_name = from->process,
                                                     .name = from->thread,
                                                     .has_pid = true,
                                                     .pid = from->pid,
                                                     .has_tid = from->has_tid,
                                                     .tid = from->tid };

        status = emission->sink->thread(emission->sink->context, &thread);
    }
    return status;
}

/* ---- Samples ---- */

static size_t fill_labels(const struct pprof_plan *plan, const struct pprof_labels *from,
                          struct profile_pprof_label labels[LABELS_MAX])
{
    size_t count = 0;

    if (from->process)
        labels[count++] = (struct profile_pprof_label){ .key = plan->texts[PPROF_PROCESS],
                                                        .str = from->process };
    if (from->thread)
        labels[count++] = (struct profile_pprof_label){ .key = plan->texts[PPROF_THREAD],
                                                        .str = from->thread };
    if (from->age)
        labels[count++] =
            (struct profile_pprof_label){ .key = plan->texts[PPROF_AGE],
                                          .num = to_int64(profile_age_ns(from->age)),
                                          .num_unit = plan->texts[PPROF_NANOSECONDS] };
    /* The unit keeps viewers from guessing one, and a 0 from vanishing (section 3).  */
    labels[count++] = (struct profile_pprof_label){ .key = plan->texts[PPROF_PID],
                                                    .num = from->pid,
                                                    .num_unit = plan->texts[PPROF_ID] };
    if (from->has_tid)
        labels[count++] = (struct profile_pprof_label){ .key = plan->texts[PPROF_TID],
                                                        .num = from->tid,
                                                        .num_unit = plan->texts[PPROF_ID] };
    return count;
}

/* The locations of a stack, leaf first.  Returns false when memory is short.  */
static bool fill_stack(struct emission *emission, profile_id callsite, size_t *count)
{
    const struct pprof_plan *plan = emission->plan;

    for (*count = 0; callsite; ++*count) {
        struct profile_callsite at = profile_stacks_get_callsite(plan->profile->stacks, callsite);

        if (!base_make_room(&emission->stack, &emission->stack_capacity, *count + 1,
                            sizeof *emission->stack))
            return false;
        emission->stack[*count] = plan->frame_locations[at.frame];
        callsite = at.parent;
    }
    return true;
}

/* Emit a sample, of which the caller has filled in what is its own.  */
static enum profile_status emit_one(struct emission *emission, const struct pprof_sample *from,
                                    struct profile_pprof_sample *sample)
{
    const struct pprof_plan *plan = emission->plan;
    struct profile_pprof_label labels[LABELS_MAX];
    int64_t values[PROFILE_MAX_TYPES];
    struct profile_pprof_exact exact[PROFILE_MAX_TYPES];

    if (!fill_stack(emission, from->callsite, &sample->location_count))
        return profile_no_memory(emission->error);
    sample->locations = emission->stack;
    for (size_t i = 0; i < plan->type_count; i++) {
        uint32_t units = plan->own_types[i].units;

        values[i] = to_int64(profile_from_units(from->values[i], units));
        exact[i].whole = from->values[i] / units;
        exact[i].part = (uint32_t)(from->values[i] % units) * (PROFILE_OBJECT_UNITS / units);
    }
    sample->values = values;
    sample->exact = exact;
    sample->value_count = plan->type_count;
    sample->label_count = fill_labels(plan, &plan->labels[from->labels - 1], labels);
    sample->labels = labels;
    sample->thread = from->labels;
    sample->stack = from->callsite;
    return emission->sink->sample(emission->sink->context, sample);
}

static enum profile_status emit_kept(void *context, const struct profile_kept *kept)
{
    struct emission *emission = context;
    struct pprof_sample from = { .callsite = kept->callsite,
                                 .labels = emission->plan->thread_labels[kept->thread_id - 1],
                                 .values = { 1 } };
    struct profile_pprof_sample sample = { .has_time = true,
                                           .ts_ns = kept->ts_ns,
                                           .has_cpu = kept->cpu >= 0,
                                           .cpu = kept->cpu >= 0 ? (uint32_t)kept->cpu : 0 };

    if (kept->slot > 0)
        from.values[kept->slot] = kept->weight_ns;
    return emit_one(emission, &from, &sample);
}

static enum profile_status emit_samples(struct emission *emission)
{
    const struct pprof_plan *plan = emission->plan;
    enum profile_status status = PROFILE_OK;

    if (!emission->sink->sample)
        return PROFILE_OK;
    if (profile_has_times(plan->profile, plan->kind))
        return profile_times_each(plan->profile->times, emit_kept, emission, emission->error);
    for (size_t i = 0; i < plan->sample_count && status == PROFILE_OK; i++) {
        struct profile_pprof_sample sample = { .has_time = false };

        status = emit_one(emission, &plan->samples[i], &sample);
    }
    return status;
}

/* ---- The profile ---- */

static enum profile_status emit_plan(struct emission *emission)
{
    enum profile_status status = emit_strings(emission);

    if (status == PROFILE_OK)
        status = emit_header(emission);
    if (status == PROFILE_OK)
        status = emit_mappings(emission);
    if (status == PROFILE_OK)
        status = emit_functions(emission);
    if (status == PROFILE_OK)
        status = emit_locations(emission);
    if (status == PROFILE_OK)
        status = emit_threads(emission);
    if (status == PROFILE_OK)
        status = emit_samples(emission);
    free(emission->stack);
    free(emission->lines);
    return status;
}

enum profile_status profile_emit(const struct profile *profile, enum profile_kind kind,
                                 size_t sample_type, const struct profile_pprof_sink *sink,
                                 struct profile_error *error)
{
    struct pprof_plan plan;
    struct emission emission = { .plan = &plan, .sink = sink, .error = error };
    enum profile_status status;

    if ((unsigned)kind >= PROFILE_KINDS)
        return profile_fail(error, PROFILE_INVALID, "no profile of kind %d", (int)kind);
    status = pprof_plan_make(&plan, profile, kind, error);
    if (status == PROFILE_OK && sample_type > plan.type_count)
        status = profile_fail(error, PROFILE_INVALID, "no sample type %zu among %zu",
                              sample_type - 1, plan.type_count);
    if (status == PROFILE_OK && sample_type > 0)
        plan.default_type = sample_type - 1;
    if (status == PROFILE_OK)
        status = emit_plan(&emission);
    pprof_plan_release(&plan);
    return status;
}
