/* graph.h - stacks of a selection as one tree of names: what flame graphs, call trees and tables of
 * functions are made from.
 *
 * Call sites that are called the same below the same caller are one node.  Inlined functions are
 * nodes like others, below the function they are in.  */
#ifndef STORE_FUNCTIONS_GRAPH_H
#define STORE_FUNCTIONS_GRAPH_H

#include "base/index.h"
#include "libstore/functions/selection.h"

enum graph_by { GRAPH_BY_FUNCTION, GRAPH_BY_FILE, GRAPH_BY_LINE, GRAPH_BY_MODULE };

/* What nodes are called.  Texts are borrowed from the stacks; "" for none.  */
struct graph_label {
    const char *name;   /* function; by file or module: that */
    const char *file;   /* if several, the first in the order of bytes */
    const char *module; /* likewise */
    uint32_t line;      /* by line only */
    bool matches;       /* the pattern that the graph was built with: kept apart from those that
                         * are called the same and do not */
};

struct graph_node {
    uint32_t parent; /* before its children */
    uint32_t label;
    struct amount self_n, self_value;
    struct amount n, value; /* with all below it */
};

struct graph {
    const struct stacks *stacks;
    enum graph_by by;
    struct graph_node *nodes; /* [0] is the root, "all" */
    uint32_t node_count;
    struct graph_label *labels; /* [0] is the root's */
    uint32_t label_count;
    bool n_is_real, values_are_real;

    /* For graph.c only.  */
    size_t node_capacity, label_capacity;
    struct base_index by_place; /* nodes by (parent, label) */
    struct base_index by_label; /* labels by what they show */
};

/* The tree of a selection; hide and show_from apply here.  pattern marks the labels that match it,
 * for graph_callers() and graph_callees(); else it is NULL.  Returns as selection_add_up().  */
int graph_build(sqlite3 *db, const struct stacks *stacks, const struct selection *selection,
                enum graph_by by, const char *pattern, struct graph *graph, char **error);

/* Nodes of a tree of callers (1.2 GB), and functions on the ways that it is made of.  */
#define GRAPH_CALLERS_MOST (UINT32_C(1) << 24)
#define GRAPH_STEPS_MOST   (UINT32_C(1) << 26)

/* The tree of who calls what matches the pattern of graph: each such function below the root, its
 * callers below it, theirs below them.  A sample counts once, at its innermost match.  Returns
 * SQLITE_OK, SQLITE_NOMEM, or SQLITE_TOOBIG (more than that).  */
int graph_callers(const struct graph *graph, struct graph *callers);

/* The tree of what is called by what matches: each such function below the root, the ones it calls
 * below it.  A sample counts once, at its outermost match.  As above.  */
int graph_callees(const struct graph *graph, struct graph *callees);

void graph_release(struct graph *graph);

/* One line of a tree that is walked depth first, the larger child first, equal ones by name.  */
struct graph_place {
    uint32_t node;
    uint32_t depth; /* 0 for the root */
};

/* node_count places, from sqlite3_malloc(), or NULL.  */
struct graph_place *graph_walk(const struct graph *graph);

/* By label: what it costs itself, and with all it calls (once, if it calls itself).  label_count of
 * each, from sqlite3_malloc(); false: no memory, nothing is allocated.  */
struct graph_totals {
    struct amount *self_n, *self_value, *n, *value;
};
bool graph_add_up_labels(const struct graph *graph, const struct graph_place *walk,
                         struct graph_totals *totals);
void graph_totals_release(struct graph_totals *totals);

#endif /* STORE_FUNCTIONS_GRAPH_H */
