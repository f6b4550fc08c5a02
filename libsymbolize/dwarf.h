/* dwarf.h - debug information: units, scopes and line tables.  "section N" means
 * docs/formats/symbolizer.md.  */
#ifndef SYMBOLIZE_DWARF_H
#define SYMBOLIZE_DWARF_H

#include "libsymbolize/object.h"
#include <libdwarf/dwarf.h>
#include <libdwarf/libdwarf.h>

/* ---- Debug information ---- */

struct sym_row {
    uint64_t vaddr;
    uint32_t file; /* as the line table counts; see sym_lines */
    uint32_t line; /* 0: the compiler named none */
    uint32_t column;
};

struct sym_sequence { /* rows [first, first + count) of [low, high) */
    uint64_t low, high;
    size_t first, count;
};

/* The line table of a unit.  */
struct sym_lines {
    struct sym_row *rows;
    size_t row_count, row_capacity;
    struct sym_sequence *sequences;
    size_t sequence_count, sequence_capacity;
    struct sym_segments segments; /* value: index into sequences */
    const char **files;           /* interned; index 0 is file number first_file */
    size_t file_count, file_capacity;
    uint32_t first_file;
};

/* What a line table says about its program (DWARF 5, 6.2.4).  */
struct sym_line_header {
    uint64_t version;
    size_t offset_size;  /* 4 or 8 bytes */
    uint64_t step_bytes; /* minimum_instruction_length */
    uint64_t slots;      /* maximum_operations_per_instruction, at least 1 */
    int8_t line_base;
    uint64_t line_range, opcode_base;
    uint8_t operands[256]; /* of the standard opcodes */
    struct sym_cursor program;
};

/* A function or an inlined copy of one.  */
struct sym_scope {
    uint64_t die_offset;
    uint32_t parent; /* the scope around it, or SYM_NO_VALUE */
    uint32_t call_file, call_line, call_column;
    bool inlined;
    bool named; /* the fields below are filled */
    const char *function;
    const char *linkage_name;
    uint32_t start_line;
};

struct sym_scopes {
    struct sym_scope *items;
    size_t count, capacity;
    struct sym_segments segments; /* value: index into items */
};

struct sym_unit {
    uint64_t die_offset; /* of the unit's own DIE in .debug_info */
    uint64_t base;       /* low_pc: what range lists count from */
    uint64_t rnglists_base;
    uint16_t version;
    uint8_t offset_size, address_size; /* 4 or 8 bytes */
    bool decoded;
    struct sym_lines lines;
    struct sym_scopes scopes;
};

struct sym_dwarf {
    Dwarf_Debug dbg;
    struct sym_object *object;   /* not owned */
    struct sym_strings *strings; /* not owned */
    struct sym_bytes sections[SYM_SECTION_COUNT];
    Dwarf_Obj_Access_Interface access;
    bool big_endian;
    struct sym_unit *units;
    size_t unit_count, unit_capacity;
    struct sym_segments segments;       /* value: index into units */
    uint64_t line_budget, range_budget; /* bytes of line programs, entries of range lists that may
                                         * still be read: what an honest object needs and more */
    bool split;                         /* some units keep their functions in .dwo files */
    bool damaged;                       /* something could not be read */
    char damage[160];                   /* the first such thing, a phrase */
};

/* Makes the index of units; decodes none but those that do not say what they cover.  SYM_OK,
 * SYM_MALFORMED (no unit is readable) or SYM_NO_MEMORY.  */
enum sym_status sym_dwarf_open(struct sym_dwarf *dwarf, struct sym_object *object,
                               struct sym_strings *strings, struct sym_error *error);
void sym_dwarf_close(struct sym_dwarf *dwarf); /* accepts a half-built one, or all zero */

/* The unit that covers vaddr, decoded; NULL: none.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_dwarf_unit(struct sym_dwarf *dwarf, uint64_t vaddr, struct sym_unit **out);

/* Turns what a libdwarf call returned into a status, releases error, and notes damage: SYM_OK,
 * SYM_NOT_FOUND (DW_DLV_NO_ENTRY), SYM_MALFORMED or SYM_NO_MEMORY.  error goes by pointer because
 * the call that fills it stands beside it in the argument list.  */
enum sym_status sym_dwarf_status(struct sym_dwarf *dwarf, int result, Dwarf_Error *error);
void sym_dwarf_damage(struct sym_dwarf *dwarf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The unsigned value of a DIE's attribute, otherwise when it has none or a damaged one.  Fails
 * only with SYM_NO_MEMORY.  */
enum sym_status sym_dwarf_unsigned(struct sym_dwarf *dwarf, Dwarf_Die die, Dwarf_Half attribute,
                                   uint64_t otherwise, uint64_t *out);

/* Adds what die covers (low_pc and high_pc, or ranges) to ranges, tombstones left out; like gives
 * rank, tie and value.  SYM_OK, SYM_MALFORMED or SYM_NO_MEMORY; what came before damage is kept.
 */
enum sym_status sym_dwarf_ranges(struct sym_dwarf *dwarf, const struct sym_unit *unit,
                                 Dwarf_Die die, struct sym_range like, struct sym_ranges *ranges);

/* The line table at offset of .debug_line: its header, and its files into lines.  SYM_OK,
 * SYM_MALFORMED or SYM_NO_MEMORY.  */
enum sym_status sym_line_header_read(struct sym_dwarf *dwarf, uint64_t offset, const char *comp_dir,
                                     struct sym_lines *lines, struct sym_line_header *header);

/* Fill unit->lines and unit->scopes from its DIE.  SYM_OK or SYM_NO_MEMORY; damage is noted.  */
enum sym_status sym_lines_read(struct sym_dwarf *dwarf, struct sym_unit *unit, Dwarf_Die die);
enum sym_status sym_scopes_read(struct sym_dwarf *dwarf, struct sym_unit *unit, Dwarf_Die die,
                                struct sym_ranges *ranges);
void sym_lines_release(struct sym_lines *lines);
void sym_scopes_release(struct sym_scopes *scopes);

/* The row for vaddr: the last one at or before it in its sequence that names a line, else NULL.  */
const struct sym_row *sym_lines_find(const struct sym_lines *lines, uint64_t vaddr);
const char *sym_lines_file(const struct sym_lines *lines, uint64_t file); /* "" unknown */

/* Fills the names of a scope.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_scope_name(struct sym_dwarf *dwarf, struct sym_scope *scope);

#endif /* SYMBOLIZE_DWARF_H */
