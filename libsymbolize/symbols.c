/* symbols.c - places by name, and names of places of any kind: asked for one at a time.  */
#include "base/bisect.h"
#include "libsymbolize/symbolize_internal.h"
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

/* An address without the tag in its highest byte, which in those of a kernel is 0xff.  */
static uint64_t without_tag(uint64_t vaddr)
{
    return (uint64_t)((int64_t)(vaddr << 8) >> 8);
}

/* A file that cannot be read is no worse than one without names.  */
static enum sym_status read_all(struct sym_module *module)
{
    struct sym_named *items = NULL;
    size_t count = 0;
    struct sym_object *object = module->symbols ? module->symbols : module->code;
    bool was_open;

    if (module->by_name)
        return SYM_OK;
    enum sym_status status = borrow(object, &was_open); /* one without functions may have data */
    if (!status)
        status = sym_named_read(object, &module->strings, &items, &count);
    give_back(object, was_open);
    if (status == SYM_NO_MEMORY)
        goto fail;
    for (size_t i = 0; i < count && !module->session->keep_tags; i++)
        items[i].start = without_tag(items[i].start);
    module->by_name = base_calloc(count + 1, sizeof *items);
    module->by_vaddr = base_calloc(count + 1, sizeof *items);
    if (!module->by_name || !module->by_vaddr)
        goto fail;
    if (count) {
        memcpy(module->by_name, items, count * sizeof *items);
        memcpy(module->by_vaddr, items, count * sizeof *items);
        qsort(module->by_name, count, sizeof *items, compare_names);
        qsort(module->by_vaddr, count, sizeof *items, compare_vaddrs);
    }
    module->named_count = count;
    base_free(items);
    return SYM_OK;

fail:
    base_free(items);
    base_free(module->by_name);
    base_free(module->by_vaddr);
    module->by_name = module->by_vaddr = NULL;
    return SYM_NO_MEMORY;
}

static enum sym_status read_symbols(struct sym_module *module)
{
    struct base_account *before = base_account_enter(&module->account);
    enum sym_status status = read_all(module);

    (void)base_account_enter(before);
    return status;
}

static enum sym_status describe(struct sym_module *module, const struct sym_named *symbol,
                                struct sym_symbol_place *out, struct sym_error *error)
{
    const char *name = sym_readable_name(&module->strings, symbol->name);

    if (!name)
        return sym_fail(error, SYM_NO_MEMORY, "out of memory");
    *out = (struct sym_symbol_place){
        .name = name,
        .linkage_name = symbol->name,
        .vaddr = symbol->start,
        .size = symbol->size,
        .file = symbol->file,
    };
    return SYM_OK;
}

/* How many symbols of an order come before wanted.  */
static size_t count_before(const struct sym_named *items, size_t count,
                           const struct sym_named *wanted,
                           int (*compare)(const void *, const void *))
{
    size_t low = 0, high = count;

    BASE_BISECT(low, high, i, compare(&items[i], wanted) < 0);
    return low;
}

enum sym_status sym_module_symbol(struct sym_module *module, const char *name, size_t index,
                                  struct sym_symbol_place *out, struct sym_error *error)
{
    struct sym_named wanted = { .name = name };
    enum sym_status status = read_symbols(module);

    if (status)
        return sym_module_fail(module, status, error);
    size_t first = count_before(module->by_name, module->named_count, &wanted, compare_names);
    size_t left = module->named_count - first;
    if (index >= left || strcmp(module->by_name[first + index].name, name) != 0)
        return sym_fail(error, SYM_NOT_FOUND, "no symbol of that name");
    return describe(module, &module->by_name[first + index], out, error);
}

static void cut_span(struct sym_span *span, uint64_t start, uint64_t limit)
{
    if (start > span->start)
        span->start = start;
    if (limit < span->limit)
        span->limit = limit;
}

/* The symbol at vaddr, NULL: none; cuts span, unless it is NULL, to where it is the same.  */
static enum sym_status find_at(struct sym_module *module, uint64_t vaddr, struct sym_span *span,
                               const struct sym_named **out)
{
    struct sym_named wanted = { .start = vaddr, .size = UINT64_MAX };
    enum sym_status status = read_symbols(module);

    *out = NULL;
    if (status)
        return status;
    const struct sym_named *items = module->by_vaddr;
    size_t count = items ? module->named_count : 0;
    size_t next = count_before(items, count, &wanted, compare_vaddrs);
    const struct sym_named *symbol = next ? &items[next - 1] : NULL;
    uint64_t start = symbol ? symbol->start : 0, end = start;
    uint64_t limit = next < count ? items[next].start : UINT64_MAX;
    bool ends = symbol && symbol->size && !__builtin_add_overflow(start, symbol->size, &end);
    if (symbol && !(ends && vaddr >= end))
        *out = symbol;
    if (ends && vaddr < end && end < limit)
        limit = end;
    if (ends && vaddr >= end)
        start = end;
    if (span)
        cut_span(span, start, limit);
    return SYM_OK;
}

enum sym_status sym_module_symbol_at(struct sym_module *module, uint64_t vaddr,
                                     struct sym_symbol_place *out, struct sym_error *error)
{
    const struct sym_named *symbol;
    enum sym_status status = find_at(module, vaddr, NULL, &symbol);

    if (status)
        return sym_module_fail(module, status, error);
    return symbol ? describe(module, symbol, out, error)
                  : sym_fail(error, SYM_NOT_FOUND, "no symbol is there");
}

enum sym_status sym_symbol_file(struct sym_module *module, uint64_t vaddr, struct sym_span *span,
                                const char **file)
{
    const struct sym_named *symbol;
    enum sym_status status = find_at(module, vaddr, span, &symbol);

    *file = !status && symbol ? symbol->file : "";
    return status;
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
