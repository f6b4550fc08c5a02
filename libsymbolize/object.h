/* object.h - ELF files: what they are, and the bytes of their sections.  "section N" means
 * docs/formats/symbolizer.md.  */
#ifndef SYMBOLIZE_OBJECT_H
#define SYMBOLIZE_OBJECT_H

#include "libsymbolize/base.h"
#include <gelf.h>

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

#endif /* SYMBOLIZE_OBJECT_H */
