/* match_places.c - which functions lie where in the files of each side.  */
#include "base/bisect.h"
#include "libcompare/match/match.h"
#include "libcompare/set/source_files.h"

/* ---- Files ---- */

static bool has_lines(const struct compare_place *place)
{
    return place->start_line > 0 || place->first_line > 0;
}

/* The file of each function on each side, MATCH_NONE without lines: two numbers a function.
 * NULL: no memory.  */
static uint32_t *number_files(const struct compare_set *set)
{
    uint32_t *files = source_files_number(set);

    for (size_t i = 0; files && i < 2 * set->function_count; i++)
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
    const struct match_spot *items = spots->by_line;
    size_t low = 0, high = spots->count;

    BASE_BISECT(low, high, i,
                items[i].file < file || (items[i].file == file && line_of(&items[i]) < line));
    return low;
}

size_t match_from_start(const struct match_spots *spots, uint32_t file, int64_t line)
{
    const struct match_spot *items = spots->by_start;
    size_t low = 0, high = spots->start_count;

    BASE_BISECT(low, high, i,
                items[i].file < file || (items[i].file == file && items[i].start_line < line));
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

static enum match_kind kind_of(const struct compare_set *set, const uint32_t *files,
                               size_t function, int side)
{
    if (!set->functions[function].places[!side].name)
        return MATCH_ALONE;
    return files[2 * function] == files[2 * function + 1] ? MATCH_COMMON : MATCH_ELSEWHERE;
}

static bool collect(const struct compare_set *set, const uint32_t *files, int side,
                    struct match_spots *spots)
{
    spots->by_line = compare_array(set->function_count, sizeof *spots->by_line);
    if (!spots->by_line)
        return false;
    for (size_t f = 0; f < set->function_count; f++) {
        const struct compare_place *place = &set->functions[f].places[side];

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
    compare_sort(spots->by_line, spots->count, sizeof *spots->by_line, by_line);
    return true;
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

static bool open_side(const struct compare_set *set, const uint32_t *files, int side,
                      struct match_spots *out)
{
    if (!collect(set, files, side, out))
        return false;
    find_neighbours(out);
    out->by_start = compare_array(out->count, sizeof *out->by_start);
    if (!out->by_start)
        return false;
    for (size_t i = 0; i < out->count; i++)
        if (out->by_line[i].start_line > 0)
            out->by_start[out->start_count++] = out->by_line[i];
    compare_sort(out->by_start, out->start_count, sizeof *out->by_start, by_start);
    return true;
}

bool match_spots_open(const struct compare_set *set, struct match_spots spots[COMPARE_SIDES])
{
    uint32_t *files = number_files(set);
    bool ok = files != NULL;

    for (int side = 0; side < COMPARE_SIDES; side++)
        spots[side] = (struct match_spots){ .by_line = NULL };
    for (int side = 0; side < COMPARE_SIDES && ok; side++)
        ok = open_side(set, files, side, &spots[side]);
    free(files);
    return ok;
}

void match_spots_release(struct match_spots *spots)
{
    free(spots->by_line);
    free(spots->by_start);
}
