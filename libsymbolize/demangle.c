/* demangle.c - readable names, by libiberty. */
#include "libsymbolize/symbolize_internal.h"
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* Names are printed piece by piece into this: the demangler's own result buffer would be as large
 * as a hostile name wants.  */
struct printer {
    char *text;
    size_t length, capacity;
    enum sym_status status;
    jmp_buf stop;
};

/* The only way to stop the demangler early is to leave it.  Its C++ half keeps nothing on the heap,
 * its Rust half nothing but the buffer of one punycode identifier.  */
static void print_piece(const char *piece, size_t length, void *context)
{
    struct printer *printer = context;

    if (length > SYM_NAME_MAX - printer->length) {
        printer->status = SYM_NOT_FOUND;
        longjmp(printer->stop, 1);
    }
    while (printer->capacity - printer->length <= length) { /* with the final NUL */
        if (!base_make_room(&printer->text, &printer->capacity, printer->capacity + 1, 1)) {
            printer->status = SYM_NO_MEMORY;
            longjmp(printer->stop, 1);
        }
    }
    memcpy(printer->text + printer->length, piece, length);
    printer->length += length;
    printer->text[printer->length] = '\0';
}

/* Rust first: a legacy Rust name is a valid C++ name too.  */
static bool print_name(struct printer *printer, const char *name, const char *suffix)
{
    if (setjmp(printer->stop))
        return false;
    if (!rust_demangle_callback(name, DMGL_RUST | DMGL_PARAMS | DMGL_ANSI, print_piece, printer)) {
        printer->length = 0; /* what it printed before it gave up */
        if (!cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI, print_piece, printer))
            return false;
    }
    if (printer->length > 0)
        print_piece(suffix, strlen(suffix), printer);
    return true;
}

/* What libiberty takes apart: everything else is not worth trying, and "_Z" alone keeps it from
 * reading plain C names such as "i" as types.  */
static bool looks_mangled(const char *name)
{
    return strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0 ||
           strncmp(name, "_GLOBAL_", 8) == 0;
}

/* "_ZdlPv@plt", a stub that jumps there (plt.c): where that begins, else the end.  */
static size_t stub_suffix(const char *name)
{
    static const char suffix[] = "@plt";
    size_t length = strlen(name), size = sizeof suffix - 1;

    return length > size && strcmp(name + length - size, suffix) == 0 ? length - size : length;
}

enum sym_status sym_demangle_name(const char *name, char **out)
{
    struct printer printer = { .status = SYM_OK };
    size_t end = stub_suffix(name);
    char *target = NULL; /* of a stub */

    *out = NULL;
    if (!looks_mangled(name) || end > SYM_NAME_MAX)
        return SYM_NOT_FOUND;
    if (name[end] && !(target = sym_format("%.*s", (int)end, name)))
        return SYM_NO_MEMORY;
    if (print_name(&printer, target ? target : name, name + end) && printer.text && printer.length)
        *out = printer.text;
    else
        base_free(printer.text);
    base_free(target);
    if (*out)
        return SYM_OK;
    return printer.status == SYM_NO_MEMORY ? SYM_NO_MEMORY : SYM_NOT_FOUND;
}

const char *sym_readable_name(struct sym_strings *strings, const char *name)
{
    char *readable = NULL;
    const char *kept = name;

    if (sym_demangle_name(name, &readable) == SYM_NO_MEMORY)
        return NULL;
    if (readable)
        kept = sym_strings_intern(strings, readable, strlen(readable));
    base_free(readable);
    return kept;
}

char *sym_demangle(const char *name)
{
    char *readable;

    return name && sym_demangle_name(name, &readable) == SYM_OK ? readable : NULL;
}
