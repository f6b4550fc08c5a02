/* oracle.h - debug information as libdwarf reads it: a second opinion that shares no code with the
 * decoder, for verify.c, and a second attempt for units that the decoder refuses, for fallback.h.
 *
 * For verification, libelf finds the sections and unpacks them; only relocatable objects have
 * theirs from sections.c, because relocations are applied there.  libdwarf believes much of what it
 * reads: a caller that gives it hostile files bounds its time and memory, and expects that it may
 * crash.  */
#ifndef SYMBOLIZE_ORACLE_H
#define SYMBOLIZE_ORACLE_H

#include "libsymbolize/elf_object.h"

/* ---- Files ---- */

struct sym_oracle;

/* object is open and stays so.  SYM_OK, SYM_MALFORMED or SYM_NO_MEMORY.  */
enum sym_status sym_oracle_open(struct sym_object *object, struct sym_oracle **out,
                                struct sym_error *error);
/* The same with the sections that object has in memory, which are read by sections.c: nothing is
 * copied, however large they are.  */
enum sym_status sym_oracle_open_shared(struct sym_object *object, struct sym_oracle **out,
                                       struct sym_error *error);
void sym_oracle_close(struct sym_oracle *oracle); /* accepts NULL */

/* main is the program of a split file, or the supplement of a program.  It stays open longer.  */
void sym_oracle_tie(struct sym_oracle *split, struct sym_oracle *main);
void sym_oracle_supplement(struct sym_oracle *oracle, struct sym_oracle *alt);

/* libdwarf's version, as it gives it: "20210528", "0.11.1".  */
const char *sym_oracle_version(void);

/* The first thing that libdwarf could not read since the last call, a phrase; "" nothing.  Valid
 * until the next call of any function here.  */
const char *sym_oracle_problem(struct sym_oracle *oracle);

/* ---- Units ---- */

/* A function or an inlined copy of one that covers code.  */
struct sym_oracle_entry {
    size_t parent; /* that it was inlined into; SIZE_MAX: none, it is a function */
    uint64_t die;  /* offset */
    unsigned depth;
    bool inlined, is_named;     /* name and linkage are read */
    const char *name, *linkage; /* "" none */
    uint64_t call_file, call_line, call_column;
    uint64_t start_line, start_file; /* of the declaration, read with the names; 0, UINT32_MAX:
                                      * unknown */
    uint64_t start_die;              /* of the DIE in this file that has start_file; offset */
};

/* Ranges that may overlap, found by address: of those around it the one that begins last.  */
struct sym_oracle_range {
    uint64_t low, high;
    uint64_t reach; /* the largest high up to here */
    size_t value, order;
    size_t limit;    /* of a sequence: the row behind its last one */
    size_t function; /* of an inlined copy: the entry that it is in */
};

struct sym_oracle_ranges {
    struct sym_oracle_range *items;
    size_t count, capacity;
};

struct sym_oracle_row {
    uint64_t vaddr, line, column, file;
    bool is_named; /* otherwise there is no line here */
    void *source;  /* of libdwarf */
};

/* What libdwarf knows of a unit.  All zero is empty.  */
struct sym_oracle_unit {
    struct sym_oracle *oracle; /* of the functions */
    uint16_t version;          /* of the line table */
    uint64_t base;             /* low_pc */
    struct sym_oracle_entry *entries;
    size_t entry_count, entry_capacity;
    struct sym_oracle_ranges functions; /* value: entry */
    struct sym_oracle_ranges inlined;   /* by function */
    struct sym_oracle_row *rows;
    size_t row_count, row_capacity;
    struct sym_oracle_ranges sequences; /* value: the first row */
    void *context;                      /* of libdwarf; owns what rows point to */
    bool too_deep;
};

/* Where the next unit of .debug_info is, from *next, 0 at first; *die: of its first DIE.  False:
 * there is no more, or it cannot be read, which is a problem.  */
bool sym_oracle_next(struct sym_oracle *oracle, uint64_t *die, uint8_t *type);

/* Read the functions below a DIE, the first of a unit, as far as they are in object's code; base
 * is the low_pc that ranges count from where the DIE has none.  The same for lines.  SYM_OK,
 * SYM_MALFORMED (mostly with a problem) or SYM_NO_MEMORY.  */
enum sym_status sym_oracle_functions(struct sym_oracle *oracle, const struct sym_object *object,
                                     uint64_t die, uint64_t base, struct sym_oracle_unit *unit);
enum sym_status sym_oracle_lines(struct sym_oracle *oracle, const struct sym_object *object,
                                 uint64_t die, struct sym_oracle_unit *unit);
void sym_oracle_release(struct sym_oracle_unit *unit);

/* The first DIE of the unit of a split file that has dwo_id; UINT64_MAX: none.  */
uint64_t sym_oracle_find_split(struct sym_oracle *oracle, uint64_t dwo_id);

/* ---- Answers ---- */

/* The innermost entry at vaddr, with its name and those of what it was inlined into; SIZE_MAX:
 * none.  */
size_t sym_oracle_innermost(struct sym_oracle_unit *unit, uint64_t vaddr);
/* Fills name and linkage.  */
void sym_oracle_name(struct sym_oracle_unit *unit, struct sym_oracle_entry *entry);
/* The row for vaddr; NULL: none, or no line.  */
const struct sym_oracle_row *sym_oracle_row(const struct sym_oracle_unit *unit, uint64_t vaddr);
/* The path of a row's file, the caller's, from malloc(); NULL: unknown.  oracle is the file that
 * the lines were read from.  */
char *sym_oracle_path(struct sym_oracle *oracle, const struct sym_oracle_row *row);

/* ---- Tables of files, of a unit whose lines were read ---- */

struct sym_oracle_tables {
    const char *comp_dir; /* "" unknown */
    size_t directory_count;
    size_t file_count;
    uint32_t first_file; /* number of the first file */
};

/* False: they cannot be read.  */
bool sym_oracle_tables(const struct sym_oracle_unit *unit, struct sym_oracle_tables *out);

/* An entry, from index 0 on; NULL: it cannot be read.  *directory counts as the table does.  */
const char *sym_oracle_directory(const struct sym_oracle_unit *unit, size_t index);
const char *sym_oracle_file(const struct sym_oracle_unit *unit, size_t index, uint64_t *directory);

#endif /* SYMBOLIZE_ORACLE_H */
