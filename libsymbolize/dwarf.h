/* dwarf.h - debug information: units, functions, inlined copies and line tables.  "section N" means
 * docs/formats/symbolizer.md; "7.5" and the like are sections of the DWARF 5 standard.
 *
 * dwarf_units.c makes the index of units.  A unit is decoded when an address of it is looked up:
 * dwarf_abbrevs.c and dwarf_forms.c take DIEs apart, dwarf_scopes.c lists the functions and, for
 * those that are hit, what was inlined into them, dwarf_ranges.c says what they cover,
 * dwarf_lines.c runs the line program, dwarf_files.c and dwarf_names.c read paths and names when an
 * answer wants them.
 */
#ifndef SYMBOLIZE_DWARF_H
#define SYMBOLIZE_DWARF_H

#include "libsymbolize/elf_object.h"
#include <libdwarf/dwarf.h>
#include <pthread.h>

/* ---- Abbreviations (7.5.3) ---- */

struct sym_attribute {
    uint16_t name, form; /* name 0: one whose value is of no use here */
    int32_t constant;    /* of DW_FORM_implicit_const */
};

/* What a walk has to know of a DIE.  */
enum sym_die_kind {
    SYM_DIE_PLAIN,
    SYM_DIE_FUNCTION, /* one with addresses */
    SYM_DIE_ABSTRACT, /* a function without */
    SYM_DIE_INLINED,
    SYM_DIE_TYPE,  /* never has code below it */
    SYM_DIE_CLASS, /* has, in languages with member functions */
};

enum {
    SYM_NOT_FIXED = 0xffff, /* size of DIEs that have to be looked at */
    SYM_NO_SIBLING = 0xffff,
};

/* How to get over a DIE of variable size: add bytes, then what one form says.  */
struct sym_step {
    uint16_t add;
    uint8_t then; /* enum step of dwarf_abbrevs.c */
};

struct sym_abbrev {
    uint32_t code;
    uint32_t first_attribute, first_step;
    uint16_t attribute_count, tag;
    uint16_t size;    /* of a DIE behind its code, or SYM_NOT_FIXED: then there are steps */
    uint16_t fast;    /* the same, SYM_NOT_FIXED also where a list of functions has to look */
    uint16_t sibling; /* where behind the code the reference to the next sibling is */
    uint8_t sibling_size;
    uint8_t kind; /* enum sym_die_kind */
    bool has_children, unknown;
};

/* What sizes of forms depend on.  */
struct sym_sizes {
    uint16_t version;
    uint8_t offset_size, address_size; /* 4 or 8 bytes */
};

struct sym_abbrevs {
    struct sym_abbrev *items; /* by code */
    bool is_sparse;           /* otherwise codes are 1, 2, 3... */
    struct sym_attribute *attributes;
    struct sym_step *steps;
    size_t count, capacity;
    size_t attribute_count, attribute_capacity;
    size_t step_count, step_capacity;
};

/* Reads the table of bytes [offset, limit) of section; with only, no declaration but that one.
 * What precedes damage is kept.  SYM_OK, SYM_MALFORMED or SYM_NO_MEMORY.  */
enum sym_status sym_abbrevs_read(struct sym_abbrevs *abbrevs, const struct sym_bytes *section,
                                 uint64_t offset, uint64_t limit, const struct sym_sizes *sizes,
                                 uint64_t only);
void sym_abbrevs_release(struct sym_abbrevs *abbrevs);

/* NULL: there is none.  */
const struct sym_abbrev *sym_abbrevs_search(const struct sym_abbrevs *abbrevs, uint64_t code);

static inline const struct sym_abbrev *sym_abbrevs_find(const struct sym_abbrevs *abbrevs,
                                                        uint64_t code)
{
    if (abbrevs->is_sparse)
        return sym_abbrevs_search(abbrevs, code);
    return code - 1 < abbrevs->count ? &abbrevs->items[code - 1] : NULL;
}

/* Moves a cursor behind the code of a DIE over its attributes.  */
void sym_abbrev_skip_steps(const struct sym_abbrevs *abbrevs, const struct sym_abbrev *abbrev,
                           const struct sym_sizes *sizes, struct sym_cursor *cursor);

static inline void sym_abbrev_skip(const struct sym_abbrevs *abbrevs,
                                   const struct sym_abbrev *abbrev, const struct sym_sizes *sizes,
                                   struct sym_cursor *cursor)
{
    if (abbrev->size != SYM_NOT_FIXED)
        sym_skip(cursor, abbrev->size);
    else
        sym_abbrev_skip_steps(abbrevs, abbrev, sizes, cursor);
}

/* A table that one or more units use.  */
struct sym_abbrev_table {
    uint64_t offset, limit; /* in .debug_abbrev; the next table starts at limit */
    struct sym_sizes sizes;
    uint32_t user_count;
    bool is_read;
    struct sym_abbrevs abbrevs;
};

/* ---- Lines ---- */

struct sym_row {
    uint64_t vaddr;
    uint32_t file; /* as the line table counts; see sym_unit_file() */
    uint32_t line; /* 0: the compiler named none */
    uint32_t column;
    uint32_t discriminator; /* only with sym_dwarf.details */
};

struct sym_sequence { /* rows [first, first + count) of [low, high) */
    uint64_t low, high;
    size_t first, count;
};

struct sym_file {
    const char *name; /* in a section */
    uint64_t directory;
    const char *path; /* interned; NULL: not wanted so far */
};

/* The line table of a unit.  A row says something else than the one before it; of several at one
 * address the last is there.  */
struct sym_lines {
    struct sym_row *rows;
    size_t row_count, row_capacity;
    struct sym_sequence *sequences;
    size_t sequence_count, sequence_capacity;
    struct sym_segments segments; /* value: index into sequences */

    /* Read when the first path is wanted.  */
    bool has_files;
    struct sym_file *files; /* index 0 is file number first_file */
    size_t file_count, file_capacity;
    const char **directories; /* [0] is entry 0 of DWARF 5, entry 1 before that */
    size_t directory_count, directory_capacity;
    uint16_t version; /* of the table; may be another than that of the unit */
    uint32_t first_file;
};

/* What a line table says about its program (6.2.4).  */
struct sym_line_header {
    uint64_t version;
    size_t offset_size;  /* 4 or 8 bytes */
    uint64_t step_bytes; /* minimum_instruction_length */
    uint64_t slots;      /* maximum_operations_per_instruction, at least 1 */
    int8_t line_base;
    uint64_t line_range, opcode_base;
    uint8_t operands[256];    /* of the standard opcodes */
    struct sym_cursor tables; /* directories and files */
    struct sym_cursor program;
};

/* ---- Functions and what was inlined into them ---- */

/* What the DIEs that name a function say.  Strings are interned, none is NULL.  */
struct sym_name {
    uint64_t die_key;
    const char *function, *linkage_name;
    uint32_t start_line;
    uint32_t start_file;    /* as the unit of start_key counts; UINT32_MAX: none */
    uint64_t start_key;     /* of the DIE that says so */
    const char *start_path; /* interned; NULL: not wanted so far; see sym_name_file() */
};

/* A linkage name and its readable form; both interned, so that pointers compare.  */
struct sym_readable {
    const char *linkage_name, *function;
};

/* A function or an inlined copy of one.  */
struct sym_scope {
    uint64_t die_key;      /* where its name is looked for: its own DIE, or, of an inlined
                                  * copy, that of the function */
    struct sym_name *name; /* NULL: not wanted so far; see sym_scope_name() */
    uint32_t parent;       /* the scope it was inlined into; SYM_NO_VALUE: a function */
    uint32_t call_file, call_line, call_column;
};

/* More about a scope, which is kept only with sym_dwarf.details.  */
struct sym_scope_detail {
    uint64_t start; /* its first address; UINT64_MAX: unknown, or it has several pieces */
    uint32_t call_discriminator; /* of the code that it was inlined into */
};

/* Of the function whose scope has the same index.  */
struct sym_function {
    uint64_t children, limit; /* offsets of DIEs below it; equal when there are none */
    uint32_t around, depth;   /* the function whose DIE holds this one's, or SYM_NO_VALUE; how
                               * deep its DIE lies */
    uint32_t segment_count;
    size_t first_segment; /* in inlined */
    bool decoded;
};

struct sym_scopes {
    struct sym_scope *items; /* functions first, then the copies inlined into those decoded */
    size_t count, capacity;
    struct sym_scope_detail *details; /* of the same index; NULL: without sym_dwarf.details */
    size_t detail_capacity;
    struct sym_function *functions;
    size_t function_count, function_capacity;
    struct sym_segments segments; /* value: function */
    struct sym_segments inlined;  /* for each decoded function its own run; value: scope */
};

/* ---- Units ---- */

enum {
    SYM_KEY_BITS = 40, /* of a DIE's key that are its offset; the others number its sym_info */
};

/* A .debug_info section and those it refers to: of the object, of a .dwo file or one unit of a
 * package (.dwp), or of a supplement (section 4).  */
struct sym_info {
    struct sym_object *object; /* whose bytes these are; owned only by split and supplement */
    bool owns_object;
    bool big_endian;
    bool is_split;
    uint64_t key; /* added to the offset of a DIE tells it from those of all others */
    struct sym_bytes sections[SYM_SECTION_COUNT];
    bool has_locations;                        /* .debug_loc and .debug_loclists are among them */
    uint64_t locations_offset, locations_size; /* of a package's unit: its part; size 0: all */
    struct sym_unit *units;                    /* by offset */
    size_t unit_count, unit_capacity;
    struct sym_abbrev_table *tables;
    size_t table_count;
};

/* What is read of a unit.  */
enum sym_unit_part {
    SYM_PART_FUNCTIONS = 1, /* and what was inlined into them */
    SYM_PART_LINES = 2,     /* and the files that they are in */
};

struct sym_unit {
    struct sym_info *info;
    uint64_t offset, die_offset, limit; /* of header, own DIE, end in .debug_info */
    uint64_t abbrev_offset;
    uint64_t dwo_id;        /* of a skeleton, and of what it stands for */
    uint8_t type;           /* DW_UT_compile before DWARF 5 */
    const char *dwo_name;   /* of a skeleton, in a section; "" none */
    struct sym_unit *split; /* where the functions of a skeleton are; NULL: not open */
    bool sought;            /* whether there is one is known */
    struct sym_sizes sizes;
    uint32_t table; /* of abbreviations: index into info->tables */
    uint64_t base;  /* low_pc: what range lists count from */
    uint64_t addr_base, str_offsets_base, rnglists_base, loclists_base;
    uint64_t ranges_base;     /* of a split unit before DWARF 5, otherwise 0 */
    uint64_t gnu_ranges_base; /* of a skeleton: that of its split unit */
    uint64_t line_offset;     /* in .debug_line; UINT64_MAX: none */
    const char *comp_dir;     /* in a section; "" unknown */
    bool is_partial;          /* holds what other units refer to, no code */
    bool classes_hold_code;
    bool decoded;
    struct sym_lines lines;
    struct sym_scopes scopes;

    uint8_t refused;     /* parts that the decoder could not read to the end, enum sym_unit_part */
    uint8_t by_libdwarf; /* parts that libdwarf read instead; such a unit stays decoded */
    bool libdwarf_done;  /* libdwarf was tried, or will not be */
    bool is_missed;      /* counted in sym_fallback.missed_count */
    bool lacks_calls;    /* the inlined calls of a function could not be read to the end; */
    uint64_t calls_from; /* the first such function has its DIEs from this offset on */

    bool charged;          /* for its line program, see sym_unit_charge() */
    uint32_t task;         /* of sym_ahead, which has it until it is taken; or SYM_NO_VALUE */
    uint32_t newer, older; /* among the decoded units that are kept; or SYM_NO_VALUE */
    bool is_kept;
    size_t kept_bytes;
};

/* Who decodes: keeps room, budgets and the first damage of one thread.  */
struct sym_decoder {
    struct sym_dwarf *dwarf;
    const struct sym_code *code; /* of the last range: mostly that of the next too */
    struct sym_ranges ranges;
    struct sym_sweep sweep;
    uint64_t range_budget; /* entries of range lists that may still be read: for the functions of a
                            * unit, then for the copies inlined into each function */
    unsigned damage_count; /* how many things could not be read */
    bool damaged;          /* something could not be read */
    char damage[160];      /* the first such thing, a phrase */
};

/* Finds files that belong to an object.  Each gives an open one that the caller owns: SYM_OK,
 * SYM_NOT_FOUND (error says why) or SYM_NO_MEMORY.  */
struct sym_finder {
    enum sym_status (*dwo)(void *context, const struct sym_unit *skeleton,
                           const char *(*fits)(void *, struct sym_object *), void *fits_context,
                           struct sym_object **out, struct sym_error *error);
    enum sym_status (*dwp)(void *context, const char *(*fits)(void *, struct sym_object *),
                           void *fits_context, struct sym_object **out, struct sym_error *error);
    enum sym_status (*alt)(void *context, struct sym_object **out, struct sym_error *error);
    void *context;
};

/* The files of another unit than the one that is looked at.  */
struct sym_foreign {
    const struct sym_unit *from; /* NULL: of none */
    struct sym_unit unit;        /* what of it reads the table; lines are its own */
    uint64_t entries_read;       /* of all such tables */
};

/* Reads something and writes it to fd, in a child process; see fallback.h.  */
typedef void (*sym_fallback_fn)(void *context, int fd);

/* libdwarf, for units that the decoder refuses.  All zero: nothing was tried.  */
struct sym_fallback {
    bool is_off;
    sym_fallback_fn child; /* NULL: sym_fallback_write(); tests have others */
    size_t tried_count;    /* children */
    uint64_t spent_ms;     /* CPU time of all of them */
    size_t unit_count;     /* units of which it read something */
    char reason[240];      /* what the decoder could not read, of the first; a phrase */
    size_t missed_count;   /* units with a part that neither reads to the end */
    char missed[320];      /* a phrase: what is damaged in the first, and why nobody reads it */
};

struct sym_dwarf {
    struct sym_object *object;   /* not owned */
    struct sym_strings *strings; /* not owned */
    bool details, relative;      /* sym_options.details, relative_files */
    struct sym_finder finder;
    struct sym_info main;
    struct sym_unit *units; /* those of main, fixed once it is open */
    size_t unit_count;
    struct sym_segments segments; /* value: index into units */
    struct sym_info **infos;      /* by the number in their keys; NULL: closed; [0] is main */
    size_t info_count, info_capacity;
    struct sym_info *alt;     /* the supplement, one of infos; NULL: none */
    struct sym_info *package; /* the .dwp file, for its sections; NULL: none */
    bool package_sought;
    size_t missing_splits;      /* units whose functions were not found */
    char missing[240];          /* why, of the first; a phrase that begins with a file */
    char missing_alt[240];      /* why a supplement that is named is not used; "" none is */
    pthread_mutex_t table_lock; /* of what is in tables of abbreviations */
    bool has_lock;
    struct sym_decoder decoder;        /* of who opened it; its damage is that of all */
    struct sym_ahead *ahead;           /* units that are decoded ahead of answers, or NULL */
    uint32_t newest, oldest;           /* decoded unit; SYM_NO_VALUE: none */
    size_t kept_bytes, kept_bytes_max; /* of decoded units */
    ptrdiff_t unit_at;                 /* where to look first for the next one */
    uint64_t line_budget; /* bytes of line programs that may still be run: units may share one */

    /* Names by the key of the DIE that was asked for.  */
    struct base_index name_index;
    struct sym_name **names;
    size_t name_count, name_capacity;
    struct base_arena name_arena; /* names stay where they are: scopes point to them */
    /* Linkage names and their readable forms.  */
    struct base_index readable_index;
    struct sym_readable *readable;
    size_t readable_count, readable_capacity;
    struct sym_foreign foreign;
    struct sym_variables *variables; /* index of static variables; NULL: not wanted so far */
    struct sym_fallback fallback;
};

/* Makes the index of units; decodes none but those that do not say what they cover.  finder is
 * copied; NULL: companions are not looked for; dwarf->details, relative, fallback.is_off and
 * fallback.child are set before.
 * SYM_OK, SYM_MALFORMED (no unit is readable) or SYM_NO_MEMORY.  */
enum sym_status sym_dwarf_open(struct sym_dwarf *dwarf, struct sym_object *object,
                               const struct sym_finder *finder, struct sym_strings *strings,
                               struct sym_error *error);
void sym_dwarf_close(struct sym_dwarf *dwarf); /* accepts a half-built one, or all zero */

/* ---- Looking up ---- */

/* The unit that covers vaddr, its functions and lines decoded; NULL: none.  Cuts span, unless it is
 * NULL, to the addresses around vaddr that have the same.  The unit stays decoded until another one
 * is asked for.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_dwarf_unit(struct sym_dwarf *dwarf, uint64_t vaddr, struct sym_span *span,
                               struct sym_unit **out);

/* Sets how many entries of range lists may be read for info_bytes of a unit's DIEs.  */
void sym_decoder_allow_ranges(struct sym_decoder *decoder, const struct sym_unit *dies,
                              uint64_t info_bytes, uint64_t at_least);

/* Decodes one that is at hand.  The second leaves the line budget alone, and so may be called by
 * any thread for a unit that no other one looks at.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_dwarf_decode(struct sym_dwarf *dwarf, struct sym_unit *unit);
enum sym_status sym_unit_decode(struct sym_decoder *decoder, struct sym_unit *unit);
void sym_unit_release(struct sym_dwarf *dwarf, struct sym_unit *unit);

/* Decodes units in several threads ahead of sym_dwarf_unit(): those that the addresses need, in
 * their order, or, with order NULL, all of them and all that is in them, by address.  jobs as in
 * struct sym_options; where that is 1, or one unit is enough, nothing happens.  order is borrowed
 * until the end.  SYM_OK or SYM_NO_MEMORY.  */
struct sym_order;
enum sym_status sym_ahead_start(struct sym_dwarf *dwarf, const struct sym_order *order,
                                unsigned jobs);
void sym_ahead_end(struct sym_dwarf *dwarf); /* accepts one without a start */

/* What a decoded unit knows about vaddr, which is the same for all of span.  */
struct sym_place {
    struct sym_span span;
    uint32_t scope;                                 /* the innermost, or SYM_NO_VALUE */
    const struct sym_row *row;                      /* NULL: no line */
    ptrdiff_t function_at, inlined_at, sequence_at; /* where to look first for the next one */
};

/* Fills *place, which is all zero or has the answer for another address.  Decodes what was inlined
 * into the function there.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_unit_place(struct sym_decoder *decoder, struct sym_unit *unit, uint64_t vaddr,
                               struct sym_place *place);

/* Makes a name of a scope from texts that are no part of a section; like has the rest.  SYM_OK or
 * SYM_NO_MEMORY.  */
enum sym_status sym_name_add(struct sym_dwarf *dwarf, const char *plain, const char *linkage,
                             const struct sym_name *like, struct sym_name **out);

/* Fills the name of a scope.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_scope_name(struct sym_dwarf *dwarf, struct sym_scope *scope);

/* The interned path of the file that declares a function of unit, "" unknown.  SYM_OK or
 * SYM_NO_MEMORY.  */
enum sym_status sym_name_file(struct sym_dwarf *dwarf, struct sym_unit *unit, struct sym_name *name,
                              const char **path);

/* The interned path of a file as rows number them, "" unknown; the second as scopes do, which in a
 * split unit may be otherwise.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_unit_file(struct sym_dwarf *dwarf, struct sym_unit *unit, uint32_t file,
                              const char **path);
enum sym_status sym_unit_call_file(struct sym_dwarf *dwarf, struct sym_unit *unit, uint32_t file,
                                   const char **path);

/* ---- Pieces ---- */

void sym_decoder_damage(struct sym_decoder *decoder, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void sym_decoder_release(struct sym_decoder *decoder);

/* Waits for a unit that is decoded ahead, or does it.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_ahead_take(struct sym_dwarf *dwarf, struct sym_unit *unit);

/* Takes the line program of a unit out of the budget; one that is too long is given up.  */
void sym_unit_charge(struct sym_decoder *decoder, struct sym_unit *unit);
size_t sym_unit_bytes(const struct sym_unit *unit); /* memory it takes decoded */

/* Decoded units are kept for later, those that were used last; forgetting one keeps it out of
 * that.  */
void sym_dwarf_keep(struct sym_dwarf *dwarf, struct sym_unit *unit);
void sym_dwarf_forget(struct sym_dwarf *dwarf, struct sym_unit *unit);

/* The abbreviations of a unit; an unreadable table is empty.  Any thread.  SYM_OK or
 * SYM_NO_MEMORY.  */
enum sym_status sym_unit_abbrevs(struct sym_decoder *decoder, const struct sym_unit *unit,
                                 const struct sym_abbrevs **out);

/* Reads headers of units and places of tables from info->sections.  What is damaged is noted and
 * left out.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_info_read(struct sym_decoder *decoder, struct sym_info *info);

/* Gets the sections of object into info.  SYM_OK, SYM_MALFORMED or SYM_NO_MEMORY.  */
enum sym_status sym_info_load(struct sym_info *info, struct sym_object *object,
                              struct sym_error *error);

/* Gives info a number and takes it.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_info_add(struct sym_dwarf *dwarf, struct sym_info *info);
void sym_info_release(struct sym_info *info); /* what it holds, and its object if that is its own */

/* The info and the unit of a DIE by its key, or NULL.  */
struct sym_unit *sym_dwarf_unit_of(const struct sym_dwarf *dwarf, uint64_t die_key);

/* Opens the split unit of a skeleton, unless that was tried before; not for several threads at
 * once.  SYM_OK, whether there is one or not, or SYM_NO_MEMORY.  */
enum sym_status sym_unit_open_split(struct sym_dwarf *dwarf, struct sym_unit *unit);
void sym_unit_close_split(struct sym_dwarf *dwarf, struct sym_unit *unit);

void sym_splits_release(struct sym_dwarf *dwarf); /* package and supplement */

/* Opens the supplement, if main names one.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_alt_open(struct sym_dwarf *dwarf);

/* The unit whose DIEs describe the functions of unit.  */
static inline const struct sym_unit *sym_unit_dies(const struct sym_unit *unit)
{
    return unit->split ? unit->split : unit;
}

/* ---- DIEs one at a time ---- */

/* A DIE, by its key.  */
struct sym_die {
    const struct sym_unit *unit;
    const struct sym_abbrevs *abbrevs;
    const struct sym_abbrev *abbrev; /* NULL: there is no such DIE */
    uint64_t key;
    struct sym_cursor cursor; /* behind its code; ends with the unit */
};

/* SYM_OK, also where there is none, or SYM_NO_MEMORY.  */
enum sym_status sym_die_open(struct sym_decoder *decoder, uint64_t key, struct sym_die *die);

/* From a DIE whose attributes were not read to the next one in the order of the file; *depth, which
 * is that of the one, becomes that of the other.  False: there is none, or *depth would be 0.  */
bool sym_die_next(struct sym_die *die, uint32_t *depth);

/* What a DIE and those it refers to (abstract origin, specification) say.  The strings lie in the
 * sections.  */
struct sym_texts {
    const char *plain, *linkage;     /* "" unknown */
    uint64_t start_line, start_file; /* of the declaration; 0, UINT32_MAX: unknown */
    uint64_t start_key;              /* of the DIE that has start_file */
    uint64_t type;                   /* key of a DIE, where has_type */
    bool has_type;
    bool has_next; /* for dwarf_names.c alone, as the next two */
    uint64_t here; /* key of the DIE that is being read */
    uint64_t next; /* key of the DIE that the last one refers to */
};
enum sym_status sym_die_texts(struct sym_decoder *decoder, uint64_t die_key,
                              struct sym_texts *texts);

/* The interned path of file as the unit of the DIE die_key counts, which may be another than unit;
 * "" unknown.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_decl_file(struct sym_dwarf *dwarf, struct sym_unit *unit, uint32_t file,
                              uint64_t die_key, const char **path);

/* The size of the type with that key.  SYM_OK, SYM_NOT_FOUND (unknown) or SYM_NO_MEMORY.  */
enum sym_status sym_type_size(struct sym_decoder *decoder, uint64_t type_key, uint64_t *size);

/* The bytes of a block or an expression; none: form is that of something else.  */
struct sym_cursor sym_block_read(const struct sym_unit *unit, uint16_t form,
                                 struct sym_cursor *cursor);

/* Whether an expression is a register; an offset from the frame's base, which may be a register (-1
 * if not); an address, as of static variables.  */
bool sym_expression_register(struct sym_cursor expression, uint8_t *number);
bool sym_expression_offset(struct sym_cursor expression, int base_register, int64_t *offset);
bool sym_expression_address(const struct sym_unit *unit, struct sym_cursor expression,
                            uint64_t *vaddr);

/* Reads .debug_loc and .debug_loclists.  SYM_OK, SYM_MALFORMED or SYM_NO_MEMORY.  */
enum sym_status sym_info_load_locations(struct sym_info *info);

/* What an attribute's value is.  */
enum sym_value_class {
    SYM_VALUE_NONE, /* unreadable, or of no use here */
    SYM_VALUE_ADDRESS,
    SYM_VALUE_ADDRESS_INDEX, /* into .debug_addr */
    SYM_VALUE_CONSTANT,
    SYM_VALUE_OFFSET, /* into the section that the attribute says */
    SYM_VALUE_LIST_INDEX,
    SYM_VALUE_STRING, /* in place */
    SYM_VALUE_STR,    /* offset in .debug_str */
    SYM_VALUE_LINE_STR,
    SYM_VALUE_STR_INDEX, /* into .debug_str_offsets */
    SYM_VALUE_ALT_STR,   /* offset in .debug_str of the supplement */
    SYM_VALUE_DIE,       /* its key */
    SYM_VALUE_ALT_DIE,   /* offset in .debug_info of the supplement */
};

struct sym_value {
    enum sym_value_class kind;
    uint64_t number;
    const char *string;
};

/* Reads the value of an attribute.  cursor->failed on damage.  */
void sym_value_read(const struct sym_unit *unit, const struct sym_attribute *attribute,
                    struct sym_cursor *cursor, struct sym_value *value);
void sym_form_skip(const struct sym_sizes *sizes, uint16_t form, struct sym_cursor *cursor);

/* The bytes that a form takes; -1: that varies; -2: unknown.  */
int sym_form_size(const struct sym_sizes *sizes, uint16_t form);

/* The text of a value, borrowed from its section; "" when it is none.  */
const char *sym_value_text(const struct sym_decoder *decoder, const struct sym_unit *unit,
                           const struct sym_value *value);

/* The address of a value; UINT64_MAX, a tombstone, when it is none.  */
uint64_t sym_value_address(const struct sym_unit *unit, const struct sym_value *value);
uint64_t sym_indexed_address(const struct sym_unit *unit, uint64_t index);

/* Whether value is a reference to a DIE; one into the supplement becomes a key.  */
bool sym_value_die(const struct sym_decoder *decoder, struct sym_value *value);

/* The attributes of a DIE that say what it covers.  All zero: none.  */
struct sym_extent {
    struct sym_value low, high, ranges;
};

/* What the first DIE of a unit says that the unit does not keep.  */
struct sym_root {
    uint16_t tag;
    bool has_ranges;
    struct sym_extent extent;
    struct sym_value comp_dir, dwo_name;
};

/* Reads it into *root and *unit.  room is used for abbreviations, from one unit to the next.
 * SYM_OK, SYM_MALFORMED or SYM_NO_MEMORY.  */
enum sym_status sym_unit_read_root(struct sym_decoder *decoder, struct sym_unit *unit,
                                   struct sym_abbrevs *room, struct sym_root *root);

/* Adds what extent covers to ranges, tombstones left out; like gives rank, tie and value.  SYM_OK,
 * SYM_MALFORMED (noted) or SYM_NO_MEMORY; what came before damage is kept.  */
enum sym_status sym_extent_ranges(struct sym_decoder *decoder, const struct sym_unit *unit,
                                  const struct sym_extent *extent, struct sym_range like,
                                  struct sym_ranges *ranges);

/* Fill unit->lines and the functions of unit->scopes.  SYM_OK or SYM_NO_MEMORY; damage is noted.
 */
enum sym_status sym_lines_read(struct sym_decoder *decoder, struct sym_unit *unit);
enum sym_status sym_functions_read(struct sym_decoder *decoder, struct sym_unit *unit);

/* Lays out lines->segments.  SYM_OK, SYM_MALFORMED (too many) or SYM_NO_MEMORY.  */
enum sym_status sym_lines_sort(struct sym_decoder *decoder, struct sym_lines *lines);

/* Adds what was inlined into a function to unit->scopes.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_function_decode(struct sym_decoder *decoder, struct sym_unit *unit,
                                    uint32_t function);

/* The same for all functions of a decoded unit.  */
enum sym_status sym_functions_decode(struct sym_decoder *decoder, struct sym_unit *unit);

/* The header of the line table at offset of .debug_line.  SYM_OK or SYM_MALFORMED.  */
enum sym_status sym_line_header_read(const struct sym_unit *unit, struct sym_line_header *header);

void sym_lines_release(struct sym_lines *lines);
void sym_scopes_release(struct sym_scopes *scopes);
void sym_names_release(struct sym_dwarf *dwarf);
void sym_variables_release(struct sym_dwarf *dwarf); /* accepts one without */

#endif /* SYMBOLIZE_DWARF_H */
