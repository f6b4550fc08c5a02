/* page.h - a flame graph as HTML: a tree of functions, which is a page of its own ("fxtq
 * flamegraph") or part of one ("fxtdiff --html").
 *
 * Rows come in the order of a walk from callers to callees (store_calls_each()), or node by node
 * (flame_page_child()).  Rows of the same function below the same callers are added up, whether
 * they come twice in one walk or from several walks.  There is one walk for each column of values.
 * A page has a column for each sample type; a comparison has two for each, before and after.
 *
 * The page holds the tree as columns, deflated and in base64, a few bytes for a call site.
 * flamegraph.js describes how they are read.  */
#ifndef FLAME_PAGE_H
#define FLAME_PAGE_H

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

/* The same without an order: return the node of a function below parent, which is 0 for the root or
 * was returned before, and add to the value of a node.  Below a depth of 65,535 the node is
 * parent.  */
uint32_t flame_page_child(struct flame_page *page, uint32_t parent, const char *function,
                          const char *module);
void flame_page_add(struct flame_page *page, uint32_t node, size_t column, double self);

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
    /* Of a comparison: a share after that is larger than before by no more than this factor has not
     * grown, as all shares grow when a part of the program costs less.  0: 1.  */
    double scale;
};

/* Write the page.  Returns 0, or the errno value of a write that failed, which output keeps,
 * too.  */
int flame_page_write(struct flame_page *page, const struct flame_page_head *head,
                     struct cli_output *output);

/* The parts of the page for another one, in this order: rules, for its <style>; the chart, an
 * element of the class "flame" for its body, once; and the script after it, for a <script>.
 * flamegraph.css lists the ids that they use.  Failures stay in output->failed.  */
void flame_page_put_style(struct cli_output *output);
void flame_page_put_chart(struct flame_page *page, const struct flame_page_head *head,
                          struct cli_output *output);
void flame_page_put_script(struct cli_output *output);

void flame_page_close(struct flame_page *page); /* accepts NULL */

#endif /* FLAME_PAGE_H */
