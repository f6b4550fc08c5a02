/* fxtcat cut: some of the records, and what they need to mean what they meant.  */
#include <string.h>

#include <fxt/fidl_sampler.h>
#include "cmd/cli/select.h"
#include "cmd/fxtcat/emit_trace.h"

static const struct cli_option *const groups[] = { cli_select_options, job_output_options,
                                                   cli_strict_options, cli_bounds_options, NULL };

static const char *const examples[] = {
    "Keep the second second of a trace",
    "fxtcat cut --time +1s,+2s -o second.fxt trace.fxt",
    "Profile process 1234 alone",
    "fxtcat cut --pid 1234 trace.fxt | fxt2pprof --format top -",
    NULL,
};

static int run(char **argv);

const struct cli_command cut_command = {
    .name = "fxtcat cut",
    .usage = "[OPTION]... FILE",
    .summary = "Copy the records that match all options, with the strings, threads, clocks, "
               "providers, names and address maps that they need.",
    .groups = groups,
    .examples = examples,
    .first = CLI_TRACE,
    .run = run,
    .brief = "select records by time, process or type",
};

struct cut {
    struct job job;
    struct emit emit;
    struct cli_select select;
};

static void parse(struct cut *cut, char **argv)
{
    struct cli_parser parser;
    int key;

    cli_start(&parser, &cut_command, argv);
    while ((key = cli_next(&parser)) != CLI_END)
        if (!cli_select_take(&cut->select, key, &parser))
            job_take(&cut->job, key, &parser);
    job_find(&cut->job, 1);
    if (!cli_select_any(&cut->select))
        cli_usage_error("no records selected; use --time, --pid, --tid, --type or --provider");
}

/* Whether a message of the heap sampler tells of modules, not of memory
 * (docs/formats/memory-sampler.md section 2).  */
static bool is_process_info(const struct fxt_record *record)
{
    const struct fxt_bytes *message = &record->value.large_blob.payload;

    return is_text(&record->category, "memory") &&
           is_text(&record->name, "fuchsia.memory.sampler") && message->length >= 16 &&
           fxt_load_u64(message->bytes + 8) == FIDL_ORDINAL_SET_PROCESS_INFO;
}

/* The process is wanted, or it is that of the kernel, whose map holds for all.  */
static bool is_map_wanted(struct cli_select *select, const struct fxt_record *record)
{
    struct cli_select any_thread = *select;

    any_thread.tids.count = 0; /* maps have no thread */
    return record->thread.process == 0 || cli_select_has_task(&any_thread, record);
}

/* Names hold at any time, and for records of any type.  With a thread alone chosen its process is
 * not known: all processes keep theirs.  */
static bool is_name_wanted(const struct cli_select *select, const struct fxt_record *record)
{
    struct cli_select own = *select;

    if (record->value.object.type == FXT_OBJECT_PROCESS)
        own.tids.count = 0;
    return cli_select_has_task(&own, record);
}

/* Address maps are written once, whenever: what is sampled later needs them.  */
static bool are_maps_wanted(const struct cli_select *select)
{
    return cli_select_has_kind(select, FXT_RECORD_MODULE) ||
           cli_select_has_kind(select, FXT_RECORD_MAPPING) ||
           cli_select_has_kind(select, FXT_RECORD_BACKTRACE) ||
           cli_select_has_kind(select, FXT_RECORD_LARGE_BLOB);
}

static bool is_wanted(struct cli_select *select, const struct fxt_record *record)
{
    if (!cli_select_has_provider(select, record))
        return false;
    switch (record->kind) {
    case FXT_RECORD_PROVIDER_EVENT: /* the trace has holes, whatever is cut out of it */
        return true;
    case FXT_RECORD_KERNEL_OBJECT:
        if (record->value.object.type == FXT_OBJECT_PROCESS ||
            record->value.object.type == FXT_OBJECT_THREAD)
            return is_name_wanted(select, record);
        break;
    case FXT_RECORD_MODULE:
    case FXT_RECORD_MAPPING:
        return are_maps_wanted(select) && is_map_wanted(select, record);
    case FXT_RECORD_EVENT: /* what a capture says of itself: the period of its samples, losses */
        if (is_text(&record->category, "fxt.capture"))
            return is_text(&record->name, "session") || cli_select_has_time(select, record);
        break;
    case FXT_RECORD_LARGE_BLOB:
        if (is_process_info(record))
            return are_maps_wanted(select) && is_map_wanted(select, record);
        break;
    default:
        break;
    }
    return cli_select_has_kind(select, record->kind) && cli_select_has_task(select, record) &&
           (!record->has_time || cli_select_has_time(select, record));
}

static void visit(void *context, const struct fxt_record *record)
{
    struct cut *cut = context;

    cli_select_learn(&cut->select, record);
    emit_record(&cut->emit, record, is_wanted(&cut->select, record));
}

static int run(char **argv)
{
    struct cut cut = { .job = { .status = CLI_OK } };

    parse(&cut, argv);
    if (job_open(&cut.job)) {
        const struct cli_trace_files *files = cut.job.traces.items;

        cut.job.status = emit_open(&cut.emit, &cut.job, EMIT_AS_NEEDED);
        if (cut.job.status == CLI_OK) {
            emit_start(&cut.emit, files->label);
            (void)job_read(&cut.job, files, NULL, visit, &cut);
            emit_close(&cut.emit);
        }
    }
    cli_select_release(&cut.select);
    return (int)job_close(&cut.job);
}
