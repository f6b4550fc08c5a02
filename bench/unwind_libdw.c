/* unwind_libdw FILE: what libdw of elfutils takes for the stack that `unwind --stack` wrote.
 *
 * Prints walk_ns=TIME walk_frames=NUMBER; the time is CPU time, the least of several runs.  */
#include <elfutils/libdwfl.h>

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REGISTERS = 17, RUNS = 9, WALKS = 500, PC = 16 };

static Dwarf_Word registers[REGISTERS];
static uint8_t *stack;
static uint64_t stack_address, frames;
static size_t stack_size;
static Dwfl *dwfl;

static _Noreturn void give_up(const char *what)
{
    (void)fprintf(stderr, "unwind_libdw: %s\n", what);
    exit(4);
}

static double now(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* ---- The stack ---- */

static void read_bytes(const char *digits)
{
    stack_size = strlen(digits) / 2;
    stack = calloc(stack_size + 1, 1);
    if (!stack)
        give_up("out of memory");
    for (size_t i = 0; i < stack_size; i++) {
        char byte[3] = { digits[2 * i], digits[2 * i + 1], '\0' };

        stack[i] = (uint8_t)strtoul(byte, NULL, 16);
    }
}

static void read_line(char *line)
{
    uint64_t start, limit, bias;
    unsigned number;
    int used = 0;

    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "register %x %" SCNx64, &number, &start) == 2 && number < REGISTERS) {
        registers[number] = start;
    } else if (sscanf(line, "object %" SCNx64 " %" SCNx64 " %" SCNx64 " %n", &start, &limit, &bias,
                      &used) == 3) {
        if (!dwfl_report_elf(dwfl, line + used, line + used, -1, bias, true))
            give_up(dwfl_errmsg(-1));
    } else if (sscanf(line, "stack %" SCNx64 " %n", &stack_address, &used) == 1) {
        read_bytes(line + used);
    }
}

static void read_stack(const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t size = 0;

    if (!file)
        give_up(path);
    dwfl_report_begin(dwfl);
    while (getline(&line, &size, file) > 0)
        read_line(line);
    (void)dwfl_report_end(dwfl, NULL, NULL);
    free(line);
    (void)fclose(file);
}

/* ---- Callbacks ---- */

static pid_t next_thread(Dwfl *of, void *context, void **thread)
{
    (void)of, (void)context;
    if (*thread)
        return 0;
    *thread = &stack;
    return 1;
}

static bool set_registers(Dwfl_Thread *thread, void *context)
{
    (void)context;
    return dwfl_thread_state_registers(thread, 0, REGISTERS, registers);
}

static bool read_memory(Dwfl *of, Dwarf_Addr address, Dwarf_Word *out, void *context)
{
    uint64_t offset = address - stack_address;

    (void)of, (void)context;
    if (offset > stack_size || stack_size - offset < sizeof *out)
        return false;
    memcpy(out, stack + offset, sizeof *out);
    return true;
}

static int count_frame(Dwfl_Frame *frame, void *context)
{
    Dwarf_Addr pc;

    (void)context;
    if (dwfl_frame_pc(frame, &pc, NULL))
        frames++;
    return DWARF_CB_OK;
}

static int no_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                         const char *file, const char *link, GElf_Word crc, char **path)
{
    (void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc, (void)path;
    return -1;
}

int main(int argc, char **argv)
{
    static const Dwfl_Thread_Callbacks threads = { .next_thread = next_thread,
                                                   .memory_read = read_memory,
                                                   .set_initial_registers = set_registers };
    static const Dwfl_Callbacks members = { .find_elf = dwfl_build_id_find_elf,
                                            .find_debuginfo = no_debug_file };
    double least = 1e9;

    dwfl = argc == 2 ? dwfl_begin(&members) : NULL;
    if (!dwfl)
        give_up("usage: unwind_libdw FILE");
    read_stack(argv[1]);
    if (!dwfl_attach_state(dwfl, NULL, 1, &threads, NULL))
        give_up(dwfl_errmsg(-1));
    for (int run = 0; run < RUNS; run++) {
        double start = now();

        for (int i = 0; i < WALKS; i++) {
            frames = 0;
            (void)dwfl_getthread_frames(dwfl, 1, count_frame, NULL); /* fails below the last one */
        }
        least = now() - start < least ? now() - start : least;
    }
    printf("walk_ns=%.0f walk_frames=%" PRIu64 "\n", 1e9 * least / WALKS, frames);
    dwfl_end(dwfl);
    free(stack);
    return 0;
}
