/* fxtq export: what a store holds, as other programs read it.  */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fxt/store_export.h>
#include "cmd/fxtq/filters.h"
#include "cmd/fxtq/sql_session.h"
#include "cmd/fxtq/store_source.h"
#include "cmd/history/old_store.h"

enum { KEY_OUTPUT = 1, KEY_ROOT, KEY_TABLE, KEY_QUIET, KEY_CSV_SAFE, KEY_MEMORY };

/* In the order of their enums; of enum store_csv_table behind STORE_CSV_ANY.  */
static const char *const roots[] = { "process", "thread", "none", NULL };
static const char *const tables[] = { "cpu", "heap", "profile", NULL };

static const struct cli_option options[] = {
    { KEY_OUTPUT, 'o', "output", "FILE", "write to FILE; - is standard output, the default",
      CLI_FILE },
    { KEY_ROOT, 0, "root", "ROOT", "folded: root of stacks: process (default), thread or none",
      .choices = roots },
    { KEY_TABLE, 0, "table", "TABLE",
      "csv: cpu (one row per sample), heap (one row per allocation) or profile (one row per sample "
      "of an imported profile).  Default: the table of --sample-type, else the first with rows",
      .choices = tables },
    { KEY_CSV_SAFE, 0, "csv-safe", NULL,
      "csv: put ' before texts that a spreadsheet would read as formulas (=, +, -, @ first)" },
    { KEY_QUIET, 'q', "quiet", NULL, "no summary" },
    { KEY_MEMORY, 0, "memory", "SIZE", SOURCE_MEMORY_HELP },
    { 0 },
};

static const struct cli_option *const groups[] = { filters_options, NULL };

static const char *const examples[] = {
    "Convert to pprof; an imported pprof profile is exported unchanged",
    "fxtq export pprof run.fxtq -o run.pb.gz && go tool pprof -top run.pb.gz",
    "Draw a flame graph with flamegraph.pl",
    "fxtq export folded run.fxtq | flamegraph.pl > run.svg",
    "View threads and times in a browser",
    "fxtq export firefox run.fxtq -o run.json",
    "Export the memory in use at the end",
    "fxtq export folded --sample-type inuse_space run.fxtq",
    "Export half a second of samples for a data frame",
    "fxtq export csv --time +1s,+1.5s run.fxtq -o half.csv",
    "Export the second capture of a store as a trace",
    "fxtq export fxt --capture 2 runs.fxtq -o second.fxt",
    NULL,
};

/* Those of a profile (<fxt/profile_formats.h>) come before the others.  */
struct format {
    const char *name;
    bool binary;
    const struct profile_format *profile; /* NULL: write */
    enum store_status (*write)(struct store *store, const struct store_filter *filter,
                               const struct store_export_options *options, store_write_fn write,
                               void *context, struct store_export_counts *counts,
                               struct store_error *error);
    const char *summary;    /* a phrase */
    const char *row, *rows; /* what it consists of */
    bool is_table;          /* enum store_csv_table applies */
    bool is_capture;        /* all records of one capture, not samples alone */
};

static const struct format others[] = {
    { .name = "csv",
      .write = store_export_csv,
      .summary = "one row per sample, for spreadsheets and data frames",
      .row = "row",
      .rows = "rows",
      .is_table = true },
    { .name = "fxt",
      .binary = true,
      .write = store_export_fxt,
      .summary = "one capture as a trace, with addresses in place of symbols",
      .row = "record",
      .rows = "records",
      .is_capture = true },
};

#define OTHERS      (sizeof others / sizeof *others)
#define FORMATS_MAX 16

/* Returns false after the last one.  */
static bool format_at(size_t index, struct format *out)
{
    const struct profile_format *profile = profile_format_at(index);
    size_t profiles = 0;

    if (profile) {
        *out = (struct format){ .name = profile->name,
                                .binary = profile->for_programs,
                                .profile = profile,
                                .summary = profile->summary,
                                .row = profile->one_type ? "stack" : "entry",
                                .rows = profile->one_type ? "stacks" : "entries" };
        return true;
    }
    while (profile_format_at(profiles))
        profiles++;
    if (index - profiles >= OTHERS)
        return false;
    *out = others[index - profiles];
    return true;
}

struct settings {
    struct format format; /* name NULL: none was given */
    struct cli_texts inputs;
    const char *output;
    struct store_export_options options;
    struct filters filters;
    bool quiet;
    bool input_is_damaged; /* then that may be why it lacks what was asked for */
};

/* ---- Options ---- */

static struct format find_format(const char *name)
{
    const char *names[FORMATS_MAX + 1] = { NULL };
    struct format format = { .name = NULL };

    for (size_t i = 0; i < FORMATS_MAX && format_at(i, &format); i++)
        names[i] = format.name;
    (void)format_at(cli_choice("the format", name, names), &format);
    return format;
}

static void apply(struct settings *settings, int key, const struct cli_parser *parser)
{
    const char *value = parser->value;

    if (filters_take(&settings->filters, key, value))
        return;
    switch (key) {
    case KEY_OUTPUT:
        settings->output = value;
        break;
    case KEY_ROOT:
        settings->options.root = (enum profile_root)parser->choice;
        break;
    case KEY_TABLE:
        settings->options.table = (enum store_csv_table)(STORE_CSV_CPU + parser->choice);
        break;
    case KEY_CSV_SAFE:
        settings->options.csv_safe = true;
        break;
    case KEY_MEMORY:
        source_take_memory(parser->value);
        break;
    case KEY_QUIET:
        settings->quiet = true;
        old_store_be_quiet();
        break;
    default:
        if (settings->format.name)
            cli_texts_add(&settings->inputs, value);
        else
            settings->format = find_format(value);
        break;
    }
}

/* Options that would do nothing.  */
static void check(const struct settings *settings)
{
    const struct format *format = &settings->format;

    if (!format->name)
        cli_usage_error("no format given; 'fxtq export --help' lists them");
    if (settings->inputs.count == 0)
        cli_usage_error("no store given");
    cli_output_check(settings->output, &settings->inputs);
    if (settings->options.root != PROFILE_ROOT_PROCESS &&
        !(format->profile && format->profile->has_roots))
        cli_usage_error("--root is for folded stacks");
    if (settings->options.table != STORE_CSV_ANY && !format->is_table)
        cli_usage_error("--table is for csv");
    if (settings->options.csv_safe && !format->is_table)
        cli_usage_error("--csv-safe is for csv");
    if (format->binary && (!settings->output || strcmp(settings->output, "-") == 0) &&
        isatty(STDOUT_FILENO))
        cli_usage_error("%s is not written to a terminal; use -o FILE", format->name);
}

/* ---- Writing ---- */

static bool show_progress(void *context, uint64_t done, uint64_t total)
{
    struct cli_progress *progress = context;

    progress->total = total;
    if (total > 0) /* about how many: the last ones may be more */
        cli_progress_show(progress, done < total ? done : total);
    return !interrupt_seen();
}

/* Sorting takes its time too.  */
static int on_steps(void *context)
{
    (void)context;
    return interrupt_seen();
}

static void summarize(const struct settings *settings, const struct store_export_counts *counts)
{
    const char *where = settings->output && strcmp(settings->output, "-") != 0 ? settings->output
                                                                               : "standard output";

    if (settings->format.is_capture) {
        cli_note("%s: %s of %s and %s%s%s", where,
                 cli_counted(counts->rows, settings->format.row, settings->format.rows),
                 cli_counted(counts->samples, "sample", "samples"),
                 cli_counted(counts->events, "event", "events"),
                 counts->left_out ? "; not held as it was: " : "",
                 counts->left_out ? cli_counted(counts->left_out, "row", "rows") : "");
        return;
    }
    cli_note("%s: %s of %s", where,
             cli_counted(counts->rows, settings->format.row, settings->format.rows),
             cli_counted(counts->samples, "sample", "samples"));
}

static enum cli_exit complain(const struct settings *settings, const struct store_error *error,
                              const struct cli_output *output)
{
    if (error->status == STORE_STOPPED)
        return CLI_ENVIRONMENT; /* who interrupts knows */
    if (output->failed)
        return CLI_ENVIRONMENT; /* cli_output_commit() says it */
    if (error->status == STORE_INVALID) {
        cli_error("%s: %s", settings->inputs.items[0], error->message);
        return settings->input_is_damaged ? CLI_DAMAGED : CLI_USAGE;
    }
    return fxtq_complain(settings->inputs.items[0], error);
}

static enum cli_exit write_format(struct settings *settings, struct store *store,
                                  struct cli_output *output)
{
    struct store_export_counts counts;
    struct cli_progress progress;
    const struct store_filter *filter = &settings->filters.filter;
    struct store_error error;
    enum store_status status;

    cli_progress_start(&progress, "exporting", 0);
    settings->options.size = sizeof settings->options;
    settings->options.progress = show_progress;
    settings->options.progress_context = &progress;
    sqlite3_progress_handler(store_sqlite(store), 10000, on_steps, NULL);
    if (settings->format.profile)
        status = store_export_profile(store, filter, settings->format.profile, &settings->options,
                                      cli_output_write, output, &counts, &error);
    else
        status = settings->format.write(store, filter, &settings->options, cli_output_write, output,
                                        &counts, &error);
    sqlite3_progress_handler(store_sqlite(store), 0, NULL, NULL);
    cli_progress_end(&progress);
    if (status != STORE_OK)
        return complain(settings, &error, output);
    if (counts.samples == 0 && !settings->format.is_capture)
        cli_warning("%s: the export is empty: %s", settings->inputs.items[0],
                    filters_why_empty(&settings->filters, store));
    if (!settings->quiet)
        summarize(settings, &counts);
    return CLI_OK;
}

struct captures {
    struct base_text names; /* of the first ten */
    unsigned count;
};

static bool take_capture(void *context, const struct store_capture *capture)
{
    struct captures *captures = context;

    if (++captures->count <= 10)
        text_addf(&captures->names, "%s%lld (%s)", captures->count > 1 ? ", " : "",
                  (long long)capture->id, capture->name ? capture->name : "");
    return true;
}

/* An FXT file has one capture: if it is not selected, the message lists those of the store.  */
static enum cli_exit check_captures(const struct settings *settings, struct store *store)
{
    struct captures captures = { .count = 0 };
    enum cli_exit status = CLI_OK;
    struct store_error error;

    if (!settings->format.is_capture || settings->filters.filter.capture)
        return CLI_OK;
    if (store_captures_each(store, 0, take_capture, &captures, &error) != STORE_OK) {
        status = fxtq_complain(settings->inputs.items[0], &error);
    } else if (captures.count > 1) {
        cli_error("an fxt file has one capture; select it with --capture: %s%s",
                  captures.names.bytes, captures.count > 10 ? ", ..." : "");
        status = CLI_USAGE;
    }
    base_text_release(&captures.names);
    return status;
}

static enum cli_exit export_store(struct settings *settings, struct store *store)
{
    struct cli_output output;
    enum cli_exit status = filters_resolve(&settings->filters, store);

    if (status == CLI_OK)
        status = check_captures(settings, store);
    interrupt_catch(); /* before there is a file to remove */
    if (status == CLI_OK)
        status = cli_output_open(&output, settings->output);
    if (status != CLI_OK)
        return status;
    if (!settings->format.binary)
        cli_output_visible(&output);
    status = write_format(settings, store, &output);
    if (status == CLI_OK || output.failed)
        return cli_worse(status, cli_output_commit(&output));
    cli_output_abort(&output);
    return status;
}

static const char *format_word(size_t i, const char **brief)
{
    struct format format;

    if (!format_at(i, &format))
        return NULL;
    *brief = format.summary;
    return format.name;
}

static int run(char **argv);

const struct cli_command fxtq_export = {
    .name = "fxtq export",
    .usage = "[OPTION]... FORMAT STORE|TRACE...",
    .summary = "Export captures of a store in the format of another program.",
    .options = options,
    .groups = groups,
    .examples = examples,
    .word = format_word,
    .word_title = "Formats",
    .rest = CLI_STORE,
    .run = run,
    .brief = "export captures as profiles, folded stacks, CSV or FXT",
};

static int run(char **argv)
{
    struct settings settings = { .filters = FILTERS_NONE };
    struct source source = { .store = NULL };
    struct cli_parser parser;
    enum cli_exit status;
    int key;

    cli_start(&parser, &fxtq_export, argv);
    while ((key = cli_next(&parser)) != CLI_END)
        apply(&settings, key, &parser);
    check(&settings);
    if (settings.inputs.count == 1)
        settings.inputs.items[0] = source_take_capture(settings.inputs.items[0],
                                                       &settings.filters.filter.capture);
    status = source_open_all(&source, &settings.inputs);
    settings.input_is_damaged = status == CLI_DAMAGED;
    if (source.store)
        status = cli_worse(status, export_store(&settings, source.store));
    source_close(&source);
    filters_release(&settings.filters);
    free(settings.inputs.items);
    interrupt_pass_on();
    return (int)status;
}
