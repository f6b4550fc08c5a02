/* Stores of former versions become stores of this one.  */
#include <stdio.h>
#include <string.h>

#include "libstore/store_internal.h"

/* Woken threads were runnable, R, as preempted ones are; they are those that waited for something
 * else until then, or that have a waker.  Counters had no id in their names.  */
static const char to_version_2[] =
    "UPDATE thread_wait SET state = 'W' WHERE state = 'R' AND (waker_utid IS NOT NULL OR id IN (\n"
    "  SELECT id FROM (SELECT id, ts, lag(ts + dur) OVER (PARTITION BY utid ORDER BY ts, id) AS"
    " before FROM thread_wait) WHERE before = ts));\n"
    "UPDATE track SET name = name || ':' || printf('%u', cookie)\n"
    "WHERE type = 'counter' AND cookie IS NOT NULL;\n"
    "DROP VIEW thread_state;\n"
    "CREATE VIEW thread_state AS\n"
    "SELECT 2 * id AS id, ts, dur, cpu, utid, 'Running' AS state, NULL AS waker_utid\n"
    "FROM sched_slice WHERE utid <> 0\n"
    "UNION ALL\n"
    "SELECT 2 * id + 1, ts, dur, NULL, utid, state, iif(state = 'W', coalesce(waker_utid, utid), "
    "NULL)\n"
    "FROM thread_wait;";

/* ---- Version 3: foreign keys, capture.first_sched_id, views with types and capture_id ---- */

/* A statement of schemas/store.sql that makes something.  */
struct object {
    const char *sql;
    int length; /* without the ";" */
    char type[16], name[64];
};

/* The ";" that ends a statement, which is in no comment and no text; a trigger's follows its END.
 * NULL: there is none.  */
static const char *end_of(const char *sql)
{
    bool is_trigger = strncmp(sql, "CREATE TRIGGER ", 15) == 0;
    const char *at = sql;

    while (at && (at = strpbrk(at, "-';")) != NULL) {
        if (*at == ';' && (!is_trigger || strncmp(at - 4, "\nEND", 4) == 0))
            return at;
        if (*at == '\'')
            at = strchr(at + 1, '\'');
        else if (at[0] == '-' && at[1] == '-')
            at = strchr(at, '\n');
        at += at != NULL;
    }
    return NULL;
}

static bool next_object(const char **at, struct object *out)
{
    while ((*at = strstr(*at, "\nCREATE ")) != NULL) {
        const char *end = end_of(++*at);

        if (!end || sscanf(*at, "CREATE %15[A-Z] %63[a-z_]", out->type, out->name) != 2)
            continue;
        out->sql = *at;
        out->length = (int)(end - *at);
        return true;
    }
    return false;
}

static enum store_status run_formatted(struct store *store, char *sql, struct store_error *error)
{
    enum store_status status = sql ? store_run(store, sql, error) : store_no_memory(error);

    sqlite3_free(sql);
    return status;
}

/* Rows of tables stay as they are: only the text changes by which SQLite reads them, to the one
 * that store_verify_schema() demands (https://sqlite.org/lang_altertable.html, section 7).  */
static enum store_status rewrite_table(struct store *store, const struct object *object,
                                       struct store_error *error)
{
    return run_formatted(store,
                         sqlite3_mprintf("UPDATE main.sqlite_schema SET sql = '%.*q'"
                                         " WHERE type = 'table' AND name = %Q AND rootpage > 0",
                                         object->length, object->sql, object->name),
                         error);
}

static enum store_status make_again(struct store *store, const struct object *object,
                                    struct store_error *error)
{
    enum store_status status = run_formatted(
        store, sqlite3_mprintf("DROP %s IF EXISTS main.\"%w\"", object->type, object->name), error);

    return status == STORE_OK
               ? run_formatted(store, sqlite3_mprintf("%.*s", object->length, object->sql), error)
               : status;
}

/* Each object of schemas/store.sql of those types.  */
static enum store_status for_objects(struct store *store, const char *types,
                                     enum store_status (*each)(struct store *store,
                                                               const struct object *object,
                                                               struct store_error *error),
                                     struct store_error *error)
{
    enum store_status status = STORE_OK;
    const char *at = store_schema();
    struct object object;

    while (status == STORE_OK && next_object(&at, &object))
        if (strstr(types, object.type))
            status = each(store, &object, error);
    return status;
}

static enum store_status rewrite_schema(struct store *store, struct store_error *error)
{
    enum store_status status;

    (void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    status = store_run(store, "PRAGMA writable_schema = ON", error);
    if (status == STORE_OK)
        status = for_objects(store, "TABLE", rewrite_table, error);
    if (status == STORE_OK)
        status = store_run(store, "PRAGMA writable_schema = RESET", error);
    else
        (void)store_run(store, "PRAGMA writable_schema = RESET", NULL);
    (void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    return status == STORE_OK ? for_objects(store, "VIEW TRIGGER", make_again, error) : status;
}

/* The rows of sched_slice of a capture follow each other by their ends, those without an end last.
 * Those of idle CPUs name no thread: in front of a capture's first thread they are its own from
 * where this order begins anew, or where times are not those of the capture before.  */
static const char to_version_3[] =
    "UPDATE capture SET first_sched_id = 1, sched_count = 0;\n"
    "WITH busy AS MATERIALIZED (\n"
    "  SELECT p.capture_id AS id, min(s.id) AS low, max(s.id) AS high FROM sched_slice AS s\n"
    "  JOIN thread AS t ON t.id = s.utid JOIN process AS p ON p.id = t.upid\n"
    "  WHERE s.utid <> 0 GROUP BY 1),\n"
    "after AS (\n"
    "  SELECT id, low, lag(high) OVER (ORDER BY low) AS before,\n"
    "         lag(id) OVER (ORDER BY low) AS former FROM busy),\n"
    "start AS MATERIALIZED (\n"
    "  SELECT a.id, CASE WHEN a.before IS NULL THEN (SELECT min(id) FROM sched_slice)\n"
    "    ELSE coalesce((\n"
    "      SELECT min(s.id) FROM sched_slice AS s JOIN sched_slice AS r ON r.id = s.id - 1\n"
    "      JOIN capture AS c ON c.id = a.former WHERE s.id > a.before AND s.id < a.low\n"
    "      AND (s.ts NOT BETWEEN c.start_ts AND c.end_ts\n"
    "        OR (s.dur >= 0 AND (r.dur < 0 OR s.ts + s.dur < r.ts + r.dur)))), a.low) END AS "
    "first\n"
    "  FROM after AS a)\n"
    "UPDATE capture SET first_sched_id = s.first, sched_count = s.next - s.first\n"
    "FROM (SELECT id, first, lead(first, 1, (SELECT max(id) + 1 FROM sched_slice))\n"
    "        OVER (ORDER BY first) AS next FROM start) AS s\n"
    "WHERE s.id = capture.id;\n"
    "UPDATE capture SET first_sched_id = coalesce((\n"
    "  SELECT max(c.first_sched_id + c.sched_count) FROM capture AS c WHERE c.id < capture.id), "
    "1)\n"
    "WHERE sched_count = 0;";

/* ---- Version 4: samples of events ---- */

/* A table that older stores do not have.  cpu_sample has a column more, at its end: SQLite reads
 * its default where a row ends before it.  */
static enum store_status add_events(struct store *store, struct store_error *error)
{
    const char *at = store_schema();
    struct object object;
    int64_t taken;
    enum store_status status = store_number(
        store, "SELECT count(*) FROM main.sqlite_schema WHERE name = 'sample_event'", &taken,
        error);

    if (status == STORE_OK && taken)
        return store_fail(
            error, STORE_CORRUPT,
            "its own sample_event is in the way of the table of that name: rename it");
    while (status == STORE_OK && next_object(&at, &object))
        if (strcmp(object.name, "sample_event") == 0 && strcmp(object.type, "TABLE") == 0)
            status = run_formatted(store, sqlite3_mprintf("%.*s", object.length, object.sql),
                                   error);
    return status == STORE_OK ? rewrite_schema(store, error) : status;
}

/* ---- The steps ---- */

/* Version 1 is the first.  A change of schemas/store.sql adds a step here.  */
const struct store_migration store_migrations[] = {
    { to_version_2, NULL },
    { to_version_3, rewrite_schema },
    { "", add_events },
};
const int store_migration_count = STORE_VERSION - 1;

static enum store_status run_step(struct store *store, const struct store_migration *migration,
                                  struct store_error *error)
{
    enum store_status status = migration->run ? migration->run(store, error) : STORE_OK;

    return status == STORE_OK ? store_run(store, migration->sql, error) : status;
}

static enum store_status run_steps(struct store *store, const struct store_migration *migrations,
                                   int count, struct store_error *error)
{
    enum store_status status;
    char pragma[48];
    int64_t version;

    status = store_number(store, "PRAGMA user_version", &version, error);
    if (status == STORE_OK && version < 1)
        return store_fail(error, STORE_NOT_STORE, "an SQLite database, but not a store of fxtq");
    for (; status == STORE_OK && version <= count; version++)
        status = run_step(store, &migrations[version - 1], error);
    if (status != STORE_OK)
        return status;
    (void)snprintf(pragma, sizeof pragma, "PRAGMA user_version = %lld", (long long)version);
    return store_run(store, pragma, error);
}

enum store_status store_migrate(struct store *store, const struct store_migration *migrations,
                                int count, struct store_error *error)
{
    enum store_status status = store_run(store, "BEGIN IMMEDIATE", error);

    if (status != STORE_OK)
        return status;
    status = run_steps(store, migrations, count, error);
    if (status == STORE_OK &&
        migrations == store_migrations) /* else tests have steps of their own */
        status = store_verify_schema(store, error);
    if (status == STORE_OK)
        status = store_run(store, "COMMIT", error);
    if (status != STORE_OK)
        (void)store_run(store, "ROLLBACK", NULL);
    return status;
}

/* What was wrong with the views is over.  */
static void clear(struct store_error *error)
{
    if (error)
        *error = (struct store_error){ .status = STORE_OK };
}

enum store_status store_renew_views(struct store *store, struct store_error *error)
{
    enum store_status status = store_run(store, "BEGIN IMMEDIATE", error);

    if (status != STORE_OK)
        return status;
    status = for_objects(store, "VIEW TRIGGER", make_again, error);
    if (status == STORE_OK)
        status = store_verify_schema(store, error);
    if (status == STORE_OK)
        status = store_run(store, "COMMIT", error);
    if (status == STORE_OK)
        clear(error);
    else
        (void)store_run(store, "ROLLBACK", NULL);
    return status;
}
