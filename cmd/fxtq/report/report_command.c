/* report_command.c - fxtq report NAME STORE.  */
#include "cmd/fxtq/report/report_command.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/fxtq/filters.h"
#include "cmd/fxtq/sql_session.h"
#include "cmd/fxtq/store_source.h"

enum {
    OPTION_BY = 1,
    OPTION_ROWS,
    OPTION_MINIMUM,
    OPTION_BINS,
    OPTION_JSON,
    OPTION_MARKDOWN,
    OPTION_SQL,
    OPTION_TIMEOUT,
    OPTION_CACHE,
    OPTION_MEMORY,
};

/* Of all reports; each takes some.  */
static const char *const by_words[] = { "function", "file", "line", "module", "thread", "process",
                                        "kind",     "cpu",  "wait", "all",    NULL };

static const struct cli_option fxtq_report_options[] = {
    { OPTION_BY, 0, "by", "WHAT",
      "group rows by WHAT.  top: function (default), file, line, module, thread, process; tree, "
      "callers, callees: function, file, line, module; heap: kind, function, file, module; cpu: "
      "cpu, thread, wait; timeline: thread, cpu, process, all",
      CLI_HINT, by_words },
    { OPTION_ROWS, 'n', "rows", "N", "print at most N rows; 0: all" },
    { OPTION_MINIMUM, 0, "min", "PERCENT",
      "omit branches of a tree below PERCENT of the total (default 0.5)" },
    { OPTION_BINS, 0, "bins", "N", "columns of the timeline (default: the width of the terminal)" },
    { OPTION_JSON, 0, "json", NULL, "print one JSON object per row" },
    { OPTION_MARKDOWN, 0, "markdown", NULL, "print a Markdown table" },
    { OPTION_SQL, 0, "sql", NULL, "print the SQL query of the report in place of its rows" },
    { OPTION_TIMEOUT, 0, "timeout", "SECONDS", "interrupt the report after this time" },
    { OPTION_CACHE, 0, "cache", NULL, "keep the imported trace as TRACE.fxtq" },
    { OPTION_MEMORY, 0, "memory", "SIZE", SOURCE_MEMORY_HELP },
    { 0 },
};

static const struct cli_option *const groups[] = { filters_options, NULL };

static const char *const fxtq_report_examples[] = {
    "Print the hottest functions",
    "fxtq report top run.fxtq",
    "Print the hottest files of one thread in the second second",
    "fxtq report top --by file --tid 1514 --time +1s,+2s run.fxtq",
    "Find functions that allocate memory and never release it",
    "fxtq report heap --by function run.fxtq",
    "Find the callers of memcpy on the server's threads",
    "fxtq report callers '^memcpy$' --comm server run.fxtq",
    "Print the query of a report",
    "fxtq report top --sql run.fxtq",
    NULL,
};

struct settings {
    const struct store_report_about *about;
    const char *path;
    struct filters filters;
    struct store_report_request request;
    enum report_output output;
    double timeout_s;
    bool cache;
    bool has_rows, has_least;
    struct cli_texts operands;
};

/* ---- Options ---- */

static double parse_double(const char *option, const char *text, double least, double most)
{
    char *end;
    double number = strtod(text, &end);

    if (end == text || *end != '\0' || !(number >= least && number <= most))
        cli_usage_error("%s: '%s' is not a number between %g and %g", option, text, least, most);
    return number;
}

static void apply(struct settings *settings, int key, const char *value)
{
    struct store_report_request *request = &settings->request;

    switch (key) {
    case OPTION_BY:
        request->by = value;
        break;
    case OPTION_ROWS:
        request->rows = cli_number("--rows", value, 0, UINT32_MAX);
        settings->has_rows = true;
        break;
    case OPTION_MINIMUM:
        request->least_percent = parse_double("--min", value, 0, 100);
        settings->has_least = true;
        break;
    case OPTION_BINS:
        request->bins = (size_t)cli_number("--bins", value, 1, 10000);
        break;
    case OPTION_JSON:
        settings->output = REPORT_AS_JSON;
        break;
    case OPTION_MARKDOWN:
        settings->output = REPORT_AS_MARKDOWN;
        break;
    case OPTION_SQL:
        settings->output = REPORT_AS_SQL;
        break;
    case OPTION_TIMEOUT:
        settings->timeout_s = parse_double("--timeout", value, 1e-3, 1e9);
        break;
    case OPTION_MEMORY:
        source_take_memory(value);
        break;
    case OPTION_CACHE:
        settings->cache = true;
        break;
    case CLI_OPERAND:
        cli_texts_add(&settings->operands, value);
        break;
    default:
        (void)filters_take(&settings->filters, key, value);
        break;
    }
}

bool fxtq_is_report(const char *name)
{
    return store_report_find(name) != NULL;
}

static const struct store_report_about *find_report(const char *name)
{
    const struct store_report_about *about = store_report_find(name);
    struct base_text names = { .bytes = NULL };

    if (about)
        return about;
    for (size_t i = 0; (about = store_report_at(i)) != NULL; i++)
        text_addf(&names, "%s%s", i ? ", " : "", about->name);
    cli_usage_error("unknown report '%s'; reports are %s", name, names.bytes);
}

/* NAME STORE, or NAME FUNCTION STORE; the last two either way round where only one is a file.  */
static void take_operands(struct settings *settings)
{
    const struct cli_texts *operands = &settings->operands;
    bool function;

    if (operands->count == 0)
        cli_usage_error("no report given; 'fxtq report --help' lists them");
    settings->about = find_report(operands->items[0]);
    settings->request.name = settings->about->name;
    function = settings->about->has_function;
    if (operands->count != (function ? 3u : 2u))
        cli_usage_error(function ? "report %s takes a pattern and a store"
                                 : "report %s takes one store",
                        settings->about->name);
    settings->path = operands->items[operands->count - 1];
    if (!function)
        return;
    settings->request.function = operands->items[1];
    if (access(settings->path, F_OK) != 0 && access(operands->items[1], F_OK) == 0) {
        settings->request.function = settings->path;
        settings->path = operands->items[1];
    }
    filters_check_pattern("", settings->request.function);
}

/* A request that cannot be answered is a wrong command line; of filters, the option is named.  */
static _Noreturn void refuse(const struct settings *settings, unsigned refused, const char *message)
{
    const char *option = filters_given_name(&settings->filters, refused);

    cli_usage_error("%s%s%s", option ? option : "", option ? ": " : "", message);
}

static void check_options(struct settings *settings)
{
    const struct store_report_about *about = settings->about;
    struct store_report_request *request = &settings->request;
    struct store_error error;
    unsigned refused;

    request->filter = &settings->filters.filter;
    if (settings->has_least && !about->is_tree)
        cli_usage_error("report %s is not a tree and takes no --min; use --rows", about->name);
    if (request->bins > 0 && !about->has_bins)
        cli_usage_error("report %s has no --bins", about->name);
    if (request->by && !about->by)
        cli_usage_error("report %s has no --by", about->name);
    if (request->by)
        (void)cli_choice("--by", request->by, about->by);
    if (store_report_check(request, &refused, &error) != STORE_OK)
        refuse(settings, refused, error.message);
    if (!settings->has_rows)
        request->rows = about->rows;
    if (request->bins == 0)
        request->bins = report_bins_for(cli_columns(stdout));
}

/* ---- Running ---- */

static enum cli_exit fail(const struct settings *settings, const struct session *session,
                          unsigned refused, const struct store_error *error)
{
    session_settle(session);
    if (error->status == STORE_INVALID)
        refuse(settings, refused, error->message);
    if (error->status == STORE_STOPPED)
        return session_fail(session, SQLITE_INTERRUPT);
    return fxtq_complain(NULL, error);
}

/* Why there are no rows, for people.  */
static void explain_nothing(const struct settings *settings, struct store_report *report,
                            uint64_t rows)
{
    const struct store_report_about *about = settings->about;
    const struct store_filter *filter = &settings->filters.filter;
    bool nothing = rows <= (about->is_tree ? 1 : 0);
    struct store_report_lack lack;

    if (store_report_lacks(report, &lack, NULL) == STORE_OK && lack.what)
        cli_note("%s has %s%s%s%s%s", settings->path, lack.what, lack.instead ? ": report " : "",
                 lack.instead ? lack.instead : "", lack.instead_by ? " --by " : "",
                 lack.instead_by ? lack.instead_by : "");
    else if (nothing && about->has_function)
        cli_note("%s: no function in the selected stacks matches '%s'", settings->path,
                 settings->request.function);
    else if (nothing && about->nothing)
        cli_note("%s: %s", settings->path, about->nothing);
    else if (nothing && (store_filter_given(filter) || filter->capture))
        cli_note("%s: nothing matches the filters", settings->path);
}

struct events {
    const struct store_sample_type *shown;
    struct base_text others;
};

static bool take_event(void *context, const struct store_sample_type *type)
{
    struct events *events = context;

    if (type->there && type->kind == STORE_SAMPLES_CPU && type->id != events->shown->id)
        text_addf(&events->others, "%s%s", events->others.length ? ", " : "", type->type);
    return true;
}

/* Which of several events the rows are of, where nobody has chosen one.  */
static void explain_type(const struct settings *settings, struct store *store,
                         const struct store_report *report)
{
    struct events events = { .shown = store_report_type(report) };
    struct store_error error;

    if (settings->filters.filter.sample_type || !events.shown->type ||
        events.shown->kind != STORE_SAMPLES_CPU)
        return;
    if (store_sample_types_each(store, settings->filters.filter.capture, take_event, &events,
                                &error) == STORE_OK &&
        events.others.length > 0)
        cli_note("%s: samples of %s%s%s", settings->path, events.shown->type,
                 settings->about->has_type ? "; --sample-type may also be " : ", and not of ",
                 events.others.bytes);
    base_text_release(&events.others);
}

static enum cli_exit print_sql(const struct settings *settings, struct session *session,
                               struct store *store)
{
    struct store_error error;
    unsigned refused;
    char *sql;

    if (store_report_sql(store, &settings->request, &sql, &refused, &error) != STORE_OK)
        return fail(settings, session, refused, &error);
    (void)cli_output_write(session->output, sql, strlen(sql));
    free(sql);
    return CLI_OK;
}

static enum cli_exit print_rows(const struct settings *settings, struct session *session,
                                struct store *store)
{
    struct store_report *report;
    struct store_error error;
    enum store_status status;
    unsigned refused;
    uint64_t count = 0;

    if (store_report_open(store, &settings->request, &report, &refused, &error) != STORE_OK)
        return fail(settings, session, refused, &error);
    if (settings->output != REPORT_AS_JSON)
        explain_type(settings, store, report);
    if (settings->about->has_bins && settings->output == REPORT_AS_TEXT)
        status = report_print_timeline(report, cli_columns(stdout), session->output, &count,
                                       &error);
    else
        status = report_print_rows(report, settings->output, settings->filters.start_ts,
                                   session->output, &count, &error);
    (void)cli_output_flush(session->output);
    if (status == STORE_OK && settings->output != REPORT_AS_JSON)
        explain_nothing(settings, report, count);
    store_report_close(report);
    return status == STORE_OK ? CLI_OK : fail(settings, session, 0, &error);
}

static enum cli_exit run(struct settings *settings, struct session *session, struct store *store)
{
    enum cli_exit status = filters_resolve(&settings->filters, store);

    if (status == CLI_OK)
        status = filters_check_type(&settings->filters, store, settings->path);
    if (status != CLI_OK)
        return status;
    return settings->output == REPORT_AS_SQL ? print_sql(settings, session, store)
                                             : print_rows(settings, session, store);
}

static enum cli_exit run_on_store(struct settings *settings, struct source *source)
{
    struct cli_output output;
    struct session session = { .store = source->store,
                               .db = store_sqlite(source->store),
                               .timeout_s = settings->timeout_s,
                               .output = &output };
    enum cli_exit status = cli_output_open(&output, NULL);

    if (status == CLI_OK)
        status = source_use_columns(source, settings->path);
    if (status == CLI_OK)
        status = session_start(&session);
    if (status == CLI_OK) {
        session_begin_statement(&session);
        interrupt_catch();
        status = run(settings, &session, source->store);
        session_end(&session);
    }
    return cli_worse(status, cli_output_commit(&output));
}

static const char *report_word(size_t i, const char **brief)
{
    const struct store_report_about *about = store_report_at(i);

    if (!about)
        return NULL;
    *brief = about->summary;
    return about->name;
}

/* ---- The topic ---- */

/* "--by function (default), file": a line of the topic, if there is anything to choose.  */
static void add_by(struct base_text *text, const struct store_report_about *about)
{
    for (size_t i = 0; about->by && about->by[i]; i++)
        text_addf(text, "%s%s%s", i ? ", " : "            --by ", about->by[i],
                  i ? "" : " (default)");
    if (about->by)
        text_adds(text, "\n");
}

/* "not --tid: allocations have no thread".  */
static void add_refusal(struct base_text *text, const struct store_report_refusal *refusal)
{
    static const struct {
        unsigned bit;
        const char *names;
    } filters[] = {
        { STORE_FILTER_STACK, " --focus --ignore" },
        { STORE_FILTER_SHAPE, " --hide --show-from" },
        { STORE_FILTER_TIME, " --time" },
        { STORE_FILTER_PROCESS, " --pid" },
        { STORE_FILTER_THREAD, " --tid" },
        { STORE_FILTER_COMM, " --comm" },
        { STORE_FILTER_CPU, " --cpu" },
    };

    text_adds(text,
              refusal->filters == STORE_FILTER_ALL ? "            no filters" : "            not");
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        if (refusal->filters != STORE_FILTER_ALL && (refusal->filters & filters[i].bit))
            text_adds(text, filters[i].names);
    text_addf(text, "%s%s:\n              %s\n", refusal->by ? " with --by " : "",
              refusal->by ? refusal->by : "", refusal->why);
}

/* What depends on the store is for the store to say.  */
static void add_filters(struct base_text *text, const struct store_report_about *about)
{
    const struct store_report_refusal *refusal = about->refusals;

    for (; refusal && refusal->filters; refusal++)
        if (!refusal->has && !refusal->has_none_of)
            add_refusal(text, refusal);
    if (about->has_type)
        text_adds(text, "            --sample-type: some types have no threads, CPUs or times\n");
}

char *fxtq_report_topic(void)
{
    struct base_text text = { .bytes = NULL };
    const struct store_report_about *about;

    text_adds(&text, "fxtq report NAME STORE (or a trace):\n");
    for (size_t i = 0; (about = store_report_at(i)) != NULL; i++) {
        text_addf(&text, "\n  %-9s %s%s\n", about->name, about->has_function ? "REGEX: " : "",
                  about->summary);
        add_by(&text, about);
        add_filters(&text, about);
    }
    text_adds(&text,
              "\nEach report takes all filters ('fxtq help filters') except those listed above.\nA "
              "filter by a property that the store's samples or events lack is an error.\n\n--json "
              "and --markdown print the rows in these formats; --sql prints the query.\n");
    return text.bytes;
}

static int run_report(char **argv);

const struct cli_command fxtq_report = {
    .name = "fxtq report",
    .usage = "[OPTION]... NAME [FUNCTION] STORE|TRACE",
    .summary = "Print a report on a store or a trace.",
    .options = fxtq_report_options,
    .groups = groups,
    .examples = fxtq_report_examples,
    .word = report_word,
    .word_title = "Reports",
    .rest = CLI_STORE,
    .run = run_report,
    .brief = "print a report: top, tree, heap, ...",
};

static int run_report(char **argv)
{
    struct settings settings = { .filters = FILTERS_NONE,
                                 .request = { .size = sizeof settings.request,
                                              .least_percent = 0.5 } };
    struct cli_parser parser;
    struct source source;
    enum cli_exit status;
    int key;

    cli_start(&parser, &fxtq_report, argv);
    while ((key = cli_next(&parser)) != CLI_END)
        apply(&settings, key, parser.value);
    take_operands(&settings);
    check_options(&settings);
    settings.path = source_take_capture(settings.path, &settings.filters.filter.capture);
    status = source_open(&source, settings.path, false, settings.cache);
    if (source.store) {
        status = cli_worse(status, run_on_store(&settings, &source));
        source_note_damage(&source, settings.path);
    }
    if (status == CLI_OK && settings.output == REPORT_AS_TEXT && settings.about->has_names)
        source_hint_names(&source, settings.path);
    source_close(&source);
    free(settings.operands.items);
    filters_release(&settings.filters);
    interrupt_pass_on();
    return (int)status;
}
