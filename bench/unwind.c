/* unwind: what unwinding takes: opening an object's tables, making all its rows, and walking a
 * stack of 20 frames beside the compiler's unwinder.
 *
 *   unwind [--stack FILE] OBJECT...
 *
 * Prints KEY=NUMBER pairs, a line for each object and one for walks; times are CPU time.  The stack
 * goes to FILE, for other unwinders to walk: a line for each register, object and piece of memory,
 *
 *   register NUMBER VALUE           DWARF's numbers; 16 is the program counter
 *   object START LIMIT BIAS PATH    its code, in memory
 *   stack ADDRESS BYTES
 *
 * all in hexadecimal digits.  */
#include "libunwind/unwind_internal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

enum { DEPTH = 16, FRAMES = 64, RUNS = 9, WALKS = 20000, MAX_PLACES = 64, STACK = 8192 };

static const char *stack_path; /* NULL: it is not written */

static _Noreturn void give_up(const char *what)
{
    (void)fprintf(stderr, "unwind: %s\n", what);
    exit(4);
}

static double now(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static struct unwind_table *open_table(const char *path)
{
    struct unwind_object object = { .fd = open(path, O_RDONLY | O_CLOEXEC), .debug_fd = -1 };
    struct unwind_error error;
    struct unwind_table *table;

    if (object.fd < 0 || unwind_table_open(&object, &table, &error) != UNWIND_OK)
        give_up(path);
    (void)close(object.fd);
    return table;
}

/* ---- Tables ---- */

static void measure_object(const char *path)
{
    double opening = 1e9, making = 1e9;
    const struct unwind_report *report;
    struct unwind_table *table = NULL;
    size_t searched = 0;

    for (int run = 0; run < RUNS; run++) {
        double start = now(), opened;
        uint32_t rule;

        unwind_table_close(table);
        table = open_table(path);
        opened = now();
        searched = unwind_table_report(table)->memory_bytes;
        table->section.header = table->section.limit; /* nothing to search: rows are made */
        if (!table_rule(table, 0, &rule))
            give_up("out of memory");
        making = now() - opened < making ? now() - opened : making;
        opening = opened - start < opening ? opened - start : opening;
    }
    report = unwind_table_report(table);
    printf("open_ms=%.3f make_ms=%.3f entries=%llu rows=%llu rules=%llu searched_bytes=%zu "
           "made_bytes=%zu\n",
           1e3 * opening, 1e3 * making, (unsigned long long)report->entries,
           (unsigned long long)report->rows, (unsigned long long)report->rules, searched,
           report->memory_bytes);
    unwind_table_close(table);
}

/* ---- Walks ---- */

static struct unwind_place places[MAX_PLACES];
static char paths[MAX_PLACES][PATH_MAX];
static size_t place_count;

static int add_object(struct dl_phdr_info *info, size_t size, void *context)
{
    const char *path = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";

    (void)size, (void)context;
    for (int i = 0; i < info->dlpi_phnum && place_count < MAX_PLACES; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) || path[0] != '/')
            continue;
        if (!realpath(path, paths[place_count]))
            give_up(path);
        places[place_count++] = (struct unwind_place){
            .kind = UNWIND_PLACE_OBJECT,
            .table = open_table(path),
            .start = info->dlpi_addr + segment->p_vaddr,
            .limit = info->dlpi_addr + segment->p_vaddr + segment->p_memsz,
            .bias = info->dlpi_addr,
        };
    }
    return 0;
}

static void find(void *context, uint64_t address, struct unwind_place *out)
{
    (void)context;
    for (size_t i = 0; i < place_count; i++)
        if (address >= places[i].start && address < places[i].limit)
            *out = places[i];
}

static _Unwind_Reason_Code count_frame(struct _Unwind_Context *context, void *argument)
{
    *(uint64_t *)argument += _Unwind_GetIP(context) != 0;
    return _URC_NO_REASON;
}

#ifdef __x86_64__

static void take_context(const ucontext_t *context, struct unwind_registers *out)
{
    static const int order[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                 REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                 REG_R12, REG_R13, REG_R14, REG_R15 };

    *out = (struct unwind_registers){ .machine = UNWIND_X86_64, .known = 0xffff };
    for (size_t i = 0; i < 16; i++)
        out->values[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
    out->pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
}

static void write_stack(const struct unwind_registers *registers, const struct unwind_piece *piece)
{
    FILE *file = fopen(stack_path, "w");

    if (!file)
        give_up(stack_path);
    for (unsigned i = 0; i < 16; i++)
        (void)fprintf(file, "register %x %" PRIx64 "\n", i, registers->values[i]);
    (void)fprintf(file, "register 10 %" PRIx64 "\n", registers->pc);
    for (size_t i = 0; i < place_count; i++)
        (void)fprintf(file, "object %" PRIx64 " %" PRIx64 " %" PRIx64 " %s\n", places[i].start,
                      places[i].limit, places[i].bias, paths[i]);
    (void)fprintf(file, "stack %" PRIx64 " ", piece->address);
    for (size_t i = 0; i < piece->size; i++)
        (void)fprintf(file, "%02x", piece->bytes[i]);
    (void)fprintf(file, "\n");
    if (fclose(file) != 0)
        give_up(stack_path);
}

__attribute__((noinline)) static void walk_many(const ucontext_t *context)
{
    struct unwind_registers registers;
    uint64_t addresses[FRAMES], others = 0;
    uint8_t found[FRAMES];
    struct unwind_stack stack = { .addresses = addresses, .found = found, .capacity = FRAMES };
    struct unwind_map map = { .find = find };
    struct unwind_piece piece = { .size = STACK };
    struct unwind_memory memory = { &piece, 1 };
    struct unwind_walker *walker;
    double ours = 1e9, peer = 1e9, start;

    if (unwind_walker_open(&walker, NULL) != UNWIND_OK)
        give_up("out of memory");
    take_context(context, &registers);
    piece.address = registers.values[7];
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    piece.bytes = (const uint8_t *)(uintptr_t)piece.address;
    if (stack_path)
        write_stack(&registers, &piece);
    for (int run = 0; run < RUNS; run++) {
        start = now();
        for (int i = 0; i < WALKS; i++)
            if (unwind_walk(walker, &registers, &memory, &map, &stack) != UNWIND_OK)
                give_up("out of memory");
        ours = now() - start < ours ? now() - start : ours;
        start = now();
        for (int i = 0; i < WALKS; i++, others = 0)
            (void)_Unwind_Backtrace(count_frame, &others);
        peer = now() - start < peer ? now() - start : peer;
    }
    (void)_Unwind_Backtrace(count_frame, &others);
    printf("walk_ns=%.0f walk_frames=%zu whole=%d peer_ns=%.0f peer_frames=%llu\n",
           1e9 * ours / WALKS, stack.count, stack.end == UNWIND_END_COMPLETE, 1e9 * peer / WALKS,
           (unsigned long long)others);
    unwind_walker_close(walker);
}

static void measure_walks(void)
{
    ucontext_t context;

    if (getcontext(&context) == 0)
        walk_many(&context);
}

#else

static void measure_walks(void)
{
    give_up("walks are measured on x86-64");
}

#endif

// NOLINTNEXTLINE(misc-no-recursion)
__attribute__((noinline)) static int descend(int depth)
{
    volatile char room[64];

    room[0] = (char)depth;
    if (depth == 0)
        measure_walks();
    else
        (void)descend(depth - 1);
    return room[0];
}

int main(int argc, char **argv)
{
    int first = 1;

    if (argc > 2 && strcmp(argv[1], "--stack") == 0) {
        stack_path = argv[2];
        first = 3;
    }
    for (int i = first; i < argc; i++)
        measure_object(argv[i]);
    (void)dl_iterate_phdr(add_object, NULL);
    (void)descend(DEPTH - 1);
    for (size_t i = 0; i < place_count; i++)
        unwind_table_close(places[i].table);
    return 0;
}
