/* fxtcat convert: with --perfetto (convert_perfetto.c), or with --layout profiler: samples as
 * Fuchsia's CPU profiler writes them.
 *
 * docs/formats/fxt.md section 4.2: magic, initialization, and then nothing but kernel objects,
 * backtraces, modules and mappings, which is all that the host's tool takes; everything inline, no
 * providers.  Times are in nanoseconds, since one stream has one clock.
 *
 * Modules stand where they stood, each with its mappings behind it; the host's tool collects all
 * before it looks anything up.  Their ids count up over the file.  Memory: O(modules).  */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "cmd/cli/perf_input.h"
#include "cmd/cli/ptlist_input.h"
#include "cmd/fxtcat/convert_perfetto.h"
#include "cmd/fxtcat/fxtcat.h"

#define MAGIC_NUMBER 0x16547846u
#define MAX_FRAMES   255u /* the count has 8 bits */
#define MAX_MODULES  (size_t)(1 << 20)

enum { OPTION_LAYOUT = 1, OPTION_PERFETTO };

enum { LAYOUT_PROFILER, LAYOUT_CAPTURE, LAYOUT_NONE };
static const char *const layouts[] = { "profiler", "capture", NULL };

static const struct cli_option option_table[] = {
    { OPTION_LAYOUT, 0, "layout", "LAYOUT",
      "profiler: the layout of Fuchsia's CPU profiler; capture: that of sampler-capture, to which "
      "perf.data files are converted (the default for them)",
      .choices = layouts },
    { OPTION_PERFETTO, 0, "perfetto", NULL,
      "copy the trace and add its CPU samples for ui.perfetto.dev" },
    { 0 },
};

static const struct cli_option *const groups[] = { job_output_options,
                                                   cli_arch_options,
                                                   cli_symbols_options,
                                                   cli_naming_options,
                                                   cli_strict_options,
                                                   cli_bounds_options,
                                                   NULL };

static const char *const examples[] = {
    "Convert a capture for Fuchsia's own host tool",
    "fxtcat convert --layout profiler -o profile.fxt trace.fxt",
    "Keep a recording of perf as a trace that can be cut and merged",
    "fxtcat convert perf.data -o trace.fxt",
    "Show events and CPU samples on one timeline in ui.perfetto.dev",
    "fxtcat convert --perfetto -o timeline.fxt trace.fxt",
    NULL,
};

static int run(char **argv);

const struct cli_command convert_command = {
    .name = "fxtcat convert",
    .usage = "[--layout LAYOUT|--perfetto] [OPTION]... FILE",
    .summary = "Rewrite a trace for another program.  --layout writes the samples, the names of "
               "their processes and threads, and their address maps; records that the layout "
               "cannot represent are left out and counted.  A perf.data file becomes a trace as "
               "sampler-capture writes it.  --perfetto copies the trace and adds "
               "its CPU samples, symbolized, in blobs that Perfetto reads; all programs here still "
               "read the output as the same trace.",
    .options = option_table,
    .groups = groups,
    .examples = examples,
    .first = CLI_TRACE,
    .run = run,
    .brief = "rewrite a trace for another program",
};

struct convert {
    struct job job;
    struct fxt_writer *writer;
    struct base_map processes; /* koid to a number from 0 */
    struct base_map modules;   /* process number << 16 | module id to the id in the output */
    uint64_t next_module;
    bool arm64;       /* of the option or the session: how the kernel sampler's stacks look */
    uint64_t samples; /* written, as are the next two */
    uint64_t module_count, mapping_count;
    uint64_t left_out; /* records that say something, but nothing that the layout has */
    uint64_t cut;      /* stacks with more frames than the layout takes */
    uint64_t homeless; /* mappings without their module */
    uint64_t early;    /* records before time 0, which the layout has not */
};

/* Magic and a clock that counts nanoseconds.  */
static void put_start(struct convert *convert)
{
    struct fxt_record record = { .kind = FXT_RECORD_MAGIC };

    record.value.magic.number = MAGIC_NUMBER;
    job_put(&convert->job, convert->writer, &record);
    record = (struct fxt_record){ .kind = FXT_RECORD_INIT };
    record.value.init.ticks_per_second = 1000000000;
    job_put(&convert->job, convert->writer, &record);
}

/* The record with its time in nanoseconds and its thread inline.  */
static struct fxt_record restate(const struct fxt_record *record)
{
    struct fxt_record stated = *record;

    stated.thread.index = 0;
    if (record->has_time)
        stated.ticks = record->ts_ns < 0 ? 0 : (uint64_t)record->ts_ns;
    return stated;
}

/* Write a record that restate() made of the other one.  */
static void put_restated(struct convert *convert, const struct fxt_record *record,
                         const struct fxt_record *stated)
{
    convert->early += record->has_time && record->ts_ns < 0;
    job_put(&convert->job, convert->writer, stated);
}

/* ---- Samples ---- */

static void put_stack(struct convert *convert, const struct fxt_record *record,
                      struct fxt_words frames)
{
    struct fxt_record backtrace = restate(record);

    convert->cut += frames.count > MAX_FRAMES;
    if (frames.count > MAX_FRAMES)
        frames.count = MAX_FRAMES; /* the leaf stays */
    backtrace.kind = FXT_RECORD_BACKTRACE;
    backtrace.category = backtrace.name = (struct fxt_string){ .length = 0 };
    backtrace.arg_count = 0;
    memset(&backtrace.value, 0, sizeof backtrace.value);
    backtrace.value.backtrace.frames = frames;
    put_restated(convert, record, &backtrace);
    convert->samples++;
}

/* The second address of the kernel sampler's stacks on arm64 is that of the call, not behind it
 * (section 4.1).  In a backtrace all but the first are return addresses, so it gets 1 more: what is
 * looked up stays the same.  */
static void put_sampler_stack(struct convert *convert, const struct fxt_record *record,
                              struct fxt_words pcs)
{
    uint8_t frames[8 * MAX_FRAMES];
    uint64_t caller;
    size_t used = pcs.count < MAX_FRAMES ? 8 * pcs.count : sizeof frames;

    if (!convert->arm64 || pcs.count < 2 || fxt_word(pcs, 1) == 0) {
        put_stack(convert, record, pcs);
        return;
    }
    memcpy(frames, pcs.bytes, used);
    caller = fxt_word(pcs, 1) + 1;
    for (unsigned i = 0; i < 8; i++)
        frames[8 + i] = (uint8_t)(caller >> 8 * i);
    convert->cut += pcs.count > MAX_FRAMES;
    put_stack(convert, record, (struct fxt_words){ frames, used / 8 });
}

/* ---- Names ---- */

static void put_object(struct convert *convert, const struct fxt_record *record)
{
    const struct fxt_arg *process = fxt_record_arg(record, "process");
    struct fxt_record object = *record;
    struct fxt_arg owner;
    char name[1024];

    object.name = (struct fxt_string){
        .bytes = name,
        .length = (uint32_t)base_utf8_copy(name, sizeof name, record->name.bytes,
                                           record->name.length),
    };
    object.arg_count = 0;
    if (process && process->type == FXT_ARG_KOID) {
        owner = *process;
        owner.name = fxt_inline("process");
        object.args = &owner;
        object.arg_count = 1;
    }
    job_put(&convert->job, convert->writer, &object);
}

/* ---- Address maps ---- */

/* The key of a module in the input: what the process and the id say together.  False when there are
 * more processes than anybody has.  */
static bool module_key(struct convert *convert, const struct fxt_record *record, uint16_t id,
                       uint64_t *key)
{
    const uint64_t *known = base_map_find(&convert->processes, record->thread.process);
    uint64_t number = known ? *known : convert->processes.count;

    if (!known && number == MAX_MODULES)
        return false;
    if (!known)
        cli_map_set(&convert->processes, record->thread.process, number);
    *key = number << 16 | id;
    return true;
}

static void put_module(struct convert *convert, const struct fxt_record *record)
{
    struct fxt_record module = restate(record);
    uint64_t *id, key;
    char name[255];

    if (!module_key(convert, record, record->value.module.id, &key) ||
        convert->modules.count == MAX_MODULES) {
        convert->left_out++;
        return;
    }
    id = base_map_find(&convert->modules, key);
    if (!id) {
        cli_map_set(&convert->modules, key, convert->next_module);
    } else {
        *id = convert->next_module; /* from here on the id stands for another module */
    }
    /* Wraps around as the profiler's own do; the process distinguishes it then.  */
    module.value.module.id = (uint16_t)convert->next_module++;
    module.thread.thread = 0;
    module.name = (struct fxt_string){
        .bytes = name,
        .length = (uint32_t)base_utf8_copy(name, sizeof name, record->name.bytes,
                                           record->name.length),
    };
    put_restated(convert, record, &module);
    convert->module_count++;
}

static void put_mapping(struct convert *convert, const struct fxt_record *record)
{
    struct fxt_record mapping = restate(record);
    const uint64_t *id = NULL;
    uint64_t key;

    if (module_key(convert, record, record->value.mapping.module_id, &key))
        id = base_map_find(&convert->modules, key);
    if (!id) { /* an error for the host's tool */
        convert->homeless++;
        return;
    }
    mapping.value.mapping.module_id = (uint16_t)*id;
    mapping.thread.thread = 0;
    put_restated(convert, record, &mapping);
    convert->mapping_count++;
}

/* ---- All records ---- */

static void note_session(struct convert *convert, const struct fxt_record *record)
{
    const struct fxt_arg *arch = fxt_record_arg(record, "arch");

    if (is_text(&record->category, "fxt.capture") && is_text(&record->name, "session") && arch &&
        arch->type == FXT_ARG_STRING)
        convert->arm64 = is_text(&arch->value.string, "aarch64") ||
                         is_text(&arch->value.string, "arm64");
}

static void put_blob(struct convert *convert, const struct fxt_record *record)
{
    struct fxt_record blob = restate(record);
    struct fxt_words pcs;

    if (fxt_record_sampler_stack(record, &pcs)) {
        put_sampler_stack(convert, record, pcs);
    } else if (fxt_record_is_stack_sample(
                   record)) { /* memory to be unwound on the host, which takes it */
        blob.category = fxt_inline("cpu_profiler");
        blob.name = fxt_inline("stack_sample");
        blob.arg_count = 0;
        put_restated(convert, record, &blob);
        convert->samples++;
    } else {
        convert->left_out++;
    }
}

static void visit(void *context, const struct fxt_record *record)
{
    struct convert *convert = context;

    switch (record->kind) {
    case FXT_RECORD_LARGE_BLOB:
        put_blob(convert, record);
        break;
    case FXT_RECORD_BACKTRACE:
        put_stack(convert, record, record->value.backtrace.frames);
        break;
    case FXT_RECORD_KERNEL_OBJECT:
        put_object(convert, record);
        break;
    case FXT_RECORD_MODULE:
        put_module(convert, record);
        break;
    case FXT_RECORD_MAPPING:
        put_mapping(convert, record);
        break;
    case FXT_RECORD_MAGIC: /* what makes other records readable is in them now */
    case FXT_RECORD_PROVIDER_INFO:
    case FXT_RECORD_PROVIDER_SECTION:
    case FXT_RECORD_INIT:
    case FXT_RECORD_STRING:
    case FXT_RECORD_THREAD:
        break;
    case FXT_RECORD_EVENT:
        note_session(convert, record);
        convert->left_out++;
        break;
    default:
        convert->left_out++;
        break;
    }
}

static void summarize(const struct convert *convert, const char *path)
{
    cli_note("%s: %s, %s, %s; %s left out", path,
             cli_counted(convert->samples, "sample", "samples"),
             cli_counted(convert->module_count, "module", "modules"),
             cli_counted(convert->mapping_count, "mapping", "mappings"),
             cli_counted(convert->left_out, "other record", "other records"));
    if (convert->cut)
        cli_warning("more than %u frames in %s: the outermost are left out", MAX_FRAMES,
                    cli_counted(convert->cut, "stack", "stacks"));
    if (convert->homeless)
        cli_warning("left out: %s whose module is missing or comes later",
                    cli_counted(convert->homeless, "mapping", "mappings"));
    if (convert->early)
        cli_warning("%s before time 0, which the layout does not have: written as time 0",
                    cli_counted(convert->early, "record was", "records were"));
}

static void copy_record(void *context, const struct fxt_record *record)
{
    struct convert *convert = context;

    job_put_as_read(&convert->job, convert->writer, record);
}

/* False after a message.  */
static bool open_writer(struct convert *convert)
{
    struct fxt_error error;

    if (fxt_writer_open(cli_output_write, &convert->job.output, &convert->writer, &error) == FXT_OK)
        return true;
    cli_error("%s", error.message);
    job_fail(&convert->job, CLI_ENVIRONMENT);
    return false;
}

/* Records as they are: a perf.data file has become a trace by reading it.  */
static void write_capture(struct convert *convert)
{
    if (!open_writer(convert))
        return;
    (void)job_read(&convert->job, convert->job.traces.items, NULL, copy_record, convert);
    fxt_writer_close(convert->writer);
}

/* Convert to the profiler's layout.  */
static void write_layout(struct convert *convert)
{
    if (!open_writer(convert))
        return;
    put_start(convert);
    (void)job_read(&convert->job, convert->job.traces.items, NULL, visit, convert);
    if (convert->job.records > 0)
        summarize(convert, convert->job.traces.items->label);
    fxt_writer_close(convert->writer);
}

struct settings {
    size_t layout;
    bool perfetto;
    bool names; /* an option was given that says where names come from */
    struct cli_symbols symbols;
};

static void parse(struct convert *convert, struct settings *settings, char **argv)
{
    struct cli_parser parser;
    int key;

    cli_start(&parser, &convert_command, argv);
    while ((key = cli_next(&parser)) != CLI_END) {
        if (key == OPTION_LAYOUT)
            settings->layout = parser.choice;
        else if (key == OPTION_PERFETTO)
            settings->perfetto = true;
        else if (cli_symbols_take(&settings->symbols, key, &parser))
            settings->names = true;
        else
            job_take(&convert->job, key, &parser);
    }
    job_find(&convert->job, 1);
    convert->arm64 = convert->job.reading.arm64;
    if (settings->layout == LAYOUT_NONE && !settings->perfetto &&
        (cli_perf_begins(convert->job.inputs.items[0]) ||
         cli_ptlist_is(convert->job.inputs.items[0])))
        settings->layout = LAYOUT_CAPTURE;
    if (settings->layout == LAYOUT_NONE && !settings->perfetto)
        cli_usage_error("no output format given; use --layout profiler or --perfetto");
    if (settings->layout != LAYOUT_NONE && settings->perfetto)
        cli_usage_error("--layout and --perfetto cannot be combined");
    if (settings->layout == LAYOUT_PROFILER && settings->names)
        cli_usage_error("--layout profiler has no names; options for symbols need --perfetto");
}

static int run(char **argv)
{
    struct convert convert = { .job = { .status = CLI_OK } };
    struct settings settings = { .layout = LAYOUT_NONE };

    parse(&convert, &settings, argv);
    if (cli_symbols_check(&settings.symbols) != CLI_OK)
        return CLI_ENVIRONMENT;
    convert.job.symbols = &settings.symbols;
    if (job_open(&convert.job)) {
        if (settings.perfetto)
            perfetto_convert(&convert.job, &settings.symbols);
        else if (settings.layout == LAYOUT_CAPTURE)
            write_capture(&convert);
        else
            write_layout(&convert);
    }
    base_map_release(&convert.processes);
    base_map_release(&convert.modules);
    cli_symbols_release(&settings.symbols);
    return (int)job_close(&convert.job);
}
