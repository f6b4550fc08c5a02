/* sort.c - external merge sort of items of one size.
 *
 * Items gather in memory.  When there is no more room they are sorted and become a run of the
 * temporary file.  The merge reads all runs at once, each through a small window; the last run
 * stays where it is.  Items that came in order are not sorted again, so a trace written in order
 * costs one pass.  */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libprofile/ingest/sort.h"
#include "libprofile/internal.h"

/* A run and its window while runs are merged.  */
struct run {
    uint64_t next, limit;   /* items of the file not yet read: [next, limit) */
    char *window;           /* part of the sorter's merge memory, or the items in memory */
    size_t position, count; /* items of the window */
};

struct sorter {
    char *directory;
    size_t size;      /* of an item, bytes */
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
    bool advance; /* the item given out last is still the first of heap[0] */
};

/* Items are structs that begin with their key, in memory from malloc().  */
static bool before(const void *a, const void *b)
{
    const struct sort_key *left = a, *right = b;

    if (left->ts_ns != right->ts_ns)
        return left->ts_ns < right->ts_ns;
    return left->ordinal < right->ordinal;
}

enum profile_status sorter_open(const char *directory, size_t sort_bytes, size_t item_size,
                                struct sorter **out, struct profile_error *error)
{
    struct sorter *sorter = calloc(1, sizeof *sorter);

    if (!sorter)
        return profile_no_memory(error);
    sorter->fd = -1;
    sorter->sorted = true;
    sorter->size = item_size;
    sorter->max_items = sort_bytes / 3 * 2 / item_size; /* the rest is scratch */
    if (sorter->max_items == 0)
        sorter->max_items = 1;
    sorter->directory = strdup(directory);
    if (!sorter->directory) {
        sorter_close(sorter);
        return profile_no_memory(error);
    }
    *out = sorter;
    return PROFILE_OK;
}

void sorter_close(struct sorter *sorter)
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

/* ---- Runs ---- */

/* A file that has no name any more.  */
static enum profile_status open_file(struct sorter *sorter, struct profile_error *error)
{
    size_t length = strlen(sorter->directory) + sizeof "/fxt-sort-XXXXXX";
    char *path = malloc(length);
    int saved_errno;

    if (!path)
        return profile_no_memory(error);
    (void)snprintf(path, length, "%s/fxt-sort-XXXXXX", sorter->directory);
    sorter->fd = mkostemp(path, O_CLOEXEC);
    saved_errno = errno;
    if (sorter->fd >= 0)
        (void)unlink(path);
    free(path);
    if (sorter->fd >= 0)
        return PROFILE_OK;
    return profile_fail_errno(error, saved_errno, sorter->directory);
}

static enum profile_status write_file(struct sorter *sorter, const void *bytes, size_t size,
                                      struct profile_error *error)
{
    const char *next = bytes;

    while (size > 0) {
        ssize_t written = write(sorter->fd, next, size);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return profile_fail_errno(error, written < 0 ? errno : ENOSPC,
                                      "temporary file for sorting");
        next += written;
        size -= (size_t)written;
    }
    return PROFILE_OK;
}

static enum profile_status read_file(struct sorter *sorter, void *bytes, size_t size,
                                     uint64_t offset, struct profile_error *error)
{
    char *next = bytes;

    while (size > 0) {
        ssize_t count = pread(sorter->fd, next, size, (off_t)offset);

        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return profile_fail_errno(error, count < 0 ? errno : EIO, "temporary file for sorting");
        next += count;
        size -= (size_t)count;
        offset += (uint64_t)count;
    }
    return PROFILE_OK;
}

/* The two below are inlined where the size is a constant: copies are then a few registers.  */
static inline __attribute__((always_inline)) void insertion_sort(char *items, size_t count,
                                                                 size_t size)
{
    char moving[SORT_MAX_ITEM] __attribute__((aligned(8)));

    for (size_t i = 1; i < count; i++) {
        size_t at = i;

        if (!before(items + i * size, items + (i - 1) * size))
            continue;
        memcpy(moving, items + i * size, size);
        for (; at > 0 && before(moving, items + (at - 1) * size); at--)
            memcpy(items + at * size, items + (at - 1) * size, size);
        memcpy(items + at * size, moving, size);
    }
}

/* The first half items are in scratch, the others where they stay until they are needed.  */
static inline __attribute__((always_inline)) void merge(char *items, size_t half, size_t count,
                                                        size_t size, const char *scratch)
{
    size_t left = 0, right = half, to = 0;

    while (left < half)
        if (right == count || before(scratch + left * size, items + right * size))
            memcpy(items + to++ * size, scratch + left++ * size, size);
        else
            memcpy(items + to++ * size, items + right++ * size, size);
}

static void sort_few(char *items, size_t count, size_t size)
{
    if (size == 40)
        insertion_sort(items, count, 40);
    else if (size == 80)
        insertion_sort(items, count, 80);
    else
        insertion_sort(items, count, size);
}

static void merge_halves(char *items, size_t half, size_t count, size_t size, const char *scratch)
{
    if (size == 40)
        merge(items, half, count, 40, scratch);
    else if (size == 80)
        merge(items, half, count, 80, scratch);
    else
        merge(items, half, count, size, scratch);
}

/* How many of the first half items go before item half, and so stay where they are.  */
static size_t count_before(const char *items, size_t half, size_t size)
{
    size_t low = 0, high = half;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (before(items + middle * size, items + half * size))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Merge sort that leaves alone what is in order: traces are, but for some stretches, so little of
 * two halves overlaps.  Half of qsort()'s time went into calling the comparison.  */
static void merge_sort(char *items, size_t count, size_t size, char *scratch)
{
    size_t half = count / 2, stay;

    if (count <= 16) {
        sort_few(items, count, size);
        return;
    }
    merge_sort(items, half, size, scratch);
    merge_sort(items + half * size, count - half, size, scratch);
    if (before(items + (half - 1) * size, items + half * size))
        return;
    stay = count_before(items, half, size);
    memcpy(scratch, items + stay * size, (half - stay) * size);
    merge_halves(items + stay * size, half - stay, count - stay, size, scratch);
}

static enum profile_status sort_items(struct sorter *sorter, struct profile_error *error)
{
    char *scratch;

    if (sorter->sorted)
        return PROFILE_OK;
    scratch = profile_grow(sorter->scratch, &sorter->scratch_capacity, sorter->count / 2,
                           sorter->size);
    if (!scratch)
        return profile_no_memory(error);
    sorter->scratch = scratch;
    merge_sort(sorter->items, sorter->count, sorter->size, scratch);
    sorter->sorted = true;
    return PROFILE_OK;
}

static enum profile_status add_run(struct sorter *sorter, struct run run,
                                   struct profile_error *error)
{
    struct run *bigger = profile_grow(sorter->runs, &sorter->run_capacity, sorter->run_count + 1,
                                      sizeof *bigger);

    if (!bigger)
        return profile_no_memory(error);
    sorter->runs = bigger;
    sorter->runs[sorter->run_count++] = run;
    return PROFILE_OK;
}

static enum profile_status write_run(struct sorter *sorter, struct profile_error *error)
{
    struct run run = { .next = sorter->file_items, .limit = sorter->file_items + sorter->count };
    enum profile_status status = sorter->fd < 0 ? open_file(sorter, error) : PROFILE_OK;

    if (status == PROFILE_OK)
        status = sort_items(sorter, error);
    if (status != PROFILE_OK)
        return status;
    status = write_file(sorter, sorter->items, sorter->count * sorter->size, error);
    if (status != PROFILE_OK)
        return status;
    sorter->file_items = run.limit;
    sorter->count = 0;
    return add_run(sorter, run, error);
}

enum profile_status sorter_add(struct sorter *sorter, const void *item, struct profile_error *error)
{
    enum profile_status status;
    char *bigger, *place;

    if (sorter->count == sorter->max_items) {
        status = write_run(sorter, error);
        if (status != PROFILE_OK)
            return status;
    }
    bigger = profile_grow(sorter->items, &sorter->capacity, sorter->count + 1, sorter->size);
    if (!bigger)
        return profile_no_memory(error);
    sorter->items = bigger;
    place = bigger + sorter->count++ * sorter->size;
    if (sorter->count > 1 && before(item, place - sorter->size))
        sorter->sorted = false;
    memcpy(place, item, sorter->size);
    return PROFILE_OK;
}

/* ---- Merging ---- */

static const char *first_item(const struct sorter *sorter, const struct run *run)
{
    return run->window + run->position * sorter->size;
}

static void sink_run(struct sorter *sorter, size_t at)
{
    uint32_t moving = sorter->heap[at];

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= sorter->heap_count)
            break;
        if (child + 1 < sorter->heap_count &&
            before(first_item(sorter, &sorter->runs[sorter->heap[child + 1]]),
                   first_item(sorter, &sorter->runs[sorter->heap[child]])))
            child++;
        if (before(first_item(sorter, &sorter->runs[moving]),
                   first_item(sorter, &sorter->runs[sorter->heap[child]])))
            break;
        sorter->heap[at] = sorter->heap[child];
        at = child;
    }
    sorter->heap[at] = moving;
}

/* Read the next items of a run whose window is used up.  Its count is then 0 at the end.  */
static enum profile_status refill(struct sorter *sorter, struct run *run,
                                  struct profile_error *error)
{
    uint64_t left = run->limit - run->next;
    size_t count = left < sorter->window_items ? (size_t)left : sorter->window_items;
    enum profile_status status = PROFILE_OK;

    if (count > 0)
        status = read_file(sorter, run->window, count * sorter->size, run->next * sorter->size,
                           error);
    run->next += count;
    run->position = 0;
    run->count = count;
    return status;
}

/* Windows for the runs of the file: together a quarter of the memory for gathering, but never so
 * small that each item costs a read of its own, unless the caller wanted that little.  */
static enum profile_status make_windows(struct sorter *sorter, struct profile_error *error)
{
    size_t bytes;

    sorter->window_items = sorter->max_items / 4 / (sorter->run_count + 1);
    if (sorter->window_items < 128)
        sorter->window_items = sorter->max_items < 128 ? sorter->max_items : 128;
    if (__builtin_mul_overflow(sorter->run_count * sorter->window_items, sorter->size, &bytes))
        return profile_no_memory(error);
    sorter->memory = malloc(bytes + 1);
    if (!sorter->memory)
        return profile_no_memory(error);
    for (size_t i = 0; i < sorter->run_count; i++)
        sorter->runs[i].window = sorter->memory + i * sorter->window_items * sorter->size;
    return PROFILE_OK;
}

enum profile_status sorter_finish(struct sorter *sorter, struct profile_error *error)
{
    struct run last = { .window = sorter->items, .count = sorter->count };
    enum profile_status status = make_windows(sorter, error);

    if (status == PROFILE_OK)
        status = sort_items(sorter, error);
    for (size_t i = 0; i < sorter->run_count && status == PROFILE_OK; i++)
        status = refill(sorter, &sorter->runs[i], error);
    if (status == PROFILE_OK)
        status = add_run(sorter, last, error);
    if (status != PROFILE_OK)
        return status;
    sorter->heap = calloc(sorter->run_count, sizeof *sorter->heap);
    if (!sorter->heap)
        return profile_no_memory(error);
    for (size_t i = 0; i < sorter->run_count; i++)
        if (sorter->runs[i].count > 0)
            sorter->heap[sorter->heap_count++] = (uint32_t)i;
    for (size_t i = sorter->heap_count / 2; i-- > 0;)
        sink_run(sorter, i);
    return PROFILE_OK;
}

/* Step behind the item that was given out last.  */
static enum profile_status advance(struct sorter *sorter, struct profile_error *error)
{
    struct run *run = &sorter->runs[sorter->heap[0]];
    enum profile_status status = PROFILE_OK;

    if (++run->position == run->count)
        status = refill(sorter, run, error);
    if (status != PROFILE_OK)
        return status;
    if (run->count == 0)
        sorter->heap[0] = sorter->heap[--sorter->heap_count];
    if (sorter->heap_count > 0)
        sink_run(sorter, 0);
    return PROFILE_OK;
}

enum profile_status sorter_next(struct sorter *sorter, const void **out,
                                struct profile_error *error)
{
    enum profile_status status = sorter->advance ? advance(sorter, error) : PROFILE_OK;

    sorter->advance = false;
    *out = NULL;
    if (status != PROFILE_OK || sorter->heap_count == 0)
        return status;
    sorter->advance = true;
    *out = first_item(sorter, &sorter->runs[sorter->heap[0]]);
    return PROFILE_OK;
}
