/* run.c - fxtdiff run: capture both builds in turn, A B B A, then compare.
 *
 * Whatever drifts meanwhile - temperature, frequency, neighbours - falls on both alike, and what
 * drifts steadily cancels out.  */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmd/fxtdiff/commands.h"
#include "cmd/fxtdiff/options.h"
#include "cmd/fxtdiff/programs.h"
#include "cmd/fxtdiff/run_capture.h"

enum {
    KEY_RUNS = 1,
    KEY_BASE,
    KEY_NEW,
    KEY_KEEP,
    KEY_FREQUENCY,
    KEY_WARM_UP,
    KEY_TIME_LIMIT,
    KEY_EVENT,
    KEY_PERIOD,
    KEY_CPU,
    KEY_LAYOUT,
    KEY_PREPARE,
    KEY_BENCHMARKS
};

static const char *const events[] = { "cpu",         "instructions",     "cycles", "branches",
                                      "page-faults", "context-switches", NULL };
static const char *const layouts[] = { "default", "fixed", "random",
                                       NULL }; /* as enum diff_layout */

static const struct cli_option own_options[] = {
    { KEY_RUNS, 'n', "runs", "N",
      "runs of each build (default 5); auto or auto:MAX: add runs until the verdict is decided, at "
      "most MAX of each build (default 40)" },
    { KEY_TIME_LIMIT, 0, "time-limit", "TIME",
      "with -n auto, begin no more runs after this time: 600 (seconds), 10m, 1h" },
    { KEY_BASE, 0, "base", "CMD", "shell command that runs the old build", CLI_COMMAND },
    { KEY_NEW, 0, "new", "CMD", "shell command that runs the new build", CLI_COMMAND },
    { KEY_BENCHMARKS, 0, "benchmarks", "FILE",
      "run the commands in FILE, one \"NAME: COMMAND\" on each line, with the CMD of each build in "
      "place of {}; all have one verdict",
      CLI_FILE },
    { KEY_FREQUENCY, 'F', "frequency", "HZ",
      "samples per second of CPU time (default: that of sampler-capture)" },
    { KEY_EVENT, 0, "event", "EVENT",
      "compare this in place of CPU time (cpu): instructions, cycles or branches, which the "
      "processor must count, page-faults or context-switches",
      .choices = events },
    { KEY_PERIOD, 0, "period", "N",
      "a sample every N nanoseconds of CPU time or, with --event, every N events" },
    { KEY_CPU, 0, "cpu", "N", "run the commands on CPU N only" },
    { KEY_LAYOUT, 0, "layout", "LAYOUT",
      "addresses of programs: as the system has them (default), the same in each run (fixed), or "
      "others in each run (random), so that effects of addresses are noise and not bias",
      .choices = layouts },
    { KEY_PREPARE, 0, "prepare", "CMD", "shell command to run before each run", CLI_COMMAND },
    { KEY_WARM_UP, 0, "warm-up", "N",
      "run each command N times first, to warm caches (default 1)" },
    { KEY_KEEP, 0, "keep", "DIR", "keep the captures in DIR: base-1.fxt, new-1.fxt, ...",
      CLI_FOLDER },
    { 0 },
};

static const char *const examples[] = {
    "Find out whether the new build is slower",
    "fxtdiff run -n 5 --base './old --bench' --new './new --bench'",
    "Add runs until the verdict is decided, for at most ten minutes",
    "fxtdiff run -n auto --time-limit 10m --base ./old --new ./new",
    "Keep the captures, and compare them again later",
    "fxtdiff run --keep runs --base ./old --new ./new\nfxtdiff runs/base-* -- runs/new-*",
    NULL,
};

static int run(char **argv);

const struct cli_command diff_run_command = {
    .name = "fxtdiff run",
    .usage = "[OPTION]... --base CMD --new CMD",
    .summary =
        "Capture the CPU time of two builds in turn (base, new, new, base) and compare them.  The "
        "output of the commands is discarded.  If a command fails, the comparison ends.",
    .options = own_options,
    .groups = diff_groups,
    .libraries = sym_libraries,
    .examples = examples,
    .run = run,
    .brief = "capture both builds in turn and compare them",
};

#define MAX_RUNS  500u
#define AUTO_RUNS 40u

struct job {
    struct diff_settings settings;
    struct diff_capture capture;
    const char *commands[COMPARE_SIDES]; /* as given */
    const char *list;                    /* file of benchmarks; NULL: the commands are run */
    struct diff_program *programs;       /* owned */
    size_t program_count;
    unsigned runs;          /* of each build; at most, if automatic */
    bool automatic;         /* -n auto */
    uint64_t time_limit_ns; /* 0: none */
    int64_t started_ns;
    const char *keep;
    char *conditions; /* a note about them; owned */
    char *dir;        /* of the captures; owned */
    bool made;        /* dir is ours to remove */
    char **captures;  /* paths, in the order of capturing; owned */
    size_t capture_count;
};

static int64_t now_ns(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static bool is_out_of_time(const struct job *job)
{
    return job->time_limit_ns && (uint64_t)(now_ns() - job->started_ns) >= job->time_limit_ns;
}

/* ---- Runs ---- */

/* The runs of a program.  */
static struct cli_texts *inputs_of(struct job *job, size_t program)
{
    return job->settings.benchmarks ? job->settings.benchmarks[program].inputs
                                    : job->settings.inputs;
}

/* base-1.fxt; of many benchmarks, base/NAME/1.fxt: so fxtdiff --suite finds them.  */
static char *name_capture(const struct job *job, size_t program, enum compare_side side,
                          size_t number)
{
    const char *name = job->programs[program].name;
    char *path;

    if ((name ? asprintf(&path, "%s/%s/%s/%zu.fxt", job->dir, diff_side_names[side], name, number)
              : asprintf(&path, "%s/%s-%zu.fxt", job->dir, diff_side_names[side], number)) < 0)
        cli_out_of_memory();
    return path;
}

/* Capture a side of a program once more, into the next file.  */
static enum cli_exit capture_side(struct job *job, size_t program, enum compare_side side)
{
    struct cli_texts *inputs = &inputs_of(job, program)[side];
    char *path = name_capture(job, program, side, inputs->count + 1);
    enum cli_exit status;

    job->captures[job->capture_count++] = path;
    status = diff_capture_run(&job->capture, side, job->programs[program].commands[side], path);
    if (status == CLI_OK)
        cli_texts_add(inputs, cli_join(path, ""));
    return status;
}

static enum cli_exit capture_pair(struct job *job, size_t program, size_t pair)
{
    enum compare_side first = pair % 2 ? COMPARE_NEW : COMPARE_BASE;
    enum cli_exit status = capture_side(job, program, first);

    if (status == CLI_OK)
        status = capture_side(job, program, first == COMPARE_BASE ? COMPARE_NEW : COMPARE_BASE);
    return status;
}

/* Capture pairs until there are so many of each program, or the time is over, but one at least:
 * base new, new base, base new, ...  */
static enum cli_exit capture_up_to(struct job *job, size_t runs)
{
    struct cli_progress progress;
    enum cli_exit status = CLI_OK;
    size_t first = inputs_of(job, 0)[COMPARE_NEW].count, done = 0;

    cli_progress_start(&progress, "capturing", (runs - first) * job->program_count);
    for (size_t pair = first; pair < runs && status == CLI_OK; pair++) {
        if (pair > 0 && is_out_of_time(job))
            break;
        for (size_t i = 0; i < job->program_count && status == CLI_OK; i++) {
            status = capture_pair(job, i, pair);
            cli_progress_show(&progress, ++done);
        }
    }
    cli_progress_end(&progress);
    return status;
}

static enum cli_exit warm_up(const struct job *job)
{
    enum cli_exit status = CLI_OK;

    for (size_t i = 0; i < job->program_count; i++)
        for (int side = 0; side < COMPARE_SIDES && status == CLI_OK; side++)
            status = diff_capture_warm_up(&job->capture, (enum compare_side)side,
                                          job->programs[i].commands[side]);
    return status;
}

/* Look at the runs whenever there are half as many again, until a look decides.  */
static enum cli_exit capture_series(struct job *job)
{
    struct diff_series series = { .most = job->runs };
    const struct cli_texts *news = &inputs_of(job, 0)[COMPARE_NEW];
    enum cli_exit status = CLI_OK;

    while (status == CLI_OK && !series.decided && !series.last) {
        size_t next = compare_next_look(news->count, job->runs);

        status = capture_up_to(job, next);
        series.last = news->count < next || news->count == job->runs || is_out_of_time(job);
        series.stop = !series.last              ? COMPARE_STOP_DECIDED
                      : news->count < job->runs ? COMPARE_STOP_TIME
                                                : COMPARE_STOP_MOST;
        if (status == CLI_OK)
            status = diff_main(&job->settings, &series);
    }
    return status;
}

static enum cli_exit capture_all(struct job *job)
{
    enum cli_exit status = warm_up(job);

    if (status == CLI_OK && job->automatic)
        return capture_series(job);
    if (status == CLI_OK)
        status = capture_up_to(job, job->runs);
    return status == CLI_OK ? diff_main(&job->settings, NULL) : status;
}

/* ---- Around it ---- */

/* With a path below the folder of captures: mkdir() or rmdir().  */
static bool at_folder(const struct job *job, enum compare_side side, const char *name, bool make)
{
    char *path;
    bool ok;

    if (asprintf(&path, "%s/%s%s%s", job->dir, diff_side_names[side], name ? "/" : "",
                 name ? name : "") < 0)
        cli_out_of_memory();
    ok = make ? mkdir(path, 0777) == 0 || errno == EEXIST : rmdir(path) == 0;
    free(path);
    return ok;
}

static bool make_subfolders(const struct job *job)
{
    bool ok = true;

    for (int side = 0; side < COMPARE_SIDES && job->list && ok; side++) {
        ok = at_folder(job, (enum compare_side)side, NULL, true);
        for (size_t i = 0; i < job->program_count && ok; i++)
            ok = at_folder(job, (enum compare_side)side, job->programs[i].name, true);
    }
    return ok;
}

static void remove_folders(const struct job *job)
{
    for (int side = 0; side < COMPARE_SIDES && job->list; side++) {
        for (size_t i = 0; i < job->program_count; i++)
            (void)at_folder(job, (enum compare_side)side, job->programs[i].name, false);
        (void)at_folder(job, (enum compare_side)side, NULL, false);
    }
    (void)rmdir(job->dir);
}

static enum cli_exit make_folder(struct job *job)
{
    const char *tmp = getenv("TMPDIR");
    bool ok;

    if (job->keep) {
        job->dir = cli_join(job->keep, "");
        ok = mkdir(job->dir, 0777) == 0 || errno == EEXIST;
    } else {
        job->dir = cli_join(tmp && *tmp ? tmp : "/tmp", "/fxtdiff.XXXXXX");
        ok = mkdtemp(job->dir) != NULL;
        job->made = ok;
    }
    if (ok && make_subfolders(job))
        return CLI_OK;
    cli_error("%s: %s", job->dir, strerror(errno));
    return CLI_ENVIRONMENT;
}

/* A note for the report on what was measured, and how; nothing if as always.  */
static void describe_conditions(struct job *job)
{
    const struct diff_capture *capture = &job->capture;
    static const char *const of_layout[] = { [DIFF_LAYOUT_DEFAULT] = "",
                                             [DIFF_LAYOUT_FIXED] = ", the same address layout in "
                                                                   "each run",
                                             [DIFF_LAYOUT_RANDOM] = ", a random address layout in "
                                                                    "each run" };

    if (!capture->event && !capture->cpu && capture->layout == DIFF_LAYOUT_DEFAULT)
        return;
    if (asprintf(&job->conditions, "the metric is %s%s%s%s",
                 capture->event ? capture->event : "CPU time", capture->cpu ? ", on CPU " : "",
                 capture->cpu ? capture->cpu : "", of_layout[capture->layout]) < 0)
        cli_out_of_memory();
    job->settings.conditions = job->conditions;
}

static void release(struct job *job)
{
    free(job->conditions);
    for (size_t i = 0; i < job->capture_count; i++) {
        if (job->made)
            (void)unlink(job->captures[i]);
        free(job->captures[i]);
    }
    if (job->made)
        remove_folders(job);
    for (int side = 0; side < COMPARE_SIDES; side++)
        for (size_t i = 0; i < job->settings.inputs[side].count; i++)
            free((char *)job->settings.inputs[side].items[i]);
    diff_programs_free(job->programs, job->program_count);
    free(job->captures);
    free(job->dir);
    diff_capture_close(&job->capture);
    diff_settings_release(&job->settings);
}

/* "6", "auto", "auto:20".  */
static void take_runs(struct job *job, const char *value)
{
    job->automatic = strncmp(value, "auto", 4) == 0 && (value[4] == ':' || value[4] == '\0');
    if (!job->automatic)
        job->runs = (unsigned)cli_number("--runs", value, 1, MAX_RUNS);
    else if (value[4] == ':')
        job->runs = (unsigned)cli_number("--runs auto", value + 5, COMPARE_MIN_RUNS, MAX_RUNS);
    else
        job->runs = AUTO_RUNS;
}

static void take(struct job *job, int key, const struct cli_parser *parser)
{
    const char *value = parser->value;

    switch (key) {
    case KEY_RUNS:
        take_runs(job, value);
        break;
    case KEY_TIME_LIMIT:
        job->time_limit_ns = cli_duration("--time-limit", value);
        break;
    case KEY_BENCHMARKS:
        job->list = value;
        job->settings.suite = true;
        break;
    case KEY_BASE:
        job->commands[COMPARE_BASE] = value;
        break;
    case KEY_NEW:
        job->commands[COMPARE_NEW] = value;
        break;
    case KEY_FREQUENCY:
        (void)cli_number("-F", value, 1, 100000);
        job->capture.frequency = value;
        break;
    case KEY_EVENT:
        job->capture.event = parser->choice ? value : NULL;
        break;
    case KEY_PERIOD:
        (void)cli_number("--period", value, 1, UINT64_C(3600000000000));
        job->capture.period = value;
        break;
    case KEY_CPU:
        (void)cli_number("--cpu", value, 0, CPU_SETSIZE - 1);
        job->capture.cpu = value;
        break;
    case KEY_LAYOUT:
        job->capture.layout = (enum diff_layout)parser->choice;
        break;
    case KEY_PREPARE:
        job->capture.prepare = value;
        break;
    case KEY_WARM_UP:
        job->capture.warm_up = (unsigned)cli_number("--warm-up", value, 0, MAX_RUNS);
        break;
    case KEY_KEEP:
        job->keep = value;
        break;
    default:
        (void)diff_option(&job->settings, key, parser);
        break;
    }
}

static void parse(struct job *job, char **argv)
{
    struct cli_parser parser;
    int key;

    cli_start(&parser, &diff_run_command, argv);
    while ((key = cli_next(&parser)) != CLI_END) {
        if (key == CLI_OPERAND)
            cli_usage_error("unexpected operand '%s'; quote commands: --base 'CMD'", parser.value);
        take(job, key, &parser);
    }
    for (int side = 0; side < COMPARE_SIDES; side++)
        if (!job->commands[side])
            cli_usage_error("no --%s CMD", diff_side_names[side]);
    if (job->capture.frequency && job->capture.period)
        cli_usage_error("-F and --period set the same rate; give only one of them");
    if (job->capture.frequency && job->capture.event)
        cli_usage_error("-F counts samples per second; use --period N with --event %s",
                        job->capture.event);
    if (job->time_limit_ns && !job->automatic)
        cli_usage_error("--time-limit is for -n auto");
    diff_check_outputs(&job->settings);
}

/* The commands themselves, or those of the list.  */
static enum cli_exit find_programs(struct job *job)
{
    enum cli_exit status = diff_programs_read(job->list, job->commands, &job->programs,
                                              &job->program_count);

    if (status != CLI_OK)
        return status;
    job->captures = cli_allocate(job->program_count * job->runs * COMPARE_SIDES,
                                 sizeof *job->captures);
    if (!job->list)
        return CLI_OK;
    job->settings.benchmarks = cli_allocate(job->program_count, sizeof *job->settings.benchmarks);
    job->settings.benchmark_count = job->program_count;
    for (size_t i = 0; i < job->program_count; i++)
        job->settings.benchmarks[i].name = cli_join(job->programs[i].name, "");
    return CLI_OK;
}

static int run(char **argv)
{
    struct job job = { .runs = 5, .capture = { .warm_up = 1, .log = -1 }, .started_ns = now_ns() };
    enum cli_exit status;

    diff_settings_init(&job.settings);
    parse(&job, argv);
    describe_conditions(&job);
    status = find_programs(&job);
    if (status == CLI_OK)
        status = diff_check_policies(&job.settings);
    if (status == CLI_OK)
        status = diff_capture_open(&job.capture);
    if (status == CLI_OK)
        status = make_folder(&job);
    if (status == CLI_OK) {
        if (job.made)
            job.settings.reading.scratch = job.dir;
        status = capture_all(&job);
    }
    release(&job);
    return diff_exit_status(&job.settings, status);
}
