/* gate.c - read both sides, compare, write: what every command ends in.  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fxt/profile_files.h>
#include "cmd/cli/cli_input.h"
#include "cmd/fxtdiff/commands.h"
#include "cmd/fxtdiff/options.h"
#include "cmd/fxtdiff/outputs.h"
#include "cmd/fxtdiff/readers.h"
#include "cmd/fxtdiff/suite.h"

/* What can be read only once - standard input, what a shell's <(...) gives - is not read twice.  */
static bool is_read_once(const char *path)
{
    struct stat status;

    return strcmp(path, "-") == 0 || (stat(path, &status) == 0 && !S_ISREG(status.st_mode));
}

enum cli_exit diff_check_policies(const struct diff_settings *settings)
{
    enum cli_exit status = CLI_OK;

    for (size_t i = 0; diff_policies[i] && status == CLI_OK; i++)
        if (settings->policies[i] && !is_read_once(settings->policies[i]))
            status = diff_policies[i](NULL, settings, settings->policies[i]);
    return status;
}

/* Where an output goes: a path, "-" for standard output; NULL: it was not asked for.  */
static const char *target_of(const struct diff_settings *settings, size_t output)
{
    if (!settings->outputs[output])
        return NULL;
    return diff_output_options[output].argument ? settings->outputs[output] : "-";
}

static bool is_trace(const unsigned char *start, size_t length)
{
    static const unsigned char magic[] = { 0x10, 0x00, 0x04, 0x46, 0x78, 0x54, 0x16, 0x00 };

    return length >= sizeof magic && memcmp(start, magic, sizeof magic) == 0;
}

/* Whether runs are in it.  A profile that such an output wrote is not kept: it is written anew.  */
static bool is_kept(const char *path, bool profiles_too)
{
    unsigned char start[PROFILE_SNIFF_BYTES];
    size_t length = cli_input_start(path, start, sizeof start);

    return is_trace(start, length) || diff_is_store(start, length) ||
           compare_is_baseline(start, length) ||
           (profiles_too && length > 0 &&
            (profile_format_of(start, length) || profile_is_folded(start, length)));
}

/* "--junit base.fxt -- new.fxt" means to compare the two.  */
static void check_target(const struct diff_settings *settings, size_t output)
{
    const char *name = diff_output_options[output].name, *path = target_of(settings, output);
    bool to_stdout = path && strcmp(path, "-") == 0;

    if (to_stdout && diff_outputs[output].binary && isatty(STDOUT_FILENO))
        cli_usage_error("--%s is not written to a terminal; use --%s=FILE", name, name);
    if (path && !to_stdout && is_kept(path, !diff_outputs[output].is_profile))
        cli_usage_error("--%s would overwrite %s, which is an input", name, path);
}

void diff_check_outputs(const struct diff_settings *settings)
{
    for (size_t i = 0; diff_outputs[i].write; i++) {
        check_target(settings, i);
        if (settings->suite && diff_outputs[i].single && settings->outputs[i])
            cli_usage_error("--%s is for one benchmark; compare its runs alone",
                            diff_output_options[i].name);
        for (size_t k = 0; k < i; k++) {
            const char *one = target_of(settings, k), *other = target_of(settings, i);

            if (one && other && strcmp(one, other) == 0)
                cli_usage_error("--%s and --%s both write to %s", diff_output_options[k].name,
                                diff_output_options[i].name,
                                strcmp(one, "-") == 0 ? "standard output" : one);
        }
    }
}

/* What stands on standard output alone is for another program to read; annotations are lines among
 * others.  */
static bool replaces_text(const struct diff_settings *settings, size_t output)
{
    return diff_outputs[output].replaces_text ||
           (diff_output_options[output].argument && strcmp(settings->outputs[output], "-") == 0);
}

static enum cli_exit write_outputs(const struct diff_settings *settings,
                                   const struct compare_report *report)
{
    enum cli_exit status = CLI_OK;
    bool text = !settings->quiet;

    for (size_t i = 0; diff_outputs[i].write; i++) {
        if (!settings->outputs[i])
            continue;
        text &= !replaces_text(settings, i);
        status = cli_worse(status, diff_outputs[i].write(report, settings, settings->outputs[i]));
    }
    return text ? cli_worse(status, diff_write_text(report, settings, "-")) : status;
}

static enum cli_exit report_on(struct diff_suite *suite)
{
    const struct diff_settings *settings = suite->settings;
    enum cli_exit status;
    struct compare_report *reports = diff_suite_report(suite, settings->compare.q, NULL, &status);

    if (!reports)
        return status;
    status = cli_worse(diff_verdict_exit(diff_reports_verdict(reports)),
                       write_outputs(settings, reports));
    diff_reports_close(reports);
    return status;
}

/* ---- Looks ---- */

/* The verdict at the level of suspicion.  */
static enum cli_exit suspect(struct diff_suite *suite, enum compare_verdict *out)
{
    enum cli_exit status;
    struct compare_report *reports = diff_suite_report(suite, COMPARE_SUSPICION, NULL, &status);

    if (reports)
        *out = diff_reports_verdict(reports);
    diff_reports_close(reports);
    return status;
}

static bool has_problem(const struct compare_report *reports)
{
    for (; reports; reports = reports->next)
        if (reports->problem)
            return true;
    return false;
}

static void say_why_on(const struct compare_report *reports)
{
    const struct compare_report *open = reports;

    while (open->next && open->verdict == COMPARE_PASS)
        open = open->next;
    cli_note("%zu runs of each build: %s%s%s", open->set->side_runs[COMPARE_NEW],
             open->benchmark ? open->benchmark : "", open->benchmark ? ": " : "",
             open->verdict == COMPARE_PASS ? "a function or the total may have regressed"
                                           : open->reasons[0]);
}

/* Whether more runs are futile: whatever is inconclusive has other reasons than its runs, which
 * decide, as one build on both sides, or a budget that cannot be checked.  */
static bool is_futile(const struct compare_report *reports)
{
    bool futile = false;

    for (; reports; reports = reports->next) {
        if (reports->verdict != COMPARE_INCONCLUSIVE)
            continue;
        if (!reports->comparison || reports->comparison->verdict == COMPARE_INCONCLUSIVE)
            return false;
        futile = true;
    }
    return futile;
}

/* More runs do not help if the runs cannot be compared.  */
static enum cli_exit find_decision(struct diff_suite *suite, const struct compare_report *reports,
                                   struct diff_series *series)
{
    enum compare_verdict verdict = diff_reports_verdict(reports), suspicion = COMPARE_PASS;
    enum cli_exit status = CLI_OK;

    if (verdict == COMPARE_PASS)
        status = suspect(suite, &suspicion);
    series->decided = has_problem(reports) || compare_look_decides(verdict, suspicion);
    if (status == CLI_OK && !series->decided && !series->last && is_futile(reports)) {
        series->decided = true;
        series->stop = COMPARE_STOP_FUTILE;
    }
    if (status == CLI_OK && !series->decided && !series->last && !suite->settings->quiet)
        say_why_on(reports);
    return status;
}

static struct compare_report *report_look(struct diff_suite *suite,
                                          const struct diff_series *series, double q,
                                          enum cli_exit *status)
{
    const struct compare_series about = { .looks = series->looks,
                                          .most = series->most,
                                          .q = suite->settings->compare.q,
                                          .stop = series->stop };

    return diff_suite_report(suite, q, &about, status);
}

static enum cli_exit look_at(struct diff_suite *suite, struct diff_series *series)
{
    const struct diff_settings *settings = suite->settings;
    double q = compare_look_level(settings->compare.q, series->looks++, series->most, series->last);
    enum cli_exit status;
    struct compare_report *reports = report_look(suite, series, q, &status);

    if (!reports)
        return status;
    status = find_decision(suite, reports, series);
    if (status == CLI_OK && series->stop == COMPARE_STOP_FUTILE) { /* which is in its notes */
        diff_reports_close(reports);
        reports = report_look(suite, series, q, &status);
    }
    if (status == CLI_OK && (series->decided || series->last))
        status = cli_worse(diff_verdict_exit(diff_reports_verdict(reports)),
                           write_outputs(settings, reports));
    diff_reports_close(reports);
    return status;
}

enum cli_exit diff_main(const struct diff_settings *settings, struct diff_series *series)
{
    struct diff_suite suite;
    enum cli_exit status = cli_symbols_check(&settings->reading.profiles.symbols);

    if (status == CLI_OK)
        status = diff_check_policies(settings);
    if (status != CLI_OK)
        return status;
    status = diff_suite_open(&suite, settings);
    if (status == CLI_DAMAGED && series)
        series->last = true; /* more runs would not mend it */
    if (status == CLI_OK || status == CLI_DAMAGED)
        status = cli_worse(status, series ? look_at(&suite, series) : report_on(&suite));
    diff_suite_close(&suite);
    return status;
}
