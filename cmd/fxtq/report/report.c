/* report.c - fxtq report NAME STORE: options, the query, its rows.  */
#include "cmd/fxtq/report/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/fxtq/format/format.h"
#include "cmd/fxtq/fxtq.h"
#include "cmd/fxtq/session.h"
#include "cmd/fxtq/source.h"

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
};

static const struct report *const reports[] = {
    &report_top, &report_tree,   &report_callers,  &report_callees, &report_heap, &report_threads,
    &report_cpu, &report_slices, &report_timeline, &report_damage,  NULL
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

enum output_kind { OUTPUT_TEXT, OUTPUT_JSON, OUTPUT_MARKDOWN, OUTPUT_SQL };

struct settings {
    const struct report *report;
    const char *path;
    struct request request;
    enum output_kind output;
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
    struct request *request = &settings->request;

    switch (key) {
    case OPTION_BY:
        request->by = value;
        break;
    case OPTION_ROWS:
        request->rows = cli_number("--rows", value, 0, UINT32_MAX);
        settings->has_rows = true;
        break;
    case OPTION_MINIMUM:
        request->least = parse_double("--min", value, 0, 100);
        settings->has_least = true;
        break;
    case OPTION_BINS:
        request->bins = (size_t)cli_number("--bins", value, 1, 10000);
        break;
    case OPTION_JSON:
        settings->output = OUTPUT_JSON;
        break;
    case OPTION_MARKDOWN:
        settings->output = OUTPUT_MARKDOWN;
        break;
    case OPTION_SQL:
        settings->output = OUTPUT_SQL;
        break;
    case OPTION_TIMEOUT:
        settings->timeout_s = parse_double("--timeout", value, 1e-3, 1e9);
        break;
    case OPTION_CACHE:
        settings->cache = true;
        break;
    case CLI_OPERAND:
        cli_texts_add(&settings->operands, value);
        break;
    default:
        (void)filters_take(&request->filters, key, value);
        break;
    }
}

bool fxtq_is_report(const char *name)
{
    for (size_t i = 0; reports[i]; i++)
        if (strcmp(reports[i]->name, name) == 0)
            return true;
    return false;
}

static const struct report *find_report(const char *name)
{
    struct base_text names = { .bytes = NULL };

    for (size_t i = 0; reports[i]; i++) {
        if (strcmp(reports[i]->name, name) == 0) {
            free(names.bytes);
            return reports[i];
        }
        text_addf(&names, "%s%s", i ? ", " : "", reports[i]->name);
    }
    cli_usage_error("unknown report '%s'; reports are %s", name, names.bytes);
}

/* NAME STORE, or NAME FUNCTION STORE; the last two either way round where only one is a file.  */
static void take_operands(struct settings *settings)
{
    const struct cli_texts *operands = &settings->operands;
    bool function;

    if (operands->count == 0)
        cli_usage_error("no report given; 'fxtq report --help' lists them");
    settings->report = find_report(operands->items[0]);
    function = settings->report->takes_function;
    if (operands->count != (function ? 3u : 2u))
        cli_usage_error(function ? "report %s takes a pattern and a store"
                                 : "report %s takes one store",
                        settings->report->name);
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

/* Whether all stores have it so.  */
static bool is_of_all(const struct report_refusal *refusal)
{
    return !refusal->has && !refusal->has_none_of;
}

/* What nothing could pass is an error, not an empty report.  Before there is a store, what is so in
 * all of them.  */
static void check_filters(const struct settings *settings)
{
    const struct request *request = &settings->request;
    const struct report_refusal *refusal = settings->report->refusals;

    for (; refusal && refusal->filters; refusal++)
        if ((request->filters.given & refusal->filters) &&
            (!refusal->by || (request->by && strcmp(refusal->by, request->by) == 0)) &&
            (request->db
                 ? request_has(request, refusal->has) && !request_has(request, refusal->has_none_of)
                 : is_of_all(refusal)))
            cli_usage_error("%s: %s", filters_given_name(&request->filters, refusal->filters),
                            refusal->why);
}

static void check_options(struct settings *settings)
{
    const struct report *report = settings->report;

    settings->request.wanted_type = settings->request.filters.type;
    if (settings->request.wanted_type && !report->has_type)
        cli_usage_error("report %s has no sample types", report->name);
    if (settings->has_least && !report->is_tree)
        cli_usage_error("report %s is not a tree and takes no --min; use --rows", report->name);
    if (settings->request.bins > 0 && !report->has_bins)
        cli_usage_error("report %s has no --bins", report->name);
    if (settings->request.by && !report->by)
        cli_usage_error("report %s has no --by", report->name);
    if (settings->request.by)
        (void)cli_choice("--by", settings->request.by, report->by);
    else if (report->by)
        settings->request.by = report->by[0];
    check_filters(settings);
    if (!settings->has_rows)
        settings->request.rows = report->rows;
}

/* ---- What the store tells before ---- */

static enum cli_exit fail(sqlite3 *db, int code)
{
    cli_error("%s", sqlite3_errmsg(db));
    return code == SQLITE_CORRUPT ? CLI_DAMAGED : CLI_ENVIRONMENT;
}

/* The sample type, what was asked for, or the first there is, and what is known of its samples.  */
static enum cli_exit learn_type(struct settings *settings)
{
    struct request *request = &settings->request;
    unsigned asked = filters_tell(&request->filters);
    bool has_values = false;
    int code = store_sample_type_choose(request->db, request->wanted_type, request->filters.capture,
                                        &request->type);

    if (code == SQLITE_OK)
        code = store_sample_type_has_values(request->db, &request->type, request->filters.capture,
                                            &has_values);
    request->counts = !has_values || request->type.counted_id;
    if (settings->report == &report_threads || (request->by && strcmp(request->by, "thread") == 0))
        asked |= STORE_TELLS_THREAD;
    if (code == SQLITE_OK)
        code = store_sample_type_untold(request->db, &request->type, request->filters.capture,
                                        asked, &request->untold);
    if (code == SQLITE_OK && request->untold && settings->report->has_type)
        cli_usage_error("samples of type %s have no %s", request->type.type, request->untold);
    return code == SQLITE_OK ? CLI_OK : fail(request->db, code);
}

/* ---- Rows ---- */

static double number_of(const struct format_cell *cell)
{
    return cell->type == FORMAT_REAL ? cell->real : (double)cell->integer;
}

static void print_grouped(struct base_text *text, const struct format_cell *cell)
{
    double number = number_of(cell);

    if (number < 0 || number > 1e18)
        text_addf(text, "%.0f", number);
    else
        text_adds(text, cli_grouped((uint64_t)llround(number)));
}

static enum report_kind value_kind(const struct request *request)
{
    if (request->counts || !request->type.type)
        return REPORT_COUNT;
    if (strcmp(request->type.unit, "nanoseconds") == 0)
        return REPORT_NS;
    return strcmp(request->type.unit, "bytes") == 0 ? REPORT_BYTES : REPORT_COUNT;
}

/* A number with its unit, in place of the cell.  */
static void humanize(const struct request *request, enum report_kind kind, struct format_cell *cell,
                     struct base_text *text)
{
    if (cell->type != FORMAT_INTEGER && cell->type != FORMAT_REAL)
        return;
    text->length = 0;
    text_add(text, "", 0);
    switch (kind == REPORT_VALUE ? value_kind(request) : kind) {
    case REPORT_NS:
        print_duration(text, number_of(cell));
        break;
    case REPORT_BYTES:
        print_bytes(text, number_of(cell));
        break;
    case REPORT_PERCENT:
        text_addf(text, "%.2f%%", number_of(cell));
        break;
    case REPORT_COUNT:
        print_grouped(text, cell);
        break;
    case REPORT_TIME:
        text_addf(text, "%+.6fs", (number_of(cell) - (double)request->filters.start_ts) / 1e9);
        break;
    default:
        return;
    }
    *cell =
        (struct format_cell){ .type = FORMAT_TEXT, .bytes = text->bytes, .length = text->length };
}

static void fetch(sqlite3_stmt *row, int column, struct format_cell *cell)
{
    int type = sqlite3_column_type(row, column);

    *cell = (struct format_cell){ .type = FORMAT_NULL, .bytes = "" };
    if (type == SQLITE_INTEGER) {
        cell->type = FORMAT_INTEGER;
        cell->integer = sqlite3_column_int64(row, column);
    } else if (type == SQLITE_FLOAT) {
        cell->type = FORMAT_REAL;
        cell->real = sqlite3_column_double(row, column);
    } else if (type == SQLITE_TEXT && sqlite3_column_text(row, column)) {
        cell->type = FORMAT_TEXT;
        cell->bytes = (const char *)sqlite3_column_text(row, column);
        cell->length = (size_t)sqlite3_column_bytes(row, column);
    }
}

#define COLUMNS_MAX 16u
#define DEEPEST     200 /* rows of trees are not indented further */

struct printer {
    const struct settings *settings;
    const struct report_column *columns;
    struct format *format;
    size_t count;             /* that are printed */
    int sources[COLUMNS_MAX]; /* which of the query's each one is */
    struct format_column format_columns[COLUMNS_MAX];
    struct base_text scratch[COLUMNS_MAX];
    int depth_column; /* -1: none */
};

/* "self_percent" is long for what stands below.  */
static const char *title_of(const char *name)
{
    if (strcmp(name, "self_percent") == 0)
        return "self%";
    return strcmp(name, "total_percent") == 0 ? "total%" : name;
}

static bool is_text(enum report_kind kind)
{
    return kind == REPORT_TEXT || kind == REPORT_FUNCTION;
}

/* The column of names may also hold files or modules.  */
static bool is_by_function(const struct settings *settings)
{
    const char *by = settings->request.by;

    return !by || strcmp(by, "function") == 0 || strcmp(by, "line") == 0;
}

static void choose_columns(struct printer *printer)
{
    bool json = printer->settings->output == OUTPUT_JSON;

    printer->depth_column = -1;
    for (int i = 0; printer->columns[i].name; i++) {
        enum report_kind kind = printer->columns[i].kind;
        struct format_column *column = &printer->format_columns[printer->count];

        if (kind == REPORT_DEPTH)
            printer->depth_column = i;
        if (!json && (kind == REPORT_DEPTH || kind == REPORT_HIDDEN))
            continue;
        column->name = json ? printer->columns[i].name : title_of(printer->columns[i].name);
        column->align = is_text(kind) || kind == REPORT_LABEL ? FORMAT_LEFT : FORMAT_RIGHT;
        column->whole = !is_text(kind);
        column->functions = kind == REPORT_FUNCTION && is_by_function(printer->settings);
        column->rank = printer->columns[i].rank;
        printer->sources[printer->count++] = i;
    }
}

static void print_row(struct printer *printer, sqlite3_stmt *row)
{
    bool json = printer->settings->output == OUTPUT_JSON;
    struct format_cell cells[COLUMNS_MAX];

    for (size_t i = 0; i < printer->count; i++) {
        enum report_kind kind = printer->columns[printer->sources[i]].kind;

        fetch(row, printer->sources[i], &cells[i]);
        if (json)
            continue;
        humanize(&printer->settings->request, kind, &cells[i], &printer->scratch[i]);
        if (printer->depth_column >= 0 && is_text(kind)) {
            int64_t depth = sqlite3_column_int64(row, printer->depth_column);

            cells[i].indent = 2 * (size_t)(depth < 0 ? 0 : depth > DEEPEST ? DEEPEST : depth);
        }
    }
    format_row(printer->format, cells);
}

/* Why there are no rows, for people.  */
static void explain_nothing(const struct settings *settings, uint64_t rows)
{
    const struct report *report = settings->report;
    const char *lacks = report->lacks ? report->lacks(&settings->request) : NULL;
    bool nothing = rows <= (report->is_tree ? 1 : 0);

    if (settings->output != OUTPUT_TEXT && settings->output != OUTPUT_MARKDOWN)
        return;
    if (lacks)
        cli_note("%s has %s", settings->path, lacks);
    else if (nothing && report->takes_function)
        cli_note("%s: no stack that is looked at has a function that matches '%s'", settings->path,
                 settings->request.function);
    else if (nothing && report == &report_damage)
        cli_note("%s: nothing was lost, and nothing was odd", settings->path);
    else if (nothing && (settings->request.filters.given || settings->request.filters.capture))
        cli_note("%s: nothing passes the filters", settings->path);
}

static enum cli_exit print_table(struct settings *settings, struct session *session,
                                 sqlite3_stmt *rows, const struct report_column *columns)
{
    struct printer printer = { .settings = settings, .columns = columns };
    struct format_options options = { .kind = settings->output == OUTPUT_JSON ? FORMAT_JSONL
                                              : settings->output == OUTPUT_MARKDOWN
                                                  ? FORMAT_MARKDOWN
                                                  : FORMAT_PLAIN,
                                      .no_empty = true,
                                      .terminal = isatty(STDOUT_FILENO) };
    uint64_t count = 0;
    int code;

    code = sqlite3_step(rows); /* what cannot be answered has no heading */
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return session_fail(session, code);
    if (settings->output == OUTPUT_TEXT)
        options.columns = cli_columns(stdout);
    choose_columns(&printer);
    printer.format = format_new(&options, session->output);
    format_begin(printer.format, printer.format_columns, printer.count);
    for (; code == SQLITE_ROW && !session->output->failed; code = sqlite3_step(rows)) {
        print_row(&printer, rows);
        count++;
    }
    format_end(printer.format);
    format_free(printer.format);
    for (size_t i = 0; i < printer.count; i++)
        free(printer.scratch[i].bytes);
    if (code != SQLITE_DONE && !session->output->failed)
        return session_fail(session, code);
    (void)cli_output_flush(session->output);
    explain_nothing(settings, count);
    return CLI_OK;
}

/* ---- Running ---- */

static enum cli_exit print_sql(struct settings *settings, struct session *session)
{
    struct cli_output *output = session->output;
    struct base_text sql = { .bytes = NULL };

    settings->request.plain = true;
    (void)settings->report->write(&settings->request, &sql);
    text_adds(&sql, ";\n");
    (void)cli_output_write(output, sql.bytes, sql.length);
    free(sql.bytes);
    return CLI_OK;
}

static enum cli_exit show_rows(struct settings *settings, struct session *session,
                               sqlite3_stmt *rows)
{
    uint64_t count = 0;
    enum cli_exit status = settings->report->show(&settings->request, rows, session->output,
                                                  cli_columns(stdout), &count);

    (void)cli_output_flush(session->output);
    if (status == CLI_OK)
        explain_nothing(settings, count);
    return status;
}

static enum cli_exit run_query(struct settings *settings, struct session *session)
{
    const struct report *report = settings->report;
    struct base_text sql = { .bytes = NULL };
    const struct report_column *columns = report->write(&settings->request, &sql);
    sqlite3_stmt *rows = NULL;
    int code;
    enum cli_exit status;

    session->preparing = true;
    code = sqlite3_prepare_v2(session->db, sql.bytes, -1, &rows, NULL);
    session->preparing = false;
    if (code != SQLITE_OK)
        status = session_fail(session, code);
    else if (settings->output == OUTPUT_TEXT && report->show)
        status = show_rows(settings, session, rows);
    else
        status = print_table(settings, session, rows, columns);
    (void)sqlite3_finalize(rows);
    free(sql.bytes);
    return status;
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static enum cli_exit run(struct settings *settings, struct session *session)
{
    enum cli_exit status = filters_resolve(&settings->request.filters, settings->request.db);
    size_t columns = cli_columns(stdout);

    if (status == CLI_OK)
        status = filters_check_type(&settings->request.filters, settings->request.db,
                                    settings->path);
    if (status == CLI_OK && (settings->report->has_type || settings->report == &report_threads))
        status = learn_type(settings);
    if (status == CLI_OK)
        check_filters(settings);
    if (status != CLI_OK)
        return status;
    if (settings->request.bins == 0) /* the names of lanes need room too */
        settings->request.bins = columns > 24 ? columns - 2 - min_size(26, columns / 3) : 80;
    return settings->output == OUTPUT_SQL ? print_sql(settings, session)
                                          : run_query(settings, session);
}

static bool shows_names(const struct report *report)
{
    return report->has_type || report == &report_heap;
}

static enum cli_exit run_on_store(struct settings *settings, struct store *store)
{
    struct cli_output output;
    struct session session = { .db = store_sqlite(store),
                               .timeout_s = settings->timeout_s,
                               .output = &output };
    enum cli_exit status = cli_output_open(&output, NULL);

    settings->request.db = session.db;
    if (status == CLI_OK)
        status = session_start(&session);
    if (status == CLI_OK) {
        session_begin_statement(&session);
        interrupt_catch();
        status = run(settings, &session);
        session_end(&session);
    }
    return cli_worse(status, cli_output_commit(&output));
}

static void release(struct settings *settings)
{
    free(settings->operands.items);
    filters_release(&settings->request.filters);
    store_sample_type_release(&settings->request.type);
}

static const char *report_word(size_t i, const char **brief)
{
    if (!reports[i])
        return NULL;
    *brief = reports[i]->summary;
    return reports[i]->name;
}

/* "--by function (default), file": a line of the topic, if there is anything to choose.  */
static void add_by(struct base_text *text, const struct report *report)
{
    for (size_t i = 0; report->by && report->by[i]; i++)
        text_addf(text, "%s%s%s", i ? ", " : "            --by ", report->by[i],
                  i ? "" : " (default)");
    if (report->by)
        text_adds(text, "\n");
}

/* "not --tid: allocations have no thread".  */
static void add_refusal(struct base_text *text, const struct report_refusal *refusal)
{
    static const struct {
        unsigned bit;
        const char *names;
    } filters[] = {
        { FILTER_STACK, " --focus --ignore" },
        { FILTER_SHAPE, " --hide --show-from" },
        { FILTER_TIME, " --time" },
        { FILTER_PROCESS, " --pid" },
        { FILTER_THREAD, " --tid" },
        { FILTER_COMM, " --comm" },
        { FILTER_CPU, " --cpu" },
    };

    text_adds(text, refusal->filters == FILTER_ALL ? "            no filters" : "            not");
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        if (refusal->filters != FILTER_ALL && (refusal->filters & filters[i].bit))
            text_adds(text, filters[i].names);
    text_addf(text, "%s%s:\n              %s\n", refusal->by ? " with --by " : "",
              refusal->by ? refusal->by : "", refusal->why);
}

/* What depends on the store is for the store to say.  */
static void add_filters(struct base_text *text, const struct report *report)
{
    const struct report_refusal *refusal = report->refusals;

    for (; refusal && refusal->filters; refusal++)
        if (is_of_all(refusal))
            add_refusal(text, refusal);
    if (report->has_type)
        text_adds(text, "            --sample-type: some types have no threads, CPUs or times\n");
}

char *report_topic(void)
{
    struct base_text text = { .bytes = NULL };

    text_adds(&text, "fxtq report NAME STORE (or a trace):\n");
    for (size_t i = 0; reports[i]; i++) {
        text_addf(&text, "\n  %-9s %s%s\n", reports[i]->name,
                  reports[i]->takes_function ? "REGEX: " : "", reports[i]->summary);
        add_by(&text, reports[i]);
        add_filters(&text, reports[i]);
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
    struct settings settings = { .request = { .least = 0.5 } };
    struct cli_parser parser;
    struct source source;
    enum cli_exit status;
    int key;

    cli_start(&parser, &fxtq_report, argv);
    while ((key = cli_next(&parser)) != CLI_END)
        apply(&settings, key, parser.value);
    take_operands(&settings);
    check_options(&settings);
    settings.path = source_take_capture(settings.path, &settings.request.filters.capture);
    status = source_open(&source, settings.path, false, settings.cache);
    if (source.store)
        status = cli_worse(status, run_on_store(&settings, source.store));
    if (status == CLI_OK && settings.output == OUTPUT_TEXT && shows_names(settings.report))
        source_hint_names(&source, settings.path);
    source_close(&source);
    release(&settings);
    interrupt_pass_on();
    return (int)status;
}
