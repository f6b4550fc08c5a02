/* fxtq import: traces into a store.  */
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/trace.h"
#include "cmd/fxtq/fxtq.h"

enum key { KEY_OUTPUT = 1, KEY_QUIET };

static const struct cli_option options[] = {
    { KEY_OUTPUT, 'o', "output", "STORE", "the store; made if it is not there, else added to",
      CLI_STORE },
    { KEY_QUIET, 'q', "quiet", NULL, "no summary" },
    { 0 },
};

static const struct cli_option *const groups[] = { cli_modules_options, cli_arch_options,
                                                   cli_strict_options, NULL };

static const char *const examples[] = {
    "a capture as a store, and its hottest call sites",
    "fxtq import trace.fxt.zst -o run.fxtq",
    "two more captures into the same store",
    "fxtq import monday.fxt tuesday.fxt -o run.fxtq",
    NULL,
};

static int run(char **argv);

const struct cli_command fxtq_import = {
    .name = "fxtq import",
    .usage = "TRACE... -o STORE",
    .summary = "Write traces into a store, an SQLite file: samples, heap and timeline.",
    .options = options,
    .groups = groups,
    .examples = examples,
    .first = CLI_TRACE,
    .rest = CLI_TRACE,
    .run = run,
    .brief = "write traces into a store",
};

struct settings {
    struct cli_texts inputs;
    struct cli_reading reading;
    const char *output;
    bool quiet;
    size_t imported; /* traces that the store has now */
};

static void parse(struct settings *settings, char **argv)
{
    struct cli_parser parser;
    int key;

    cli_start(&parser, &fxtq_import, argv);
    while ((key = cli_next(&parser)) != CLI_END)
        if (key == KEY_OUTPUT)
            settings->output = parser.value;
        else if (key == KEY_QUIET)
            settings->quiet = true;
        else if (key == CLI_OPERAND)
            cli_texts_add(&settings->inputs, parser.value);
        else
            (void)cli_reading_take(&settings->reading, key, &parser);
    if (settings->inputs.count == 0)
        cli_usage_error("no trace given");
    if (!settings->output)
        cli_usage_error("no store given: -o STORE");
}

/* ---- One trace ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

static void print_summary(const char *output, const struct store_import *import, const char *name)
{
    const struct store_import_counts *counts = store_import_counted(import);

    cli_note("%s: %s records into %s", name, cli_grouped(counts->records), output);
    if (counts->samples)
        cli_note("  %s samples, %s new call sites", cli_grouped(counts->samples),
                 cli_grouped(counts->callsites));
    if (counts->heap_events)
        cli_note("  %s sampled allocations", cli_grouped(counts->heap_events));
    if (counts->events)
        cli_note("  %s events", cli_grouped(counts->events));
    if (counts->sched)
        cli_note("  %s times on a CPU", cli_grouped(counts->sched));
}

static enum cli_exit read_records(struct settings *settings, struct cli_trace *trace,
                                  struct store_import *import)
{
    const struct fxt_record *record;
    enum store_status status = STORE_OK;
    struct store_error error;

    while (status == STORE_OK && cli_trace_next(trace, &record)) {
        struct fxt_bytes bytes = { .length = 0 };

        if (!trace->from_modules)
            bytes = fxt_reader_bytes(trace->reader);
        status = store_import_record(import, record, bytes, &error);
    }
    if (status == STORE_OK && trace->records == 0 && trace->status != FXT_END)
        return CLI_OK; /* no trace, which closing it will say */
    if (status == STORE_OK)
        status = store_import_finish(import, fxt_reader_damage(trace->reader), &error);
    settings->imported += status == STORE_OK || status == STORE_KNOWN;
    if (status == STORE_KNOWN) {
        cli_note("%s: %s has it already, as capture %lld", trace->path, settings->output,
                 (long long)store_import_capture(import));
        return CLI_OK;
    }
    if (status != STORE_OK)
        return fxtq_complain(settings->output, &error);
    if (!settings->quiet)
        print_summary(settings->output, import, trace->path);
    return CLI_OK;
}

static enum cli_exit import_trace(struct settings *settings, struct store *store,
                                  const struct cli_trace_files *files)
{
    struct store_import_options import_options = {
        .size = sizeof import_options,
        .name = base_name(files->label),
        .arm64 = settings->reading.arm64,
    };
    struct fxt_reader_options reader = { .size = sizeof reader,
                                         .trust_start = settings->reading.force,
                                         .skipped = store_import_skipped };
    struct cli_trace_options trace_options = { .reader = &reader,
                                               .modules = &settings->reading.modules };
    struct store_import *import = NULL;
    struct store_error error;
    struct cli_trace trace;
    enum cli_exit status;

    if (store_import_open(store, &import_options, &import, &error) != STORE_OK)
        return fxtq_complain(settings->output, &error);
    reader.skipped_context = import;
    status = cli_trace_open_files(&trace, files, &trace_options);
    if (status == CLI_OK)
        status = read_records(settings, &trace, import);
    status = cli_worse(status, cli_trace_close(&trace, settings->reading.strict));
    store_import_close(import);
    return status;
}

/* ---- The store ---- */

static enum cli_exit open_store(const struct settings *settings, struct store **out)
{
    struct store_options store_options = { .size = sizeof store_options, .mode = STORE_APPEND };
    struct store_error error;
    enum store_status status = store_open(settings->output, &store_options, out, &error);

    if (status == STORE_NOT_THERE)
        status = store_create(settings->output, &store_options, out, &error);
    return status == STORE_OK ? CLI_OK : fxtq_complain(settings->output, &error);
}

static enum cli_exit import_all(struct settings *settings, struct store *store)
{
    struct fxt_reader_options reader = { .size = sizeof reader,
                                         .trust_start = settings->reading.force };
    struct cli_trace_options trace_options = { .reader = &reader,
                                               .modules = &settings->reading.modules };
    enum cli_exit status = CLI_OK;
    struct cli_traces traces;

    cli_traces_find(&traces, &settings->inputs, &trace_options);
    for (size_t i = 0; i < traces.count && status != CLI_ENVIRONMENT; i++)
        status = cli_worse(status, import_trace(settings, store, &traces.items[i]));
    cli_traces_release(&traces);
    return status;
}

static int run(char **argv)
{
    struct settings settings = { .output = NULL };
    struct store *store = NULL;
    struct store_error error;
    enum cli_exit status;

    parse(&settings, argv);
    status = open_store(&settings, &store);
    if (status == CLI_OK)
        status = import_all(&settings, store);
    if (status != CLI_ENVIRONMENT && settings.imported > 0 &&
        store_publish(store, &error) != STORE_OK)
        status = fxtq_complain(settings.output, &error);
    store_close(store);
    free(settings.inputs.items);
    free(settings.reading.modules.items);
    return (int)status;
}

enum cli_exit fxtq_import_into(struct store *store, const char *path, bool *imported)
{
    struct settings settings = { .output = path, .quiet = true };
    enum cli_exit status;

    cli_texts_add(&settings.inputs, path);
    status = import_all(&settings, store);
    *imported = status != CLI_ENVIRONMENT && settings.imported > 0;
    free(settings.inputs.items);
    return status;
}
