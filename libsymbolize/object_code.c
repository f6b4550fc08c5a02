/* object_code.c - the code of an object, and which function it belongs to.  */
#include "libsymbolize/symbolize_internal.h"

#include <stdlib.h>
#include <string.h>

/* Open the object for a while.  False: it cannot be, or there is none.  *was_open says whether it
 * is to be left open.  */
static bool borrow(struct sym_object *object, bool *was_open, enum sym_status *status)
{
    *was_open = object && sym_object_is_open(object);
    if (!object)
        return false;
    *status = sym_object_reopen(object, NULL);
    return *status == SYM_OK;
}

static void give_back(struct sym_object *object, bool borrowed, bool was_open)
{
    if (borrowed && !was_open)
        sym_object_close(object);
}

/* A file that cannot be read is no worse than one without names.  */
static enum sym_status read_functions(struct sym_module *module)
{
    struct sym_object *object = module->symbols, *code = module->code;
    enum sym_status status = SYM_OK;
    bool object_was_open, code_was_open = true, has_object, has_code;

    if (module->functions_read)
        return SYM_OK;
    has_object = borrow(object, &object_was_open, &status);
    has_code = status != SYM_NO_MEMORY && borrow(code, &code_was_open, &status);
    if (status != SYM_NO_MEMORY && (has_object || has_code))
        status = sym_symbols_read(&module->functions, has_object ? object : NULL,
                                  has_code ? code : NULL, NULL);
    if (status == SYM_OK)
        status = sym_symbols_keep(&module->functions, &module->strings);
    if (status != SYM_OK)
        sym_symbols_release(&module->functions);
    module->functions_read = status != SYM_NO_MEMORY;
    if (code != object)
        give_back(code, has_code, code_was_open);
    give_back(object, has_object, object_was_open);
    return status == SYM_NO_MEMORY ? status : SYM_OK;
}

enum sym_status sym_module_function(struct sym_module *module, uint64_t vaddr,
                                    struct sym_code_function *out, struct sym_error *error)
{
    const struct sym_segments *segments = &module->functions.segments;
    struct sym_span span = { 0, UINT64_MAX };
    const struct sym_symbol *symbol;
    ptrdiff_t at;

    struct base_account *before = base_account_enter(&module->account);
    enum sym_status status = read_functions(module);
    (void)base_account_enter(before);
    if (status)
        return sym_module_fail(module, status, error);
    at = sym_segments_narrow(segments->items, segments->count, vaddr, -1, &span);
    symbol = sym_symbols_at(&module->functions, at);
    *out = (struct sym_code_function){ .start = span.start, .limit = span.limit };
    if (!symbol)
        return sym_fail(error, SYM_NOT_FOUND, "no function with a name");
    out->id = (uint32_t)(symbol - module->functions.items) + 1;
    out->name = sym_readable_name(&module->strings, symbol->name);
    return out->name ? SYM_OK : sym_fail(error, SYM_NO_MEMORY, "out of memory");
}

/* ---- Bytes ---- */

/* Code is read in small pieces, many of the same page, and each time the file is closed again.  */
enum { PAGE_BYTES = 4096, PAGES = 16 };

struct code_page {
    uint64_t vaddr;
    size_t count; /* 0: none is kept */
    uint8_t bytes[PAGE_BYTES];
};

struct sym_code_pages {
    struct code_page each[PAGES]; /* by vaddr */
};

/* Up to size bytes; with buffer NULL they are only counted.  */
static enum sym_status read_code(struct sym_module *module, uint64_t vaddr, void *buffer,
                                 size_t size, size_t *count)
{
    enum sym_status status = SYM_OK;
    struct sym_bytes bytes;
    bool was_open, has_code = borrow(module->code, &was_open, &status);

    *count = 0;
    if (has_code && module->code->has_contents &&
        sym_object_at_vaddr(module->code, vaddr, &bytes)) {
        *count = size < bytes.size ? size : bytes.size;
        if (buffer)
            memcpy(buffer, bytes.data, *count);
    }
    give_back(module->code, has_code, was_open);
    return status == SYM_NO_MEMORY ? status : SYM_OK;
}

/* The page that begins at vaddr; NULL: it cannot be kept, or the file has nothing there.  */
static const struct code_page *page_at(struct sym_module *module, uint64_t vaddr)
{
    struct base_account *before = base_account_enter(&module->account);
    struct code_page *page;

    if (!module->code_pages)
        module->code_pages = base_calloc(1, sizeof *module->code_pages);
    (void)base_account_enter(before);
    if (!module->code_pages)
        return NULL;
    page = &module->code_pages->each[vaddr / PAGE_BYTES % PAGES];
    if (page->count > 0 && page->vaddr == vaddr)
        return page;
    page->vaddr = vaddr;
    if (read_code(module, vaddr, page->bytes, PAGE_BYTES, &page->count) != SYM_OK)
        page->count = 0;
    return page->count > 0 ? page : NULL;
}

enum sym_status sym_module_code(struct sym_module *module, uint64_t vaddr, void *buffer,
                                size_t size, size_t *count, struct sym_error *error)
{
    size_t offset = (size_t)(vaddr % PAGE_BYTES);
    const struct code_page *page = NULL;
    enum sym_status status;

    if (buffer && size <= PAGE_BYTES - offset)
        page = page_at(module, vaddr - offset);
    if (page && offset + size <= page->count) {
        memcpy(buffer, page->bytes + offset, size);
        *count = size;
        return SYM_OK;
    }
    status = read_code(module, vaddr, buffer, size, count);
    return status == SYM_OK ? status : sym_fail(error, status, "out of memory");
}
