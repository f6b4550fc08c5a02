/* numbered_roots.c - roots of stacks that are a process and its number.
 *
 * Scripts that fold stacks write "app-1234" or "app-1234/1235" for a process and a thread.  Each
 * run has other numbers, so that each root would be a function of one run.  Roots of one stem are
 * one function of that name if numbers mostly do not come back: "worker-1" to "worker-8" of both
 * sides are threads by name, and stay apart.  */
#include <string.h>

#include "libcompare/set/builder.h"

/* Of the cost of a stem, at least so much must be in numbers that do not come back.  */
#define LEAST_ALONE 0.5

/* Roots of one stem.  */
struct stem {
    size_t members;
    double costs[COMPARE_SIDES], alone[COMPARE_SIDES];
    uint32_t function; /* that they become; NO_FUNCTION: they stay apart */
};

/* A function as a root.  */
struct root {
    double costs[COMPARE_SIDES];
    uint32_t last_run; /* + 1 */
    uint32_t runs;
    uint32_t stem; /* number of the text; 0: it is no such root */
};

struct numbered {
    struct compare_builder *builder;
    struct frame_functions *frames;
    size_t count;       /* functions */
    struct root *roots; /* of each function */
    uint32_t *root_of;  /* of each call site: function + 1 */
    struct base_texts texts;
    struct stem *stems; /* by number, from 1 */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The length of what is before "-1234" or "-1234/1235"; 0: the name does not end like that.  */
static size_t stem_length(const char *name)
{
    size_t length = strlen(name), end = length;

    while (length > 0 && is_digit(name[length - 1]))
        length--;
    if (length > 0 && length < end && name[length - 1] == '/') {
        end = --length;
        while (length > 0 && is_digit(name[length - 1]))
            length--;
    }
    return length > 1 && length < end && name[length - 1] == '-' ? length - 1 : 0;
}

/* ---- Which functions are such roots ---- */

static bool has_place(const struct compare_function *function)
{
    for (int side = 0; side < COMPARE_SIDES; side++)
        if (function->places[side].name && *function->places[side].file)
            return true;
    return false;
}

/* Whatever is above another function is none.  */
static void leave_out_called(struct numbered *numbered)
{
    const struct profile_stacks *stacks = profile_stacks_of(numbered->builder->profile);
    const struct frame_functions *frames = numbered->frames;
    profile_id count = profile_stacks_callsite_count(stacks);

    for (profile_id id = 1; id <= count; id++) {
        struct profile_callsite callsite = profile_stacks_get_callsite(stacks, id);
        size_t at = frames->first[callsite.frame], limit = frames->first[callsite.frame + 1];

        numbered->root_of[id] = numbered->root_of[callsite.parent];
        if (!frames->used[id])
            continue;
        if (callsite.parent == 0 && at < limit)
            numbered->root_of[id] = frames->functions[at++] + 1;
        for (; at < limit; at++)
            numbered->roots[frames->functions[at]].stem = 0;
    }
}

static bool find_stems(struct numbered *numbered)
{
    const struct compare_function *functions = numbered->builder->set.functions;

    for (size_t f = 0; f < numbered->count; f++) {
        size_t length = stem_length(functions[f].name);

        if (length == 0 || has_place(&functions[f]))
            continue;
        numbered->roots[f].stem = base_texts_add(&numbered->texts, functions[f].name, length, NULL);
        if (numbered->roots[f].stem == 0)
            return false;
    }
    return true;
}

/* ---- What they cost ---- */

static void add_costs(struct numbered *numbered)
{
    const struct compare_builder *builder = numbered->builder;

    for (size_t r = 0; r < builder->set.run_count; r++)
        for (size_t i = 0; i < builder->raws[r].count; i++) {
            const struct raw_value *raw = &builder->raws[r].items[i];
            uint32_t function = numbered->root_of[raw->callsite];
            struct root *root = function ? &numbered->roots[function - 1] : NULL;

            if (!root)
                continue;
            root->costs[builder->set.runs[r].side] += raw->value;
            root->runs += root->last_run != r + 1;
            root->last_run = (uint32_t)r + 1;
        }
}

/* Whether no other run, or no run of the other side, has the number.  */
static bool is_alone(const struct numbered *numbered, size_t function)
{
    const struct compare_place *places = numbered->builder->set.functions[function].places;
    const size_t *runs = numbered->builder->set.side_runs;

    if (runs[COMPARE_BASE] == 0 || runs[COMPARE_NEW] == 0)
        return runs[COMPARE_BASE] + runs[COMPARE_NEW] > 1 && numbered->roots[function].runs == 1;
    return !places[COMPARE_BASE].name || !places[COMPARE_NEW].name;
}

static void add_to_stems(struct numbered *numbered)
{
    for (size_t f = 0; f < numbered->count; f++) {
        const struct root *root = &numbered->roots[f];
        struct stem *stem = &numbered->stems[root->stem];

        if (root->stem == 0 || root->runs == 0)
            continue;
        stem->members++;
        for (int side = 0; side < COMPARE_SIDES; side++) {
            stem->costs[side] += root->costs[side];
            stem->alone[side] += is_alone(numbered, f) ? root->costs[side] : 0;
        }
    }
}

/* ---- Uniting ---- */

/* Functions that have the name of a stem count as one of its roots: a baseline keeps it.  */
static void count_stems_themselves(struct numbered *numbered)
{
    const struct compare_function *functions = numbered->builder->set.functions;

    for (size_t f = 0; f < numbered->count; f++)
        numbered
            ->stems[base_texts_find(&numbered->texts, functions[f].name, strlen(functions[f].name))]
            .members++;
}

static void choose_stems(struct numbered *numbered)
{
    for (uint32_t number = 1; number <= numbered->texts.count; number++) {
        struct stem *stem = &numbered->stems[number];
        bool alone = stem->members > 1;
        size_t length;
        const char *name = base_texts_get(&numbered->texts, number, &length);

        for (int side = 0; side < COMPARE_SIDES; side++)
            alone = alone && stem->alone[side] >= LEAST_ALONE * stem->costs[side];
        stem->function = alone ? builder_find_function(numbered->builder, name, length)
                               : NO_FUNCTION;
    }
}

static void unite(struct numbered *numbered)
{
    struct compare_builder *builder = numbered->builder;
    struct frame_functions *frames = numbered->frames;
    size_t used =
        frames->first[profile_stacks_frame_count(profile_stacks_of(builder->profile)) + 1];

    for (size_t f = 0; f < numbered->count; f++) {
        const struct root *root = &numbered->roots[f];
        uint32_t one = root->stem && root->runs ? numbered->stems[root->stem].function
                                                : NO_FUNCTION;
        size_t length;

        for (int side = 0; one != NO_FUNCTION && side < COMPARE_SIDES; side++) {
            struct compare_place place = { .name = base_texts_get(&numbered->texts, root->stem,
                                                                  &length) };

            if (builder->set.functions[f].places[side].name)
                builder_widen_place(builder, one, (enum compare_side)side, &place);
            builder->set.functions[f].places[side] = (struct compare_place){ .name = NULL };
        }
    }
    for (size_t i = 0; i < used; i++) {
        uint32_t f = frames->functions[i];
        const struct root *root = f < numbered->count ? &numbered->roots[f] : NULL;

        if (root && root->stem && root->runs && numbered->stems[root->stem].function != NO_FUNCTION)
            frames->functions[i] = numbered->stems[root->stem].function;
    }
}

static bool find(struct numbered *numbered)
{
    profile_id callsites = profile_stacks_callsite_count(
        profile_stacks_of(numbered->builder->profile));

    numbered->root_of = compare_array((size_t)callsites + 1, sizeof *numbered->root_of);
    numbered->stems = compare_array(numbered->texts.count + 1, sizeof *numbered->stems);
    if (!numbered->root_of || !numbered->stems)
        return false;
    leave_out_called(numbered);
    add_costs(numbered);
    add_to_stems(numbered);
    count_stems_themselves(numbered);
    choose_stems(numbered);
    unite(numbered);
    return true;
}

bool numbered_roots_unite(struct compare_builder *builder, struct frame_functions *frames)
{
    struct numbered numbered = { .builder = builder,
                                 .frames = frames,
                                 .count = builder->set.function_count };
    bool ok;

    numbered.roots = compare_array(numbered.count, sizeof *numbered.roots);
    ok = numbered.roots && find_stems(&numbered);
    if (ok && numbered.texts.count > 0)
        ok = find(&numbered);
    free(numbered.roots);
    free(numbered.root_of);
    free(numbered.stems);
    base_texts_release(&numbered.texts);
    return ok ? builder_is_ok(builder) : builder_no_memory(builder);
}
