/* symtab.h - function names from symbol tables.  "section N" means docs/formats/symbolizer.md.  */
#ifndef SYMBOLIZE_SYMTAB_H
#define SYMBOLIZE_SYMTAB_H

#include "libsymbolize/elf_object.h"

/* ---- Symbol table ---- */

struct sym_symbol {
    const char *name; /* borrowed from what was read, until sym_symbols_release() */
    uint32_t length;  /* of the name; 0: it ends in NUL or at its @VERSION */
    uint8_t source;   /* enum sym_quality; SYM_QUALITY_NONE: no function, the end of one before */
};

struct sym_symbols {
    struct sym_symbol *items; /* by address */
    size_t count;
    struct sym_segments segments;   /* value: index into items */
    struct sym_object *debugdata;   /* owned; the object in .gnu_debugdata, or NULL */
    struct sym_strings owned_names; /* those that no file holds: NAME@plt */
};

/* Reads the names of functions from object: .symtab; where there is no other .gnu_debugdata and
 * .dynsym together; or the lines of a kallsyms text.  The stubs of the procedure linkage table are
 * read from code, which may be NULL or the same.  Both must stay open as long as symbols live.  An
 * object without any gives none.  SYM_OK, SYM_MALFORMED or SYM_NO_MEMORY.  */
enum sym_status sym_symbols_read(struct sym_symbols *symbols, struct sym_object *object,
                                 struct sym_object *code, struct sym_error *error);

/* Reads the names of data of known size instead, from .symtab, or .dynsym where there is no other.
 * SYM_OK, also without any, or SYM_NO_MEMORY.  */
enum sym_status sym_data_read(struct sym_symbols *symbols, const struct sym_object *object);

/* A symbol as a place.  */
struct sym_named {
    const char *name; /* borrowed from the strings given to sym_named_read() */
    const char *file; /* likewise; of the source, which only symbols that are not global have; "" */
    uint64_t start, size;
};

/* All functions, data and labels that object, open, defines, in any order; the caller frees *out.
 *   .symtab counts, or .dynsym where there is no other.  SYM_OK, also without
 * any, or SYM_NO_MEMORY.  */
enum sym_status sym_named_read(const struct sym_object *object, struct sym_strings *strings,
                               struct sym_named **out, size_t *count);

/* Copy the names to strings, so that they do not need the file any more.  SYM_OK or
 * SYM_NO_MEMORY.  */
enum sym_status sym_symbols_keep(struct sym_symbols *symbols, struct sym_strings *strings);

void sym_symbols_release(struct sym_symbols *symbols); /* accepts a half-built one, or all zero */

/* The function of a segment, as sym_segments_search() gives them, or NULL: a gap.  */
const struct sym_symbol *sym_symbols_at(const struct sym_symbols *symbols, ptrdiff_t segment);

/* Bytes of its name, without @VERSION.  */
size_t sym_symbol_length(const struct sym_symbol *symbol);

/* ---- For readers of tables (symtab.c, plt.c, kallsyms.c) ---- */

/* A symbol before it is known where it ends.  */
struct sym_entry {
    uint64_t start, size; /* size 0: up to the next symbol */
    uint64_t limit;       /* of its section */
    const char *name;
    uint32_t length;    /* as in struct sym_symbol */
    uint8_t preference; /* global over weak over local */
    uint8_t source;
    bool sized_function;
    bool is_file; /* no place, but the source file of the local symbols behind it */
};

struct sym_entries {
    struct sym_entry *items;
    size_t count, capacity;
};

/* SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_entries_add(struct sym_entries *entries, const struct sym_entry *entry);

/* Adds NAME@plt for the stubs of object's procedure linkage table, names to strings.  SYM_OK or
 * SYM_NO_MEMORY.  */
enum sym_status sym_plt_read(const struct sym_object *object, struct sym_strings *strings,
                             struct sym_entries *entries);

/* Whether text begins as /proc/kallsyms does.  */
bool sym_kallsyms_detect(struct sym_bytes text);

/* Whether its addresses are all 0, as who must not know them sees it.  */
bool sym_kallsyms_hidden(struct sym_bytes text);

/* Whether it has a line of module; NULL: any.  */
bool sym_kallsyms_has(struct sym_bytes text, const char *module);

/* Adds the functions of kallsyms lines "ADDRESS TYPE NAME [MODULE]", those of module alone unless
 * it is NULL.  Lines of other types end functions, other lines do nothing.  SYM_OK or
 * SYM_NO_MEMORY.  */
enum sym_status sym_kallsyms_read(struct sym_bytes text, const char *module,
                                  struct sym_entries *entries);

/* ---- Names ---- */

enum {
    SYM_NAME_MAX = 64 << 10, /* bytes of a readable name; hostile names grow exponentially */
};

/* As sym_demangle(), and says whether memory ran out: SYM_OK, SYM_NOT_FOUND or SYM_NO_MEMORY.  */
enum sym_status sym_demangle_name(const char *name, char **out);

/* The readable form of a name, interned, or name itself if it is not mangled.  NULL: no memory.  */
const char *sym_readable_name(struct sym_strings *strings, const char *name);

#endif /* SYMBOLIZE_SYMTAB_H */
