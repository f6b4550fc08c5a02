#include "sampler-capture/cpu/cpu_options.h"

#include "cmd/cli/cli.h"
#include "sampler-capture/capture_output.h"
#include "sampler-capture/cpu/cpu_command.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum key {
    KEY_OUTPUT = 1,
    KEY_PID,
    KEY_TREE,
    KEY_TID,
    KEY_ALL,
    KEY_COMM,
    KEY_DURATION,
    KEY_REPEAT,
    KEY_BACKGROUND,
    KEY_FREQUENCY,
    KEY_PERIOD,
    KEY_EVENT,
    KEY_CPU,
    KEY_KERNEL,
    KEY_UNWIND,
    KEY_STACK_SIZE,
    KEY_MODE,
    KEY_BUFFER_SIZE,
    KEY_LAYOUT,
    KEY_COMPRESS,
    KEY_REGIONS,
    KEY_KEEP_MODULES,
    KEY_PRINT_STATS,
    KEY_STATS_JSON,
    KEY_QUIET,
};

/* In the order of enum drain_mode; profiler is the second layout.  */
static const char *const modes[] = { "streaming", "oneshot", "circular", NULL };
static const char *const unwinds[] = { "auto", "fp", "dwarf", NULL };
static const enum session_strategy strategies[] = { SESSION_STRATEGY_AUTO,
                                                    SESSION_STRATEGY_FRAME_POINTER,
                                                    SESSION_STRATEGY_DWARF };
static const char *const layouts[] = { "sampler", "profiler", NULL };

static const struct cli_option option_table[] = {
    { KEY_OUTPUT, 'o', "output", "OUT.fxt", "write the trace to OUT.fxt; - is standard output",
      CLI_FILE },
    { KEY_PID, 'p', "pid", "PID",
      "a process with all its threads, including new ones; may be repeated", CLI_PROCESS },
    { KEY_TREE, 0, "tree", "PID",
      "a process with its current and future descendants; may be repeated", CLI_PROCESS },
    { KEY_TID, 't', "tid", "TID", "one thread; may be repeated" },
    { KEY_ALL, 'a', "all", NULL, "all processes" },
    { KEY_COMM, 0, "comm", "NAME",
      "processes of this name, as ps prints it; waits until one exists" },
    { KEY_DURATION, 'd', "duration", "TIME", "end after this time: 10 (seconds), 1.5s, 300ms, 2m" },
    { KEY_REPEAT, 0, "repeat", "N",
      "capture COMMAND N times, into OUT.1.fxt, OUT.2.fxt, ..., for fxtdiff" },
    { KEY_BACKGROUND, 0, "background", NULL,
      "run in the background; see sampler-capture status, stop, abort" },
    { KEY_FREQUENCY, 'F', "frequency", "HZ",
      "samples per second of CPU time, 1 to 100000 (default 1000)" },
    { KEY_PERIOD, 0, "period", "N",
      "sampling interval in nanoseconds of CPU time, at least 10000; with --event, in events" },
    { KEY_EVENT, 0, "event", "EVENT",
      "sample after every N events, not by CPU time (cpu, the default): instructions, cycles or "
      "branches, which the processor must count, page-faults, or context-switches (with --kernel)",
      .choices = counter_names },
    { KEY_CPU, 0, "cpu", "N", "let COMMAND run on CPU N only" },
    { KEY_KERNEL, 0, "kernel", NULL, "include kernel functions and time spent in the kernel" },
    { KEY_UNWIND, 0, "unwind", "HOW",
      "unwind by unwind tables from copies of the stack, which are as large as needed (auto, the "
      "default) or all large (dwarf); or by frame pointers only (fp)",
      .choices = unwinds },
    { KEY_STACK_SIZE, 0, "stack-size", "SIZE",
      "copy at most SIZE of each stack, 1k to 60k (default 32k)" },
    { KEY_MODE, 0, "mode", "MODE",
      "streaming (the default): write continuously; oneshot: stop sampling on a CPU when its "
      "buffer is full; circular: keep the latest samples, and write them at the end and, as "
      "OUT.N.fxt, on SIGUSR2",
      .choices = modes },
    { KEY_BUFFER_SIZE, 0, "buffer-size", "SIZE",
      "buffer size per CPU, such as 512k, at most 1G (default 4M)" },
    { KEY_LAYOUT, 0, "layout", "LAYOUT",
      "sampler (the default): one archive with a region per CPU; profiler: the layout of Fuchsia's "
      "profiler",
      .choices = layouts },
    { KEY_COMPRESS, 0, "compress", NULL, "compress with zstd, one frame per second" },
    { KEY_REGIONS, 0, "regions", "DIR",
      "write raw regions per CPU and symbolizer markup per process into DIR instead of a trace",
      CLI_FOLDER },
    KEEP_OPTION(KEY_KEEP_MODULES),
    { KEY_PRINT_STATS, 0, "print-stats", NULL, "print what was collected and lost to stderr" },
    { KEY_STATS_JSON, 0, "stats-json", "FILE",
      "write the same as one JSON object; - is standard output", CLI_FILE },
    { KEY_QUIET, 'q', "quiet", NULL, "print no summary, only losses" },
    { 0, 0, NULL, NULL, NULL },
};

static const char *const examples[] = {
    "Find out where make spends its time, including its compilers",
    "sampler-capture cpu -o make.fxt -- make -j2",
    "Sample a short program at ten times the default frequency",
    "sampler-capture cpu -F 10000 -o out.fxt -- ./program input",
    "Sample a running process for ten seconds",
    "sampler-capture cpu -p 1234 -d 10 -o out.fxt",
    "Keep the latest samples of a server; kill -USR2 writes them to a file",
    "sampler-capture cpu --comm nginx --mode circular -o flight.fxt",
    "Capture five runs, for a comparison with another build",
    "sampler-capture cpu --repeat 5 -o base.fxt -- ./program input",
    "Convert the trace to a profile",
    "fxt2pprof out.fxt -o profile.pb.gz",
    NULL,
};

const struct cli_command cpu_command = {
    .name = "sampler-capture cpu",
    .usage = "[OPTION]... -o OUT.fxt TARGET...\n"
             "       sampler-capture cpu [OPTION]... -o OUT.fxt -- COMMAND [ARGUMENT]...",
    .summary =
        "Sample the user stacks of threads while they use a CPU, and write a trace.  Sample "
        "COMMAND with all its threads and child processes, or running processes: TARGET is -p PID, "
        "--tree PID, -t TID, -a or --comm NAME.\n\nWith COMMAND, the exit status is that of "
        "COMMAND, 128 + N if signal N ended it, 127 if COMMAND is not found, 126 if it cannot be "
        "executed, and 125 if the capture could not start.  The status is 4 if the kernel does not "
        "permit sampling or the trace could not be completed, and 2 if the command line is wrong.",
    .options = option_table,
    .examples = examples,
    .stop_at_operand = true,
    .first = CLI_COMMAND,
    .rest = CLI_COMMAND,
    .run = cpu_main,
    .brief = "sample the stacks of threads by CPU time",
};

uint64_t period_from_hz(uint64_t hz)
{
    return (1000000000 + hz / 2) / hz;
}

static void add_task(struct cpu_options *options, enum session_task_kind kind, pid_t id)
{
    options->tasks = cli_grow(options->tasks, &options->task_capacity, options->task_count + 1,
                              sizeof *options->tasks);
    options->tasks[options->task_count++] = (struct session_task){ .kind = kind, .id = id };
}

static bool has_targets(const struct cpu_options *options)
{
    return options->task_count > 0 || options->comm;
}

static void check_targets(const struct cpu_options *options)
{
    if (options->command[0] && has_targets(options))
        cli_usage_error("COMMAND cannot be combined with -p, --tree, -t, -a or --comm");
    if (!options->command[0] && !has_targets(options))
        cli_usage_error("nothing to sample; use -- COMMAND, -p, --tree, -t, -a or --comm");
    if (options->comm && options->task_count > 0)
        cli_usage_error("--comm cannot be combined with other targets");
    if (options->pinned && !options->command[0])
        cli_usage_error("--cpu is for COMMAND; processes that run already stay where they are");
    if (options->background && options->command[0])
        cli_usage_error("a background session samples running processes; use -p, --tree, -t or -a");
    if (options->background && options->duration_ns)
        cli_usage_error("a background session ends with 'sampler-capture stop'; omit -d");
}

static void check_output(const struct cpu_options *options)
{
    bool to_stdout = options->output && strcmp(options->output, "-") == 0;

    if (!options->regions)
        output_check_operand(options->output);
    if (options->output && options->regions)
        cli_usage_error("-o and --regions cannot be combined");
    if (options->regions && (options->compress || options->profiler))
        cli_usage_error("raw regions have no --layout and are not compressed");
    if (to_stdout && options->background)
        cli_usage_error("a background session has no standard output; use -o OUT.fxt");
    if (options->mode == DRAIN_CIRCULAR && (to_stdout || options->regions))
        cli_usage_error("--mode circular writes files; use -o OUT.fxt");
    if (options->stats_json && strcmp(options->stats_json, "-") == 0 &&
        (to_stdout || options->background))
        cli_usage_error(options->background
                            ? "a background session has no standard output; use --stats-json FILE"
                            : "standard output is used for the trace; use --stats-json FILE");
}

static void check_unwind(const struct cpu_options *options)
{
    if (options->stack_size && options->strategy == SESSION_STRATEGY_FRAME_POINTER)
        cli_usage_error("--stack-size is for --unwind auto and dwarf");
    if (options->strategy == SESSION_STRATEGY_DWARF && !unwinding_is_possible())
        cli_usage_error("--unwind dwarf is not supported on this machine");
}

static void check_repeat(const struct cpu_options *options)
{
    if (!options->repeat)
        return;
    if (!options->output || strcmp(options->output, "-") == 0)
        cli_usage_error("--repeat writes files; use -o OUT.fxt");
    if (!options->command[0] && !options->duration_ns)
        cli_usage_error("--repeat needs an end for each capture; use -- COMMAND or -d");
    if (options->background || options->comm || options->mode == DRAIN_CIRCULAR)
        cli_usage_error("--repeat cannot be combined with --background, --comm or --mode circular");
    if (options->stats_json)
        cli_usage_error("--stats-json cannot be combined with --repeat");
}

static void set_rate(const char **text, const char *value, const struct cpu_options *options)
{
    if (options->frequency || options->period)
        cli_usage_error("-F and --period set the same rate; give only one of them, once");
    *text = value;
}

/* What --period means depends on --event.  */
static void set_period(struct cpu_options *options)
{
    const struct counter *counter = options->counter;

    options->period_ns = DEFAULT_PERIOD_NS;
    if (!counter && options->frequency)
        options->period_ns = period_from_hz(cli_number("-F", options->frequency, 1, MAX_HZ));
    if (!counter && options->period)
        options->period_ns = cli_number("--period", options->period, SAMPLER_MIN_PERIOD_NS,
                                        MAX_PERIOD_NS);
    if (!counter)
        return;
    options->counter_period = counter->period;
    if (options->period)
        options->counter_period = cli_number("--period", options->period, counter->min_period,
                                             MAX_PERIOD_NS);
    if (options->frequency)
        cli_usage_error("-F counts samples per second; use --period N with --event %s",
                        counter->name);
    if (counter->kernel_only && !options->kernel)
        cli_usage_error("--event %s needs --kernel: the kernel is where it happens", counter->name);
    if (options->profiler || options->regions)
        cli_usage_error("--layout profiler and --regions have no place for the name of an event; "
                        "omit --event");
}

static pid_t id_from(const char *option, const char *text)
{
    return (pid_t)cli_number(option, text, 1, INT32_MAX);
}

/* How long, what is written, and what is printed.  */
static void take_output(struct cpu_options *options, enum key key, const struct cli_parser *parser)
{
    const char *value = parser->value;

    switch (key) {
    case KEY_OUTPUT:
        options->output = value;
        break;
    case KEY_DURATION:
        options->duration_ns = cli_duration("-d", value);
        break;
    case KEY_REPEAT:
        options->repeat = (unsigned)cli_number("--repeat", value, 1, MAX_REPEAT);
        break;
    case KEY_BACKGROUND:
        options->background = true;
        break;
    case KEY_LAYOUT:
        options->profiler = parser->choice == 1;
        break;
    case KEY_COMPRESS:
        options->compress = true;
        break;
    case KEY_QUIET:
        options->quiet = true;
        break;
    case KEY_REGIONS:
        options->regions = value;
        break;
    case KEY_KEEP_MODULES:
        options->kept = value;
        break;
    case KEY_PRINT_STATS:
        options->print_stats = true;
        break;
    case KEY_STATS_JSON:
        options->stats_json = value;
        break;
    default:
        break;
    }
}

/* When a sample is taken, and what is in it.  */
static void take_sampling(struct cpu_options *options, enum key key,
                          const struct cli_parser *parser)
{
    const char *value = parser->value;

    switch (key) {
    case KEY_FREQUENCY:
        set_rate(&options->frequency, value, options);
        break;
    case KEY_PERIOD:
        set_rate(&options->period, value, options);
        break;
    case KEY_EVENT:
        options->counter = counter_at(parser->choice);
        break;
    case KEY_CPU:
        options->cpu = (unsigned)cli_number("--cpu", value, 0, CPU_SETSIZE - 1);
        options->pinned = true;
        break;
    case KEY_KERNEL:
        options->kernel = true;
        break;
    case KEY_UNWIND:
        options->strategy = strategies[parser->choice];
        break;
    case KEY_STACK_SIZE:
        options->stack_size = (uint32_t)cli_size("--stack-size", value, MIN_STACK, MAX_STACK) & ~7U;
        break;
    case KEY_MODE:
        options->mode = (enum drain_mode)parser->choice;
        break;
    case KEY_BUFFER_SIZE:
        options->region_size = (size_t)cli_size("--buffer-size", value, 1, SAMPLER_MAX_BUFFER_SIZE);
        break;
    default:
        take_output(options, key, parser);
        break;
    }
}

/* Which threads are sampled.  */
static void take(struct cpu_options *options, enum key key, const struct cli_parser *parser)
{
    const char *value = parser->value;

    switch (key) {
    case KEY_PID:
        add_task(options, SESSION_PROCESS, id_from("-p", value));
        break;
    case KEY_TREE:
        add_task(options, SESSION_JOB, id_from("--tree", value));
        break;
    case KEY_TID:
        add_task(options, SESSION_THREAD, id_from("-t", value));
        break;
    case KEY_ALL:
        add_task(options, SESSION_SYSTEM_WIDE, 0);
        break;
    case KEY_COMM:
        options->comm = value;
        break;
    default:
        take_sampling(options, key, parser);
        break;
    }
}

void cpu_options_parse(struct cpu_options *options, char **argv)
{
    struct cli_parser parser;
    int key;

    *options = (struct cpu_options){ .region_size = DEFAULT_REGION_SIZE,
                                     .strategy = SESSION_STRATEGY_AUTO };
    cli_start(&parser, &cpu_command, argv);
    while ((key = cli_next(&parser)) > CLI_END)
        take(options, (enum key)key, &parser);
    set_period(options);
    options->command = parser.argv;
    check_targets(options);
    check_output(options);
    check_unwind(options);
    check_repeat(options);
}
