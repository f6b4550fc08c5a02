/* match.h - between the files that find renamed functions: match.c pairs what lies in one place,
 * match_places.c says what lies where, match_callers.c who calls what, match_unite.c decides;
 * match_modules.c matches code without names, match_roots.c processes.
 *
 * docs/comparison.md, section 9, has the rule.  No match is better than a wrong one: NEW and GONE
 * show both costs, a wrong RENAMED hides one behind the other.  */
#ifndef COMPARE_MATCH_H
#define COMPARE_MATCH_H

#include "libcompare/set/builder.h"

#define MATCH_NONE UINT32_MAX

/* By two numbers: a and b, then those behind them.  */
static inline int match_order(uint32_t a, uint32_t b, uint32_t then_a, uint32_t then_b)
{
    if (a != b)
        return a < b ? -1 : 1;
    return (then_a > then_b) - (then_a < then_b);
}

/* A function in a file of one side.  */
struct match_spot {
    uint32_t function;
    uint32_t file;       /* the same number on both sides */
    uint32_t start_line; /* as in struct compare_place */
    uint32_t first_line, last_line;
    enum match_kind {
        MATCH_ALONE,     /* only this side has the function */
        MATCH_COMMON,    /* both have it, in this file: it tells how lines moved */
        MATCH_ELSEWHERE, /* both have it, the other side in another file or in none that is known */
    } kind;
    uint32_t before, after; /* the nearest common functions in the file; MATCH_NONE */
};

/* What one side has, in two orders.  */
struct match_spots {
    struct match_spot *by_line;  /* by file and match_line_of() */
    struct match_spot *by_start; /* by file and start_line: those that have one */
    size_t count, start_count;
};

/* Where a spot lies among the others of its file: the first line sampled, else the declaration.  */
uint32_t match_line_of(uint32_t first_line, uint32_t start_line);

/* Returns false when memory is short; release the spots also then.  */
bool match_spots_open(const struct compare_set *set, struct match_spots spots[COMPARE_SIDES]);
void match_spots_release(struct match_spots *spots);

/* The first spot of the file that does not lie before line, in that order.  */
size_t match_from_line(const struct match_spots *spots, uint32_t file, int64_t line);
size_t match_from_start(const struct match_spots *spots, uint32_t file, int64_t line);

/* How much two ranges of lines, both ends included, have in common: 1000 all, 0 nothing.  */
unsigned match_overlap(int64_t first, int64_t last, int64_t other_first, int64_t other_last);

/* Direct callers of the functions that wanted marks, others than themselves.  */
struct match_callers {
    struct match_call {
        uint32_t function, caller;
    } * items;                    /* by function, then caller; none twice */
    struct match_call *by_caller; /* the same, by caller, then function */
    size_t count, capacity;
};

/* Returns false when memory is short; release the callers also then.  */
bool match_callers_open(const struct compare_builder *builder, const struct frame_functions *frames,
                        const uint8_t *wanted, struct match_callers *out);
void match_callers_release(struct match_callers *callers);

bool match_is_called_by(const struct match_callers *callers, uint32_t function, uint32_t caller);
/* Where the calls of a caller begin in by_caller.  */
size_t match_calls_from(const struct match_callers *callers, uint32_t caller);

/* Whether a caller of a function of the base, as to[] has it, calls the new one, too.  Unknown: one
 * of both has no callers, as in baselines and flat profiles.  */
enum match_calls { MATCH_CALLS_UNKNOWN, MATCH_CALLS_DIFFER, MATCH_CALLS_AGREE };
enum match_calls match_callers_compare(const struct match_callers *callers, const uint32_t *to,
                                       uint32_t gone, uint32_t new_one);

/* The new function takes the place of the old one; it goes by the new name.  */
void match_unite(struct compare_set *set, uint32_t gone, uint32_t new_one, uint32_t *to);

/* What went and what came in one place; each function is in one pair at most.  */
struct match_pair {
    uint32_t gone, new_one;
    bool is_sure; /* the place is evidence enough where nobody knows who calls them */
};

/* Unite the pairs that have a common caller, under one name or renamed itself, and those that are
 * sure where one of both has no callers.  to[] may have pairs of an earlier call.  Returns false
 * when memory is short.  */
bool match_unite_pairs(struct compare_set *set, const struct match_callers *callers,
                       const struct match_pair *pairs, size_t count, uint32_t *to);

/* Whether only one side has it, and it stands for the code of a module without names.  */
bool match_is_module(const struct compare_function *function);

/* The share of each of them, with its callees, in the cost of its side: a number for each function
 * of the set, 0 for other functions, to be released with free().  Returns
 * NULL when memory is short.  */
double *match_module_shares(const struct compare_builder *builder,
                            const struct frame_functions *frames);

/* Unite those of them that have a common caller, and no other one that is not much smaller.  The
 * callers of all of them are known.  Returns whether there were any.  */
bool match_modules(struct compare_set *set, const struct match_callers *callers,
                   const double *shares, uint32_t *to);

/* Unite roots of stacks that only one side has and that have mostly the same functions above them,
 * as processes under two names.  root_to[i] becomes the function that function i is as a root, and
 * to[i], if it is nothing else.  The set names the pairs.  Returns false when memory is short.  */
bool match_roots(struct compare_builder *builder, const struct frame_functions *frames,
                 uint32_t *to, uint32_t *root_to);

#endif /* COMPARE_MATCH_H */
