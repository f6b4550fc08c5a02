/* match.c - functions with another name in the same place.
 *
 * What only the base has and what only the new build has are paired when they lie in the same file
 * and at the same lines.  Lines move when something is put in above them: the functions of the file
 * that both builds have tell by how much.  */
#include <stdlib.h>
#include <string.h>

#include "cmd/fxtdiff/builder.h"

/* How far declarations may stray from where they are expected.  */
#define NEAR_LINES 3
/* Instances of one template lie at one line: of these a few are looked at.  */
#define MAX_CANDIDATES 16

/* A function of one side.  */
struct spot {
    uint32_t function;
    const char *file; /* the last two parts of its path: build folders differ */
    uint32_t line;    /* where it is declared */
};

/* A GONE and a NEW one that may be the same.  */
struct pair {
    uint32_t gone, new_one;
    uint32_t distance;
};

static const char *last_two_parts(const char *path)
{
    const char *start = path;
    unsigned parts = 0;

    for (const char *c = path + strlen(path); c > path; c--) {
        if (c[-1] == '/' && ++parts == 2)
            return c;
        start = c - 1;
    }
    return start;
}

static int by_file_and_line(const void *a, const void *b)
{
    const struct spot *left = a, *right = b;
    int order = strcmp(left->file, right->file);

    if (order != 0)
        return order;
    if (left->line != right->line)
        return left->line < right->line ? -1 : 1;
    return (left->function > right->function) - (left->function < right->function);
}

static bool has_place(const struct diff_place *place)
{
    return place->name && *place->file && place->start_line > 0;
}

/* Functions with a place on side; of those that the other side has not, or has too.  */
static size_t collect(const struct diff_set *set, enum diff_side side, bool common,
                      struct spot *spots)
{
    size_t count = 0;

    for (size_t f = 0; f < set->function_count; f++) {
        const struct diff_place *place = &set->functions[f].places[side];
        const struct diff_place *other = &set->functions[f].places[!side];

        if (has_place(place) && (common ? has_place(other) : other->name == NULL))
            spots[count++] = (struct spot){ (uint32_t)f, last_two_parts(place->file),
                                            place->start_line };
    }
    if (count > 0)
        qsort(spots, count, sizeof *spots, by_file_and_line);
    return count;
}

/* By how many lines the nearest function before it in the file, which both builds have, moved; 0
 * without one.  */
static int64_t shift_at(const struct diff_set *set, const struct spot *common, size_t count,
                        const struct spot *at)
{
    size_t low = 0, high = count;
    const struct diff_function *nearest;

    while (low < high) { /* the first that lies behind */
        size_t middle = low + (high - low) / 2;

        if (by_file_and_line(&common[middle], at) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || strcmp(common[low - 1].file, at->file) != 0)
        return 0;
    nearest = &set->functions[common[low - 1].function];
    if (strcmp(last_two_parts(nearest->places[DIFF_NEW].file), at->file) != 0)
        return 0;
    return (int64_t)nearest->places[DIFF_NEW].start_line -
           (int64_t)nearest->places[DIFF_BASE].start_line;
}

static int by_distance(const void *a, const void *b)
{
    const struct pair *left = a, *right = b;

    if (left->distance != right->distance)
        return left->distance < right->distance ? -1 : 1;
    if (left->gone != right->gone)
        return left->gone < right->gone ? -1 : 1;
    return (left->new_one > right->new_one) - (left->new_one < right->new_one);
}

/* The first of the sorted spots that does not lie before file:line.  */
static size_t first_from(const struct spot *spots, size_t count, const char *file, int64_t line)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(spots[middle].file, file);

        if (order < 0 || (order == 0 && (int64_t)spots[middle].line < line))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct pairs {
    struct pair *items;
    size_t count, capacity;
};

static void add_pairs(struct pairs *pairs, const struct spot *gone, int64_t expected,
                      const struct spot *news, size_t new_count)
{
    size_t first = first_from(news, new_count, gone->file, expected - NEAR_LINES);

    for (size_t i = first;
         i < new_count && i - first < MAX_CANDIDATES && strcmp(news[i].file, gone->file) == 0 &&
         (int64_t)news[i].line <= expected + NEAR_LINES;
         i++) {
        int64_t off = (int64_t)news[i].line - expected;

        pairs->items = diff_grow(pairs->items, &pairs->capacity, pairs->count + 1,
                                 sizeof *pairs->items);
        pairs->items[pairs->count++] = (struct pair){ gone->function, news[i].function,
                                                      (uint32_t)(off < 0 ? -off : off) };
    }
}

/* The new function takes the place of the old one in; it goes by the new name.  */
static void unite(struct diff_set *set, const struct pair *pair, uint32_t *to)
{
    struct diff_function *gone = &set->functions[pair->gone];
    struct diff_function *new_one = &set->functions[pair->new_one];

    if (to[pair->gone] != pair->gone || new_one->renamed)
        return; /* one of them has a nearer partner */
    new_one->places[DIFF_BASE] = gone->places[DIFF_BASE];
    new_one->renamed = true;
    gone->places[DIFF_BASE] = (struct diff_place){ .name = NULL };
    to[pair->gone] = pair->new_one;
}

void diff_match_renamed(struct diff_set *set, uint32_t *to)
{
    size_t room = set->function_count;
    struct spot *gone = cli_allocate(room, sizeof *gone);
    struct spot *news = cli_allocate(room, sizeof *news);
    struct spot *common = cli_allocate(room, sizeof *common);
    size_t gone_count = collect(set, DIFF_BASE, false, gone);
    size_t new_count = collect(set, DIFF_NEW, false, news);
    size_t common_count = collect(set, DIFF_BASE, true, common);
    struct pairs pairs = { .items = NULL };

    for (size_t f = 0; f < set->function_count; f++)
        to[f] = (uint32_t)f;
    for (size_t i = 0; i < gone_count; i++)
        add_pairs(&pairs, &gone[i], gone[i].line + shift_at(set, common, common_count, &gone[i]),
                  news, new_count);
    if (pairs.count > 0)
        qsort(pairs.items, pairs.count, sizeof *pairs.items, by_distance);
    for (size_t i = 0; i < pairs.count; i++)
        unite(set, &pairs.items[i], to);
    free(pairs.items);
    free(gone);
    free(news);
    free(common);
}
