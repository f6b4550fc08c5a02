/* Slices that last at a time: those of a thread by their begin, and a tree of when they end.  */
#include "libstore/functions/slices_at.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/grow.h"

/* Slices that are kept, of all threads: 56 MB.  */
#define MOST_KEPT ((size_t)1 << 20)

struct span {
    int64_t ts, last; /* the last nanosecond */
    int64_t depth, id;
};

struct slices_at_thread {
    int64_t utid;
    struct span *spans; /* in the order of ts */
    size_t count;
    size_t leaves;   /* a power of 2, at least count */
    int64_t *latest; /* the largest `last` below a node; node n has nodes 2 n and 2 n + 1 */
};

static void release_thread(struct slices_at_thread *thread)
{
    free(thread->spans);
    free(thread->latest);
}

void slices_at_release(struct slices_at *slices)
{
    for (size_t i = 0; i < slices->thread_count; i++)
        release_thread(&slices->threads[i]);
    free(slices->threads);
    *slices = (struct slices_at){ .visited = slices->visited };
}

void slices_at_refresh(struct slices_at *slices, sqlite3 *db)
{
    static const char *const schemas[2] = { "main", "temp" };
    unsigned versions[2] = { 0, 0 };
    bool may_change = sqlite3_txn_state(db, NULL) == SQLITE_TXN_WRITE;

    for (int i = 0; i < 2; i++) /* a connection without temporary tables has no version of them */
        (void)sqlite3_file_control(db, schemas[i], SQLITE_FCNTL_DATA_VERSION, &versions[i]);
    if (may_change || slices->may_change ||
        memcmp(versions, slices->versions, sizeof versions) != 0)
        slices_at_release(slices);
    memcpy(slices->versions, versions, sizeof versions);
    slices->may_change = may_change;
}

/* ---- Reading a thread ---- */

/* A duration below 0 lasts to the end.  */
static int64_t last_of(int64_t ts, int64_t dur)
{
    int64_t last;

    return dur < 0 || __builtin_add_overflow(ts, dur - 1, &last) ? INT64_MAX : last;
}

static int read_spans(struct slices_at_thread *thread, sqlite3_stmt *row, size_t most)
{
    size_t capacity = 0;
    int code;

    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        if (thread->count == most)
            return SQLITE_FULL;
        if (!base_make_room(&thread->spans, &capacity, thread->count + 1, sizeof *thread->spans))
            return SQLITE_NOMEM;
        thread->spans[thread->count] = (struct span){ .ts = sqlite3_column_int64(row, 0),
                                                      .depth = sqlite3_column_int64(row, 2),
                                                      .id = sqlite3_column_int64(row, 3) };
        thread->spans[thread->count].last = last_of(thread->spans[thread->count].ts,
                                                    sqlite3_column_int64(row, 1));
        thread->count++;
    }
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int make_tree(struct slices_at_thread *thread)
{
    thread->leaves = 1;
    while (thread->leaves < thread->count)
        thread->leaves *= 2;
    thread->latest = malloc(2 * thread->leaves * sizeof *thread->latest);
    if (!thread->latest)
        return SQLITE_NOMEM;
    for (size_t i = 0; i < thread->leaves; i++)
        thread->latest[thread->leaves + i] = i < thread->count ? thread->spans[i].last : INT64_MIN;
    for (size_t i = thread->leaves - 1; i > 0; i--)
        thread->latest[i] = thread->latest[2 * i] > thread->latest[2 * i + 1]
                                ? thread->latest[2 * i]
                                : thread->latest[2 * i + 1];
    return SQLITE_OK;
}

static int read_thread(struct slices_at *slices, sqlite3 *db, int64_t utid,
                       struct slices_at_thread *out)
{
    sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(db,
                                  "SELECT ts, dur, depth, id FROM slice WHERE dur <> 0 AND "
                                  "track_id IN (SELECT id FROM track WHERE type = 'thread' AND "
                                  "utid = ?1) ORDER BY ts",
                                  -1, &row, NULL);

    *out = (struct slices_at_thread){ .utid = utid };
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(row, 1, utid);
    if (code == SQLITE_OK)
        code = read_spans(out, row, slices->kept < MOST_KEPT ? MOST_KEPT - slices->kept : 0);
    (void)sqlite3_finalize(row);
    return code == SQLITE_OK ? make_tree(out) : code;
}

static size_t place_of(const struct slices_at *slices, int64_t utid, bool *is_there)
{
    size_t low = 0, high = slices->thread_count;

    BASE_BISECT(low, high, i, slices->threads[i].utid < utid);
    *is_there = low < slices->thread_count && slices->threads[low].utid == utid;
    return low;
}

/* `slice` may be a view that asks for slices, too: while a thread is read, others may be added.  */
static int find_thread(struct slices_at *slices, sqlite3 *db, int64_t utid,
                       const struct slices_at_thread **out)
{
    struct slices_at_thread made = { .spans = NULL };
    bool is_there = false;
    size_t low = place_of(slices, utid, &is_there);
    int code = SQLITE_OK;

    if (!is_there) {
        code = read_thread(slices, db, utid, &made);
        low = place_of(slices, utid, &is_there);
        if (code == SQLITE_OK && !is_there &&
            !base_make_room(&slices->threads, &slices->thread_capacity, slices->thread_count + 1,
                            sizeof *slices->threads))
            code = SQLITE_NOMEM;
    }
    if (code != SQLITE_OK || is_there) {
        release_thread(&made);
    } else {
        memmove(&slices->threads[low + 1], &slices->threads[low],
                (slices->thread_count - low) * sizeof *slices->threads);
        slices->threads[low] = made;
        slices->thread_count++;
        slices->kept += made.count;
        slices->visited += made.count;
    }
    *out = code == SQLITE_OK ? &slices->threads[low] : NULL;
    return code;
}

/* ---- Finding ---- */

static int compare_found(const void *a, const void *b)
{
    const struct slices_at_found *left = a, *right = b;

    if (left->depth != right->depth)
        return left->depth < right->depth ? -1 : 1;
    return left->id < right->id ? -1 : left->id > right->id;
}

/* Of the first `limit` spans, those below a node that last at a time.  The node's first leaf is
 * `first`, and it has `leaves` of them.  */
static bool collect(struct slices_at *slices, const struct slices_at_thread *thread, size_t node,
                    size_t first, size_t leaves, size_t limit, int64_t at,
                    struct slices_at_answer *answer)
{
    slices->visited++;
    if (first >= limit || thread->latest[node] < at)
        return true;
    if (leaves > 1)
        return collect(slices, thread, 2 * node, first, leaves / 2, limit, at, answer) &&
               collect(slices, thread, 2 * node + 1, first + leaves / 2, leaves / 2, limit, at,
                       answer);
    if (!base_make_room(&answer->found, &answer->capacity, answer->count + 1,
                        sizeof *answer->found))
        return false;
    answer->found[answer->count++] = (struct slices_at_found){ thread->spans[first].depth,
                                                               thread->spans[first].id };
    return true;
}

int slices_at_find(struct slices_at *slices, sqlite3 *db, int64_t utid, int64_t at,
                   struct slices_at_answer *answer)
{
    const struct slices_at_thread *thread = NULL;
    size_t low = 0, high;
    int code = find_thread(slices, db, utid, &thread);

    answer->count = 0;
    if (code != SQLITE_OK || thread->count == 0)
        return code;
    high = thread->count;
    BASE_BISECT(low, high, i, thread->spans[i].ts <= at);
    if (!collect(slices, thread, 1, 0, thread->leaves, low, at, answer))
        return SQLITE_NOMEM;
    if (answer->count > 1)
        qsort(answer->found, answer->count, sizeof *answer->found, compare_found);
    return SQLITE_OK;
}
