/* elf_object.c - ELF files: headers, sections, build ID, and what there is to look up in them.
 *
 * Read here rather than by libelf: the bytes are in a mapping that may change while we look, of
 * either byte order, possibly without section headers, and no structure is trusted before it was
 * checked against the file's size.
 */
#include "libsymbolize/elf_object.h"
#include "libsymbolize/breakpad.h"
#include "libsymbolize/gopclntab.h"
#include "libsymbolize/symtab.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bisect.h"
#include "base/grow.h"

enum {
    NOTES_MAX = 1 << 20, /* bytes of a note section that are looked at */
};

/* Of a file's size, counted for the memory that reading it may take: files may have holes.  */
static const size_t FILE_BYTES_COUNTED = (size_t)1 << 40;

static enum sym_status no_memory(const struct sym_object *object, struct sym_error *error)
{
    return sym_fail(error, SYM_NO_MEMORY, "%s: out of memory", object->path);
}

/* ---- Structures ---- */

/* Takes the fields of a structure one after the other.  */
struct fields {
    const struct sym_object *object;
    const uint8_t *next;
};

static uint64_t take(struct fields *fields, size_t size)
{
    uint64_t value = sym_object_load(fields->object, fields->next, size);

    fields->next += size;
    return value;
}

static uint64_t take_word(struct fields *fields) /* of the object's own size */
{
    return take(fields, fields->object->is_64 ? 8 : 4);
}

struct sym_elf_symbol sym_object_symbol(const struct sym_object *object, const uint8_t *bytes)
{
    bool wide = object->is_64; /* the fields are the same, their order is not */
    uint8_t info = bytes[wide ? 4 : 12];

    return (struct sym_elf_symbol){
        .name = (uint32_t)sym_object_load(object, bytes, 4),
        .type = info & 15,
        .binding = info >> 4,
        .section = (uint16_t)sym_object_load(object, bytes + (wide ? 6 : 14), 2),
        .value = wide ? sym_object_load(object, bytes + 8, 8)
                      : sym_object_load(object, bytes + 4, 4),
        .size = wide ? sym_object_load(object, bytes + 16, 8)
                     : sym_object_load(object, bytes + 8, 4),
    };
}

struct sym_elf_relocation sym_object_relocation(const struct sym_object *object,
                                                const uint8_t *bytes, bool with_addend)
{
    struct fields fields = { object, bytes };
    struct sym_elf_relocation relocation = { .offset = take_word(&fields) };
    uint64_t info = take_word(&fields);

    /* MIPS has four bytes of types behind the symbol's number, the first one last.  */
    if (object->machine == EM_MIPS && object->is_64 && !object->big_endian)
        info = info << 32 | __builtin_bswap32((uint32_t)(info >> 32));
    relocation.symbol = (uint32_t)(object->is_64 ? info >> 32 : info >> 8);
    relocation.type = (uint32_t)(object->is_64 ? info & UINT32_MAX : info & 0xff);
    if (with_addend && object->is_64)
        relocation.addend = (int64_t)take(&fields, 8);
    else if (with_addend)
        relocation.addend = (int32_t)take(&fields, 4);
    return relocation;
}

/* Of the whole file.  */
static bool in_image(const struct sym_object *object, uint64_t offset, uint64_t size)
{
    return offset <= object->image.size && size <= object->image.size - offset;
}

struct sym_bytes sym_object_raw(const struct sym_object *object,
                                const struct sym_elf_section *section)
{
    if (section->type == SHT_NOBITS || !in_image(object, section->offset, section->size))
        return (struct sym_bytes){ 0 };
    return (struct sym_bytes){ .data = object->image.data + section->offset,
                               .size = (size_t)section->size };
}

static bool has_bytes(const struct sym_elf_section *section)
{
    return section->type != SHT_NOBITS && section->type != SHT_NULL && section->size != 0;
}

const struct sym_elf_section *sym_object_by_type(const struct sym_object *object, uint32_t type)
{
    for (size_t i = 1; i < object->section_count; i++)
        if (object->sections[i].type == type && has_bytes(&object->sections[i]))
            return &object->sections[i];
    return NULL;
}

const struct sym_elf_section *sym_object_by_name(const struct sym_object *object, const char *name)
{
    for (size_t i = 1; i < object->section_count; i++)
        if (has_bytes(&object->sections[i]) && strcmp(object->sections[i].name, name) == 0)
            return &object->sections[i];
    return NULL;
}

bool sym_object_at_vaddr(const struct sym_object *object, uint64_t vaddr, struct sym_bytes *out)
{
    for (size_t i = 0; i < object->load_count; i++) {
        const struct sym_load *load = &object->loads[i];
        if (vaddr < load->vaddr || vaddr - load->vaddr >= load->file_size)
            continue;
        uint64_t skip = vaddr - load->vaddr, size = load->file_size - skip, offset;
        if (__builtin_add_overflow(load->file_offset, skip, &offset) ||
            offset >= object->image.size)
            return false;
        if (size > object->image.size - offset)
            size = object->image.size - offset;
        *out = (struct sym_bytes){ object->image.data + offset, (size_t)size };
        return true;
    }
    return false;
}

/* ---- Headers ---- */

/* The fields of the ELF header that matter, in its order.  */
struct file_header {
    uint16_t type;
    uint64_t segments_offset, sections_offset;
    size_t segment_size, segment_count, section_size, section_count, names_index;
};

static bool read_file_header(struct sym_object *object, struct file_header *header)
{
    static const uint8_t magic[] = { 0x7f, 'E', 'L', 'F' };
    const uint8_t *ident = object->image.data;
    struct fields fields = { object, ident + EI_NIDENT };

    if (object->image.size < sizeof(Elf32_Ehdr) || memcmp(ident, magic, sizeof magic) != 0 ||
        (ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64) ||
        (ident[EI_DATA] != ELFDATA2LSB && ident[EI_DATA] != ELFDATA2MSB))
        return false;
    object->is_64 = ident[EI_CLASS] == ELFCLASS64;
    object->big_endian = ident[EI_DATA] == ELFDATA2MSB;
    if (object->is_64 && object->image.size < sizeof(Elf64_Ehdr))
        return false;
    header->type = (uint16_t)take(&fields, 2);
    object->machine = (uint16_t)take(&fields, 2);
    (void)take(&fields, 4);   /* e_version */
    (void)take_word(&fields); /* e_entry */
    header->segments_offset = take_word(&fields);
    header->sections_offset = take_word(&fields);
    (void)take(&fields, 4 + 2); /* e_flags, e_ehsize */
    header->segment_size = (size_t)take(&fields, 2);
    header->segment_count = (size_t)take(&fields, 2);
    header->section_size = (size_t)take(&fields, 2);
    header->section_count = (size_t)take(&fields, 2);
    header->names_index = (size_t)take(&fields, 2);
    return true;
}

static struct sym_elf_section read_section_header(const struct sym_object *object,
                                                  const uint8_t *bytes, uint32_t *name)
{
    struct fields fields = { object, bytes };
    struct sym_elf_section section = { .name = "" };

    *name = (uint32_t)take(&fields, 4);
    section.type = (uint32_t)take(&fields, 4);
    section.flags = take_word(&fields);
    section.vaddr = take_word(&fields);
    section.offset = take_word(&fields);
    section.size = take_word(&fields);
    section.link = (uint32_t)take(&fields, 4);
    section.info = (uint32_t)take(&fields, 4);
    section.alignment = take_word(&fields);
    section.entry_size = take_word(&fields);
    return section;
}

/* Counts that do not fit the file header stand in section 0.  */
static void read_large_counts(const struct sym_object *object, struct file_header *header)
{
    uint32_t ignored;
    struct sym_elf_section first;

    if (header->section_size < (object->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)) ||
        !in_image(object, header->sections_offset, header->section_size))
        return;
    first = read_section_header(object, object->image.data + header->sections_offset, &ignored);
    if (header->section_count == 0 && first.size <= UINT32_MAX)
        header->section_count = (size_t)first.size;
    if (header->names_index == SHN_XINDEX)
        header->names_index = first.link;
    if (header->segment_count == PN_XNUM)
        header->segment_count = first.info;
}

static void name_sections(struct sym_object *object, const struct file_header *header,
                          const uint8_t *table)
{
    if (header->names_index >= object->section_count)
        return;
    struct sym_bytes names = sym_object_raw(object, &object->sections[header->names_index]);
    for (size_t i = 0; i < object->section_count; i++) {
        uint64_t name = sym_object_load(object, table + i * header->section_size, 4);
        if (name < names.size && memchr(names.data + name, 0, names.size - (size_t)name))
            object->sections[i].name = (const char *)names.data + name;
    }
}

/* A file that was cut has lost its section headers first, which lie at its end; its segments may
 * still be of use.  */
static enum sym_status read_sections(struct sym_object *object, const struct file_header *header)
{
    size_t size = header->section_size, count = header->section_count;
    uint32_t ignored;

    if (header->sections_offset == 0 || count == 0)
        return SYM_OK;
    if (size < (object->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)) ||
        !in_image(object, header->sections_offset, (uint64_t)count * size)) {
        object->debug_problem = "its section headers are outside of the file, which may be cut";
        object->debug_remedy = "fetch the file again";
        return SYM_OK;
    }
    object->sections = base_calloc(count, sizeof *object->sections);
    if (!object->sections)
        return SYM_NO_MEMORY;
    object->section_count = count;
    const uint8_t *table = object->image.data + header->sections_offset;
    for (size_t i = 0; i < count; i++)
        object->sections[i] = read_section_header(object, table + i * size, &ignored);
    name_sections(object, header, table);
    return SYM_OK;
}

/* ---- Build ID ---- */

/* The build ID in a run of notes (section 3); false: none.  Go's is noted on the way.  */
static bool find_build_id(struct sym_object *object, uint64_t offset, uint64_t size,
                          uint64_t alignment)
{
    uint64_t mask = alignment == 8 ? 7 : 3;

    if (!in_image(object, offset, size) || size > NOTES_MAX)
        return false;
    while (size >= 12) {
        const uint8_t *note = object->image.data + offset;
        uint64_t name_size = sym_object_load(object, note, 4);
        uint64_t desc_size = sym_object_load(object, note + 4, 4);
        uint64_t desc = (12 + name_size + mask) & ~mask;
        if (desc > size || desc_size > size - desc)
            return false;
        if (sym_object_load(object, note + 8, 4) == NT_GNU_BUILD_ID && name_size == 4 &&
            memcmp(note + 12, "GNU", 4) == 0 && desc_size > 0 && desc_size <= SYM_BUILD_ID_MAX) {
            memcpy(object->build_id, note + desc, (size_t)desc_size);
            object->build_id_length = (size_t)desc_size;
            return true;
        }
        if (sym_object_load(object, note + 8, 4) == BASE_GO_NOTE_TYPE && name_size == 4 &&
            memcmp(note + 12, "Go\0", 4) == 0)
            object->has_go_id |= base_go_build_id((const char *)note + desc, (size_t)desc_size,
                                                  object->go_id);
        uint64_t next = (desc + desc_size + mask) & ~mask;
        if (next >= size)
            return false;
        offset += next;
        size -= next;
    }
    return false;
}

static void build_id_of_sections(struct sym_object *object)
{
    for (size_t i = 1; i < object->section_count && !object->build_id_length; i++) {
        const struct sym_elf_section *section = &object->sections[i];
        if (section->type == SHT_NOTE &&
            find_build_id(object, section->offset, section->size, section->alignment))
            return;
    }
}

/* What identifies an object without a build ID of GNU's kind, which goes before Go's.  */
static void use_substitutes(struct sym_object *object)
{
    object->has_text_hash = sym_breakpad_hash_text(object, object->text_hash);
    if (!object->has_go_id)
        return;
    memcpy(object->build_id, object->go_id, sizeof object->go_id);
    object->build_id_length = sizeof object->go_id;
}

/* ---- Segments ---- */

static enum sym_status add_load(struct sym_object *object, size_t *capacity, struct sym_load load)
{
    if (!base_make_room(&object->loads, capacity, object->load_count + 1, sizeof *object->loads))
        return SYM_NO_MEMORY;
    object->loads[object->load_count++] = load;
    return SYM_OK;
}

static enum sym_status read_segment(struct sym_object *object, const uint8_t *bytes,
                                    size_t *capacity)
{
    struct fields fields = { object, bytes };
    uint64_t type = take(&fields, 4), flags = 0, alignment;
    struct sym_load load;

    if (object->is_64)
        flags = take(&fields, 4);
    load.file_offset = take_word(&fields);
    load.vaddr = take_word(&fields);
    (void)take_word(&fields); /* p_paddr */
    load.file_size = take_word(&fields);
    (void)take_word(&fields); /* p_memsz */
    if (!object->is_64)
        flags = take(&fields, 4);
    alignment = take_word(&fields);
    load.executable = flags & PF_X;
    if (type == PT_DYNAMIC) {
        object->dynamic_offset = load.file_offset;
        object->dynamic_size = load.file_size;
    }
    if (type == PT_NOTE && !object->build_id_length)
        (void)find_build_id(object, load.file_offset, load.file_size, alignment);
    return type == PT_LOAD ? add_load(object, capacity, load) : SYM_OK;
}

static enum sym_status read_segments(struct sym_object *object, const struct file_header *header)
{
    size_t size = header->segment_size, capacity = 0;
    enum sym_status status = SYM_OK;

    if (size < (object->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)))
        return SYM_OK;
    for (size_t i = 0; i < header->segment_count && !status; i++) {
        uint64_t offset;
        if (__builtin_add_overflow(header->segments_offset, i * size, &offset) ||
            !in_image(object, offset, size))
            break;
        status = read_segment(object, object->image.data + offset, &capacity);
    }
    return status;
}

/* ---- Facts ---- */

static enum sym_status add_code(struct sym_object *object, size_t *capacity, uint64_t start,
                                uint64_t size)
{
    uint64_t limit;

    if (!base_make_room(&object->code, capacity, object->code_count + 1, sizeof *object->code))
        return SYM_NO_MEMORY;
    if (size && !__builtin_add_overflow(start, size, &limit))
        object->code[object->code_count++] = (struct sym_code){ .start = start, .limit = limit };
    return SYM_OK;
}

static int compare_code(const void *a, const void *b)
{
    const struct sym_code *left = a, *right = b;

    return (left->start > right->start) - (left->start < right->start);
}

static bool is_code(const struct sym_elf_section *section)
{
    return (section->flags & SHF_ALLOC) && (section->flags & SHF_EXECINSTR);
}

/* Sections with code, or executable segments where there are no section headers.  */
static enum sym_status read_code(struct sym_object *object)
{
    size_t capacity = 0;
    enum sym_status status = SYM_OK;

    for (size_t i = 1; i < object->section_count && !status; i++) {
        const struct sym_elf_section *section = &object->sections[i];
        if (!is_code(section))
            continue;
        status = add_code(object, &capacity, section->vaddr, section->size);
        object->has_contents |= has_bytes(section);
    }
    for (size_t i = 0; i < object->load_count && !object->section_count && !status; i++) {
        const struct sym_load *load = &object->loads[i];
        if (!load->executable)
            continue;
        status = add_code(object, &capacity, load->vaddr, load->file_size);
        object->has_contents |= load->file_size != 0;
    }
    if (object->code_count)
        qsort(object->code, object->code_count, sizeof *object->code, compare_code);
    return status;
}

/* Whether a symbol is a label in code that is not marked as a function: assembler programs, the
 * vDSO of ppc64, and BPF objects have nothing else.  */
static bool is_label(const struct sym_object *object, const struct sym_elf_symbol *symbol,
                     struct sym_bytes strings)
{
    uint64_t start = symbol->value;

    if (symbol->type != STT_NOTYPE || symbol->section >= SHN_LORESERVE || symbol->name == 0 ||
        symbol->name >= strings.size || strings.data[symbol->name] == '$')
        return false; /* "$x" marks code and data */
    if (object->relocatable && symbol->section < object->section_count)
        start += object->sections[symbol->section].vaddr;
    return sym_object_code(object, start) != NULL;
}

/* Whether a symbol table holds a function, so that its names are worth something.  */
static bool has_function(const struct sym_object *object, struct sym_bytes bytes,
                         struct sym_bytes strings)
{
    size_t size = sym_symbol_size(object);

    for (size_t i = 1; i < bytes.size / size; i++) {
        struct sym_elf_symbol symbol = sym_object_symbol(object, bytes.data + i * size);
        if (symbol.section != SHN_UNDEF &&
            (symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC ||
             is_label(object, &symbol, strings)))
            return true;
    }
    return false;
}

static bool section_has_function(const struct sym_object *object,
                                 const struct sym_elf_section *section)
{
    struct sym_bytes strings = { 0 };

    if (section->link < object->section_count)
        strings = sym_object_raw(object, &object->sections[section->link]);
    return has_function(object, sym_object_raw(object, section), strings);
}

static bool is_debug_info(const char *name, enum sym_object_kind kind)
{
    if (kind == SYM_OBJECT_SPLIT)
        return strcmp(name, ".debug_info.dwo") == 0;
    return strcmp(name, ".debug_info") == 0 || strcmp(name, ".zdebug_info") == 0;
}

static void note_debug_info(struct sym_object *object, const struct sym_elf_section *section)
{
    object->debug_problem = sym_section_problem(object, section);
    object->has_dwarf = !object->debug_problem;
    if (object->debug_problem)
        object->debug_remedy = "fetch or build the file again, or unpack its debug sections: "
                               "objcopy --decompress-debug-sections IN OUT";
}

/* Format: a name, zeros up to a multiple of 4, the CRC-32 of the whole file (section 3).  */
static enum sym_status read_debuglink(struct sym_object *object, struct sym_bytes bytes)
{
    size_t length = bytes.data ? strnlen((const char *)bytes.data, bytes.size) : 0;
    size_t crc = (length + 4) & ~(size_t)3;

    if (length == 0 || object->debuglink || crc > bytes.size || bytes.size - crc < 4)
        return SYM_OK;
    object->debuglink = sym_format("%.*s", (int)length, (const char *)bytes.data);
    object->debuglink_crc = (uint32_t)sym_object_load(object, bytes.data + crc, 4);
    return object->debuglink ? SYM_OK : SYM_NO_MEMORY;
}

static enum sym_status read_tables(struct sym_object *object)
{
    struct sym_dynamic dynamic;

    for (size_t i = 1; i < object->section_count; i++) {
        const struct sym_elf_section *section = &object->sections[i];
        if (!has_bytes(section))
            continue;
        if (section->type == SHT_SYMTAB)
            object->has_symtab |= section_has_function(object, section);
        else if (section->type == SHT_DYNSYM)
            object->has_dynsym |= section_has_function(object, section);
        else if (is_debug_info(section->name, object->kind))
            note_debug_info(object, section);
        else if (strcmp(section->name, ".gnu_debugdata") == 0)
            object->has_debugdata = true;
        else if (strcmp(section->name, ".gnu_debugaltlink") == 0 ||
                 strcmp(section->name, ".debug_sup") == 0)
            object->has_alt = true;
        else if (strcmp(section->name, ".gnu_debuglink") == 0 &&
                 read_debuglink(object, sym_object_raw(object, section)))
            return SYM_NO_MEMORY;
    }
    object->has_go = sym_go_detect(object);
    if (!object->section_count) {
        sym_object_dynamic(object, &dynamic);
        object->has_dynsym = has_function(object, dynamic.symbols, dynamic.strings);
    }
    return SYM_OK;
}

static void read_kallsyms_facts(struct sym_object *object)
{
    object->kallsyms = true;
    object->has_symtab = !sym_kallsyms_hidden(object->image);
    if (object->has_symtab)
        return;
    object->debug_problem = "its addresses are hidden";
    object->debug_remedy =
        "read it as root, or allow it: sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1";
}

/* What a file of another system is, or NULL.  */
static const char *foreign_format(struct sym_bytes image)
{
    static const struct {
        const char *magic, *name;
    } formats[] = {
        { "MZ", "a DOS or Windows program (MZ, PE/COFF)" },
        { "\xcf\xfa\xed\xfe", "a Mach-O file (macOS)" },
        { "\xce\xfa\xed\xfe", "a Mach-O file (macOS)" },
        { "\xfe\xed\xfa\xcf", "a Mach-O file (macOS)" },
        { "\xfe\xed\xfa\xce", "a Mach-O file (macOS)" },
        { "!<arch>\n", "an archive of objects" },
        { "MODULE mac ", "a Breakpad symbol file of a Mach-O object" },
        { "MODULE windows ", "a Breakpad symbol file of a PE/COFF object" },
        { "MODULE ", "a damaged Breakpad symbol file" },
        { "Microsoft C/C++ MSF", "a PDB file (Windows)" },
    };

    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        size_t length = strlen(formats[i].magic);
        if (image.size > length && memcmp(image.data, formats[i].magic, length) == 0)
            return formats[i].name;
    }
    return NULL;
}

static enum sym_status read_facts(struct sym_object *object, struct sym_error *error)
{
    struct file_header header;
    enum sym_status status;

    if (object->kind == SYM_OBJECT_MAIN && sym_kallsyms_detect(object->image)) {
        read_kallsyms_facts(object);
        return SYM_OK;
    }
    if (object->kind == SYM_OBJECT_MAIN) {
        status = sym_breakpad_read_facts(object);
        if (status != SYM_NOT_FOUND)
            return status ? no_memory(object, error) : SYM_OK;
    }
    if (!read_file_header(object, &header)) {
        const char *format = foreign_format(object->image);
        return sym_fail(error, SYM_MALFORMED, "%s: %s%snot an ELF object", object->path,
                        format ? format : "", format ? ", " : "");
    }
    if (header.type != ET_EXEC && header.type != ET_DYN && header.type != ET_REL)
        return sym_fail(error, SYM_MALFORMED, "%s: neither a program nor an object of one",
                        object->path);
    object->relocatable = header.type == ET_REL;
    read_large_counts(object, &header);
    status = read_sections(object, &header);
    if (!status && object->relocatable)
        status = sym_object_lay_out(object);
    if (!status)
        status = read_segments(object, &header);
    if (!status)
        status = read_code(object);
    if (!status && !object->build_id_length)
        build_id_of_sections(object);
    if (!status && !object->build_id_length)
        use_substitutes(object);
    if (!status)
        status = read_tables(object);
    return status ? no_memory(object, error) : SYM_OK;
}

/* ---- Handles ---- */

/* NULL: no memory.  */
static struct sym_object *object_new(const char *path, enum sym_object_kind kind)
{
    struct sym_object *object = base_calloc(1, sizeof *object);

    if (object)
        object->path = sym_format("%s", path);
    if (!object || !object->path) {
        base_free(object);
        return NULL;
    }
    object->kind = kind;
    object->kept = -1;
    return object;
}

/* A file of so many bytes may be read with more memory.  */
static void add_room(struct sym_object *object, size_t size)
{
    int64_t counted = size < FILE_BYTES_COUNTED ? (int64_t)size : (int64_t)FILE_BYTES_COUNTED;

    object->room += counted * SYM_ROOM_PER_BYTE;
    base_account_widen(counted * SYM_ROOM_PER_BYTE);
}

/* A file that is packed as a whole.  */
static enum sym_status unpack_file(struct sym_object *object, struct sym_error *error)
{
    enum sym_packing packing = sym_packing_of(object->image);

    if (packing == SYM_PACKING_NONE)
        return SYM_OK;
    enum sym_status status = sym_unpack(object->path, packing, object->image, UINT64_MAX,
                                        &object->unpacked, &object->image.size, error);
    if (status)
        return status;
    object->image.data = object->unpacked;
    return SYM_OK;
}

static enum sym_status finish_open(struct sym_object *object, enum sym_status status,
                                   struct sym_object **out, struct sym_error *error)
{
    object->file_bytes = object->image.size;
    if (!status)
        status = read_facts(object, error);
    if (status)
        sym_object_free(object);
    else
        *out = object; /* the caller owns it now: sym_object_free() */
    return status;
}

/* Takes *kept, a descriptor of the file or -1.  */
static enum sym_status open_kept(const char *path, enum sym_object_kind kind, int *kept,
                                 struct sym_object **out, struct sym_error *error)
{
    struct sym_object *object = object_new(path, kind);

    if (!object)
        return sym_fail(error, SYM_NO_MEMORY, "%s: out of memory", path);
    object->kept = *kept;
    *kept = -1;
    enum sym_status status = sym_map_open(path, &object->kept, &object->map, error);
    if (!status) {
        object->image = sym_map_bytes(object->map);
        add_room(object, object->image.size);
        status = unpack_file(object, error);
    }
    return finish_open(object, status, out, error);
}

enum sym_status sym_object_open(const char *path, enum sym_object_kind kind,
                                struct sym_object **out, struct sym_error *error)
{
    int kept = -1;

    return open_kept(path, kind, &kept, out, error);
}

/* The same for an image from malloc(), which is taken in any case.  path is what messages call it.
 * It cannot be opened again.  */
static enum sym_status open_memory(const char *path, uint8_t *image, size_t size,
                                   struct sym_object **out, struct sym_error *error)
{
    struct sym_object *object = object_new(path, SYM_OBJECT_MAIN);

    if (!object) {
        base_free(image);
        return sym_fail(error, SYM_NO_MEMORY, "%s: out of memory", path);
    }
    object->unpacked = image;
    object->image = (struct sym_bytes){ .data = image, .size = size };
    return finish_open(object, SYM_OK, out, error);
}

enum sym_status sym_object_open_lent(const char *path, struct sym_bytes image,
                                     struct sym_object **out, struct sym_error *error)
{
    struct sym_object *object = object_new(path, SYM_OBJECT_MAIN);

    if (!object)
        return sym_fail(error, SYM_NO_MEMORY, "%s: out of memory", path);
    object->lent = object->image = image;
    add_room(object, image.size);
    return finish_open(object, SYM_OK, out, error);
}

/* ---- Sections in files of their own ---- */

/* Maps what is there of the sections.  Empty files stand for sections that the servers do not have.
 */
static enum sym_status map_sections(struct sym_object *object, struct sym_error *error)
{
    for (size_t i = 0; i < SYM_SECTION_COUNT; i++) {
        char *path = sym_format("%s%s", object->section_prefix,
                                sym_section_name((enum sym_section)i));
        if (!path)
            return no_memory(object, error);
        enum sym_status status = sym_map_open(path, NULL, &object->section_maps[i], error);
        base_free(path);
        if (status && status != SYM_NOT_FOUND)
            return status;
        if (!status && sym_map_bytes(object->section_maps[i]).size == 0) {
            sym_map_close(object->section_maps[i]);
            object->section_maps[i] = NULL;
        }
    }
    if (!object->section_maps[SYM_SECTION_INFO])
        return sym_fail(error, SYM_NOT_FOUND, "%s: no such file", object->path);
    return SYM_OK;
}

struct sym_bytes sym_object_part(const struct sym_object *object, enum sym_section section)
{
    const struct sym_map *map = object->section_maps[section];

    return map ? sym_map_bytes(map) : (struct sym_bytes){ 0 };
}

/* What the sections say themselves.  */
static void read_section_facts(struct sym_object *object)
{
    object->has_alt = object->section_maps[SYM_SECTION_ALTLINK] ||
                      object->section_maps[SYM_SECTION_SUP];
    object->has_symtab = has_function(object, sym_object_part(object, SYM_SECTION_SYMTAB),
                                      sym_object_part(object, SYM_SECTION_STRTAB));
    object->image = sym_object_part(object, SYM_SECTION_BUILD_ID);
    (void)find_build_id(object, 0, object->image.size, 4);
    object->image = (struct sym_bytes){ 0 };
}

/* Facts of like that its debug information shares.  */
static enum sym_status share_facts(struct sym_object *object, const struct sym_object *like)
{
    object->machine = like->machine;
    object->is_64 = like->is_64;
    object->big_endian = like->big_endian;
    object->has_dwarf = true;
    object->code = base_calloc(like->code_count + 1, sizeof *object->code);
    if (!object->code)
        return SYM_NO_MEMORY;
    for (; object->code_count < like->code_count; object->code_count++)
        object->code[object->code_count] = like->code[object->code_count];
    return SYM_OK;
}

enum sym_status sym_object_open_sections(const struct sym_object *like, const char *prefix,
                                         struct sym_object **out, struct sym_error *error)
{
    struct sym_object *object = base_calloc(1, sizeof *object);
    enum sym_status status = SYM_NO_MEMORY;

    if (!object)
        return sym_fail(error, SYM_NO_MEMORY, "%s: out of memory", prefix);
    object->kept = -1;
    object->section_prefix = sym_format("%s", prefix);
    object->path = sym_format("%s%s", prefix, sym_section_name(SYM_SECTION_INFO));
    if (object->section_prefix && object->path)
        status = share_facts(object, like);
    if (status)
        (void)sym_fail(error, status, "%s: out of memory", prefix);
    else
        status = map_sections(object, error);
    if (status) {
        sym_object_free(object);
        return status;
    }
    for (size_t i = 0; i < SYM_SECTION_COUNT; i++)
        add_room(object, sym_object_part(object, (enum sym_section)i).size);
    read_section_facts(object);
    *out = object;
    return SYM_OK;
}

/* ---- Opening again ---- */

/* The bytes of again become object's, whose facts are the same.  */
static void take_bytes(struct sym_object *object, struct sym_object *again)
{
    object->kept = again->kept;
    object->map = again->map;
    object->unpacked = again->unpacked;
    object->image = again->image;
    object->sections = again->sections;
    object->section_count = again->section_count;
    again->kept = -1;
    again->map = NULL;
    again->unpacked = NULL;
    again->sections = NULL;
}

enum sym_status sym_object_reopen(struct sym_object *object, struct sym_error *error)
{
    struct sym_object *again = NULL;
    enum sym_status status;

    if (sym_object_is_open(object))
        return SYM_OK;
    if (object->section_prefix) {
        status = map_sections(object, error);
        if (status)
            sym_object_close(object);
        return status;
    }
    if (object->lent.size)
        status = sym_object_open_lent(object->path, object->lent, &again, error);
    else
        status = open_kept(object->path, object->kind, &object->kept, &again, error);
    if (!again)
        return status;
    if (again->build_id_length != object->build_id_length ||
        memcmp(again->build_id, object->build_id, object->build_id_length) != 0)
        status = sym_fail(error, SYM_MALFORMED, "%s: replaced while it was read", object->path);
    else
        take_bytes(object, again);
    sym_object_free(again);
    return status;
}

enum sym_status sym_object_debugdata(const struct sym_object *object, struct sym_object **out,
                                     struct sym_error *error)
{
    const struct sym_elf_section *section = sym_object_by_name(object, ".gnu_debugdata");
    uint8_t *image;
    size_t size;

    *out = NULL;
    if (!section)
        return SYM_OK;
    enum sym_status status = sym_unpack(object->path, SYM_PACKING_XZ,
                                        sym_object_raw(object, section), UINT64_MAX, &image, &size,
                                        error);
    return status ? status : open_memory(object->path, image, size, out, error);
}

bool sym_object_changed(const struct sym_object *object, bool ask)
{
    for (size_t i = 0; i < SYM_SECTION_COUNT; i++)
        if (object->section_maps[i] && sym_map_changed(object->section_maps[i], ask))
            return true;
    return object->map && sym_map_changed(object->map, ask);
}

void sym_object_close(struct sym_object *object)
{
    for (size_t i = 0; i < SYM_SECTION_COUNT; i++) {
        base_free(object->contents[i]);
        sym_map_close(object->section_maps[i]);
        object->contents[i] = NULL;
        object->section_maps[i] = NULL;
    }
    base_free(object->sections);
    base_free(object->unpacked);
    sym_map_close(object->map);
    object->sections = NULL;
    object->section_count = 0;
    object->unpacked = NULL;
    object->map = NULL;
    object->image = (struct sym_bytes){ 0 };
}

void sym_object_free(struct sym_object *object)
{
    if (!object)
        return;
    sym_object_close(object);
    sym_map_forget(&object->kept);
    base_account_widen(-object->room);
    base_free(object->loads);
    base_free(object->code);
    base_free(object->kallsyms_module);
    base_free(object->debuglink);
    base_free(object->module_name);
    base_free(object->section_prefix);
    base_free(object->path);
    base_free(object);
}

/* ---- Code ---- */

const struct sym_code *sym_object_code(const struct sym_object *object, uint64_t vaddr)
{
    size_t low = 0, high = object->code_count;

    /* The first section that starts after vaddr.  */
    BASE_BISECT(low, high, i, object->code[i].start <= vaddr);
    return low && vaddr < object->code[low - 1].limit ? &object->code[low - 1] : NULL;
}

/* ---- Build ID of a path ---- */

enum sym_status sym_build_id(const char *path, uint8_t *id, size_t capacity, size_t *length,
                             struct sym_error *error)
{
    struct sym_object *object = NULL;

    if (!path || !length || (!id && capacity))
        return sym_fail(error, SYM_INVALID, "no path, or no room for a build ID");
    enum sym_status status = sym_object_open(path, SYM_OBJECT_MAIN, &object, error);
    if (status == SYM_NOT_FOUND) /* that status says that the file is there */
        status = SYM_IO;
    if (error)
        error->status = status;
    if (!object)
        return status;
    *length = object->build_id_length;
    if (*length == 0)
        status = sym_fail(error, SYM_NOT_FOUND, "%s: no build ID", path);
    else if (capacity)
        memcpy(id, object->build_id, *length < capacity ? *length : capacity);
    sym_object_free(object);
    return status;
}
