#include "cmd/fxtq/store_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli/select.h"
#include "cmd/cli/symbol_options.h"
#include "cmd/fxtq/input_kind.h"
#include "cmd/fxtq/trace_cache.h"
#include "cmd/history/old_store.h"

static size_t memory_bytes; /* of traces without a store; 0: as the library has it */

void source_take_memory(const char *value)
{
    memory_bytes = (size_t)cli_size("--memory", value, 64 << 10, UINT64_C(1) << 40);
}

static enum cli_exit open_store(struct source *source, const char *path, bool write)
{
    struct store_options options = { .size = sizeof options,
                                     .mode = write ? STORE_APPEND : STORE_READ };
    struct store_error error;

    if (store_open(path, &options, &source->store, &error) != STORE_OK)
        return fxtq_complain(path, &error);
    old_store_note(source->store, path);
    return CLI_OK;
}

/* Names from what this machine has.  None that is found is no failure.  */
static enum cli_exit symbolize(struct store *store, const char *trace)
{
    struct cli_symbols symbols = { .bounds = true };
    struct sym_session *session;
    struct store_error error;
    enum cli_exit status = cli_symbols_open(&symbols, &session);

    if (status == CLI_OK && store_symbolize(store, session, NULL, NULL, &error) != STORE_OK)
        status = fxtq_complain(trace, &error);
    cli_symbols_release(&symbols);
    return status;
}

struct imported {
    bool is_damaged; /* of the trace: a part was not understood */
    bool is_named;   /* the names that this machine has are there */
};

/* Into the new store, with names.  A failed import leaves nothing.  */
static enum cli_exit import(struct source *source, const char *trace, struct imported *out)
{
    bool imported = false;
    enum cli_exit status = fxtq_import_into(source->store, trace, &imported), named;

    *out = (struct imported){ .is_damaged = status == CLI_DAMAGED };
    if (!imported) {
        source_close(source);
        return status;
    }
    named = symbolize(source->store, trace);
    out->is_named = named == CLI_OK;
    return cli_worse(status, named);
}

static enum cli_exit import_into_memory(struct source *source, const char *trace)
{
    struct store_options options = { .size = sizeof options,
                                     .mode = STORE_APPEND,
                                     .cache_bytes = memory_bytes };
    struct store_error error;
    struct imported imported;

    if (store_create(NULL, &options, &source->store, &error) != STORE_OK)
        return fxtq_complain(trace, &error);
    return import(source, trace, &imported);
}

/* ---- The cache ---- */

struct caching {
    struct source *source;
    const char *trace;
    char *path;
    struct cache_trace state;
    struct cache_look look;
};

/* Answer from the cache that was found.  */
static enum cli_exit use(struct caching *caching)
{
    caching->source->store = caching->look.store;
    if (!caching->look.is_damaged)
        return CLI_OK;
    cli_error("%s: the trace is damaged; for details: fxtq report damage %s", caching->trace,
              caching->path);
    return CLI_DAMAGED;
}

static enum cli_exit refuse(const struct caching *caching)
{
    cli_error("%s cannot be used as the cache: %s; rename it, or omit --cache", caching->path,
              caching->look.why);
    return CLI_ENVIRONMENT;
}

/* Where no file may be made, or while another program makes it, the answer does not need it.  */
static bool can_do_without(const struct store_error *error)
{
    return error->status == STORE_BUSY || error->status == STORE_EXISTS ||
           error->system_errno == EACCES || error->system_errno == EROFS ||
           error->system_errno == EPERM;
}

static void note_without(const struct caching *caching, const struct store_error *error)
{
    cli_note("%s: %s; this query runs without the cache", caching->path, error->message);
}

/* Give the new store its name, and open it as everybody else: it was open for writing, and
 * alone.  Another program may have replaced it since, if the trace changed again.  */
static enum cli_exit publish(struct caching *caching, bool is_damaged)
{
    struct store *store = caching->source->store;
    struct store_error error;
    enum store_status status;

    status = cache_mark(store, caching->path, &caching->state, is_damaged, &error);
    if (status == STORE_OK)
        status = store_publish(store, &error);
    if (status == STORE_EXISTS) {
        note_without(caching, &error);
        return CLI_OK;
    }
    source_close(caching->source);
    if (status != STORE_OK)
        return fxtq_complain(caching->path, &error);
    cache_look(caching->path, &caching->state, &caching->look);
    if (caching->look.state != CACHE_FRESH)
        return import_into_memory(caching->source, caching->trace);
    caching->source->store = caching->look.store;
    return CLI_OK;
}

/* Import into the store, which holds the lock.  If names could not be looked up or the trace
 * changed meanwhile, the store serves this query only.  */
static enum cli_exit fill(struct caching *caching)
{
    struct imported imported;
    enum cli_exit status = import(caching->source, caching->trace, &imported);

    if (!caching->source->store || !imported.is_named ||
        !cache_is_unchanged(caching->trace, &caching->state))
        return status;
    return cli_worse(status, publish(caching, imported.is_damaged));
}

static enum cli_exit make_cache(struct caching *caching)
{
    struct store_options options = { .size = sizeof options,
                                     .mode = STORE_APPEND,
                                     .replaces = true };
    struct store_error error;

    if (store_create(caching->path, &options, &caching->source->store, &error) != STORE_OK) {
        if (!can_do_without(&error))
            return fxtq_complain(caching->path, &error);
        note_without(caching, &error);
        return import_into_memory(caching->source, caching->trace);
    }
    /* Another program may have been faster.  Nobody is now.  */
    cache_look(caching->path, &caching->state, &caching->look);
    if (caching->look.state != CACHE_FRESH && caching->look.state != CACHE_NO_CACHE)
        return fill(caching);
    source_close(caching->source);
    return caching->look.state == CACHE_FRESH ? use(caching) : refuse(caching);
}

/* PATH.fxtq, made if it is missing or out of date.  */
static enum cli_exit open_cached(struct source *source, const char *trace)
{
    struct caching caching = { .source = source, .trace = trace };
    enum cli_exit status;

    if (!cache_describe(trace, &caching.state)) {
        cli_note("%s: not a regular file; this query runs without a cache", trace);
        return import_into_memory(source, trace);
    }
    caching.path = cli_join(trace, ".fxtq");
    cache_look(caching.path, &caching.state, &caching.look);
    if (caching.look.state == CACHE_NO_CACHE)
        status = refuse(&caching);
    else if (caching.look.state == CACHE_FRESH)
        status = use(&caching);
    else
        status = make_cache(&caching);
    free(caching.path);
    return status;
}

enum cli_exit source_open(struct source *source, const char *path, bool write, bool cache)
{
    struct store_error error;
    enum cli_exit status;

    *source = (struct source){ .store = NULL };
    if (access(path, F_OK) != 0 && strcmp(path, "-") != 0) {
        cli_error("%s: %s", path, strerror(errno));
        return CLI_ENVIRONMENT;
    }
    if (start_is_store(path))
        status = open_store(source, path, write);
    else if (cache && strcmp(path, "-") != 0)
        status = open_cached(source, path);
    else
        status = import_into_memory(source, path);
    if (source->store && store_add_functions(source->store, &error) != STORE_OK) {
        source_close(source);
        return fxtq_complain(NULL, &error);
    }
    return status;
}

const char *source_take_capture(const char *operand, int64_t *capture)
{
    int64_t asked;
    char *path = cli_split_capture(operand, &asked);

    if (!path || !store_is_database(path)) {
        free(path);
        return operand;
    }
    if (*capture && *capture != asked)
        cli_usage_error("%s and --capture %lld select different captures", operand,
                        (long long)*capture);
    *capture = asked;
    return path; /* the program needs it to its end, like the operand */
}

static enum cli_exit import_each(struct source *source, const struct cli_texts *paths)
{
    enum cli_exit status = CLI_OK;
    bool imported = false;

    for (size_t i = 0; i < paths->count && status != CLI_ENVIRONMENT; i++) {
        bool one = false;

        if (start_is_store(paths->items[i])) {
            cli_error("%s is a store; several inputs must all be traces", paths->items[i]);
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
    struct store_options options = { .size = sizeof options,
                                     .mode = STORE_APPEND,
                                     .cache_bytes = memory_bytes };
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

void source_hint_symbolize(const char *path)
{
    cli_note("%s: no address has a symbol; to look them up: fxtq symbolize %s", path, path);
}

void source_hint_names(const struct source *source, const char *path)
{
    bool lacks;

    if (!source->store || !start_is_store(path)) /* a trace has had its chance */
        return;
    if (store_lacks_symbols(source->store, &lacks, NULL) == STORE_OK && lacks)
        source_hint_symbolize(path);
}

enum cli_exit source_use_columns(struct source *source, const char *path)
{
    struct store_error error;

    return store_serve_columns(source->store, &error) == STORE_OK ? CLI_OK
                                                                  : fxtq_complain(path, &error);
}

void source_note_damage(const struct source *source, const char *path)
{
    if (store_columns_damaged(source->store) > 0)
        cli_note("%s: columns are damaged; the rows come from the plain tables, more slowly; to "
                 "make the columns anew: fxtq upgrade %s",
                 path, path);
}

void source_close(struct source *source)
{
    store_close(source->store);
    source->store = NULL;
}
