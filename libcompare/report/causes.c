/* causes.c - which rows regressed only by what they call.
 *
 * If one function regresses, the cost with callees of all its callers regresses, too.  They are
 * shown, but counted apart: one cause is one finding.  */
#include <string.h>

#include "libcompare/report/report.h"

/* The part of a row's growth that other rows must explain.  */
#define LEAST_PART 0.5

/* Points to one of the report.  */
struct cause {
    const struct compare_row *row;
};

struct causes {
    const struct compare_set *set;
    struct cause *of;       /* of each function: its row if it regressed; else NULL */
    double *own;            /* of each node: the growth of its share, */
    double *grown;          /* with all below it, */
    double *explained;      /* and how much of the latter is that of rows below it */
    double *function_grown; /* of each function, over all its nodes */
    double *function_explained;
};

static bool is_finding(const struct compare_row *row)
{
    return row->flag == COMPARE_REGRESSED && !row->suppressed;
}

/* Where only one row regressed, or each by its own cost, there is nothing to find; and without
 * stacks nothing can be.  */
static bool has_candidates(const struct compare_report *report)
{
    size_t findings = 0, candidates = 0;

    for (size_t i = 0; i < report->set->run_count; i++)
        if (report->set->runs[i].stack_count == 0)
            return false;

    for (size_t i = 0; i < report->row_count; i++) {
        const struct compare_row *row = &report->rows[i];

        findings += is_finding(row);
        candidates += is_finding(row) && row->self.flag != COMPARE_REGRESSED;
    }
    return candidates > 0 && findings > 1;
}

/* The growth of each node's own share.  */
static bool fill_growth(struct causes *causes)
{
    const struct compare_set *set = causes->set;
    double base = compare_mean_cost(set, COMPARE_BASE),
           new_cost = compare_mean_cost(set, COMPARE_NEW);
    double *means = compare_mean_stacks(set);

    for (size_t n = 0; means && n < set->node_count; n++)
        causes->own[n] = causes->grown[n] = means[2 * n + 1] / new_cost - means[2 * n] / base;
    free(means);
    return means != NULL;
}

/* From the leaves to the roots: parents lie before their children.  */
static void add_up(struct causes *causes)
{
    const struct compare_set *set = causes->set;

    for (size_t n = set->node_count; n-- > 1;) {
        const struct compare_node *node = &set->nodes[n];
        const struct compare_row *row = causes->of[node->function].row;
        double explained = causes->explained[n];

        if (row) {
            causes->function_grown[node->function] += causes->grown[n];
            causes->function_explained[node->function] += explained;
        }
        if (row && row->total.flag == COMPARE_REGRESSED)
            explained = causes->grown[n];
        else if (row)
            explained += causes->own[n];
        causes->grown[node->parent] += causes->grown[n];
        causes->explained[node->parent] += explained;
    }
}

static void mark(struct causes *causes, struct compare_report *report)
{
    for (size_t i = 0; i < report->row_count; i++) {
        struct compare_row *row = &report->rows[i];
        double grown = causes->function_grown[row->function];

        row->by_callees = is_finding(row) && row->self.flag != COMPARE_REGRESSED && grown > 0 &&
                          causes->function_explained[row->function] >= LEAST_PART * grown;
    }
}

static void find(struct causes *causes, struct compare_report *report)
{
    for (size_t i = 0; i < report->row_count; i++)
        if (is_finding(&report->rows[i]))
            causes->of[report->rows[i].function].row = &report->rows[i];
    report->memory->failed |= !fill_growth(causes);
    add_up(causes);
    mark(causes, report);
}

void report_find_callers(struct compare_report *report)
{
    const struct compare_set *set = report->set;
    struct causes causes = { .set = set };

    if (!report->comparison || !has_candidates(report))
        return;
    causes.of = compare_array(set->function_count, sizeof *causes.of);
    causes.own = compare_array(set->node_count, sizeof *causes.own);
    causes.grown = compare_array(set->node_count, sizeof *causes.grown);
    causes.explained = compare_array(set->node_count, sizeof *causes.explained);
    causes.function_grown = compare_array(set->function_count, sizeof *causes.function_grown);
    causes.function_explained = compare_array(set->function_count,
                                              sizeof *causes.function_explained);
    if (causes.of && causes.own && causes.grown && causes.explained && causes.function_grown &&
        causes.function_explained)
        find(&causes, report);
    else
        report->memory->failed = true;
    free(causes.of);
    free(causes.own);
    free(causes.grown);
    free(causes.explained);
    free(causes.function_grown);
    free(causes.function_explained);
}
