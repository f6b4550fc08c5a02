#include "sampler-capture/cpu/kernel.h"

#include "base/grow.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_SYMBOLS_SIZE (64U << 20)
#define MAX_NOTES        65536
/* Where vmlinux is linked to on x86-64 unless it is configured otherwise.  */
#define X86_64_START UINT64_C(0xffffffff81000000)

static FILE *open_below(const char *root, const char *path)
{
    char whole[PATH_MAX];

    if (snprintf(whole, sizeof whole, "%s%s", root, path) >= (int)sizeof whole)
        return NULL;
    return fopen(whole, "re");
}

/* ---- Build IDs ---- */

/* The ELF notes in a file of /sys.  */
static void read_build_id(const char *root, const char *path, struct kernel_image *image)
{
    uint8_t bytes[4096];
    FILE *file = open_below(root, path);
    size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;

    if (file)
        (void)fclose(file);
    image->build_id_size = 0;
    for (size_t at = 0; size >= 12 && at <= size - 12;) {
        uint32_t header[3]; /* name size, descriptor size, type */
        size_t name, descriptor;

        memcpy(header, bytes + at, sizeof header);
        at += 12;
        if (header[0] > size - at)
            return;
        name = at;
        at += (header[0] + 3U) & ~3U;
        if (at > size || header[1] > size - at)
            return;
        descriptor = at;
        at += (header[1] + 3U) & ~3U;
        if (header[2] != NT_GNU_BUILD_ID || header[0] != 4 || memcmp(bytes + name, "GNU", 4) != 0 ||
            header[1] > sizeof image->build_id)
            continue;
        memcpy(image->build_id, bytes + descriptor, header[1]);
        image->build_id_size = header[1];
        return;
    }
}

/* ---- Where the kernel is ---- */

/* How far it was moved: the kernel tells those who may read its memory.  */
static bool find_offset(const char *root, uint64_t *offset)
{
    static const char key[] = "KERNELOFFSET=";
    char path[PATH_MAX], notes[MAX_NOTES + 1];
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    ssize_t size = 0;
    const char *found = NULL;
    int fd;

    if (snprintf(path, sizeof path, "%s/proc/kcore", root) >= (int)sizeof path)
        return false;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
        memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
        pread(fd, &segment, sizeof segment, (off_t)header.e_phoff) == (ssize_t)sizeof segment &&
        segment.p_type == PT_NOTE) {
        size_t wanted = segment.p_filesz < MAX_NOTES ? (size_t)segment.p_filesz : MAX_NOTES;
        size = pread(fd, notes, wanted, (off_t)segment.p_offset);
    }
    (void)close(fd);
    if (size > 0) {
        notes[size] = '\0'; /* ends the number, should the text be cut */
        found = memmem(notes, (size_t)size, key, sizeof key - 1);
    }
    if (found)
        *offset = strtoull(found + sizeof key - 1, NULL, 16);
    return found != NULL;
}

static struct kernel_image *add_image(struct kernel *kernel)
{
    if (!base_make_room(&kernel->images, &kernel->capacity, kernel->count + 1,
                        sizeof *kernel->images))
        return NULL;
    kernel->images[kernel->count] = (struct kernel_image){ .start = 0 };
    return &kernel->images[kernel->count++];
}

/* Without a known offset the addresses of the file are not known: no build ID, so that nobody looks
 * there, and addresses stay what they are.  */
static bool add_kernel(struct kernel *kernel, const char *root, uint64_t start, uint64_t limit)
{
    struct kernel_image *image = add_image(kernel);
    uint64_t offset = 0;
    bool known = find_offset(root, &offset);

    if (!image)
        return false;
    (void)snprintf(image->name, sizeof image->name, "[kernel.kallsyms]");
    image->start = start;
    image->limit = limit;
    image->vaddr = start - offset;
    if (known || start == X86_64_START)
        read_build_id(root, "/sys/kernel/notes", image);
    return true;
}

/* A line of /proc/modules or /proc/kallsyms: names have at most 512 characters, and the longest
 * lists of dependencies some hundreds.  No memory is needed that could be short.  */
#define LINE_SIZE 4096

/* ---- Modules ---- */

/* The address of a module's .text: what /proc/modules says is the start of all it has.  */
static uint64_t text_address(const char *root, const char *name, uint64_t otherwise)
{
    char path[256], line[64];
    FILE *file;
    uint64_t address = 0;

    (void)snprintf(path, sizeof path, "/sys/module/%s/sections/.text", name);
    file = open_below(root, path);
    if (!file)
        return otherwise;
    if (fgets(line, sizeof line, file))
        address = strtoull(line, NULL, 16);
    (void)fclose(file);
    return address ? address : otherwise;
}

/* "NAME SIZE USES DEPENDENCIES STATE ADDRESS".  */
static bool add_module(struct kernel *kernel, const char *root, const char *line)
{
    char name[56], path[256];
    uint64_t size, base;
    struct kernel_image *image;

    if (sscanf(line, "%55s %" SCNu64 " %*s %*s %*s %" SCNx64, name, &size, &base) != 3 ||
        base == 0 || strchr(name, '/'))
        return true;
    image = add_image(kernel);
    if (!image)
        return false;
    (void)snprintf(image->name, sizeof image->name, "[%s]", name);
    image->start = text_address(root, name, base);
    image->limit = base + size > image->start ? base + size : image->start + size;
    (void)snprintf(path, sizeof path, "/sys/module/%s/notes/.note.gnu.build-id", name);
    read_build_id(root, path, image);
    return true;
}

static bool add_modules(struct kernel *kernel, const char *root)
{
    FILE *file = open_below(root, "/proc/modules");
    char line[LINE_SIZE];
    bool fine = true;

    if (!file)
        return true;
    while (fine && fgets(line, sizeof line, file))
        fine = add_module(kernel, root, line);
    (void)fclose(file);
    return fine;
}

/* ---- Symbols ---- */

/* One line: "ADDRESS TYPE NAME" and, of a module, "\t[MODULE]".  */
struct symbol {
    uint64_t address;
    char type;
    const char *name;   /* up to the end of the line */
    const char *module; /* "[ext4]", or NULL */
};

static bool parse_symbol(char *line, struct symbol *symbol)
{
    char *end;

    line[strcspn(line, "\n")] = '\0';
    symbol->address = strtoull(line, &end, 16);
    if (end == line || end[0] != ' ' || end[1] == '\0' || end[2] != ' ')
        return false;
    symbol->type = end[1];
    symbol->name = end + 3;
    symbol->module = strchr(symbol->name, '[');
    return true;
}

static const struct kernel_image *image_of(const struct kernel *kernel, const char *module)
{
    if (!module)
        return kernel->count ? &kernel->images[0] : NULL;
    for (size_t i = 1; i < kernel->count; i++)
        if (strncmp(module, kernel->images[i].name, strlen(kernel->images[i].name)) == 0)
            return &kernel->images[i];
    return NULL;
}

static bool add_line(struct kernel *kernel, size_t *capacity, const struct symbol *symbol)
{
    const struct kernel_image *image = image_of(kernel, symbol->module);
    size_t needed = strlen(symbol->name) + 24;
    uint64_t address = symbol->address;

    if (!image || !strchr("tTwW", symbol->type) || needed > MAX_SYMBOLS_SIZE - kernel->symbols_size)
        return true;
    if (!base_make_room(&kernel->symbols, capacity, kernel->symbols_size + needed, 1))
        return false;
    address = address - image->start + image->vaddr;
    kernel->symbols_size += (size_t)snprintf(kernel->symbols + kernel->symbols_size, needed,
                                             "%016" PRIx64 " %c %s\n", address, symbol->type,
                                             symbol->name);
    return true;
}

static bool is_named(const struct symbol *symbol, const char *name)
{
    return strcmp(symbol->name, name) == 0;
}

/* Where the kernel's code begins and ends; both 0 when addresses are hidden.  */
static void find_bounds(FILE *file, uint64_t *start, uint64_t *limit)
{
    char line[LINE_SIZE];

    *start = *limit = 0;
    while (fgets(line, sizeof line, file)) {
        struct symbol symbol;

        if (!parse_symbol(line, &symbol) || symbol.module)
            continue;
        if (is_named(&symbol, "_text") || (is_named(&symbol, "_stext") && *start == 0))
            *start = symbol.address;
        if ((is_named(&symbol, "_etext") || is_named(&symbol, "_einittext")) &&
            symbol.address > *limit)
            *limit = symbol.address;
    }
    rewind(file);
}

static bool read_symbols(struct kernel *kernel, FILE *file)
{
    char line[LINE_SIZE];
    size_t capacity = 0;
    bool fine = true;

    while (fine && fgets(line, sizeof line, file)) {
        struct symbol symbol;

        if (parse_symbol(line, &symbol))
            fine = add_line(kernel, &capacity, &symbol);
    }
    return fine;
}

bool kernel_read(struct kernel *kernel, const char *root)
{
    FILE *file = open_below(root, "/proc/kallsyms");
    uint64_t start = 0, limit = 0;
    bool fine = true;

    *kernel = (struct kernel){ .images = NULL };
    if (file)
        find_bounds(file, &start, &limit);
    kernel->hidden = start == 0 || limit <= start;
    if (!kernel->hidden)
        fine = add_kernel(kernel, root, start, limit) && add_modules(kernel, root) &&
               read_symbols(kernel, file);
    if (file)
        (void)fclose(file);
    return fine;
}

void kernel_release(struct kernel *kernel)
{
    free(kernel->images);
    free(kernel->symbols);
    *kernel = (struct kernel){ .images = NULL };
}
