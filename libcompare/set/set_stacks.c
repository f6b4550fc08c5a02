/* set_stacks.c - from call sites of addresses to a tree of functions, with the costs of each run.
 *
 * Two call sites that differ in their addresses alone are one node here; inlined functions are
 * nodes of their own, outer before inner.  */
#include <string.h>

#include "base/map.h"
#include "libcompare/set/builder.h"

/* ---- The tree ---- */

struct tree {
    struct compare_builder *builder;
    size_t capacity;
    struct base_map index; /* parent << 32 | function to node */
    uint32_t *nodes;       /* of each call site */
};

/* Returns 0 after a failure.  */
static uint32_t add_node(struct tree *tree, uint32_t parent, uint32_t function)
{
    struct compare_set *set = &tree->builder->set;

    if (set->node_count >= UINT32_MAX) {
        (void)builder_fail(tree->builder, COMPARE_LIMIT,
                           "more than 4,294,967,294 different stacks");
        return 0;
    }
    if (!base_make_room(&set->nodes, &tree->capacity, set->node_count + 1, sizeof *set->nodes)) {
        (void)builder_no_memory(tree->builder);
        return 0;
    }
    set->nodes[set->node_count] = (struct compare_node){ parent, function };
    return (uint32_t)set->node_count++;
}

static uint32_t child_of(struct tree *tree, uint32_t parent, uint32_t function)
{
    uint64_t key = (uint64_t)parent << 32 | function;
    uint64_t *found = base_map_find(&tree->index, key);
    uint32_t node;

    if (found)
        return (uint32_t)*found;
    node = add_node(tree, parent, function);
    if (!base_map_set(&tree->index, key, node))
        (void)builder_no_memory(tree->builder);
    return node;
}

static bool build_tree(struct tree *tree, const struct frame_functions *frames, const uint32_t *to,
                       const uint32_t *root_to)
{
    const struct profile_stacks *stacks = profile_stacks_of(tree->builder->profile);
    profile_id callsites = profile_stacks_callsite_count(stacks);

    tree->nodes = compare_array((size_t)callsites + 1, sizeof *tree->nodes);
    if (!tree->nodes)
        return builder_no_memory(tree->builder);
    (void)add_node(tree, 0, UINT32_MAX);
    for (profile_id id = 1; id <= callsites && builder_is_ok(tree->builder); id++) {
        struct profile_callsite callsite = profile_stacks_get_callsite(stacks, id);
        uint32_t node = tree->nodes[callsite.parent];

        for (size_t i = frames->first[callsite.frame];
             frames->used[id] && i < frames->first[callsite.frame + 1]; i++)
            node = child_of(tree, node, (node ? to : root_to)[frames->functions[i]]);
        tree->nodes[id] = node;
    }
    base_map_release(&tree->index);
    return builder_is_ok(tree->builder);
}

/* Which nodes have no node of the same function above them: what is below these is all that the
 * function cost with what it called, each stack once.  */
static void mark_outermost(const struct compare_set *set, uint32_t *child, const uint32_t *sibling,
                           uint32_t *open, uint8_t *outermost)
{
    uint32_t at = 0;

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
}

static bool find_outermost(const struct compare_set *set, uint8_t *outermost)
{
    uint32_t *child = compare_array(set->node_count, sizeof *child);
    uint32_t *sibling = compare_array(set->node_count, sizeof *sibling);
    uint32_t *open = compare_array(set->function_count, sizeof *open); /* on the path */
    bool ok = child && sibling && open;

    for (size_t node = set->node_count; ok && node-- > 1;) {
        sibling[node] = child[set->nodes[node].parent];
        child[set->nodes[node].parent] = (uint32_t)node;
    }
    if (ok)
        mark_outermost(set, child, sibling, open, outermost);
    free(child);
    free(sibling);
    free(open);
    return ok;
}

/* ---- Costs of a run ---- */

/* Scratch, zeros between runs: of each node its own value, then with all below; of each function
 * both costs.  */
struct sums {
    double *values;
    double *self, *total;
    uint8_t *outermost;
};

static bool take_stacks(const struct tree *tree, const struct raw_stacks *raw, struct sums *sums,
                        struct compare_run *run)
{
    const struct compare_set *set = &tree->builder->set;
    size_t count = 0;

    for (size_t i = 0; i < raw->count; i++)
        sums->values[tree->nodes[raw->items[i].callsite]] += raw->items[i].value;
    for (size_t node = 1; node < set->node_count; node++)
        count += sums->values[node] > 0;
    run->stacks = compare_array(count, sizeof *run->stacks);
    if (!run->stacks)
        return builder_no_memory(tree->builder);
    run->cost = sums->values[0]; /* empty stacks */
    for (size_t node = 1; node < set->node_count; node++) {
        if (!(sums->values[node] > 0))
            continue;
        run->stacks[run->stack_count++] = (struct compare_stack_cost){ (uint32_t)node,
                                                                       sums->values[node] };
        run->cost += sums->values[node];
    }
    return true;
}

static bool take_functions(struct compare_builder *builder, struct sums *sums,
                           struct compare_run *run)
{
    const struct compare_set *set = &builder->set;
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
    run->costs = compare_array(count, sizeof *run->costs);
    run->cost_count = 0;
    if (!run->costs)
        return builder_no_memory(builder);
    for (size_t f = 0; f < set->function_count; f++) {
        if (sums->total[f] > 0)
            run->costs[run->cost_count++] = (struct compare_cost){ (uint32_t)f, sums->self[f],
                                                                   sums->total[f] };
        sums->self[f] = sums->total[f] = 0;
    }
    return true;
}

static bool sum_runs(const struct tree *tree, struct sums *sums)
{
    struct compare_builder *builder = tree->builder;

    for (size_t i = 0; i < builder->set.run_count; i++) {
        struct compare_run *run = &builder->set.runs[i];
        struct raw_stacks *raw = &builder->raws[i];

        if (raw->count > 0 &&
            !(take_stacks(tree, raw, sums, run) && take_functions(builder, sums, run)))
            return false;
        free(raw->items);
        *raw = (struct raw_stacks){ .count = 0 };
    }
    return true;
}

bool stacks_add_up(struct compare_builder *builder, const struct frame_functions *frames,
                   const uint32_t *to, const uint32_t *root_to)
{
    const struct compare_set *set = &builder->set;
    struct tree tree = { .builder = builder };
    struct sums sums = { .values = NULL };
    bool ok = builds_find(builder) && build_tree(&tree, frames, to, root_to);

    if (ok) {
        sums = (struct sums){ .values = compare_array(set->node_count, sizeof *sums.values),
                              .self = compare_array(set->function_count, sizeof *sums.self),
                              .total = compare_array(set->function_count, sizeof *sums.total),
                              .outermost = compare_array(set->node_count, 1) };
        if (!sums.values || !sums.self || !sums.total || !sums.outermost ||
            !find_outermost(set, sums.outermost))
            ok = builder_no_memory(builder);
    }
    ok = ok && sum_runs(&tree, &sums);
    free(tree.nodes);
    free(sums.values);
    free(sums.self);
    free(sums.total);
    free(sums.outermost);
    return ok;
}
