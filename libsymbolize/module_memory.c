/* module_memory.c - what reading the files of a module may take.
 *
 * Everything that is made from them counts in the module's account: contents that are unpacked or
 * relocated, tables of units, functions, lines and symbols, room for sorting, names.  An ordinary
 * object takes a few times its size.  A hostile one may refer to one list from anywhere, so that
 * small files stand for any amount of memory; beyond the limit, a module loses what takes most. */
#include "libsymbolize/symbolize_internal.h"

/* Without what its files add, see SYM_ROOM_PER_BYTE.  */
static const int64_t ROOM_LEAST = (int64_t)384 << 20;

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
