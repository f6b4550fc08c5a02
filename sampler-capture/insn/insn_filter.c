#include "sampler-capture/insn/insn_filter.h"

#include "sampler-capture/heap/program.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a filter is looked for in.  */
struct search {
    struct filter *filter;
    Elf *elf;
    const char *file;
    char *message;
    size_t size;
};

static bool refuse(const struct search *search, const char *text, const char *reason)
{
    (void)snprintf(search->message, search->size, "%s: %s", text, reason);
    return false;
}

/* ---- Files ---- */

/* The file of a command.  The path is the caller's; NULL: there is none.  */
static char *find_program(const char *name)
{
    char path[PATH_MAX];

    return program_find(AT_FDCWD, name, path, sizeof path) ? realpath(path, NULL) : NULL;
}

/* The offset in the file of the code at vaddr.  */
static bool offset_of(Elf *elf, uint64_t vaddr, uint64_t *offset)
{
    size_t count;

    if (elf_getphdrnum(elf, &count) != 0)
        return false;
    for (size_t i = 0; i < count && i < INT_MAX; i++) {
        GElf_Phdr segment;

        if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD ||
            vaddr < segment.p_vaddr || vaddr - segment.p_vaddr >= segment.p_filesz)
            continue;
        *offset = segment.p_offset + (vaddr - segment.p_vaddr);
        return true;
    }
    return false;
}

static bool add_range(const struct search *search, const char *text, uint64_t start, uint64_t end)
{
    struct filter *filter = search->filter;
    struct filter_range range = { .start = start, .end = end };

    for (size_t i = 0; i < filter->count; i++)
        if (filter->ranges[i].start == start && filter->ranges[i].end == end &&
            strcmp(filter->ranges[i].file, search->file) == 0)
            return true;
    if (!offset_of(search->elf, start, &range.file_offset))
        return refuse(search, text, "the file has no code there; give addresses as in nm");
    if (filter->count == FILTER_MAX_RANGES)
        return refuse(search, text, "too many ranges; give fewer --filter options");
    range.file = strdup(search->file);
    if (!range.file)
        return refuse(search, text, strerror(ENOMEM));
    filter->ranges[filter->count++] = range;
    return true;
}

/* ---- Functions ---- */

/* What symbol tables have of a name.  */
struct found {
    bool function, without_size;
};

/* Add each function of that name in one symbol table.  */
static bool add_from_table(const struct search *search, Elf_Scn *section, const GElf_Shdr *header,
                           const char *name, struct found *found)
{
    Elf_Data *data = elf_getdata(section, NULL);
    uint64_t count = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;

    for (uint64_t i = 0; data && i < count && i < INT_MAX; i++) {
        GElf_Sym symbol;
        const char *own;

        if (!gelf_getsym(data, (int)i, &symbol) || GELF_ST_TYPE(symbol.st_info) != STT_FUNC ||
            symbol.st_shndx == SHN_UNDEF)
            continue;
        own = elf_strptr(search->elf, header->sh_link, symbol.st_name);
        if (!own || strcmp(own, name) != 0)
            continue;
        found->without_size |= symbol.st_size == 0;
        if (symbol.st_size == 0)
            continue;
        found->function = true;
        if (!add_range(search, name, symbol.st_value, symbol.st_value + symbol.st_size))
            return false;
    }
    return true;
}

static bool add_function(const struct search *search, const char *name)
{
    Elf_Scn *section = NULL;
    struct found found = { false, false };
    bool fine = true;

    while (fine && (section = elf_nextscn(search->elf, section))) {
        GElf_Shdr header;

        if (gelf_getshdr(section, &header) &&
            (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
            fine = add_from_table(search, section, &header, name, &found);
    }
    if (!fine || found.function)
        return fine;
    return refuse(search, name,
                  found.without_size
                      ? "the symbol table has no size of this function; give 0xSTART-0xEND"
                      : "no such function in the symbol tables of the file; of a stripped file, "
                        "give 0xSTART-0xEND");
}

/* ---- The filter ---- */

/* "0xSTART-0xEND".  */
static bool read_range(const char *text, uint64_t *start, uint64_t *end)
{
    char *rest;

    if (strncmp(text, "0x", 2) != 0)
        return false;
    errno = 0;
    *start = strtoull(text, &rest, 16);
    if (strncmp(rest, "-0x", 3) != 0)
        return false;
    *end = strtoull(rest + 1, &rest, 16);
    return *rest == '\0' && errno == 0;
}

static bool add_from_file(struct search *search, const char *what)
{
    uint64_t start, end;

    if (strncmp(what, "0x", 2) != 0)
        return add_function(search, what);
    if (!read_range(what, &start, &end))
        return refuse(search, what, "not a range like 0x1000-0x1080");
    if (start >= end)
        return refuse(search, what, "the range is empty");
    return add_range(search, what, start, end);
}

static bool open_and_add(struct search *search, const char *what)
{
    int fd = open(search->file, O_RDONLY | O_CLOEXEC);
    bool fine;

    if (fd < 0)
        return refuse(search, search->file, strerror(errno));
    (void)elf_version(EV_CURRENT);
    search->elf = elf_begin(fd, ELF_C_READ, NULL);
    fine = search->elf && elf_kind(search->elf) == ELF_K_ELF
               ? add_from_file(search, what)
               : refuse(search, search->file, "not an ELF file; use @FILE to name one");
    (void)elf_end(search->elf);
    (void)close(fd);
    return fine;
}

bool filter_add(struct filter *filter, const char *text, const char *program, char *message,
                size_t size)
{
    const char *at = strchr(text, '@');
    char *file = at ? realpath(at + 1, NULL) : find_program(program);
    int cause = at ? errno : ENOENT; /* if there is none */
    char *what = strndup(text, at ? (size_t)(at - text) : strlen(text));
    struct search search = { .filter = filter, .file = file, .message = message, .size = size };
    bool fine;

    if (!what)
        fine = refuse(&search, text, strerror(ENOMEM));
    else if (!file)
        fine = refuse(&search, at ? at + 1 : program, strerror(cause));
    else
        fine = open_and_add(&search, what);
    free(what);
    free(file);
    return fine;
}

bool filter_has(const struct filter *filter, const char *file, uint64_t vaddr, uint64_t *start,
                uint64_t *end)
{
    *start = 0;
    *end = UINT64_MAX;
    for (size_t i = 0; i < filter->count; i++) {
        const struct filter_range *range = &filter->ranges[i];

        if (strcmp(range->file, file) != 0)
            continue;
        if (vaddr >= range->start && vaddr < range->end) {
            *start = range->start;
            *end = range->end;
            return true;
        }
        if (range->end <= vaddr && range->end > *start)
            *start = range->end;
        if (range->start > vaddr && range->start < *end)
            *end = range->start;
    }
    return false;
}

void filter_release(struct filter *filter)
{
    for (size_t i = 0; i < filter->count; i++)
        free(filter->ranges[i].file);
    filter->count = 0;
}
