/* page.h - the page of "fxtq flamegraph": a tree of functions in one HTML file.
 *
 * Rows come as the SQL function flamegraph() has them, in the order of a walk from callers to
 * callees; rows of the same functions below the same functions are added up, whether they come
 * twice in a walk or from different walks: one for each column.  A page has a column of values for
 * each sample type; for a comparison two, before and after.
 *
 * The tree goes into the page as columns, deflated, in base64 (flamegraph.js tells how they are
 * read): a few bytes for a call site.  */
#ifndef FXTQ_FLAME_PAGE_H
#define FXTQ_FLAME_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/cli/cli.h"

struct flame_page;

/* A page with room for the values of so many columns, at least 1.  Ends the program when there is
 * no memory, as the functions below do.  */
struct flame_page *flame_page_open(size_t columns);

/* Begin a walk whose values belong to this column.  */
void flame_page_begin(struct flame_page *page, size_t column);

/* One row of it: a function at a level, 0 for the root, 1 for those without caller, at most one
 * more than the level of the row before; what is deeper than 65,535 is added to its caller.  Texts
 * are copied. False: the level is none of these.  */
bool flame_page_row(struct flame_page *page, uint64_t level, const char *function,
                    const char *module, double self);

/* Where a function of rows that came is defined, "file.c:12".  Others are ignored.  */
void flame_page_place(struct flame_page *page, const char *function, const char *module,
                      const char *place);

/* Of a comparison, once all rows are there: functions of both sides that are the same become one,
 * wherever their modules lie.  A function is told by its name and its module's base name; where
 * each side has it in one module only, by its name alone.  */
void flame_page_match(struct flame_page *page);

size_t flame_page_nodes(const struct flame_page *page); /* call sites, the root included */

struct flame_page_type {
    const char *name; /* "inuse_space" */
    const char *unit; /* "bytes", "nanoseconds", "count", ... */
};

struct flame_page_head {
    const char *title;
    const struct flame_page_type *types; /* one a column, or one for two columns */
    size_t type_count;
    size_t chosen; /* the type that is shown first */
    bool diff;     /* columns are pairs: before, after */
};

/* Write the page.  0, or errno of a write that failed (output keeps it too).  */
int flame_page_write(struct flame_page *page, const struct flame_page_head *head,
                     struct cli_output *output);

void flame_page_close(struct flame_page *page); /* accepts NULL */

#endif /* FXTQ_FLAME_PAGE_H */
