/* elf_object.h - ELF files: what they are, and the bytes of their sections.  "section N" means
 * docs/formats/symbolizer.md.
 *
 * elf_object.c opens them and gathers facts, sections.c hands out bytes of sections (unpacked,
 * relocated), relocate.c lays out relocatable objects, unpack.c undoes compression, mapped_file.c
 * holds the files.
 */
#ifndef SYMBOLIZE_ELF_OBJECT_H
#define SYMBOLIZE_ELF_OBJECT_H

#include "base/go_build_id.h"
#include "libsymbolize/base.h"
#include "libsymbolize/mapped_file.h"
#include <elf.h>
#include <string.h>

/* ---- ELF objects ---- */

enum {
    SYM_BUILD_ID_MAX = 64, /* bytes; 8, 16, 20 and 32 occur */
};

/* The sections that libsymbolize reads, by their names in a program.  In a split object (.dwo,
 * .dwp) those of INFO to RNGLISTS carry ".dwo" behind their names.  */
enum sym_section {
    SYM_SECTION_INFO,
    SYM_SECTION_TYPES,
    SYM_SECTION_ABBREV,
    SYM_SECTION_LINE,
    SYM_SECTION_STR,
    SYM_SECTION_STR_OFFSETS,
    SYM_SECTION_LOC,
    SYM_SECTION_LOCLISTS,
    SYM_SECTION_RNGLISTS, /* the last one that split objects have as .dwo */
    SYM_SECTION_LINE_STR,
    SYM_SECTION_RANGES,
    SYM_SECTION_ADDR,
    SYM_SECTION_ARANGES,
    SYM_SECTION_CU_INDEX, /* .dwp only */
    SYM_SECTION_TU_INDEX,
    SYM_SECTION_ALTLINK, /* .gnu_debugaltlink */
    SYM_SECTION_SUP,     /* .debug_sup */
    /* Of no debug information, fetched with it: */
    SYM_SECTION_BUILD_ID,
    SYM_SECTION_SYMTAB,
    SYM_SECTION_STRTAB,
    SYM_SECTION_COUNT,
};

/* What a file is opened as; decides the names of its sections.  */
enum sym_object_kind {
    SYM_OBJECT_MAIN,  /* a program, library, kernel module, or the debug file of one */
    SYM_OBJECT_SPLIT, /* .dwo or .dwp: no code, no symbols */
    SYM_OBJECT_ALT,   /* what .gnu_debugaltlink or .debug_sup names: no code, no symbols */
};

struct sym_load { /* a PT_LOAD segment */
    uint64_t vaddr, file_offset, file_size;
    bool executable;
};

struct sym_code { /* a section with code, also where its bytes are in another file */
    uint64_t start, limit;
};

/* A section header, as the file has it but for vaddr.  */
struct sym_elf_section {
    const char *name; /* borrowed from the image; "" when it is damaged */
    uint32_t type, link, info;
    uint64_t flags, offset, size, entry_size, alignment;
    uint64_t vaddr; /* of a relocatable object: by its layout, see sym_object_open() */
};

/* An ELF file.  The facts stay after sym_object_close(); bytes live until then.  */
struct sym_object {
    char *path;
    int kept; /* a descriptor of it for opening it again, or -1; see sym_map_open() */
    enum sym_object_kind kind;

    uint8_t build_id[SYM_BUILD_ID_MAX];
    size_t build_id_length;          /* 0: none */
    uint8_t go_id[BASE_GO_BUILD_ID]; /* the build ID of a Go program without GNU's */
    bool has_go_id;
    uint16_t machine;
    bool is_64, big_endian;
    bool relocatable;      /* ET_REL */
    char *kallsyms_module; /* owned; whose lines of a kallsyms text count, NULL: all */
    bool kallsyms;         /* no ELF file, but text as in /proc/kallsyms: symbols alone */
    bool breakpad;         /* no ELF file, but a Breakpad symbol file, see breakpad.h */
    bool partial_id;       /* only its MODULE record tells the build ID, up to 16 bytes of it */
    char *module_name;     /* owned; in that record */
    uint8_t text_hash[16]; /* of an object without GNU's build ID: what such a file calls it */
    bool has_text_hash;
    bool unverified;   /* taken for a module's without a build ID that says so */
    bool has_contents; /* holds the code itself, not only debug information about it */
    struct sym_load *loads;
    size_t load_count;
    struct sym_code *code; /* sorted by start, disjoint unless the file is damaged */
    size_t code_count;

    /* Tables with something in them.  */
    bool has_dwarf, has_symtab, has_debugdata, has_dynsym;
    bool has_go;               /* Go's own table of functions and lines, see gopclntab.h */
    bool has_alt;              /* names a supplement: .gnu_debugaltlink or .debug_sup */
    const char *debug_problem; /* why debug information that is there cannot be read, or NULL */
    const char *debug_remedy;
    uint64_t file_bytes;                   /* of the ELF file */
    bool no_limit;                         /* sym_options.no_limit */
    uint64_t dynamic_offset, dynamic_size; /* of PT_DYNAMIC in the file; 0: none */
    char *debuglink;                       /* owned; the file name in .gnu_debuglink, or NULL */
    uint32_t debuglink_crc;
    struct sym_bytes lent; /* the image, when it is memory that outlives the object */
    char *section_prefix;  /* owned; see sym_object_open_sections() */

    /* While it is open: */
    struct sym_map *map;
    uint8_t *unpacked;                /* owned; the image, when the file is a compressed one */
    struct sym_bytes image;           /* the ELF file; size 0 when closed */
    struct sym_elf_section *sections; /* [0] is ELF's empty one */
    size_t section_count;
    struct sym_map *section_maps[SYM_SECTION_COUNT];
    uint8_t *contents[SYM_SECTION_COUNT]; /* owned; of sections that are not used in place */
    size_t content_sizes[SYM_SECTION_COUNT];
    uint64_t content_bytes; /* of all of them */

    int64_t room; /* that it adds to what reading its module may take; until it is freed */
};

enum {
    SYM_ROOM_PER_BYTE = 64, /* of a file: memory that reading it may take */
};

/* Opens the regular file at path, ELF or kallsyms text, and reads what the struct holds.  Files
 * packed with gzip, xz or zstd as a whole (kernel modules) are unpacked into memory.
 *
 * A relocatable object has no addresses of its own; it gets those of a layout that depends on
 * nothing but the file: .text at 0, then the other sections with code in file order, those of
 * initialization (.init*) last, then all other sections that take memory; each aligned as it asks.
 * Behind the code, a hole of a page keeps addresses apart that point to its end.  That is how the
 * kernel places a module's core text, so a vaddr of .text is the offset from the address that
 * /sys/module/NAME/sections/.text shows, and what nm prints.
 *
 * SYM_OK, SYM_NOT_FOUND (no such file), SYM_IO, SYM_MALFORMED or SYM_NO_MEMORY.  */
enum sym_status sym_object_open(const char *path, enum sym_object_kind kind,
                                struct sym_object **out, struct sym_error *error);

/* Opens it again at its path, provided that it is still the same; nothing to do when it is open.
 * SYM_OK or as sym_object_open().  */
enum sym_status sym_object_reopen(struct sym_object *object, struct sym_error *error);

/* The same for an image that outlives the object.  */
enum sym_status sym_object_open_lent(const char *path, struct sym_bytes image,
                                     struct sym_object **out, struct sym_error *error);

/* The debug information of like whose sections lie in files of their own, prefix.debug_info and so
 * on, as debuginfod gives them.  It has like's facts but its own build ID, and .symtab.
 * SYM_OK, SYM_NOT_FOUND (no .debug_info), SYM_IO, SYM_MALFORMED or SYM_NO_MEMORY.  */
enum sym_status sym_object_open_sections(const struct sym_object *like, const char *prefix,
                                         struct sym_object **out, struct sym_error *error);

/* The bytes of one of those files; none: it is not there, or empty.  */
struct sym_bytes sym_object_part(const struct sym_object *object, enum sym_section section);

/* ".debug_info", the name of a section in a program.  */
const char *sym_section_name(enum sym_section section);

static inline bool sym_object_is_open(const struct sym_object *object)
{
    return object->image.size != 0 || object->section_maps[SYM_SECTION_INFO];
}

/* Whether the file was cut or rewritten while it was open; ask as in sym_map_changed().  */
bool sym_object_changed(const struct sym_object *object, bool ask);

/* Lets go of the file and all bytes of it, keeps the facts.  */
void sym_object_close(struct sym_object *object);
void sym_object_free(struct sym_object *object); /* accepts NULL and a half-built object */

/* The bytes of a section, unpacked and relocated; size 0 when it is not there.  They lie in the
 * mapped file where that is possible, are zero-terminated in the sense of sym_map_open(), and live
 * until the object is closed; a second call gives the same ones.  Not for several threads at once.
 * SYM_OK, SYM_MALFORMED or SYM_NO_MEMORY.  */
enum sym_status sym_object_section(struct sym_object *object, enum sym_section section,
                                   struct sym_bytes *out, struct sym_error *error);

/* The section with code around vaddr, or NULL.  Linkers leave ranges of dropped functions at 0, 1,
 * -1 or -2 ("tombstones", section 6): no section with code is there.  */
const struct sym_code *sym_object_code(const struct sym_object *object, uint64_t vaddr);

/* ---- For who reads ELF structures ---- */

/* An integer of 1, 2, 4 or 8 bytes in the object's byte order.  */
static inline uint64_t sym_object_load(const struct sym_object *object, const uint8_t *bytes,
                                       size_t size)
{
    return sym_load(bytes, size, object->big_endian);
}

/* The bytes of a section as they are in the file, or none: outside of it, or SHT_NOBITS.  */
struct sym_bytes sym_object_raw(const struct sym_object *object,
                                const struct sym_elf_section *section);

/* The first section of that type, or that name, which has bytes in the file; NULL: none.  */
const struct sym_elf_section *sym_object_by_type(const struct sym_object *object, uint32_t type);
const struct sym_elf_section *sym_object_by_name(const struct sym_object *object, const char *name);

/* Where the bytes for vaddr lie in the file by the program headers, and how many follow there.  */
bool sym_object_at_vaddr(const struct sym_object *object, uint64_t vaddr, struct sym_bytes *out);

/* A symbol table entry.  Format: Elf32_Sym, Elf64_Sym.  */
struct sym_elf_symbol {
    uint32_t name; /* offset in the string table */
    uint8_t type, binding;
    uint16_t section;
    uint64_t value, size;
};

static inline size_t sym_symbol_size(const struct sym_object *object)
{
    return object->is_64 ? 24 : 16;
}
struct sym_elf_symbol sym_object_symbol(const struct sym_object *object, const uint8_t *bytes);

/* A relocation entry.  Format: Elf32_Rel to Elf64_Rela.  */
struct sym_elf_relocation {
    uint64_t offset;
    uint32_t type, symbol;
    int64_t addend; /* 0 in the tables without */
};

static inline size_t sym_relocation_size(const struct sym_object *object, bool with_addend)
{
    return (object->is_64 ? 8U : 4U) * (with_addend ? 3 : 2);
}
struct sym_elf_relocation sym_object_relocation(const struct sym_object *object,
                                                const uint8_t *bytes, bool with_addend);

/* What the dynamic section tells, for objects without section headers too.  Bytes are in the image;
 * none where it does not say.  */
struct sym_dynamic {
    struct sym_bytes symbols, strings; /* DT_SYMTAB, as far as a hash table tells; DT_STRTAB */
    uint64_t got;                      /* DT_PLTGOT; 0: none */
};

void sym_object_dynamic(const struct sym_object *object, struct sym_dynamic *out);

/* The object in .gnu_debugdata (section 4, MiniDebugInfo), the caller's; NULL with SYM_OK: there is
 * none.  SYM_OK, SYM_MALFORMED or SYM_NO_MEMORY.  */
enum sym_status sym_object_debugdata(const struct sym_object *object, struct sym_object **out,
                                     struct sym_error *error);

/* ---- Pieces of it ---- */

/* Why the contents of a packed section cannot be read, a phrase; NULL: nothing is known against it.
 */
const char *sym_section_problem(const struct sym_object *object,
                                const struct sym_elf_section *section);

/* Gives the sections of a relocatable object their addresses.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_object_lay_out(struct sym_object *object);

/* Whether relocations apply to section.  */
bool sym_object_has_relocations(const struct sym_object *object,
                                const struct sym_elf_section *section);

/* Applies them to bytes, section's contents.  SYM_OK, or SYM_MALFORMED with a phrase that names the
 * relocation that is unknown or leads nowhere.  */
enum sym_status sym_object_relocate(const struct sym_object *object,
                                    const struct sym_elf_section *section, uint8_t *bytes,
                                    size_t size, struct sym_error *error);

/* How bytes are packed.  */
enum sym_packing {
    SYM_PACKING_NONE,
    SYM_PACKING_ZLIB, /* RFC 1950, in sections */
    SYM_PACKING_GZIP,
    SYM_PACKING_XZ, /* needs liblzma at build time */
    SYM_PACKING_ZSTD,
};

/* By the first bytes of a file; never SYM_PACKING_ZLIB, whose are not telling.  */
enum sym_packing sym_packing_of(struct sym_bytes bytes);

/* How much so many bytes may unpack to.  */
uint64_t sym_unpacked_limit(size_t packed_size);

/* Unpacks input to *out, from malloc(), the caller's; a zero byte follows.  size is what the input
 * claims to hold and must be exact, or UINT64_MAX when it does not say.  More than
 * sym_unpacked_limit() is refused before memory is taken.  what names the input in messages.
 * SYM_OK, SYM_MALFORMED or SYM_NO_MEMORY.  */
enum sym_status sym_unpack(const char *what, enum sym_packing packing, struct sym_bytes input,
                           uint64_t size, uint8_t **out, size_t *out_size, struct sym_error *error);

#endif /* SYMBOLIZE_ELF_OBJECT_H */
