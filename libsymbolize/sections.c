/* sections.c - the bytes of sections: where they lie in the file when they can be used there, in
 * memory when they are packed (section 4) or need relocations.  */
#include "libsymbolize/elf_object.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t SECTION_BYTES_MAX = UINT64_C(4) << 30;

/* What the contents of all sections may take in memory, for a file of its size: sections may share
 * bytes, and each is unpacked on its own.  */
static const uint64_t CONTENT_BYTES_LEAST = UINT64_C(256) << 20;
enum { CONTENT_PER_BYTE = 32 };

/* Values newer than the elf.h of some systems.  */
enum { COMPRESSED_ZLIB = 1, COMPRESSED_ZSTD = 2 };

static const char *const section_names[SYM_SECTION_COUNT] = {
    [SYM_SECTION_INFO] = ".debug_info",         [SYM_SECTION_TYPES] = ".debug_types",
    [SYM_SECTION_ABBREV] = ".debug_abbrev",     [SYM_SECTION_LINE] = ".debug_line",
    [SYM_SECTION_STR] = ".debug_str",           [SYM_SECTION_STR_OFFSETS] = ".debug_str_offsets",
    [SYM_SECTION_LOC] = ".debug_loc",           [SYM_SECTION_LOCLISTS] = ".debug_loclists",
    [SYM_SECTION_RNGLISTS] = ".debug_rnglists", [SYM_SECTION_LINE_STR] = ".debug_line_str",
    [SYM_SECTION_RANGES] = ".debug_ranges",     [SYM_SECTION_ADDR] = ".debug_addr",
    [SYM_SECTION_ARANGES] = ".debug_aranges",   [SYM_SECTION_CU_INDEX] = ".debug_cu_index",
    [SYM_SECTION_TU_INDEX] = ".debug_tu_index", [SYM_SECTION_ALTLINK] = ".gnu_debugaltlink",
    [SYM_SECTION_SUP] = ".debug_sup",           [SYM_SECTION_BUILD_ID] = ".note.gnu.build-id",
    [SYM_SECTION_SYMTAB] = ".symtab",           [SYM_SECTION_STRTAB] = ".strtab",
};

const char *sym_section_name(enum sym_section section)
{
    return section_names[section];
}

/* ".debug_info", ".zdebug_info" (the older packing), or ".debug_info.dwo" in a split object.  */
static bool is_section(const struct sym_object *object, const char *name, enum sym_section which)
{
    const char *wanted = section_names[which] + 1;
    size_t length = strlen(wanted);
    bool split = object->kind == SYM_OBJECT_SPLIT && which <= SYM_SECTION_RNGLISTS;

    if (name[0] != '.')
        return false;
    name += strncmp(name, ".z", 2) == 0 ? 2 : 1;
    return strncmp(name, wanted, length) == 0 && strcmp(name + length, split ? ".dwo" : "") == 0;
}

static const struct sym_elf_section *find_section(const struct sym_object *object,
                                                  enum sym_section which)
{
    for (size_t i = 1; i < object->section_count; i++) {
        const struct sym_elf_section *section = &object->sections[i];
        if (section->type != SHT_NOBITS && section->type != SHT_NULL && section->size &&
            is_section(object, section->name, which))
            return section;
    }
    return NULL;
}

/* What a packed section says of itself; input moves to the packed bytes.  false: damaged.
 * Format: Elf32_Chdr, Elf64_Chdr; or "ZLIB" and the size, big-endian.  */
static bool read_packing(const struct sym_object *object, const struct sym_elf_section *section,
                         struct sym_bytes *input, enum sym_packing *packing, uint64_t *size)
{
    size_t header = 12;
    uint64_t type = COMPRESSED_ZLIB;

    if (section->flags & SHF_COMPRESSED) {
        header = object->is_64 ? 24 : 12;
        if (input->size < header)
            return false;
        type = sym_object_load(object, input->data, 4);
        *size = object->is_64 ? sym_object_load(object, input->data + 8, 8)
                              : sym_object_load(object, input->data + 4, 4);
    } else {
        if (input->size < header || memcmp(input->data, "ZLIB", 4) != 0)
            return false;
        *size = 0;
        for (size_t i = 4; i < 12; i++)
            *size = *size << 8 | input->data[i];
    }
    if ((type != COMPRESSED_ZLIB && type != COMPRESSED_ZSTD) || *size > SECTION_BYTES_MAX)
        return false;
    *packing = type == COMPRESSED_ZLIB ? SYM_PACKING_ZLIB : SYM_PACKING_ZSTD;
    input->data += header;
    input->size -= header;
    return true;
}

static bool is_packed(const struct sym_elf_section *section)
{
    return (section->flags & SHF_COMPRESSED) || strncmp(section->name, ".z", 2) == 0;
}

const char *sym_section_problem(const struct sym_object *object,
                                const struct sym_elf_section *section)
{
    struct sym_bytes raw = sym_object_raw(object, section);
    enum sym_packing packing;
    uint64_t size;

    if (!raw.data)
        return "its debug sections are outside of the file, which may be cut";
    if (is_packed(section) && !read_packing(object, section, &raw, &packing, &size))
        return "its debug sections are compressed in an unknown way";
    return NULL;
}

/* Whether so many more bytes of contents are within the limit.  */
static enum sym_status charge(const struct sym_object *object, uint64_t size,
                              struct sym_error *error)
{
    uint64_t limit = CONTENT_BYTES_LEAST + CONTENT_PER_BYTE * object->file_bytes;

    if (object->no_limit || (size <= limit && object->content_bytes <= limit - size))
        return SYM_OK;
    (void)sym_fail(error, SYM_MALFORMED,
                   "%s: its debug sections unpack to more than %llu MiB, the limit for a file of "
                   "that size",
                   object->path, (unsigned long long)(limit >> 20));
    if (error)
        error->system_errno = EFBIG;
    return SYM_MALFORMED;
}

static enum sym_status unpack_section(const struct sym_object *object,
                                      const struct sym_elf_section *section, struct sym_bytes input,
                                      uint8_t **out, size_t *size, struct sym_error *error)
{
    enum sym_packing packing;
    uint64_t claimed;

    if (!read_packing(object, section, &input, &packing, &claimed))
        return sym_fail(error, SYM_MALFORMED, "%s: %s is compressed in an unknown way",
                        object->path, section->name);
    enum sym_status status = charge(object, claimed, error);
    if (status)
        return status;
    char *what = sym_format("%s: %s", object->path, section->name);
    if (!what)
        return sym_fail(error, SYM_NO_MEMORY, "%s: out of memory", object->path);
    status = sym_unpack(what, packing, input, claimed, out, size, error);
    base_free(what);
    return status;
}

/* A copy that can be written to, with a zero byte behind it.  */
static enum sym_status copy_section(const struct sym_object *object, struct sym_bytes bytes,
                                    uint8_t **out, struct sym_error *error)
{
    enum sym_status status = charge(object, bytes.size, error);

    if (status)
        return status;
    *out = base_malloc(bytes.size + 1);
    if (!*out)
        return sym_fail(error, SYM_NO_MEMORY, "%s: out of memory", object->path);
    memcpy(*out, bytes.data, bytes.size);
    (*out)[bytes.size] = 0;
    return SYM_OK;
}

/* Contents that are not what the file holds into *out; NULL: they are.  */
static enum sym_status make_contents(const struct sym_object *object,
                                     const struct sym_elf_section *section, struct sym_bytes raw,
                                     uint8_t **out, size_t *size, struct sym_error *error)
{
    bool relocate = object->relocatable && sym_object_has_relocations(object, section);
    enum sym_status status = SYM_OK;

    *size = raw.size;
    if (is_packed(section))
        status = unpack_section(object, section, raw, out, size, error);
    else if (relocate)
        status = copy_section(object, raw, out, error);
    if (!status && relocate)
        status = sym_object_relocate(object, section, *out, *size, error);
    return status;
}

/* Whether the bytes of a section whose header nobody has are packed: they begin with a header that
 * no debug section does, and what must follow it does.  */
static bool looks_packed(const struct sym_object *object, struct sym_bytes bytes)
{
    size_t header = object->is_64 ? 24 : 12;

    if (bytes.size < header + 4)
        return false;
    uint64_t type = sym_object_load(object, bytes.data, 4);
    const uint8_t *packed = bytes.data + header;
    if (type == COMPRESSED_ZLIB)
        return (packed[0] & 15) == 8 && (packed[0] << 8 | packed[1]) % 31 == 0; /* RFC 1950 */
    return type == COMPRESSED_ZSTD &&
           sym_packing_of((struct sym_bytes){ packed, 4 }) == SYM_PACKING_ZSTD;
}

/* The header and the bytes of a section; false: there is none.  */
static bool find_raw(const struct sym_object *object, enum sym_section which,
                     struct sym_elf_section *section, struct sym_bytes *raw)
{
    const struct sym_elf_section *found = find_section(object, which);

    if (object->section_maps[which]) {
        *raw = sym_map_bytes(object->section_maps[which]);
        *section = (struct sym_elf_section){ .name = section_names[which], .type = SHT_PROGBITS };
        section->flags = looks_packed(object, *raw) ? SHF_COMPRESSED : 0;
        return true;
    }
    if (!found)
        return false;
    *section = *found;
    *raw = sym_object_raw(object, found);
    return true;
}

enum sym_status sym_object_section(struct sym_object *object, enum sym_section which,
                                   struct sym_bytes *out, struct sym_error *error)
{
    struct sym_elf_section section;
    uint8_t *contents = NULL;
    size_t size = 0;

    *out = (struct sym_bytes){ 0 };
    if (!find_raw(object, which, &section, out))
        return SYM_OK;
    if (object->contents[which]) {
        *out = (struct sym_bytes){ object->contents[which], object->content_sizes[which] };
        return SYM_OK;
    }
    if (!out->data)
        return sym_fail(error, SYM_MALFORMED, "%s: %s is outside of the file, which may be cut",
                        object->path, section.name);
    enum sym_status status = make_contents(object, &section, *out, &contents, &size, error);
    if (status) {
        base_free(contents);
        *out = (struct sym_bytes){ 0 };
        return status;
    }
    if (contents) {
        object->contents[which] = contents;
        object->content_sizes[which] = size;
        object->content_bytes += size;
        *out = (struct sym_bytes){ contents, size };
    }
    return SYM_OK;
}
