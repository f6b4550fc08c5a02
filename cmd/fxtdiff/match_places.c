/* match_places.c - which functions lie where in the files of each side.  */
#include <stdlib.h>

#include "cmd/fxtdiff/files.h"
#include "cmd/fxtdiff/match.h"

/* ---- Files ---- */

static bool has_lines(const struct diff_place *place)
{
    return place->start_line > 0 || place->first_line > 0;
}

/* The file of each function on each side, MATCH_NONE without lines: two numbers a function.  */
static uint32_t *number_files(const struct diff_set *set)
{
    uint32_t *files = diff_number_files(set);

    for (size_t i = 0; i < 2 * set->function_count; i++)
        if (!has_lines(&set->functions[i / 2].places[i % 2]))
            files[i] = MATCH_NONE;
    return files;
}

/* ---- Order ---- */

uint32_t match_line_of(uint32_t first_line, uint32_t start_line)
{
    return first_line ? first_line : start_line;
}

static uint32_t line_of(const struct match_spot *spot)
{
    return match_line_of(spot->first_line, spot->start_line);
}

static int compare(const struct match_spot *a, const struct match_spot *b, uint32_t a_line,
                   uint32_t b_line)
{
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    if (a_line != b_line)
        return a_line < b_line ? -1 : 1;
    return (a->function > b->function) - (a->function < b->function);
}

static int by_line(const void *a, const void *b)
{
    return compare(a, b, line_of(a), line_of(b));
}

static int by_start(const void *a, const void *b)
{
    const struct match_spot *left = a, *right = b;

    return compare(left, right, left->start_line, right->start_line);
}

size_t match_from_line(const struct match_spots *spots, uint32_t file, int64_t line)
{
    size_t low = 0, high = spots->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct match_spot *spot = &spots->by_line[middle];

        if (spot->file < file || (spot->file == file && line_of(spot) < line))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t match_from_start(const struct match_spots *spots, uint32_t file, int64_t line)
{
    size_t low = 0, high = spots->start_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct match_spot *spot = &spots->by_start[middle];

        if (spot->file < file || (spot->file == file && spot->start_line < line))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

unsigned match_overlap(int64_t first, int64_t last, int64_t other_first, int64_t other_last)
{
    int64_t from = first > other_first ? first : other_first;
    int64_t to = last < other_last ? last : other_last;
    int64_t both = (last - first + 1) + (other_last - other_first + 1);

    if (to < from)
        return 0;
    return (unsigned)(1000 * (to - from + 1) / (both - (to - from + 1)));
}

/* ---- Spots ---- */

static enum match_kind kind_of(const struct diff_set *set, const uint32_t *files, size_t function,
                               int side)
{
    if (!set->functions[function].places[!side].name)
        return MATCH_ALONE;
    return files[2 * function] == files[2 * function + 1] ? MATCH_COMMON : MATCH_ELSEWHERE;
}

static void collect(const struct diff_set *set, const uint32_t *files, int side,
                    struct match_spots *spots)
{
    spots->by_line = cli_allocate(set->function_count, sizeof *spots->by_line);
    for (size_t f = 0; f < set->function_count; f++) {
        const struct diff_place *place = &set->functions[f].places[side];

        if (files[2 * f + (size_t)side] == MATCH_NONE)
            continue;
        spots->by_line[spots->count++] = (struct match_spot){
            .function = (uint32_t)f,
            .file = files[2 * f + (size_t)side],
            .start_line = place->start_line,
            .first_line = place->first_line,
            .last_line = place->last_line,
            .kind = kind_of(set, files, f, side),
            .before = MATCH_NONE,
            .after = MATCH_NONE,
        };
    }
    if (spots->count > 0)
        qsort(spots->by_line, spots->count, sizeof *spots->by_line, by_line);
}

static bool is_same_line(const struct match_spot *a, const struct match_spot *b)
{
    return a->file == b->file && line_of(a) == line_of(b);
}

/* The common functions before and after each: none that begins at the same line.  */
static void find_neighbours(struct match_spots *spots)
{
    struct match_spot *items = spots->by_line;
    uint32_t near = MATCH_NONE, next = MATCH_NONE; /* next: once this line is left behind */

    for (size_t i = 0; i < spots->count; i++) {
        if (i > 0 && items[i].file != items[i - 1].file)
            near = next = MATCH_NONE;
        else if (i > 0 && !is_same_line(&items[i], &items[i - 1]))
            near = next;
        items[i].before = near;
        if (items[i].kind == MATCH_COMMON)
            next = items[i].function;
    }
    near = next = MATCH_NONE;
    for (size_t i = spots->count; i-- > 0;) {
        if (i + 1 < spots->count && items[i].file != items[i + 1].file)
            near = next = MATCH_NONE;
        else if (i + 1 < spots->count && !is_same_line(&items[i], &items[i + 1]))
            near = next;
        items[i].after = near;
        if (items[i].kind == MATCH_COMMON)
            next = items[i].function;
    }
}

void match_spots_open(const struct diff_set *set, struct match_spots spots[DIFF_SIDES])
{
    uint32_t *files = number_files(set);

    for (int side = 0; side < DIFF_SIDES; side++) {
        struct match_spots *of = &spots[side];

        *of = (struct match_spots){ .by_line = NULL };
        collect(set, files, side, of);
        find_neighbours(of);
        of->by_start = cli_allocate(of->count, sizeof *of->by_start);
        for (size_t i = 0; i < of->count; i++)
            if (of->by_line[i].start_line > 0)
                of->by_start[of->start_count++] = of->by_line[i];
        if (of->start_count > 0)
            qsort(of->by_start, of->start_count, sizeof *of->by_start, by_start);
    }
    free(files);
}

void match_spots_release(struct match_spots *spots)
{
    free(spots->by_line);
    free(spots->by_start);
}
