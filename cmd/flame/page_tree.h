/* page_tree.h - what the files behind page.h share.
 *
 *   page.c        rows become a tree
 *   page_order.c  the tree in the order of a walk
 *   page_write.c  the page
 */
#ifndef FLAME_PAGE_TREE_H
#define FLAME_PAGE_TREE_H

#include "base/numbering.h"
#include "cmd/flame/page.h"

#define DEPTH_MOST 65535u

/* The files of cmd/flame/page, built in.  */
extern const char page_flamegraph_html[], page_chart_html[], page_flamegraph_css[],
    page_flamegraph_js[];

/* A function of a module.  */
struct name {
    uint32_t function, module; /* in texts */
    uint32_t place;            /* likewise: "file:line"; 0: not known, the empty text */
    uint32_t shown;            /* likewise: its short form; filled in when the page is written */
    unsigned sides;            /* of a comparison that have it: 1 before, 2 after */
};

struct flame_page {
    size_t columns;
    size_t column;                 /* of the rows that come */
    uint32_t path[DEPTH_MOST + 1]; /* the node at each depth of the last row; [0] is the root */
    size_t depth;                  /* of the last row */

    struct base_pairs nodes; /* a: parent, which precedes its children; b: name.  [0] is the root */
    double *values;          /* [node * columns + column]: own values */
    size_t value_capacity;
    uint16_t *depths; /* of nodes; 0 for the root */
    size_t depth_capacity;

    struct base_pairs name_keys; /* a: function, b: module; in the order of names */
    struct name *names;          /* [0] is the root's */
    size_t name_capacity;

    struct base_texts texts; /* [0] is the empty text */
};

static inline uint32_t flame_parent(const struct flame_page *page, size_t node)
{
    return (uint32_t)page->nodes.items[node].a;
}

static inline uint32_t flame_name(const struct flame_page *page, size_t node)
{
    return (uint32_t)page->nodes.items[node].b;
}

static inline const char *flame_text(const struct flame_page *page, size_t text)
{
    return page->texts.items[text].bytes;
}

/* The number of a text, added if need be.  */
uint32_t flame_page_text(struct flame_page *page, const char *text);

/* All nodes from callers to callees, siblings in the order of their texts.  */
struct flame_walk {
    uint32_t *nodes;
    uint16_t *depths; /* of the nodes in that order; 0 for the root */
    size_t count;
};
struct flame_walk flame_walk_make(const struct flame_page *page);
void flame_walk_release(struct flame_walk *walk);

#endif /* FLAME_PAGE_TREE_H */
