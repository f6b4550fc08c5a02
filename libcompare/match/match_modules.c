/* match_modules.c - code without names of a program that goes by another file name.
 *
 * "./old" against "./new", both without symbols, is "[old]" against "[new]": one function, as far
 * as anybody can see.  There is no file and no line; who calls it has to do.  */
#include <string.h>

#include "libcompare/match/match.h"

/* More modules of one side than that are matched with nothing.  */
#define MAX_MODULES 64

/* A module with less than this part of the cost of both modules of a pair does not make the pair
 * ambiguous: the shell that starts a program is sampled in some runs only.  */
#define SMALL_PART 0.05

/* What one side has alone.  */
struct modules {
    uint32_t functions[MAX_MODULES];
    size_t count;
    bool too_many;
};

/* "[libc.so.6]" stands for a module, "[anon]" for none.  */
static bool is_module(const char *name)
{
    static const char *const others[] = { "[anon]",     "[unknown]", "[kernel]", "[vdso]",
                                          "[vsyscall]", "[stack]",   "[heap]",   "[truncated]",
                                          "[uprobes]",  "[missing]" };

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i]) == 0)
            return false;
    return compare_name_is_missing(name);
}

bool match_is_module(const struct compare_function *function)
{
    return is_module(function->name) &&
           (!function->places[COMPARE_BASE].name || !function->places[COMPARE_NEW].name);
}

static struct modules modules_of(const struct compare_set *set, enum compare_side side)
{
    struct modules modules = { .count = 0 };

    for (size_t f = 0; f < set->function_count; f++) {
        const struct compare_function *function = &set->functions[f];

        if (!function->places[side].name || !match_is_module(function))
            continue;
        if (modules.count == MAX_MODULES) {
            modules.too_many = true;
            break;
        }
        modules.functions[modules.count++] = (uint32_t)f;
    }
    return modules;
}

/* ---- Their costs ---- */

/* The cost of one side so far.  */
struct sums {
    struct modules modules;
    double *costs; /* of each function: with its callees, each stack once */
    double all;
};

static uint64_t bit_of(const struct modules *modules, uint32_t function)
{
    for (size_t i = 0; i < modules->count; i++)
        if (modules->functions[i] == function)
            return UINT64_C(1) << i;
    return 0;
}

/* Of each call site: a bit for each module that it or a call site above it is in.  */
static uint64_t *find_paths(const struct compare_builder *builder,
                            const struct frame_functions *frames, const struct modules *modules)
{
    const struct profile_stacks *stacks = profile_stacks_of(builder->profile);
    profile_id count = profile_stacks_callsite_count(stacks);
    uint64_t *paths = compare_array((size_t)count + 1, sizeof *paths);

    for (profile_id id = 1; paths && id <= count; id++) {
        struct profile_callsite callsite = profile_stacks_get_callsite(stacks, id);

        paths[id] = paths[callsite.parent];
        for (size_t i = frames->first[callsite.frame];
             frames->used[id] && i < frames->first[callsite.frame + 1]; i++)
            paths[id] |= bit_of(modules, frames->functions[i]);
    }
    return paths;
}

static void add_stacks(struct sums *sums, const struct raw_stacks *raw, const uint64_t *paths)
{
    for (size_t i = 0; i < raw->count; i++) {
        uint64_t path = paths[raw->items[i].callsite];

        sums->all += raw->items[i].value;
        for (; path != 0; path &= path - 1)
            sums->costs[sums->modules.functions[__builtin_ctzll(path)]] += raw->items[i].value;
    }
}

static void add_costs(struct sums *sums, const struct compare_run *run)
{
    for (size_t i = 0; i < run->cost_count; i++) {
        sums->all += run->costs[i].self;
        if (bit_of(&sums->modules, run->costs[i].function))
            sums->costs[run->costs[i].function] += run->costs[i].total;
    }
}

static bool find_shares(const struct compare_builder *builder, const struct frame_functions *frames,
                        enum compare_side side, double *shares)
{
    const struct compare_set *set = &builder->set;
    struct sums sums = { .modules = modules_of(set, side), .costs = shares };
    uint64_t *paths;

    if (sums.modules.count == 0 || sums.modules.too_many)
        return true;
    paths = find_paths(builder, frames, &sums.modules);
    for (size_t i = 0; paths && i < set->run_count; i++)
        if (set->runs[i].side == side) {
            add_stacks(&sums, &builder->raws[i], paths);
            add_costs(&sums, &set->runs[i]);
        }
    for (size_t i = 0; sums.all > 0 && i < sums.modules.count; i++)
        shares[sums.modules.functions[i]] /= sums.all;
    free(paths);
    return paths != NULL;
}

double *match_module_shares(const struct compare_builder *builder,
                            const struct frame_functions *frames)
{
    double *shares = compare_array(builder->set.function_count, sizeof *shares);

    for (int side = 0; shares && side < COMPARE_SIDES; side++)
        if (!find_shares(builder, frames, (enum compare_side)side, shares)) {
            free(shares);
            return NULL;
        }
    return shares;
}

/* ---- Pairs ---- */

struct candidates {
    struct modules gone, news;
    const double *shares;
    bool likely[MAX_MODULES][MAX_MODULES]; /* of both indexes: who calls them allows it */
};

/* A module that is gone and a new one, by their indexes.  */
struct couple {
    size_t gone, new_one;
};

static double smaller_share(const struct candidates *all, struct couple couple)
{
    double gone = all->shares[all->gone.functions[couple.gone]];
    double new_one = all->shares[all->news.functions[couple.new_one]];

    return gone < new_one ? gone : new_one;
}

/* Whether no other module of that side costs enough to be taken for one of the couple.  */
static bool is_alone(const struct candidates *all, const struct modules *side, size_t index,
                     double share)
{
    for (size_t i = 0; i < side->count; i++)
        if (i != index && !(all->shares[side->functions[i]] < SMALL_PART * share))
            return false;
    return true;
}

/* Whether those who call both allow it.  If nobody knows them, both have to be alone.  */
static bool is_likely(const struct candidates *all, const struct match_callers *callers,
                      const uint32_t *to, struct couple couple)
{
    double share = smaller_share(all, couple);

    switch (match_callers_compare(callers, to, all->gone.functions[couple.gone],
                                  all->news.functions[couple.new_one])) {
    case MATCH_CALLS_AGREE:
        return true;
    case MATCH_CALLS_UNKNOWN:
        return is_alone(all, &all->gone, couple.gone, share) &&
               is_alone(all, &all->news, couple.new_one, share);
    case MATCH_CALLS_DIFFER:
        break;
    }
    return false;
}

static void find_likely(struct candidates *all, const struct match_callers *callers,
                        const uint32_t *to)
{
    for (size_t i = 0; i < all->gone.count; i++)
        for (size_t k = 0; k < all->news.count; k++)
            all->likely[i][k] = is_likely(all, callers, to, (struct couple){ i, k });
}

/* Whether there is another likely couple with one of the modules.  */
static bool has_rival(const struct candidates *all, struct couple couple)
{
    double least = SMALL_PART * smaller_share(all, couple);

    for (size_t i = 0; i < all->gone.count; i++)
        if (i != couple.gone && all->likely[i][couple.new_one] &&
            !(all->shares[all->gone.functions[i]] < least))
            return true;
    for (size_t k = 0; k < all->news.count; k++)
        if (k != couple.new_one && all->likely[couple.gone][k] &&
            !(all->shares[all->news.functions[k]] < least))
            return true;
    return false;
}

/* Unite one pair.  False: there is none left.  */
static bool match_one(struct compare_set *set, const struct match_callers *callers,
                      const double *shares, uint32_t *to)
{
    struct candidates all = { .gone = modules_of(set, COMPARE_BASE),
                              .news = modules_of(set, COMPARE_NEW),
                              .shares = shares };

    if (all.gone.too_many || all.news.too_many)
        return false;
    find_likely(&all, callers, to);
    for (size_t i = 0; i < all.gone.count; i++)
        for (size_t k = 0; k < all.news.count; k++)
            if (all.likely[i][k] && !has_rival(&all, (struct couple){ i, k })) {
                match_unite(set, all.gone.functions[i], all.news.functions[k], to);
                return true;
            }
    return false;
}

bool match_modules(struct compare_set *set, const struct match_callers *callers,
                   const double *shares, uint32_t *to)
{
    bool any = false;

    while (match_one(set, callers, shares, to))
        any = true;
    return any;
}
