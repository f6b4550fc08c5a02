/* gopclntab.h - Go's own table of functions, files and lines.  */
#ifndef SYMBOLIZE_GOPCLNTAB_H
#define SYMBOLIZE_GOPCLNTAB_H

#include "libsymbolize/elf_object.h"

/* The table of an open object.  All zero: none.  */
struct sym_go {
    bool ready;
    bool is_newer;                   /* Go 1.20 and later */
    const struct sym_object *object; /* not owned */
    struct sym_bytes table;
    uint64_t text_start, quantum;
    uint64_t names, units, files, pcs, functions; /* offsets in table */
    uint64_t function_count;
    uint64_t function_data; /* vaddr that data of functions are counted from; 0: unknown */
};

/* The section that holds it, or NULL.  */
const struct sym_elf_section *sym_go_section(const struct sym_object *object);

/* Whether object, open, has one that can be read: of Go 1.18 or later.  */
bool sym_go_detect(const struct sym_object *object);

/* go is not ready where it is damaged.  code must stay open as long as go is used.  */
void sym_go_open(struct sym_go *go, const struct sym_object *code);

/* A number of size bytes at an offset of the table; false: outside.  */
bool sym_go_load(const struct sym_go *go, uint64_t offset, size_t size, uint64_t *value);

#endif /* SYMBOLIZE_GOPCLNTAB_H */
