/* suite.c - the benchmarks of one comparison.  */
#include "cmd/fxtdiff/suite.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Reading ---- */

static enum cli_exit read_bench(struct diff_bench *bench, const struct diff_settings *settings,
                                const struct cli_texts *inputs)
{
    enum cli_exit status = CLI_OK;

    diff_runs_open(&bench->runs, &settings->reading);
    for (int side = 0; side < COMPARE_SIDES; side++)
        status = cli_worse(status, diff_read(&bench->runs, (enum compare_side)side, &inputs[side]));
    if (status == CLI_DAMAGED)
        compare_builder_set_damaged(bench->runs.builder);
    if (status != CLI_OK && status != CLI_DAMAGED)
        return status;
    bench->set = diff_runs_finish(&bench->runs);
    return bench->set ? status : CLI_ENVIRONMENT;
}

enum cli_exit diff_suite_open(struct diff_suite *suite, const struct diff_settings *settings)
{
    const struct diff_benchmark *named = settings->benchmarks;
    size_t count = named ? settings->benchmark_count : 1;
    enum cli_exit status = CLI_OK;

    *suite = (struct diff_suite){ .settings = settings,
                                  .benches = cli_allocate(count, sizeof *suite->benches) };
    for (size_t i = 0; i < count && (status == CLI_OK || status == CLI_DAMAGED); i++) {
        struct diff_bench *bench = &suite->benches[suite->count++];

        bench->name = named ? named[i].name : NULL;
        status = cli_worse(status,
                           read_bench(bench, settings, named ? named[i].inputs : settings->inputs));
    }
    return status;
}

void diff_suite_close(struct diff_suite *suite)
{
    for (size_t i = 0; i < suite->count; i++)
        diff_runs_close(&suite->benches[i].runs);
    free(suite->benches);
}

/* ---- One report ---- */

static enum cli_exit apply_policies(const struct diff_settings *settings,
                                    struct compare_report *report)
{
    enum cli_exit status = CLI_OK;

    for (size_t i = 0; diff_policies[i] && status == CLI_OK; i++)
        if (settings->policies[i])
            status = diff_policies[i](report, settings, settings->policies[i]);
    return status;
}

/* So much code without names is said: a change in it is nobody's.  */
#define UNNAMED_SHARE 0.05

static void note_unnamed(struct compare_report *report)
{
    static const char *const sides[] = { "the base", "the new runs" };

    for (int side = 0; side < COMPARE_SIDES; side++) {
        const char *most;
        double share = compare_unnamed_share(report->set, (enum compare_side)side, &most);
        char *note = NULL;

        if (share < UNNAMED_SHARE)
            continue;
        if (asprintf(&note,
                     "%.1f %% of the cost of %s is in code without names, most in %s (--symbols)",
                     100 * share, sides[side], most) < 0)
            cli_out_of_memory();
        compare_report_add_note(report, note);
        free(note);
    }
}

static enum cli_exit judge(const struct diff_settings *settings, struct compare_report *report)
{
    struct compare_error error;
    enum cli_exit status;

    note_unnamed(report);
    if (settings->conditions)
        compare_report_add_note(report, settings->conditions);
    status = apply_policies(settings, report);
    if (status == CLI_OK && compare_report_judge(report, &error) != COMPARE_OK)
        status = runs_fail(&error);
    return status;
}

/* ---- All of them ---- */

static void name_in_message(const struct diff_bench *bench)
{
    if (bench->name)
        cli_note("in benchmark %s:", bench->name);
}

static struct compare_report *open_one(const struct diff_suite *suite, size_t index, double q,
                                       const struct compare_others *others, enum cli_exit *status)
{
    struct compare_options options = suite->settings->compare;
    struct compare_report *report;
    struct compare_error error;

    options.q = q;
    options.others = others;
    *status = CLI_OK;
    if (compare_report_open(suite->benches[index].set, &options, &report, &error) == COMPARE_OK)
        return report;
    name_in_message(&suite->benches[index]);
    *status = runs_fail(&error);
    return NULL;
}

/* Add the tests of a benchmark to those that all others know.  */
static enum cli_exit share_tests(const struct diff_suite *suite, size_t index, double q,
                                 struct compare_others *others)
{
    enum cli_exit status;
    struct compare_report *report = open_one(suite, index, q, NULL, &status);
    struct compare_error error;

    for (size_t i = 0; report && report->comparison && i < suite->count && status == CLI_OK; i++)
        if (i != index && compare_others_add(&others[i], report->comparison, &error) != COMPARE_OK)
            status = runs_fail(&error);
    compare_report_close(report);
    return status;
}

static struct compare_report *report_all(const struct diff_suite *suite, double q,
                                         const struct compare_series *series,
                                         const struct compare_others *others, enum cli_exit *status)
{
    struct compare_report *first = NULL, **next = &first;

    for (size_t i = 0; i < suite->count; i++) {
        struct compare_report *report = open_one(suite, i, q, &others[i], status);

        if (!report)
            break;
        *next = report;
        next = &report->next;
        report->benchmark = suite->benches[i].name;
        if (series)
            report->series = *series;
        *status = judge(suite->settings, report);
        if (*status != CLI_OK)
            break;
    }
    return first;
}

struct compare_report *diff_suite_report(struct diff_suite *suite, double q,
                                         const struct compare_series *series, enum cli_exit *status)
{
    struct compare_others *others = cli_allocate(suite->count, sizeof *others);
    struct compare_report *reports = NULL;

    *status = CLI_OK;
    for (size_t i = 0; suite->count > 1 && i < suite->count && *status == CLI_OK; i++)
        *status = share_tests(suite, i, q, others);
    if (*status == CLI_OK)
        reports = report_all(suite, q, series, others, status);
    for (size_t i = 0; i < suite->count; i++)
        compare_others_release(&others[i]);
    free(others);
    if (*status == CLI_OK)
        return reports;
    diff_reports_close(reports);
    return NULL;
}

void diff_reports_close(struct compare_report *reports)
{
    while (reports) {
        struct compare_report *next = reports->next;

        compare_report_close(reports);
        reports = next;
    }
}

enum compare_verdict diff_reports_verdict(const struct compare_report *reports)
{
    enum compare_verdict verdict = COMPARE_PASS;

    for (; reports; reports = reports->next)
        if (reports->verdict == COMPARE_FAIL || verdict == COMPARE_PASS)
            verdict = reports->verdict;
    return verdict;
}

/* ---- Benchmarks in folders ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names in a folder, sorted; hidden files are none.  */
static struct cli_texts list_folder(const char *path)
{
    struct cli_texts names = { NULL, 0 };
    DIR *folder = opendir(path);
    const struct dirent *entry;

    if (!folder)
        cli_usage_error("--suite: %s: %s; give one folder of each side", path, strerror(errno));
    while ((entry = readdir(folder)) != NULL)
        if (entry->d_name[0] != '.')
            cli_texts_add(&names, cli_join(entry->d_name, ""));
    (void)closedir(folder);
    if (names.count > 0)
        qsort(names.items, names.count, sizeof *names.items, by_name);
    return names;
}

/* "parse" of the folder parse, and of the file parse.fxt.  */
static size_t stem_length(const char *name)
{
    return *name == '.' ? strlen(name) : strcspn(name, ".");
}

static bool has_stem(const char *name, const char *stem, size_t length)
{
    return stem_length(name) == length && strncmp(name, stem, length) == 0;
}

static void add_inputs(struct cli_texts *inputs, const char *folder, const struct cli_texts *names,
                       const char *stem, size_t length)
{
    for (size_t i = 0; i < names->count; i++)
        if (has_stem(names->items[i], stem, length)) {
            char *slash = cli_join(folder, "/");

            cli_texts_add(inputs, cli_join(slash, names->items[i]));
            free(slash);
        }
}

static bool is_among(const struct cli_texts *names, size_t count, const char *stem, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (has_stem(names->items[i], stem, length))
            return true;
    return false;
}

static void release_names(struct cli_texts *names)
{
    for (size_t i = 0; i < names->count; i++)
        free((char *)names->items[i]);
    free(names->items);
}

static void warn_of_missing(const char *folder, const char *name, const char *other)
{
    cli_warning("%s/%s: %s has no benchmark of this name, so it is not compared", folder, name,
                other);
}

void diff_find_benchmarks(struct diff_settings *settings)
{
    const char *folders[COMPARE_SIDES];
    struct cli_texts names[COMPARE_SIDES];

    for (int side = 0; side < COMPARE_SIDES; side++) {
        if (settings->inputs[side].count != 1)
            cli_usage_error("--suite: give one folder of each side: fxtdiff --suite OLD -- NEW");
        folders[side] = settings->inputs[side].items[0];
        names[side] = list_folder(folders[side]);
    }
    settings->benchmarks = cli_allocate(names[COMPARE_BASE].count + 1,
                                        sizeof *settings->benchmarks);
    for (size_t i = 0; i < names[COMPARE_BASE].count; i++) {
        const char *stem = names[COMPARE_BASE].items[i];
        size_t length = stem_length(stem);
        struct diff_benchmark *benchmark = &settings->benchmarks[settings->benchmark_count];

        if (is_among(&names[COMPARE_BASE], i, stem, length))
            continue;
        if (!is_among(&names[COMPARE_NEW], names[COMPARE_NEW].count, stem, length)) {
            warn_of_missing(folders[COMPARE_BASE], stem, folders[COMPARE_NEW]);
            continue;
        }
        benchmark->name = cli_checked(strndup(stem, length));
        for (int side = 0; side < COMPARE_SIDES; side++)
            add_inputs(&benchmark->inputs[side], folders[side], &names[side], stem, length);
        settings->benchmark_count++;
    }
    for (size_t i = 0; i < names[COMPARE_NEW].count; i++) {
        const char *stem = names[COMPARE_NEW].items[i];

        if (!is_among(&names[COMPARE_NEW], i, stem, stem_length(stem)) &&
            !is_among(&names[COMPARE_BASE], names[COMPARE_BASE].count, stem, stem_length(stem)))
            warn_of_missing(folders[COMPARE_NEW], stem, folders[COMPARE_BASE]);
    }
    if (settings->benchmark_count == 0)
        cli_usage_error("--suite: %s and %s have no benchmark in common", folders[COMPARE_BASE],
                        folders[COMPARE_NEW]);
    for (int side = 0; side < COMPARE_SIDES; side++)
        release_names(&names[side]);
}
