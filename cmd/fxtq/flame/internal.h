/* internal.h - what the files behind page.h share.
 *
 *   page.c     rows become a tree
 *   order.c    the tree in the order of a walk
 *   write.c    the page
 */
#ifndef FXTQ_FLAME_INTERNAL_H
#define FXTQ_FLAME_INTERNAL_H

#include "cmd/fxtq/flame/page.h"

#define LEVELS_MOST 65535u

/* The files of cmd/fxtq/page, built in.  */
extern const char page_html[], page_css[], page_js[];

/* A function of a module.  */
struct name {
    uint32_t function, module; /* in texts */
    uint32_t place;            /* likewise: "file:line"; 0: not known, the empty text */
    uint32_t shown;            /* likewise: its short form; filled in when the page is written */
    unsigned sides;            /* of a comparison that have it: 1 before, 2 after */
};

struct node {
    uint32_t parent; /* before its children */
    uint32_t name;
};

/* From two numbers to an index + 1, by open addressing; 0 is free.  */
struct table {
    uint32_t *slots;
    size_t mask;
};

struct flame_page {
    size_t columns;
    size_t column;                  /* of the rows that come */
    uint32_t path[LEVELS_MOST + 1]; /* the node at each level of the last row; [0] is the root */
    size_t level;                   /* of the last row */

    struct node *nodes; /* [0] is the root */
    double *values;     /* [node * columns + column]: own values */
    size_t node_count, node_capacity;
    struct table node_table; /* by parent and name */

    struct name *names; /* [0] is the root's */
    size_t name_count, name_capacity;
    struct table name_table; /* by function and module */

    char **texts;
    size_t text_count, text_capacity;
    struct table text_table; /* by the text */
};

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

#endif /* FXTQ_FLAME_INTERNAL_H */
