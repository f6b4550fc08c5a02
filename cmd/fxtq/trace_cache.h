/* trace_cache.h - TRACE.fxtq, the store that `fxtq --cache TRACE` keeps beside a trace.
 *
 * A cache carries a mark: rows of meta with capture_id 0 that name the program's version, the
 * store's own file, the state of the trace's file when it was imported, and the capture's hash.  It
 * is used only if all of these agree with what is there now; it is replaced only if it carries a
 * mark and holds nothing but that one capture.  Any other file at that path is the user's.
 *
 * The mark names inode numbers and the time of the trace's last change (ctime), which cannot be
 * set: a copy, a file put there by somebody else, or one from an archive does not pass for a cache
 * that was made here, and no change of the trace goes unnoticed, whatever happens to its mtime.
 *
 * Several programs may use one cache.  The one that holds the lock of PATH.part makes it and
 * replaces a stale one at once by store_publish(); the others do without.  */
#ifndef FXTQ_TRACE_CACHE_H
#define FXTQ_TRACE_CACHE_H

#include <stdbool.h>

#include <fxt/store.h>

/* The state of a trace's file.  */
struct cache_trace {
    char text[100]; /* inode, size, mtime and ctime in nanoseconds */
};

/* Describe the file at path.  Waits, for a few milliseconds, until a change of the file would give
 * it another ctime; text is "" if that cannot be had, which equals no recorded state.  False: not a
 * regular file, so that there is no telling whether it changed.  */
bool cache_describe(const char *path, struct cache_trace *out);

enum cache_state {
    CACHE_ABSENT,  /* there is no file at path */
    CACHE_FRESH,   /* a cache made from the trace as it is now */
    CACHE_STALE,   /* a cache, but of something else; it may be replaced */
    CACHE_NO_CACHE /* not a cache, or not to be trusted: to be left alone */
};

struct cache_look {
    enum cache_state state;
    /* Of CACHE_FRESH: the cache, open for reading, which the caller closes.  It must not be opened
     * again by its name: another program may replace the file at any moment.  */
    struct store *store;
    bool is_damaged; /* of CACHE_FRESH: importing the trace reported damage */
    char why[500];   /* of CACHE_NO_CACHE: a phrase that says why */
};

/* Examine the file at path.  */
void cache_look(const char *path, const struct cache_trace *trace, struct cache_look *out);

/* Whether the file at path is still in the state that cache_describe() gave; false if that is
 * unknown.  */
bool cache_is_unchanged(const char *path, const struct cache_trace *trace);

/* Mark the store, not published yet, as the cache at path of a trace in that state.  */
enum store_status cache_mark(struct store *store, const char *path, const struct cache_trace *trace,
                             bool is_damaged, struct store_error *error);

#endif /* FXTQ_TRACE_CACHE_H */
