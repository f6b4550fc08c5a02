/* builder.c - runs in, a set out.  */
#include "libcompare/set/builder.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/visible.h"

/* ---- Failures ---- */

bool builder_fail(struct compare_builder *builder, enum compare_status status, const char *format,
                  ...)
{
    struct compare_error *error = &builder->error;

    if (!builder_is_ok(builder))
        return false;
    error->status = status;
    BASE_FORMAT(error->message, format);
    return false;
}

bool builder_no_memory(struct compare_builder *builder)
{
    return builder_fail(builder, COMPARE_NO_MEMORY, "out of memory");
}

/* ---- Opening and closing ---- */

enum compare_status compare_builder_open(const struct compare_builder_options *options,
                                         struct compare_builder **out, struct compare_error *error)
{
    struct compare_builder *builder;

    if (options && options->size != sizeof *options)
        return compare_fail(error, COMPARE_INVALID, "options of another size");
    builder = calloc(1, sizeof *builder);
    if (!builder)
        return compare_no_memory(error);
    builder->ignore_templates = options && options->ignore_templates;
    if (profile_open(&builder->profile, NULL) != PROFILE_OK) {
        free(builder);
        return compare_no_memory(error);
    }
    *out = builder;
    return COMPARE_OK;
}

static void forget_raws(struct compare_builder *builder)
{
    for (size_t i = 0; i < builder->set.run_count; i++) {
        free(builder->raws[i].items);
        builder->raws[i] = (struct raw_stacks){ .count = 0 };
    }
    profile_close(builder->profile);
    builder->profile = NULL;
}

void compare_builder_close(struct compare_builder *builder)
{
    if (!builder)
        return;
    forget_raws(builder);
    for (size_t i = 0; i < builder->set.run_count; i++) {
        free(builder->set.runs[i].costs);
        free(builder->set.runs[i].stacks);
    }
    free(builder->raws);
    free(builder->set.runs);
    free(builder->set.functions);
    free(builder->set.roots);
    free(builder->set.raws);
    free(builder->set.nodes);
    free(builder->scratch);
    base_texts_release(&builder->keys);
    base_texts_release(&builder->strings);
    base_texts_release(&builder->raw_texts);
    base_arena_release(&builder->arena);
    free(builder);
}

struct profile *compare_builder_profile(struct compare_builder *builder)
{
    return builder->profile;
}

/* ---- Texts ---- */

/* How many bytes of an escape (base_escape()) a byte of a text can become.  */
#define ESCAPED_BYTES 4

/* Copy a text with an escape in place of each character that must not be shown as it is
 * (base/visible.h), and of U+FFFE and U+FFFF, which are in no XML.  Returns the length of the copy.
 */
static size_t copy_shown(char *out, const char *bytes, size_t length)
{
    size_t used = 0, size;

    for (size_t i = 0; i < length; i += size) {
        char escape[BASE_ESCAPE_BYTES];
        const char *from = bytes + i;
        size_t count;

        if (base_shown_as_is(from, length - i, &size) &&
            (base_code_point(from, size) & ~1u) != 0xfffe) {
            count = size;
        } else {
            count = base_escape(escape, from, size);
            from = escape;
        }
        memcpy(out + used, from, count);
        used += count;
    }
    return used;
}

/* Room for a text of that length with its escapes, and for the text itself after them.  */
static char *scratch_of(struct compare_builder *builder, size_t length)
{
    if (length < SIZE_MAX / (ESCAPED_BYTES + 1) &&
        base_make_room(&builder->scratch, &builder->scratch_capacity,
                       (ESCAPED_BYTES + 1) * length + 1, 1))
        return builder->scratch;
    (void)builder_no_memory(builder);
    return NULL;
}

/* Keep what a new text was made of, if that differs.  False if memory is short.  */
static bool keep_raw(struct compare_builder *builder, const char *text, size_t text_length,
                     const char *bytes, size_t length)
{
    struct compare_set *set = &builder->set;
    uint32_t number;

    if (text_length == length) /* an escape is longer than what it is for */
        return true;
    number = base_texts_add(&builder->raw_texts, bytes, length, NULL);
    if (number == 0 || !base_make_room(&set->raws, &builder->raw_text_capacity, set->raw_count + 1,
                                       sizeof *set->raws))
        return false;
    bytes = base_texts_get(&builder->raw_texts, number, &length);
    set->raws[set->raw_count++] = (struct compare_raw){ text, bytes, length };
    return true;
}

/* The number of a text of texts, with escapes; 0 after a failure.  shown has room for it.  */
static uint32_t add_shown(struct compare_builder *builder, struct base_texts *texts, char *shown,
                          const char *bytes, size_t length)
{
    size_t shown_length = copy_shown(shown, bytes, length);
    bool is_new = false;
    uint32_t number = base_texts_add(texts, shown, shown_length, &is_new);
    size_t text_length = 0;

    if (number > 0 && (!is_new || keep_raw(builder, base_texts_get(texts, number, &text_length),
                                           shown_length, bytes, length)))
        return number;
    (void)builder_no_memory(builder);
    return 0;
}

const char *compare_builder_text(struct compare_builder *builder, const char *bytes, size_t length)
{
    char *shown = scratch_of(builder, length);
    uint32_t number = shown ? add_shown(builder, &builder->strings, shown, bytes, length) : 0;

    return number > 0 ? base_texts_get(&builder->strings, number, &length) : "";
}

/* ---- Functions ---- */

static bool add_function(struct compare_builder *builder, uint32_t key)
{
    struct compare_set *set = &builder->set;
    size_t length;

    if (!base_make_room(&set->functions, &builder->function_capacity, key, sizeof *set->functions))
        return builder_no_memory(builder);
    set->functions[key - 1] = (struct compare_function){ .name = base_texts_get(&builder->keys, key,
                                                                                &length) };
    set->function_count = key;
    return true;
}

uint32_t builder_find_function(struct compare_builder *builder, const char *name, size_t length)
{
    char *shown = builder_is_ok(builder) ? scratch_of(builder, length) : NULL, *key;
    uint32_t number;

    if (!shown)
        return NO_FUNCTION;
    key = shown + ESCAPED_BYTES * length;
    length = compare_name_key(name, length, builder->ignore_templates, key);
    number = add_shown(builder, &builder->keys, shown, key, length);
    if (number > 0 && (number <= builder->set.function_count || add_function(builder, number)))
        return number - 1;
    return NO_FUNCTION;
}

static const char *copy_text(struct compare_builder *builder, const char *text)
{
    return text && *text ? compare_builder_text(builder, text, strlen(text)) : "";
}

static void widen_lines(struct compare_place *to, const struct compare_place *from)
{
    if (from->start_line > 0 && (to->start_line == 0 || from->start_line < to->start_line))
        to->start_line = from->start_line;
    if (from->first_line > 0 && (to->first_line == 0 || from->first_line < to->first_line))
        to->first_line = from->first_line;
    if (from->last_line > to->last_line)
        to->last_line = from->last_line;
}

void builder_widen_place(struct compare_builder *builder, uint32_t function, enum compare_side side,
                         const struct compare_place *place)
{
    struct compare_place *to;

    if (function == NO_FUNCTION)
        return;
    to = &builder->set.functions[function].places[side];
    to->is_root |= place->is_root;
    if (!to->name) {
        to->name = copy_text(builder, place->name);
        to->file = copy_text(builder, place->file);
        to->module = copy_text(builder, place->module);
    } else if (!*to->file && place->file && *place->file) {
        to->file = copy_text(builder, place->file);
    }
    /* Lines of another file are those of another function of that name.  */
    if (place->file && strcmp(to->file, place->file) == 0)
        widen_lines(to, place);
}

uint32_t compare_builder_add_function(struct compare_builder *builder, enum compare_side side,
                                      const struct compare_place *place)
{
    uint32_t function = builder_find_function(builder, place->name, strlen(place->name));

    builder_widen_place(builder, function, side, place);
    return function;
}

/* ---- Runs ---- */

struct compare_run *compare_builder_begin_run(struct compare_builder *builder,
                                              enum compare_side side, const char *label)
{
    struct compare_set *set = &builder->set;
    size_t count = set->run_count + 1;
    const char *copy = compare_builder_text(builder, label, strlen(label));

    if (builder->is_finished || (side != COMPARE_BASE && side != COMPARE_NEW))
        (void)builder_fail(builder, COMPARE_INVALID, "%s: not a run of a side", copy);
    if (!base_make_room(&set->runs, &builder->run_capacity, count, sizeof *set->runs) ||
        !base_make_room(&builder->raws, &builder->raw_capacity, count, sizeof *builder->raws))
        (void)builder_no_memory(builder);
    if (!builder_is_ok(builder))
        return &builder->no_run;
    builder->raws[set->run_count] = (struct raw_stacks){ .count = 0 };
    set->runs[set->run_count] = (struct compare_run){ .label = copy, .side = side };
    builder->cost_capacity = 0;
    set->side_runs[side]++;
    return &set->runs[set->run_count++];
}

size_t compare_builder_run_count(const struct compare_builder *builder)
{
    return builder->set.run_count;
}

struct compare_run *compare_builder_run(struct compare_builder *builder, size_t index)
{
    return index < builder->set.run_count ? &builder->set.runs[index] : &builder->no_run;
}

/* The run that is added to; NULL after a failure, and if a number is no cost.  */
static struct compare_run *current_run(struct compare_builder *builder, double cost)
{
    struct compare_set *set = &builder->set;

    if (set->run_count == 0 || builder->is_finished)
        (void)builder_fail(builder, COMPARE_INVALID, "a cost outside of a run");
    else if (!isfinite(cost) || cost < 0)
        (void)builder_fail(builder, COMPARE_INVALID, "%s: %g is not a cost",
                           set->runs[set->run_count - 1].label, cost);
    return builder_is_ok(builder) ? &set->runs[set->run_count - 1] : NULL;
}

void compare_builder_add_cost(struct compare_builder *builder, uint32_t function, double self,
                              double total)
{
    struct compare_run *run = current_run(builder, self);

    if (!run || !current_run(builder, total))
        return;
    if (function >= builder->set.function_count)
        (void)builder_fail(builder, COMPARE_INVALID, "%s: a cost of no function", run->label);
    else if (!base_make_room(&run->costs, &builder->cost_capacity, run->cost_count + 1,
                             sizeof *run->costs))
        (void)builder_no_memory(builder);
    else
        run->costs[run->cost_count++] = (struct compare_cost){ function, self, total };
}

void compare_builder_add_stack(struct compare_builder *builder, profile_id callsite, double value)
{
    struct compare_run *run = current_run(builder, value);
    struct raw_stacks *raw;

    if (!run)
        return;
    raw = &builder->raws[builder->set.run_count - 1];
    if (callsite > profile_stacks_callsite_count(profile_stacks_of(builder->profile)))
        (void)builder_fail(builder, COMPARE_INVALID, "%s: a value of no stack", run->label);
    else if (!base_make_room(&raw->items, &raw->capacity, raw->count + 1, sizeof *raw->items))
        (void)builder_no_memory(builder);
    else
        raw->items[raw->count++] = (struct raw_value){ callsite, value };
}

enum compare_status compare_builder_set_type(struct compare_builder *builder, const char *type,
                                             const char *unit, struct compare_error *error)
{
    struct compare_type *known = &builder->set.type;
    struct compare_run *run = current_run(builder, 0);

    if (!run)
        return COMPARE_OK; /* compare_builder_finish() says why */
    type = copy_text(builder, type);
    unit = copy_text(builder, unit);
    if (!known->type) {
        *known = (struct compare_type){ type, unit };
        builder->type_label = run->label;
        return COMPARE_OK;
    }
    if (strcmp(known->type, type) == 0 && strcmp(known->unit, unit) == 0)
        return COMPARE_OK;
    return compare_fail(error, COMPARE_UNLIKE,
                        "%s has %s/%s, %s has %s/%s: what is compared must be the same",
                        builder->type_label, known->type, known->unit, run->label, type, unit);
}

struct compare_type compare_builder_type(const struct compare_builder *builder)
{
    return builder->set.type;
}

void compare_builder_add_unreadable(struct compare_builder *builder)
{
    builder->set.unreadable_count++;
}

void compare_builder_set_damaged(struct compare_builder *builder)
{
    builder->set.damaged = true;
}

profile_id compare_builder_heaviest_module(const struct compare_builder *builder, size_t run)
{
    const struct profile_stacks *stacks;
    profile_id best = 0;
    double *costs;

    if (run >= builder->set.run_count || !builder->profile)
        return 0;
    stacks = profile_stacks_of(builder->profile);
    costs = compare_array((size_t)profile_stacks_module_count(stacks) + 1, sizeof *costs);
    for (size_t i = 0; costs && i < builder->raws[run].count; i++) {
        const struct raw_value *raw = &builder->raws[run].items[i];
        profile_id frame = profile_stacks_get_callsite(stacks, raw->callsite).frame;
        profile_id module = profile_stacks_get_frame(stacks, frame).module;

        costs[module] += raw->value;
        if (module && costs[module] > (best ? costs[best] : 0))
            best = module;
    }
    free(costs);
    return best;
}

/* ---- The set ---- */

static int by_function(const void *a, const void *b)
{
    const struct compare_cost *left = a, *right = b;

    return (left->function > right->function) - (left->function < right->function);
}

/* Costs that were given as such: what was renamed is one function now.  */
static void settle_costs(struct compare_run *run, const uint32_t *to)
{
    size_t count = 0;

    for (size_t i = 0; i < run->cost_count; i++)
        run->costs[i].function = to[run->costs[i].function];
    compare_sort(run->costs, run->cost_count, sizeof *run->costs, by_function);
    for (size_t i = 0; i < run->cost_count; i++) {
        struct compare_cost *last = count > 0 ? &run->costs[count - 1] : NULL;

        if (last && last->function == run->costs[i].function) {
            last->self += run->costs[i].self;
            last->total += run->costs[i].total;
        } else {
            run->costs[count++] = run->costs[i];
        }
    }
    run->cost_count = count;
}

/* The runs of the base first.  */
static bool order_runs(struct compare_builder *builder)
{
    struct compare_set *set = &builder->set;
    struct compare_run *ordered = compare_array(set->run_count, sizeof *ordered);
    size_t count = 0;

    if (!ordered)
        return builder_no_memory(builder);
    for (int side = 0; side < COMPARE_SIDES; side++)
        for (size_t i = 0; i < set->run_count; i++)
            if (set->runs[i].side == (enum compare_side)side)
                ordered[count++] = set->runs[i];
    free(set->runs);
    set->runs = ordered;
    return true;
}

/* to, root_to: room for a number for each function.  */
static bool match_and_sum(struct compare_builder *builder, const struct frame_functions *frames,
                          uint32_t *to, uint32_t *root_to)
{
    struct compare_set *set = &builder->set;

    if (!match_renamed(builder, frames, to, root_to))
        return false;
    for (size_t i = 0; i < set->run_count; i++)
        settle_costs(&set->runs[i], to);
    return stacks_add_up(builder, frames, to, root_to) && order_runs(builder);
}

static int by_text(const void *a, const void *b)
{
    uintptr_t left = (uintptr_t)((const struct compare_raw *)a)->text;
    uintptr_t right = (uintptr_t)((const struct compare_raw *)b)->text;

    return (left > right) - (left < right);
}

const char *compare_raw_text(const struct compare_set *set, const char *text, size_t *length)
{
    const struct compare_raw wanted = { .text = text };
    const struct compare_raw *found = set->raw_count > 0
                                          ? bsearch(&wanted, set->raws, set->raw_count,
                                                    sizeof *set->raws, by_text)
                                          : NULL;

    *length = found ? found->length : strlen(text);
    return found ? found->bytes : text;
}

static bool make_set(struct compare_builder *builder)
{
    struct compare_set *set = &builder->set;
    struct frame_functions frames = { .used = NULL };
    bool ok = false;

    if (!set->type.type)
        set->type = (struct compare_type){ "samples", "count" };
    if (frame_functions_find(builder, &frames) &&
        numbered_roots_unite(builder, &frames)) { /* which add functions */
        uint32_t *to = compare_array(set->function_count, 2 * sizeof *to);

        ok = to ? match_and_sum(builder, &frames, to, to + set->function_count)
                : builder_no_memory(builder);
        free(to);
    }
    frame_functions_release(&frames);
    forget_raws(builder);
    compare_sort(set->raws, set->raw_count, sizeof *set->raws, by_text);
    return ok;
}

enum compare_status compare_builder_finish(struct compare_builder *builder,
                                           const struct compare_set **out,
                                           struct compare_error *error)
{
    if (builder->is_finished)
        (void)builder_fail(builder, COMPARE_INVALID, "the set was made before");
    builder->is_finished = true;
    if (builder_is_ok(builder) && make_set(builder))
        *out = &builder->set;
    if (!builder_is_ok(builder) && error)
        *error = builder->error;
    return builder->error.status;
}
