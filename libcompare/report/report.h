/* report.h - between the files that make a report: report.c opens it, checks.c and costs.c compare,
 * verdict.c decides, the others apply rules.
 *
 * Texts are made with report_text() and its like; when memory is short they are "" and the report
 * is marked as failed, which compare_report_judge() and compare_report_open() return.  */
#ifndef COMPARE_REPORT_INTERNAL_H
#define COMPARE_REPORT_INTERNAL_H

#include <fxt/compare_report.h>

#include "base/arena.h"
#include "base/text.h"
#include "libcompare/compare_internal.h"

struct compare_report_memory {
    struct base_arena arena;  /* of the texts */
    struct base_text scratch; /* where they are made */
    size_t reason_capacity, note_capacity, rule_capacity;
    const char *same_build; /* "BUILDID name", of which both sides are runs; NULL: they differ */
    bool failed;            /* memory was short */
};

const char *report_text(struct compare_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void report_reason(struct compare_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void report_note(struct compare_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A rule without any text, to be filled in; NULL when memory is short.  */
struct compare_rule *report_rule(struct compare_report *report);

/* COMPARE_OK, or that memory was short.  */
enum compare_status report_status(const struct compare_report *report, struct compare_error *error);

static inline bool report_has_sides(const struct compare_report *report)
{
    return report->set->side_runs[COMPARE_BASE] > 0 && report->set->side_runs[COMPARE_NEW] > 0;
}

/* The order of flags by weight: regressed, moved, improved, none (verdict.c).  */
int report_severity(enum compare_flag flag);

/* Whether the runs can be compared (checks.c).  Returns COMPARE_OK, COMPARE_UNLIKE, COMPARE_LIMIT
 * or COMPARE_NO_MEMORY; report->problem becomes what else speaks against it.  */
enum compare_status report_check_runs(struct compare_report *report, struct compare_error *error);

/* Fill in report->comparison (costs.c).  Returns the status of compare_runs().  */
enum compare_status report_compare(struct compare_report *report, struct compare_error *error);

/* Find the rows that regressed by what they call (causes.c).  */
void report_find_callers(struct compare_report *report);

/* Add a note for everything in which the sides' environments differ (environment.c).  */
void report_note_environment(struct compare_report *report);

#endif /* COMPARE_REPORT_INTERNAL_H */
