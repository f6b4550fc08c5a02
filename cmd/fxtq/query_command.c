/* query_command.c - fxtq STORE [SQL]: SQL from the command line, a file, standard input or a
 * shell.  */
#include "cmd/fxtq/query_command.h"
#include "cmd/cli/near.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fxt/store_content.h>
#include "cmd/fxtq/files.h"
#include "cmd/fxtq/line_editor.h"
#include "cmd/fxtq/shell.h"
#include "cmd/fxtq/sql_session.h"
#include "cmd/fxtq/store_source.h"

enum {
    OPTION_FORMAT = 1,
    OPTION_FILE,
    OPTION_PARAMETER,
    OPTION_WRITE,
    OPTION_TIMEOUT,
    OPTION_NO_HEADER,
    OPTION_NULL,
    OPTION_TIMER,
    OPTION_CACHE,
    OPTION_MEMORY,
    OPTION_CSV_SAFE,
};

const struct cli_option fxtq_query_options[] = {
    { OPTION_FORMAT, 'f', "format", "FORMAT",
      "table, box, csv, tsv, json, jsonl, markdown or html; default: box on a terminal, else tsv",
      .choices = format_names },
    { OPTION_FILE, 0, "file", "FILE", "run the SQL in FILE; - is standard input", CLI_FILE },
    { OPTION_PARAMETER, 'p', "parameter", "NAME=VALUE",
      "bind VALUE to :NAME in SQL; may be repeated" },
    { OPTION_WRITE, 'w', "write", NULL, "allow SQL to change the store" },
    { OPTION_TIMEOUT, 0, "timeout", "SECONDS", "interrupt statements that take longer" },
    { OPTION_NO_HEADER, 0, "no-header", NULL, "do not print column names" },
    { OPTION_NULL, 0, "null", "TEXT",
      "print TEXT for NULL (default: nothing; JSON always has null)" },
    { OPTION_CSV_SAFE, 0, "csv-safe", NULL,
      "csv, tsv: put ' before texts that a spreadsheet would read as formulas (=, +, -, @ first)" },
    { OPTION_TIMER, 0, "timer", NULL, "print the duration of each statement" },
    { OPTION_CACHE, 0, "cache", NULL,
      "keep the imported trace as TRACE.fxtq, and use it until the trace changes" },
    { OPTION_MEMORY, 0, "memory", "SIZE", SOURCE_MEMORY_HELP },
    { 0 },
};

const char *const fxtq_query_examples[] = {
    "List the ten functions with the most self time",
    "fxtq run.fxtq 'SELECT name, self FROM call_top ORDER BY 2 DESC LIMIT 10'",
    "Query a trace without a store",
    "fxtq trace.fxt 'SELECT name, count(*), sum(dur) FROM slice GROUP BY 1'",
    "Run SQL from a file, with a parameter, as CSV",
    "fxtq run.fxtq --file query.sql -p pid=1512 --format csv > out.csv",
    "Start a shell",
    "fxtq run.fxtq",
    "Print a report",
    "fxtq report top run.fxtq",
    NULL,
};

struct query {
    struct session session;
    struct cli_texts statements; /* SQL of the command line */
    struct cli_texts files;
    const char *path;
    int64_t capture; /* of STORE#CAPTURE; 0: none was given */
    char *capture_parameter;
    bool cache;
    bool has_format;
};

const char *fxtq_libraries(void)
{
    static char text[200];

    (void)snprintf(text, sizeof text, "SQLite %s, %s, %s", sqlite3_libversion(), lines_library(),
                   sym_libraries());
    return text;
}

static double parse_seconds(const char *text)
{
    char *end;
    double seconds = strtod(text, &end);

    if (end == text || *end != '\0' || !(seconds > 0 && seconds < 1e9))
        cli_usage_error("--timeout: '%s' is not a number of seconds greater than 0", text);
    return seconds;
}

static void take_operand(struct query *query, const char *text)
{
    if (!query->path)
        query->path = text;
    else
        cli_texts_add(&query->statements, text);
}

static void apply(struct query *query, int key, const struct cli_parser *parser)
{
    const char *value = parser->value;

    switch (key) {
    case OPTION_FORMAT:
        query->session.format.kind = (enum format_kind)parser->choice;
        query->has_format = true;
        break;
    case OPTION_FILE:
        cli_texts_add(&query->files, value);
        break;
    case OPTION_PARAMETER:
        if (!strchr(value, '=') || value[0] == '=')
            cli_usage_error("-p: '%s' is not NAME=VALUE", value);
        cli_texts_add(&query->session.parameters, value);
        break;
    case OPTION_WRITE:
        query->session.write = true;
        break;
    case OPTION_TIMEOUT:
        query->session.timeout_s = parse_seconds(value);
        break;
    case OPTION_NO_HEADER:
        query->session.format.no_header = true;
        break;
    case OPTION_CSV_SAFE:
        query->session.format.csv_safe = true;
        break;
    case OPTION_NULL:
        query->session.format.null = value;
        break;
    case OPTION_TIMER:
        query->session.timer = true;
        break;
    case OPTION_MEMORY:
        source_take_memory(value);
        break;
    case OPTION_CACHE:
        query->cache = true;
        break;
    default:
        take_operand(query, value);
        break;
    }
}

/* What stands behind the store is SQL: no other store, and no file with SQL.  */
static void check_statements(const struct query *query)
{
    for (size_t i = 0; i < query->statements.count; i++) {
        const char *sql = query->statements.items[i];

        if (*sql != '.' && access(sql, F_OK) == 0)
            cli_usage_error("'%s' is a file, but SQL was expected; use --file=FILE for a file with "
                            "SQL, and 'fxtq import' to put several captures into one store",
                            sql);
    }
}

/* A word that stands for no file may have been meant for a command.  */
static void explain_missing(const char *path)
{
    if (access(path, F_OK) == 0 || errno != ENOENT || strpbrk(path, "./ "))
        return;
    if (fxtq_is_report(path)) {
        cli_note("'%s' is a report: fxtq report %s STORE|TRACE", path, path);
        return;
    }
    for (size_t i = 0; fxtq_program.commands[i]; i++) {
        const char *command = strchr(fxtq_program.commands[i]->name, ' ') + 1;

        if (near_is_meant(path, command)) {
            cli_note("'%s' is not a command, either; did you mean 'fxtq %s'?", path, command);
            return;
        }
    }
    cli_note("'%s' is not a command, either; 'fxtq --help' lists the commands", path);
}

static void choose_format(struct query *query)
{
    struct format_options *format = &query->session.format;
    bool terminal = isatty(STDOUT_FILENO);

    format->columns = cli_columns(stdout);
    format->terminal = terminal;
    if (!query->has_format)
        format->kind = !terminal ? FORMAT_TSV : cli_is_utf8() ? FORMAT_BOX : FORMAT_TABLE;
}

/* STORE#2 sets the parameter :capture, because SQL chooses its rows itself.  */
static void take_capture(struct query *query)
{
    struct base_text parameter = { .bytes = NULL };

    query->path = source_take_capture(query->path, &query->capture);
    if (query->capture == 0)
        return;
    text_addf(&parameter, "capture=%lld", (long long)query->capture);
    query->capture_parameter = parameter.bytes;
    cli_texts_add(&query->session.parameters, parameter.bytes);
}

static enum cli_exit find_capture(const struct query *query, struct store *store)
{
    struct store_error error;
    struct store_span span;

    if (query->capture == 0)
        return CLI_OK;
    if (store_span(store, query->capture, &span, &error) != STORE_OK)
        return fxtq_complain(query->path, &error);
    if (span.captures == 0)
        cli_usage_error("%s: there is no capture %lld", query->path, (long long)query->capture);
    return CLI_OK;
}

/* SQL without :capture has read all captures.  */
static enum cli_exit check_capture_used(const struct query *query)
{
    const struct session *session = &query->session;

    if (query->capture == 0 || session->parameters_used[session->parameters.count - 1])
        return CLI_OK;
    cli_error("%s#%lld: no statement uses :capture, so the rows are those of all captures; add "
              "capture_id = :capture, or for call_top and its like capture = :capture",
              query->path, (long long)query->capture);
    return CLI_USAGE;
}

static enum cli_exit run_files(struct query *query, struct commands *commands)
{
    enum cli_exit status = CLI_OK;

    for (size_t i = 0; i < query->files.count && status == CLI_OK; i++) {
        char *sql = file_read_text(query->files.items[i]);
        bool is_stdin = strcmp(query->files.items[i], "-") == 0;

        status = sql ? commands_run_sql(commands, sql,
                                        is_stdin ? "standard input" : query->files.items[i])
                     : CLI_ENVIRONMENT;
        free(sql);
    }
    return status;
}

/* What was asked for: files, then the command line; else a shell, or what stands in stdin.  */
static enum cli_exit ask(struct query *query, struct commands *commands)
{
    enum cli_exit status;

    if (query->files.count + query->statements.count == 0) {
        if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) {
            shell_run(commands, query->path);
            return CLI_OK;
        }
        cli_texts_add(&query->files, "-");
    }
    interrupt_catch();
    status = run_files(query, commands);
    for (size_t i = 0; i < query->statements.count && status == CLI_OK; i++)
        status = commands_run_sql(commands, query->statements.items[i], NULL);
    if (status == CLI_OK)
        status = check_capture_used(query);
    if (status == CLI_OK)
        status = script_check_parameters(&query->session);
    return status;
}

static enum cli_exit ask_store(struct query *query, struct source *source)
{
    struct commands commands = { .pages = false };
    struct cli_output output;
    enum cli_exit status = find_capture(query, source->store);

    if (status == CLI_OK && !query->session.write)
        status = source_use_columns(source, query->path);
    if (status == CLI_OK)
        status = cli_output_open(&output, NULL);
    if (status != CLI_OK)
        return status;
    query->session.store = source->store;
    query->session.db = store_sqlite(source->store);
    query->session.output = &output;
    status = session_start(&query->session);
    if (status == CLI_OK) {
        commands_start(&commands, &query->session);
        status = ask(query, &commands);
        commands_end(&commands);
        session_end(&query->session);
    }
    query->session.output = NULL;
    return cli_worse(status, cli_output_commit(&output));
}

int fxtq_query(char **argv)
{
    struct query query = { .path = NULL };
    struct cli_parser parser;
    struct source source;
    enum cli_exit status;
    int key;

    cli_start(&parser, &fxtq_program, argv);
    while ((key = cli_next(&parser)) != CLI_END)
        apply(&query, key, &parser);
    if (!query.path)
        cli_usage_error("no store given");
    if (query.cache && query.session.write)
        cli_usage_error("--cache and --write cannot be combined, because a cache is replaced when "
                        "the trace changes; create a store with 'fxtq import %s -o STORE'",
                        query.path);
    take_capture(&query);
    if (access(query.path, F_OK) == 0)
        check_statements(&query);
    choose_format(&query);
    if (query.session.format.csv_safe && query.session.format.kind != FORMAT_CSV &&
        query.session.format.kind != FORMAT_TSV)
        cli_usage_error("--csv-safe is for --format csv and tsv");
    status = source_open(&source, query.path, query.session.write, query.cache);
    if (source.store) {
        status = cli_worse(status, ask_store(&query, &source));
        source_note_damage(&source, query.path);
    } else {
        explain_missing(query.path);
    }
    source_close(&source);
    free(query.statements.items);
    free(query.files.items);
    free(query.session.parameters.items);
    free(query.capture_parameter);
    interrupt_pass_on();
    return (int)status;
}
