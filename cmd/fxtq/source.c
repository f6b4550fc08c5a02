#include "cmd/fxtq/source.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli/symbols.h"
#include "cmd/fxtq/cache.h"

static enum cli_exit open_store(struct source *source, const char *path, bool write)
{
    struct store_options options = { .size = sizeof options,
                                     .mode = write ? STORE_APPEND : STORE_READ };
    struct store_error error;

    if (store_open(path, &options, &source->store, &error) != STORE_OK)
        return fxtq_complain(path, &error);
    return CLI_OK;
}

/* Names from what this machine has.  None that is found is no failure.  */
static enum cli_exit symbolize(struct store *store, const char *trace)
{
    struct cli_symbols symbols = { .debuginfod = false };
    struct sym_session *session;
    struct store_error error;
    enum cli_exit status = cli_symbols_open(&symbols, &session);

    if (status == CLI_OK && store_symbolize(store, session, NULL, NULL, &error) != STORE_OK)
        status = fxtq_complain(trace, &error);
    cli_symbols_release(&symbols);
    return status;
}

/* Into the new store, with names.  A failed import leaves nothing.  Whether the trace is damaged
 * does not show in the status when symbolizing failed, which is worse.  */
static enum cli_exit import(struct source *source, const char *trace, bool *is_damaged)
{
    bool imported = false;
    enum cli_exit status = fxtq_import_into(source->store, trace, &imported);

    *is_damaged = status == CLI_DAMAGED;
    if (imported)
        status = cli_worse(status, symbolize(source->store, trace));
    else
        source_close(source);
    return status;
}

static enum cli_exit import_into_memory(struct source *source, const char *trace)
{
    struct store_options options = { .size = sizeof options, .mode = STORE_APPEND };
    struct store_error error;
    bool is_damaged;

    if (store_create(NULL, &options, &source->store, &error) != STORE_OK)
        return fxtq_complain(trace, &error);
    return import(source, trace, &is_damaged);
}

/* ---- The cache ---- */

static enum cli_exit publish(struct source *source, const char *trace, const char *path,
                             const struct cache_trace *state, bool is_damaged)
{
    struct store_error error;
    enum store_status status;

    status = cache_mark(source->store, path, trace, state, is_damaged, &error);
    if (status == STORE_OK)
        status = store_publish(source->store, &error);
    source_close(source); /* it was open for writing, and alone */
    return status == STORE_OK ? CLI_OK : fxtq_complain(path, &error);
}

/* Where no file may be made, or while another program makes it, the answer does not need it.  */
static bool can_do_without(const struct store_error *error)
{
    return error->status == STORE_BUSY || error->status == STORE_EXISTS ||
           error->system_errno == EACCES || error->system_errno == EROFS ||
           error->system_errno == EPERM;
}

static enum cli_exit make_cache(struct source *source, const char *trace, const char *path,
                                const struct cache_trace *state)
{
    struct store_options options = { .size = sizeof options, .mode = STORE_APPEND };
    enum cli_exit status, published;
    struct store_error error;
    bool is_damaged;

    if (store_create(path, &options, &source->store, &error) != STORE_OK) {
        if (!can_do_without(&error))
            return fxtq_complain(path, &error);
        cli_note("%s: %s; this query does without the cache", path, error.message);
        return import_into_memory(source, trace);
    }
    status = import(source, trace, &is_damaged);
    if (!source->store)
        return status;
    published = publish(source, trace, path, state, is_damaged);
    if (published == CLI_OK)
        published = open_store(source, path, false);
    return cli_worse(status, published);
}

static enum cli_exit open_fresh(struct source *source, const char *trace, const char *path,
                                bool is_damaged)
{
    enum cli_exit status = open_store(source, path, false);

    if (source->store && is_damaged) {
        cli_error("%s: damaged; details: fxtq report damage %s", trace, path);
        status = CLI_DAMAGED;
    }
    return status;
}

/* PATH.fxtq, made if it is missing or out of date.  */
static enum cli_exit open_cached(struct source *source, const char *trace)
{
    char *path = cli_join(trace, ".fxtq");
    struct cache_trace state;
    struct cache_look look;
    enum cli_exit status;

    if (!cache_describe(trace, &state)) {
        cli_note("%s: not a regular file; this query does without a cache", trace);
        free(path);
        return import_into_memory(source, trace);
    }
    cache_look(path, &state, &look);
    if (look.state == CACHE_NO_CACHE) {
        cli_error("%s is in the way of the cache: %s; rename it, or leave out --cache", path,
                  look.why);
        status = CLI_ENVIRONMENT;
    } else if (look.state == CACHE_FRESH) {
        status = open_fresh(source, trace, path, look.is_damaged);
    } else {
        if (look.state == CACHE_STALE)
            cache_remove(path);
        status = make_cache(source, trace, path, &state);
    }
    free(path);
    return status;
}

enum cli_exit source_open(struct source *source, const char *path, bool write, bool cache)
{
    enum cli_exit status;

    *source = (struct source){ .store = NULL };
    if (access(path, F_OK) != 0 && strcmp(path, "-") != 0) {
        cli_error("%s: %s", path, strerror(errno));
        return CLI_ENVIRONMENT;
    }
    if (store_is_database(path))
        status = open_store(source, path, write);
    else if (cache && strcmp(path, "-") != 0)
        status = open_cached(source, path);
    else
        status = import_into_memory(source, path);
    if (source->store && store_add_functions(store_sqlite(source->store)) != 0) {
        cli_error("out of memory");
        source_close(source);
        return CLI_ENVIRONMENT;
    }
    return status;
}

static enum cli_exit import_each(struct source *source, const struct cli_texts *paths)
{
    enum cli_exit status = CLI_OK;
    bool imported = false;

    for (size_t i = 0; i < paths->count && status != CLI_ENVIRONMENT; i++) {
        bool one = false;

        if (store_is_database(paths->items[i])) {
            cli_error("%s is a store: of several inputs all must be traces", paths->items[i]);
            return CLI_USAGE;
        }
        status = cli_worse(status, fxtq_import_into(source->store, paths->items[i], &one));
        imported |= one;
    }
    if (!imported)
        return cli_worse(status, CLI_ENVIRONMENT);
    return cli_worse(status, symbolize(source->store, paths->items[0]));
}

enum cli_exit source_open_all(struct source *source, const struct cli_texts *paths)
{
    struct store_options options = { .size = sizeof options, .mode = STORE_APPEND };
    struct store_error error;
    enum cli_exit status;

    if (paths->count == 1)
        return source_open(source, paths->items[0], false, false);
    *source = (struct source){ .store = NULL };
    if (store_create(NULL, &options, &source->store, &error) != STORE_OK)
        return fxtq_complain(paths->items[0], &error);
    status = import_each(source, paths);
    if (status == CLI_ENVIRONMENT || status == CLI_USAGE)
        source_close(source);
    return status;
}

void source_hint_names(const struct source *source, const char *path)
{
    static const char lacks_names[] =
        "SELECT EXISTS (SELECT 1 FROM (SELECT vaddr FROM main.frame LIMIT 1000) WHERE vaddr IS NOT "
        "NULL) AND NOT EXISTS (SELECT 1 FROM main.symbol WHERE quality < 5)"; /* 5: the capture's */
    sqlite3_stmt *row = NULL;

    if (!source->store || !store_is_database(path)) /* a trace has had its chance */
        return;
    if (sqlite3_prepare_v2(store_sqlite(source->store), lacks_names, -1, &row, NULL) == SQLITE_OK &&
        sqlite3_step(row) == SQLITE_ROW && sqlite3_column_int(row, 0))
        cli_note("%s: addresses have no names yet; next: fxtq symbolize %s", path, path);
    (void)sqlite3_finalize(row);
}

void source_close(struct source *source)
{
    store_close(source->store);
    source->store = NULL;
}
