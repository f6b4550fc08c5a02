/* baseline_command.c - fxtdiff baseline create|accept|show FILE.  */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli/cli_input.h"
#include "cmd/fxtdiff/commands.h"
#include "cmd/fxtdiff/options.h"
#include "cmd/fxtdiff/print.h"
#include "cmd/fxtdiff/text_file.h"

enum { OPTION_ROWS = 1 };

static const struct cli_option own_options[] = {
    { OPTION_ROWS, 'n', "rows", "N", "show: print N functions (default 20; 0: all)" },
    { 0 },
};

static const char *const examples[] = {
    "Keep five runs in the repository",
    "fxtdiff baseline create perf/baseline.txt run-*.fxt",
    "Gate a change against the baseline",
    "fxtdiff perf/baseline.txt -- new-*.fxt",
    "Accept the runs of an intended regression",
    "fxtdiff baseline accept perf/baseline.txt new-*.fxt",
    "Print a baseline",
    "fxtdiff baseline show perf/baseline.txt",
    NULL,
};

static const char *const verbs[] = { "create", "accept", "show", NULL };
enum { CREATE, ACCEPT, SHOW };

static const char *verb_word(size_t i, const char **brief)
{
    static const char *const briefs[] = { "write runs to a new file",
                                          "replace the runs in an existing file",
                                          "print what is in a file", NULL };

    *brief = briefs[i];
    return verbs[i];
}

static int run(char **argv);

const struct cli_command diff_baseline_command = {
    .name = "fxtdiff baseline",
    .usage = "create|accept|show FILE [RUN]...",
    .summary = "Keep runs as a small text file, against which fxtdiff compares later runs.",
    .options = own_options,
    .groups = diff_reading_groups,
    .examples = examples,
    .word = verb_word,
    .word_title = "Verbs",
    .rest = CLI_FILE,
    .run = run,
    .brief = "keep runs as a small file in a repository",
};

struct work {
    struct diff_reading reading;
    size_t rows;
    const char *verb;
    const char *file;
    struct cli_texts runs;
};

/* ---- Reading ---- */

/* Runs of a set that were not measured alike make a baseline that means nothing.  */
static void warn_of_mixture(const struct compare_set *set)
{
    const struct compare_environment *first = NULL;

    for (size_t i = 0; i < set->run_count; i++) {
        const struct compare_environment *environment = &set->runs[i].environment;

        if (set->runs[i].side != COMPARE_NEW)
            continue;
        if (!first)
            first = environment;
        if (first->cpu_model && environment->cpu_model &&
            strcmp(first->cpu_model, environment->cpu_model) != 0) {
            cli_warning("%s was measured on another CPU model than the first run: a baseline needs "
                        "runs of one machine",
                        set->runs[i].label);
            return;
        }
    }
}

/* The runs of both sides; NULL after a message, with the status.  */
static const struct compare_set *read_set(const struct work *work, struct diff_runs *runs,
                                          bool old_too, enum cli_exit *status)
{
    struct cli_texts file = { &(const char *){ work->file }, 1 };
    const struct compare_set *set = NULL;

    *status = old_too ? diff_read(runs, COMPARE_BASE, &file) : CLI_OK;
    if (*status == CLI_OK && work->runs.count > 0)
        *status = diff_read(runs, COMPARE_NEW, &work->runs);
    if (*status != CLI_OK && *status != CLI_DAMAGED)
        return NULL;
    set = diff_runs_finish(runs);
    if (!set) {
        *status = CLI_ENVIRONMENT;
    } else if (set->run_count == 0 || (work->runs.count > 0 && set->side_runs[COMPARE_NEW] == 0)) {
        cli_error("no run could be read");
        *status = *status == CLI_OK ? CLI_USAGE : *status;
        set = NULL;
    }
    return set;
}

/* Every run has something in it.  */
static bool has_costs(const struct compare_set *set)
{
    for (size_t i = 0; i < set->run_count; i++)
        if (!(set->runs[i].cost > 0) || !(set->runs[i].samples > 0)) {
            cli_error("%s: no samples", set->runs[i].label);
            return false;
        }
    return true;
}

/* ---- create, accept ---- */

static void say_change(const struct compare_set *set, const char *path)
{
    double base = compare_mean_cost(set, COMPARE_BASE), now = compare_mean_cost(set, COMPARE_NEW);
    char from[32], to[32];

    cli_note("%s: %zu run%s of %s on average, were %zu of %s (%+.1f%%)", path,
             set->side_runs[COMPARE_NEW], set->side_runs[COMPARE_NEW] == 1 ? "" : "s",
             compare_amount(set->type.unit, now, to), set->side_runs[COMPARE_BASE],
             compare_amount(set->type.unit, base, from), base > 0 ? 100 * (now - base) / base : 0);
}

/* The runs as a baseline, with the comments of old, if it is not NULL.  */
static enum cli_exit write_baseline(const struct compare_set *set, const struct diff_text_file *old,
                                    const char *path)
{
    struct cli_output output;
    struct compare_error error;
    enum cli_exit status;
    char *text;
    size_t length;

    if (compare_write_baseline(set, COMPARE_NEW, old ? old->bytes : NULL, old ? old->length : 0,
                               &text, &length, &error) != COMPARE_OK) {
        cli_error("%s: %s", path, error.message);
        return runs_exit_of(error.status);
    }
    status = cli_output_open(&output, path);
    if (status == CLI_OK) {
        (void)cli_output_write(&output, text, length);
        status = cli_output_commit(&output);
    }
    free(text);
    return status;
}

static enum cli_exit replace_runs(const struct work *work, const struct compare_set *set,
                                  bool old_too)
{
    struct diff_text_file old;
    enum cli_exit status;

    if (!old_too)
        return write_baseline(set, NULL, work->file);
    status = diff_text_open(&old, work->file, COMPARE_BASELINE_BYTES);
    if (status != CLI_OK)
        return status;
    status = write_baseline(set, &old, work->file);
    diff_text_close(&old);
    if (status == CLI_OK)
        say_change(set, work->file);
    return status;
}

static enum cli_exit write_runs(const struct work *work, struct diff_runs *runs, bool old_too)
{
    enum cli_exit status, written;
    const struct compare_set *set = read_set(work, runs, old_too, &status);

    if (!set)
        return status;
    if (!has_costs(set))
        return CLI_INCONCLUSIVE;
    warn_of_mixture(set);
    written = replace_runs(work, set, old_too);
    if (written == CLI_OK && set->side_runs[COMPARE_NEW] < COMPARE_MIN_RUNS)
        cli_warning("%s: a gate needs at least %d runs, but there %s %zu", work->file,
                    COMPARE_MIN_RUNS, set->side_runs[COMPARE_NEW] == 1 ? "is" : "are",
                    set->side_runs[COMPARE_NEW]);
    return cli_worse(written, status);
}

/* ---- show ---- */

static void show_environment(struct cli_output *output,
                             const struct compare_environment *environment)
{
    const struct {
        const char *what, *value;
    } lines[] = {
        { "CPU", environment->cpu_model },     { "kernel", environment->kernel },
        { "architecture", environment->arch }, { "compiler", environment->compiler },
        { "command", environment->command },
    };

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (lines[i].value)
            diff_print(output, "%-12s  %s\n", lines[i].what, lines[i].value);
    if (environment->period_ns)
        diff_print(output, "%-12s  %s ns\n", "period", cli_grouped(environment->period_ns));
    for (size_t i = 0; i < environment->build_count; i++)
        diff_print(output, "%-12s  %s\n", i == 0 ? "builds" : "", environment->builds[i]);
}

/* Mean and standard deviation of the runs, relative to the mean.  */
static double spread_of(const struct compare_set *set, double mean)
{
    double sum = 0;

    for (size_t i = 0; i < set->run_count; i++)
        sum += (set->runs[i].cost - mean) * (set->runs[i].cost - mean);
    return set->run_count > 1 && mean > 0 ? sqrt(sum / (double)(set->run_count - 1)) / mean : 0;
}

struct shown {
    uint32_t function;
    double self, total; /* mean shares */
};

static int by_self(const void *a, const void *b)
{
    const struct shown *left = a, *right = b;

    if (left->self != right->self)
        return left->self > right->self ? -1 : 1;
    if (left->total != right->total)
        return left->total > right->total ? -1 : 1;
    return (left->function > right->function) - (left->function < right->function);
}

static void show_functions(struct cli_output *output, const struct compare_set *set, size_t rows)
{
    struct shown *shown = cli_allocate(set->function_count + 1, sizeof *shown);

    for (size_t f = 0; f < set->function_count; f++)
        shown[f].function = (uint32_t)f;
    for (size_t i = 0; i < set->run_count; i++)
        for (size_t k = 0; k < set->runs[i].cost_count; k++) {
            const struct compare_cost *cost = &set->runs[i].costs[k];

            shown[cost->function].self += cost->self / set->runs[i].cost / (double)set->run_count;
            shown[cost->function].total += cost->total / set->runs[i].cost / (double)set->run_count;
        }
    if (set->function_count > 1)
        qsort(shown, set->function_count, sizeof *shown, by_self);
    diff_print(output, "\n%8s %8s  %s\n", "self", "total", "function");
    for (size_t i = 0; i < set->function_count && (rows == 0 || i < rows); i++)
        diff_print(output, "%7.2f%% %7.2f%%  %s\n", 100 * shown[i].self, 100 * shown[i].total,
                   set->functions[shown[i].function].name);
    free(shown);
}

static enum cli_exit show(const struct work *work, struct diff_runs *runs)
{
    enum cli_exit status;
    const struct compare_set *set = read_set(work, runs, true, &status);
    struct cli_output output;
    double mean;
    char amount[32];

    if (!set)
        return status;
    status = cli_output_open(&output, NULL);
    if (status != CLI_OK)
        return status;
    mean = compare_mean_cost(set, COMPARE_BASE);
    diff_print(&output, "%-12s  %s in %s\n", "type", set->type.type, set->type.unit);
    diff_print(&output, "%-12s  %zu, %s on average, which vary by %.1f%%\n", "runs", set->run_count,
               compare_amount(set->type.unit, mean, amount), 100 * spread_of(set, mean));
    show_environment(&output, &set->runs[0].environment);
    show_functions(&output, set, work->rows);
    return cli_output_commit(&output);
}

/* ---- The command ---- */

static void parse(struct work *work, char **argv)
{
    struct cli_parser parser;
    int key;

    cli_start(&parser, &diff_baseline_command, argv);
    while ((key = cli_next(&parser)) != CLI_END) {
        if (key == OPTION_ROWS)
            work->rows = (size_t)cli_number("--rows", parser.value, 0, 1000000);
        else if (key != CLI_OPERAND)
            (void)diff_reading_option(&work->reading, key, &parser);
        else if (!work->verb)
            work->verb = parser.value;
        else if (!work->file)
            work->file = parser.value;
        else
            cli_texts_add(&work->runs, parser.value);
    }
    if (!work->verb || !work->file)
        cli_usage_error("usage: fxtdiff baseline create|accept|show FILE [RUN]...");
}

/* accept replaces the file: it must not be a run, given by mistake.  */
static enum cli_exit check_file(const char *path)
{
    unsigned char start[16];

    if (access(path, R_OK) != 0) {
        cli_error("%s: %s", path, strerror(errno));
        return CLI_ENVIRONMENT;
    }
    if (compare_is_baseline(start, cli_input_start(path, start, sizeof start)))
        return CLI_OK;
    cli_error("%s: not a baseline", path);
    return CLI_USAGE;
}

static enum cli_exit work_on(const struct work *work)
{
    size_t verb = cli_choice("what to do", work->verb, verbs);
    struct diff_runs runs;
    enum cli_exit status;

    if (verb != SHOW && work->runs.count == 0)
        cli_usage_error("no runs given");
    if (verb == SHOW && work->runs.count > 0)
        cli_usage_error("show takes one file");
    if (verb == CREATE && access(work->file, F_OK) == 0) {
        cli_error("%s exists; to replace its runs: fxtdiff baseline accept", work->file);
        return CLI_USAGE;
    }
    status = verb == CREATE ? CLI_OK : check_file(work->file);
    if (status == CLI_OK)
        status = cli_symbols_check(&work->reading.profiles.symbols);
    if (status != CLI_OK)
        return status;
    diff_runs_open(&runs, &work->reading);
    status = verb == SHOW ? show(work, &runs) : write_runs(work, &runs, verb == ACCEPT);
    diff_runs_close(&runs);
    return status;
}

static int run(char **argv)
{
    struct work work = { .reading = { .profiles = { .kind = -1 } }, .rows = 20 };
    enum cli_exit status;

    parse(&work, argv);
    status = work_on(&work);
    free(work.runs.items);
    cli_profiles_release(&work.reading.profiles);
    return (int)status;
}
