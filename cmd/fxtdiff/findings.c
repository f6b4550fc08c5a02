/* findings.c - a report as a list of messages.  */
#include "cmd/fxtdiff/findings.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/fxtdiff/format.h"
#include "cmd/fxtdiff/source_paths.h"

/* ---- Kinds ---- */

const char *diff_finding_id(enum diff_finding_kind kind)
{
    static const char *const ids[] = {
        [DIFF_FINDING_INCONCLUSIVE] = "inconclusive",   [DIFF_FINDING_TOTAL] = "total-regressed",
        [DIFF_FINDING_FUNCTION] = "function-regressed", [DIFF_FINDING_MOVED] = "function-moved",
        [DIFF_FINDING_BUDGET] = "budget-exceeded",
    };

    return ids[kind];
}

const char *diff_finding_help(enum diff_finding_kind kind)
{
    static const char *const helps[] = {
        [DIFF_FINDING_INCONCLUSIVE] =
            "The runs are inconclusive: they do not show whether the new build regressed.",
        [DIFF_FINDING_TOTAL] = "The total cost of the new build regressed.",
        [DIFF_FINDING_FUNCTION] = "The cost of the function regressed in the new build.",
        [DIFF_FINDING_MOVED] = ("The cost of the function grew, but not that of its file or its "
                                "callers: the cost moved."),
        [DIFF_FINDING_BUDGET] = "The new build exceeds a budget.",
    };

    return helps[kind];
}

const char *diff_finding_remedy(enum diff_finding_kind kind)
{
    static const char *const remedies[] = {
        [DIFF_FINDING_INCONCLUSIVE] =
            "The message gives the reason, and the number of runs or samples that would do.",
        [DIFF_FINDING_TOTAL] =
            "The runs of the new build cost more than those of the base, by a permutation test of "
            "ranks. The functions that regressed, if any, are separate results.",
        [DIFF_FINDING_FUNCTION] =
            "Its share of the cost grew by more than it varies from run to run. Compare both "
            "builds with fxtdiff --folded, or accept the cost on purpose with fxtdiff baseline "
            "accept or a suppression.",
        [DIFF_FINDING_MOVED] =
            "Other functions of its file, its callers or its callees cost less by as much. "
            "Nothing needs to be done.",
        [DIFF_FINDING_BUDGET] =
            "The median of the new runs is above a limit in the file of budgets. Reduce the cost, "
            "or change the limit.",
    };

    return remedies[kind];
}

/* ---- Texts ---- */

static const char *say(struct diff_findings *findings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static const char *say(struct diff_findings *findings, const char *format, ...)
{
    const char *copy;
    va_list arguments;
    char *text;

    va_start(arguments, format);
    text = cli_text(format, arguments);
    va_end(arguments);
    copy = base_arena_text(&findings->arena, text, strlen(text));
    free(text);
    if (!copy)
        cli_out_of_memory();
    return copy;
}

/* A path of the debug information as it is written to others.  */
static const char *say_path(struct diff_findings *findings, const char *file)
{
    char *path = diff_source_path(file);
    const char *copy = say(findings, "%s", path);

    free(path);
    return copy;
}

/* ---- Functions ---- */

/* The family that carries the flag; the function's own cost when both do.  */
static bool own_cost_says_it(const struct compare_row *row)
{
    return row->self.flag == row->flag || row->total.flag != row->flag;
}

/* How a function's cost changed: "own cost +15.2% (4.00% to 4.55% of the total, q 0.003)".  */
static const char *describe_row(struct diff_findings *findings, const struct compare_row *row)
{
    bool own = own_cost_says_it(row);
    const struct compare_change *change = own ? &row->self : &row->total;
    const char *from = "";
    char relative[32], q[32];

    if (isinf(change->relative))
        return say(findings, "%s %.2f%% of the total, none before (q %s)",
                   own ? "own cost" : "cost with callees", 100 * change->new_share,
                   compare_probability(change->q, q));
    if (row->state == COMPARE_STATE_RENAMED)
        from = row->names->places[COMPARE_BASE].name;
    return say(findings, "%s %s (%.2f%% to %.2f%% of the total, q %s)%s%s%s%s",
               own ? "own cost" : "cost with callees", diff_relative(change->relative, relative),
               100 * change->base_share, 100 * change->new_share, compare_probability(change->q, q),
               row->state != COMPARE_STATE_BOTH ? ", " : "", compare_state_name(row->state),
               *from ? " from " : "", from);
}

static struct diff_finding *add(struct diff_findings *findings, enum diff_finding_kind kind,
                                enum diff_finding_level level, const char *name)
{
    struct diff_finding *finding = &findings->items[findings->count++];

    findings->errors += level == DIFF_ERROR;
    *finding = (struct diff_finding){ .kind = kind, .level = level, .name = name, .file = "" };
    return finding;
}

static void add_row(struct diff_findings *findings, const struct compare_report *report,
                    uint32_t index)
{
    const struct compare_row *row = &report->rows[index];
    bool moved = row->flag == COMPARE_MOVED;
    /* With too few runs a change is worth a look, and no more.  */
    enum diff_finding_level level = row->suppressed || moved || row->by_callees ? DIFF_NOTE
                                    : report->verdict == COMPARE_FAIL           ? DIFF_ERROR
                                                                                : DIFF_WARNING;
    struct diff_finding *finding;

    if (row->flag != COMPARE_REGRESSED && !moved)
        return;
    finding = add(findings, moved ? DIFF_FINDING_MOVED : DIFF_FINDING_FUNCTION, level,
                  row->names->name);
    finding->row = index;
    finding->suppressed = row->suppressed;
    finding->file = say_path(findings, compare_file_of(row->names, &finding->line));
    finding->message = say(findings, "%s %s: %s%s%s%s", row->names->name,
                           moved             ? "moved, not slower"
                           : row->by_callees ? "regressed by what it calls"
                                             : "regressed",
                           describe_row(findings, row), row->suppressed ? " (suppressed: " : "",
                           row->suppressed ? row->suppressed : "", row->suppressed ? ")" : "");
}

/* ---- The others ---- */

static void add_total(struct diff_findings *findings, const struct compare_report *report)
{
    const struct compare_total_change *total = &report->comparison->total;
    bool fails = report->verdict == COMPARE_FAIL && !report->total_suppressed;
    struct diff_finding *finding;
    char relative[32], p[32], base[32], now[32];

    if (!compare_total_regressed(report))
        return;
    finding = add(findings, DIFF_FINDING_TOTAL,
                  fails                      ? DIFF_ERROR
                  : report->total_suppressed ? DIFF_NOTE
                                             : DIFF_WARNING,
                  "total");
    finding->suppressed = report->total_suppressed;
    finding->message = say(
        findings,
        "the total regressed: %s (95%% interval %+.1f%% to %+.1f%%, %s to %s, p %s)%s%s%s",
        diff_relative(total->relative, relative), 100 * total->low, 100 * total->high,
        compare_amount(report->set->type.unit, total->base, base),
        compare_amount(report->set->type.unit, total->new_cost, now),
        compare_probability(total->p, p), report->total_suppressed ? " (suppressed: " : "",
        report->total_suppressed ? report->total_suppressed : "",
        report->total_suppressed ? ")" : "");
}

/* "budgets.txt:3" as a file and a line.  */
static void place_rule(struct diff_findings *findings, const struct compare_rule *rule,
                       struct diff_finding *finding)
{
    const char *colon = strrchr(rule->place, ':');

    if (!colon)
        return;
    finding->file = say_path(findings,
                             say(findings, "%.*s", (int)(colon - rule->place), rule->place));
    finding->line = (uint32_t)strtoul(colon + 1, NULL, 10);
}

static void add_rule(struct diff_findings *findings, const struct compare_report *report,
                     uint32_t index)
{
    const struct compare_rule *rule = &report->rules[index];
    struct diff_finding *finding;

    if (rule->outcome == COMPARE_RULE_KEPT)
        return;
    finding = add(findings, DIFF_FINDING_BUDGET,
                  rule->outcome == COMPARE_RULE_BROKEN ? DIFF_ERROR : DIFF_WARNING, rule->text);
    finding->row = index;
    finding->message = say(findings, "budget %s: %s (%s)",
                           rule->outcome == COMPARE_RULE_BROKEN ? "exceeded" : "not checked",
                           rule->text, rule->result);
    if (*rule->file) {
        finding->file = say_path(findings, rule->file);
        finding->line = rule->line;
    } else {
        place_rule(findings, rule, finding);
    }
}

static void add_inconclusive(struct diff_findings *findings, const struct compare_report *report)
{
    struct diff_finding *finding = add(findings, DIFF_FINDING_INCONCLUSIVE, DIFF_WARNING,
                                       "conclusive");

    finding->message = say(findings, "inconclusive: %s",
                           report->reason_count > 0 ? report->reasons[0] : "");
}

static int worst_first(const void *a, const void *b)
{
    const struct diff_finding *left = a, *right = b;

    if (left->level != right->level)
        return left->level > right->level ? -1 : 1;
    if (left->kind != right->kind)
        return left->kind < right->kind ? -1 : 1;
    return (left->row > right->row) - (left->row < right->row);
}

static bool is_in_repository(const char *path)
{
    return *path != '/' && strncmp(path, "../", 3) != 0;
}

/* The file of the function with most of the cost of its own, among those of the repository or among
 * all.  */
static void place_at_hottest(struct diff_findings *findings, const struct compare_report *report,
                             bool in_repository, struct diff_finding *finding)
{
    double most = 0;

    for (size_t i = 0; i < report->row_count; i++) {
        const struct compare_row *row = &report->rows[i];
        double share = fmax(row->self.new_share, row->self.base_share);
        uint32_t line;
        const char *file = compare_file_of(row->names, &line);
        const char *path;

        if (!*file || share <= most)
            continue;
        path = say_path(findings, file);
        if (in_repository && !is_in_repository(path))
            continue;
        most = share;
        finding->file = path;
        finding->line = line;
    }
}

/* In this order: a total at the worst finding of a function, no verdict at the job that made the
 * runs; where most of the cost of the repository is; the job; where most of the cost is.  */
static void place(struct diff_findings *findings, const struct compare_report *report,
                  const struct diff_finding *worst, const char *workflow,
                  struct diff_finding *finding)
{
    if (finding->kind == DIFF_FINDING_TOTAL && worst) {
        finding->file = worst->file;
        finding->line = worst->line;
    } else if (finding->kind == DIFF_FINDING_INCONCLUSIVE && workflow) {
        finding->file = say(findings, "%s", workflow);
    } else {
        place_at_hottest(findings, report, true, finding);
    }
    if (!*finding->file && workflow)
        finding->file = say(findings, "%s", workflow);
    else if (!*finding->file)
        place_at_hottest(findings, report, false, finding);
}

/* What is of no function is shown in source as well, or in the file of the job: CI systems show
 * nothing without a place, and nobody looks for it in a trace.  */
static void place_others(struct diff_findings *findings, const struct compare_report *report)
{
    const struct diff_finding *worst = NULL;
    char *workflow = diff_workflow_path();

    for (size_t i = findings->count; i-- > 0;)
        if (findings->items[i].kind == DIFF_FINDING_FUNCTION && *findings->items[i].file)
            worst = &findings->items[i];
    for (size_t i = 0; i < findings->count; i++)
        if (!*findings->items[i].file)
            place(findings, report, worst, workflow, &findings->items[i]);
    free(workflow);
}

struct diff_findings diff_find(const struct compare_report *report)
{
    struct diff_findings findings = { .count = 0 };

    findings.items = cli_allocate(report->row_count + report->rule_count + 2,
                                  sizeof *findings.items);
    if (report->verdict == COMPARE_INCONCLUSIVE)
        add_inconclusive(&findings, report);
    if (report->comparison)
        add_total(&findings, report);
    for (size_t i = 0; i < report->row_count; i++)
        add_row(&findings, report, (uint32_t)i);
    for (size_t i = 0; i < report->rule_count; i++)
        add_rule(&findings, report, (uint32_t)i);
    for (size_t i = 0; report->benchmark && i < findings.count; i++)
        findings.items[i].message = say(&findings, "%s: %s", report->benchmark,
                                        findings.items[i].message);
    if (findings.count > 1)
        qsort(findings.items, findings.count, sizeof *findings.items, worst_first);
    place_others(&findings, report);
    return findings;
}

void diff_findings_release(struct diff_findings *findings)
{
    free(findings->items);
    base_arena_release(&findings->arena);
}
