#include "sampler-capture/elf_image.h"

#include "base/go_build_id.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define MAX_PROGRAM_HEADERS 1024 /* Linux itself runs nothing with more than 64 KiB of them */
#define MAX_NOTES           256  /* over all segments */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NATIVE_DATA ELFDATA2LSB
#else
#define NATIVE_DATA ELFDATA2MSB
#endif

/* Store exactly size bytes from offset in buffer, or return false.  */
typedef bool (*elf_read_fn)(void *context, uint64_t offset, void *buffer, size_t size);

/* What the two ELF classes have in common.  */
struct source {
    elf_read_fn read;
    void *context;
    bool is_64;
    uint64_t headers_offset;
    size_t header_count;
    unsigned notes_left;
    uint8_t go_id[BASE_GO_BUILD_ID]; /* where there is no build ID of GNU's kind */
    bool has_go_id;
};

struct header {
    uint32_t type;
    uint32_t flags;
    uint64_t offset;
    uint64_t vaddr;
    uint64_t file_size;
    uint64_t align;
};

/* A phentsize other than that of the class means a file that no loader takes.  */
static bool read_file_header(struct source *source)
{
    unsigned char ident[EI_NIDENT];
    union {
        Elf32_Ehdr e32;
        Elf64_Ehdr e64;
    } file;

    if (!source->read(source->context, 0, ident, sizeof ident) ||
        memcmp(ident, ELFMAG, SELFMAG) != 0 || ident[EI_DATA] != NATIVE_DATA)
        return false;
    if (ident[EI_CLASS] == ELFCLASS64) {
        source->is_64 = true;
        if (!source->read(source->context, 0, &file.e64, sizeof file.e64) ||
            file.e64.e_phentsize != sizeof(Elf64_Phdr))
            return false;
        source->headers_offset = file.e64.e_phoff;
        source->header_count = file.e64.e_phnum;
    } else if (ident[EI_CLASS] == ELFCLASS32) {
        if (!source->read(source->context, 0, &file.e32, sizeof file.e32) ||
            file.e32.e_phentsize != sizeof(Elf32_Phdr))
            return false;
        source->headers_offset = file.e32.e_phoff;
        source->header_count = file.e32.e_phnum;
    } else {
        return false;
    }
    return source->header_count <= MAX_PROGRAM_HEADERS;
}

static bool read_program_header(const struct source *source, size_t i, struct header *out)
{
    size_t size = source->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
    uint64_t offset;
    union {
        Elf32_Phdr e32;
        Elf64_Phdr e64;
    } program;

    if (__builtin_add_overflow(source->headers_offset, i * size, &offset) ||
        !source->read(source->context, offset, &program, size))
        return false;
    if (source->is_64) {
        *out = (struct header){ program.e64.p_type,  program.e64.p_flags,  program.e64.p_offset,
                                program.e64.p_vaddr, program.e64.p_filesz, program.e64.p_align };
    } else {
        *out = (struct header){ program.e32.p_type,  program.e32.p_flags,  program.e32.p_offset,
                                program.e32.p_vaddr, program.e32.p_filesz, program.e32.p_align };
    }
    return true;
}

/* size rounded up to the notes' alignment; sizes have 32 bits, so nothing wraps.  */
static uint64_t padded(uint64_t size, uint64_t align)
{
    return (size + align - 1) / align * align;
}

/* Keep Go's build ID, which is at an offset.  */
static void read_go_id(struct source *source, uint64_t offset)
{
    char text[BASE_GO_BUILD_ID_TEXT];

    if (source->read(source->context, offset, text, sizeof text))
        source->has_go_id |= base_go_build_id(text, sizeof text, source->go_id);
}

/* Look for the build ID among the notes of one segment.  */
static void read_notes(struct source *source, const struct header *segment, struct elf_image *out)
{
    uint64_t align = segment->align == 8 ? 8 : 4; /* .note.gnu.property is aligned to 8 */
    uint64_t position = 0;

    while (segment->file_size - position >= sizeof(Elf64_Nhdr) && source->notes_left > 0) {
        Elf64_Nhdr note; /* the same in both classes */
        char name[4];
        uint64_t left = segment->file_size - position - sizeof note;
        uint64_t at, description, size;

        source->notes_left--;
        if (__builtin_add_overflow(segment->offset, position, &at) ||
            !source->read(source->context, at, &note, sizeof note))
            return;
        description = padded(note.n_namesz, align);
        size = description + padded(note.n_descsz, align);
        if (description + note.n_descsz > left)
            return;
        if (note.n_type == BASE_GO_NOTE_TYPE && note.n_namesz == sizeof name &&
            note.n_descsz == BASE_GO_BUILD_ID_TEXT && at <= UINT64_MAX - sizeof note - size &&
            source->read(source->context, at + sizeof note, name, sizeof name) &&
            memcmp(name, "Go\0", sizeof name) == 0)
            read_go_id(source, at + sizeof note + description);
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof name && note.n_descsz > 0 &&
            note.n_descsz <= ELF_IMAGE_MAX_BUILD_ID && at <= UINT64_MAX - sizeof note - size &&
            source->read(source->context, at + sizeof note, name, sizeof name) &&
            memcmp(name, "GNU", sizeof name) == 0 &&
            source->read(source->context, at + sizeof note + description, out->build_id,
                         note.n_descsz)) {
            out->build_id_size = note.n_descsz;
            return;
        }
        if (size > left) /* the last note may lack its padding */
            return;
        position += sizeof note + size;
    }
}

static bool read_image(elf_read_fn read, void *context, struct elf_image *out)
{
    struct source source = { .read = read, .context = context, .notes_left = MAX_NOTES };

    memset(out, 0, sizeof *out);
    if (!read_file_header(&source))
        return false;
    for (size_t i = 0; i < source.header_count; i++) {
        struct header header;
        if (!read_program_header(&source, i, &header))
            return false;
        if (header.type == PT_NOTE && out->build_id_size == 0)
            read_notes(&source, &header, out);
        if (header.type != PT_LOAD || !(header.flags & PF_X) ||
            out->segment_count == ELF_IMAGE_MAX_SEGMENTS)
            continue;
        out->segments[out->segment_count].file_offset = header.offset;
        out->segments[out->segment_count].file_size = header.file_size;
        out->segments[out->segment_count].vaddr = header.vaddr;
        out->segment_count++;
    }
    if (out->build_id_size == 0 && source.has_go_id) {
        memcpy(out->build_id, source.go_id, sizeof source.go_id);
        out->build_id_size = sizeof source.go_id;
    }
    return true;
}

static bool read_from_fd(void *context, uint64_t offset, void *buffer, size_t size)
{
    const int *fd = context;
    uint8_t *next = buffer;

    if (offset > INT64_MAX - size)
        return false;
    while (size > 0) {
        ssize_t n = pread(*fd, next, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        next += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return true;
}

bool elf_image_read_fd(int fd, struct elf_image *out)
{
    return read_image(read_from_fd, &fd, out);
}

struct memory {
    const uint8_t *bytes;
    size_t size;
};

static bool read_from_memory(void *context, uint64_t offset, void *buffer, size_t size)
{
    const struct memory *memory = context;

    if (offset > memory->size || size > memory->size - offset)
        return false;
    memcpy(buffer, memory->bytes + offset, size);
    return true;
}

bool elf_image_read_memory(const void *bytes, size_t size, struct elf_image *out)
{
    struct memory memory = { .bytes = bytes, .size = size };

    return read_image(read_from_memory, &memory, out);
}

/* Mappings are whole pages and segments are not: a page at the border of two segments belongs to
 * the one whose first page it is.  */
bool elf_image_vaddr(const struct elf_image *image, uint64_t file_offset, uint64_t *vaddr)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    size_t found = image->segment_count;

    for (size_t i = 0; i < image->segment_count; i++) {
        uint64_t start = image->segments[i].file_offset & ~(page - 1);
        if (file_offset < start)
            continue;
        if (file_offset == start) {
            found = i;
            break;
        }
        if (file_offset - start <
            image->segments[i].file_offset - start + image->segments[i].file_size)
            found = i;
    }
    if (found == image->segment_count)
        return false;
    *vaddr = file_offset - image->segments[found].file_offset + image->segments[found].vaddr;
    return true;
}
