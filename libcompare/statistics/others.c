/* others.c - the tests of other comparisons in the same report (section 3.3).  */
#include <stdlib.h>

#include "base/grow.h"
#include "libcompare/statistics/statistics.h"

static bool add(struct compare_others *others, double p, bool grew, bool of_total)
{
    if (!base_make_room(&others->tests, &others->capacity, others->count + 1,
                        sizeof *others->tests))
        return false;
    others->tests[others->count++] = (struct compare_other){ p, grew, of_total };
    return true;
}

static bool add_change(struct compare_others *others, const struct compare_change *change)
{
    double p;

    if (!change->tested)
        return true;
    /* What moved is not ranked (functions.c), but was tested.  */
    p = change->flag == COMPARE_MOVED ? 1 : change->p / change->weight;

    return add(others, p, change->new_share > change->base_share, false);
}

enum compare_status compare_others_add(struct compare_others *others,
                                       const struct compare_result *comparison,
                                       struct compare_error *error)
{
    bool ok = add(others, comparison->total.p, comparison->total.shift > 0, true);

    for (size_t f = 0; f < comparison->function_count && ok; f++)
        ok = add_change(others, &comparison->functions[f].self) &&
             add_change(others, &comparison->functions[f].total);
    return ok ? COMPARE_OK : compare_no_memory(error);
}

void compare_others_release(struct compare_others *others)
{
    free(others->tests);
    *others = (struct compare_others){ .tests = NULL };
}

size_t compare_others_count(const struct compare_others *others, bool of_total)
{
    size_t count = 0;

    for (size_t i = 0; others && i < others->count; i++)
        count += others->tests[i].of_total == of_total;
    return count;
}
