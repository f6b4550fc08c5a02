/* sort.c - external merge sort of span events.
 *
 * Keys gather in memory.  When there is no more room they are sorted and become a run of the
 * temporary file.  The merge reads all runs at once, each through a small window; the last run
 * stays where it is.  Keys that came in order are not sorted again, so a trace written in order
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
    uint64_t next, limit;    /* keys of the file not yet read: [next, limit) */
    struct span_key *window; /* part of the sorter's merge memory, or the keys in memory */
    size_t position, count;  /* keys of the window */
};

struct span_sorter {
    char *directory;
    size_t max_keys; /* in memory */
    int fd;          /* -1: no run was written */
    uint64_t file_keys;

    struct span_key *keys; /* the run that is being gathered; max_keys of room at most */
    size_t key_count, key_capacity;
    struct span_key *scratch; /* half as many, for sorting them */
    size_t scratch_capacity;
    bool sorted; /* they came in order so far */

    struct run *runs;
    size_t run_count, run_capacity;

    struct span_key *memory; /* windows of runs that are in the file */
    size_t window_keys;
    uint32_t *heap; /* indexes of runs that are not empty; the one with the least key first */
    size_t heap_count;
    bool advance; /* the key given out last is still the first of heap[0] */
};

static bool key_before(const struct span_key *a, const struct span_key *b)
{
    if (a->ts_ns != b->ts_ns)
        return a->ts_ns < b->ts_ns;
    return a->ordinal < b->ordinal;
}

enum profile_status span_sorter_open(const char *directory, size_t sort_bytes,
                                     struct span_sorter **out, struct profile_error *error)
{
    struct span_sorter *sorter = calloc(1, sizeof *sorter);

    if (!sorter)
        return profile_no_memory(error);
    sorter->fd = -1;
    sorter->sorted = true;
    sorter->max_keys = sort_bytes / 3 * 2 / sizeof(struct span_key); /* the rest is scratch */
    if (sorter->max_keys == 0)
        sorter->max_keys = 1;
    sorter->directory = strdup(directory);
    if (!sorter->directory) {
        span_sorter_close(sorter);
        return profile_no_memory(error);
    }
    *out = sorter;
    return PROFILE_OK;
}

void span_sorter_close(struct span_sorter *sorter)
{
    if (!sorter)
        return;
    if (sorter->fd >= 0)
        (void)close(sorter->fd);
    free(sorter->directory);
    free(sorter->keys);
    free(sorter->scratch);
    free(sorter->runs);
    free(sorter->memory);
    free(sorter->heap);
    free(sorter);
}

/* ---- Runs ---- */

/* A file that has no name any more.  */
static enum profile_status open_file(struct span_sorter *sorter, struct profile_error *error)
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

static enum profile_status write_file(struct span_sorter *sorter, const void *bytes, size_t size,
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

static enum profile_status read_file(struct span_sorter *sorter, void *bytes, size_t size,
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

static void insertion_sort(struct span_key *keys, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct span_key moving = keys[i];
        size_t at = i;

        for (; at > 0 && key_before(&moving, &keys[at - 1]); at--)
            keys[at] = keys[at - 1];
        keys[at] = moving;
    }
}

/* Merge sort that leaves alone what is in order: traces are, but for some stretches.  Half of
 * qsort()'s time went into calling the comparison.  */
static void merge_sort(struct span_key *keys, size_t count, struct span_key *scratch)
{
    size_t half = count / 2, left = 0, right = half, to = 0;

    if (count <= 16) {
        insertion_sort(keys, count);
        return;
    }
    merge_sort(keys, half, scratch);
    merge_sort(keys + half, count - half, scratch);
    if (key_before(&keys[half - 1], &keys[half]))
        return;
    memcpy(scratch, keys, half * sizeof *keys);
    while (left < half)
        if (right == count || key_before(&scratch[left], &keys[right]))
            keys[to++] = scratch[left++];
        else
            keys[to++] = keys[right++];
}

static enum profile_status sort_keys(struct span_sorter *sorter, struct profile_error *error)
{
    struct span_key *scratch;

    if (sorter->sorted)
        return PROFILE_OK;
    scratch = profile_grow(sorter->scratch, &sorter->scratch_capacity, sorter->key_count / 2,
                           sizeof *scratch);
    if (!scratch)
        return profile_no_memory(error);
    sorter->scratch = scratch;
    merge_sort(sorter->keys, sorter->key_count, scratch);
    sorter->sorted = true;
    return PROFILE_OK;
}

static enum profile_status add_run(struct span_sorter *sorter, struct run run,
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

static enum profile_status write_run(struct span_sorter *sorter, struct profile_error *error)
{
    struct run run = { .next = sorter->file_keys, .limit = sorter->file_keys + sorter->key_count };
    enum profile_status status = sorter->fd < 0 ? open_file(sorter, error) : PROFILE_OK;

    if (status == PROFILE_OK)
        status = sort_keys(sorter, error);
    if (status != PROFILE_OK)
        return status;
    status = write_file(sorter, sorter->keys, sorter->key_count * sizeof *sorter->keys, error);
    if (status != PROFILE_OK)
        return status;
    sorter->file_keys = run.limit;
    sorter->key_count = 0;
    return add_run(sorter, run, error);
}

enum profile_status span_sorter_add(struct span_sorter *sorter, const struct span_key *key,
                                    struct profile_error *error)
{
    enum profile_status status;
    struct span_key *bigger;

    if (sorter->key_count == sorter->max_keys) {
        status = write_run(sorter, error);
        if (status != PROFILE_OK)
            return status;
    }
    bigger = profile_grow(sorter->keys, &sorter->key_capacity, sorter->key_count + 1,
                          sizeof *bigger);
    if (!bigger)
        return profile_no_memory(error);
    sorter->keys = bigger;
    if (sorter->key_count > 0 && key_before(key, &sorter->keys[sorter->key_count - 1]))
        sorter->sorted = false;
    sorter->keys[sorter->key_count++] = *key;
    return PROFILE_OK;
}

/* ---- Merging ---- */

static const struct span_key *first_key(const struct run *run)
{
    return &run->window[run->position];
}

static void sink_run(struct span_sorter *sorter, size_t at)
{
    uint32_t moving = sorter->heap[at];

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= sorter->heap_count)
            break;
        if (child + 1 < sorter->heap_count &&
            key_before(first_key(&sorter->runs[sorter->heap[child + 1]]),
                       first_key(&sorter->runs[sorter->heap[child]])))
            child++;
        if (key_before(first_key(&sorter->runs[moving]),
                       first_key(&sorter->runs[sorter->heap[child]])))
            break;
        sorter->heap[at] = sorter->heap[child];
        at = child;
    }
    sorter->heap[at] = moving;
}

/* Read the next keys of a run whose window is used up.  Its count is then 0 at the end.  */
static enum profile_status refill(struct span_sorter *sorter, struct run *run,
                                  struct profile_error *error)
{
    uint64_t left = run->limit - run->next;
    size_t count = left < sorter->window_keys ? (size_t)left : sorter->window_keys;
    enum profile_status status = PROFILE_OK;

    if (count > 0)
        status = read_file(sorter, run->window, count * sizeof *run->window,
                           run->next * sizeof *run->window, error);
    run->next += count;
    run->position = 0;
    run->count = count;
    return status;
}

/* Windows for the runs of the file: together a quarter of the memory for gathering, but never so
 * small that each key costs a read of its own, unless the caller wanted that little.  */
static enum profile_status make_windows(struct span_sorter *sorter, struct profile_error *error)
{
    size_t bytes;

    sorter->window_keys = sorter->max_keys / 4 / (sorter->run_count + 1);
    if (sorter->window_keys < 128)
        sorter->window_keys = sorter->max_keys < 128 ? sorter->max_keys : 128;
    if (__builtin_mul_overflow(sorter->run_count * sorter->window_keys, sizeof *sorter->memory,
                               &bytes))
        return profile_no_memory(error);
    sorter->memory = malloc(bytes + 1);
    if (!sorter->memory)
        return profile_no_memory(error);
    for (size_t i = 0; i < sorter->run_count; i++)
        sorter->runs[i].window = sorter->memory + i * sorter->window_keys;
    return PROFILE_OK;
}

enum profile_status span_sorter_finish(struct span_sorter *sorter, struct profile_error *error)
{
    struct run last = { .window = sorter->keys, .count = sorter->key_count };
    enum profile_status status = make_windows(sorter, error);

    if (status == PROFILE_OK)
        status = sort_keys(sorter, error);
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

/* Step behind the key that was given out last.  */
static enum profile_status advance(struct span_sorter *sorter, struct profile_error *error)
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

enum profile_status span_sorter_next(struct span_sorter *sorter, const struct span_key **out,
                                     struct profile_error *error)
{
    enum profile_status status = sorter->advance ? advance(sorter, error) : PROFILE_OK;

    sorter->advance = false;
    *out = NULL;
    if (status != PROFILE_OK || sorter->heap_count == 0)
        return status;
    sorter->advance = true;
    *out = first_key(&sorter->runs[sorter->heap[0]]);
    return PROFILE_OK;
}
