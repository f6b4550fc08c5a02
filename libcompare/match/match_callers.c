/* match_callers.c - who calls what may have been renamed.  */
#include <string.h>

#include "base/bisect.h"
#include "base/map.h"
#include "libcompare/match/match.h"

static int by_call(const void *a, const void *b)
{
    const struct match_call *left = a, *right = b;

    return match_order(left->function, right->function, left->caller, right->caller);
}

static int by_caller(const void *a, const void *b)
{
    const struct match_call *left = a, *right = b;

    return match_order(left->caller, right->caller, left->function, right->function);
}

static bool add(struct match_callers *callers, struct base_map *known, uint32_t function,
                uint32_t caller)
{
    uint64_t key = (uint64_t)function << 32 | caller;

    if (base_map_find(known, key))
        return true;
    if (!base_map_set(known, key, 0) || !base_make_room(&callers->items, &callers->capacity,
                                                        callers->count + 1, sizeof *callers->items))
        return false;
    callers->items[callers->count++] = (struct match_call){ function, caller };
    return true;
}

static bool sort_both_ways(struct match_callers *callers)
{
    callers->by_caller = compare_array(callers->count, sizeof *callers->by_caller);
    if (!callers->by_caller)
        return false;
    if (callers->count == 0)
        return true;
    compare_sort(callers->items, callers->count, sizeof *callers->items, by_call);
    memcpy(callers->by_caller, callers->items, callers->count * sizeof *callers->items);
    compare_sort(callers->by_caller, callers->count, sizeof *callers->by_caller, by_caller);
    return true;
}

/* The calls of one call site: who calls its functions, of which the outermost is called by the
 * innermost of the call site above.  */
static bool add_calls(struct match_callers *callers, struct base_map *known,
                      const struct frame_functions *frames, const uint8_t *wanted, profile_id above,
                      profile_id frame)
{
    uint32_t caller = above ? frames->functions[frames->first[above + 1] - 1] : MATCH_NONE;

    for (size_t i = frames->first[frame]; i < frames->first[frame + 1]; i++) {
        uint32_t function = frames->functions[i];

        /* Neither the beginning of a stack nor recursion says anything.  */
        if (wanted[function] && caller != MATCH_NONE && caller != function &&
            !add(callers, known, function, caller))
            return false;
        caller = function;
    }
    return true;
}

bool match_callers_open(const struct compare_builder *builder, const struct frame_functions *frames,
                        const uint8_t *wanted, struct match_callers *out)
{
    const struct profile_stacks *stacks = profile_stacks_of(builder->profile);
    profile_id count = profile_stacks_callsite_count(stacks);
    struct base_map known = { .slots = NULL };
    bool ok = true;

    *out = (struct match_callers){ .items = NULL };
    for (profile_id id = 1; id <= count && ok; id++) {
        struct profile_callsite callsite = profile_stacks_get_callsite(stacks, id);

        if (frames->used[id]) /* then its callers are, too */
            ok = add_calls(out, &known, frames, wanted,
                           profile_stacks_get_callsite(stacks, callsite.parent).frame,
                           callsite.frame);
    }
    base_map_release(&known);
    return ok && sort_both_ways(out);
}

void match_callers_release(struct match_callers *callers)
{
    free(callers->items);
    free(callers->by_caller);
}

/* The first call that does not lie before one, in that order.  */
static size_t first_from(const struct match_call *items, size_t count, struct match_call call,
                         int (*order)(const void *, const void *))
{
    size_t low = 0, high = count;

    BASE_BISECT(low, high, i, order(&items[i], &call) < 0);
    return low;
}

/* Where a function's callers begin.  */
static size_t first_of(const struct match_callers *callers, uint32_t function)
{
    return first_from(callers->items, callers->count, (struct match_call){ function, 0 }, by_call);
}

size_t match_calls_from(const struct match_callers *callers, uint32_t caller)
{
    return first_from(callers->by_caller, callers->count, (struct match_call){ 0, caller },
                      by_caller);
}

bool match_is_called_by(const struct match_callers *callers, uint32_t function, uint32_t caller)
{
    struct match_call wanted = { function, caller };

    return callers->count > 0 &&
           bsearch(&wanted, callers->items, callers->count, sizeof wanted, by_call);
}

static bool has_callers(const struct match_callers *callers, size_t at, uint32_t function)
{
    return at < callers->count && callers->items[at].function == function;
}

enum match_calls match_callers_compare(const struct match_callers *callers, const uint32_t *to,
                                       uint32_t gone, uint32_t new_one)
{
    size_t at = first_of(callers, gone);

    if (!has_callers(callers, at, gone) ||
        !has_callers(callers, first_of(callers, new_one), new_one))
        return MATCH_CALLS_UNKNOWN;
    for (; has_callers(callers, at, gone); at++)
        if (match_is_called_by(callers, new_one, to[callers->items[at].caller]))
            return MATCH_CALLS_AGREE;
    return MATCH_CALLS_DIFFER;
}
