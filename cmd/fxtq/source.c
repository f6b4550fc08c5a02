#include "cmd/fxtq/source.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cli/symbols.h"

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

/* Into a new store at path, or in memory, with names.  What could not be imported leaves nothing.
 */
static enum cli_exit import(struct source *source, const char *trace, const char *path)
{
    struct store_options options = { .size = sizeof options, .mode = STORE_APPEND };
    struct store_error error;
    bool imported = false;
    enum cli_exit status;

    if (store_create(path, &options, &source->store, &error) != STORE_OK)
        return fxtq_complain(path ? path : trace, &error);
    status = fxtq_import_into(source->store, trace, &imported);
    if (imported)
        status = cli_worse(status, symbolize(source->store, trace));
    if (imported && store_publish(source->store, &error) != STORE_OK) {
        status = fxtq_complain(path, &error);
        imported = false;
    }
    if (!imported)
        source_close(source);
    return status;
}

/* Whether the store at path was made after the trace was written.  */
static bool is_newer(const char *path, const char *trace)
{
    struct stat store, source;

    if (stat(path, &store) != 0 || stat(trace, &source) != 0)
        return false;
    return store.st_mtim.tv_sec > source.st_mtim.tv_sec ||
           (store.st_mtim.tv_sec == source.st_mtim.tv_sec &&
            store.st_mtim.tv_nsec >= source.st_mtim.tv_nsec);
}

/* PATH.fxtq, made if it is missing or out of date.  */
static enum cli_exit open_cached(struct source *source, const char *trace, bool write)
{
    char *path = cli_join(trace, ".fxtq");
    enum cli_exit status = CLI_OK;

    if (access(path, F_OK) == 0 && !store_is_database(path)) {
        cli_error("%s is in the way: it is no store", path);
        free(path);
        return CLI_ENVIRONMENT;
    }
    if (!is_newer(path, trace)) {
        (void)unlink(path);
        status = import(source, trace, path);
        if (!source->store) {
            free(path);
            return status;
        }
        source_close(source); /* it was open for writing, and alone */
    }
    status = cli_worse(status, open_store(source, path, write));
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
        status = open_cached(source, path, write);
    else
        status = import(source, path, NULL);
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
