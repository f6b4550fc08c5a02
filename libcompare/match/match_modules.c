/* match_modules.c - code without names of a program that goes by another file name.
 *
 * "./old" against "./new", both without symbols, is "[old]" against "[new]": one function, as far
 * as anybody can see.  There is no file and no line; who calls it has to do.  */
#include <string.h>

#include "libcompare/match/match.h"

/* More modules of one side than that are matched with nothing.  */
#define MAX_MODULES 64

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

/* The only one of modules that may be that one: its index, or count.  */
static size_t only_match(const struct modules *gone, const struct modules *news, size_t of,
                         bool of_gone, const struct match_callers *callers, const uint32_t *to)
{
    const struct modules *among = of_gone ? news : gone;
    bool alone = gone->count == 1 && news->count == 1;
    size_t found = among->count;

    for (size_t i = 0; i < among->count; i++) {
        enum match_calls calls = match_callers_compare(
            callers, to, gone->functions[of_gone ? of : i], news->functions[of_gone ? i : of]);

        if (calls != MATCH_CALLS_AGREE && !(calls == MATCH_CALLS_UNKNOWN && alone))
            continue;
        if (found < among->count)
            return among->count;
        found = i;
    }
    return found;
}

/* Unite one pair.  False: there is none left.  */
static bool match_one(struct compare_set *set, const struct match_callers *callers, uint32_t *to)
{
    struct modules gone = modules_of(set, COMPARE_BASE), news = modules_of(set, COMPARE_NEW);

    if (gone.too_many || news.too_many)
        return false;
    for (size_t i = 0; i < gone.count; i++) {
        size_t k = only_match(&gone, &news, i, true, callers, to);

        if (k < news.count && only_match(&gone, &news, k, false, callers, to) == i) {
            match_unite(set, gone.functions[i], news.functions[k], to);
            return true;
        }
    }
    return false;
}

bool match_modules(struct compare_set *set, const struct match_callers *callers, uint32_t *to)
{
    bool any = false;

    while (match_one(set, callers, to))
        any = true;
    return any;
}
