/* page.h - the page of "fxtq flamegraph": a tree of functions in one HTML file.
 *
 * Rows come in the order of a walk from callers to callees (store_calls_each()).  Rows of the same
 * function below the same callers are added up, whether they come twice in one walk or from several
 * walks.  There is one walk for each column of values.  A page has a column for each sample type; a
 * comparison has two for each, before and after.
 *
 * The page holds the tree as columns, deflated and in base64, a few bytes for a call site.
 * flamegraph.js describes how they are read.  */
#ifndef FXTQ_FLAME_PAGE_H
#define FXTQ_FLAME_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/cli/cli.h"

struct flame_page;

/* Open a page with that number of columns, at least 1.  This and the functions below end the
 * program if memory is short.  */
struct flame_page *flame_page_open(size_t columns);

/* Begin a walk whose values belong to this column.  */
void flame_page_begin(struct flame_page *page, size_t column);

/* Add a row: a function at a depth, 0 for the root, and at most one more than the depth of the row
 * before.  Rows deeper than 65,535 are added to their caller.  Texts are copied.  Returns false if
 * the depth skips one.  */
bool flame_page_row(struct flame_page *page, uint64_t depth, const char *function,
                    const char *module, double self);

/* Set the place where a function is defined, "file.c:12".  Functions without a row are ignored.  */
void flame_page_place(struct flame_page *page, const char *function, const char *module,
                      const char *place);

/* After the last row of a comparison: unite the functions that both sides have, whatever the
 * folders of their modules are.  Functions are the same if they have the same name and the same
 * base name of their module, or, if each side has the name in one module only, the same name.  */
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

/* Write the page.  Returns 0, or the errno value of a write that failed, which output keeps,
 * too.  */
int flame_page_write(struct flame_page *page, const struct flame_page_head *head,
                     struct cli_output *output);

void flame_page_close(struct flame_page *page); /* accepts NULL */

#endif /* FXTQ_FLAME_PAGE_H */
