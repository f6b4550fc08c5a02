/* stacks.c - from call sites of addresses to a tree of functions, and what each run spent where.
 *
 * Two call sites that differ in their addresses alone are one node here; inlined functions are
 * nodes of their own, outer before inner.  */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cmd/cli/map.h"
#include "cmd/fxtdiff/builder.h"

/* ---- Which functions frames stand for ---- */

static void mark_used(struct diff_builder *builder, const struct profile_stacks *stacks,
                      uint8_t *used)
{
    for (size_t i = 0; i < builder->set.run_count; i++)
        for (size_t k = 0; k < builder->raws[i].count; k++)
            used[builder->raws[i].callsites[k]] |= (uint8_t)(1u << builder->set.runs[i].side);
    /* Parents have lower ids than their children.  */
    for (profile_id id = profile_stacks_callsite_count(stacks); id > 0; id--)
        used[profile_stacks_get_callsite(stacks, id).parent] |= used[id];
}

/* As folded stacks print a frame without a name: "[libc.so.6]", never an address, which would
 * differ from build to build.  */
static size_t unnamed(const char *module, char *text, size_t size)
{
    int length = snprintf(text, size, *module == '[' || !*module ? "%s" : "[%s]",
                          *module ? module : "[unknown]");

    return length < 0 ? 0 : (size_t)length < size ? (size_t)length : size - 1;
}

/* Functions of strings of the profile, so that each name is looked at once.  */
static uint32_t function_of(struct diff_builder *builder, struct cli_map *known, profile_id name,
                            const char *text, size_t length)
{
    uint64_t *found = name ? cli_map_find(known, name) : NULL;
    uint32_t function;

    if (found)
        return (uint32_t)*found;
    function = diff_find_function(builder, text, length);
    if (name)
        cli_map_add(known, name, function);
    return function;
}

static uint32_t name_line(struct diff_builder *builder, struct cli_map *known,
                          const struct profile_frame *frame, uint32_t index, uint8_t sides)
{
    const struct profile_stacks *stacks = profile_stacks_of(builder->profile);
    struct profile_module module = profile_stacks_get_module(stacks, frame->module);
    struct profile_line none = { .function = 0 };
    const struct profile_line *line = frame->line_count ? &frame->lines[index] : &none;
    struct diff_place place = {
        .module = base_name(profile_stacks_text(stacks, module.name, NULL)),
        .file = profile_stacks_text(stacks, line->file, NULL),
        .start_line = line->start_line,
        .first_line = line->line,
        .last_line = line->line,
    };
    char text[300];
    size_t length;
    uint32_t function;

    place.name = profile_stacks_text(stacks, line->function, &length);
    if (length == 0) {
        length = unnamed(place.module, text, sizeof text);
        place.name = text;
    }
    function = function_of(builder, known, line->function, place.name, length);
    for (int side = 0; side < DIFF_SIDES; side++)
        if (sides & 1u << side)
            diff_widen_place(builder, function, (enum diff_side)side, &place);
    return function;
}

void diff_name_frames(struct diff_builder *builder, struct diff_frames *out)
{
    const struct profile_stacks *stacks = profile_stacks_of(builder->profile);
    profile_id callsites = profile_stacks_callsite_count(stacks);
    profile_id frames = profile_stacks_frame_count(stacks);
    uint8_t *sides = cli_allocate((size_t)frames + 1, sizeof *sides);
    struct cli_map known = { .slots = NULL };
    size_t count = 0, capacity = 0;

    out->used = cli_allocate((size_t)callsites + 1, sizeof *out->used);
    out->first = cli_allocate((size_t)frames + 2, sizeof *out->first);
    mark_used(builder, stacks, out->used);
    for (profile_id id = 1; id <= callsites; id++)
        sides[profile_stacks_get_callsite(stacks, id).frame] |= out->used[id];
    for (profile_id id = 1; id <= frames; id++) {
        struct profile_frame frame = profile_stacks_get_frame(stacks, id);
        uint32_t lines = frame.line_count ? frame.line_count : 1;

        out->first[id] = count;
        while (sides[id] && lines-- > 0) {
            out->functions = diff_grow(out->functions, &capacity, count + 1,
                                       sizeof *out->functions);
            out->functions[count++] = name_line(builder, &known, &frame, lines, sides[id]);
        }
        out->first[id + 1] = count;
    }
    cli_map_release(&known);
    free(sides);
}

void diff_frames_release(struct diff_frames *frames)
{
    free(frames->used);
    free(frames->first);
    free(frames->functions);
}

/* ---- The tree ---- */

struct tree {
    struct diff_set *set;
    size_t capacity;
    struct cli_map index; /* parent << 32 | function to node */
    uint32_t *nodes;      /* of each call site */
};

static uint32_t child_of(struct tree *tree, uint32_t parent, uint32_t function)
{
    struct diff_set *set = tree->set;
    uint64_t key = (uint64_t)parent << 32 | function;
    uint64_t *found = cli_map_find(&tree->index, key);

    if (found)
        return (uint32_t)*found;
    if (set->node_count >= UINT32_MAX) {
        cli_error("more than 4,294,967,294 different stacks");
        exit(CLI_ENVIRONMENT);
    }
    set->nodes = diff_grow(set->nodes, &tree->capacity, set->node_count + 1, sizeof *set->nodes);
    set->nodes[set->node_count] = (struct diff_node){ parent, function };
    cli_map_add(&tree->index, key, set->node_count);
    return (uint32_t)set->node_count++;
}

static void build_tree(struct tree *tree, const struct profile_stacks *stacks,
                       const struct diff_frames *frames, const uint32_t *to)
{
    profile_id callsites = profile_stacks_callsite_count(stacks);

    tree->nodes = cli_allocate((size_t)callsites + 1, sizeof *tree->nodes);
    tree->set->nodes = diff_grow(NULL, &tree->capacity, 1, sizeof *tree->set->nodes);
    tree->set->nodes[0] = (struct diff_node){ 0, UINT32_MAX };
    tree->set->node_count = 1;
    for (profile_id id = 1; id <= callsites; id++) {
        struct profile_callsite callsite = profile_stacks_get_callsite(stacks, id);
        uint32_t node = tree->nodes[callsite.parent];

        for (size_t i = frames->first[callsite.frame];
             frames->used[id] && i < frames->first[callsite.frame + 1]; i++)
            node = child_of(tree, node, to[frames->functions[i]]);
        tree->nodes[id] = node;
    }
    cli_map_release(&tree->index);
}

/* Which nodes have no node of the same function above them: what is below these is all that the
 * function cost with what it called, each stack once.  */
static uint8_t *find_outermost(const struct diff_set *set)
{
    uint32_t *child = cli_allocate(set->node_count, sizeof *child);
    uint32_t *sibling = cli_allocate(set->node_count, sizeof *sibling);
    uint32_t *open = cli_allocate(set->function_count + 1, sizeof *open); /* on the path */
    uint8_t *outermost = cli_allocate(set->node_count, 1);
    uint32_t at = 0;

    for (size_t node = set->node_count; node-- > 1;) {
        sibling[node] = child[set->nodes[node].parent];
        child[set->nodes[node].parent] = (uint32_t)node;
    }
    for (;;) {
        uint32_t next = child[at];

        child[at] = 0; /* the way down is taken once */
        if (next == 0) {
            if (at == 0)
                break;
            open[set->nodes[at].function]--;
            next = sibling[at];
        }
        if (next == 0) {
            at = set->nodes[at].parent;
        } else {
            at = next;
            outermost[at] = open[set->nodes[at].function]++ == 0;
        }
    }
    free(child);
    free(sibling);
    free(open);
    return outermost;
}

/* ---- Costs of a run ---- */

/* Scratch, zeros between runs: of each node its own value, then with all below; of each function
 * both costs.  */
struct sums {
    double *values;
    double *self, *total;
    const uint8_t *outermost;
};

static void take_stacks(const struct tree *tree, const struct diff_raw *raw, struct sums *sums,
                        struct diff_run *run)
{
    size_t count = 0;

    for (size_t i = 0; i < raw->count; i++)
        sums->values[tree->nodes[raw->callsites[i]]] += raw->values[i];
    for (size_t node = 1; node < tree->set->node_count; node++)
        count += sums->values[node] > 0;
    run->stacks = cli_allocate(count, sizeof *run->stacks);
    run->cost = sums->values[0]; /* empty stacks */
    for (size_t node = 1; node < tree->set->node_count; node++) {
        if (!(sums->values[node] > 0))
            continue;
        run->stacks[run->stack_count++] = (struct diff_stack_cost){ (uint32_t)node,
                                                                    sums->values[node] };
        run->cost += sums->values[node];
    }
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *build_text(struct diff_builder *builder, const struct profile_module *module)
{
    static const char digits[] = "0123456789abcdef";
    const char *name = base_name(
        profile_stacks_text(profile_stacks_of(builder->profile), module->name, NULL));
    char text[2 * sizeof module->build_id + 300];
    size_t used = 0;
    int length;

    for (size_t i = 0; i < module->build_id_length; i++) {
        text[used++] = digits[module->build_id[i] >> 4];
        text[used++] = digits[module->build_id[i] & 15];
    }
    length = snprintf(text + used, sizeof text - used, " %.290s", name);
    return diff_copy(builder, text, used + (length > 0 ? (size_t)length : 0));
}

/* "BUILDID name" of the modules whose code was sampled.  */
static void take_builds(struct diff_builder *builder, const struct diff_raw *raw,
                        struct diff_environment *environment)
{
    const struct profile_stacks *stacks = profile_stacks_of(builder->profile);
    profile_id count = profile_stacks_module_count(stacks);
    uint8_t *sampled = cli_allocate((size_t)count + 1, 1);

    for (size_t i = 0; i < raw->count; i++) {
        profile_id frame = profile_stacks_get_callsite(stacks, raw->callsites[i]).frame;

        sampled[frame ? profile_stacks_get_frame(stacks, frame).module : 0] = 1;
    }
    environment->builds = diff_arena_take(builder->set.arena,
                                          ((size_t)count + 1) * sizeof *environment->builds);
    for (profile_id id = 1; id <= count; id++) {
        struct profile_module module = profile_stacks_get_module(stacks, id);

        if (sampled[id] && module.build_id_length > 0)
            environment->builds[environment->build_count++] = build_text(builder, &module);
    }
    if (environment->build_count > 0)
        qsort(environment->builds, environment->build_count, sizeof *environment->builds, by_text);
    free(sampled);
}

static void take_functions(const struct diff_set *set, struct sums *sums, struct diff_run *run)
{
    size_t count = 0;

    for (size_t i = 0; i < run->stack_count; i++)
        sums->self[set->nodes[run->stacks[i].node].function] += run->stacks[i].value;
    for (size_t node = set->node_count; node-- > 1;) {
        sums->values[set->nodes[node].parent] += sums->values[node];
        if (sums->outermost[node])
            sums->total[set->nodes[node].function] += sums->values[node];
        sums->values[node] = 0;
    }
    sums->values[0] = 0;
    for (size_t f = 0; f < set->function_count; f++)
        count += sums->total[f] > 0;
    free(run->costs);
    run->costs = cli_allocate(count, sizeof *run->costs);
    run->cost_count = 0;
    for (size_t f = 0; f < set->function_count; f++) {
        if (sums->total[f] > 0)
            run->costs[run->cost_count++] = (struct diff_cost){ (uint32_t)f, sums->self[f],
                                                                sums->total[f] };
        sums->self[f] = sums->total[f] = 0;
    }
}

void diff_build_stacks(struct diff_builder *builder, const struct diff_frames *frames,
                       const uint32_t *to)
{
    struct diff_set *set = &builder->set;
    struct tree tree = { .set = set };
    uint8_t *outermost;
    struct sums sums;

    build_tree(&tree, profile_stacks_of(builder->profile), frames, to);
    outermost = find_outermost(set);
    sums = (struct sums){ .values = cli_allocate(set->node_count, sizeof *sums.values),
                          .self = cli_allocate(set->function_count, sizeof *sums.self),
                          .total = cli_allocate(set->function_count, sizeof *sums.total),
                          .outermost = outermost };
    for (size_t i = 0; i < set->run_count; i++) {
        struct diff_raw *raw = &builder->raws[i];

        if (raw->count == 0)
            continue;
        take_stacks(&tree, raw, &sums, &set->runs[i]);
        take_builds(builder, raw, &set->runs[i].environment);
        free(raw->callsites);
        free(raw->values);
        *raw = (struct diff_raw){ .count = 0 };
        take_functions(set, &sums, &set->runs[i]);
    }
    free(tree.nodes);
    free(outermost);
    free(sums.values);
    free(sums.self);
    free(sums.total);
}
