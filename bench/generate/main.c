/* fxtgen - make traces of any size whose exact meaning is known.  */
#include <stdio.h>
#include <string.h>

#include "bench/generate/generate.h"

static const char *const kind_names[] = { "sampler", "profiler", "region", "spans",
                                          "events",  "sched",    "heap",   NULL };

struct wanted wanted = { .rate = 1000000000,
                         .seed = 1,
                         .count = 10000,
                         .cpus = 4,
                         .processes = 3,
                         .threads = 4,
                         .stacks = 1000,
                         .depth = 20 };

enum key {
    KEY_KIND = 1,
    KEY_MIX,
    KEY_SEED,
    KEY_SIZE,
    KEY_COUNT,
    KEY_CPUS,
    KEY_PROCESSES,
    KEY_THREADS,
    KEY_STACKS,
    KEY_DEPTH,
    KEY_ARGS,
    KEY_RATE,
    KEY_TRUTH,
};

static const struct cli_option options[] = {
    { KEY_KIND, 0, "kind", "KIND",
      "sampler: archive of sampler-capture (default); "
      "profiler: file of Fuchsia's CPU profiler; "
      "region: raw per-CPU regions of the Zircon kernel sampler; "
      "spans: nested slices, out of order; "
      "events: records of 72 bytes with strings, threads and one argument; "
      "sched: context switches and wakeups; "
      "heap: allocations and their release, as messages of fuchsia.memory.sampler" },
    { KEY_MIX, 0, "mix", "LIST",
      "instead of a kind: parts of the records that are events, sched, stacks, heap and "
      "counters, as in events=70,sched=20,stacks=5,heap=5,counters=10" },
    { KEY_SEED, 0, "seed", "N", "same seed, same bytes (default 1)" },
    { KEY_SIZE, 0, "size", "BYTES", "stop when the trace has this size; suffixes k, M, G" },
    { KEY_COUNT, 0, "count", "N", "stop after N samples, slices, events, ... (default 10000)" },
    { KEY_CPUS, 0, "cpus", "N", "CPUs that samples come from (default 4)" },
    { KEY_PROCESSES, 0, "processes", "N", "processes (default 3)" },
    { KEY_THREADS, 0, "threads", "N", "threads of each process (default 4)" },
    { KEY_STACKS, 0, "stacks", "N", "distinct stacks, or names of events (default 1000)" },
    { KEY_DEPTH, 0, "depth", "N", "frames of the deepest stack (default 20)" },
    { KEY_ARGS, 0, "args", "N",
      "events: instead of those of 72 bytes, ones with all strings and threads by index and "
      "N numbers as arguments, of 16 and 8 bytes by turns: 24 bytes for 0, 48 for 2" },
    { KEY_RATE, 0, "rate", "N",
      "ticks a second (default 1000000000); times in the truth are ticks" },
    { KEY_TRUTH, 0, "truth", "FILE",
      "write what a reader must find: a line 'process;frame;...;leaf N' a stack, sorted by "
      "bytes; N counts samples or events, or is a slice's own nanoseconds; sched: the "
      "nanoseconds that 'process;thread;state' lasted; heap: objects and bytes allocated "
      "there, of these still in use, and released there; counters: the values of "
      "'process;counter'; mix: the line begins with its part" },
    { 0 },
};

static const char *const examples[] = {
    "a capture of 100 MB, and what is in it",
    "fxtgen --size 100M --truth expected.folded > big.fxt",
    "deep stacks as Fuchsia's profiler records them",
    "fxtgen --kind profiler --depth 200 --count 5000 > deep.fxt",
    "a million events to time a reader with",
    "fxtgen --kind events --count 1000000 > events.fxt",
    "ten gigabytes of everything, into a reader",
    "fxtgen --mix events=70,sched=20,stacks=5,heap=5 --size 10G | fxtdump --stats -",
    NULL,
};

static const struct cli_command command = {
    .name = "fxtgen",
    .usage = "[OPTION]...",
    .summary = "Write a generated FXT trace to standard output.",
    .options = options,
    .examples = examples,
};

/* One part of "events=70,sched=20,...", of length bytes.  */
static void take_part(const char *part, size_t length)
{
    static const char *const names[SUBJECTS + 1] = { "events", "sched",    "stacks",
                                                     "heap",   "counters", NULL };
    size_t name_length = strcspn(part, "=,");
    char text[32];
    size_t subject;

    if (part[name_length] != '=' || length >= sizeof text)
        cli_usage_error("--mix: '%.*s' is not like events=70", (int)length, part);
    (void)snprintf(text, sizeof text, "%.*s", (int)name_length, part);
    subject = cli_choice("--mix", text, names);
    (void)snprintf(text, sizeof text, "%.*s", (int)(length - name_length - 1),
                   part + name_length + 1);
    wanted.mix[subject] = (uint32_t)cli_number("--mix", text, 0, 1000000);
}

static void take_mix(const char *list)
{
    uint32_t total = 0;

    wanted.kind = MIX;
    while (*list) {
        size_t length = strcspn(list, ",");
        take_part(list, length);
        list += length + (list[length] == ',');
    }
    for (unsigned i = 0; i < SUBJECTS; i++)
        total += wanted.mix[i];
    if (total == 0)
        cli_usage_error("--mix: all parts are 0");
}

static void take_option(int key, const char *value)
{
    switch (key) {
    case KEY_KIND:
        wanted.kind = (enum kind)cli_choice("--kind", value, kind_names);
        break;
    case KEY_MIX:
        take_mix(value);
        break;
    case KEY_SEED:
        wanted.seed = cli_number("--seed", value, 0, UINT64_MAX);
        break;
    case KEY_SIZE:
        wanted.size = cli_size("--size", value, 1, UINT64_C(1) << 50);
        break;
    case KEY_COUNT:
        wanted.count = cli_number("--count", value, 0, UINT64_C(1) << 50);
        wanted.size = 0;
        break;
    case KEY_CPUS:
        wanted.cpus = (uint32_t)cli_number("--cpus", value, 1, 4096);
        break;
    case KEY_PROCESSES:
        wanted.processes = (uint32_t)cli_number("--processes", value, 1, 10000);
        break;
    case KEY_THREADS:
        wanted.threads = (uint32_t)cli_number("--threads", value, 1, 10000);
        break;
    case KEY_STACKS:
        wanted.stacks = (uint32_t)cli_number("--stacks", value, 1, 1 << 23);
        break;
    case KEY_DEPTH:
        wanted.depth = (uint32_t)cli_number("--depth", value, 1, MAX_FRAMES);
        break;
    case KEY_ARGS:
        wanted.plain = true;
        wanted.arg_count = (uint32_t)cli_number("--args", value, 0, FXT_MAX_ARGS);
        break;
    case KEY_RATE:
        wanted.rate = cli_number("--rate", value, 1, UINT64_MAX);
        break;
    case KEY_TRUTH:
        wanted.truth = value;
        break;
    default:
        cli_usage_error("'%s' is not an option", value);
    }
}

static const struct {
    void (*make)(void);
    void (*truth)(void);
} kinds[] = {
    [SAMPLER] = { make_sampler, truth_samples }, [PROFILER] = { make_profiler, truth_samples },
    [REGION] = { make_region, truth_samples },   [SPANS] = { make_spans, truth_spans },
    [EVENTS] = { make_events, truth_events },    [SCHED] = { make_sched, truth_sched },
    [HEAP] = { make_heap, truth_heap },          [MIX] = { make_mix, truth_mix },
};

int main(int argc, char **argv)
{
    struct cli_parser parser;
    enum cli_exit status;
    int key;

    (void)argc;
    cli_start(&parser, &command, argv + 1);
    while ((key = cli_next(&parser)) != CLI_END)
        take_option(key, parser.value);
    if (wanted.kind == REGION && wanted.depth > ZIRCON_FRAMES)
        cli_usage_error("--depth: the kernel sampler records at most %u frames", ZIRCON_FRAMES);

    status = cli_output_open(&output, NULL);
    if (status != CLI_OK)
        return (int)status;
    open_writer();
    seed_chance(wanted.seed);
    make_nodes();
    kinds[wanted.kind].make();
    status = cli_output_commit(&output);
    if (status == CLI_OK && wanted.truth) {
        kinds[wanted.kind].truth();
        status = write_truth();
    }
    close_writer();
    free_nodes();
    return (int)status;
}
