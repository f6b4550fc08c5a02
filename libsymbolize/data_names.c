/* data_names.c - names of variables and constants, which only logs ask for. */
#include "libsymbolize/symbolize_internal.h"
#include <stdlib.h>
#include <string.h>

/* A file that cannot be read is no worse than one without names.  */
static enum sym_status read_data(struct sym_module *module)
{
    struct sym_object *object = module->symbols;

    if (module->data_read || !object)
        return SYM_OK;
    bool was_open = sym_object_is_open(object);
    enum sym_status status = sym_object_reopen(object, NULL);
    if (!status)
        status = sym_data_read(&module->data, object);
    if (!status)
        status = sym_symbols_keep(&module->data, &module->strings);
    if (status)
        sym_symbols_release(&module->data);
    module->data_read = status != SYM_NO_MEMORY;
    if (!was_open)
        sym_object_close(object);
    return status == SYM_NO_MEMORY ? status : SYM_OK;
}

enum sym_status sym_module_data(struct sym_module *module, uint64_t vaddr, struct sym_datum *out,
                                struct sym_error *error)
{
    const struct sym_segments *segments = &module->data.segments;
    struct base_account *before = base_account_enter(&module->account);
    enum sym_status status = read_data(module);

    (void)base_account_enter(before);
    if (status)
        return sym_module_fail(module, status, error);
    const struct sym_symbol *symbol = sym_symbols_at(
        &module->data, sym_segments_search(segments->items, segments->count, vaddr, -1));
    if (!symbol)
        return sym_fail(error, SYM_NOT_FOUND, "no data with a name");
    const char *name = sym_readable_name(&module->strings, symbol->name);
    if (!name)
        return sym_fail(error, SYM_NO_MEMORY, "out of memory");
    *out = (struct sym_datum){ .name = name, .linkage_name = symbol->name };
    return SYM_OK;
}
