/* environment.c - whether both sides were measured on the same machine with the same compiler.
 *
 * Build IDs are not compared: builds are what is to differ.  */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/fxtdiff/policies.h"

enum { FIELDS = 5 };

static const char *const field_names[FIELDS] = { "CPU", "kernel", "architecture", "compiler",
                                                 "sampling period" };

/* A field of one run as text; NULL unknown.  */
static const char *field_of(struct diff_report *report, const struct diff_run *run, unsigned field)
{
    const struct diff_environment *environment = &run->environment;

    switch (field) {
    case 0:
        return environment->cpu_model;
    case 1:
        return environment->kernel;
    case 2:
        return environment->arch;
    case 3:
        return environment->compiler;
    default:
        return environment->period_ns
                   ? diff_report_text(report, "%" PRIu64 " ns", environment->period_ns)
                   : NULL;
    }
}

static bool is_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Whether some run of the side has this value.  */
static bool has(struct diff_report *report, enum diff_side side, unsigned field, const char *value)
{
    const struct diff_set *set = report->set;

    for (size_t i = 0; i < set->run_count; i++)
        if (set->runs[i].side == side && is_same(field_of(report, &set->runs[i], field), value))
            return true;
    return false;
}

static const char *quoted(struct diff_report *report, const char *value)
{
    return value ? diff_report_text(report, "\"%s\"", value) : "unknown";
}

/* The first value of one side that the other has not: how they differ, as a phrase; NULL: they do
 * not.  What is unknown differs from nothing, unless strict.  */
static const char *difference(struct diff_report *report, unsigned field, bool strict)
{
    const struct diff_set *set = report->set;

    for (size_t i = 0; i < set->run_count; i++) {
        enum diff_side other = set->runs[i].side == DIFF_BASE ? DIFF_NEW : DIFF_BASE;
        const char *value = field_of(report, &set->runs[i], field);
        const char *values[DIFF_SIDES];

        if ((!value && !strict) || has(report, other, field, value))
            continue;
        values[set->runs[i].side] = value;
        values[other] = NULL;
        for (size_t k = 0; k < set->run_count && !values[other]; k++)
            if (set->runs[k].side == other)
                values[other] = field_of(report, &set->runs[k], field);
        if (strict || values[other])
            return diff_report_text(report, "%s of the base is %s, of the new runs %s",
                                    field_names[field], quoted(report, values[DIFF_BASE]),
                                    quoted(report, values[DIFF_NEW]));
    }
    return NULL;
}

static bool has_sides(const struct diff_report *report)
{
    return report->set->side_runs[DIFF_BASE] > 0 && report->set->side_runs[DIFF_NEW] > 0;
}

void diff_note_environment(struct diff_report *report)
{
    for (unsigned field = 0; field < FIELDS && has_sides(report); field++) {
        const char *how = difference(report, field, false);

        if (how)
            diff_report_note(report, "measured differently: %s", how);
    }
}

enum cli_exit diff_require_environment(struct diff_report *report, const char *nothing)
{
    (void)nothing;
    for (unsigned field = 0; field < FIELDS && has_sides(report); field++) {
        const char *how = difference(report, field, true);

        if (!how)
            continue;
        cli_error("%s (--strict-env)", how);
        return CLI_POLICY;
    }
    return CLI_OK;
}
