#include "tests/support/unwind_self.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define MAX_MAPPINGS 512

static struct {
    struct unwind_place place;
    char path[256];
} mappings[MAX_MAPPINGS];
static size_t mapping_count;
static struct unwind_walker *walker;

/* Of a mapping of code that begins at file_offset.  */
static uint64_t bias_of(const char *path, uint64_t start, uint64_t file_offset)
{
    Elf64_Phdr segments[64];
    Elf64_Ehdr header;
    uint64_t bias = start;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd >= 0 && pread(fd, &header, sizeof header, 0) == sizeof header && header.e_phnum <= 64 &&
        pread(fd, segments, sizeof *segments * header.e_phnum, (off_t)header.e_phoff) > 0)
        for (unsigned i = 0; i < header.e_phnum; i++)
            if (segments[i].p_type == PT_LOAD && (segments[i].p_flags & PF_X) &&
                (segments[i].p_offset & ~UINT64_C(4095)) == file_offset)
                bias = start - (segments[i].p_vaddr & ~UINT64_C(4095));
    if (fd >= 0)
        (void)close(fd);
    return bias;
}

static void open_table(const char *path, uint64_t start, uint64_t limit, struct unwind_place *place)
{
    struct unwind_object object = { .fd = -1, .debug_fd = -1 };

    place->kind = UNWIND_PLACE_OBJECT;
    for (size_t i = 0; i < mapping_count; i++)
        if (strcmp(mappings[i].path, path) == 0)
            place->table = mappings[i].place.table;
    if (place->table)
        return;
    if (strcmp(path, "[vdso]") == 0) {
        // NOLINTNEXTLINE(performance-no-int-to-ptr)
        object.bytes = (const void *)(uintptr_t)start;
        object.size = limit - start;
    } else {
        object.fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    (void)unwind_table_open(&object, &place->table, NULL);
    if (object.fd >= 0)
        (void)close(object.fd);
}

static void close_tables(void)
{
    for (size_t i = 0; i < mapping_count; i++) {
        struct unwind_table *table = mappings[i].place.table;

        for (size_t k = i; k < mapping_count; k++)
            if (mappings[k].place.table == table)
                mappings[k].place.table = NULL;
        unwind_table_close(table);
    }
    mapping_count = 0;
}

void unwind_self_close(void)
{
    close_tables();
    unwind_walker_close(walker);
    walker = NULL;
}

void unwind_self_open(void)
{
    char line[512];
    FILE *file = fopen("/proc/self/maps", "re");

    if (!walker)
        (void)unwind_walker_open(&walker, NULL);
    unwind_walker_forget(walker);
    close_tables();
    while (file && fgets(line, sizeof line, file) && mapping_count < MAX_MAPPINGS) {
        uint64_t start, limit, offset;
        char flags[8], path[256] = "";
        struct unwind_place *place = &mappings[mapping_count].place;

        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %255s", &start, &limit,
                   flags, &offset, path) < 4 ||
            flags[2] != 'x')
            continue;
        *place = (struct unwind_place){ UNWIND_PLACE_OTHER, NULL, start, limit, start };
        if (path[0] == '/' || strcmp(path, "[vdso]") == 0)
            open_table(path, start, limit, place);
        if (path[0] == '/')
            place->bias = bias_of(path, start, offset);
        memcpy(mappings[mapping_count++].path, path, sizeof path);
    }
    if (file)
        (void)fclose(file);
}

static void find(void *context, uint64_t address, struct unwind_place *out)
{
    (void)context;
    for (size_t i = 0; i < mapping_count; i++)
        if (address >= mappings[i].place.start && address < mappings[i].place.limit)
            *out = mappings[i].place;
}

struct unwind_table *unwind_self_table(uint64_t address)
{
    struct unwind_place place = { .kind = UNWIND_PLACE_NOTHING };

    find(NULL, address, &place);
    return place.table;
}

enum unwind_status unwind_self_walk(const ucontext_t *context, uint64_t limit, size_t size,
                                    struct unwind_stack *stack)
{
    /* rax rdx rcx rbx rsi rdi rbp rsp r8 to r15 */
    static const int order[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                 REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                 REG_R12, REG_R13, REG_R14, REG_R15 };
    struct unwind_registers registers = { .machine = UNWIND_X86_64, .known = 0xffff };
    struct unwind_map map = { .find = find };
    struct unwind_piece piece;
    struct unwind_memory memory = { &piece, 1 };

    for (size_t i = 0; i < 16; i++)
        registers.values[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
    registers.pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
    piece.address = registers.values[7];
    piece.size = limit - piece.address < size ? (size_t)(limit - piece.address) : size;
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    piece.bytes = (const uint8_t *)(uintptr_t)piece.address;
    return unwind_walk(walker, &registers, &memory, &map, stack);
}
