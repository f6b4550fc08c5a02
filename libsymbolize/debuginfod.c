/* debuginfod.c - asking debuginfod servers, through libdebuginfod, which is opened at run time.  */
#include "libsymbolize/sym_session.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"

static const uint64_t BUDGET_BYTES = UINT64_C(1) << 30;

/* ---- The library ---- */

struct debuginfod_client; /* its handle */

/* What we use of it, as elfutils/debuginfod.h declares it.  */
struct api {
    struct debuginfod_client *(*begin)(void);
    void (*end)(struct debuginfod_client *);
    int (*find_debuginfo)(struct debuginfod_client *, const unsigned char *, int, char **);
    int (*find_section)(struct debuginfod_client *, const unsigned char *, int, const char *,
                        char **); /* since 0.188; NULL: not there */
    void (*set_progress)(struct debuginfod_client *,
                         int (*)(struct debuginfod_client *, long, long));
    void (*set_user_data)(struct debuginfod_client *, void *);
    void *(*get_user_data)(struct debuginfod_client *);
};

static struct api library;
static bool library_is_here;
static pthread_once_t library_once = PTHREAD_ONCE_INIT;

/* POSIX says that a function's address fits where dlsym() puts it; C has no cast for it.  */
static bool find_function(void *handle, const char *name, void *function)
{
    void *address = dlsym(handle, name);

    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static void open_library(void)
{
    void *handle = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL); /* stays: it uses libcurl */

    if (!handle)
        return;
    (void)find_function(handle, "debuginfod_find_section", &library.find_section);
    library_is_here = find_function(handle, "debuginfod_begin", &library.begin) &&
                      find_function(handle, "debuginfod_end", &library.end) &&
                      find_function(handle, "debuginfod_find_debuginfo", &library.find_debuginfo) &&
                      find_function(handle, "debuginfod_set_progressfn", &library.set_progress) &&
                      find_function(handle, "debuginfod_set_user_data", &library.set_user_data) &&
                      find_function(handle, "debuginfod_get_user_data", &library.get_user_data);
}

static bool has_library(void)
{
    (void)pthread_once(&library_once, open_library);
    return library_is_here;
}

const char *sym_libraries(void)
{
#ifdef SYM_HAVE_LZMA
    return has_library() ? "liblzma; libdebuginfod" : "liblzma; no libdebuginfod";
#else
    return has_library() ? "no liblzma; libdebuginfod" : "no liblzma, no libdebuginfod";
#endif
}

/* ---- Where its cache is ---- */

char *sym_debuginfod_default_cache(void)
{
    const char *path = getenv("DEBUGINFOD_CACHE_PATH"), *home = getenv("HOME");
    const char *caches = getenv("XDG_CACHE_HOME");
    char *legacy;

    if (path && path[0])
        return sym_format("%s", path);
    if (home && home[0]) {
        legacy = sym_format("%s/.debuginfod_client_cache", home);
        if (!legacy || access(legacy, F_OK) == 0)
            return legacy;
        base_free(legacy);
    }
    if (caches && caches[0])
        return sym_format("%s/debuginfod_client", caches);
    return home && home[0] ? sym_format("%s/.cache/debuginfod_client", home) : sym_format("%s", "");
}

/* ---- Client ---- */

struct sym_debuginfod {
    struct debuginfod_client *client; /* NULL until the first transfer */
    uint64_t budget_bytes;            /* left */
    sym_progress_fn progress;
    void *progress_context;
    char **misses; /* owned: "ID" or "ID/SECTION" that no server has */
    size_t miss_count, miss_capacity;
    bool timed_out; /* once is enough: each attempt takes as long */
    char told[160]; /* the last phrase that people were told */

    /* The transfer that is running: */
    const char *name;
    uint64_t bytes;    /* that arrived, as far as is known */
    bool transferring; /* and not served from the cache */
    bool over_budget, stopped;
};

enum sym_status sym_debuginfod_new(const struct sym_options *options, struct sym_debuginfod **out)
{
    struct sym_debuginfod *debuginfod = calloc(1, sizeof *debuginfod);

    if (!debuginfod)
        return SYM_NO_MEMORY;
    debuginfod->budget_bytes = options->debuginfod_bytes ? options->debuginfod_bytes : BUDGET_BYTES;
    debuginfod->progress = options->progress;
    debuginfod->progress_context = options->progress_context;
    *out = debuginfod;
    return SYM_OK;
}

void sym_debuginfod_free(struct sym_debuginfod *debuginfod)
{
    if (!debuginfod)
        return;
    if (debuginfod->client)
        library.end(debuginfod->client);
    for (size_t i = 0; i < debuginfod->miss_count; i++)
        base_free(debuginfod->misses[i]);
    base_free(debuginfod->misses);
    base_free(debuginfod);
}

/* Not 0: end the transfer.  Without a total done counts something else.  */
static int on_progress(struct debuginfod_client *client, long done, long total)
{
    struct sym_debuginfod *debuginfod = library.get_user_data(client);
    struct sym_progress progress = { .name = debuginfod->name };

    debuginfod->transferring = true;
    if (total > 0 && done >= 0) {
        progress.bytes = (uint64_t)done;
        progress.total_bytes = (uint64_t)total;
    }
    debuginfod->bytes = progress.bytes;
    debuginfod->over_budget |= progress.total_bytes > debuginfod->budget_bytes;
    if (!debuginfod->over_budget && debuginfod->progress)
        debuginfod->stopped |= !debuginfod->progress(debuginfod->progress_context, &progress);
    return debuginfod->over_budget || debuginfod->stopped;
}

static bool open_client(struct sym_debuginfod *debuginfod)
{
    if (debuginfod->client)
        return true;
    debuginfod->client = library.begin();
    if (!debuginfod->client)
        return false;
    library.set_user_data(debuginfod->client, debuginfod);
    library.set_progress(debuginfod->client, on_progress);
    return true;
}

bool sym_debuginfod_has_sections(struct sym_debuginfod *debuginfod)
{
    (void)debuginfod;
    return has_library() && library.find_section;
}

/* ---- Transfers ---- */

static bool is_missed(const struct sym_debuginfod *debuginfod, const char *what)
{
    for (size_t i = 0; i < debuginfod->miss_count; i++)
        if (strcmp(debuginfod->misses[i], what) == 0)
            return true;
    return false;
}

/* Takes what.  */
static enum sym_status remember_miss(struct sym_debuginfod *debuginfod, char *what)
{
    if (!base_make_room(&debuginfod->misses, &debuginfod->miss_capacity, debuginfod->miss_count + 1,
                        sizeof(char *))) {
        base_free(what);
        return SYM_NO_MEMORY;
    }
    debuginfod->misses[debuginfod->miss_count++] = what;
    return SYM_NOT_FOUND;
}

/* What was fetched counts, all of it when it is here; what lay in the cache is free.  A small file
 * may be here before its size is known: then it counts as one that may not be.  */
static void charge(struct sym_debuginfod *debuginfod, int fd)
{
    uint64_t bytes = debuginfod->bytes;
    struct stat facts;

    if (fd >= 0 && debuginfod->transferring && fstat(fd, &facts) == 0)
        bytes = (uint64_t)facts.st_size;
    debuginfod->over_budget |= bytes > debuginfod->budget_bytes;
    debuginfod->budget_bytes -= debuginfod->over_budget ? debuginfod->budget_bytes : bytes;
}

/* The same with a number, for who asked.  */
static enum sym_status fail_with(struct sym_error *error, int code, const char *phrase)
{
    enum sym_status status = sym_fail(error, SYM_NOT_FOUND, "%s", phrase);

    if (error)
        error->system_errno = code;
    return status;
}

/* libdebuginfod takes an answer such as "500 Internal Server Error" for "404 Not Found".  */
static enum sym_status fail_transfer(struct sym_debuginfod *debuginfod, int code,
                                     struct sym_error *error)
{
    if (debuginfod->over_budget)
        return fail_with(error, 0, "it is larger than what may still be fetched");
    if (debuginfod->stopped)
        return fail_with(error, 0, "stopped");
    if (code == ENOSYS)
        return fail_with(error, code, "DEBUGINFOD_URLS names no server");
    if (code == ENOENT)
        return fail_with(error, code, "the servers do not have it, or failed");
    if (code == ENOMEM)
        return sym_fail(error, SYM_NO_MEMORY, "out of memory");
    if (code != ETIME)
        return fail_with(error, code, strerror(code));
    debuginfod->timed_out = true;
    return fail_with(error, code,
                     "no answer in time (DEBUGINFOD_TIMEOUT): servers are not asked again");
}

bool sym_debuginfod_is_news(struct sym_debuginfod *debuginfod, const char *phrase)
{
    if (strcmp(debuginfod->told, phrase) == 0)
        return false;
    (void)snprintf(debuginfod->told, sizeof debuginfod->told, "%s", phrase);
    return true;
}

static enum sym_status transfer(struct sym_debuginfod *debuginfod, const struct sym_hex *id,
                                const char *section, char **path, struct sym_error *error)
{
    const unsigned char *text = (const unsigned char *)id->text;
    int fd;

    debuginfod->bytes = 0;
    debuginfod->transferring = debuginfod->stopped = false;
    debuginfod->over_budget = debuginfod->budget_bytes == 0;
    if (debuginfod->over_budget)
        return fail_transfer(debuginfod, 0, error);
    if (section)
        fd = library.find_section(debuginfod->client, text, 0, section, path);
    else
        fd = library.find_debuginfo(debuginfod->client, text, 0, path);
    base_account_adopt(*path);
    charge(debuginfod, fd);
    if (fd >= 0)
        (void)close(fd);
    if (fd >= 0 && !debuginfod->over_budget)
        return SYM_OK;
    base_free(*path);
    *path = NULL;
    return fail_transfer(debuginfod, fd < 0 ? -fd : 0, error);
}

enum sym_status sym_debuginfod_fetch(struct sym_debuginfod *debuginfod, const struct sym_hex *id,
                                     const char *section, const char *name, char **path,
                                     struct sym_error *error)
{
    if (!has_library())
        return fail_with(error, ENOSYS, "libdebuginfod.so.1 is not installed");
    if (debuginfod->timed_out)
        return fail_with(error, ENOENT, "not asked: an earlier request had no answer in time");
    if (!open_client(debuginfod))
        return sym_fail(error, SYM_NO_MEMORY, "out of memory");
    char *what = sym_format("%s/%s", id->text, section ? section : "");
    if (!what)
        return sym_fail(error, SYM_NO_MEMORY, "out of memory");
    if (is_missed(debuginfod, what)) {
        base_free(what);
        return fail_with(error, ENOENT, "asked for before in vain");
    }
    debuginfod->name = name;
    *path = NULL;
    enum sym_status status = transfer(debuginfod, id, section, path, error);
    if (status == SYM_NOT_FOUND)
        return remember_miss(debuginfod, what);
    base_free(what);
    return status;
}
