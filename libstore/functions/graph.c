#include "libstore/functions/graph.h"

#include <stdlib.h>
#include <string.h>

#include "libstore/functions/shape.h"

#define NONE UINT32_MAX

/* ---- Nodes ---- */

/* The child of parent that is called label; NONE: no memory.  */
static uint32_t child_node(struct graph *graph, uint32_t parent, uint32_t label)
{
    uint64_t hash = base_hash(parent, label);
    uint32_t node;
    size_t probe;

    for (node = base_index_first(&graph->by_place, hash, &probe); node;
         node = base_index_next(&graph->by_place, hash, &probe))
        if (graph->nodes[node].parent == parent && graph->nodes[node].label == label)
            return node;
    if (!stacks_grow(&graph->nodes, &graph->node_capacity, (size_t)graph->node_count + 1,
                     sizeof *graph->nodes) ||
        !base_index_reserve(&graph->by_place))
        return NONE;
    graph->nodes[graph->node_count] = (struct graph_node){ .parent = parent, .label = label };
    base_index_add(&graph->by_place, hash, graph->node_count);
    return graph->node_count++;
}

/* ---- Labels ---- */

static bool same_label(const struct graph *graph, const struct graph_label *a,
                       const struct graph_label *b)
{
    return a->matches == b->matches && strcmp(a->name, b->name) == 0 &&
           (graph->by != GRAPH_BY_LINE || (a->line == b->line && strcmp(a->file, b->file) == 0));
}

/* The first in the order of bytes, of those that are not empty.  */
static void keep_first(const char **kept, const char *text)
{
    if (*text && (!**kept || strcmp(text, *kept) < 0))
        *kept = text;
}

static uint32_t add_label(struct graph *graph, const struct graph_label *label)
{
    uint64_t hash = base_hash_bytes(label->name, strlen(label->name));
    uint32_t id;
    size_t probe;

    if (graph->by == GRAPH_BY_LINE)
        hash = base_hash(base_hash_bytes(label->file, strlen(label->file)), hash + label->line);
    for (id = base_index_first(&graph->by_label, hash, &probe); id;
         id = base_index_next(&graph->by_label, hash, &probe)) {
        if (!same_label(graph, &graph->labels[id], label))
            continue;
        keep_first(&graph->labels[id].file, label->file);
        keep_first(&graph->labels[id].module, label->module);
        return id;
    }
    if (!stacks_grow(&graph->labels, &graph->label_capacity, (size_t)graph->label_count + 1,
                     sizeof *graph->labels) ||
        !base_index_reserve(&graph->by_label))
        return NONE;
    graph->labels[graph->label_count] = *label;
    base_index_add(&graph->by_label, hash, graph->label_count);
    return graph->label_count++;
}

/* The label of one function of a frame.  */
static uint32_t label_function(struct graph *graph, uint32_t frame, uint32_t index, bool matches)
{
    const struct stacks *stacks = graph->stacks;
    struct graph_label label = { .name = stacks_function(stacks, frame, index),
                                 .file = stacks_file(stacks, frame, index),
                                 .module = stacks_module(stacks, frame),
                                 .matches = matches };

    if (graph->by == GRAPH_BY_LINE)
        label.line = stacks_line(stacks, frame, index);
    if (graph->by == GRAPH_BY_FILE)
        label.name = *label.file ? label.file : "[unknown]";
    if (graph->by == GRAPH_BY_MODULE)
        label.name = *label.module ? label.module : "[unknown]";
    return add_label(graph, &label);
}

/* ---- Building ---- */

struct build {
    struct graph *graph;
    const struct stacks *stacks;
    const struct sums *sums;
    struct match hide, show_from, pattern;
    bool has_hide, has_show_from, has_pattern;
    uint8_t *live;          /* [callsite]: something was counted there or below */
    uint32_t *nodes;        /* [callsite]; NONE: before the function that stacks begin with */
    uint32_t *line_labels;  /* [line]; NONE: not looked at */
    uint32_t *frame_labels; /* [frame] without lines */
};

static bool is_counted(const struct sums *sums, uint32_t callsite)
{
    return !amount_is_zero(&sums->n[callsite]) || !amount_is_zero(&sums->values[callsite]);
}

static void mark_live(struct build *build)
{
    for (uint32_t i = build->stacks->callsite_count; i > 0; i--) {
        build->live[i] |= is_counted(build->sums, i);
        build->live[build->stacks->parents[i]] |= build->live[i];
    }
}

/* The label of one function, 0 if it is hidden, NONE without memory.  Labels are kept: frames stand
 * at many call sites.  */
static uint32_t known_label(struct build *build, uint32_t frame, uint32_t index)
{
    uint32_t first = build->stacks->first_lines[frame];
    bool has_line = index < build->stacks->first_lines[frame + 1] - first;
    uint32_t *label = has_line ? &build->line_labels[first + index] : &build->frame_labels[frame];

    if (*label != NONE)
        return *label;
    if (build->has_hide && match_function(&build->hide, frame, index))
        *label = 0;
    else
        *label = label_function(build->graph, frame, index,
                                build->has_pattern &&
                                    match_function(&build->pattern, frame, index));
    return *label;
}

/* The node of a call site whose caller's is parent, functions from the outermost inwards.  False:
 * no memory.  */
static bool place_callsite(struct build *build, uint32_t callsite, uint32_t node)
{
    uint32_t frame = build->stacks->frames[callsite];

    for (uint32_t i = stacks_function_count(build->stacks, frame); i-- > 0;) {
        uint32_t label;

        if (node == NONE &&
            shape_begins(build->has_hide ? &build->hide : NULL, &build->show_from, frame, i))
            node = 0;
        if (node == NONE)
            continue;
        label = known_label(build, frame, i);
        if (label != 0 && label != NONE)
            node = child_node(build->graph, node, label);
        if (label == NONE || node == NONE)
            return false;
    }
    build->nodes[callsite] = node;
    return true;
}

/* A stack of which nothing is left does not count.  */
static void count_at(struct build *build, uint32_t callsite)
{
    uint32_t node = build->nodes[callsite];

    if (node == NONE || node == 0 || !is_counted(build->sums, callsite))
        return;
    amount_add(&build->graph->nodes[node].self_n, &build->sums->n[callsite]);
    amount_add(&build->graph->nodes[node].self_value, &build->sums->values[callsite]);
}

static int place_all(struct build *build)
{
    build->nodes[0] = build->has_show_from ? NONE : 0;
    for (uint32_t i = 1; i <= build->stacks->callsite_count; i++) {
        if (!build->live[i])
            continue;
        if (!place_callsite(build, i, build->nodes[build->stacks->parents[i]]))
            return SQLITE_NOMEM;
        count_at(build, i);
    }
    return SQLITE_OK;
}

/* Totals, children into parents.  */
static void add_up(struct graph *graph)
{
    for (uint32_t i = 0; i < graph->node_count; i++) {
        graph->nodes[i].n = graph->nodes[i].self_n;
        graph->nodes[i].value = graph->nodes[i].self_value;
    }
    for (uint32_t i = graph->node_count; i-- > 1;) {
        struct graph_node *node = &graph->nodes[i];

        amount_add(&graph->nodes[node->parent].n, &node->n);
        amount_add(&graph->nodes[node->parent].value, &node->value);
    }
}

static bool begin(struct graph *graph, const struct stacks *stacks, enum graph_by by)
{
    *graph = (struct graph){ .stacks = stacks, .by = by };
    if (!stacks_grow(&graph->nodes, &graph->node_capacity, 1, sizeof *graph->nodes) ||
        !stacks_grow(&graph->labels, &graph->label_capacity, 1, sizeof *graph->labels))
        return false;
    graph->nodes[0] = (struct graph_node){ .parent = 0 };
    graph->labels[0] = (struct graph_label){ .name = "all", .file = "", .module = "" };
    graph->node_count = graph->label_count = 1;
    return true;
}

void graph_release(struct graph *graph)
{
    sqlite3_free(graph->nodes);
    sqlite3_free(graph->labels);
    base_index_release(&graph->by_place);
    base_index_release(&graph->by_label);
    *graph = (struct graph){ .stacks = NULL };
}

static int open_patterns(struct build *build, const struct selection *selection,
                         const char *pattern, char **error)
{
    int code = SQLITE_OK;

    if (selection->hide)
        code = match_open(&build->hide, build->stacks, selection->hide, error);
    build->has_hide = selection->hide && code == SQLITE_OK;
    if (code == SQLITE_OK && selection->show_from)
        code = match_open(&build->show_from, build->stacks, selection->show_from, error);
    build->has_show_from = selection->show_from && code == SQLITE_OK;
    if (code == SQLITE_OK && pattern)
        code = match_open(&build->pattern, build->stacks, pattern, error);
    build->has_pattern = pattern && code == SQLITE_OK;
    return code;
}

static bool allocate_build(struct build *build)
{
    const struct stacks *stacks = build->stacks;
    size_t callsites = (size_t)stacks->callsite_count + 1;
    size_t lines = ((size_t)stacks->line_count + 1) * sizeof(uint32_t);
    size_t frames = ((size_t)stacks->frame_count + 1) * sizeof(uint32_t);

    build->live = sqlite3_malloc64(callsites);
    build->nodes = sqlite3_malloc64(callsites * sizeof(uint32_t));
    build->line_labels = sqlite3_malloc64(lines);
    build->frame_labels = sqlite3_malloc64(frames);
    if (!build->live || !build->nodes || !build->line_labels || !build->frame_labels)
        return false;
    memset(build->live, 0, callsites);
    memset(build->line_labels, 0xff, lines);
    memset(build->frame_labels, 0xff, frames);
    return true;
}

static void release_build(struct build *build)
{
    if (build->has_hide)
        match_release(&build->hide);
    if (build->has_show_from)
        match_release(&build->show_from);
    if (build->has_pattern)
        match_release(&build->pattern);
    sqlite3_free(build->live);
    sqlite3_free(build->nodes);
    sqlite3_free(build->line_labels);
    sqlite3_free(build->frame_labels);
}

int graph_build(sqlite3 *db, const struct stacks *stacks, const struct selection *selection,
                enum graph_by by, const char *pattern, struct graph *graph, char **error)
{
    struct sums sums;
    struct build build = { .graph = graph, .stacks = stacks, .sums = &sums };
    int code = selection_add_up(db, stacks, selection, SUMS_BY_CALLSITE, &sums, error);

    if (code != SQLITE_OK)
        return code;
    if (!begin(graph, stacks, by) || !allocate_build(&build))
        code = SQLITE_NOMEM;
    if (code == SQLITE_OK)
        code = open_patterns(&build, selection, pattern, error);
    if (code == SQLITE_OK) {
        mark_live(&build);
        code = place_all(&build);
    }
    add_up(graph);
    graph->n_is_real = sums.n_is_real;
    graph->values_are_real = sums.values_are_real;
    release_build(&build);
    sums_release(&sums);
    if (code != SQLITE_OK)
        graph_release(graph);
    return code;
}

/* ---- Callers and callees ---- */

static bool is_match(const struct graph *graph, uint32_t node)
{
    return graph->labels[graph->nodes[node].label].matches;
}

/* Another graph's labels for those of this one, none yet; NULL: no memory.  */
static uint32_t *new_copies(const struct graph *from)
{
    size_t size = (size_t)from->label_count * sizeof(uint32_t);
    uint32_t *copies = sqlite3_malloc64(size);

    return copies ? memset(copies, 0xff, size) : NULL;
}

/* The other graph's node for a node of this one; NONE without memory.  */
static uint32_t copy_child(struct graph *to, uint32_t parent, const struct graph *from,
                           uint32_t node, uint32_t *copies)
{
    uint32_t *copy = &copies[from->nodes[node].label];

    if (*copy == NONE) {
        struct graph_label label = from->labels[from->nodes[node].label];

        label.matches = false; /* what is called the same is one again */
        *copy = add_label(to, &label);
    }
    return *copy == NONE ? NONE : child_node(to, parent, *copy);
}

/* What was counted at or below each node, but not below a match in between.  */
static struct graph_node *count_to_next_match(const struct graph *graph)
{
    struct graph_node *counts = sqlite3_malloc64((size_t)graph->node_count * sizeof *counts);

    if (!counts)
        return NULL;
    memcpy(counts, graph->nodes, (size_t)graph->node_count * sizeof *counts);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        counts[i].n = counts[i].self_n;
        counts[i].value = counts[i].self_value;
    }
    for (uint32_t i = graph->node_count; i-- > 1;) {
        if (is_match(graph, i))
            continue;
        amount_add(&counts[counts[i].parent].n, &counts[i].n);
        amount_add(&counts[counts[i].parent].value, &counts[i].value);
    }
    return counts;
}

/* The way from a match to the root, turned round.  Where all functions of deep stacks match, the
 * ways together are as long as the square of the depth: there is a limit.  */
static int add_callers(struct graph *callers, const struct graph *graph, uint32_t *labels,
                       uint32_t match, const struct graph_node *count, uint32_t *left)
{
    uint32_t node = 0;

    for (uint32_t at = match; at != 0; at = graph->nodes[at].parent) {
        if (callers->node_count > GRAPH_CALLERS_MOST || (*left)-- == 0)
            return SQLITE_TOOBIG;
        node = copy_child(callers, node, graph, at, labels);
        if (node == NONE)
            return SQLITE_NOMEM;
    }
    amount_add(&callers->nodes[node].self_n, &count->n);
    amount_add(&callers->nodes[node].self_value, &count->value);
    return SQLITE_OK;
}

static int turn_round(const struct graph *graph, struct graph *callers)
{
    struct graph_node *counts = count_to_next_match(graph);
    uint32_t *labels = new_copies(graph);
    uint32_t left = GRAPH_STEPS_MOST;
    int code = counts && labels ? SQLITE_OK : SQLITE_NOMEM;

    for (uint32_t i = 1; code == SQLITE_OK && i < graph->node_count; i++) {
        if (is_match(graph, i) &&
            (!amount_is_zero(&counts[i].n) || !amount_is_zero(&counts[i].value)))
            code = add_callers(callers, graph, labels, i, &counts[i], &left);
    }
    sqlite3_free(labels);
    sqlite3_free(counts);
    return code;
}

static int copy_below_matches(const struct graph *graph, struct graph *callees)
{
    uint32_t *copies = sqlite3_malloc64((size_t)graph->node_count * sizeof *copies);
    uint32_t *labels = new_copies(graph);
    int code = copies && labels ? SQLITE_OK : SQLITE_NOMEM;

    if (copies)
        copies[0] = NONE;
    for (uint32_t i = 1; code == SQLITE_OK && i < graph->node_count; i++) {
        uint32_t parent = copies[graph->nodes[i].parent];

        copies[i] = NONE;
        if (parent == NONE && !is_match(graph, i))
            continue;
        copies[i] = copy_child(callees, parent == NONE ? 0 : parent, graph, i, labels);
        if (copies[i] == NONE) {
            code = SQLITE_NOMEM;
            break;
        }
        amount_add(&callees->nodes[copies[i]].self_n, &graph->nodes[i].self_n);
        amount_add(&callees->nodes[copies[i]].self_value, &graph->nodes[i].self_value);
    }
    sqlite3_free(labels);
    sqlite3_free(copies);
    return code;
}

static int derive(const struct graph *graph, struct graph *derived,
                  int (*copy)(const struct graph *graph, struct graph *derived))
{
    int code = begin(derived, graph->stacks, graph->by) ? copy(graph, derived) : SQLITE_NOMEM;

    derived->n_is_real = graph->n_is_real;
    derived->values_are_real = graph->values_are_real;
    if (code == SQLITE_OK)
        add_up(derived);
    else
        graph_release(derived);
    return code;
}

int graph_callers(const struct graph *graph, struct graph *callers)
{
    return derive(graph, callers, turn_round);
}

int graph_callees(const struct graph *graph, struct graph *callees)
{
    return derive(graph, callees, copy_below_matches);
}

/* ---- Walking ---- */

static int compare_children(const void *a, const void *b, void *context)
{
    const struct graph *graph = *(const struct graph *const *)context;
    const struct graph_node *x = &graph->nodes[*(const uint32_t *)a];
    const struct graph_node *y = &graph->nodes[*(const uint32_t *)b];
    double x_value = amount_number(&x->value), y_value = amount_number(&y->value);
    double x_n = amount_number(&x->n), y_n = amount_number(&y->n);
    const struct graph_label *x_label = &graph->labels[x->label];
    const struct graph_label *y_label = &graph->labels[y->label];
    int order;

    if (x_value < y_value || x_value > y_value)
        return x_value < y_value ? 1 : -1;
    if (x_n < y_n || x_n > y_n)
        return x_n < y_n ? 1 : -1;
    order = strcmp(x_label->name, y_label->name);
    if (order == 0)
        order = strcmp(x_label->file, y_label->file);
    return order ? order : (x_label->line > y_label->line) - (x_label->line < y_label->line);
}

/* Children of all nodes, grouped by parent and sorted; firsts[node] is where its own begin.  */
static void sort_children(const struct graph *graph, uint32_t *firsts, uint32_t *children)
{
    uint32_t count = graph->node_count;

    for (uint32_t i = 1; i < count; i++)
        firsts[graph->nodes[i].parent + 1]++;
    for (uint32_t i = 0; i < count; i++)
        firsts[i + 1] += firsts[i];
    for (uint32_t i = 1; i < count; i++) /* firsts[parent] is moved on, to where the next begin */
        children[firsts[graph->nodes[i].parent]++] = i;
    memmove(firsts + 1, firsts, (size_t)count * sizeof *firsts);
    firsts[0] = 0;
    for (uint32_t i = 0; i < count; i++)
        if (firsts[i + 1] - firsts[i] > 1)
            qsort_r(children + firsts[i], firsts[i + 1] - firsts[i], sizeof *children,
                    compare_children, &graph);
}

/* Depth first without recursion: stacks may be as deep as they like.  next[node] is the child to
 * visit next, ends[node] is behind the last one.  */
static void walk(const struct graph *graph, uint32_t *next, const uint32_t *ends,
                 const uint32_t *children, struct graph_place *places)
{
    uint32_t at = 0, depth = 0, count = 1;

    places[0] = (struct graph_place){ .node = 0, .depth = 0 };
    for (;;) {
        if (next[at] < ends[at]) {
            at = children[next[at]++];
            depth++;
            places[count++] = (struct graph_place){ .node = at, .depth = depth };
        } else if (at == 0) {
            return;
        } else {
            at = graph->nodes[at].parent;
            depth--;
        }
    }
}

struct graph_place *graph_walk(const struct graph *graph)
{
    size_t count = graph->node_count;
    struct graph_place *places = sqlite3_malloc64(count * sizeof *places);
    uint32_t *children = sqlite3_malloc64(count * sizeof *children);
    uint32_t *firsts = sqlite3_malloc64((count + 1) * sizeof *firsts);
    uint32_t *ends = sqlite3_malloc64(count * sizeof *ends);

    if (places && children && firsts && ends) {
        memset(firsts, 0, (count + 1) * sizeof *firsts);
        sort_children(graph, firsts, children);
        memcpy(ends, firsts + 1, count * sizeof *ends);
        walk(graph, firsts, ends, children, places);
    } else {
        sqlite3_free(places);
        places = NULL;
    }
    sqlite3_free(children);
    sqlite3_free(firsts);
    sqlite3_free(ends);
    return places;
}

/* ---- Labels added up ---- */

void graph_totals_release(struct graph_totals *totals)
{
    sqlite3_free(totals->self_n);
    *totals = (struct graph_totals){ .n = NULL };
}

bool graph_add_up_labels(const struct graph *graph, const struct graph_place *places,
                         struct graph_totals *totals)
{
    size_t count = graph->label_count;
    struct amount *amounts = sqlite3_malloc64(4 * count * sizeof *amounts);
    uint32_t *open = sqlite3_malloc64(count * sizeof *open); /* nodes of a label on the way */
    uint32_t *way = sqlite3_malloc64((size_t)graph->node_count * sizeof *way);
    uint32_t depth = 0;

    if (!amounts || !open || !way) {
        sqlite3_free(amounts);
        sqlite3_free(open);
        sqlite3_free(way);
        return false;
    }
    memset(amounts, 0, 4 * count * sizeof *amounts);
    memset(open, 0, count * sizeof *open);
    *totals = (struct graph_totals){ amounts, amounts + count, amounts + 2 * count,
                                     amounts + 3 * count };
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct graph_node *node = &graph->nodes[places[i].node];

        while (depth > places[i].depth)
            open[way[--depth]]--;
        way[depth++] = node->label;
        amount_add(&totals->self_n[node->label], &node->self_n);
        amount_add(&totals->self_value[node->label], &node->self_value);
        if (open[node->label]++ > 0) /* it is in a call of itself, which counts */
            continue;
        amount_add(&totals->n[node->label], &node->n);
        amount_add(&totals->value[node->label], &node->value);
    }
    sqlite3_free(open);
    sqlite3_free(way);
    return true;
}
