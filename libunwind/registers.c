/* registers.c - registers as those write them who interrupt threads.  */
#include "libunwind/unwind_internal.h"

#include <endian.h>
#include <string.h>

/* What each machine calls its registers, and what its frame pointers look like (psABI).  */
const struct machine unwind_machines[] = {
    [UNWIND_X86_64] = { .stack_pointer = 7,
                        .frame_pointer = 6,
                        .return_column = 16,
                        .saved_return = 8,
                        .caller_stack = 16,
                        .knows_stack = true },
    [UNWIND_ARM64] = { .stack_pointer = 31,
                       .frame_pointer = 29,
                       .return_column = 30,
                       .saved_return = 8,
                       .caller_stack = 16,
                       .has_link = true },
    [UNWIND_RISCV64] = { .stack_pointer = 2,
                         .frame_pointer = 8,
                         .return_column = 1,
                         .saved_pointer = -16,
                         .saved_return = -8,
                         .knows_stack = true,
                         .has_link = true },
};

static bool is_machine(enum unwind_machine machine)
{
    return machine == UNWIND_X86_64 || machine == UNWIND_ARM64 || machine == UNWIND_RISCV64;
}

uint64_t unwind_stack_pointer(const struct unwind_registers *registers)
{
    return is_machine(registers->machine)
               ? registers->values[unwind_machines[registers->machine].stack_pointer]
               : 0;
}

/* ---- perf (include/uapi/asm/perf_regs.h of the kernel) ---- */

#define PC   64
#define NONE 65

/* The DWARF number of a bit of the mask, PC or NONE.  */
static unsigned perf_register(enum unwind_machine machine, unsigned bit)
{
    /* ax bx cx dx si di bp sp ip */
    static const uint8_t x86[] = { 0, 3, 2, 1, 4, 5, 6, 7, PC };

    switch (machine) {
    case UNWIND_X86_64:
        if (bit < sizeof x86)
            return x86[bit];
        return bit >= 16 && bit < 24 ? bit - 8 : NONE; /* r8 to r15 */
    case UNWIND_ARM64:
        return bit < 32 ? bit : bit == 32 ? PC : NONE;
    case UNWIND_RISCV64:
        return bit == 0 ? PC : bit < 32 ? bit : NONE;
    default:
        return NONE;
    }
}

enum unwind_status unwind_registers_from_perf(enum unwind_machine machine, uint64_t mask,
                                              const uint64_t *words, size_t count,
                                              struct unwind_registers *out)
{
    struct unwind_registers registers = { .machine = machine };
    bool has_pc = false;
    size_t used = 0;

    if (!is_machine(machine) || count != (size_t)__builtin_popcountll(mask))
        return UNWIND_INVALID;
    for (unsigned bit = 0; bit < 64; bit++) {
        unsigned number;

        if (!(mask >> bit & 1))
            continue;
        number = perf_register(machine, bit);
        if (number == PC) {
            has_pc = true;
            registers.pc = words[used];
        } else if (number < UNWIND_REGISTER_COUNT) {
            registers.known |= 1U << number;
            registers.values[number] = words[used];
        }
        used++;
    }
    if (!has_pc || !(registers.known >> unwind_machines[machine].stack_pointer & 1))
        return UNWIND_INVALID;
    *out = registers;
    return UNWIND_OK;
}

/* ---- Zircon (zircon/syscalls/debug.h) ---- */

#define X86_SIZE   160
#define ARM64_SIZE 280
#define RISCV_SIZE 256

#define CPSR_IS_32_BIT (1U << 4)

static uint64_t word_at(const uint8_t *bytes, size_t index)
{
    uint64_t word;

    memcpy(&word, bytes + 8 * index, sizeof word);
    return le64toh(word);
}

static void take_x86(const uint8_t *bytes, struct unwind_registers *out)
{
    /* rax rbx rcx rdx; from rsi on as DWARF numbers them */
    static const uint8_t first[] = { 0, 3, 2, 1 };

    out->known = 0xffff;
    for (size_t i = 0; i < 16; i++)
        out->values[i < 4 ? first[i] : i] = word_at(bytes, i);
    out->pc = word_at(bytes, 16);
}

static void take_others(const uint8_t *bytes, struct unwind_registers *out)
{
    bool is_arm64 = out->machine == UNWIND_ARM64; /* x0 to x30, sp, pc; the other: pc, x1 to x31 */

    out->known = is_arm64 ? UINT32_MAX : UINT32_MAX - 1;
    for (size_t i = is_arm64 ? 0 : 1; i < UNWIND_REGISTER_COUNT; i++)
        out->values[i] = word_at(bytes, i);
    out->pc = word_at(bytes, is_arm64 ? 32 : 0);
}

/* rdi rsi rbp rbx rdx rcx rax rsp, r8 to r15, ip (zircon/syscalls-next.h) */
static void take_restricted_x86(const uint8_t *bytes, struct unwind_registers *out)
{
    static const uint8_t first[] = { 5, 4, 6, 3, 1, 2, 0, 7 };

    out->known = 0xffff;
    for (size_t i = 0; i < 16; i++)
        out->values[i < 8 ? first[i] : i] = word_at(bytes, i);
    out->pc = word_at(bytes, 16);
}

static bool is_32_bit(const uint8_t *bytes, size_t size, size_t status_word)
{
    return size == ARM64_SIZE && (word_at(bytes, status_word) & CPSR_IS_32_BIT);
}

static enum unwind_status take_zircon(const uint8_t *bytes, size_t size,
                                      void (*take)(const uint8_t *, struct unwind_registers *),
                                      struct unwind_registers *out)
{
    struct unwind_registers registers = { .machine = UNWIND_NO_MACHINE };

    switch (size) {
    case X86_SIZE:
        registers.machine = UNWIND_X86_64;
        take(bytes, &registers);
        break;
    case ARM64_SIZE:
        registers.machine = UNWIND_ARM64;
        take_others(bytes, &registers);
        break;
    case RISCV_SIZE:
        registers.machine = UNWIND_RISCV64;
        take_others(bytes, &registers);
        break;
    default:
        return UNWIND_INVALID;
    }
    *out = registers;
    return UNWIND_OK;
}

enum unwind_status unwind_registers_from_zircon(const uint8_t *bytes, size_t size,
                                                struct unwind_registers *out)
{
    return is_32_bit(bytes, size, 33) ? UNWIND_UNSUPPORTED
                                      : take_zircon(bytes, size, take_x86, out);
}

/* On arm64 the thread pointer precedes the status.  */
enum unwind_status unwind_registers_from_restricted(const uint8_t *bytes, size_t size,
                                                    struct unwind_registers *out)
{
    return is_32_bit(bytes, size, 34) ? UNWIND_UNSUPPORTED
                                      : take_zircon(bytes, size, take_restricted_x86, out);
}
