/* match.c - functions with another name in the same place.
 *
 * What only the base has and what only the new build has may be one function that was renamed: in
 * the same file, between the same functions, at the same declaration or - where a side has no
 * declarations - over the same lines, and called by the same.  Lines move when something is put in
 * above them: the nearest functions of the file that both builds have tell by how much.  */
#include "libcompare/match/match.h"

#include <string.h>

/* How far declarations may stray from where they are expected.  */
#define NEAR_LINES 3
/* Of 1000: ranges of a function that was renamed have at least half of their lines in common, and
 * those that have less than a quarter are not looked at.  */
#define LEAST_OVERLAP 500
#define SOME_OVERLAP  250
/* Shorter ranges have to be the same.  One line is no range.  */
#define SHORT_LINES 3
/* Names of one place that tell who is who have at least half of their letters in common.  */
#define LEAST_LIKENESS 500
/* More than that in one place - a template's instances, what a macro makes - are distinguished by
 * nothing here, and what is looked at for one function has an end.  */
#define MAX_CANDIDATES 64
#define MAX_LOOKED     1024

/* By how much lines moved, as the neighbours have it.  */
struct shifts {
    int64_t before[2], after[2];
    size_t before_count, after_count;
};

/* A GONE and a NEW one that may be the same.  */
struct pair {
    const struct match_spot *gone, *new_one;
    bool declared;     /* by their declarations, else by their ranges */
    unsigned distance; /* of declarations: lines */
    unsigned overlap;  /* of ranges: of 1000 */
    bool beaten;       /* another is as good */
};

struct matching {
    const struct compare_set *set;
    struct match_spots spots[COMPARE_SIDES];
    struct pair *pairs; /* those of one GONE beside each other */
    size_t count, capacity;
    struct match_pair *best; /* what is left of them */
    size_t best_count;
    uint8_t *crowded; /* of each function: it lies where there are too many */
    /* Of each function that one side has: whether others share its declaration, its lines.  */
    uint8_t *start_shared, *lines_shared; /* enum shared */
    bool failed;                          /* memory is short: nothing found since counts */
};

/* ---- Where lines went ---- */

static size_t shifts_of(const struct compare_set *set, uint32_t function, int64_t out[2])
{
    const struct compare_place *places;
    int64_t by_first, by_last;

    if (function == MATCH_NONE)
        return 0;
    places = set->functions[function].places;
    if (places[COMPARE_BASE].start_line > 0 && places[COMPARE_NEW].start_line > 0) {
        out[0] = (int64_t)places[COMPARE_NEW].start_line - (int64_t)places[COMPARE_BASE].start_line;
        return 1;
    }
    if (places[COMPARE_BASE].first_line == 0 || places[COMPARE_NEW].first_line == 0)
        return 0;
    by_first = (int64_t)places[COMPARE_NEW].first_line - (int64_t)places[COMPARE_BASE].first_line;
    by_last = (int64_t)places[COMPARE_NEW].last_line - (int64_t)places[COMPARE_BASE].last_line;
    out[0] = by_first;
    out[1] = by_last;
    return by_first == by_last ? 1 : 2;
}

static struct shifts shifts_around(const struct compare_set *set, const struct match_spot *spot)
{
    struct shifts shifts = { .before_count = 0 };

    shifts.before_count = shifts_of(set, spot->before, shifts.before);
    shifts.after_count = shifts_of(set, spot->after, shifts.after);
    return shifts;
}

static size_t list_shift(int64_t shift, int64_t out[4], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (out[i] == shift)
            return count;
    out[count++] = shift;
    return count;
}

/* Every shift once, and 0 where no neighbour says anything.  Returns how many.  */
static size_t list_shifts(const struct shifts *shifts, int64_t out[4])
{
    size_t count = 0;

    for (size_t i = 0; i < shifts->before_count; i++)
        count = list_shift(shifts->before[i], out, count);
    for (size_t i = 0; i < shifts->after_count; i++)
        count = list_shift(shifts->after[i], out, count);
    if (count == 0)
        out[count++] = 0;
    return count;
}

/* Whether a spot lies behind (or before) a common function on its side.  */
static bool lies_behind(const struct compare_set *set, const struct match_spot *spot, int side,
                        uint32_t common)
{
    const struct compare_place *place = &set->functions[common].places[side];

    return match_line_of(spot->first_line, spot->start_line) >
           match_line_of(place->first_line, place->start_line);
}

static bool lies_before(const struct compare_set *set, const struct match_spot *spot, int side,
                        uint32_t common)
{
    const struct compare_place *place = &set->functions[common].places[side];

    return match_line_of(spot->first_line, spot->start_line) <
           match_line_of(place->first_line, place->start_line);
}

/* What lies before one of them lies before the other, and what lies behind, behind.  */
static bool have_same_neighbours(const struct compare_set *set, const struct match_spot *gone,
                                 const struct match_spot *new_one)
{
    return (gone->before == MATCH_NONE || lies_behind(set, new_one, COMPARE_NEW, gone->before)) &&
           (gone->after == MATCH_NONE || lies_before(set, new_one, COMPARE_NEW, gone->after)) &&
           (new_one->before == MATCH_NONE ||
            lies_behind(set, gone, COMPARE_BASE, new_one->before)) &&
           (new_one->after == MATCH_NONE || lies_before(set, gone, COMPARE_BASE, new_one->after));
}

/* ---- Places that several functions share ---- */

/* A function that both builds have is declared at the same line: instances of a template, what one
 * line of a macro makes.  */
static bool shares_declaration(const struct match_spots *spots, const struct match_spot *spot)
{
    size_t first = match_from_start(spots, spot->file, spot->start_line), i;

    for (i = first; i < spots->start_count && spots->by_start[i].file == spot->file &&
                    spots->by_start[i].start_line == spot->start_line;
         i++)
        if (spots->by_start[i].kind != MATCH_ALONE || i - first >= MAX_CANDIDATES)
            return true;
    return false;
}

static int64_t length_of(const struct match_spot *spot)
{
    return (int64_t)spot->last_line - (int64_t)spot->first_line + 1;
}

/* Where ranges begin that have something to do with [first, ...] of a length.  */
static int64_t window_from(int64_t first, int64_t length)
{
    return first - length * (1000 / SOME_OVERLAP);
}

/* Likewise, or over a good part of its range.  */
static bool shares_lines(const struct match_spots *spots, const struct match_spot *spot)
{
    int64_t from = window_from(spot->first_line, length_of(spot));
    size_t start = match_from_line(spots, spot->file, from), i;

    for (i = start; i < spots->count && spots->by_line[i].file == spot->file &&
                    spots->by_line[i].first_line <= spot->last_line;
         i++) {
        const struct match_spot *other = &spots->by_line[i];

        if (i - start >= MAX_LOOKED)
            return true;
        if (other->kind != MATCH_ALONE && other->first_line > 0 &&
            match_overlap(spot->first_line, spot->last_line, other->first_line, other->last_line) >=
                SOME_OVERLAP)
            return true;
    }
    return false;
}

/* What a look at one of them said, for it is asked again for every other one nearby.  */
enum shared { SHARED_UNKNOWN = 0, SHARED_NO, SHARED_YES };

static bool is_shared(uint8_t *known, const struct match_spots *spots,
                      const struct match_spot *spot,
                      bool (*look)(const struct match_spots *, const struct match_spot *))
{
    uint8_t *shared = &known[spot->function];

    if (*shared == SHARED_UNKNOWN)
        *shared = look(spots, spot) ? SHARED_YES : SHARED_NO;
    return *shared == SHARED_YES;
}

static bool start_is_shared(struct matching *matching, int side, const struct match_spot *spot)
{
    return is_shared(matching->start_shared, &matching->spots[side], spot, shares_declaration);
}

static bool lines_are_shared(struct matching *matching, int side, const struct match_spot *spot)
{
    return is_shared(matching->lines_shared, &matching->spots[side], spot, shares_lines);
}

/* ---- Pairs ---- */

static void add_pair(struct matching *matching, struct pair pair)
{
    if (base_make_room(&matching->pairs, &matching->capacity, matching->count + 1,
                       sizeof *matching->pairs))
        matching->pairs[matching->count++] = pair;
    else
        matching->failed = true;
}

static void add_declared(struct matching *matching, const struct match_spot *gone)
{
    const struct match_spots *news = &matching->spots[COMPARE_NEW];
    struct shifts shifts = shifts_around(matching->set, gone);
    int64_t by[4];
    size_t count = list_shifts(&shifts, by);

    if (start_is_shared(matching, COMPARE_BASE, gone))
        return;
    for (size_t s = 0; s < count; s++) {
        int64_t expected = gone->start_line + by[s];
        size_t first = match_from_start(news, gone->file, expected - NEAR_LINES), i;

        for (i = first;
             i < news->start_count && news->by_start[i].file == gone->file &&
             news->by_start[i].start_line <= expected + NEAR_LINES && i - first < MAX_LOOKED;
             i++) {
            const struct match_spot *spot = &news->by_start[i];
            int64_t off = (int64_t)spot->start_line - expected;

            if (spot->kind == MATCH_ALONE && have_same_neighbours(matching->set, gone, spot) &&
                !start_is_shared(matching, COMPARE_NEW, spot))
                add_pair(matching, (struct pair){ .gone = gone,
                                                  .new_one = spot,
                                                  .declared = true,
                                                  .distance = (unsigned)(off < 0 ? -off : off) });
        }
    }
}

static bool has_range(const struct match_spot *spot)
{
    return spot->first_line > 0 && spot->first_line < spot->last_line;
}

/* Those whose lines are about those that gone would have, had its first line moved by one number
 * and its last by another.  */
static void add_overlapping(struct matching *matching, const struct match_spot *gone,
                            int64_t first_by, int64_t last_by)
{
    const struct match_spots *news = &matching->spots[COMPARE_NEW];
    int64_t first = gone->first_line + first_by, last = gone->last_line + last_by;
    size_t start, i;

    if (last <= first)
        return;
    start = match_from_line(news, gone->file, window_from(first, last - first + 1));
    for (i = start; i < news->count && news->by_line[i].file == gone->file &&
                    news->by_line[i].first_line <= last && i - start < MAX_LOOKED;
         i++) {
        const struct match_spot *spot = &news->by_line[i];
        unsigned overlap;

        if (spot->kind != MATCH_ALONE || !has_range(spot) || (gone->start_line && spot->start_line))
            continue;
        overlap = match_overlap(first, last, spot->first_line, spot->last_line);
        if (overlap >= SOME_OVERLAP && have_same_neighbours(matching->set, gone, spot) &&
            !lines_are_shared(matching, COMPARE_NEW, spot))
            add_pair(matching, (struct pair){ .gone = gone, .new_one = spot, .overlap = overlap });
    }
}

static void add_ranges(struct matching *matching, const struct match_spot *gone)
{
    struct shifts shifts = shifts_around(matching->set, gone);
    int64_t by[4];
    size_t count = list_shifts(&shifts, by);

    if (!has_range(gone) || lines_are_shared(matching, COMPARE_BASE, gone))
        return;
    for (size_t s = 0; s < count; s++)
        add_overlapping(matching, gone, by[s], by[s]);
    /* It grew or shrank: what is before it moved its first line, what is behind it its last.  */
    for (size_t b = 0; b < shifts.before_count; b++)
        for (size_t a = 0; a < shifts.after_count; a++)
            if (shifts.before[b] != shifts.after[a])
                add_overlapping(matching, gone, shifts.before[b], shifts.after[a]);
}

/* ---- Which of them ---- */

static int better_first(const struct pair *left, const struct pair *right)
{
    if (left->distance != right->distance)
        return left->distance < right->distance ? -1 : 1;
    return (left->overlap < right->overlap) - (left->overlap > right->overlap);
}

static int by_gone(const void *a, const void *b)
{
    const struct pair *left = a, *right = b;
    int order = match_order(left->gone->function, right->gone->function, left->new_one->function,
                            right->new_one->function);

    return order ? order : better_first(left, right);
}

static int by_new(const void *a, const void *b)
{
    const struct pair *left = a, *right = b;

    return match_order(left->new_one->function, right->new_one->function, left->gone->function,
                       right->gone->function);
}

/* What is left of the pairs of one GONE, which begin at first: each two functions once, as near as
 * any shift has them.  Too many are not kept, for they would fill the memory; that it is not clear
 * who is who there has to be known of the others, too.  */
static void settle_pairs(struct matching *matching, size_t first)
{
    size_t count = first;

    if (matching->count > first)
        compare_sort(matching->pairs + first, matching->count - first, sizeof *matching->pairs,
                     by_gone);
    for (size_t i = first; i < matching->count; i++)
        if (count == first ||
            matching->pairs[count - 1].new_one->function != matching->pairs[i].new_one->function)
            matching->pairs[count++] = matching->pairs[i];
    matching->count = count;
    if (count - first <= MAX_CANDIDATES)
        return;
    for (size_t i = first; i < count; i++)
        matching->crowded[matching->pairs[i].new_one->function] = 1;
    matching->count = first;
}

static void find_pairs(struct matching *matching)
{
    const struct match_spots *spots = &matching->spots[COMPARE_BASE];

    for (size_t i = 0; i < spots->count; i++) {
        const struct match_spot *spot = &spots->by_line[i];
        size_t first = matching->count;

        if (spot->kind != MATCH_ALONE)
            continue;
        if (spot->start_line > 0)
            add_declared(matching, spot);
        add_ranges(matching, spot);
        settle_pairs(matching, first);
    }
}

/* Of 1000: how much of the longer of two names both begin and end with.  */
static unsigned likeness(const struct compare_set *set, const struct pair *pair)
{
    const char *a = set->functions[pair->gone->function].name;
    const char *b = set->functions[pair->new_one->function].name;
    size_t a_length = strlen(a), b_length = strlen(b);
    size_t shorter = a_length < b_length ? a_length : b_length;
    size_t longer = a_length < b_length ? b_length : a_length;
    size_t head = 0, tail = 0;

    while (head < shorter && a[head] == b[head])
        head++;
    while (head + tail < shorter && a[a_length - 1 - tail] == b[b_length - 1 - tail])
        tail++;
    return longer ? (unsigned)(1000 * (head + tail) / longer) : 0;
}

/* Whether the place alone does not tell which of both pairs it is.  */
static bool is_rival(const struct pair *pair, const struct pair *other)
{
    if (pair->declared && other->declared)
        return other->distance <= pair->distance;
    if (!pair->declared && !other->declared)
        return 2 * other->overlap > pair->overlap;
    return true;
}

/* The one pair that the place tells from all others, or count.  */
static size_t find_nearest(const struct pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;

        while (k < count && (k == i || !is_rival(&pairs[i], &pairs[k])))
            k++;
        if (k == count)
            return i;
    }
    return count;
}

/* The one whose names are the most alike, or count.  */
static size_t find_most_alike(const struct compare_set *set, const struct pair *pairs, size_t count)
{
    unsigned most = 0;
    size_t found = count;

    for (size_t i = 0; i < count; i++) {
        unsigned like = likeness(set, &pairs[i]);

        if (like < LEAST_LIKENESS || like < most)
            continue;
        found = like > most ? i : count;
        most = like;
    }
    return found;
}

/* Of pairs that share a function one is left at most: where the place does not tell, the names have
 * to.  */
static void judge(const struct compare_set *set, struct pair *pairs, size_t count)
{
    size_t best = count;

    if (count <= MAX_CANDIDATES)
        best = find_nearest(pairs, count);
    if (count <= MAX_CANDIDATES && best == count)
        best = find_most_alike(set, pairs, count);
    for (size_t i = 0; i < count; i++)
        pairs[i].beaten |= i != best;
}

static void judge_all(struct matching *matching, bool by_new_one)
{
    size_t limit;

    for (size_t i = 0; i < matching->count; i = limit) {
        const struct pair *first = &matching->pairs[i];

        for (limit = i + 1; limit < matching->count; limit++) {
            const struct pair *pair = &matching->pairs[limit];

            if (by_new_one ? pair->new_one->function != first->new_one->function
                           : pair->gone->function != first->gone->function)
                break;
        }
        judge(matching->set, &matching->pairs[i], limit - i);
    }
}

/* Ranges that have to be the same, for want of other evidence.  */
static bool needs_same_lines(const struct pair *pair)
{
    const struct match_spot *gone = pair->gone;

    return length_of(gone) < SHORT_LINES || length_of(pair->new_one) < SHORT_LINES ||
           (gone->before == MATCH_NONE && gone->after == MATCH_NONE);
}

static bool is_sure(const struct pair *pair)
{
    return pair->declared || pair->overlap == 1000;
}

/* Whether it is one function if the same call both.  */
static bool may_be_one(const struct matching *matching, const struct pair *pair)
{
    return !pair->beaten && !matching->crowded[pair->new_one->function] &&
           (is_sure(pair) || (pair->overlap >= LEAST_OVERLAP && !needs_same_lines(pair)));
}

/* No function is in two of the pairs.  */
static bool keep_best(struct matching *matching)
{
    judge_all(matching, false);
    compare_sort(matching->pairs, matching->count, sizeof *matching->pairs, by_new);
    judge_all(matching, true);
    matching->best = compare_array(matching->count, sizeof *matching->best);
    for (size_t i = 0; matching->best && i < matching->count; i++) {
        const struct pair *pair = &matching->pairs[i];

        if (may_be_one(matching, pair))
            matching->best[matching->best_count++] =
                (struct match_pair){ pair->gone->function, pair->new_one->function, is_sure(pair) };
    }
    return matching->best != NULL;
}

/* Whose callers will have to be known.  */
static void mark_wanted(const struct matching *matching, uint8_t *wanted)
{
    const struct compare_set *set = matching->set;

    for (size_t i = 0; i < matching->best_count; i++)
        wanted[matching->best[i].gone] = wanted[matching->best[i].new_one] = 1;
    for (size_t f = 0; f < set->function_count; f++)
        wanted[f] |= match_is_module(&set->functions[f]);
}

static void release(struct matching *matching)
{
    for (int side = 0; side < COMPARE_SIDES; side++)
        match_spots_release(&matching->spots[side]);
    free(matching->pairs);
    free(matching->best);
    free(matching->crowded);
    free(matching->start_shared);
    free(matching->lines_shared);
}

static bool find_best(struct matching *matching)
{
    size_t count = matching->set->function_count;

    matching->crowded = compare_array(count, 1);
    matching->start_shared = compare_array(count, 1);
    matching->lines_shared = compare_array(count, 1);
    if (!matching->crowded || !matching->start_shared || !matching->lines_shared ||
        !match_spots_open(matching->set, matching->spots))
        return false;
    find_pairs(matching);
    return !matching->failed && keep_best(matching);
}

/* Unite what is one function, by its callers.  */
static bool unite_best(const struct matching *matching, struct compare_builder *builder,
                       const struct frame_functions *frames, uint32_t *to)
{
    struct compare_set *set = &builder->set;
    struct match_callers callers = { .items = NULL };
    uint8_t *wanted = compare_array(set->function_count, 1);
    double *shares = match_module_shares(builder, frames);
    bool ok = wanted && shares;

    if (ok) {
        mark_wanted(matching, wanted);
        ok = match_callers_open(builder, frames, wanted, &callers);
    }
    if (ok) {
        (void)match_modules(set, &callers, shares, to);
        do
            ok = match_unite_pairs(set, &callers, matching->best, matching->best_count, to);
        while (ok &&
               match_modules(set, &callers, shares, to)); /* which renamed functions may call */
    }
    match_callers_release(&callers);
    free(wanted);
    free(shares);
    return ok;
}

bool match_renamed(struct compare_builder *builder, const struct frame_functions *frames,
                   uint32_t *to, uint32_t *root_to)
{
    struct matching matching = { .set = &builder->set };
    bool ok;

    for (size_t f = 0; f < builder->set.function_count; f++)
        to[f] = root_to[f] = (uint32_t)f;
    ok = match_roots(builder, frames, to, root_to) && find_best(&matching) &&
         unite_best(&matching, builder, frames, to);
    for (size_t f = 0; ok && f < builder->set.function_count; f++)
        if (root_to[f] == f)
            root_to[f] = to[f];
    release(&matching);
    return ok || builder_no_memory(builder);
}
