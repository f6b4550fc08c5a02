/* profile_symbolize.c - names for address frames, and how many of them there are.  */
#include <stdlib.h>
#include <string.h>

#include "libprofile/aggregate.h"

/* ---- One module's addresses ---- */

/* Address frames of one module, in the order in which they are asked for.  */
struct batch {
    struct profile_stacks *stacks;
    const profile_id *frames;
    struct profile_line *lines; /* scratch */
    size_t line_capacity;
    enum profile_status status;
    struct profile_error *error;
};

static enum profile_status intern(struct batch *batch, const char *text, profile_id *out)
{
    return profile_stacks_string(batch->stacks, text, strlen(text), out, batch->error);
}

static enum profile_status copy_line(struct batch *batch, const struct sym_frame *from,
                                     struct profile_line *to)
{
    enum profile_status status;

    *to = (struct profile_line){ .line = from->line,
                                 .column = from->column,
                                 .start_line = from->start_line };
    status = intern(batch, from->function, &to->function);
    if (status == PROFILE_OK && strcmp(from->linkage_name, from->function) != 0)
        status = intern(batch, from->linkage_name, &to->system_name);
    if (status == PROFILE_OK)
        status = intern(batch, from->file, &to->file);
    return status;
}

static bool take_answer(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
    struct batch *batch = context;

    if (count == 0 || !frames[count - 1].function[0]) /* padding: a line, but no function */
        return true;
    if (!base_make_room(&batch->lines, &batch->line_capacity, count, sizeof *batch->lines)) {
        batch->status = profile_no_memory(batch->error);
        return false;
    }
    for (size_t i = 0; i < count && batch->status == PROFILE_OK; i++)
        batch->status = copy_line(batch, &frames[i], &batch->lines[i]);
    if (batch->status == PROFILE_OK)
        batch->status = profile_stacks_set_lines(batch->stacks, batch->frames[index], batch->lines,
                                                 count, batch->error);
    return batch->status == PROFILE_OK;
}

static enum profile_status from_symbols(enum sym_status status, const struct sym_error *sym_error,
                                        struct profile_error *error)
{
    if (status == SYM_OK || status == SYM_NOT_FOUND)
        return PROFILE_OK;
    return profile_fail(error, status == SYM_NO_MEMORY ? PROFILE_NO_MEMORY : PROFILE_INVALID, "%s",
                        sym_error->message);
}

static enum profile_status resolve(struct profile_stacks *stacks, struct sym_module *module,
                                   const profile_id *frames, size_t count,
                                   struct profile_error *error)
{
    struct batch batch = { .stacks = stacks, .frames = frames, .error = error };
    struct sym_error sym_error = { .status = SYM_OK };
    uint64_t *vaddrs = calloc(count + 1, sizeof *vaddrs);
    enum sym_status status;

    if (!vaddrs)
        return profile_no_memory(error);
    for (size_t i = 0; i < count; i++)
        vaddrs[i] = profile_stacks_get_frame(stacks, frames[i]).vaddr;
    status = sym_module_resolve(module, vaddrs, count, take_answer, &batch, &sym_error);
    free(vaddrs);
    free(batch.lines);
    if (status == SYM_STOPPED)
        return batch.status;
    return from_symbols(status, &sym_error, error);
}

/* ---- One module ---- */

/* What the session says of a module, for reports.  */
static enum profile_status copy_report(struct profile *profile, const struct sym_report *report,
                                       struct profile_coverage *coverage,
                                       struct profile_error *error)
{
    struct profile_stacks *stacks = profile->stacks;
    enum profile_status status = profile_stacks_string(
        stacks, report->debug_path, strlen(report->debug_path), &coverage->debug_path, error);

    coverage->quality = report->quality;
    if (status == PROFILE_OK)
        status = profile_stacks_string(stacks, report->problem, strlen(report->problem),
                                       &coverage->problem, error);
    if (status == PROFILE_OK)
        status = profile_stacks_string(stacks, report->remedy, strlen(report->remedy),
                                       &coverage->remedy, error);
    if (status == PROFILE_OK)
        status = profile_stacks_string(stacks, report->fallback, strlen(report->fallback),
                                       &coverage->fallback, error);
    if (status == PROFILE_OK)
        status = profile_stacks_string(stacks, report->unread, strlen(report->unread),
                                       &coverage->unread, error);
    return status;
}

/* What to say of a module that nothing will ever be found for.  */
static enum profile_status report_instead(struct profile *profile, const char *problem,
                                          struct profile_coverage *coverage,
                                          struct profile_error *error)
{
    coverage->remedy = 0;
    return profile_stacks_string(profile->stacks, problem, strlen(problem), &coverage->problem,
                                 error);
}

static enum profile_status symbolize_module(struct profile *profile, struct sym_session *session,
                                            profile_id id, const profile_id *frames, size_t count,
                                            struct profile_error *error)
{
    struct profile_coverage *coverage = &profile->coverage[id];
    struct profile_module module = profile_stacks_get_module(profile->stacks, id);
    const char *path = profile_stacks_text(profile->stacks, module.name, NULL);
    struct profile_place *place = id <= profile->place_count ? &profile->places[id - 1] : NULL;
    struct sym_module_key key = { .build_id = module.build_id,
                                  .build_id_length = module.build_id_length,
                                  .path = path[0] == '/' || path[0] == '[' ? path : NULL,
                                  .name = path[0] ? path : NULL };
    struct sym_error sym_error = { .status = SYM_OK };
    struct sym_module *found = NULL;
    enum profile_status status;

    if (!key.path && key.build_id_length == 0) /* "./x" would be any file x */
        return report_instead(profile, "neither a build ID nor an absolute path in the trace",
                              coverage, error);
    status = from_symbols(sym_session_module(session, &key, &found, &sym_error), &sym_error, error);
    if (status == PROFILE_OK)
        status = resolve(profile->stacks, found, frames, count, error);
    if (status == PROFILE_OK) /* which only looking up completes */
        status = copy_report(profile, sym_module_report(found), coverage, error);
    if (status == PROFILE_OK && place)
        place->has_file_offset = sym_module_file_offset(found, place->vaddr, &place->file_offset) ==
                                 SYM_OK;
    return status;
}

/* ---- Coverage ---- */

bool profile_name_is_bounds(const char *name, size_t length)
{
    size_t at = length;

    if (length < 6 || name[0] != '[' || name[length - 1] != ']')
        return false;
    for (at = length - 1; at > 0 && strchr("0123456789abcdef", name[at - 1]) && name[at - 1];)
        at--;
    return at < length - 1 && at >= 4 && memcmp(name + at - 3, "+0x", 3) == 0;
}

static bool has_name(const struct profile_stacks *stacks, profile_id function)
{
    size_t length;
    const char *name = profile_stacks_text(stacks, function, &length);

    return function && !profile_name_is_bounds(name, length);
}

static bool is_frame(const struct profile_stacks *stacks, const struct profile_frame *frame,
                     const char *name)
{
    return !frame->has_address && frame->line_count == 1 &&
           strcmp(profile_stacks_text(stacks, frame->lines[0].function, NULL), name) == 0;
}

/* count samples have this frame, innermost or not.  What lies above a cut stack is no frame of
 * theirs.  */
static void cover_frame(struct profile *profile, profile_id id, uint64_t count, bool innermost)
{
    struct profile_frame frame = profile_stacks_get_frame(profile->stacks, id);
    struct profile_coverage *coverage = &profile->coverage[frame.module];
    bool named = false, lined = false;

    if (is_frame(profile->stacks, &frame, PROFILE_TRUNCATED))
        return;
    if (frame.has_address)
        for (uint32_t i = 0; i < frame.line_count; i++) {
            named |= has_name(profile->stacks, frame.lines[i].function);
            lined |= frame.lines[i].line != 0;
        }
    else /* code of no file, whose name the trace has */
        named = !is_frame(profile->stacks, &frame, PROFILE_ANONYMOUS) &&
                !is_frame(profile->stacks, &frame, PROFILE_UNKNOWN);
    coverage->frames = profile_add(coverage->frames, count);
    coverage->named = profile_add(coverage->named, named ? count : 0);
    coverage->lined = profile_add(coverage->lined, lined ? count : 0);
    if (innermost) {
        coverage->self = profile_add(coverage->self, count);
        coverage->self_named = profile_add(coverage->self_named, named ? count : 0);
        coverage->self_lined = profile_add(coverage->self_lined, lined ? count : 0);
    }
}

/* The kind that is covered, and its type that weighs: CPU samples count; of the heap, it is bytes
 * allocated, which are sampled evenly.  Spans have no addresses.  */
static enum profile_kind covered_kind(const struct profile *profile, size_t *type)
{
    enum profile_kind kind = profile->covered_kind;

    if (kind == PROFILE_CPU && profile->values[PROFILE_CPU].count == 0)
        kind = PROFILE_HEAP;
    *type = kind == PROFILE_HEAP || kind == PROFILE_HEAP_FREE;
    if (kind == PROFILE_HEAP && profile->values[PROFILE_HEAP].types == 6)
        *type = 3; /* Fuchsia's types begin with what is in use */
    return kind;
}

/* Every frame of every stack, a recursive one once a stack.  */
static enum profile_status cover_samples(struct profile *profile, struct profile_error *error)
{
    size_t type;
    const struct profile_values *values = &profile->values[covered_kind(profile, &type)];
    size_t frames = (size_t)profile_stacks_frame_count(profile->stacks) + 1;
    size_t *last = calloc(frames, sizeof *last); /* the value that had the frame last, plus 1 */

    if (!last)
        return profile_no_memory(error);
    for (size_t i = 0; i < values->count; i++) {
        const struct profile_value *value = profile_value_at(values, i);
        profile_id at = value->callsite;

        while (at) {
            struct profile_callsite callsite = profile_stacks_get_callsite(profile->stacks, at);

            if (last[callsite.frame] != i + 1)
                cover_frame(profile, callsite.frame, value->amounts[type], at == value->callsite);
            last[callsite.frame] = i + 1;
            at = callsite.parent;
        }
    }
    free(last);
    return PROFILE_OK;
}

static int compare_coverage(const void *a, const void *b)
{
    const struct profile_coverage *left = a, *right = b;
    uint64_t left_unnamed = left->frames - left->named,
             right_unnamed = right->frames - right->named;
    uint64_t left_unlined = left->frames - left->lined,
             right_unlined = right->frames - right->lined;

    if (left_unnamed != right_unnamed)
        return left_unnamed > right_unnamed ? -1 : 1;
    if (left_unlined != right_unlined)
        return left_unlined > right_unlined ? -1 : 1;
    return (left->module > right->module) - (left->module < right->module);
}

/* Keep modules that samples have; those that miss most names first.  */
static void sort_coverage(struct profile *profile, size_t modules)
{
    profile->coverage_count = 0;
    for (size_t i = 0; i <= modules; i++)
        if (profile->coverage[i].frames > 0)
            profile->coverage[profile->coverage_count++] = profile->coverage[i];
    qsort(profile->coverage, profile->coverage_count, sizeof *profile->coverage, compare_coverage);
}

void profile_cover(struct profile *profile, enum profile_kind kind)
{
    profile->covered_kind = kind;
}

const struct profile_coverage *profile_coverage_of(const struct profile *profile, size_t *count)
{
    *count = profile->coverage_count;
    return profile->coverage;
}

/* ---- All modules ---- */

/* Address frames grouped by module: those of module id at [first[id], first[id + 1]).  Both arrays
 * are the caller's to free.  */
static enum profile_status group_frames(const struct profile_stacks *stacks, profile_id **frames,
                                        size_t **first, struct profile_error *error)
{
    size_t modules = profile_stacks_module_count(stacks);
    profile_id count = profile_stacks_frame_count(stacks);

    *frames = calloc((size_t)count + 1, sizeof **frames);
    *first = calloc(modules + 3, sizeof **first);
    if (!*frames || !*first)
        return profile_no_memory(error);
    for (profile_id id = 1; id <= count; id++) {
        struct profile_frame frame = profile_stacks_get_frame(stacks, id);

        (*first)[frame.module + 2] += frame.has_address;
    }
    for (size_t i = 1; i < modules + 3; i++)
        (*first)[i] += (*first)[i - 1];
    for (profile_id id = 1; id <= count; id++) {
        struct profile_frame frame = profile_stacks_get_frame(stacks, id);

        if (frame.has_address)
            (*frames)[(*first)[frame.module + 1]++] = id;
    }
    return PROFILE_OK;
}

static enum profile_status start_coverage(struct profile *profile, size_t modules,
                                          struct profile_error *error)
{
    free(profile->coverage);
    profile->coverage_count = 0;
    profile->coverage = calloc(modules + 1, sizeof *profile->coverage);
    if (!profile->coverage)
        return profile_no_memory(error);
    for (size_t i = 0; i <= modules; i++)
        profile->coverage[i].module = (profile_id)i;
    return PROFILE_OK;
}

/* Text that is none costs the kernel's names.  */
static enum profile_status use_kernel_symbols(const struct profile *profile,
                                              struct sym_session *session,
                                              struct profile_error *error)
{
    struct sym_error sym_error = { .status = SYM_OK };
    enum sym_status status;

    if (profile->kernel_symbols_size == 0)
        return PROFILE_OK;
    status = sym_session_kallsyms(session, profile->kernel_symbols, profile->kernel_symbols_size,
                                  &sym_error);
    return status == SYM_MALFORMED ? PROFILE_OK : from_symbols(status, &sym_error, error);
}

enum profile_status profile_symbolize(struct profile *profile, struct sym_session *session,
                                      struct profile_error *error)
{
    size_t modules = profile_stacks_module_count(profile->stacks);
    profile_id *frames = NULL;
    size_t *first = NULL;
    enum profile_status status = start_coverage(profile, modules, error);

    if (status == PROFILE_OK)
        status = use_kernel_symbols(profile, session, error);
    if (status == PROFILE_OK)
        status = group_frames(profile->stacks, &frames, &first, error);
    for (profile_id id = 1; id <= modules && status == PROFILE_OK; id++)
        if (first[id + 1] > first[id])
            status = symbolize_module(profile, session, id, frames + first[id],
                                      first[id + 1] - first[id], error);
    if (status == PROFILE_OK)
        status = cover_samples(profile, error);
    if (status == PROFILE_OK)
        sort_coverage(profile, modules);
    free(frames);
    free(first);
    return status;
}
