/* External merge sort.  */
#include "libstore/sorter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libstore/internal.h"
#include "libstore/keys.h"

#define LEAST_BUFFER_BYTES 4096u

/* A sorted stretch of the temporary file, being read.  */
struct run {
    uint64_t next, limit; /* file offsets of what is not in the buffer yet */
    unsigned char *buffer;
    size_t at, filled; /* bytes */
};

struct sorter_key {
    int64_t key;
    uint32_t row; /* its place in memory */
};

struct store_sorter {
    size_t row_size;
    size_t capacity; /* rows in memory */
    char *directory;
    unsigned char *rows;
    size_t count;     /* rows in memory */
    size_t room;      /* rows that memory is there for */
    int64_t last_key; /* of the row added last to this run */
    bool ordered;     /* the rows in memory are in order as they are */
    bool all_ordered; /* so are the runs, one after another */
    uint64_t total;
    int fd; /* -1: nothing was spilled */
    struct run *runs;
    size_t run_count, run_capacity;

    /* Handing out */
    struct sorter_key *order; /* of the rows in memory; NULL: as they are */
    size_t next;              /* row in memory, or run where all_ordered */
    size_t *heap;             /* runs, that with the least row first */
    size_t heap_count;
    size_t buffer_bytes;
    bool advance; /* the row handed out last is still in its run */
};

static int64_t key_of(const unsigned char *row)
{
    int64_t key;

    memcpy(&key, row, sizeof key);
    return key;
}

enum store_status store_sorter_open(size_t row_size, size_t bytes, const char *directory,
                                    struct store_sorter **out, struct store_error *error)
{
    struct store_sorter *sorter = calloc(1, sizeof *sorter);

    if (!sorter)
        return store_no_memory(error);
    sorter->fd = -1;
    sorter->row_size = row_size;
    sorter->capacity = bytes / row_size;
    sorter->ordered = sorter->all_ordered = true;
    sorter->last_key = INT64_MIN;
    sorter->directory = strdup(directory);
    if (!sorter->directory) {
        store_sorter_close(sorter);
        return store_no_memory(error);
    }
    *out = sorter;
    return STORE_OK;
}

void store_sorter_close(struct store_sorter *sorter)
{
    if (!sorter)
        return;
    for (size_t i = 0; i < sorter->run_count; i++)
        free(sorter->runs[i].buffer);
    if (sorter->fd >= 0)
        (void)close(sorter->fd);
    free(sorter->runs);
    free(sorter->heap);
    free(sorter->order);
    free(sorter->rows);
    free(sorter->directory);
    free(sorter);
}

uint64_t store_sorter_count(const struct store_sorter *sorter)
{
    return sorter->total;
}

/* ---- Runs in memory ---- */

static int compare_keys(const void *a, const void *b)
{
    const struct sorter_key *left = a, *right = b;

    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    return (left->row > right->row) - (left->row < right->row);
}

static const unsigned char *row_at(const struct store_sorter *sorter, size_t i)
{
    return sorter->rows + (sorter->order ? sorter->order[i].row : i) * sorter->row_size;
}

static enum store_status sort_rows(struct store_sorter *sorter, struct store_error *error)
{
    if (sorter->ordered)
        return STORE_OK;
    sorter->order = calloc(sorter->count, sizeof *sorter->order);
    if (!sorter->order)
        return store_no_memory(error);
    for (size_t i = 0; i < sorter->count; i++)
        sorter->order[i] = (struct sorter_key){ key_of(sorter->rows + i * sorter->row_size),
                                                (uint32_t)i };
    qsort(sorter->order, sorter->count, sizeof *sorter->order, compare_keys);
    return STORE_OK;
}

/* ---- The file ---- */

static enum store_status open_file(struct store_sorter *sorter, struct store_error *error)
{
    char *path = NULL;

    sorter->fd = open(sorter->directory, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    if (sorter->fd >= 0)
        return STORE_OK;
    if (asprintf(&path, "%s/fxtq.XXXXXX", sorter->directory) < 0)
        return store_no_memory(error);
    sorter->fd = mkostemp(path, O_CLOEXEC);
    if (sorter->fd < 0) {
        enum store_status status = store_fail_errno(error, errno, "cannot make a temporary file");
        free(path);
        return status;
    }
    (void)unlink(path);
    free(path);
    return STORE_OK;
}

static enum store_status write_bytes(struct store_sorter *sorter, const unsigned char *bytes,
                                     size_t size, struct store_error *error)
{
    while (size > 0) {
        ssize_t written = write(sorter->fd, bytes, size);

        if (written < 0 && errno != EINTR)
            return store_fail_errno(error, errno, "cannot write a temporary file");
        if (written > 0) {
            bytes += written;
            size -= (size_t)written;
        }
    }
    return STORE_OK;
}

static enum store_status write_rows(struct store_sorter *sorter, struct store_error *error)
{
    unsigned char block[16384];
    size_t used = 0;
    enum store_status status = STORE_OK;

    if (!sorter->order)
        return write_bytes(sorter, sorter->rows, sorter->count * sorter->row_size, error);
    for (size_t i = 0; i < sorter->count && status == STORE_OK; i++) {
        memcpy(block + used, row_at(sorter, i), sorter->row_size);
        used += sorter->row_size;
        if (used + sorter->row_size > sizeof block || i + 1 == sorter->count) {
            status = write_bytes(sorter, block, used, error);
            used = 0;
        }
    }
    return status;
}

/* The rows in memory become a run of the file.  */
static enum store_status spill(struct store_sorter *sorter, struct store_error *error)
{
    uint64_t start = sorter->run_count ? sorter->runs[sorter->run_count - 1].limit : 0;
    enum store_status status = sort_rows(sorter, error);
    void *runs = sorter->runs;

    if (status == STORE_OK && sorter->fd < 0)
        status = open_file(sorter, error);
    if (status == STORE_OK)
        status = write_rows(sorter, error);
    if (status != STORE_OK)
        return status;
    if (!store_grow(&runs, &sorter->run_capacity, sorter->run_count, sizeof *sorter->runs))
        return store_no_memory(error);
    sorter->runs = runs;
    sorter->runs[sorter->run_count++] = (struct run){
        .next = start,
        .limit = start + (uint64_t)sorter->count * sorter->row_size,
    };
    free(sorter->order);
    sorter->order = NULL;
    sorter->count = 0;
    sorter->ordered = true;
    return STORE_OK;
}

/* Memory grows with what comes, up to the capacity.  */
static bool make_room(struct store_sorter *sorter)
{
    size_t room = sorter->room ? 2 * sorter->room : 1024;
    unsigned char *bigger;

    if (room > sorter->capacity)
        room = sorter->capacity;
    bigger = reallocarray(sorter->rows, room, sorter->row_size);
    if (!bigger)
        return false;
    sorter->rows = bigger;
    sorter->room = room;
    return true;
}

enum store_status store_sorter_add(struct store_sorter *sorter, const void *row,
                                   struct store_error *error)
{
    int64_t key = key_of(row);

    if (sorter->count == sorter->capacity) {
        enum store_status status = spill(sorter, error);
        if (status != STORE_OK)
            return status;
    }
    if (sorter->count == sorter->room && !make_room(sorter))
        return store_no_memory(error);
    if (key < sorter->last_key && sorter->total > 0) {
        sorter->all_ordered = false;
        sorter->ordered &= sorter->count == 0;
    }
    sorter->last_key = key;
    memcpy(sorter->rows + sorter->count++ * sorter->row_size, row, sorter->row_size);
    sorter->total++;
    return STORE_OK;
}

/* ---- Handing out ---- */

/* Read on; false at the run's end, or when reading failed, which *error tells.  */
static bool fill(struct store_sorter *sorter, struct run *run, struct store_error *error)
{
    size_t size = sorter->buffer_bytes;
    size_t done = 0;

    if (run->limit - run->next < size)
        size = (size_t)(run->limit - run->next);
    if (!run->buffer && size > 0 && !(run->buffer = malloc(sorter->buffer_bytes))) {
        (void)store_no_memory(error);
        return false;
    }
    while (done < size) {
        ssize_t got = pread(sorter->fd, run->buffer + done, size - done, (off_t)(run->next + done));

        if (got > 0) {
            done += (size_t)got;
        } else if (got == 0 || errno != EINTR) {
            (void)store_fail_errno(error, got == 0 ? EIO : errno, "cannot read a temporary file");
            return false;
        }
    }
    run->next += size;
    run->at = 0;
    run->filled = size;
    if (size == 0) {
        free(run->buffer);
        run->buffer = NULL;
    }
    return size > 0;
}

static bool run_before(const struct store_sorter *sorter, size_t a, size_t b)
{
    const struct run *left = &sorter->runs[a], *right = &sorter->runs[b];
    int64_t left_key = key_of(left->buffer + left->at);
    int64_t right_key = key_of(right->buffer + right->at);

    return left_key != right_key ? left_key < right_key : a < b;
}

static void sift_down(struct store_sorter *sorter, size_t at)
{
    for (;;) {
        size_t child = 2 * at + 1, run = sorter->heap[at];

        if (child >= sorter->heap_count)
            return;
        if (child + 1 < sorter->heap_count &&
            run_before(sorter, sorter->heap[child + 1], sorter->heap[child]))
            child++;
        if (!run_before(sorter, sorter->heap[child], run))
            return;
        sorter->heap[at] = sorter->heap[child];
        sorter->heap[child] = run;
        at = child;
    }
}

enum store_status store_sorter_start(struct store_sorter *sorter, struct store_error *error)
{
    struct store_error failure = { .status = STORE_OK };
    enum store_status status = STORE_OK;

    if (sorter->run_count == 0)
        return sort_rows(sorter, error);
    if (sorter->count > 0)
        status = spill(sorter, error);
    if (status != STORE_OK)
        return status;
    free(sorter->rows);
    sorter->rows = NULL;
    sorter->room = 0;
    /* In order, one run is read after another; else all at once.  */
    sorter->buffer_bytes = sorter->capacity / (sorter->all_ordered ? 64 : sorter->run_count + 1);
    if (sorter->buffer_bytes < LEAST_BUFFER_BYTES / sorter->row_size)
        sorter->buffer_bytes = LEAST_BUFFER_BYTES / sorter->row_size;
    sorter->buffer_bytes *= sorter->row_size;
    sorter->heap = calloc(sorter->run_count, sizeof *sorter->heap);
    if (!sorter->heap)
        return store_no_memory(error);
    for (size_t i = 0; i < sorter->run_count && !sorter->all_ordered; i++) {
        if (!fill(sorter, &sorter->runs[i], &failure)) {
            if (error)
                *error = failure;
            return failure.status;
        }
        sorter->heap[sorter->heap_count++] = i;
    }
    for (size_t i = sorter->heap_count / 2; i-- > 0;)
        sift_down(sorter, i);
    return STORE_OK;
}

static const void *next_in_order(struct store_sorter *sorter, struct store_error *error)
{
    while (sorter->next < sorter->run_count) {
        struct run *run = &sorter->runs[sorter->next];

        if (run->at < run->filled || fill(sorter, run, error)) {
            run->at += sorter->row_size;
            return run->buffer + run->at - sorter->row_size;
        }
        if (error->status != STORE_OK)
            return NULL;
        sorter->next++;
    }
    return NULL;
}

static const void *next_merged(struct store_sorter *sorter, struct store_error *error)
{
    struct run *run;

    if (sorter->advance) {
        run = &sorter->runs[sorter->heap[0]];
        run->at += sorter->row_size;
        if (run->at == run->filled && !fill(sorter, run, error)) {
            if (error->status != STORE_OK)
                return NULL;
            sorter->heap[0] = sorter->heap[--sorter->heap_count];
        }
        if (sorter->heap_count > 0)
            sift_down(sorter, 0);
    }
    sorter->advance = sorter->heap_count > 0;
    if (!sorter->advance)
        return NULL;
    run = &sorter->runs[sorter->heap[0]];
    return run->buffer + run->at;
}

const void *store_sorter_next(struct store_sorter *sorter, struct store_error *error)
{
    if (sorter->run_count == 0)
        return sorter->next < sorter->count ? row_at(sorter, sorter->next++) : NULL;
    return sorter->all_ordered ? next_in_order(sorter, error) : next_merged(sorter, error);
}
