/* cache.h - TRACE.fxtq, the store that `fxtq --cache TRACE` keeps beside a trace.
 *
 * A cache carries a mark: rows of meta with capture_id 0 that name the program's version, the
 * store's own file, the state of the trace's file when it was imported, and the capture's hash.  It
 * is used only if all of these agree with what is there now; it is replaced only if it carries a
 * mark and holds nothing but that one capture.  Any other file at that path is the user's.
 *
 * The mark names inode numbers and the time of the trace's last change (ctime), which cannot be
 * set: a copy, a file put there by somebody else, or one from an archive does not pass for a cache
 * that was made here, and no change of the trace goes unnoticed, whatever happens to its mtime.  */
#ifndef FXTQ_CACHE_H
#define FXTQ_CACHE_H

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
    bool is_damaged; /* of CACHE_FRESH: importing the trace reported damage */
    char why[500];   /* of CACHE_NO_CACHE: a phrase that says why */
};

/* Examine the file at path.  */
void cache_look(const char *path, const struct cache_trace *trace, struct cache_look *out);

/* Mark the store, not published yet, as the cache at path.  trace is what cache_describe() gave
 * before the import; a trace that has changed since is recorded as unknown.  */
enum store_status cache_mark(struct store *store, const char *path, const char *trace_path,
                             const struct cache_trace *trace, bool is_damaged,
                             struct store_error *error);

/* Remove a stale cache, with what SQLite may have left beside it.  */
void cache_remove(const char *path);

#endif /* FXTQ_CACHE_H */
