/* slices_at.h - which slices of a thread last at a time, for many times.  Private to libstore.  */
#ifndef STORE_SLICES_AT_H
#define STORE_SLICES_AT_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/* The slices of the threads that were asked for, by time.  All zero: none yet.  */
struct slices_at {
    struct slices_at_thread *threads;
    size_t thread_count, thread_capacity;
    size_t kept; /* slices of all threads */

    /* The answer: ids, by depth and id.  */
    struct slices_at_found {
        int64_t depth, id;
    } * found;
    size_t count, capacity;
};

/* Find the slices of a thread that last at a time: log n steps for each, after the first time for a
 * thread, which reads its slices.  Returns SQLite's code; SQLITE_FULL if they are too many to be
 * kept.  */
int slices_at_find(struct slices_at *slices, sqlite3 *db, int64_t utid, int64_t at);
void slices_at_release(struct slices_at *slices);

#endif /* STORE_SLICES_AT_H */
