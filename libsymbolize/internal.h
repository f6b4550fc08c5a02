/* internal.h - what the parts of libsymbolize share.  "section N" means docs/formats/symbolizer.md.
 *
 * From the bottom up: strings.c and segments.c (containers), object.c (ELF files), symtab.c (symbol
 * tables), dwarf_*.c (debug information, over libdwarf), find.c (which files belong to a module),
 * resolve.c (answers), session.c (handles).
 */
#ifndef SYMBOLIZE_INTERNAL_H
#define SYMBOLIZE_INTERNAL_H

#include "libsymbolize/symbolize.h"
#include <gelf.h>
#include <libdwarf/dwarf.h>
#include <libdwarf/libdwarf.h>

/* ---- Errors and memory ---- */

/* Fill *error, which may be NULL, and return status.  */
enum sym_status sym_fail(struct sym_error *error, enum sym_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Room for one more item behind count, doubling: the new place of items, or NULL, and then items is
 * as it was.  */
void *sym_grow(void *items, size_t *capacity, size_t count, size_t item_size);

/* ---- Strings ---- */

/* Equal strings are stored once; they live until sym_strings_release().  All zero is empty.  */
struct sym_strings {
    struct sym_chunk *chunks;
    const char **slots; /* hash table, at most half full */
    size_t slot_count;  /* 0 or a power of two */
    size_t count;
    uint64_t total_bytes; /* bounded by SYM_STRINGS_LIMIT */
};

/* The one copy of length bytes at bytes, NUL-terminated; "" for none; NULL: no memory.  */
const char *sym_strings_intern(struct sym_strings *strings, const char *bytes, size_t length);
void sym_strings_release(struct sym_strings *strings);

/* directory/name, or name alone when that is absolute or directory is empty.  Interned; NULL: no
 * memory.  */
const char *sym_strings_join(struct sym_strings *strings, const char *directory, const char *name);

/* A heap copy from a format, owned by the caller; NULL: no memory.  */
char *sym_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- Bytes of sections ---- */

struct sym_bytes {
    const uint8_t *data;
    size_t size;
};

/* A place in a section.  Reading past the end sets failed, gives 0 or "", and leaves nothing.  */
struct sym_cursor {
    const uint8_t *next;
    size_t left;
    bool big_endian;
    bool failed;
};

struct sym_cursor sym_cursor_at(const struct sym_bytes *bytes, uint64_t offset, bool big_endian);
uint64_t sym_read_number(struct sym_cursor *cursor, size_t size); /* of at most 8 bytes */
uint64_t sym_read_uleb(struct sym_cursor *cursor);
int64_t sym_read_sleb(struct sym_cursor *cursor);
const char *sym_read_string(struct sym_cursor *cursor); /* NUL-terminated, borrowed */
void sym_skip(struct sym_cursor *cursor, uint64_t size);

/* ---- Address ranges to disjoint segments ---- */

#define SYM_NO_VALUE UINT32_MAX

/* [low, high) stands for value.  Where ranges overlap the higher rank wins, then the later low,
 * then the higher tie, then the higher value.  */
struct sym_range {
    uint64_t low, high;
    uint32_t rank, tie, value;
};

struct sym_ranges {
    struct sym_range *items;
    size_t count, capacity;
};

struct sym_segment {
    uint64_t start; /* up to the start of the next one */
    uint32_t value; /* SYM_NO_VALUE: a gap */
};

struct sym_segments {
    struct sym_segment *items; /* by start */
    size_t count;
};

/* SYM_OK, SYM_NO_MEMORY, or SYM_MALFORMED at the limit; an empty range is left out.  */
enum sym_status sym_ranges_add(struct sym_ranges *ranges, struct sym_range range);
void sym_ranges_release(struct sym_ranges *ranges);

/* Sorts ranges.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_segments_build(struct sym_segments *out, struct sym_ranges *ranges);
uint32_t sym_segments_find(const struct sym_segments *segments, uint64_t vaddr);
void sym_segments_release(struct sym_segments *segments);

/* ---- ELF objects ---- */

enum {
    SYM_BUILD_ID_MAX = 64, /* bytes; 8, 16, 20 and 32 occur */
};

/* The sections the debug information is read from.  */
enum sym_section {
    SYM_SECTION_INFO,
    SYM_SECTION_ABBREV,
    SYM_SECTION_LINE,
    SYM_SECTION_STR,
    SYM_SECTION_LINE_STR,
    SYM_SECTION_RANGES,
    SYM_SECTION_RNGLISTS,
    SYM_SECTION_ADDR,
    SYM_SECTION_STR_OFFSETS,
    SYM_SECTION_COUNT,
};

struct sym_load { /* a PT_LOAD segment */
    uint64_t vaddr, file_offset, file_size;
    bool executable;
};

struct sym_code { /* a section with code, also where its bytes are in another file */
    uint64_t start, limit;
};

/* An ELF file.  The facts below stay after sym_object_close(); bytes live until then.  */
struct sym_object {
    char *path;
    Elf *elf; /* NULL when closed */
    int fd;   /* -1 when closed */

    uint8_t build_id[SYM_BUILD_ID_MAX];
    size_t build_id_length; /* 0: none */
    uint16_t machine;
    bool has_contents; /* holds the code itself, not only debug information about it */
    struct sym_load *loads;
    size_t load_count;
    struct sym_code *code; /* sorted by start */
    size_t code_count;

    bool has_dwarf, has_symtab, has_dynsym; /* tables with something in them */
    const char *debug_problem; /* why debug information that is there cannot be read, or NULL */
    const char *debug_remedy;
};

/* Opens the regular file at path and reads what the struct holds.  Anything but a regular file is
 * refused without blocking.  SYM_OK, SYM_NOT_FOUND (no such file), SYM_IO, SYM_MALFORMED or
 * SYM_NO_MEMORY.  */
enum sym_status sym_object_open(const char *path, struct sym_object **out, struct sym_error *error);

/* Opens it again at its path, provided that it is still the same; nothing to do when it is open.
 * SYM_OK or as sym_object_open().  */
enum sym_status sym_object_reopen(struct sym_object *object, struct sym_error *error);

/* Lets go of the file; the bytes that were read stay.  */
void sym_object_detach(struct sym_object *object);

/* Lets go of the file and all bytes of it, keeps the facts.  */
void sym_object_close(struct sym_object *object);
void sym_object_free(struct sym_object *object); /* accepts NULL and a half-built object */

/* The bytes of a section, decompressed; size 0 when it is not there.  SYM_OK, SYM_MALFORMED or
 * SYM_NO_MEMORY.  */
enum sym_status sym_object_section(struct sym_object *object, enum sym_section section,
                                   struct sym_bytes *out, struct sym_error *error);

/* Whether code lies at vaddr.  Linkers leave ranges of dropped functions at 0, 1, -1 or -2
 * ("tombstones", section 6): no section with code is there.  */
bool sym_object_is_code(const struct sym_object *object, uint64_t vaddr);

/* The section with code around vaddr, or NULL.  */
const struct sym_code *sym_object_code(const struct sym_object *object, uint64_t vaddr);

/* SYM_NO_MEMORY if the last failure of libelf was that, else otherwise.  */
enum sym_status sym_elf_status(enum sym_status otherwise);

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

/* ---- Modules ---- */

/* The module's debug information and symbols, as far as they are in memory.  */
struct sym_loaded {
    bool done;
    struct sym_dwarf dwarf;
    bool has_dwarf;
    struct sym_symbols symbols;
    const char *last_symbol;                       /* the last one that was made readable, */
    const char *last_linkage_name, *last_function; /* and what came out */
};

struct sym_module {
    struct sym_module *next;
    struct sym_session *session;
    uint8_t *build_id;
    size_t build_id_length;
    char *path; /* may be NULL */

    struct sym_report report;
    struct sym_object *code;    /* the object itself, or NULL */
    struct sym_object *debug;   /* where debug information comes from, or NULL; may be code */
    struct sym_object *symbols; /* where symbols come from, or NULL; may be either */
    struct sym_strings strings;
    struct sym_loaded loaded;
};

struct sym_session {
    char **symbol_dirs;
    size_t symbol_dir_count;
    char *debug_root; /* "": none */
    bool no_inlines;
    struct sym_module *modules;
    struct sym_module *loaded; /* at most one module's debug information is in memory */
};

/* Looks for the module's files and writes its report.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_module_find(struct sym_module *module, struct sym_error *error);

/* Writes into the report that debug information turned out to be of little use, or unreadable (then
 * loaded.has_dwarf is false).  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_module_downgrade(struct sym_module *module, const char *problem,
                                     const char *remedy);

/* Forget what was read for looking up; strings stay.  */
void sym_module_unload(struct sym_module *module);

#endif /* SYMBOLIZE_INTERNAL_H */
