/* fxtq import: traces and profiles into a store.  */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "cmd/cli/cli_bounds.h"
#include "cmd/cli/cli_trace.h"
#include "cmd/cli/cuts.h"
#include "cmd/cli/symbol_options.h"
#include "cmd/fxtq/fxtq.h"
#include "cmd/fxtq/input_kind.h"

/* What a store may grow by without --no-limit: captures and profiles become 2 to 50 times as large
 * as their compressed files.  */
#define SMALLEST_LIMIT   ((uint64_t)256 << 20)
#define LIMIT_PER_BYTE   256u
#define LIMIT_OF_STREAMS ((uint64_t)64 << 30) /* their size is not known */

enum key { KEY_OUTPUT = 1, KEY_QUIET, KEY_NO_LIMIT, KEY_LABEL };

static const struct cli_option options[] = {
    { KEY_OUTPUT, 'o', "output", "STORE",
      "the store; it is created if it does not exist, otherwise the imports are added", CLI_STORE },
    { KEY_LABEL, 0, "label", "NAME=TEXT",
      "give the captures a label, such as commit=4f2a91c, which fxtdiff history uses; also "
      "captures that are in the store already; an empty TEXT removes it" },
    { KEY_QUIET, 'q', "quiet", NULL, "no summary" },
    { KEY_NO_LIMIT, 0, "no-limit", NULL,
      "lift the limit on the growth of the store (256 MiB plus 256 times the input)" },
    { 0 },
};

static const struct cli_option *const groups[] = { cli_modules_options, cli_arch_options,
                                                   cli_strict_options, cli_symbols_options, NULL };

static const char *const examples[] = {
    "Import a capture",
    "fxtq import trace.fxt.zst -o run.fxtq",
    "Add two more captures to the same store",
    "fxtq import monday.fxt tuesday.fxt -o run.fxtq",
    "Add a capture of a commit to a history",
    "fxtq import run.fxt --label commit=$(git rev-parse HEAD) -o history.fxtq",
    "Add a pprof profile and folded stacks",
    "fxtq import cpu.pb.gz stacks.folded -o run.fxtq",
    "Import the backtraces of a log, and look up their symbols",
    "fxtq import system.log -o crashes.fxtq && fxtq symbolize crashes.fxtq",
    NULL,
};

static int run(char **argv);

const struct cli_command fxtq_import = {
    .name = "fxtq import",
    .usage = "FILE... -o STORE",
    .summary = "Import traces and profiles into a store, which is an SQLite file.  Traces "
               "contribute samples, heap events and a timeline.  Profiles are pprof "
               "(profile.proto), folded stacks, profiles of gperftools and of Go (debug=1), the "
               "text of perf script and of Austin, or logs with backtraces in symbolizer markup.  "
               "The format is detected from the first bytes; gzip and zstd are unpacked.",
    .options = options,
    .groups = groups,
    .examples = examples,
    .first = CLI_RUN,
    .rest = CLI_RUN,
    .run = run,
    .brief = "import traces and profiles into a store",
};

/* What --label gives to captures.  */
struct label {
    char *name; /* owned */
    const char *value;
};

struct settings {
    struct cli_texts inputs;
    struct cli_reading reading;
    struct cli_symbols symbols; /* of instruction traces, raw stacks and perf.data files */
    const char *output;
    struct label *labels;
    size_t label_count, label_room;
    struct cli_numbers captures; /* that get them */
    bool quiet;
    bool no_limit;
    size_t imported;         /* captures that the store has now */
    char *partial, *journal; /* what a new store is called until it is whole */
};

static void add_label(struct settings *settings, const char *text)
{
    const char *value = strchr(text, '=');
    struct label label = { .value = value ? value + 1 : "" };

    label.name = value ? cli_checked(strndup(text, (size_t)(value - text))) : cli_join("", "");
    if (!value || !store_is_label(label.name, label.value))
        cli_usage_error(
            "--label: '%s' is not NAME=TEXT, with a NAME of letters, digits, '_', '-' and "
            "'.' and a TEXT of one line",
            text);
    settings->labels = cli_grow(settings->labels, &settings->label_room, settings->label_count + 1,
                                sizeof label);
    settings->labels[settings->label_count++] = label;
}

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
        else if (key == KEY_NO_LIMIT)
            settings->no_limit = true;
        else if (key == KEY_LABEL)
            add_label(settings, parser.value);
        else if (key == CLI_OPERAND)
            cli_texts_add(&settings->inputs, parser.value);
        else if (!cli_symbols_take(&settings->symbols, key, &parser))
            (void)cli_reading_take(&settings->reading, key, &parser);
    if (settings->inputs.count == 0)
        cli_usage_error("no trace or profile given");
    if (!settings->output)
        cli_usage_error("no store given; use -o STORE");
}

/* ---- Limits ---- */

/* What the files may make the store grow by.  */
static uint64_t limit_of(const struct settings *settings, const struct cli_trace_files *files)
{
    uint64_t bytes = 0;

    if (settings->no_limit)
        return 0;
    for (size_t i = 0; i < files->count; i++) {
        struct stat info;

        if (stat(files->paths[i], &info) != 0 || !S_ISREG(info.st_mode))
            return LIMIT_OF_STREAMS;
        if (__builtin_add_overflow(bytes, (uint64_t)info.st_size, &bytes))
            return 0;
    }
    return bytes < UINT64_MAX / LIMIT_PER_BYTE - SMALLEST_LIMIT
               ? SMALLEST_LIMIT + bytes * LIMIT_PER_BYTE
               : 0;
}

static enum cli_exit fail(const struct settings *settings, const char *label, uint64_t limit,
                          const struct store_error *error)
{
    if (error->status != STORE_TOO_LARGE)
        return fxtq_complain(settings->output, error);
    cli_error("%s: the import would make the store grow by more than %s MiB, the limit for an "
              "input of this size; if you trust the input, use 'fxtq import --no-limit'",
              label, cli_grouped(limit >> 20));
    return CLI_ENVIRONMENT;
}

/* ---- One trace ---- */

static void print_samples(uint64_t samples, uint64_t callsites)
{
    cli_note("  %s, %s", cli_counted(samples, "sample", "samples"),
             cli_counted(callsites, "new call site", "new call sites"));
}

static void print_notices(const struct profile_notices *notices)
{
    struct profile_notice notice;

    for (size_t i = 0; profile_notice_at(notices, i, &notice); i++)
        if (notice.count)
            cli_note("  note: %s %s", cli_grouped(notice.count), notice.phrase);
}

static void print_cuts(const struct store_import *import)
{
    struct cli_cuts cuts = { .count = 0 };
    struct profile_cut cut;

    for (size_t i = 0; store_import_cut_at(import, i, &cut); i++)
        cli_cuts_add_profile(&cuts, &cut);
    cli_cuts_print(&cuts, "  ", CLI_CUTS_REMEDY);
}

static void print_summary(const char *output, const struct store_import *import, const char *name)
{
    const struct store_import_counts *counts = store_import_counted(import);

    cli_note("%s: %s into %s", name, cli_counted(counts->records, "record", "records"), output);
    if (counts->samples)
        print_samples(counts->samples, counts->callsites);
    if (counts->heap_events)
        cli_note("  %s",
                 cli_counted(counts->heap_events, "sampled allocation", "sampled allocations"));
    if (counts->events)
        cli_note("  %s", cli_counted(counts->events, "event", "events"));
    if (counts->sched)
        cli_note("  %s on a CPU", cli_counted(counts->sched, "time", "times"));
    print_notices(store_import_notices(import));
    print_cuts(import);
}

/* A capture is in the store, new or not.  */
static void count_capture(struct settings *settings, int64_t capture)
{
    settings->imported++;
    cli_numbers_add(&settings->captures, (uint64_t)capture);
}

static void say_known(const struct settings *settings, const char *label, int64_t capture)
{
    if (!settings->quiet)
        cli_note("%s: already in %s, as capture %lld", label, settings->output, (long long)capture);
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
    if (status == STORE_OK && cli_trace_is_none(trace))
        return CLI_OK; /* closing it will say so */
    if (status == STORE_OK)
        status = store_import_finish(import, fxt_reader_damage(trace->reader), &error);
    if (status == STORE_OK || status == STORE_KNOWN)
        count_capture(settings, store_import_capture(import));
    if (status == STORE_KNOWN) {
        say_known(settings, trace->path, store_import_capture(import));
        return CLI_OK;
    }
    if (status != STORE_OK)
        return fail(settings, trace->path, limit_of(settings, trace->files), &error);
    if (!settings->quiet)
        print_summary(settings->output, import, trace->path);
    return CLI_OK;
}

/* After a file was refused whose format is none of those that an import reads.  */
static void note_formats(void)
{
    cli_note("fxtq import reads FXT traces, perf.data files, pprof profiles, folded stacks, logs "
             "with symbolizer markup, the text of perf script and of Austin, and profiles of "
             "gperftools, Go and Java");
}

static enum cli_exit import_trace(struct settings *settings, struct store *store,
                                  const struct cli_trace_files *files, struct start *start)
{
    struct store_import_options import_options = {
        .size = sizeof import_options,
        .name = base_name(files->label),
        .arm64 = settings->reading.arm64,
        .most_bytes = limit_of(settings, files),
    };
    struct fxt_reader_options reader = { .size = sizeof reader,
                                         .trust_start = settings->reading.force,
                                         .skipped = store_import_skipped };
    struct cli_trace_options trace_options = { .reader = &reader,
                                               .modules = &settings->reading.modules,
                                               .symbols = &settings->symbols };
    struct store_import *import = NULL;
    struct store_error error;
    struct cli_trace trace;
    bool is_foreign = false;
    enum cli_exit status;

    import_options.session = cli_symbols_of_thread(&settings->symbols);
    if (store_import_open(store, &import_options, &import, &error) != STORE_OK) {
        sym_session_close(import_options.session);
        return fxtq_complain(settings->output, &error);
    }
    reader.skipped_context = import;
    if (start->fd >= 0 && !start->can_reopen) {
        trace_options.read = start_read;
        trace_options.read_context = start;
    } else {
        start_close(start); /* what reads the trace opens it */
    }
    status = cli_trace_open_files(&trace, files, &trace_options);
    if (status == CLI_OK)
        status = read_records(settings, &trace, import);
    if (status == CLI_OK && cli_trace_is_none(&trace) && trace.status == FXT_FATAL)
        is_foreign = true;
    status = cli_worse(status, cli_trace_close(&trace, settings->reading.strict));
    if (is_foreign)
        note_formats();
    store_import_close(import);
    sym_session_close(import_options.session);
    return status;
}

/* ---- One profile ---- */

/* After a message: which option lifts the limit that it is about, if it is about one.  */
static void note_limit(const char *message)
{
    if (cli_bounds_are_of_readers(message))
        cli_note("if you trust the input, 'fxtq import --no-limit' lifts this limit");
}

static enum cli_exit tell_profile(struct settings *settings, const char *label, uint64_t limit,
                                  enum store_status status,
                                  const struct store_profile_result *result,
                                  const struct store_error *error)
{
    if (status == STORE_OK || status == STORE_KNOWN)
        count_capture(settings, result->capture_id);
    if (status == STORE_KNOWN) {
        say_known(settings, label, result->capture_id);
        return CLI_OK;
    }
    if (status == STORE_MALFORMED) {
        cli_error("%s: %s", label, error->message);
        return CLI_DAMAGED;
    }
    if (status != STORE_OK && result->is_of_input) {
        cli_error("%s: %s", label, error->message);
        note_limit(error->message);
        return CLI_ENVIRONMENT;
    }
    if (status != STORE_OK)
        return fail(settings, label, limit, error);
    if (!settings->quiet) {
        cli_note("%s: imported a profile into %s", label, settings->output);
        print_samples(result->samples, result->callsites);
    }
    if (result->is_damaged) {
        cli_error("%s: %s", label, result->damage);
        note_limit(result->damage);
    }
    return result->is_damaged || (settings->reading.strict && result->has_notices) ? CLI_DAMAGED
                                                                                   : CLI_OK;
}

static enum cli_exit import_profile(struct settings *settings, struct store *store,
                                    const struct cli_trace_files *files, struct start *start)
{
    const char *path = files->paths[0];
    const char *label = start->is_stdin ? "standard input" : path;
    struct store_import_options import_options = { .size = sizeof import_options,
                                                   .name = base_name(path),
                                                   .most_bytes = limit_of(settings, files) };
    struct fxt_input_options from = {
        .size = sizeof from, .read = start_read, .context = start, .as_stream = true
    };
    struct store_profile_result result = { .capture_id = 0 };
    struct fxt_input *input;
    struct store_error error;
    enum store_status status;

    if (fxt_input_open(&from, &input, NULL) != FXT_OK) {
        cli_error("%s: out of memory", label);
        return CLI_ENVIRONMENT;
    }
    status = store_import_profile(store, &import_options, input, start->format, &result, &error);
    fxt_input_close(input);
    return tell_profile(settings, label, import_options.most_bytes, status, &result, &error);
}

static enum cli_exit import_one(struct settings *settings, struct store *store,
                                const struct cli_trace_files *files)
{
    struct start start = { .fd = -1 };
    enum cli_exit status;

    if (!files->regions && !settings->reading.force)
        (void)start_open(&start, files->paths[0]);
    if (start.foreign) {
        cli_error("%s: %s", start.is_stdin ? "standard input" : files->paths[0], start.foreign);
        status = CLI_DAMAGED;
    } else if (start.is_profile) {
        status = import_profile(settings, store, files, &start);
    } else {
        status = import_trace(settings, store, files, &start);
    }
    start_close(&start);
    return status;
}

/* ---- The store ---- */

/* What SIGINT leaves of a new store.  */
static void note_partial(struct settings *settings)
{
    settings->partial = cli_join(settings->output, ".part");
    settings->journal = cli_join(settings->partial, "-journal");
    cli_unfinished_add(settings->partial);
    cli_unfinished_add(settings->journal);
}

static void forget_partial(struct settings *settings)
{
    cli_unfinished_remove(settings->partial);
    cli_unfinished_remove(settings->journal);
    free(settings->partial);
    free(settings->journal);
}

static enum cli_exit open_store(struct settings *settings, struct store **out)
{
    struct store_options store_options = { .size = sizeof store_options, .mode = STORE_APPEND };
    struct store_error error;
    enum store_status status = store_open(settings->output, &store_options, out, &error);

    if (status == STORE_NOT_THERE) {
        status = store_create(settings->output, &store_options, out, &error);
        if (status == STORE_OK)
            note_partial(settings);
    }
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
        status = cli_worse(status, import_one(settings, store, &traces.items[i]));
    cli_traces_release(&traces);
    return status;
}

static enum cli_exit give_labels(const struct settings *settings, struct store *store)
{
    struct store_error error;

    for (size_t i = 0; i < settings->captures.count; i++)
        for (size_t k = 0; k < settings->label_count; k++)
            if (store_set_label(store, (int64_t)settings->captures.items[i],
                                settings->labels[k].name, settings->labels[k].value,
                                &error) != STORE_OK)
                return fxtq_complain(settings->output, &error);
    return CLI_OK;
}

/* Readers may go on as long as they like: that is no failure.  Nor is there anything to report
 * where nothing was added.  */
static enum cli_exit merge(const struct settings *settings, struct store *store)
{
    struct store_error error;
    enum store_status status = store_merge(store, &error);

    if (settings->imported == 0)
        return CLI_OK;
    if (status == STORE_BUSY)
        cli_note("%s: %s", settings->output, error.message);
    else if (status != STORE_OK)
        return fxtq_complain(settings->output, &error);
    return CLI_OK;
}

static int run(char **argv)
{
    struct settings settings = { .output = NULL };
    struct store *store = NULL;
    struct store_error error;
    enum cli_exit status;

    parse(&settings, argv);
    status = cli_symbols_check(&settings.symbols);
    if (status == CLI_OK)
        status = open_store(&settings, &store);
    if (status == CLI_OK)
        status = import_all(&settings, store);
    if (status != CLI_ENVIRONMENT && settings.imported > 0)
        status = cli_worse(status, give_labels(&settings, store));
    if (status != CLI_ENVIRONMENT && settings.imported > 0 &&
        store_publish(store, &error) != STORE_OK)
        status = fxtq_complain(settings.output, &error);
    if (store)
        status = cli_worse(status, merge(&settings, store));
    store_close(store);
    forget_partial(&settings);
    for (size_t i = 0; i < settings.label_count; i++)
        free(settings.labels[i].name);
    free(settings.labels);
    free(settings.captures.items);
    free(settings.inputs.items);
    free(settings.reading.modules.items);
    cli_symbols_release(&settings.symbols);
    return (int)status;
}

enum cli_exit fxtq_import_into(struct store *store, const char *path, bool *imported)
{
    struct settings settings = { .output = path, .quiet = true };
    enum cli_exit status;

    cli_texts_add(&settings.inputs, path);
    status = import_all(&settings, store);
    *imported = status != CLI_ENVIRONMENT && settings.imported > 0;
    free(settings.captures.items);
    free(settings.inputs.items);
    return status;
}
