#include "cmd/fxtq/filters.h"

bool filters_take(struct filters *filters, int key, const char *value)
{
    const char **const texts[] = {
        [SELECT_TYPE - SELECT_FIRST] = &filters->type,
        [SELECT_FOCUS - SELECT_FIRST] = &filters->focus,
        [SELECT_IGNORE - SELECT_FIRST] = &filters->ignore,
        [SELECT_HIDE - SELECT_FIRST] = &filters->hide,
        [SELECT_SHOW_FROM - SELECT_FIRST] = &filters->show_from,
        [SELECT_TIME - SELECT_FIRST] = NULL,
        [SELECT_PID - SELECT_FIRST] = &filters->pids,
        [SELECT_TID - SELECT_FIRST] = &filters->tids,
        [SELECT_COMM - SELECT_FIRST] = &filters->comms,
        [SELECT_CPU - SELECT_FIRST] = &filters->cpus,
    };

    if (key < SELECT_FIRST || key > SELECT_CAPTURE)
        return false;
    if (key == SELECT_CAPTURE)
        filters->capture = (int64_t)cli_number("--capture", value, 1, INT64_MAX);
    else if (key == SELECT_TIME)
        cli_select_time(&filters->time, "--time", value);
    else
        *texts[key - SELECT_FIRST] = value;
    return true;
}

static void bind_text(sqlite3_stmt *statement, const char *name, const char *text)
{
    int place = sqlite3_bind_parameter_index(statement, name);

    if (place && text)
        (void)sqlite3_bind_text(statement, place, text, -1, SQLITE_STATIC);
}

static void bind_number(sqlite3_stmt *statement, const char *name, int64_t number)
{
    int place = sqlite3_bind_parameter_index(statement, name);

    if (place)
        (void)sqlite3_bind_int64(statement, place, number);
}

static void bind_time(sqlite3_stmt *statement, const char *name, const struct cli_time *time,
                      int64_t first_ts)
{
    int64_t ns = time->ns;

    if (!time->given)
        return;
    if (time->relative && __builtin_add_overflow(ns, first_ts, &ns))
        ns = time->ns < 0 ? INT64_MIN : INT64_MAX;
    bind_number(statement, name, ns);
}

void filters_bind(const struct filters *filters, sqlite3_stmt *statement, int64_t first_ts)
{
    bind_text(statement, ":type", filters->type);
    bind_text(statement, ":focus", filters->focus);
    bind_text(statement, ":ignore", filters->ignore);
    bind_text(statement, ":hide", filters->hide);
    bind_text(statement, ":show_from", filters->show_from);
    bind_text(statement, ":pid", filters->pids);
    bind_text(statement, ":tid", filters->tids);
    bind_text(statement, ":comm", filters->comms);
    bind_text(statement, ":cpu", filters->cpus);
    bind_time(statement, ":from_ts", &filters->time.from, first_ts);
    bind_time(statement, ":limit_ts", &filters->time.limit, first_ts);
    if (filters->capture)
        bind_number(statement, ":capture", filters->capture);
}

int filters_first_ts(const struct filters *filters, sqlite3 *db, int64_t *out)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(
        db, "SELECT min(start_ts) FROM main.capture WHERE :capture IS NULL OR id = :capture", -1,
        &statement, NULL);

    *out = 0;
    if (code == SQLITE_OK) {
        if (filters->capture)
            bind_number(statement, ":capture", filters->capture);
        code = sqlite3_step(statement);
        if (code == SQLITE_ROW)
            *out = sqlite3_column_int64(statement, 0);
    }
    (void)sqlite3_finalize(statement);
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}
