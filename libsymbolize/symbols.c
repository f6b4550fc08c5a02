/* symbols.c - places by name, and names of places of any kind: asked for one at a time.  */
#include "libsymbolize/internal.h"
#include <stdlib.h>
#include <string.h>

static int compare_names(const void *a, const void *b)
{
    const struct sym_named *left = a, *right = b;
    int order = left->name == right->name ? 0 : strcmp(left->name, right->name);

    return order ? order : (left->start > right->start) - (left->start < right->start);
}

static int compare_vaddrs(const void *a, const void *b)
{
    const struct sym_named *left = a, *right = b;
    int order = (left->start > right->start) - (left->start < right->start);

    return order ? order : (left->size > right->size) - (left->size < right->size);
}

/* Opens object while something is read from it; *was_open says whether that changes nothing.  */
static enum sym_status borrow(struct sym_object *object, bool *was_open)
{
    *was_open = object && sym_object_is_open(object);
    return object ? sym_object_reopen(object, NULL) : SYM_NOT_FOUND;
}

static void give_back(struct sym_object *object, bool was_open)
{
    if (object && !was_open)
        sym_object_close(object);
}

/* A file that cannot be read is no worse than one without names.  */
static enum sym_status read_symbols(struct sym_module *module)
{
    struct sym_named *items = NULL;
    size_t count = 0;
    bool was_open;

    if (module->by_name)
        return SYM_OK;
    enum sym_status status = borrow(module->symbols, &was_open);
    if (!status)
        status = sym_named_read(module->symbols, &module->strings, &items, &count);
    give_back(module->symbols, was_open);
    if (status == SYM_NO_MEMORY)
        goto fail;
    module->by_name = calloc(count + 1, sizeof *items);
    module->by_vaddr = calloc(count + 1, sizeof *items);
    if (!module->by_name || !module->by_vaddr)
        goto fail;
    if (count) {
        memcpy(module->by_name, items, count * sizeof *items);
        memcpy(module->by_vaddr, items, count * sizeof *items);
        qsort(module->by_name, count, sizeof *items, compare_names);
        qsort(module->by_vaddr, count, sizeof *items, compare_vaddrs);
    }
    module->named_count = count;
    free(items);
    return SYM_OK;

fail:
    free(items);
    free(module->by_name);
    free(module->by_vaddr);
    module->by_name = module->by_vaddr = NULL;
    return SYM_NO_MEMORY;
}

static enum sym_status describe(struct sym_module *module, const struct sym_named *symbol,
                                struct sym_symbol_place *out, struct sym_error *error)
{
    const char *name = sym_readable_name(&module->strings, symbol->name);

    if (!name)
        return sym_fail(error, SYM_NO_MEMORY, "out of memory");
    *out = (struct sym_symbol_place){
        .name = name, .linkage_name = symbol->name, .vaddr = symbol->start, .size = symbol->size
    };
    return SYM_OK;
}

/* How many symbols of an order come before wanted.  */
static size_t count_before(const struct sym_named *items, size_t count,
                           const struct sym_named *wanted,
                           int (*compare)(const void *, const void *))
{
    size_t low = 0;

    for (size_t high = count; low < high;) {
        size_t middle = low + (high - low) / 2;

        if (compare(&items[middle], wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum sym_status sym_module_symbol(struct sym_module *module, const char *name, size_t index,
                                  struct sym_symbol_place *out, struct sym_error *error)
{
    struct sym_named wanted = { .name = name };
    enum sym_status status = read_symbols(module);

    if (status)
        return sym_fail(error, status, "out of memory");
    size_t first = count_before(module->by_name, module->named_count, &wanted, compare_names);
    size_t left = module->named_count - first;
    if (index >= left || strcmp(module->by_name[first + index].name, name) != 0)
        return sym_fail(error, SYM_NOT_FOUND, "no symbol of that name");
    return describe(module, &module->by_name[first + index], out, error);
}

enum sym_status sym_module_symbol_at(struct sym_module *module, uint64_t vaddr,
                                     struct sym_symbol_place *out, struct sym_error *error)
{
    struct sym_named wanted = { .start = vaddr, .size = UINT64_MAX };
    enum sym_status status = read_symbols(module);

    if (status)
        return sym_fail(error, status, "out of memory");
    size_t next = count_before(module->by_vaddr, module->named_count, &wanted, compare_vaddrs);
    const struct sym_named *symbol = next ? &module->by_vaddr[next - 1] : NULL;
    if (!symbol || (symbol->size && vaddr - symbol->start >= symbol->size))
        return sym_fail(error, SYM_NOT_FOUND, "no symbol is there");
    return describe(module, symbol, out, error);
}

enum sym_status sym_module_section(struct sym_module *module, const char *name, uint64_t *vaddr,
                                   uint64_t *size, struct sym_error *error)
{
    struct sym_object *object = module->code      ? module->code
                                : module->symbols ? module->symbols
                                                  : module->debug;
    const struct sym_elf_section *found = NULL;
    bool was_open;
    enum sym_status status = borrow(object, &was_open);

    for (size_t i = 1; !status && i < object->section_count && !found; i++)
        if ((object->sections[i].flags & SHF_ALLOC) && strcmp(object->sections[i].name, name) == 0)
            found = &object->sections[i];
    if (found) {
        *vaddr = found->vaddr;
        *size = found->size;
    }
    give_back(object, was_open);
    if (status == SYM_NO_MEMORY)
        return sym_fail(error, status, "out of memory");
    return found ? SYM_OK : sym_fail(error, SYM_NOT_FOUND, "no section %s", name);
}
