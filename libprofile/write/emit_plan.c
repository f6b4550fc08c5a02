/* emit_plan.c - the tables of a pprof profile (docs/formats/pprof.md sections 1 to 3).
 *
 * Samples are in the order of their call sites' ids, which depends on the trace alone; everything
 * else is numbered as samples, in that order, come to need it.  */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/go_build_id.h"
#include "libprofile/write/emit_plan.h"

static const char *const label_texts[PPROF_TEXTS] = {
    "process", "thread", "pid", "tid", "id", "space", "age", "nanoseconds",
};

/* ---- Strings ---- */

static enum profile_status add_bytes(struct pprof_plan *plan, const char *bytes, size_t length,
                                     profile_id *out, struct profile_error *error)
{
    plan->text.length = 0;
    if (!codec_text_add_utf8(&plan->text, bytes, length))
        return profile_no_memory(error);
    return profile_stacks_string(plan->strings, plan->text.bytes, plan->text.length, out, error);
}

static enum profile_status add_string(struct pprof_plan *plan, profile_id string, profile_id *out,
                                      struct profile_error *error)
{
    enum profile_status status = PROFILE_OK;

    if (string != 0 && plan->string_ids[string] == 0) {
        size_t length;
        const char *bytes = profile_stacks_text(plan->profile->stacks, string, &length);

        status = add_bytes(plan, bytes, length, &plan->string_ids[string], error);
    }
    *out = plan->string_ids[string];
    return status;
}

static enum profile_status add_text(struct pprof_plan *plan, const char *text, profile_id *out,
                                    struct profile_error *error)
{
    return profile_stacks_string(plan->strings, text, strlen(text), out, error);
}

/* Texts that are not in use would only take room.  */
static bool needs_text(const struct pprof_plan *plan, enum pprof_text text)
{
    bool heap = plan->kind == PROFILE_HEAP || plan->kind == PROFILE_HEAP_FREE;

    if (text == PPROF_AGE || text == PPROF_NANOSECONDS)
        return heap && plan->profile->heap.options.ages;
    return text != PPROF_SPACE || heap;
}

static enum profile_status plan_texts(struct pprof_plan *plan, enum profile_kind kind,
                                      struct profile_error *error)
{
    const struct profile_known_type *types;
    enum profile_status status = PROFILE_OK;

    plan->kind = kind;
    plan->own_types = types = profile_types(plan->profile, kind, &plan->type_count);
    plan->default_type = profile_default_type(plan->profile, kind);
    for (size_t i = 0; i < plan->type_count && status == PROFILE_OK; i++) {
        status = add_text(plan, types[i].type, &plan->types[i].type, error);
        if (status == PROFILE_OK)
            status = add_text(plan, types[i].unit, &plan->types[i].unit, error);
    }
    for (size_t i = 0; i < PPROF_TEXTS && status == PROFILE_OK; i++)
        if (needs_text(plan, (enum pprof_text)i))
            status = add_text(plan, label_texts[i], &plan->texts[i], error);
    return status;
}

/* ---- Labels ---- */

static bool same_labels(const struct pprof_labels *a, const struct pprof_labels *b)
{
    return a->process == b->process && a->thread == b->thread && a->pid == b->pid &&
           a->tid == b->tid && a->has_tid == b->has_tid && a->age == b->age;
}

/* Threads whose labels are equal share them: incarnations of one pid, for instance.  */
static enum profile_status find_labels(struct pprof_plan *plan, const struct pprof_labels *labels,
                                       uint32_t *out, struct profile_error *error)
{
    uint64_t hash = base_hash((uint64_t)labels->pid << 32 | labels->tid,
                              (uint64_t)labels->process << 32 | labels->thread) +
                    labels->age;
    size_t probe;

    for (*out = base_index_first(&plan->label_index, hash, &probe); *out;
         *out = base_index_next(&plan->label_index, hash, &probe))
        if (same_labels(&plan->labels[*out - 1], labels))
            return PROFILE_OK;
    if (!base_make_room(&plan->labels, &plan->label_capacity, plan->label_count + 1,
                        sizeof *plan->labels))
        return profile_no_memory(error);
    if (!base_index_reserve(&plan->label_index))
        return profile_no_memory(error);
    plan->labels[plan->label_count++] = *labels;
    *out = (uint32_t)plan->label_count;
    base_index_add(&plan->label_index, hash, *out);
    return PROFILE_OK;
}

static enum profile_status plan_labels(struct pprof_plan *plan, struct profile_error *error)
{
    const struct profile *profile = plan->profile;
    enum profile_status status = PROFILE_OK;

    plan->thread_labels = calloc(profile->thread_count + 1, sizeof *plan->thread_labels);
    if (!plan->thread_labels)
        return profile_no_memory(error);
    for (size_t i = 0; i < profile->thread_count && status == PROFILE_OK; i++) {
        const struct profile_owner *thread = &profile->threads[i];
        const struct profile_owner_process *process = &profile->processes[thread->process_id - 1];
        struct pprof_labels labels = { .pid = (uint32_t)process->koid,
                                       .tid = (uint32_t)thread->koid,
                                       .has_tid = profile_knows_thread(plan->kind, thread),
                                       .age = thread->age };

        status = add_string(plan, process->name, &labels.process, error);
        if (status == PROFILE_OK)
            status = add_string(plan, profile_owner_name(profile, thread), &labels.thread, error);
        if (status == PROFILE_OK)
            status = find_labels(plan, &labels, &plan->thread_labels[i], error);
    }
    return status;
}

/* ---- Samples ---- */

static int compare_samples(const void *a, const void *b)
{
    const struct pprof_sample *left = a, *right = b;

    if (left->callsite != right->callsite)
        return left->callsite < right->callsite ? -1 : 1;
    return (left->labels > right->labels) - (left->labels < right->labels);
}

/* Equal stacks with equal labels are one sample.  */
static enum profile_status plan_samples(struct pprof_plan *plan, struct profile_error *error)
{
    const struct profile_values *values = plan->values;
    struct pprof_sample *samples = calloc(values->count + 1, sizeof *samples);

    if (!samples)
        return profile_no_memory(error);
    plan->samples = samples;
    for (size_t i = 0; i < values->count; i++) {
        const struct profile_value *value = profile_value_at(values, i);

        samples[i] = (struct pprof_sample){ value->callsite,
                                            plan->thread_labels[value->thread_id - 1],
                                            { 0 } };
        memcpy(samples[i].values, value->amounts, values->types * sizeof *value->amounts);
    }
    qsort(samples, values->count, sizeof *samples, compare_samples);
    for (size_t i = 0; i < values->count; i++) {
        struct pprof_sample *last = &samples[plan->sample_count];

        if (plan->sample_count > 0 && compare_samples(last - 1, &samples[i]) == 0) {
            for (size_t type = 0; type < values->types; type++)
                last[-1].values[type] = profile_add(last[-1].values[type], samples[i].values[type]);
        } else {
            *last = samples[i];
            plan->sample_count++;
        }
    }
    return PROFILE_OK;
}

/* ---- Functions and locations ---- */

static bool same_function(const struct pprof_function *a, const struct pprof_function *b)
{
    return a->name == b->name && a->system_name == b->system_name && a->file == b->file &&
           a->start_line == b->start_line;
}

static enum profile_status find_function(struct pprof_plan *plan,
                                         const struct pprof_function *function, uint32_t *out,
                                         struct profile_error *error)
{
    uint64_t hash = base_hash((uint64_t)function->name << 32 | function->system_name,
                              (uint64_t)function->file << 32 | function->start_line);
    size_t probe;

    for (*out = base_index_first(&plan->function_index, hash, &probe); *out;
         *out = base_index_next(&plan->function_index, hash, &probe))
        if (same_function(&plan->functions[*out - 1], function))
            return PROFILE_OK;
    if (!base_make_room(&plan->functions, &plan->function_capacity, plan->function_count + 1,
                        sizeof *plan->functions))
        return profile_no_memory(error);
    if (!base_index_reserve(&plan->function_index))
        return profile_no_memory(error);
    plan->functions[plan->function_count++] = *function;
    *out = (uint32_t)plan->function_count;
    base_index_add(&plan->function_index, hash, *out);
    return PROFILE_OK;
}

/* A line needs a function (section 2), so one without a name is called as folded text calls it.  */
static enum profile_status add_line(struct pprof_plan *plan, const struct profile_frame *frame,
                                    uint32_t index, struct profile_error *error)
{
    const struct profile_line *line = &frame->lines[index];
    struct pprof_function function = { .start_line = line->start_line };
    enum profile_status status;

    if (!base_make_room(&plan->lines, &plan->line_capacity, plan->line_count + 1,
                        sizeof *plan->lines))
        return profile_no_memory(error);
    plan->text.length = 0;
    if (!codec_text_add_function(&plan->text, plan->profile, frame, index))
        return profile_no_memory(error);
    status = profile_stacks_string(plan->strings, plan->text.bytes, plan->text.length,
                                   &function.name, error);
    if (status == PROFILE_OK)
        status = add_string(plan, line->system_name, &function.system_name, error);
    if (status == PROFILE_OK)
        status = add_string(plan, line->file, &function.file, error);
    if (function.system_name == 0) /* readers take it for the identity of the function */
        function.system_name = function.name;
    if (status == PROFILE_OK)
        status = find_function(plan, &function, &plan->lines[plan->line_count], error);
    plan->line_count++;
    return status;
}

static enum profile_status add_location(struct pprof_plan *plan, profile_id frame_id,
                                        struct profile_error *error)
{
    struct profile_frame frame = profile_stacks_get_frame(plan->profile->stacks, frame_id);
    enum profile_status status = PROFILE_OK;

    if (!base_make_room(&plan->locations, &plan->location_capacity, plan->location_count + 1,
                        sizeof *plan->locations))
        return profile_no_memory(error);
    plan->locations[plan->location_count++] = (struct pprof_location){ frame_id, plan->line_count };
    plan->frame_locations[frame_id] = (uint32_t)plan->location_count;
    for (uint32_t i = 0; i < frame.line_count && status == PROFILE_OK; i++)
        status = add_line(plan, &frame, i, error);
    return status;
}

/* Locations of all frames of all samples' stacks, as they are met.  The parents of a call site that
 * was visited were visited as well.  */
static enum profile_status plan_locations(struct pprof_plan *plan, struct profile_error *error)
{
    const struct profile_stacks *stacks = plan->profile->stacks;
    bool *visited = calloc((size_t)profile_stacks_callsite_count(stacks) + 1, sizeof *visited);
    enum profile_status status = PROFILE_OK;

    plan->frame_locations = calloc((size_t)profile_stacks_frame_count(stacks) + 1,
                                   sizeof *plan->frame_locations);
    if (!visited || !plan->frame_locations)
        status = profile_no_memory(error);
    for (size_t i = 0; i < plan->sample_count && status == PROFILE_OK; i++) {
        profile_id at = plan->samples[i].callsite;

        while (at && !visited[at] && status == PROFILE_OK) {
            struct profile_callsite callsite = profile_stacks_get_callsite(stacks, at);

            if (plan->frame_locations[callsite.frame] == 0)
                status = add_location(plan, callsite.frame, error);
            visited[at] = true;
            at = callsite.parent;
        }
    }
    free(visited);
    return status;
}

/* ---- Mappings ---- */

static const struct profile_place *place_of(const struct profile *profile, profile_id module)
{
    static const struct profile_place nowhere = { .mapped = false };

    return module && module <= profile->place_count ? &profile->places[module - 1] : &nowhere;
}

static const char *module_path(const struct profile *profile, profile_id module)
{
    profile_id name = profile_stacks_get_module(profile->stacks, module).name;

    return profile_stacks_text(profile->stacks, name, NULL);
}

/* The process with the most samples.  Of equal ones, the first that was met.  */
static enum profile_status find_heaviest(struct pprof_plan *plan, struct profile_error *error)
{
    const struct profile *profile = plan->profile;
    uint64_t *counts = calloc(profile->process_count + 1, sizeof *counts);
    size_t heaviest = 0;

    if (!counts)
        return profile_no_memory(error);
    for (size_t i = 0; i < plan->values->count; i++) {
        const struct profile_value *value = profile_value_at(plan->values, i);
        uint32_t process = profile->threads[value->thread_id - 1].process_id;

        counts[process - 1] = profile_add(counts[process - 1], value->amounts[0]);
    }
    for (size_t i = 1; i < profile->process_count; i++)
        if (counts[i] > counts[heaviest])
            heaviest = i;
    if (profile->process_count > 0)
        plan->heaviest = &profile->processes[heaviest];
    free(counts);
    return PROFILE_OK;
}

/* How much a module looks like the program that was profiled: it has the command's or the process's
 * name (of which Linux keeps 15 bytes), or else the process mapped it.  */
static unsigned likeness(const struct profile *profile, profile_id module,
                         const struct profile_owner_process *process)
{
    const char *base = base_name(module_path(profile, module));
    const char *command = base_name(profile_stacks_text(profile->stacks, profile->command, NULL));
    const struct profile_place *place = place_of(profile, module);
    size_t length = 0;
    const char *name = process ? profile_stacks_text(profile->stacks, process->name, &length) : "";

    if (!place->mapped || base[0] == '[' || base[0] == '\0')
        return 0;
    if (strcmp(base, name) == 0 || (length == 15 && strncmp(base, name, length) == 0))
        return 3;
    if (strcmp(base, command) == 0)
        return 2;
    return process && place->process_koid == process->koid;
}

/* The main binary, which is shown as the profile's file: 0 when nothing looks like one.  */
static profile_id main_module(const struct pprof_plan *plan)
{
    profile_id best = 0;
    unsigned most = 0;

    for (profile_id id = 1; id <= profile_stacks_module_count(plan->profile->stacks); id++) {
        unsigned like = likeness(plan->profile, id, plan->heaviest);

        if (like > most) {
            most = like;
            best = id;
        }
    }
    return best;
}

static enum profile_status add_build_id(struct pprof_plan *plan,
                                        const struct profile_module *module, profile_id *out,
                                        struct profile_error *error)
{
    plan->text.length = 0;
    /* Go's own is for ours alone: pprof knows GNU's build IDs, of which none has 15 bytes, and
     * would say of a Go program that it has another one.  */
    if (module->build_id_length != BASE_GO_BUILD_ID &&
        !codec_text_add_build_id(&plan->text, module))
        return profile_no_memory(error);
    return profile_stacks_string(plan->strings, plan->text.bytes, plan->text.length, out, error);
}

/* One mapping a module, as large as all its mappings together, at its first one's address.  */
static enum profile_status add_mapping(struct pprof_plan *plan, profile_id id,
                                       struct profile_error *error)
{
    struct profile_module module = profile_stacks_get_module(plan->profile->stacks, id);
    const struct profile_place *place = place_of(plan->profile, id);
    struct pprof_mapping *mapping = &plan->mappings[plan->mapping_count++];
    enum profile_status status;

    plan->module_mappings[id] = (uint32_t)plan->mapping_count;
    *mapping = (struct pprof_mapping){
        .module = id,
        .bias = place->bias,
        .file_offset = place->has_file_offset ? place->file_offset : place->vaddr,
    };
    if (place->vaddr + place->bias > place->last + place->bias)
        mapping->bias = 0; /* would wrap around: show module-relative addresses instead */
    mapping->start = place->vaddr + mapping->bias;
    mapping->limit = place->last + mapping->bias;
    mapping->limit += mapping->limit < UINT64_MAX;
    status = add_string(plan, module.name, &mapping->file, error);
    if (status == PROFILE_OK)
        status = add_build_id(plan, &module, &mapping->build_id, error);
    return status;
}

/* pprof looks up the whole mapping again, and replaces what is here, unless one flag says that this
 * was done.  So one location with names sets them: another without, such as a stub of the PLT, must
 * not cost all the others theirs.  */
static void note_location(struct pprof_plan *plan, const struct profile_frame *frame)
{
    struct pprof_mapping *mapping = &plan->mappings[plan->module_mappings[frame->module] - 1];

    for (uint32_t i = 0; i < frame->line_count; i++) {
        mapping->has_functions |= frame->lines[i].function != 0;
        mapping->has_files |= frame->lines[i].file != 0;
        mapping->has_lines |= frame->lines[i].line != 0;
    }
    /* Only debug information gives lines, and it gives inlined functions with them.  */
    mapping->has_inlines = mapping->has_functions && mapping->has_lines;
}

/* Without any module, as in span profiles, one mapping names the program: viewers show it, and they
 * look for a binary to symbolize with where there is no mapping at all.  */
static enum profile_status add_program(struct pprof_plan *plan, struct profile_error *error)
{
    struct pprof_mapping *mapping = &plan->mappings[plan->mapping_count++];
    profile_id name = plan->profile->command;

    if (name == 0 && plan->heaviest)
        name = plan->heaviest->name;
    *mapping = (struct pprof_mapping){
        .has_functions = true, .has_files = true, .has_lines = true, .has_inlines = true
    };
    return add_string(plan, name, &mapping->file, error);
}

static enum profile_status plan_mappings(struct pprof_plan *plan, struct profile_error *error)
{
    const struct profile_stacks *stacks = plan->profile->stacks;
    size_t modules = profile_stacks_module_count(stacks);
    profile_id main = main_module(plan);
    bool *used = calloc(modules + 1, sizeof *used);
    enum profile_status status = PROFILE_OK;

    plan->mappings = calloc(modules + 1, sizeof *plan->mappings);
    plan->module_mappings = calloc(modules + 1, sizeof *plan->module_mappings);
    if (!used || !plan->mappings || !plan->module_mappings)
        status = profile_no_memory(error);
    for (size_t i = 0; i < plan->location_count && status == PROFILE_OK; i++)
        used[profile_stacks_get_frame(stacks, plan->locations[i].frame).module] = true;
    if (status == PROFILE_OK && main && plan->location_count > 0)
        status = add_mapping(plan, main, error);
    for (profile_id id = 1; id <= modules && status == PROFILE_OK; id++)
        if (used[id] && id != main)
            status = add_mapping(plan, id, error);
    if (plan->mapping_count == 0 && plan->location_count > 0 && status == PROFILE_OK)
        status = add_program(plan, error);
    for (size_t i = 0; i < plan->location_count && status == PROFILE_OK; i++) {
        struct profile_frame frame = profile_stacks_get_frame(stacks, plan->locations[i].frame);

        if (frame.module)
            note_location(plan, &frame);
    }
    free(used);
    return status;
}

/* ---- All of it ---- */

enum profile_status pprof_plan_make(struct pprof_plan *plan, const struct profile *profile,
                                    enum profile_kind kind, struct profile_error *error)
{
    enum profile_status status;

    *plan = (struct pprof_plan){ .profile = profile, .values = &profile->values[kind] };
    plan->string_ids = calloc((size_t)profile_stacks_string_count(profile->stacks) + 1,
                              sizeof *plan->string_ids);
    if (!plan->string_ids)
        return profile_no_memory(error);
    status = profile_stacks_open(&plan->strings, error);
    if (status == PROFILE_OK)
        status = plan_texts(plan, kind, error);
    if (status == PROFILE_OK)
        status = plan_labels(plan, error);
    if (status == PROFILE_OK)
        status = plan_samples(plan, error);
    if (status == PROFILE_OK)
        status = plan_locations(plan, error);
    if (status == PROFILE_OK)
        status = find_heaviest(plan, error);
    if (status == PROFILE_OK)
        status = plan_mappings(plan, error);
    return status;
}

void pprof_plan_release(struct pprof_plan *plan)
{
    profile_stacks_close(plan->strings);
    base_index_release(&plan->label_index);
    base_index_release(&plan->function_index);
    free(plan->string_ids);
    free(plan->text.bytes);
    free(plan->samples);
    free(plan->labels);
    free(plan->thread_labels);
    free(plan->locations);
    free(plan->frame_locations);
    free(plan->lines);
    free(plan->functions);
    free(plan->mappings);
    free(plan->module_mappings);
}
