#include "cmd/fxtq/filters.h"

#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/store_content.h>
#include "cmd/cli/profiles.h"

/* ---- Options ---- */

enum {
    KEY_TYPE = 20000, /* behind all of cmd/cli */
    KEY_FOCUS,
    KEY_IGNORE,
    KEY_HIDE,
    KEY_SHOW_FROM,
    KEY_TIME,
    KEY_PID,
    KEY_TID,
    KEY_COMM,
    KEY_CPU,
    KEY_CAPTURE,
};

const struct cli_option filters_options[] = {
    { KEY_TYPE, 0, "sample-type", "TYPE",
      "sample type, as in table sample_type: cpu, alloc_space, inuse_space, ... (default: cpu, "
      "else inuse_space, else the first in the store)",
      CLI_HINT, cli_sample_types },
    { KEY_FOCUS, 0, "focus", "REGEX", "only stacks with a matching frame" },
    { KEY_IGNORE, 0, "ignore", "REGEX", "only stacks without a matching frame" },
    { KEY_HIDE, 0, "hide", "REGEX", "remove matching functions from stacks" },
    { KEY_SHOW_FROM, 0, "show-from", "REGEX",
      "start stacks at the outermost match; omit stacks without one" },
    { KEY_TIME, 0, "time", "FROM,TO",
      "only FROM <= time < TO: +1.5s counts from the start of the capture, a bare number is "
      "absolute; either end may be omitted" },
    { KEY_PID, 'p', "pid", "PID", "only this process; several: 1,2 or repeat the option", CLI_PID },
    { KEY_TID, 't', "tid", "TID", "only this thread", CLI_TID },
    { KEY_COMM, 0, "comm", "NAME",
      "only threads of this name; for data without threads, processes of this name", CLI_COMM },
    { KEY_CPU, 0, "cpu", "CPU", "only this CPU", CLI_CPU },
    { KEY_CAPTURE, 0, "capture", "ID", "only capture ID of the store (default: all)", CLI_CAPTURE },
    { 0 },
};

/* "1,2", each a number.  */
static void add_numbers(struct base_text *list, const char *option, const char *value)
{
    while (true) {
        size_t length = strcspn(value, ",");
        char item[32];

        (void)snprintf(item, sizeof item, "%.*s", (int)(length < 31 ? length : 31), value);
        text_addf(list, "%s%" PRIu64, list->length ? "," : "",
                  cli_number(option, item, 0, UINT32_MAX));
        if (value[length] == '\0')
            return;
        value += length + 1;
    }
}

static void add_names(struct base_text *list, const char *value)
{
    text_adds(list, list->bytes ? "," : "");
    text_adds(list, value);
}

static void take_time(struct filters *filters, const char *value)
{
    struct cli_select select = { .kinds = 0 };

    cli_select_time(&select, "--time", value);
    filters->from = select.from;
    filters->limit = select.limit;
    cli_select_release(&select);
    filters->given |= FILTER_TIME;
}

void filters_check_pattern(const char *name, const char *pattern)
{
    regex_t regex;
    char reason[128];
    int code = regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB);

    if (code == REG_ESPACE)
        cli_out_of_memory();
    if (code != 0) {
        (void)regerror(code, &regex, reason, sizeof reason);
        cli_usage_error("%s'%s' is not a regular expression: %s", name, pattern, reason);
    }
    regfree(&regex);
}

static void take_pattern(struct filters *filters, const char **text, unsigned bit, const char *name,
                         const char *value)
{
    filters_check_pattern(name, value);
    *text = value;
    filters->given |= bit;
}

bool filters_take(struct filters *filters, int key, const char *value)
{
    switch (key) {
    case KEY_TYPE:
        filters->type = value;
        return true;
    case KEY_FOCUS:
        take_pattern(filters, &filters->focus, FILTER_STACK, "--focus: ", value);
        return true;
    case KEY_IGNORE:
        take_pattern(filters, &filters->ignore, FILTER_STACK, "--ignore: ", value);
        return true;
    case KEY_HIDE:
        take_pattern(filters, &filters->hide, FILTER_SHAPE, "--hide: ", value);
        return true;
    case KEY_SHOW_FROM:
        take_pattern(filters, &filters->show_from, FILTER_SHAPE, "--show-from: ", value);
        return true;
    case KEY_TIME:
        take_time(filters, value);
        return true;
    case KEY_PID:
        add_numbers(&filters->pids, "--pid", value);
        filters->given |= FILTER_PROCESS;
        return true;
    case KEY_TID:
        add_numbers(&filters->tids, "--tid", value);
        filters->given |= FILTER_THREAD;
        return true;
    case KEY_COMM:
        add_names(&filters->comms, value);
        filters->given |= FILTER_COMM;
        return true;
    case KEY_CPU:
        add_numbers(&filters->cpus, "--cpu", value);
        filters->given |= FILTER_CPU;
        return true;
    case KEY_CAPTURE:
        filters->capture = (int64_t)cli_number("--capture", value, 1, INT64_MAX);
        return true;
    default:
        return false;
    }
}

const char *filters_given_name(const struct filters *filters, unsigned bits)
{
    const struct {
        bool given;
        unsigned bit;
        const char *name;
    } options[] = {
        { filters->focus != NULL, FILTER_STACK, "--focus" },
        { filters->ignore != NULL, FILTER_STACK, "--ignore" },
        { filters->hide != NULL, FILTER_SHAPE, "--hide" },
        { filters->show_from != NULL, FILTER_SHAPE, "--show-from" },
        { filters->from.given || filters->limit.given, FILTER_TIME, "--time" },
        { filters->pids.bytes != NULL, FILTER_PROCESS, "--pid" },
        { filters->tids.bytes != NULL, FILTER_THREAD, "--tid" },
        { filters->comms.bytes != NULL, FILTER_COMM, "--comm" },
        { filters->cpus.bytes != NULL, FILTER_CPU, "--cpu" },
    };
    size_t i = 0;

    while (i < sizeof options / sizeof *options - 1 &&
           (!options[i].given || !(options[i].bit & bits)))
        i++;
    return options[i].name;
}

void filters_release(struct filters *filters)
{
    free(filters->pids.bytes);
    free(filters->tids.bytes);
    free(filters->comms.bytes);
    free(filters->cpus.bytes);
}

/* ---- Times ---- */

static int64_t resolve(const struct filters *filters, const struct cli_time *time)
{
    int64_t ts;

    if (!time->relative)
        return time->ns;
    if (!__builtin_add_overflow(filters->start_ts, time->ns, &ts))
        return ts;
    return time->ns < 0 ? INT64_MIN : INT64_MAX;
}

enum cli_exit filters_resolve(struct filters *filters, sqlite3 *db)
{
    sqlite3_stmt *row = NULL;
    int64_t count = 0, timed = 0; /* captures; those that have times */
    bool profiles = false;
    int code = sqlite3_prepare_v2(db,
                                  "SELECT min(start_ts), max(end_ts), count(*), count(start_ts), "
                                  "min(format <> 'fxt') FROM main.capture WHERE ?1 IN (0, id)",
                                  -1, &row, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(row, 1, filters->capture);
    if (code == SQLITE_OK)
        code = sqlite3_step(row);
    if (code == SQLITE_ROW) {
        filters->start_ts = sqlite3_column_int64(row, 0);
        filters->end_ts = sqlite3_column_int64(row, 1);
        count = sqlite3_column_int64(row, 2);
        timed = sqlite3_column_int64(row, 3);
        profiles = sqlite3_column_int64(row, 4) != 0;
    }
    (void)sqlite3_finalize(row);
    if (code != SQLITE_ROW) {
        cli_error("%s", sqlite3_errmsg(db));
        return code == SQLITE_CORRUPT ? CLI_DAMAGED : CLI_ENVIRONMENT;
    }
    if (filters->capture && count == 0)
        cli_usage_error("--capture: there is no capture %" PRId64, filters->capture);
    if ((filters->from.given || filters->limit.given) && count > 0 && timed == 0)
        cli_usage_error("--time: %s have no time",
                        profiles ? "samples of profiles" : "the records of the trace");
    if ((filters->from.relative || filters->limit.relative) && timed > 1)
        cli_usage_error("--time: which of the %" PRId64 " captures? Give --capture ID", timed);
    filters->has_from = filters->from.given;
    filters->has_limit = filters->limit.given;
    filters->from_ts = resolve(filters, &filters->from);
    filters->limit_ts = resolve(filters, &filters->limit);
    return CLI_OK;
}

/* ---- Sample types ---- */

static bool add_type(void *context, const struct store_sample_type *type)
{
    struct base_text *names = context;

    if (type->there)
        text_addf(names, "%s%s/%s", names->length ? ", " : "", type->type, type->unit);
    return true;
}

enum cli_exit filters_check_type(const struct filters *filters, sqlite3 *db, const char *path)
{
    struct base_text names = { .bytes = NULL };
    bool known = true;
    int code = SQLITE_OK;

    if (filters->type)
        code = store_sample_type_is_known(db, filters->type, &known);
    if (code == SQLITE_OK && !known)
        code = store_sample_types_each(db, 0, add_type, &names);
    if (code == SQLITE_OK && !known)
        cli_usage_error("--sample-type: there are no samples of type '%s' in %s%s%s", filters->type,
                        path, names.length ? ", only " : "", names.length ? names.bytes : "");
    free(names.bytes);
    if (code == SQLITE_OK)
        return CLI_OK;
    cli_error("%s: %s", path, sqlite3_errmsg(db));
    return code == SQLITE_CORRUPT ? CLI_DAMAGED : CLI_ENVIRONMENT;
}

const char *filters_why_empty(const struct filters *filters, sqlite3 *db)
{
    unsigned found = 0;

    if (filters->given)
        return "nothing passes the filters";
    (void)store_has(db, filters->capture, STORE_HAS_DURATIONS, &found); /* nothing more to say */
    return found ? "no samples, but durations (fxtq report slices)" : "no samples";
}

/* ---- As parameters ---- */

static void bind_text(sqlite3_stmt *statement, const char *name, const char *text)
{
    int place = sqlite3_bind_parameter_index(statement, name);

    if (place && text)
        (void)sqlite3_bind_text(statement, place, text, -1, SQLITE_STATIC);
}

static void bind_number(sqlite3_stmt *statement, const char *name, bool given, int64_t number)
{
    int place = sqlite3_bind_parameter_index(statement, name);

    if (place && given)
        (void)sqlite3_bind_int64(statement, place, number);
}

void filters_bind(const struct filters *filters, sqlite3_stmt *statement)
{
    bind_text(statement, ":type", filters->type);
    bind_text(statement, ":focus", filters->focus);
    bind_text(statement, ":ignore", filters->ignore);
    bind_text(statement, ":hide", filters->hide);
    bind_text(statement, ":show_from", filters->show_from);
    bind_text(statement, ":pid", filters->pids.bytes);
    bind_text(statement, ":tid", filters->tids.bytes);
    bind_text(statement, ":comm", filters->comms.bytes);
    bind_text(statement, ":cpu", filters->cpus.bytes);
    bind_number(statement, ":from_ts", filters->has_from, filters->from_ts);
    bind_number(statement, ":limit_ts", filters->has_limit, filters->limit_ts);
    bind_number(statement, ":capture", filters->capture != 0, filters->capture);
}

/* ---- As SQL ---- */

static void add_argument(struct base_text *sql, const char **separator, const char *name,
                         const char *value)
{
    if (!value)
        return;
    text_addf(sql, "%s%s = ", *separator, name);
    text_add_literal(sql, value);
    *separator = " AND ";
}

static void add_number(struct base_text *sql, const char **separator, const char *name, bool given,
                       int64_t value)
{
    if (!given)
        return;
    text_addf(sql, "%s%s = %" PRId64, *separator, name, value);
    *separator = " AND ";
}

void filters_add_arguments(const struct filters *filters, const char *type, const char *per,
                           struct base_text *sql)
{
    const char *separator = " WHERE ";

    add_argument(sql, &separator, "type", type);
    add_argument(sql, &separator, "per", per);
    add_argument(sql, &separator, "focus", filters->focus);
    add_argument(sql, &separator, "ignore", filters->ignore);
    add_argument(sql, &separator, "hide", filters->hide);
    add_argument(sql, &separator, "show_from", filters->show_from);
    add_number(sql, &separator, "from_ts", filters->has_from, filters->from_ts);
    add_number(sql, &separator, "limit_ts", filters->has_limit, filters->limit_ts);
    add_argument(sql, &separator, "pid", filters->pids.bytes);
    add_argument(sql, &separator, "tid", filters->tids.bytes);
    add_argument(sql, &separator, "comm", filters->comms.bytes);
    add_argument(sql, &separator, "cpu", filters->cpus.bytes);
    add_number(sql, &separator, "capture", filters->capture != 0, filters->capture);
}

void filters_add_in(struct base_text *sql, const char *expression, const struct base_text *list,
                    bool names)
{
    if (!list->bytes)
        return;
    text_addf(sql, " AND %s IN (", expression);
    for (const char *item = list->bytes;;) {
        size_t length = strcspn(item, ",");
        char *copy = cli_allocate(length + 1, 1);

        memcpy(copy, item, length);
        if (names)
            text_add_literal(sql, copy);
        else
            text_adds(sql, copy);
        free(copy);
        if (item[length] == '\0')
            break;
        text_adds(sql, ", ");
        item += length + 1;
    }
    text_adds(sql, ")");
}

/* ---- For libstore ---- */

unsigned filters_tell(const struct filters *filters)
{
    return (filters->given & FILTER_CPU ? STORE_TELLS_CPU : 0u) |
           (filters->given & FILTER_TIME ? STORE_TELLS_TIME : 0u) |
           (filters->given & FILTER_THREAD ? STORE_TELLS_THREAD : 0u);
}

void filters_to_store(const struct filters *filters, struct store_filter *out)
{
    *out = (struct store_filter){
        .size = sizeof *out,
        .sample_type = filters->type,
        .focus = filters->focus,
        .ignore = filters->ignore,
        .hide = filters->hide,
        .show_from = filters->show_from,
        .has_from = filters->has_from,
        .has_limit = filters->has_limit,
        .from_ts = filters->from_ts,
        .limit_ts = filters->limit_ts,
        .pids = filters->pids.bytes,
        .tids = filters->tids.bytes,
        .comms = filters->comms.bytes,
        .cpus = filters->cpus.bytes,
        .capture = filters->capture,
    };
}
