/* oracle_internal.h - what oracle.c and oracle_unit.c share.  */
#ifndef SYMBOLIZE_ORACLE_INTERNAL_H
#define SYMBOLIZE_ORACLE_INTERNAL_H

#include "libsymbolize/oracle.h"

#include <libdwarf/dwarf.h>
#include <libdwarf/libdwarf.h>
#include <libelf.h>

struct oracle_section {
    char *name; /* owned */
    struct sym_bytes bytes;
    uint64_t vaddr;
};

struct sym_oracle {
    Dwarf_Debug dbg;
    Dwarf_Obj_Access_Interface access;
    int fd; /* -1: none */
    Elf *elf;
    bool is_64, big_endian;
    struct oracle_section *sections;
    size_t section_count, section_capacity;
    struct sym_oracle *alt; /* the supplement, not owned; NULL: none */
    /* libdwarf looks into the files it is tied to only where an error can be handed back.  */
    Dwarf_Error last;
    char error[160]; /* of calls that hand none back: mostly it means "try another way" */
    char problem[160], told[160];
};

/* Keep the first problem.  */
void sym_oracle_note(struct sym_oracle *oracle, const char *phrase);

/* Whether libdwarf has an answer.  If it failed, that is a problem; its error is in last.  */
bool sym_oracle_works(struct sym_oracle *oracle, int result);

#endif /* SYMBOLIZE_ORACLE_INTERNAL_H */
