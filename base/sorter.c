/* sorter.c - external merge sort of items of one size.
 *
 * Items gather in memory.  When memory is full, they are sorted and become a run of the
 * temporary file.  The merge reads all runs at once, each through a small window; the last run
 * stays in memory.  Items that came in order are not sorted again, so a trace that was written in
 * order costs one pass.  All comparisons ask whether a later item goes before an earlier one, which
 * keeps equal keys in their order.  */
#include "base/sorter.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bisect.h"
#include "base/file.h"
#include "base/grow.h"

/* A run and its window while runs are merged.  */
struct run {
    uint64_t next, limit;   /* items of the file not yet read: [next, limit) */
    char *window;           /* part of the sorter's merge memory, or the items in memory */
    size_t position, count; /* items of the window */
};

struct base_sorter {
    char *directory;
    size_t size; /* of an item, bytes */
    bool by_ordinal;
    size_t max_items; /* in memory */
    int fd;           /* -1: no run was written */
    uint64_t file_items;

    char *items; /* the run that is being gathered; max_items of room at most */
    size_t count, capacity;
    char *scratch; /* half as many, for sorting them */
    size_t scratch_capacity;
    bool sorted; /* they came in order so far */

    struct run *runs;
    size_t run_count, run_capacity;

    char *memory; /* windows of runs that are in the file */
    size_t window_items;
    uint32_t *heap; /* indexes of runs that are not empty; the one with the least item first */
    size_t heap_count;
    bool advance; /* the item returned last is still the first of heap[0] */
};

/* Items are structs that begin with their key, in memory from malloc().  */
static inline bool before(const void *a, const void *b, bool by_ordinal)
{
    const struct base_sort_key *left = a, *right = b;

    if (left->key != right->key)
        return left->key < right->key;
    return by_ordinal && left->ordinal < right->ordinal;
}

int base_sorter_open(const struct base_sorter_options *options, struct base_sorter **out)
{
    struct base_sorter *sorter = calloc(1, sizeof *sorter);

    if (!sorter)
        return ENOMEM;
    sorter->fd = -1;
    sorter->sorted = true;
    sorter->size = options->item_size;
    sorter->by_ordinal = options->by_ordinal;
    sorter->max_items = options->bytes / 3 * 2 / sorter->size; /* the rest is scratch */
    if (sorter->max_items == 0)
        sorter->max_items = 1;
    sorter->directory = strdup(options->directory);
    if (!sorter->directory) {
        base_sorter_close(sorter);
        return ENOMEM;
    }
    *out = sorter;
    return 0;
}

void base_sorter_close(struct base_sorter *sorter)
{
    if (!sorter)
        return;
    if (sorter->fd >= 0)
        (void)close(sorter->fd);
    free(sorter->directory);
    free(sorter->items);
    free(sorter->scratch);
    free(sorter->runs);
    free(sorter->memory);
    free(sorter->heap);
    free(sorter);
}

/* ---- Sorting a run ---- */

/* The two below are inlined where the size is a constant: copies are then a few registers.  */
static inline __attribute__((always_inline)) void insertion_sort(char *items, size_t count,
                                                                 size_t size, bool by_ordinal)
{
    char moving[BASE_SORTER_MAX_ITEM] __attribute__((aligned(8)));

    for (size_t i = 1; i < count; i++) {
        size_t at = i;

        if (!before(items + i * size, items + (i - 1) * size, by_ordinal))
            continue;
        memcpy(moving, items + i * size, size);
        for (; at > 0 && before(moving, items + (at - 1) * size, by_ordinal); at--)
            memcpy(items + at * size, items + (at - 1) * size, size);
        memcpy(items + at * size, moving, size);
    }
}

/* The first half items are in scratch, the others where they stay until they are needed.  */
static inline __attribute__((always_inline)) void merge(char *items, size_t half, size_t count,
                                                        size_t size, const char *scratch,
                                                        bool by_ordinal)
{
    size_t left = 0, right = half, to = 0;

    while (left < half)
        if (right < count && before(items + right * size, scratch + left * size, by_ordinal))
            memcpy(items + to++ * size, items + right++ * size, size);
        else
            memcpy(items + to++ * size, scratch + left++ * size, size);
}

static void sort_few(const struct base_sorter *sorter, char *items, size_t count)
{
    if (sorter->by_ordinal && sorter->size == 40)
        insertion_sort(items, count, 40, true);
    else if (sorter->by_ordinal && sorter->size == 80)
        insertion_sort(items, count, 80, true);
    else
        insertion_sort(items, count, sorter->size, sorter->by_ordinal);
}

static void merge_halves(const struct base_sorter *sorter, char *items, size_t half, size_t count)
{
    if (sorter->by_ordinal && sorter->size == 40)
        merge(items, half, count, 40, sorter->scratch, true);
    else if (sorter->by_ordinal && sorter->size == 80)
        merge(items, half, count, 80, sorter->scratch, true);
    else
        merge(items, half, count, sorter->size, sorter->scratch, sorter->by_ordinal);
}

/* How many of the first half items go before item half, and so stay where they are.  */
static size_t count_before(const struct base_sorter *sorter, const char *items, size_t half)
{
    size_t low = 0, high = half, size = sorter->size;

    BASE_BISECT(low, high, i, !before(items + half * size, items + i * size, sorter->by_ordinal));
    return low;
}

/* Merge sort that leaves alone the parts that are in order.  Traces are in order except for some
 * stretches, so two halves overlap little.  qsort() spent half of its time calling the comparison.
 */
static void merge_sort(const struct base_sorter *sorter, char *items, size_t count)
{
    size_t half = count / 2, size = sorter->size, stay;

    if (count <= 16) {
        sort_few(sorter, items, count);
        return;
    }
    merge_sort(sorter, items, half);
    merge_sort(sorter, items + half * size, count - half);
    if (!before(items + half * size, items + (half - 1) * size, sorter->by_ordinal))
        return;
    stay = count_before(sorter, items, half);
    memcpy(sorter->scratch, items + stay * size, (half - stay) * size);
    merge_halves(sorter, items + stay * size, half - stay, count - stay);
}

static int sort_items(struct base_sorter *sorter)
{
    if (sorter->sorted)
        return 0;
    if (!base_make_room(&sorter->scratch, &sorter->scratch_capacity, sorter->count / 2,
                        sorter->size))
        return ENOMEM;
    merge_sort(sorter, sorter->items, sorter->count);
    sorter->sorted = true;
    return 0;
}

/* ---- Runs ---- */

static int add_run(struct base_sorter *sorter, struct run run)
{
    if (!base_make_room(&sorter->runs, &sorter->run_capacity, sorter->run_count + 1,
                        sizeof *sorter->runs))
        return ENOMEM;
    sorter->runs[sorter->run_count++] = run;
    return 0;
}

static int write_run(struct base_sorter *sorter)
{
    struct run run = { .next = sorter->file_items, .limit = sorter->file_items + sorter->count };
    int failure = sort_items(sorter);

    if (!failure && sorter->fd < 0 && (sorter->fd = base_temporary_file(sorter->directory)) < 0)
        failure = errno;
    if (!failure)
        failure = base_write_all(sorter->fd, sorter->items, sorter->count * sorter->size);
    if (failure)
        return failure;
    sorter->file_items = run.limit;
    sorter->count = 0;
    return add_run(sorter, run);
}

int base_sorter_add(struct base_sorter *sorter, const void *item)
{
    char *bigger, *place;

    if (sorter->count == sorter->max_items) {
        int failure = write_run(sorter);

        if (failure)
            return failure;
    }
    bigger = base_grow(sorter->items, &sorter->capacity, sorter->count + 1, sorter->size);
    if (!bigger)
        return ENOMEM;
    sorter->items = bigger;
    place = bigger + sorter->count++ * sorter->size;
    if (sorter->count > 1 && before(item, place - sorter->size, sorter->by_ordinal))
        sorter->sorted = false;
    memcpy(place, item, sorter->size);
    return 0;
}

/* ---- Merging ---- */

/* Whether the first item of run a goes before that of run b.  Runs were filled one after another,
 * so of equal keys the earlier run's comes first.  */
static bool run_before(const struct base_sorter *sorter, uint32_t a, uint32_t b)
{
    const struct run *left = &sorter->runs[a], *right = &sorter->runs[b];
    const char *left_item = left->window + left->position * sorter->size;
    const char *right_item = right->window + right->position * sorter->size;

    if (a < b)
        return !before(right_item, left_item, sorter->by_ordinal);
    return before(left_item, right_item, sorter->by_ordinal);
}

static void sink_run(struct base_sorter *sorter, size_t at)
{
    uint32_t moving = sorter->heap[at];

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= sorter->heap_count)
            break;
        if (child + 1 < sorter->heap_count &&
            run_before(sorter, sorter->heap[child + 1], sorter->heap[child]))
            child++;
        if (run_before(sorter, moving, sorter->heap[child]))
            break;
        sorter->heap[at] = sorter->heap[child];
        at = child;
    }
    sorter->heap[at] = moving;
}

/* Read the next items of a run whose window is used up.  Its count is then 0 at the end.  */
static int refill(struct base_sorter *sorter, struct run *run)
{
    uint64_t left = run->limit - run->next;
    size_t count = left < sorter->window_items ? (size_t)left : sorter->window_items;
    int failure = 0;

    if (count > 0)
        failure = base_read_at(sorter->fd, run->window, count * sorter->size,
                               run->next * sorter->size);
    run->next += count;
    run->position = 0;
    run->count = count;
    return failure;
}

/* Windows for the runs of the file: together a quarter of the memory for gathering, but never so
 * small that each item costs a read of its own, unless the caller wanted that little.  */
static int make_windows(struct base_sorter *sorter)
{
    size_t bytes;

    sorter->window_items = sorter->max_items / 4 / (sorter->run_count + 1);
    if (sorter->window_items < 128)
        sorter->window_items = sorter->max_items < 128 ? sorter->max_items : 128;
    if (__builtin_mul_overflow(sorter->run_count * sorter->window_items, sorter->size, &bytes))
        return ENOMEM;
    sorter->memory = malloc(bytes + 1);
    if (!sorter->memory)
        return ENOMEM;
    for (size_t i = 0; i < sorter->run_count; i++)
        sorter->runs[i].window = sorter->memory + i * sorter->window_items * sorter->size;
    return 0;
}

int base_sorter_finish(struct base_sorter *sorter)
{
    struct run last = { .window = sorter->items, .count = sorter->count };
    int failure = make_windows(sorter);

    if (!failure)
        failure = sort_items(sorter);
    for (size_t i = 0; i < sorter->run_count && !failure; i++)
        failure = refill(sorter, &sorter->runs[i]);
    if (!failure)
        failure = add_run(sorter, last);
    if (failure)
        return failure;
    sorter->heap = calloc(sorter->run_count, sizeof *sorter->heap);
    if (!sorter->heap)
        return ENOMEM;
    for (size_t i = 0; i < sorter->run_count; i++)
        if (sorter->runs[i].count > 0)
            sorter->heap[sorter->heap_count++] = (uint32_t)i;
    for (size_t i = sorter->heap_count / 2; i-- > 0;)
        sink_run(sorter, i);
    return 0;
}

/* Step past the item that was returned last.  */
static int advance(struct base_sorter *sorter)
{
    struct run *run = &sorter->runs[sorter->heap[0]];
    int failure = ++run->position == run->count ? refill(sorter, run) : 0;

    if (failure)
        return failure;
    if (run->count == 0)
        sorter->heap[0] = sorter->heap[--sorter->heap_count];
    if (sorter->heap_count > 0)
        sink_run(sorter, 0);
    return 0;
}

int base_sorter_next(struct base_sorter *sorter, const void **out)
{
    int failure = sorter->advance ? advance(sorter) : 0;
    const struct run *run;

    sorter->advance = false;
    *out = NULL;
    if (failure || sorter->heap_count == 0)
        return failure;
    sorter->advance = true;
    run = &sorter->runs[sorter->heap[0]];
    *out = run->window + run->position * sorter->size;
    return 0;
}
