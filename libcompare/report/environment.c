/* environment.c - whether both sides were measured on the same machine with the same compiler.
 *
 * Builds are what is to differ, from side to side and nowhere else.  */
#include <inttypes.h>
#include <string.h>

#include "libcompare/report/report.h"

enum { FIELDS = 5 };

static const char *const field_names[FIELDS] = { "CPU", "kernel", "architecture", "compiler",
                                                 "sampling period" };

/* A field of one run as text; NULL unknown.  */
static const char *field_of(struct compare_report *report, const struct compare_run *run,
                            unsigned field)
{
    const struct compare_environment *environment = &run->environment;

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
                   ? report_text(report, "%" PRIu64 " ns", environment->period_ns)
                   : NULL;
    }
}

static bool is_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Whether some run of the side has this value.  */
static bool has(struct compare_report *report, enum compare_side side, unsigned field,
                const char *value)
{
    const struct compare_set *set = report->set;

    for (size_t i = 0; i < set->run_count; i++)
        if (set->runs[i].side == side && is_same(field_of(report, &set->runs[i], field), value))
            return true;
    return false;
}

static const char *quoted(struct compare_report *report, const char *value)
{
    return value ? report_text(report, "\"%s\"", value) : "unknown";
}

/* The first value of one side that the other has not: how they differ, as a phrase; NULL: they do
 * not.  What is unknown differs from nothing, unless strict.  */
static const char *difference(struct compare_report *report, unsigned field, bool strict)
{
    const struct compare_set *set = report->set;

    for (size_t i = 0; i < set->run_count; i++) {
        enum compare_side other = set->runs[i].side == COMPARE_BASE ? COMPARE_NEW : COMPARE_BASE;
        const char *value = field_of(report, &set->runs[i], field);
        const char *values[COMPARE_SIDES];

        if ((!value && !strict) || has(report, other, field, value))
            continue;
        values[set->runs[i].side] = value;
        values[other] = NULL;
        for (size_t k = 0; k < set->run_count && !values[other]; k++)
            if (set->runs[k].side == other)
                values[other] = field_of(report, &set->runs[k], field);
        if (strict || values[other])
            return report_text(report, "%s of the base is %s, that of the new runs %s",
                               field_names[field], quoted(report, values[COMPARE_BASE]),
                               quoted(report, values[COMPARE_NEW]));
    }
    return NULL;
}

/* ---- Builds ---- */

/* The name behind the build ID.  */
static const char *module_of(const char *build)
{
    return build + strcspn(build, " ");
}

static bool has_build(const struct compare_run *run, const char *build)
{
    for (size_t i = 0; i < run->environment.build_count; i++)
        if (strcmp(run->environment.builds[i], build) == 0)
            return true;
    return false;
}

/* Another build of that module in the run, or NULL.  */
static const char *other_build(const struct compare_run *run, const char *build)
{
    if (has_build(run, build))
        return NULL;
    for (size_t i = 0; i < run->environment.build_count; i++)
        if (strcmp(module_of(run->environment.builds[i]), module_of(build)) == 0)
            return run->environment.builds[i];
    return NULL;
}

/* Runs of one side that are of several builds were put into the wrong folder.  */
static void note_mixture(struct compare_report *report, enum compare_side side)
{
    const struct compare_set *set = report->set;
    const struct compare_run *first = NULL;

    for (size_t i = 0; i < set->run_count; i++) {
        const struct compare_run *run = &set->runs[i];

        if (run->side != side)
            continue;
        if (!first)
            first = run;
        for (size_t b = 0; b < first->environment.build_count; b++) {
            const char *build = first->environment.builds[b];

            if (!other_build(run, build))
                continue;
            report_note(report, "%s runs are of several builds of%s: %s and %s",
                        side == COMPARE_BASE ? "base" : "new", module_of(build), first->label,
                        run->label);
            return;
        }
    }
}

/* Whether each build of a is in some run of the other side.  */
static bool are_there(const struct compare_set *set, const struct compare_run *a)
{
    for (size_t b = 0; b < a->environment.build_count; b++) {
        bool found = false;

        for (size_t i = 0; i < set->run_count && !found; i++)
            found = set->runs[i].side != a->side &&
                    has_build(&set->runs[i], a->environment.builds[b]);
        if (!found)
            return false;
    }
    return a->environment.build_count > 0;
}

/* A gate that compares a build with itself passes whatever the change was.  */
static void note_same_builds(struct compare_report *report)
{
    const struct compare_set *set = report->set;

    for (size_t i = 0; i < set->run_count; i++)
        if (!are_there(set, &set->runs[i]))
            return;
    report_note(report, "both sides are runs of the same builds");
}

void report_note_environment(struct compare_report *report)
{
    if (!report_has_sides(report))
        return;
    note_mixture(report, COMPARE_BASE);
    note_mixture(report, COMPARE_NEW);
    note_same_builds(report);
    for (unsigned field = 0; field < FIELDS; field++) {
        const char *how = difference(report, field, false);

        if (how)
            report_note(report, "different environments: %s", how);
    }
}

enum compare_status compare_require_environment(struct compare_report *report,
                                                struct compare_error *error)
{
    for (unsigned field = 0; field < FIELDS && report_has_sides(report); field++) {
        const char *how = difference(report, field, true);

        if (how)
            return compare_fail(error, COMPARE_UNLIKE, "%s", how);
    }
    return report_status(report, error);
}
