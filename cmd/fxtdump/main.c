/* fxtdump: show every record of FXT traces, and what is wrong with them.  */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "cmd/cli/cli_bounds.h"
#include "cmd/cli/cli_trace.h"
#include "cmd/cli/perf_input.h"
#include "cmd/cli/select.h"
#include "cmd/fxtdump/dump.h"

enum {
    OPTION_JSON = 1,
    OPTION_STATS,
    OPTION_VERIFY,
    OPTION_OFFSET,
    OPTION_HEX,
    OPTION_FOLLOW,
};

static const struct cli_option option_table[] = {
    { OPTION_JSON, 'j', "json", NULL,
      "print one JSON object per line; docs/fxtdump.md lists the keys" },
    { OPTION_STATS, 's', "stats", NULL, "print counts, times and damage in place of records" },
    { OPTION_VERIFY, 0, "verify", NULL, "print only damage" },
    { OPTION_OFFSET, 0, "offset", "N", "start at the record, or the damage, at this offset" },
    { OPTION_HEX, 'x', "hex", NULL, "also print the bytes, including those outside records" },
    { OPTION_FOLLOW, 'f', "follow", NULL,
      "at the end of the file, wait for more, until Ctrl-C or until the file is renamed, deleted "
      "or truncated" },
    { 0 },
};

static const struct cli_option *const groups[] = { cli_select_options, cli_modules_options,
                                                   cli_strict_options, cli_bounds_options, NULL };

static const char *const examples[] = {
    "Read all records",
    "fxtdump trace.fxt | less",
    "Count records by type, and check for damage",
    "fxtdump --stats trace.fxt.gz",
    "Inspect the bytes after a message reports damage at offset 4096",
    "fxtdump --offset 4096 --hex trace.fxt | head",
    "Print the log messages of process 1234 in the second second",
    "fxtdump --type log --pid 1234 --time +1s,+2s trace.fxt",
    "Watch the losses of a running capture",
    "fxtdump --follow --type event capture.fxt | grep name=lost",
    "Count events by name, most frequent first",
    ("fxtdump --json trace.fxt | jq -r 'select(.type==\"event\").name' |\n"
     "    sort | uniq -c | sort -rn"),
    NULL,
};

static int run(char **argv);

static const struct cli_command command = {
    .name = "fxtdump",
    .usage = "[OPTION]... FILE...",
    .summary = "Print the records of traces in the Fuchsia trace format. FILE may be plain or "
               "compressed with gzip or zstd, or a perf.data file; - is standard input.  Damage is "
               "skipped and "
               "reported, and the exit status is 3.",
    .options = option_table,
    .groups = groups,
    .examples = examples,
    .first = CLI_TRACE,
    .rest = CLI_TRACE,
    .run = run,
};

struct settings {
    bool json;
    bool stats;
    bool verify;
    bool hex;
    bool follow;
    bool has_offset;
    uint64_t offset;
    struct cli_reading reading;
    struct cli_select select;
    struct cli_texts files;
};

/* ---- The command line ---- */

static void check_combination(const struct settings *settings)
{
    if (settings->files.count == 0)
        cli_usage_error("no trace given");
    if (settings->follow && settings->files.count > 1)
        cli_usage_error("--follow takes one trace");
    if (settings->stats && settings->verify)
        cli_usage_error("--stats and --verify cannot be combined; --stats reports damage too");
    if (settings->stats && settings->hex)
        cli_usage_error("--stats and --hex cannot be combined, because --stats prints no records");
    if (settings->verify && (cli_select_any(&settings->select) || settings->has_offset))
        cli_usage_error("--verify reads the whole trace and cannot be combined with --type, "
                        "--provider, --pid, --tid, --time or --offset");
}

static void take_option(struct settings *settings, int key, const struct cli_parser *parser)
{
    switch (key) {
    case OPTION_JSON:
        settings->json = true;
        break;
    case OPTION_STATS:
        settings->stats = true;
        break;
    case OPTION_VERIFY:
        settings->verify = true;
        break;
    case OPTION_OFFSET:
        settings->has_offset = true;
        settings->offset = cli_id("--offset", parser->value, 0, UINT64_MAX);
        break;
    case OPTION_HEX:
        settings->hex = true;
        break;
    case OPTION_FOLLOW:
        settings->follow = true;
        break;
    case CLI_OPERAND:
        cli_texts_add(&settings->files, parser->value);
        break;
    default:
        (void)(cli_select_take(&settings->select, key, parser) ||
               cli_reading_take(&settings->reading, key, parser));
        break;
    }
}

static void parse(struct settings *settings, char **argv)
{
    struct cli_parser parser;
    int key;

    cli_start(&parser, &command, argv);
    while ((key = cli_next(&parser)) != CLI_END)
        take_option(settings, key, &parser);
    check_combination(settings);
}

/* ---- One trace ---- */

struct dump {
    const struct settings *settings;
    struct dump_form form;
    struct dump_stats stats;
    struct cli_trace trace;
    struct cli_select select;
    struct fxt_skipped zeros; /* a run of zero words that may go on; size 0: none */
    struct fxt_packets packets;
};

/* Whether --offset lets bytes through that end here.  */
static bool is_behind_offset(const struct settings *settings, uint64_t offset, uint64_t size)
{
    return !settings->has_offset || offset > settings->offset || settings->offset - offset < size;
}

static void show_skipped(const struct dump *dump, const struct fxt_skipped *skipped)
{
    /* A record of size 0 is its header, which no size counts.  */
    uint64_t size = skipped->size ? skipped->size : skipped->bytes.length;

    if (!is_behind_offset(dump->settings, skipped->offset, size))
        return;
    if (dump->settings->json)
        dump_skipped_json(dump->form.output, skipped);
    else
        dump_skipped_text(&dump->form, skipped);
}

static void end_zeros(struct dump *dump)
{
    if (dump->zeros.size > 0)
        show_skipped(dump, &dump->zeros);
    dump->zeros.size = 0;
}

/* The reader's word on bytes in no record: zero words one by one, shown as one run.  */
static void take_skipped(void *context, const struct fxt_skipped *skipped)
{
    struct dump *dump = context;

    if (skipped->kind != FXT_DAMAGE_ZERO_WORDS) {
        end_zeros(dump);
        show_skipped(dump, skipped);
    } else if (dump->zeros.size > 0) {
        dump->zeros.size += skipped->size;
    } else {
        dump->zeros = *skipped;
        dump->zeros.bytes = (struct fxt_bytes){ .length = 0 }; /* they live no longer than this */
    }
}

/* Packets that end in this blob: those that are there now and were not before.  */
static void take_packets(struct dump *dump, const struct fxt_record *record)
{
    struct fxt_packets *packets = &dump->packets;

    packets->count = 0;
    for (unsigned kind = 0; kind < FXT_PACKET_KINDS; kind++)
        packets->kinds[kind] = 0;
    fxt_packets_add(packets, record->value.blob.payload);
}

static void take_record(struct dump *dump, const struct fxt_record *record)
{
    const struct settings *settings = dump->settings;
    struct fxt_bytes bytes = { .length = 0 };

    end_zeros(dump);
    if (record->kind == FXT_RECORD_BLOB && record->value.blob.type == FXT_BLOB_PERFETTO)
        take_packets(dump, record);
    if (settings->verify || !cli_select_record(&dump->select, record) ||
        !is_behind_offset(settings, record->offset, record->size))
        return;
    if (settings->stats) {
        dump_stats_add(&dump->stats, record);
        return;
    }
    if (!dump->trace.from_modules)
        bytes = fxt_reader_bytes(dump->trace.reader);
    if (settings->json)
        dump_json(dump->form.output, record, settings->hex ? &bytes : NULL, &dump->packets);
    else
        dump_text(&dump->form, record, settings->hex ? &bytes : NULL, &dump->packets);
}

/* Whether no record has to be looked at.  */
static bool only_counts(const struct settings *settings)
{
    return settings->verify ||
           (settings->stats && !cli_select_any(&settings->select) && !settings->has_offset);
}

/* Count what can be counted behind a record of the provider.  */
static void take_tally(struct dump *dump, uint32_t provider)
{
    struct fxt_tally tally = { .has_time = false };

    if (cli_trace_tally(&dump->trace, &tally) > 0)
        dump_stats_add_tally(&dump->stats, provider, &tally);
}

/* What stands behind the records, or instead of them.  */
static void finish(struct dump *dump, bool several)
{
    const struct settings *settings = dump->settings;
    const struct fxt_damage *damage = fxt_reader_damage(dump->trace.reader);
    const char *path = several ? dump->trace.path : NULL;
    uint64_t bytes = fxt_reader_offset(dump->trace.reader);

    end_zeros(dump);
    if (settings->stats)
        (settings->json ? dump_stats_json : dump_stats_text)(dump->form.output, path, &dump->stats,
                                                             bytes, damage);
    if (settings->verify)
        (settings->json ? dump_damage_json : dump_damage_text)(dump->form.output, path, bytes,
                                                               damage);
    if (settings->has_offset && settings->offset >= bytes)
        cli_warning("%s: nothing at offset %llu or after it: it ends at %llu", dump->trace.path,
                    (unsigned long long)settings->offset, (unsigned long long)bytes);
}

/* Following: what was read is to be seen before there is more.  */
static void flush_idle(void *output)
{
    (void)cli_output_flush(output);
}

static enum cli_exit dump_trace(const struct settings *settings,
                                const struct cli_trace_files *files, bool several,
                                struct cli_output *output)
{
    struct dump dump = { .settings = settings,
                         .form = { output, cli_colour(stdout) },
                         .select = settings->select };
    /* Damage is of no type, process or time.  */
    bool skipped = settings->hex && !cli_select_any(&settings->select);
    struct fxt_reader_options options = { .size = sizeof options,
                                          .trust_start = settings->reading.force,
                                          .skipped = skipped ? take_skipped : NULL,
                                          .skipped_context = &dump };
    struct cli_trace_options trace_options = {
        .reader = &options, .follow = settings->follow, .idle = flush_idle, .idle_context = output
    };
    const struct fxt_record *record;
    enum cli_exit status = cli_trace_open_files(&dump.trace, files, &trace_options);

    dump.trace.shows_damage = settings->verify;
    while (status == CLI_OK && output->failed == 0 && cli_trace_next(&dump.trace, &record)) {
        uint32_t provider = record->provider->id;

        take_record(&dump, record);
        if (only_counts(settings))
            take_tally(&dump, provider);
    }
    if (status == CLI_OK)
        finish(&dump, several);
    (void)cli_output_flush(output); /* records before complaints about them */
    dump_stats_release(&dump.stats);
    cli_select_start(&dump.select);
    return cli_worse(status, cli_trace_close(&dump.trace, settings->reading.strict));
}

/* What is of FXT alone.  */
static void check_perf(const struct settings *settings, const char *path)
{
    if (settings->follow)
        cli_usage_error("--follow takes FXT: %s is a perf.data file", path);
    if (settings->select.kinds || settings->select.providers.count > 0)
        cli_usage_error("--type and --provider choose records of FXT: %s is a perf.data file",
                        path);
}

static enum cli_exit dump_one(const struct settings *settings, const struct cli_trace_files *files,
                              bool several, struct cli_output *output)
{
    const struct dump_perf_options options = { .json = settings->json,
                                               .stats = settings->stats,
                                               .verify = settings->verify,
                                               .hex = settings->hex,
                                               .several = several,
                                               .has_offset = settings->has_offset,
                                               .offset = settings->offset,
                                               .select = &settings->select };
    const struct dump_form form = { output, cli_colour(stdout) };

    if (settings->reading.force || files->regions || files->count != 1 ||
        !cli_perf_begins(files->paths[0]))
        return dump_trace(settings, files, several, output);
    check_perf(settings, files->paths[0]);
    return dump_perf(files->paths[0], &options, &form);
}

static enum cli_exit dump_traces(const struct settings *settings, struct cli_output *output)
{
    struct fxt_reader_options reader = { .size = sizeof reader,
                                         .trust_start = settings->reading.force };
    struct cli_trace_options options = { .reader = &reader,
                                         .follow = settings->follow,
                                         .modules = &settings->reading.modules };
    enum cli_exit status = CLI_OK;
    struct cli_traces traces;

    if (!settings->follow) /* what grows has no size */
        cli_bounds_begin(&settings->files);
    cli_traces_find(&traces, &settings->files, &options);
    for (size_t i = 0; i < traces.count && output->failed == 0; i++)
        status = cli_worse(status, dump_one(settings, &traces.items[i], traces.count > 1, output));
    cli_traces_release(&traces);
    return status;
}

static int run(char **argv)
{
    struct settings settings = { .json = false };
    enum cli_exit status;
    struct cli_output output;

    parse(&settings, argv);
    if (cli_output_open(&output, "-") != CLI_OK)
        return CLI_ENVIRONMENT;
    status = dump_traces(&settings, &output);
    free(settings.files.items);
    free(settings.reading.modules.items);
    cli_select_release(&settings.select);
    if (output.failed == EPIPE) {
        cli_output_abort(&output);
        return CLI_OK; /* the reader has seen enough */
    }
    return (int)cli_worse(status, cli_output_commit(&output));
}

int main(int argc, char **argv)
{
    (void)argc;
    return cli_main(&command, argv);
}
