/* script.c - one statement after the other.  */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <fxt/store.h>

#include "base/width.h"
#include "cmd/cli/near.h"
#include "cmd/fxtq/sql_session.h"

static int64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- Where it is wrong ---- */

/* The line of sql that holds offset, and a mark below it.  */
static void show_place(const char *sql, size_t offset)
{
    size_t start = offset, end = offset, from, column;
    size_t columns = cli_columns(stderr);
    size_t room = columns > 20 && columns < 103 ? columns - 3 : 100;

    while (start > 0 && sql[start - 1] != '\n')
        start--;
    while (sql[end] && sql[end] != '\n')
        end++;
    from = offset - start > room * 6 / 10 ? offset - room * 6 / 10 : start;
    while (from < offset && ((unsigned char)sql[from] & 0xc0) == 0x80) /* cut no character */
        from++;
    if (end - from > room)
        end = from + room;
    while (end > offset && ((unsigned char)sql[end] & 0xc0) == 0x80)
        end--;
    column = base_width_text(sql + from, offset - from);
    cli_note("  %.*s", (int)(end - from), sql + from);
    cli_note("  %*s^", (int)column, "");
}

/* Tables with names like that of a table that is not there.  */
static void show_tables_like(const struct session *session, const char *message)
{
    static const char lead[] = "no such table: ";
    struct base_text names = { .bytes = NULL };
    sqlite3_stmt *row = NULL;
    unsigned count = 0;
    const char *wanted = message + strlen(lead);

    if (strncmp(message, lead, strlen(lead)) != 0 ||
        sqlite3_prepare_v2(session->db,
                           "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND "
                           "name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY name",
                           -1, &row, NULL) != SQLITE_OK)
        return;
    wanted = strchr(wanted, '.') ? strchr(wanted, '.') + 1 : wanted;
    while (count < 5 && sqlite3_step(row) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(row, 0);

        if (name && near_is_meant(wanted, name))
            base_text_addf(&names, "%s%s", count++ ? ", " : "", name);
    }
    (void)sqlite3_finalize(row);
    if (count > 0 && !names.failed)
        cli_note("  there is: %s", names.bytes);
    base_text_release(&names);
}

/* Counted from 1.  */
static unsigned line_of(const char *sql, size_t offset)
{
    unsigned line = 1;

    for (size_t i = 0; i < offset; i++)
        line += sql[i] == '\n';
    return line;
}

/* An error that has a place, or a file whose line can be said.  */
static void fail_in_text(const struct session *session, const char *sql, size_t offset, bool exact,
                         const char *name)
{
    session_settle(session);
    if (name)
        cli_error("%s:%u: %s", name, line_of(sql, offset), sqlite3_errmsg(session->db));
    else
        cli_error("%s", sqlite3_errmsg(session->db));
    if (exact)
        show_place(sql, offset);
}

static enum cli_exit fail_at(const struct session *session, int code, const char *sql,
                             const char *statement, const char *name)
{
    int within = sqlite3_error_offset(session->db); /* -1: SQLite does not say */
    size_t offset = (size_t)(statement - sql);
    enum cli_exit status = CLI_USAGE;
    struct base_text message = { .bytes = NULL };

    base_text_adds(&message, sqlite3_errmsg(session->db));
    offset += within >= 0 ? (size_t)within : strspn(statement, " \t\r\n");
    if ((code & 0xff) != SQLITE_ERROR || (within < 0 && !name))
        status = session_fail(session, code);
    else
        fail_in_text(session, sql, offset, within >= 0, name);
    if (!message.failed)
        show_tables_like(session, message.bytes);
    base_text_release(&message);
    return status;
}

/* ---- Parameters ---- */

static bool is_named(const char *item, const char *name)
{
    size_t length = strlen(name);

    return strncmp(item, name, length) == 0 && item[length] == '=';
}

void session_set_parameter(struct session *session, const char *name, const char *value)
{
    struct base_text item = { .bytes = NULL };
    size_t i = 0;

    text_addf(&item, "%s=%s", name, value);
    while (i < session->set.count && !is_named(session->set.items[i], name))
        i++;
    if (i < session->set.count) {
        free((char *)session->set.items[i]);
        session->set.items[i] = item.bytes;
    } else {
        cli_texts_add(&session->set, item.bytes);
    }
}

/* The value behind "NAME=" when its name is the given one.  */
static const char *parameter_value(const struct session *session, const char *name)
{
    const char *value = NULL;

    for (size_t i = 0; i < session->parameters.count; i++) {
        if (!is_named(session->parameters.items[i], name))
            continue;
        session->parameters_used[i] = true;
        value = session->parameters.items[i]; /* the last one given counts */
    }
    for (size_t i = 0; i < session->set.count; i++)
        if (is_named(session->set.items[i], name))
            value = session->set.items[i];
    return value ? value + strlen(name) + 1 : NULL;
}

/* Whole numbers and decimal ones as such, all else as text.  */
static int bind_value(sqlite3_stmt *statement, int index, const char *value)
{
    char *end;
    long long whole;
    double real;

    if (*value && !isspace((unsigned char)*value)) {
        errno = 0;
        whole = strtoll(value, &end, 10);
        if (*end == '\0' && errno == 0)
            return sqlite3_bind_int64(statement, index, whole);
        errno = 0;
        real = strtod(value, &end);
        if (*end == '\0' && errno == 0 && strspn(value, "+-.0123456789eE") == strlen(value))
            return sqlite3_bind_double(statement, index, real);
    }
    return sqlite3_bind_text(statement, index, value, -1, SQLITE_STATIC);
}

static enum cli_exit bind_all(struct session *session, sqlite3_stmt *statement)
{
    int count = sqlite3_bind_parameter_count(statement);

    for (int i = 1; i <= count; i++) {
        const char *name = sqlite3_bind_parameter_name(statement, i);
        const char *value;

        if (!name || name[0] == '?') {
            session_settle(session);
            cli_error("parameters need names: write :name in SQL, and use -p name=VALUE or "
                      ".parameter name VALUE");
            return CLI_USAGE;
        }
        value = parameter_value(session, name + 1);
        if (!value) {
            session_settle(session);
            cli_error("%s has no value; use -p %s=VALUE or .parameter %s VALUE", name, name + 1,
                      name + 1);
            return CLI_USAGE;
        }
        if (bind_value(statement, i, value) != SQLITE_OK)
            return session_fail(session, sqlite3_errcode(session->db));
    }
    return CLI_OK;
}

enum cli_exit script_check_parameters(const struct session *session)
{
    for (size_t i = 0; i < session->parameters.count; i++) {
        const char *item = session->parameters.items[i];
        int length = (int)strcspn(item, "=");

        if (session->parameters_used[i])
            continue;
        cli_error("-p %.*s: no statement has :%.*s", length, item, length, item);
        return CLI_USAGE;
    }
    return CLI_OK;
}

/* ---- Rows ---- */

static void fetch_cell(sqlite3_stmt *statement, int column, struct format_cell *cell)
{
    *cell = (struct format_cell){ .type = FORMAT_NULL };
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
        cell->type = FORMAT_INTEGER;
        cell->integer = sqlite3_column_int64(statement, column);
        break;
    case SQLITE_FLOAT:
        cell->type = FORMAT_REAL;
        cell->real = sqlite3_column_double(statement, column);
        break;
    case SQLITE_TEXT:
        cell->type = FORMAT_TEXT;
        cell->bytes = (const char *)sqlite3_column_text(statement, column);
        cell->length = (size_t)sqlite3_column_bytes(statement, column);
        break;
    case SQLITE_BLOB:
        cell->type = FORMAT_BLOB;
        cell->bytes = sqlite3_column_blob(statement, column);
        cell->length = (size_t)sqlite3_column_bytes(statement, column);
        break;
    default:
        break;
    }
    if (!cell->bytes) /* a blob of no bytes, or no memory: the next step says so */
        cell->bytes = "";
}

/* From the first step, which gave code, to the end, printing rows.  SQLITE_DONE or what went
 * wrong.  */
static int print_rows(struct session *session, sqlite3_stmt *statement, struct format *format,
                      int code)
{
    size_t count = (size_t)sqlite3_column_count(statement);
    struct format_cell *cells = cli_allocate(count, sizeof *cells);

    for (; code == SQLITE_ROW && !session->output->failed; code = sqlite3_step(statement)) {
        if (count == 0)
            continue;
        for (size_t i = 0; i < count; i++)
            fetch_cell(statement, (int)i, &cells[i]);
        format_row(format, cells);
    }
    free(cells);
    return session->output->failed ? SQLITE_DONE : code;
}

static int run_statement(struct session *session, sqlite3_stmt *statement, struct format *format)
{
    size_t count = (size_t)sqlite3_column_count(statement);
    struct format_column *columns = cli_allocate(count, sizeof *columns);
    int64_t start = now_ns(), duration_ns;
    bool shown;
    int code;

    session_begin_statement(session);
    for (size_t i = 0; i < count; i++) {
        columns[i].name = sqlite3_column_name(statement, (int)i);
        if (!columns[i].name)
            columns[i].name = "";
    }
    code = sqlite3_step(statement); /* what fails at once has no heading */
    shown = count > 0 && (code == SQLITE_ROW || code == SQLITE_DONE);
    if (shown)
        format_begin(format, columns, count);
    code = print_rows(session, statement, format, code);
    if (shown)
        format_end(format);
    free(columns);
    session->deadline_ns = 0;
    duration_ns = now_ns() - start;
    if (session->timer && code == SQLITE_DONE) {
        session_settle(session);
        cli_note("%.3f s", (double)duration_ns / 1e9);
    }
    return code;
}

static enum cli_exit run_prepared(struct session *session, sqlite3_stmt *statement,
                                  struct format *format)
{
    enum cli_exit status = bind_all(session, statement);
    int code;

    if (status != CLI_OK)
        return status;
    code = run_statement(session, statement, format);
    return code == SQLITE_DONE ? CLI_OK : session_fail(session, code);
}

static enum cli_exit run_next(struct session *session, const char *sql, const char **next,
                              const char *name, struct format *format)
{
    const char *start = *next;
    sqlite3_stmt *statement = NULL;
    enum cli_exit status = CLI_OK;
    bool prepared;

    session->denied[0] = '\0';
    session->preparing = true;
    prepared = store_prepare_once(session->store, start, &statement, next);
    session->preparing = false;
    if (!prepared)
        status = fail_at(session, sqlite3_errcode(store_sqlite(session->store)), sql, start, name);
    else if (statement)
        status = run_prepared(session, statement, format);
    (void)sqlite3_finalize(statement);
    return status;
}

/* Where a statement or a command begins, behind blanks and comments.  */
static const char *skip_blanks(const char *sql)
{
    for (;;) {
        sql += strspn(sql, " \t\r\n\f");
        if (sql[0] == '-' && sql[1] == '-') {
            sql += strcspn(sql, "\n");
        } else if (sql[0] == '/' && sql[1] == '*') {
            const char *end = strstr(sql + 2, "*/");

            if (!end)
                return sql; /* SQLite says what it thinks of it */
            sql = end + 2;
        } else {
            return sql;
        }
    }
}

static bool begins_line(const char *sql, const char *start)
{
    while (start > sql && (start[-1] == ' ' || start[-1] == '\t'))
        start--;
    return start == sql || start[-1] == '\n';
}

/* The line at *next.  */
static enum cli_exit run_command(struct session *session, const char *sql, const char **next,
                                 const char *name)
{
    size_t length = strcspn(*next, "\n");
    struct base_text where = { .bytes = NULL }, line = { .bytes = NULL };
    enum cli_exit status;

    text_adds(&where, "");
    if (name)
        text_addf(&where, "%s:%u: ", name, line_of(sql, (size_t)(*next - sql)));
    text_add(&line, *next, length);
    line.bytes[strcspn(line.bytes, "\r")] = '\0';
    *next += length;
    status = session->command(session->context, where.bytes, line.bytes);
    free(line.bytes);
    free(where.bytes);
    return status;
}

enum cli_exit script_run(struct session *session, const char *sql, const char *name)
{
    struct format *format = NULL;
    enum cli_exit status = CLI_OK;

    for (const char *next = sql; status == CLI_OK && !session->quits && !session->output->failed;) {
        next = skip_blanks(next);
        if (!*next)
            break;
        if (session->command && *next == '.' && begins_line(sql, next)) {
            format_free(format); /* the command may be about it */
            format = NULL;
            status = run_command(session, sql, &next, name);
            continue;
        }
        if (!format)
            format = format_new(&session->format, session->output);
        status = run_next(session, sql, &next, name, format);
    }
    format_free(format);
    return status;
}
