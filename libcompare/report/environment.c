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

/* ---- One build on both sides ---- */

/* A build with a smaller share of a side may be missing on the other side by chance, and so may one
 * of which fewer samples are expected there: they are not independent of each other.  */
#define TELLING_SHARE   0.005
#define TELLING_SAMPLES 30

/* "[kernel]", "[vdso]": nothing that a change of the program replaces.  */
static bool is_program(const char *build)
{
    return module_of(build)[0] == ' ' && module_of(build)[1] != '[';
}

/* The share of a build in the runs of a side; *named: another build has its name there.  */
static double share_on(const struct compare_set *set, enum compare_side side, const char *build,
                       bool *named)
{
    size_t id = strcspn(build, " ");
    double cost = 0, all = 0;

    *named = false;
    for (size_t i = 0; i < set->run_count; i++) {
        const struct compare_environment *environment = &set->runs[i].environment;

        if (set->runs[i].side != side)
            continue;
        all += set->runs[i].cost;
        for (size_t b = 0; b < environment->build_count; b++) {
            const char *other = environment->builds[b];

            if (strncmp(other, build, id + 1) == 0) /* whatever the file is called */
                cost += set->runs[i].cost *
                        (environment->build_shares ? environment->build_shares[b] : 1);
            else
                *named |= strcmp(module_of(other), module_of(build)) == 0;
        }
    }
    return all > 0 ? cost / all : 0;
}

static double samples_on(const struct compare_set *set, enum compare_side side)
{
    double samples = 0;

    for (size_t i = 0; i < set->run_count; i++)
        if (set->runs[i].side == side)
            samples += set->runs[i].samples;
    return samples;
}

static bool is_missed(double share, double samples)
{
    return share >= TELLING_SHARE && share * samples >= TELLING_SAMPLES;
}

static double unidentified_on(const struct compare_set *set, enum compare_side side)
{
    double cost = 0, all = 0;

    for (size_t i = 0; i < set->run_count; i++) {
        if (set->runs[i].side != side)
            continue;
        all += set->runs[i].cost;
        cost += set->runs[i].cost * set->runs[i].environment.unidentified;
    }
    return all > 0 ? cost / all : 0;
}

/* Whether an earlier run of the side has the build.  */
static bool was_seen(const struct compare_set *set, const struct compare_run *run,
                     const char *build)
{
    for (const struct compare_run *other = set->runs; other < run; other++)
        if (other->side == run->side && has_build(other, build))
            return true;
    return false;
}

/* A build is the program's rather than a library's, which is in all stacks as well.  */
static double weight_of(const char *build, double share)
{
    return strstr(module_of(build), ".so") ? share : 1 + share;
}

/* Whether the other side has each build of a run that matters.  *heaviest becomes the one with the
 * largest weight so far.  */
static bool are_there(const struct compare_set *set, const struct compare_run *run,
                      const char **heaviest, double *most)
{
    enum compare_side other = run->side == COMPARE_BASE ? COMPARE_NEW : COMPARE_BASE;

    for (size_t b = 0; b < run->environment.build_count; b++) {
        const char *build = run->environment.builds[b];
        bool ignored, replaced;
        double share, there;

        if (!is_program(build) || was_seen(set, run, build))
            continue;
        share = share_on(set, run->side, build, &ignored);
        there = share_on(set, other, build, &replaced);
        if (there == 0 && (replaced || is_missed(share, samples_on(set, other))))
            return false;
        if (weight_of(build, share) > *most) {
            *most = weight_of(build, share);
            *heaviest = build;
        }
    }
    return true;
}

/* The program's build if both sides are runs of the same builds; else NULL.  A gate that compares a
 * build with itself passes whatever the change was, and if it fails, the change is not why.  */
static const char *find_same_build(const struct compare_set *set)
{
    const char *heaviest = NULL;
    double most = 0;

    for (int side = 0; side < COMPARE_SIDES; side++)
        if (unidentified_on(set, (enum compare_side)side) >= TELLING_SHARE)
            return NULL;
    for (size_t i = 0; i < set->run_count; i++)
        if (!are_there(set, &set->runs[i], &heaviest, &most))
            return NULL;
    return heaviest;
}

void report_note_environment(struct compare_report *report)
{
    if (!report_has_sides(report))
        return;
    note_mixture(report, COMPARE_BASE);
    note_mixture(report, COMPARE_NEW);
    if (!report->options.same_build)
        report->memory->same_build = find_same_build(report->set);
    if (report->memory->same_build)
        report_note(report, "both sides are runs of the same builds");
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
