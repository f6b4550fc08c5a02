/* match_unite.c - which pairs of one place are called by the same.
 *
 * Callers may have been renamed, too: once they are known to be, so may be what they call.  From
 * each pair that is united the calls of its old function are followed, each once, so that neither
 * the length of a chain nor the order of its functions matters.  */
#include "libcompare/match/match.h"

struct uniting {
    struct compare_set *set;
    const struct match_callers *callers;
    uint32_t *to;
    const struct match_pair *pairs;
    uint32_t *pair_of; /* of each function that is gone: its pair + 1; 0 none */
    uint32_t *united;  /* pairs, the calls of those from followed on are yet to be looked at */
    size_t united_count, followed;
};

void match_unite(struct compare_set *set, uint32_t gone, uint32_t new_one, uint32_t *to)
{
    set->functions[new_one].places[COMPARE_BASE] = set->functions[gone].places[COMPARE_BASE];
    set->functions[new_one].renamed = true;
    set->functions[gone].places[COMPARE_BASE] = (struct compare_place){ .name = NULL };
    to[gone] = new_one;
}

static bool is_united(const struct uniting *uniting, uint32_t pair)
{
    uint32_t gone = uniting->pairs[pair].gone;

    return uniting->to[gone] != gone;
}

static void unite(struct uniting *uniting, uint32_t pair)
{
    const struct match_pair *it = &uniting->pairs[pair];

    match_unite(uniting->set, it->gone, it->new_one, uniting->to);
    uniting->united[uniting->united_count++] = pair;
}

/* What a renamed function called in the base, and still calls under its new name.  */
static void follow(struct uniting *uniting, const struct match_pair *caller)
{
    const struct match_callers *callers = uniting->callers;

    for (size_t i = match_calls_from(callers, caller->gone);
         i < callers->count && callers->by_caller[i].caller == caller->gone; i++) {
        uint32_t pair = uniting->pair_of[callers->by_caller[i].function];

        if (pair > 0 && !is_united(uniting, pair - 1) &&
            match_is_called_by(callers, uniting->pairs[pair - 1].new_one, caller->new_one))
            unite(uniting, pair - 1);
    }
}

/* From the pairs that are known to be one function to those that only they call.  */
static void unite_all(struct uniting *uniting, size_t count)
{
    const struct match_pair *pairs = uniting->pairs;

    for (size_t i = 0; i < count; i++)
        uniting->pair_of[pairs[i].gone] = (uint32_t)i + 1;
    for (uint32_t i = 0; i < count; i++) {
        enum match_calls calls = match_callers_compare(uniting->callers, uniting->to, pairs[i].gone,
                                                       pairs[i].new_one);

        if (!is_united(uniting, i) &&
            (calls == MATCH_CALLS_AGREE || (calls == MATCH_CALLS_UNKNOWN && pairs[i].is_sure)))
            unite(uniting, i);
    }
    while (uniting->followed < uniting->united_count)
        follow(uniting, &pairs[uniting->united[uniting->followed++]]);
}

bool match_unite_pairs(struct compare_set *set, const struct match_callers *callers,
                       const struct match_pair *pairs, size_t count, uint32_t *to)
{
    struct uniting uniting = { .set = set,
                               .callers = callers,
                               .to = to,
                               .pairs = pairs,
                               .pair_of = compare_array(set->function_count, sizeof(uint32_t)),
                               .united = compare_array(count, sizeof(uint32_t)) };
    bool ok = uniting.pair_of && uniting.united;

    if (ok)
        unite_all(&uniting, count);
    free(uniting.pair_of);
    free(uniting.united);
    return ok;
}
