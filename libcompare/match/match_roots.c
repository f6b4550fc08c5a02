/* match_roots.c - roots of stacks that name processes.
 *
 * Profilers put the name of the process, or of the thread, below "main": "./old" against "./new" is
 * then a function that is gone and a new one of 100 %.  Roots that both sides have are one by their
 * name.  Of the others those are one that have the same functions above them, heaviest first.  */
#include <string.h>

#include "base/map.h"
#include "libcompare/match/match.h"

/* More roots of one side than that are matched with nothing.  */
#define MAX_ROOTS 64

/* Of the cost above two roots, at least so much must be in the same functions.  */
#define LEAST_COMMON 0.5

/* The kernel cuts names of processes to this length.  */
#define SHORT_NAME 15

#define NOT_A_ROOT UINT32_MAX

/* The own cost of a function above a root.  */
struct leaf {
    uint32_t root, function;
    double cost;
};

/* Roots that only one side has.  */
struct roots {
    uint32_t functions[MAX_ROOTS];
    double costs[MAX_ROOTS]; /* shares of the side */
    size_t count;
    bool too_many;
    struct base_map index; /* root << 32 | function to leaf */
    struct leaf *leaves;   /* their costs are shares of the side, too */
    size_t leaf_count, leaf_capacity;
    bool is_flat; /* runs without stacks: any function may be above any root */
};

struct finding {
    struct compare_builder *builder;
    const struct frame_functions *frames;
    uint8_t *sides;    /* of each function: the sides on which it is a root */
    bool *is_above;    /* whether it is elsewhere, too */
    uint32_t *root_of; /* of each call site */
    struct roots roots[COMPARE_SIDES];
};

/* A function that roots are compared by: code without names of "./old" in a process "old" is the
 * same as that of "./new" in "new".  */
static uint32_t leaf_of(const struct finding *finding, uint32_t root, uint32_t function)
{
    const struct compare_function *functions = finding->builder->set.functions;
    const char *process = functions[root].name, *module = functions[function].name;
    size_t length = strlen(process);

    return match_is_module(&functions[function]) && strncmp(module + 1, process, length) == 0 &&
                   (length >= SHORT_NAME || strcmp(module + 1 + length, "]") == 0)
               ? NO_FUNCTION
               : function;
}

/* ---- Roots ---- */

static bool look_at_callsites(struct finding *finding)
{
    const struct profile_stacks *stacks = profile_stacks_of(finding->builder->profile);
    const struct frame_functions *frames = finding->frames;
    profile_id count = profile_stacks_callsite_count(stacks);

    finding->sides = compare_array(finding->builder->set.function_count, 1);
    finding->is_above = compare_array(finding->builder->set.function_count, 1);
    finding->root_of = compare_array((size_t)count + 1, sizeof *finding->root_of);
    if (!finding->sides || !finding->is_above || !finding->root_of)
        return false;
    finding->root_of[0] = NOT_A_ROOT;
    for (profile_id id = 1; id <= count; id++) {
        struct profile_callsite callsite = profile_stacks_get_callsite(stacks, id);
        size_t at = frames->first[callsite.frame], limit = frames->first[callsite.frame + 1];

        finding->root_of[id] = finding->root_of[callsite.parent];
        if (!frames->used[id])
            continue;
        if (callsite.parent == 0 && at < limit) {
            finding->root_of[id] = frames->functions[at];
            finding->sides[frames->functions[at++]] |= frames->used[id];
        }
        for (; at < limit; at++)
            finding->is_above[frames->functions[at]] = true;
    }
    return true;
}

/* Runs without stacks, as in baselines, say which functions are roots.  It is noted of the others,
 * which may be written as such.  */
static void exchange_places(struct finding *finding)
{
    struct compare_set *set = &finding->builder->set;

    for (size_t f = 0; f < set->function_count; f++)
        for (int side = 0; side < COMPARE_SIDES; side++) {
            struct compare_place *place = &set->functions[f].places[side];

            if (!place->name)
                continue;
            if (finding->is_above[f] || *place->file ||
                compare_name_is_missing(set->functions[f].name))
                place->is_root = false;
            else if (finding->sides[f] & 1 << side)
                place->is_root = true;
            finding->sides[f] |= (uint8_t)(place->is_root << side);
        }
}

/* A root without a place in the source, which no process has.  */
static void find_roots(struct finding *finding)
{
    const struct compare_set *set = &finding->builder->set;

    for (size_t f = 0; f < set->function_count; f++) {
        int side = finding->sides[f] == 1 << COMPARE_BASE ? COMPARE_BASE : COMPARE_NEW;
        struct roots *roots = &finding->roots[side];

        if (finding->sides[f] != 1 << side || *set->functions[f].places[side].file ||
            compare_name_is_missing(set->functions[f].name))
            continue;
        roots->too_many |= roots->count == MAX_ROOTS;
        if (roots->count < MAX_ROOTS)
            roots->functions[roots->count++] = (uint32_t)f;
    }
}

/* ---- What is above them ---- */

static size_t index_of(const struct roots *roots, uint32_t function)
{
    size_t i = 0;

    while (i < roots->count && roots->functions[i] != function)
        i++;
    return i;
}

static bool add_leaf(struct roots *roots, size_t root, uint32_t function, double cost)
{
    uint64_t key = (uint64_t)root << 32 | function;
    uint64_t *found = base_map_find(&roots->index, key);

    if (found) {
        roots->leaves[*found].cost += cost;
        return true;
    }
    if (!base_make_room(&roots->leaves, &roots->leaf_capacity, roots->leaf_count + 1,
                        sizeof *roots->leaves) ||
        !base_map_set(&roots->index, key, roots->leaf_count))
        return false;
    roots->leaves[roots->leaf_count++] = (struct leaf){ (uint32_t)root, function, cost };
    return true;
}

/* The cost of a stack, unless it is that of the root alone.  */
static bool add_stack(struct finding *finding, struct roots *roots, const struct raw_value *raw)
{
    const struct profile_stacks *stacks = profile_stacks_of(finding->builder->profile);
    profile_id frame = profile_stacks_get_callsite(stacks, raw->callsite).frame;
    size_t root = index_of(roots, finding->root_of[raw->callsite]);
    uint32_t leaf;

    if (root == roots->count)
        return true;
    roots->costs[root] += raw->value;
    leaf = finding->frames->functions[finding->frames->first[frame + 1] - 1];
    return leaf == roots->functions[root] ||
           add_leaf(roots, root, leaf_of(finding, roots->functions[root], leaf), raw->value);
}

/* The costs of a run without stacks: as if all functions were above each root.  */
static bool add_flat(struct finding *finding, struct roots *roots, const struct compare_run *run)
{
    roots->is_flat = true;
    for (size_t i = 0; i < run->cost_count; i++) {
        const struct compare_cost *cost = &run->costs[i];
        size_t own = index_of(roots, cost->function);

        if (own < roots->count)
            roots->costs[own] += cost->total;
        for (size_t root = 0; root < roots->count && cost->self > 0; root++)
            if (root != own &&
                !add_leaf(roots, root, leaf_of(finding, roots->functions[root], cost->function),
                          cost->self))
                return false;
    }
    return true;
}

static bool add_costs(struct finding *finding, enum compare_side side)
{
    const struct compare_builder *builder = finding->builder;
    struct roots *roots = &finding->roots[side];
    double all = 0;

    for (size_t i = 0; i < builder->set.run_count; i++) {
        const struct raw_stacks *raw = &builder->raws[i];
        const struct compare_run *run = &builder->set.runs[i];

        if (run->side != side)
            continue;
        if (raw->count == 0 && run->cost_count > 0) {
            all += run->cost;
            if (!add_flat(finding, roots, run))
                return false;
        }
        for (size_t k = 0; k < raw->count; k++) {
            all += raw->items[k].value;
            if (!add_stack(finding, roots, &raw->items[k]))
                return false;
        }
    }
    for (size_t i = 0; all > 0 && i < roots->count; i++)
        roots->costs[i] /= all;
    for (size_t i = 0; all > 0 && i < roots->leaf_count; i++)
        roots->leaves[i].cost /= all;
    return true;
}

/* ---- Pairs ---- */

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* What is common to each pair of roots, as shares of the sides, and as parts of the roots.  */
struct common {
    double weights[MAX_ROOTS][MAX_ROOTS];
    double parts[MAX_ROOTS][MAX_ROOTS];
};

static void add_common(const struct finding *finding, struct common *common)
{
    const struct roots *gone = &finding->roots[COMPARE_BASE];
    const struct roots *news = &finding->roots[COMPARE_NEW];

    for (size_t i = 0; i < gone->leaf_count; i++) {
        const struct leaf *leaf = &gone->leaves[i];

        for (size_t k = 0; k < news->count; k++) {
            const uint64_t *found = base_map_find(&news->index, (uint64_t)k << 32 | leaf->function);
            const struct leaf *other = found ? &news->leaves[*found] : NULL;

            if (!other)
                continue;
            common->weights[leaf->root][k] += smaller(leaf->cost, other->cost);
            common->parts[leaf->root][k] += smaller(leaf->cost / gone->costs[leaf->root],
                                                    other->cost / news->costs[k]);
        }
    }
}

/* Of what a root seems to consist, that much may be above others.  */
static double may_be_others(const struct roots *roots, size_t root)
{
    return roots->is_flat ? (1 - roots->costs[root]) / roots->costs[root] : 0;
}

/* The pair with the most in common that is left.  False: none.  */
static bool find_pair(const struct finding *finding, struct common *common, size_t *gone,
                      size_t *new_one)
{
    double most = 0;

    for (size_t i = 0; i < finding->roots[COMPARE_BASE].count; i++)
        for (size_t k = 0; k < finding->roots[COMPARE_NEW].count; k++)
            if (common->weights[i][k] > most &&
                common->parts[i][k] - may_be_others(&finding->roots[COMPARE_BASE], i) -
                        may_be_others(&finding->roots[COMPARE_NEW], k) >=
                    LEAST_COMMON) {
                most = common->weights[i][k];
                *gone = i;
                *new_one = k;
            }
    for (size_t i = 0; i < MAX_ROOTS; i++)
        common->weights[*gone][i] = common->weights[i][*new_one] = 0;
    return most > 0;
}

/* Only as a root: a function of the same name, in one of both builds, stays what it is.  */
static bool unite(struct finding *finding, uint32_t gone, uint32_t new_one, uint32_t *to,
                  uint32_t *root_to)
{
    struct compare_builder *builder = finding->builder;
    struct compare_set *set = &builder->set;

    if (!base_make_room(&set->roots, &builder->root_capacity, set->root_count + 1,
                        sizeof *set->roots))
        return false;
    set->roots[set->root_count++] = (struct compare_root){ set->functions[gone].name,
                                                           set->functions[new_one].name };
    root_to[gone] = new_one;
    if (!finding->is_above[gone] && !set->functions[gone].places[COMPARE_NEW].name) {
        match_unite(set, gone, new_one, to);
    } else if (!set->functions[new_one].places[COMPARE_BASE].name) {
        set->functions[new_one].places[COMPARE_BASE] = set->functions[gone].places[COMPARE_BASE];
        set->functions[new_one].renamed = true;
    }
    return true;
}

static bool unite_pairs(struct finding *finding, uint32_t *to, uint32_t *root_to)
{
    struct common *common = compare_array(1, sizeof *common);
    size_t gone = 0, new_one = 0;
    bool ok = common != NULL;

    if (ok)
        add_common(finding, common);
    while (ok && find_pair(finding, common, &gone, &new_one))
        ok = unite(finding, finding->roots[COMPARE_BASE].functions[gone],
                   finding->roots[COMPARE_NEW].functions[new_one], to, root_to);
    free(common);
    return ok;
}

static bool has_pairs(const struct finding *finding)
{
    for (int side = 0; side < COMPARE_SIDES; side++)
        if (finding->roots[side].count == 0 || finding->roots[side].too_many)
            return false;
    return true;
}

bool match_roots(struct compare_builder *builder, const struct frame_functions *frames,
                 uint32_t *to, uint32_t *root_to)
{
    struct finding finding = { .builder = builder, .frames = frames };
    bool ok = look_at_callsites(&finding);

    if (ok) {
        exchange_places(&finding);
        find_roots(&finding);
    }
    if (ok && has_pairs(&finding))
        ok = add_costs(&finding, COMPARE_BASE) && add_costs(&finding, COMPARE_NEW) &&
             unite_pairs(&finding, to, root_to);
    for (int side = 0; side < COMPARE_SIDES; side++) {
        base_map_release(&finding.roots[side].index);
        free(finding.roots[side].leaves);
    }
    free(finding.sides);
    free(finding.is_above);
    free(finding.root_of);
    return ok;
}
