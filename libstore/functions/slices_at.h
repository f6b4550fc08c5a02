/* slices_at.h - which slices of a thread last at a time, for many times.  Private to libstore.  */
#ifndef STORE_SLICES_AT_H
#define STORE_SLICES_AT_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The slices of the threads that were asked for, by time, for all statements of a connection.  All
 * zero: none yet.  */
struct slices_at {
    struct slices_at_thread *threads;
    size_t thread_count, thread_capacity;
    size_t kept;          /* slices of all threads */
    unsigned versions[2]; /* of main and temp when they were read */
    bool may_change;      /* they were read in a transaction that writes */
    size_t visited;       /* slices and nodes that were looked at, of all look-ups */
};

/* Ids, by depth and id.  */
struct slices_at_answer {
    struct slices_at_found {
        int64_t depth, id;
    } * found;
    size_t count, capacity;
};

/* Forget slices that may have changed since they were read.  Called by a statement that runs,
 * before it looks one up for the first time: all its answers are of one state.  */
void slices_at_refresh(struct slices_at *slices, sqlite3 *db);

/* Find the slices of a thread that last at a time: log n steps for each, after the first time for a
 * thread, which reads its slices.  Returns SQLite's code; SQLITE_FULL if they are too many to be
 * kept.  */
int slices_at_find(struct slices_at *slices, sqlite3 *db, int64_t utid, int64_t at,
                   struct slices_at_answer *answer);
void slices_at_release(struct slices_at *slices);

#endif /* STORE_SLICES_AT_H */
