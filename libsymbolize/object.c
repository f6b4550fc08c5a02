/* object.c - ELF files, over libelf.
 *
 * Files are read, never mapped (ELF_C_READ): one that is truncated while we look costs a short
 * read, not a SIGBUS.  libelf checks headers and sections against the file's size; what it cannot
 * know, the honest size of a compressed section, is checked here.
 */
#include "libsymbolize/internal.h"
#include <errno.h>
#include <fcntl.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    DEFLATE_RATIO_MAX = 1032, /* zlib cannot pack tighter; a header that says so lies */
    NOTES_MAX = 1 << 20,      /* bytes of a note section that are looked at */
};

static const uint64_t SECTION_BYTES_MAX = UINT64_C(4) << 30;

/* Values newer than the elf.h of some systems.  */
enum { COMPRESSED_ZLIB = 1, COMPRESSED_ZSTD = 2 };

static const char *const section_names[SYM_SECTION_COUNT] = {
    [SYM_SECTION_INFO] = "debug_info",
    [SYM_SECTION_ABBREV] = "debug_abbrev",
    [SYM_SECTION_LINE] = "debug_line",
    [SYM_SECTION_STR] = "debug_str",
    [SYM_SECTION_LINE_STR] = "debug_line_str",
    [SYM_SECTION_RANGES] = "debug_ranges",
    [SYM_SECTION_RNGLISTS] = "debug_rnglists",
    [SYM_SECTION_ADDR] = "debug_addr",
    [SYM_SECTION_STR_OFFSETS] = "debug_str_offsets",
};

enum sym_status sym_elf_status(enum sym_status otherwise)
{
    int code = elf_errno();

    /* libelf keeps its codes to itself; its text for this one is fixed.  */
    return code && strcmp(elf_errmsg(code), "out of memory") == 0 ? SYM_NO_MEMORY : otherwise;
}

static enum sym_status fail_elf(struct sym_error *error, const char *path)
{
    int code = elf_errno();
    const char *text = code ? elf_errmsg(code) : "damaged ELF structures";

    return sym_fail(error, strcmp(text, "out of memory") == 0 ? SYM_NO_MEMORY : SYM_MALFORMED,
                    "%s: %s", path, text);
}

static enum sym_status fail_errno(struct sym_error *error, const char *path, int code)
{
    enum sym_status status = code == ENOENT || code == ENOTDIR ? SYM_NOT_FOUND
                             : code == ENOMEM                  ? SYM_NO_MEMORY
                                                               : SYM_IO;

    (void)sym_fail(error, status, "%s: %s", path, strerror(code));
    if (error)
        error->system_errno = code;
    return status;
}

/* O_NONBLOCK: a FIFO at the path must not hold us until somebody writes to it.  */
static enum sym_status open_regular(struct sym_object *object, struct sym_error *error)
{
    struct stat facts;

    object->fd = open(object->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (object->fd < 0 || fstat(object->fd, &facts) != 0)
        return fail_errno(error, object->path, errno);
    if (!S_ISREG(facts.st_mode))
        return sym_fail(error, SYM_IO, "%s: not a regular file", object->path);
    return SYM_OK;
}

/* ---- Build ID ---- */

/* The build ID in a run of notes (section 3); false: none.  */
static bool find_build_id(struct sym_object *object, Elf_Data *notes)
{
    size_t offset = 0, name_offset, desc_offset;
    GElf_Nhdr note;

    while (notes && offset < notes->d_size && offset < NOTES_MAX) {
        size_t next = gelf_getnote(notes, offset, &note, &name_offset, &desc_offset);
        if (next <= offset)
            return false;
        const char *bytes = notes->d_buf;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(bytes + name_offset, "GNU", 4) == 0 && note.n_descsz > 0 &&
            note.n_descsz <= SYM_BUILD_ID_MAX) {
            memcpy(object->build_id, bytes + desc_offset, note.n_descsz);
            object->build_id_length = note.n_descsz;
            return true;
        }
        offset = next;
    }
    return false;
}

static Elf_Type note_type(uint64_t alignment)
{
    return alignment == 8 ? ELF_T_NHDR8 : ELF_T_NHDR;
}

static bool read_build_id_of_segments(struct sym_object *object)
{
    size_t count;
    GElf_Phdr segment;

    if (elf_getphdrnum(object->elf, &count) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!gelf_getphdr(object->elf, (int)i, &segment))
            return false;
        if (segment.p_type != PT_NOTE || segment.p_filesz > NOTES_MAX ||
            segment.p_offset > INT64_MAX)
            continue;
        if (find_build_id(object,
                          elf_getdata_rawchunk(object->elf, (int64_t)segment.p_offset,
                                               segment.p_filesz, note_type(segment.p_align))))
            return true;
    }
    return false;
}

static bool read_build_id_of_sections(struct sym_object *object)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;

    while ((section = elf_nextscn(object->elf, section))) {
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_NOTE)
            continue;
        if (header.sh_size <= NOTES_MAX && find_build_id(object, elf_getdata(section, NULL)))
            return true;
    }
    return false;
}

/* ---- Facts ---- */

static enum sym_status read_loads(struct sym_object *object, struct sym_error *error)
{
    size_t count, capacity = 0;
    GElf_Phdr segment;

    if (elf_getphdrnum(object->elf, &count) != 0)
        return fail_elf(error, object->path);
    for (size_t i = 0; i < count; i++) {
        if (!gelf_getphdr(object->elf, (int)i, &segment))
            return fail_elf(error, object->path);
        if (segment.p_type != PT_LOAD)
            continue;
        struct sym_load *loads = sym_grow(object->loads, &capacity, object->load_count,
                                          sizeof *loads);
        if (!loads)
            return sym_fail(error, SYM_NO_MEMORY, "%s: out of memory", object->path);
        object->loads = loads;
        loads[object->load_count++] = (struct sym_load){
            .vaddr = segment.p_vaddr,
            .file_offset = segment.p_offset,
            .file_size = segment.p_filesz,
            .executable = segment.p_flags & PF_X,
        };
    }
    return SYM_OK;
}

static enum sym_status add_code(struct sym_object *object, size_t *capacity, uint64_t start,
                                uint64_t size)
{
    struct sym_code *code = sym_grow(object->code, capacity, object->code_count, sizeof *code);
    uint64_t limit;

    if (!code)
        return SYM_NO_MEMORY;
    object->code = code;
    if (size && !__builtin_add_overflow(start, size, &limit))
        code[object->code_count++] = (struct sym_code){ .start = start, .limit = limit };
    return SYM_OK;
}

static int compare_code(const void *a, const void *b)
{
    const struct sym_code *left = a, *right = b;

    return (left->start > right->start) - (left->start < right->start);
}

/* Whether section holds a function, so that its names are worth something.  */
static bool has_function(const GElf_Shdr *header, Elf_Scn *section)
{
    Elf_Data *data = elf_getdata(section, NULL);
    GElf_Sym symbol;

    if (!data || header->sh_entsize == 0 || data->d_size / header->sh_entsize > INT32_MAX)
        return false;
    int count = (int)(data->d_size / header->sh_entsize);
    for (int i = 1; i < count && gelf_getsym(data, i, &symbol); i++) {
        int type = GELF_ST_TYPE(symbol.st_info);
        if ((type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != SHN_UNDEF)
            return true;
    }
    return false;
}

/* Notes why debug information in a compressed section cannot be read.  */
static void check_compression(struct sym_object *object, Elf_Scn *section, const GElf_Shdr *header)
{
    GElf_Chdr compression;

    if (!(header->sh_flags & SHF_COMPRESSED))
        return;
    if (!gelf_getchdr(section, &compression)) {
        object->debug_problem = "its debug sections have a damaged compression header";
        object->debug_remedy = "fetch the file again";
    } else if (compression.ch_type == COMPRESSED_ZSTD) {
        object->debug_problem = "its debug sections are compressed with zstd, which is not read";
        object->debug_remedy = "unpack them: objcopy --decompress-debug-sections IN OUT";
    } else if (compression.ch_type != COMPRESSED_ZLIB) {
        object->debug_problem = "its debug sections are compressed in an unknown way";
        object->debug_remedy = "unpack them: objcopy --decompress-debug-sections IN OUT";
    }
}

static bool is_debug_section(const char *name, enum sym_section which)
{
    size_t skip = strncmp(name, ".z", 2) == 0 ? 2 : 1; /* ".zdebug_info" is the older packing */

    return name[0] == '.' && strcmp(name + skip, section_names[which]) == 0;
}

static bool is_any_debug_section(const char *name)
{
    for (unsigned i = 0; i < SYM_SECTION_COUNT; i++)
        if (is_debug_section(name, (enum sym_section)i))
            return true;
    return false;
}

static enum sym_status read_section_facts(struct sym_object *object, struct sym_error *error)
{
    size_t names, capacity = 0;
    Elf_Scn *section = NULL;
    GElf_Shdr header;

    if (elf_getshdrstrndx(object->elf, &names) != 0)
        return fail_elf(error, object->path);
    while ((section = elf_nextscn(object->elf, section))) {
        if (!gelf_getshdr(section, &header))
            return fail_elf(error, object->path);
        const char *name = elf_strptr(object->elf, names, header.sh_name);
        bool empty = header.sh_type == SHT_NOBITS || header.sh_size == 0;

        if ((header.sh_flags & SHF_ALLOC) && (header.sh_flags & SHF_EXECINSTR)) {
            if (add_code(object, &capacity, header.sh_addr, header.sh_size))
                return sym_fail(error, SYM_NO_MEMORY, "%s: out of memory", object->path);
            object->has_contents |= !empty;
        } else if (header.sh_type == SHT_SYMTAB) {
            object->has_symtab |= has_function(&header, section);
        } else if (header.sh_type == SHT_DYNSYM) {
            object->has_dynsym |= has_function(&header, section);
        } else if (name && !empty && is_any_debug_section(name)) {
            check_compression(object, section, &header);
            object->has_dwarf |= is_debug_section(name, SYM_SECTION_INFO);
        }
    }
    if (object->debug_problem)
        object->has_dwarf = false;
    if (object->code_count)
        qsort(object->code, object->code_count, sizeof *object->code, compare_code);
    return SYM_OK;
}

/* An object without section headers: its executable segments are its code.  */
static enum sym_status code_from_loads(struct sym_object *object, struct sym_error *error)
{
    size_t capacity = 0;

    for (size_t i = 0; i < object->load_count; i++) {
        const struct sym_load *load = &object->loads[i];
        if (!load->executable)
            continue;
        if (add_code(object, &capacity, load->vaddr, load->file_size))
            return sym_fail(error, SYM_NO_MEMORY, "%s: out of memory", object->path);
        object->has_contents |= load->file_size != 0;
    }
    if (object->code_count)
        qsort(object->code, object->code_count, sizeof *object->code, compare_code);
    return SYM_OK;
}

static enum sym_status read_facts(struct sym_object *object, struct sym_error *error)
{
    GElf_Ehdr header;

    if (!gelf_getehdr(object->elf, &header))
        return fail_elf(error, object->path);
    if (header.e_type == ET_REL)
        return sym_fail(error, SYM_MALFORMED, "%s: relocatable, its addresses are not final",
                        object->path);
    if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
        return sym_fail(error, SYM_MALFORMED, "%s: neither a program nor a shared object",
                        object->path);
    object->machine = header.e_machine;
    enum sym_status status = read_loads(object, error);
    if (!status)
        status = read_section_facts(object, error);
    if (!status && !object->code_count)
        status = code_from_loads(object, error);
    if (!status && !read_build_id_of_segments(object))
        (void)read_build_id_of_sections(object);
    return status;
}

enum sym_status sym_object_open(const char *path, struct sym_object **out, struct sym_error *error)
{
    enum sym_status status;
    struct sym_object *object = calloc(1, sizeof *object);

    if (!object)
        return sym_fail(error, SYM_NO_MEMORY, "%s: out of memory", path);
    object->fd = -1;
    object->path = sym_format("%s", path);
    if (!object->path) {
        status = sym_fail(error, SYM_NO_MEMORY, "%s: out of memory", path);
        goto fail;
    }
    status = open_regular(object, error);
    if (status)
        goto fail;
    (void)elf_version(EV_CURRENT);
    object->elf = elf_begin(object->fd, ELF_C_READ, NULL);
    if (elf_kind(object->elf) != ELF_K_ELF) { /* elf_begin() opens files that are not ELF too */
        status = sym_fail(error, sym_elf_status(SYM_MALFORMED), "%s: not an ELF object", path);
        goto fail;
    }
    status = read_facts(object, error);
    if (status)
        goto fail;
    *out = object; /* the caller owns it now: sym_object_free() */
    return SYM_OK;

fail:
    sym_object_free(object);
    return status;
}

enum sym_status sym_object_reopen(struct sym_object *object, struct sym_error *error)
{
    struct sym_object *again = NULL;

    if (object->elf)
        return SYM_OK;
    enum sym_status status = sym_object_open(object->path, &again, error);
    if (!again)
        return status;
    if (again->build_id_length != object->build_id_length ||
        memcmp(again->build_id, object->build_id, object->build_id_length) != 0) {
        status = sym_fail(error, SYM_MALFORMED, "%s: replaced while it was read", object->path);
    } else {
        object->elf = again->elf;
        object->fd = again->fd;
        again->elf = NULL;
        again->fd = -1;
    }
    sym_object_free(again);
    return status;
}

void sym_object_detach(struct sym_object *object)
{
    if (object->fd < 0)
        return;
    (void)elf_cntl(object->elf, ELF_C_FDDONE); /* what was not read by now stays unread */
    (void)close(object->fd);
    object->fd = -1;
}

void sym_object_close(struct sym_object *object)
{
    if (object->elf)
        (void)elf_end(object->elf);
    if (object->fd >= 0)
        (void)close(object->fd);
    object->elf = NULL;
    object->fd = -1;
}

void sym_object_free(struct sym_object *object)
{
    if (!object)
        return;
    sym_object_close(object);
    free(object->loads);
    free(object->code);
    free(object->path);
    free(object);
}

const struct sym_code *sym_object_code(const struct sym_object *object, uint64_t vaddr)
{
    size_t low = 0, high = object->code_count;

    while (low < high) { /* the first section that starts behind vaddr */
        size_t middle = low + (high - low) / 2;
        if (object->code[middle].start <= vaddr)
            low = middle + 1;
        else
            high = middle;
    }
    return low && vaddr < object->code[low - 1].limit ? &object->code[low - 1] : NULL;
}

bool sym_object_is_code(const struct sym_object *object, uint64_t vaddr)
{
    return sym_object_code(object, vaddr) != NULL;
}

/* ---- Section contents ---- */

static Elf_Scn *find_section(struct sym_object *object, enum sym_section which, bool *legacy)
{
    size_t names;
    Elf_Scn *section = NULL;
    GElf_Shdr header;

    if (elf_getshdrstrndx(object->elf, &names) != 0)
        return NULL;
    while ((section = elf_nextscn(object->elf, section))) {
        if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
            continue;
        const char *name = elf_strptr(object->elf, names, header.sh_name);
        if (!name || !is_debug_section(name, which))
            continue;
        *legacy = name[1] == 'z';
        return section;
    }
    return NULL;
}

/* The size that a packed section claims for its contents; 0: damaged, or no packing known here.  */
static uint64_t claimed_size(Elf_Scn *section, bool legacy, uint64_t packed_size)
{
    GElf_Chdr compression;
    uint64_t size = 0;

    if (legacy) { /* "ZLIB", then the size, big-endian */
        Elf_Data *data = elf_rawdata(section, NULL);
        if (!data || data->d_size < 12 || memcmp(data->d_buf, "ZLIB", 4) != 0)
            return 0;
        for (size_t i = 4; i < 12; i++)
            size = size << 8 | ((const uint8_t *)data->d_buf)[i];
    } else if (gelf_getchdr(section, &compression) && compression.ch_type == COMPRESSED_ZLIB) {
        size = compression.ch_size;
    }
    return size <= SECTION_BYTES_MAX && size / DEFLATE_RATIO_MAX <= packed_size ? size : 0;
}

enum sym_status sym_object_section(struct sym_object *object, enum sym_section which,
                                   struct sym_bytes *out, struct sym_error *error)
{
    bool legacy = false;
    GElf_Shdr header;
    Elf_Scn *section = find_section(object, which, &legacy);

    *out = (struct sym_bytes){ 0 };
    if (!section || !gelf_getshdr(section, &header))
        return SYM_OK;
    if (header.sh_size > SECTION_BYTES_MAX)
        return sym_fail(error, SYM_MALFORMED, "%s: .%s is too large", object->path,
                        section_names[which]);
    if (legacy || (header.sh_flags & SHF_COMPRESSED)) {
        if (!claimed_size(section, legacy, header.sh_size))
            return sym_fail(error, SYM_MALFORMED, "%s: .%s is badly compressed", object->path,
                            section_names[which]);
        if ((legacy ? elf_compress_gnu(section, 0, 0) : elf_compress(section, 0, 0)) < 0)
            return fail_elf(error, object->path);
    }
    Elf_Data *data = elf_rawdata(section, NULL);
    if (!data)
        return fail_elf(error, object->path);
    *out = (struct sym_bytes){ .data = data->d_buf, .size = data->d_buf ? data->d_size : 0 };
    return SYM_OK;
}

/* ---- Build ID of a path ---- */

enum sym_status sym_build_id(const char *path, uint8_t *id, size_t capacity, size_t *length,
                             struct sym_error *error)
{
    struct sym_object *object = NULL;

    if (!path || !length || (!id && capacity))
        return sym_fail(error, SYM_INVALID, "no path, or no room for a build ID");
    enum sym_status status = sym_object_open(path, &object, error);
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
