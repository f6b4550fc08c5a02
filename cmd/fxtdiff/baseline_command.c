/* baseline_command.c - fxtdiff baseline create|accept|show FILE.  */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/fxtdiff/baseline.h"
#include "cmd/fxtdiff/commands.h"
#include "cmd/fxtdiff/options.h"
#include "cmd/fxtdiff/print.h"
#include "cmd/fxtdiff/text_file.h"

enum { OPTION_ROWS = 1 };

static const struct cli_option own_options[] = {
    { OPTION_ROWS, 'n', "rows", "N", "show: how many functions (default 20, 0: all)" },
    { 0 },
};

static const char *const examples[] = {
    "Keep five runs beside the sources",
    "fxtdiff baseline create perf/baseline.txt run-*.fxt",
    "Gate a change against them",
    "fxtdiff perf/baseline.txt -- new-*.fxt",
    "The change costs more on purpose: take its runs from now on",
    "fxtdiff baseline accept perf/baseline.txt new-*.fxt",
    "What is in it",
    "fxtdiff baseline show perf/baseline.txt",
    NULL,
};

static const char *const verbs[] = { "create", "accept", "show", NULL };
enum { CREATE, ACCEPT, SHOW };

static const char *verb_word(size_t i, const char **brief)
{
    static const char *const briefs[] = { "write runs to a new file",
                                          "replace the runs of a file by others",
                                          "print what is in a file", NULL };

    *brief = briefs[i];
    return verbs[i];
}

static int run(char **argv);

const struct cli_command diff_baseline_command = {
    .name = "fxtdiff baseline",
    .usage = "create|accept|show FILE [RUN]...",
    .summary = "Keep runs as a small text file in a repository, for fxtdiff to compare with.",
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
static void warn_of_mixture(const struct diff_set *set)
{
    const struct diff_environment *first = NULL;

    for (size_t i = 0; i < set->run_count; i++) {
        const struct diff_environment *environment = &set->runs[i].environment;

        if (set->runs[i].side != DIFF_NEW)
            continue;
        if (!first)
            first = environment;
        if (first->cpu_model && environment->cpu_model &&
            strcmp(first->cpu_model, environment->cpu_model) != 0) {
            cli_warning("%s was measured on another CPU than the first run", set->runs[i].label);
            return;
        }
    }
}

/* The runs of both sides; NULL after a message, with the status.  */
static struct diff_set *read_set(const struct work *work, struct diff_builder *builder,
                                 bool old_too, enum cli_exit *status)
{
    struct cli_texts file = { &(const char *){ work->file }, 1 };
    struct diff_set *set = NULL;

    *status = old_too ? diff_read(builder, DIFF_BASE, &file) : CLI_OK;
    if (*status == CLI_OK && work->runs.count > 0)
        *status = diff_read(builder, DIFF_NEW, &work->runs);
    if (*status != CLI_OK && *status != CLI_DAMAGED)
        return NULL;
    set = diff_builder_finish(builder);
    if (!set) {
        *status = CLI_ENVIRONMENT;
    } else if (set->run_count == 0 || (work->runs.count > 0 && set->side_runs[DIFF_NEW] == 0)) {
        cli_error("no runs");
        *status = *status == CLI_OK ? CLI_USAGE : *status;
        set = NULL;
    }
    return set;
}

/* Every run has something in it.  */
static bool has_costs(const struct diff_set *set)
{
    for (size_t i = 0; i < set->run_count; i++)
        if (!(set->runs[i].cost > 0) || !(set->runs[i].samples > 0)) {
            cli_error("%s: no samples", set->runs[i].label);
            return false;
        }
    return true;
}

/* ---- create, accept ---- */

static void say_change(const struct diff_set *set, const char *path)
{
    double base = diff_mean_cost(set, DIFF_BASE), now = diff_mean_cost(set, DIFF_NEW);
    char from[32], to[32];

    cli_note("%s: %zu run%s of %s on average, were %zu of %s (%+.1f%%)", path,
             set->side_runs[DIFF_NEW], set->side_runs[DIFF_NEW] == 1 ? "" : "s",
             diff_amount(set, now, to), set->side_runs[DIFF_BASE], diff_amount(set, base, from),
             base > 0 ? 100 * (now - base) / base : 0);
}

/* The lines of the file that are comments, from malloc(); NULL after a message.  */
static char *read_comments(const char *path)
{
    struct diff_text_file file;
    char *comments, *line;
    size_t length = 0;

    if (diff_text_open(&file, path, DIFF_BASELINE_BYTES) != CLI_OK)
        return NULL;
    comments = cli_allocate(file.length + 2, 1);
    while ((line = diff_text_line(&file)) != NULL)
        if (*line == '#') {
            char *end = stpcpy(comments + length, line);

            *end++ = '\n';
            length = (size_t)(end - comments);
        }
    comments[length] = '\0';
    diff_text_close(&file);
    return comments;
}

static enum cli_exit write_runs(const struct work *work, struct diff_builder *builder, bool old_too)
{
    enum cli_exit status, written;
    struct diff_set *set = read_set(work, builder, old_too, &status);
    char *comments;

    if (!set)
        return status;
    if (!has_costs(set))
        return CLI_INCONCLUSIVE;
    warn_of_mixture(set);
    comments = old_too ? read_comments(work->file) : NULL;
    if (old_too && !comments)
        return CLI_ENVIRONMENT;
    written = diff_write_baseline(set, DIFF_NEW, comments ? comments : "", work->file);
    free(comments);
    if (written == CLI_OK && old_too)
        say_change(set, work->file);
    if (written == CLI_OK && set->side_runs[DIFF_NEW] < COMPARE_MIN_RUNS)
        cli_warning("%s: a gate needs at least %d runs, here %s %zu", work->file, COMPARE_MIN_RUNS,
                    set->side_runs[DIFF_NEW] == 1 ? "is" : "are", set->side_runs[DIFF_NEW]);
    return cli_worse(written, status);
}

/* ---- show ---- */

static void show_environment(struct cli_output *output, const struct diff_environment *environment)
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
static double spread_of(const struct diff_set *set, double mean)
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

static void show_functions(struct cli_output *output, const struct diff_set *set, size_t rows)
{
    struct shown *shown = cli_allocate(set->function_count + 1, sizeof *shown);

    for (size_t f = 0; f < set->function_count; f++)
        shown[f].function = (uint32_t)f;
    for (size_t i = 0; i < set->run_count; i++)
        for (size_t k = 0; k < set->runs[i].cost_count; k++) {
            const struct diff_cost *cost = &set->runs[i].costs[k];

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

static enum cli_exit show(const struct work *work, struct diff_builder *builder)
{
    enum cli_exit status;
    struct diff_set *set = read_set(work, builder, true, &status);
    struct cli_output output;
    double mean;
    char amount[32];

    if (!set)
        return status;
    status = cli_output_open(&output, NULL);
    if (status != CLI_OK)
        return status;
    mean = diff_mean_cost(set, DIFF_BASE);
    diff_print(&output, "%-12s  %s in %s\n", "type", set->type.type, set->type.unit);
    diff_print(&output, "%-12s  %zu, %s on average, which vary by %.1f%%\n", "runs", set->run_count,
               diff_amount(set, mean, amount), 100 * spread_of(set, mean));
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
        cli_usage_error("create, accept or show, and a file");
}

/* accept replaces the file: it must not be a run, given by mistake.  */
static enum cli_exit check_file(const char *path)
{
    unsigned char start[16];
    ssize_t length;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    length = fd < 0 ? -1 : read(fd, start, sizeof start);
    if (length < 0)
        cli_error("%s: %s", path, strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    if (length < 0)
        return CLI_ENVIRONMENT;
    if (diff_is_baseline(start, (size_t)length))
        return CLI_OK;
    cli_error("%s: not a baseline", path);
    return CLI_USAGE;
}

static enum cli_exit work_on(const struct work *work)
{
    size_t verb = cli_choice("what to do", work->verb, verbs);
    struct diff_builder *builder;
    enum cli_exit status;

    if (verb != SHOW && work->runs.count == 0)
        cli_usage_error("of which runs?");
    if (verb == SHOW && work->runs.count > 0)
        cli_usage_error("show takes one file");
    if (verb == CREATE && access(work->file, F_OK) == 0) {
        cli_error("%s: exists; \"fxtdiff baseline accept\" replaces its runs", work->file);
        return CLI_USAGE;
    }
    status = verb == CREATE ? CLI_OK : check_file(work->file);
    if (status == CLI_OK)
        status = cli_symbols_check(&work->reading.profiles.symbols);
    if (status != CLI_OK)
        return status;
    builder = diff_builder_open(&work->reading);
    status = verb == SHOW ? show(work, builder) : write_runs(work, builder, verb == ACCEPT);
    diff_builder_close(builder);
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
