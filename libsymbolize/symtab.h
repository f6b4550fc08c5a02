/* symtab.h - function names from symbol tables.  "section N" means docs/formats/symbolizer.md.  */
#ifndef SYMBOLIZE_SYMTAB_H
#define SYMBOLIZE_SYMTAB_H

#include "libsymbolize/object.h"

/* ---- Symbol table ---- */

struct sym_symbol {
    const char *name; /* borrowed from the object's string table, until it is closed */
    uint32_t length;  /* of the name; 0: it ends in NUL or at its @VERSION */
    uint8_t source;   /* enum sym_quality */
};

struct sym_symbols {
    struct sym_symbol *items; /* by address */
    size_t count;
    struct sym_segments segments; /* value: index into items */
};

/* Reads .symtab of object, or .dynsym where there is no other.  An object without either gives
 * none.  SYM_OK, SYM_MALFORMED or SYM_NO_MEMORY.  */
enum sym_status sym_symbols_read(struct sym_symbols *symbols, struct sym_object *object,
                                 struct sym_error *error);
void sym_symbols_release(struct sym_symbols *symbols);

/* The function around vaddr, or NULL: a gap.  */
const struct sym_symbol *sym_symbols_find(const struct sym_symbols *symbols, uint64_t vaddr);

/* Bytes of its name, without @VERSION.  */
size_t sym_symbol_length(const struct sym_symbol *symbol);

/* ---- Names ---- */

enum {
    SYM_NAME_MAX = 64 << 10, /* bytes of a readable name; hostile names grow exponentially */
};

/* As sym_demangle(), and says whether memory ran out: SYM_OK, SYM_NOT_FOUND or SYM_NO_MEMORY.  */
enum sym_status sym_demangle_name(const char *name, char **out);

#endif /* SYMBOLIZE_SYMTAB_H */
