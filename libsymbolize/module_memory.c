/* module_memory.c - what reading the files of a module may take, and the modules of a session.
 *
 * Everything that is made from them counts in the module's account: contents that are unpacked or
 * relocated, tables of units, functions, lines and symbols, room for sorting, names.  An ordinary
 * object takes a few times its size.  A hostile one may refer to one list from anywhere, so that
 * small files stand for any amount of memory; beyond the limit, a module loses what takes most.
 *
 * A session counts its modules in an account of its own: a small input may name any number of
 * modules, of which no files are found.  */
#include "libsymbolize/symbolize_internal.h"

/* Without what its files add, see SYM_ROOM_PER_BYTE.  */
static const int64_t ROOM_LEAST = (int64_t)384 << 20;

/* Of a session, for a hundred thousand modules without files.  */
static const int64_t SESSION_ROOM = (int64_t)512 << 20;

/* Of the memory that the search for a module with files leaves, so much counts in the session: the
 * rest may be contents of the files, which the module's own account bounds.  */
static const int64_t SEARCH_MOST = 16 << 10;

void sym_session_set_limit(struct sym_session *session)
{
    atomic_store(&session->account.limit, session->no_limit ? INT64_MAX : SESSION_ROOM);
}

enum sym_status sym_session_count(struct sym_session *session, const struct sym_module *module)
{
    bool has_files = module->code || module->debug || module->symbols || module->breakpad;
    struct base_account *account = &session->account;
    int64_t left = atomic_load(&module->account.bytes);

    if (has_files && left > SEARCH_MOST)
        left = SEARCH_MOST;
    atomic_fetch_add(&account->bytes, left);
    if (atomic_load(&account->bytes) <= atomic_load(&account->limit))
        return SYM_OK;
    atomic_store(&account->exceeded, true);
    return SYM_NO_MEMORY;
}

enum sym_status sym_session_fail(struct sym_session *session, enum sym_status status,
                                 struct sym_error *error)
{
    if (!atomic_load(&session->account.exceeded))
        return sym_fail(error, status, "out of memory");
    return sym_fail(error, status,
                    "%zu modules take %lld MiB of memory, the limit for modules: if the input is "
                    "neither damaged nor hostile, --no-limit reads it",
                    session->module_count, (long long)(SESSION_ROOM >> 20));
}

void sym_module_set_limit(struct sym_module *module)
{
    atomic_store(&module->account.limit, module->session->no_limit ? INT64_MAX : ROOM_LEAST);
}

bool sym_module_exceeded(struct sym_module *module)
{
    return atomic_exchange(&module->account.exceeded, false);
}

static unsigned long long limit_mib(struct sym_module *module)
{
    return (unsigned long long)(atomic_load(&module->account.limit) >> 20);
}

enum sym_status sym_module_fail(struct sym_module *module, enum sym_status status,
                                struct sym_error *error)
{
    if (status == SYM_STOPPED)
        return sym_fail(error, status, "stopped by the caller");
    if (!sym_module_exceeded(module))
        return sym_fail(error, status, "out of memory");
    return sym_fail(error, status,
                    "its symbols take more than %llu MiB of memory, the limit for files of that "
                    "size: if they are neither damaged nor hostile, --no-limit reads them",
                    limit_mib(module));
}

enum sym_status sym_module_opened(struct sym_module *module, enum sym_status status,
                                  const char *path, struct sym_error *error)
{
    if (status != SYM_NO_MEMORY || !sym_module_exceeded(module))
        return status;
    return sym_fail(error, SYM_MALFORMED,
                    "%s: it unpacks to more than the limit for a file of that size, which "
                    "--no-limit lifts",
                    path);
}

enum sym_status sym_module_report_limit(struct sym_module *module, const char *what)
{
    char *problem = sym_format("its %s more than %llu MiB of memory, the limit for files of that "
                               "size",
                               what, limit_mib(module));
    enum sym_status status = problem ? sym_module_downgrade(module, problem,
                                                            "if they are neither damaged nor "
                                                            "hostile, --no-limit reads them")
                                     : SYM_NO_MEMORY;

    base_free(problem);
    return status;
}

static enum sym_status shed_dwarf(struct sym_module *module)
{
    struct sym_loaded *loaded = &module->loaded;

    sym_dwarf_close(&loaded->dwarf);
    loaded->has_dwarf = false;
    loaded->place = (struct sym_place){ 0 };
    return sym_module_report_limit(module, "debug information takes");
}

enum sym_status sym_module_shed_symbols(struct sym_module *module)
{
    struct sym_loaded *loaded = &module->loaded;

    sym_symbols_release(&loaded->symbols);
    sym_breakpad_close(&loaded->breakpad);
    loaded->go = (struct sym_go){ 0 };
    loaded->last_symbol = NULL;
    enum sym_status status = sym_module_report_limit(module, "symbols take");
    module->report.quality = SYM_QUALITY_NONE;
    return status;
}

bool sym_module_shed(struct sym_module *module, enum sym_status *status)
{
    const struct sym_loaded *loaded = &module->loaded;
    bool has_symbols = loaded->symbols.count || loaded->breakpad.ready || loaded->go.ready;

    if (*status != SYM_NO_MEMORY || (!loaded->has_dwarf && !has_symbols) ||
        !sym_module_exceeded(module))
        return false;
    *status = loaded->has_dwarf ? shed_dwarf(module) : sym_module_shed_symbols(module);
    return *status == SYM_OK;
}
