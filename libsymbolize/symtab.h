/* symtab.h - function names from symbol tables.  "section N" means docs/formats/symbolizer.md.  */
#ifndef SYMBOLIZE_SYMTAB_H
#define SYMBOLIZE_SYMTAB_H

#include "libsymbolize/object.h"

/* ---- Symbol table ---- */

struct sym_symbols {
    const char **names; /* borrowed from the object's string table, until it is closed */
    size_t count;
    struct sym_segments segments; /* value: index into names */
    enum sym_quality source;
};

/* Reads .symtab, or .dynsym where there is no other.  An object without either gives none.  SYM_OK,
 * SYM_MALFORMED or SYM_NO_MEMORY.  */
enum sym_status sym_symbols_read(struct sym_symbols *symbols, struct sym_object *object,
                                 struct sym_error *error);
void sym_symbols_release(struct sym_symbols *symbols);

/* The name of the function at vaddr without its @VERSION, and its length; NULL: a gap.  */
const char *sym_symbols_find(const struct sym_symbols *symbols, uint64_t vaddr, size_t *length);

/* ---- Names ---- */

enum {
    SYM_NAME_MAX = 64 << 10, /* bytes of a readable name; hostile names grow exponentially */
};

/* As sym_demangle(), and says whether memory ran out: SYM_OK, SYM_NOT_FOUND or SYM_NO_MEMORY.  */
enum sym_status sym_demangle_name(const char *name, char **out);

#endif /* SYMBOLIZE_SYMTAB_H */
