/* shape.h - what hide and show_from leave of stacks.
 *
 * As pprof does it: matches of hide are taken out first, and what is left begins at its outermost
 * match of show_from.  A stack of which nothing is left does not count.  */
#ifndef STORE_FUNCTIONS_SHAPE_H
#define STORE_FUNCTIONS_SHAPE_H

#include "libstore/functions/pattern_match.h"

/* One function of a frame, with the patterns, either of which may be NULL: whether stacks show it,
 * and whether they begin there.  */
bool shape_hides(struct match *hide, uint32_t frame, uint32_t index);
bool shape_begins(struct match *hide, struct match *show_from, uint32_t frame, uint32_t index);

/* The innermost function that is left of the stack of each call site: [callsite].  */
struct shape {
    uint32_t *frames;    /* 0: nothing is left */
    uint32_t *functions; /* which of the frame's, as stacks_function() has them */
};

/* Patterns may be NULL.  stacks must be named, and is read here only.  SQLITE_OK, or an error as
 * match_open() has it: then there is nothing to release.  */
int shape_open(struct shape *shape, const struct stacks *stacks, const char *hide,
               const char *show_from, char **error);
void shape_release(struct shape *shape);

/* What is asked of stacks; NULL: nothing.  */
struct shape_patterns {
    const char *focus, *ignore; /* of whole stacks */
    const char *hide, *show_from;
};

/* *out: bits, as match_callsites() has them, of the stacks that pass and of which something is
 * left; NULL where nothing is asked.  Call site 0, no stack, never passes.  From sqlite3_malloc().
 * SQLITE_OK, or an error as match_open() has it.  */
int shape_callsites(const struct stacks *stacks, const struct shape_patterns *patterns,
                    uint8_t **out, char **error);

#endif /* STORE_FUNCTIONS_SHAPE_H */
