/* unwind_object.c - what is needed of ELF files, through libelf.
 *
 * Nothing is mapped, so a file that is cut meanwhile costs its tables and not the process; and each
 * size is held against the file's before memory is asked for.  */
#include "libunwind/unwind_internal.h"

#include "base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Larger sections of tables are none.  */
#define MAX_SECTION ((uint64_t)256 << 20)
/* Bytes between .eh_frame_hdr and .eh_frame that are not worth another reader.  */
#define MAX_GAP      ((uint64_t)1 << 20)
#define MAX_SECTIONS 100000

/* A file that is being read.  */
struct source {
    const struct unwind_object *from;
    int fd; /* -1: it is in memory */
    uint64_t size;
    Elf *elf;
    struct unwind_error *error;
};

static enum unwind_status io_error(const struct source *source, int cause)
{
    enum unwind_status status = unwind_fail(source->error, UNWIND_IO, "%s", strerror(cause));

    if (source->error)
        source->error->system_errno = cause;
    return status;
}

static enum unwind_status no_memory(const struct source *source)
{
    return unwind_fail(source->error, UNWIND_NO_MEMORY, "out of memory");
}

static enum unwind_status open_source(struct source *source)
{
    struct stat about;

    if (elf_version(EV_CURRENT) == EV_NONE)
        return unwind_fail(source->error, UNWIND_UNSUPPORTED, "libelf is too old");
    if (source->fd < 0) {
        source->size = source->from->size;
        // NOLINTNEXTLINE(performance-no-int-to-ptr): libelf only reads it
        source->elf = elf_memory((char *)(uintptr_t)source->from->bytes, source->from->size);
    } else {
        if (fstat(source->fd, &about) != 0)
            return io_error(source, errno);
        if (!S_ISREG(about.st_mode))
            return unwind_fail(source->error, UNWIND_MALFORMED, "not a regular file");
        source->size = (uint64_t)about.st_size;
        source->elf = elf_begin(source->fd, ELF_C_READ, NULL);
    }
    if (!source->elf || elf_kind(source->elf) != ELF_K_ELF)
        return unwind_fail(source->error, UNWIND_MALFORMED, "not an ELF object");
    return UNWIND_OK;
}

/* Bytes of the file as they are.  */
static enum unwind_status read_bytes(const struct source *source, uint64_t offset, uint8_t *to,
                                     size_t size)
{
    int cause;

    if (offset > source->size || size > source->size - offset)
        return unwind_fail(source->error, UNWIND_MALFORMED,
                           "a section of %zu bytes ends outside of the file", size);
    if (source->fd < 0) {
        memcpy(to, (const uint8_t *)source->from->bytes + offset, size);
        return UNWIND_OK;
    }
    cause = base_read_at(source->fd, to, size, offset);
    if (cause != 0)
        return io_error(source, cause);
    return UNWIND_OK;
}

/* ---- Which machine ---- */

static const char *foreign_name(unsigned machine)
{
    switch (machine) {
    case EM_386:
        return "i386";
    case EM_ARM:
        return "arm";
    case EM_PPC64:
        return "ppc64";
    case EM_S390:
        return "s390x";
    case EM_MIPS:
        return "mips";
    default:
        return NULL;
    }
}

static enum unwind_status read_machine(const struct source *source, struct object *out)
{
    GElf_Ehdr header;
    const char *name;

    if (!gelf_getehdr(source->elf, &header))
        return unwind_fail(source->error, UNWIND_MALFORMED, "its ELF header cannot be read");
    if (header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB)
        out->machine = header.e_machine == EM_X86_64    ? UNWIND_X86_64
                       : header.e_machine == EM_AARCH64 ? UNWIND_ARM64
                       : header.e_machine == EM_RISCV   ? UNWIND_RISCV64
                                                        : UNWIND_NO_MACHINE;
    out->entry = header.e_entry;
    if (out->machine != UNWIND_NO_MACHINE)
        return UNWIND_OK;
    name = foreign_name(header.e_machine);
    return name ? unwind_fail(source->error, UNWIND_UNSUPPORTED,
                              "code for %s, which is not unwound here", name)
                : unwind_fail(source->error, UNWIND_UNSUPPORTED,
                              "code for machine %u (%d-bit, %s-endian), which is not unwound here",
                              header.e_machine, header.e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32,
                              header.e_ident[EI_DATA] == ELFDATA2MSB ? "big" : "little");
}

/* ---- Sections ---- */

struct found {
    GElf_Shdr eh_frame, header, debug_frame;
    Elf_Scn *debug_frame_section;
    bool has_eh_frame, has_header, has_debug_frame, is_gnu_compressed;
};

/* Where entries push something.  Those that may be jumped to begin with an instruction that says so
 * (endbr64, bti c), and then have another form.  */
static void describe_plt(const struct object *object, const uint8_t *code, struct plt *plt)
{
    static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa },
                         bti_c[] = { 0x5f, 0x24, 0x03, 0xd5 };

    plt->push = plt->first_push = UINT64_MAX;
    if (object->machine == UNWIND_X86_64) {
        plt->first_size = plt->first_size ? 16 : 0;
        plt->first_push = 6;
        plt->push = memcmp(code + plt->first_size, endbr64, sizeof endbr64) == 0 ? 9 : 11;
    } else if (object->machine == UNWIND_ARM64) {
        plt->first_push = memcmp(code, bti_c, sizeof bti_c) == 0 ? 8 : 4;
    }
}

static void add_plt(const struct source *source, struct object *out, const GElf_Shdr *section,
                    const char *name)
{
    uint8_t code[32] = { 0 };
    struct plt plt = { .start = section->sh_addr,
                       .limit = section->sh_addr + section->sh_size,
                       .first_size = strcmp(name, ".plt") == 0 ? sizeof code : 0 };

    if (out->plt_count == MAX_PLTS || section->sh_size == 0 || section->sh_size > MAX_SECTION ||
        read_bytes(source, section->sh_offset, code,
                   section->sh_size < sizeof code ? section->sh_size : sizeof code) != UNWIND_OK)
        return;
    describe_plt(out, code, &plt);
    out->plts[out->plt_count++] = plt;
}

static void take_section(const struct source *source, struct object *out, struct found *found,
                         Elf_Scn *section, const GElf_Shdr *header, const char *name)
{
    bool has_bytes = header->sh_type != SHT_NOBITS && header->sh_size > 0;

    if (strcmp(name, ".eh_frame") == 0 && has_bytes) {
        found->eh_frame = *header;
        found->has_eh_frame = true;
    } else if (strcmp(name, ".eh_frame_hdr") == 0 && has_bytes) {
        found->header = *header;
        found->has_header = true;
    } else if ((strcmp(name, ".debug_frame") == 0 || strcmp(name, ".zdebug_frame") == 0) &&
               has_bytes) {
        found->debug_frame = *header;
        found->debug_frame_section = section;
        found->has_debug_frame = true;
        found->is_gnu_compressed = name[1] == 'z';
    } else if (strncmp(name, ".plt", 4) == 0 && (header->sh_flags & SHF_EXECINSTR)) {
        add_plt(source, out, header, name);
    }
}

static void find_sections(const struct source *source, struct object *out, struct found *found)
{
    size_t names;
    unsigned left = MAX_SECTIONS;

    if (elf_getshdrstrndx(source->elf, &names) != 0)
        return;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(source->elf, section)) && left-- > 0;) {
        GElf_Shdr header;
        const char *name;

        if (gelf_getshdr(section, &header) &&
            (name = elf_strptr(source->elf, names, header.sh_name)))
            take_section(source, out, found, section, &header, name);
    }
}

/* Without section headers: the header of the table is a segment of its own, and where .eh_frame
 * ends is not said, so it is all that follows in the segment that is loaded.  */
static void find_by_segments(const struct source *source, struct found *found)
{
    GElf_Phdr segment = { 0 }, loaded;
    size_t count = 0, i;
    uint8_t bytes[8] = { 0 };
    int32_t distance;

    (void)elf_getphdrnum(source->elf, &count);
    for (i = 0; i < count; i++)
        if (gelf_getphdr(source->elf, (int)i, &segment) && segment.p_type == PT_GNU_EH_FRAME)
            break;
    if (i == count || segment.p_filesz < sizeof bytes || segment.p_filesz > MAX_SECTION ||
        read_bytes(source, segment.p_offset, bytes, sizeof bytes) != UNWIND_OK || bytes[1] != 0x1b)
        return;
    memcpy(&distance, bytes + 4, sizeof distance); /* pcrel, sdata4 */
    found->header = (GElf_Shdr){ .sh_addr = segment.p_vaddr,
                                 .sh_offset = segment.p_offset,
                                 .sh_size = segment.p_filesz };
    found->eh_frame.sh_addr = segment.p_vaddr + 4 + (uint64_t)(int64_t)distance;
    for (i = 0; i < count; i++) {
        if (!gelf_getphdr(source->elf, (int)i, &loaded) || loaded.p_type != PT_LOAD ||
            found->eh_frame.sh_addr - loaded.p_vaddr >= loaded.p_filesz)
            continue;
        distance = 0;
        found->eh_frame.sh_offset = found->eh_frame.sh_addr - loaded.p_vaddr + loaded.p_offset;
        found->eh_frame.sh_size = loaded.p_vaddr + loaded.p_filesz - found->eh_frame.sh_addr;
        found->has_header = found->has_eh_frame = true;
        return;
    }
}

/* ---- Reading ---- */

/* Both sections in one piece of memory, so that differences of addresses in them hold.  */
static enum unwind_status read_frames(const struct source *source, const struct found *found,
                                      struct object *out)
{
    const GElf_Shdr *frame = &found->eh_frame, *header = &found->header;
    uint64_t start = frame->sh_addr, limit, size;
    enum unwind_status status;

    if (frame->sh_size > MAX_SECTION || __builtin_add_overflow(start, frame->sh_size, &limit))
        return unwind_fail(source->error, UNWIND_MALFORMED, "an .eh_frame of impossible size");
    out->has_header = found->has_header && header->sh_size <= MAX_SECTION &&
                      out->machine == UNWIND_X86_64;
    if (out->has_header) {
        uint64_t low = header->sh_addr < start ? header->sh_addr : start, high;

        if (__builtin_add_overflow(header->sh_addr, header->sh_size, &high))
            out->has_header = false;
        high = high > limit ? high : limit;
        if (out->has_header && high - low <= frame->sh_size + header->sh_size + MAX_GAP)
            start = low, limit = high;
        else
            out->has_header = false;
    }
    size = limit - start;
    if (size > source->size + MAX_GAP)
        return unwind_fail(source->error, UNWIND_MALFORMED, "an .eh_frame larger than the file");
    out->frames =
        (struct section){ .bytes = calloc(1, size ? size : 1), .size = size, .vaddr = start };
    if (!out->frames.bytes)
        return no_memory(source);
    out->eh_frame_offset = frame->sh_addr - start;
    out->eh_frame_size = frame->sh_size;
    status = read_bytes(source, frame->sh_offset, out->frames.bytes + out->eh_frame_offset,
                        frame->sh_size);
    if (status != UNWIND_OK || !out->has_header)
        return status;
    out->header_offset = header->sh_addr - start;
    status = read_bytes(source, header->sh_offset, out->frames.bytes + out->header_offset,
                        header->sh_size);
    out->has_header = status == UNWIND_OK;
    return status == UNWIND_MALFORMED ? UNWIND_OK : status;
}

/* Compressed sections are unpacked by libelf, which says beforehand how much that is.  */
static enum unwind_status unpack(const struct source *source, const struct found *found,
                                 struct object *out)
{
    Elf_Scn *section = found->debug_frame_section;
    Elf_Data *data;
    GElf_Chdr chdr;
    int unpacked;

    if (found->is_gnu_compressed) {
        uint8_t start[12];
        uint64_t size;

        /* "ZLIB" and the size, big-endian */
        if (read_bytes(source, found->debug_frame.sh_offset, start, sizeof start) != UNWIND_OK)
            return UNWIND_MALFORMED;
        memcpy(&size, start + 4, sizeof size);
        if (__builtin_bswap64(size) > MAX_SECTION)
            return unwind_fail(source->error, UNWIND_MALFORMED, "a .debug_frame too large");
        unpacked = elf_compress_gnu(section, 0, 0);
    } else {
        if (!gelf_getchdr(section, &chdr) || chdr.ch_size > MAX_SECTION)
            return unwind_fail(source->error, UNWIND_MALFORMED, "a .debug_frame too large");
        unpacked = elf_compress(section, 0, 0);
    }
    data = unpacked < 0 ? NULL : elf_rawdata(section, NULL);
    if (!data || !data->d_buf || data->d_size > MAX_SECTION)
        return unwind_fail(source->error, UNWIND_MALFORMED,
                           "a compressed .debug_frame that libelf cannot unpack: %s",
                           elf_errmsg(-1));
    out->debug_frame.bytes = malloc(data->d_size ? data->d_size : 1);
    if (!out->debug_frame.bytes)
        return no_memory(source);
    memcpy(out->debug_frame.bytes, data->d_buf, data->d_size);
    out->debug_frame.size = data->d_size;
    return UNWIND_OK;
}

static enum unwind_status read_debug_frame(const struct source *source, const struct found *found,
                                           struct object *out)
{
    const GElf_Shdr *header = &found->debug_frame;

    if (header->sh_size > MAX_SECTION || header->sh_size > source->size)
        return unwind_fail(source->error, UNWIND_MALFORMED, "a .debug_frame of impossible size");
    if (found->is_gnu_compressed || (header->sh_flags & SHF_COMPRESSED))
        return unpack(source, found, out);
    out->debug_frame = (struct section){ .bytes = malloc(header->sh_size ? header->sh_size : 1),
                                         .size = header->sh_size,
                                         .vaddr = header->sh_addr };
    if (!out->debug_frame.bytes)
        return no_memory(source);
    return read_bytes(source, header->sh_offset, out->debug_frame.bytes, header->sh_size);
}

/* ---- Build ID ---- */

static bool take_notes(Elf_Data *data, struct object *out)
{
    GElf_Nhdr note;
    size_t name, descriptor;

    for (size_t at = 0, next; (next = gelf_getnote(data, at, &note, &name, &descriptor));
         at = next) {
        if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
            note.n_descsz > sizeof out->build_id ||
            memcmp((const char *)data->d_buf + name, "GNU", 4) != 0)
            continue;
        memcpy(out->build_id, (const char *)data->d_buf + descriptor, note.n_descsz);
        out->build_id_length = note.n_descsz;
        return true;
    }
    return false;
}

static void read_build_id(const struct source *source, struct object *out)
{
    size_t count = 0;

    (void)elf_getphdrnum(source->elf, &count);
    for (size_t i = 0; i < count && i < MAX_SECTIONS; i++) {
        GElf_Phdr segment;
        Elf_Data *data;

        if (!gelf_getphdr(source->elf, (int)i, &segment) || segment.p_type != PT_NOTE ||
            segment.p_filesz > MAX_SECTION || segment.p_offset > source->size ||
            segment.p_filesz > source->size - segment.p_offset)
            continue;
        data = elf_getdata_rawchunk(source->elf, (int64_t)segment.p_offset, segment.p_filesz,
                                    segment.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
        if (data && take_notes(data, out))
            return;
    }
}

/* ---- Entry point ---- */

struct entry_symbols {
    uint64_t size; /* of the function at the entry point; 0: not said */
    uint64_t next; /* the function that follows, at most so far away */
};

static void take_symbols(Elf_Data *data, uint64_t entry, struct entry_symbols *found)
{
    GElf_Sym symbol;

    for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
        uint64_t distance = symbol.st_value - entry;

        if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF)
            continue;
        if (distance == 0 && symbol.st_size > found->size)
            found->size = symbol.st_size;
        else if (distance > 0 && distance < found->next)
            found->next = distance;
    }
}

static void read_entry(const struct source *source, struct object *out)
{
    struct entry_symbols found = { .size = 0, .next = ENTRY_UNNAMED };
    unsigned left = MAX_SECTIONS;

    for (Elf_Scn *section = NULL; (section = elf_nextscn(source->elf, section)) && left-- > 0;) {
        GElf_Shdr header;
        Elf_Data *data;

        if (!gelf_getshdr(section, &header) || header.sh_size > source->size ||
            (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
            continue;
        data = elf_getdata(section, NULL);
        if (data)
            take_symbols(data, out->entry, &found);
    }
    if (found.size == 0)
        found.size = found.next;
    out->entry_limit = out->entry + (found.size < ENTRY_NAMED ? found.size : ENTRY_NAMED);
}

/* ---- All of it ---- */

static enum unwind_status read_source(const struct source *source, enum object_part part,
                                      struct object *out)
{
    struct found found = { .has_eh_frame = false };
    enum unwind_status status = read_machine(source, out);

    if (status != UNWIND_OK)
        return status;
    if (part == OBJECT_ENTRY) {
        read_entry(source, out);
        return UNWIND_OK;
    }
    find_sections(source, out, &found);
    if (part != OBJECT_FRAMES)
        return found.has_debug_frame ? read_debug_frame(source, &found, out) : UNWIND_OK;
    read_build_id(source, out);
    if (!found.has_eh_frame)
        find_by_segments(source, &found);
    if (found.has_eh_frame)
        status = read_frames(source, &found, out);
    if (status != UNWIND_MALFORMED)
        return status;
    free(out->frames.bytes);
    out->frames = (struct section){ .bytes = NULL };
    out->is_damaged = true;
    return UNWIND_OK;
}

enum unwind_status object_read(const struct unwind_object *from, enum object_part part,
                               struct object *out, struct unwind_error *error)
{
    struct source source = { .from = from,
                             .fd = part == OBJECT_DEBUG_FILE ? from->debug_fd : from->fd,
                             .error = error };
    enum unwind_status status;

    *out = (struct object){ .machine = UNWIND_NO_MACHINE };
    if (source.fd < 0 && !from->bytes)
        return unwind_fail(error, UNWIND_INVALID, "neither a file nor bytes");
    status = open_source(&source);
    if (status == UNWIND_OK)
        status = read_source(&source, part, out);
    (void)elf_end(source.elf);
    if (status != UNWIND_OK)
        object_release(out);
    return status;
}

void object_release(struct object *object)
{
    free(object->frames.bytes);
    free(object->debug_frame.bytes);
    *object = (struct object){ .machine = UNWIND_NO_MACHINE };
}

/* ---- Paths ---- */

static int open_object(const char *path) /* a FIFO must not make it wait */
{
    return path[0] ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
}

enum unwind_status unwind_table_open_path(const char *path, const char *debug_path,
                                          struct unwind_table **out, struct unwind_error *error)
{
    struct unwind_object files = { .fd = open_object(path), .debug_fd = -1 };
    enum unwind_status status;

    if (files.fd < 0) {
        int cause = path[0] ? errno : ENOENT;

        status = unwind_fail(error, UNWIND_IO, "%s", strerror(cause));
        if (error)
            error->system_errno = cause;
        return status;
    }
    if (strcmp(debug_path, path) != 0)
        files.debug_fd = open_object(debug_path);
    status = unwind_table_open(&files, out, error);
    (void)close(files.fd);
    if (files.debug_fd >= 0)
        (void)close(files.debug_fd);
    return status;
}
