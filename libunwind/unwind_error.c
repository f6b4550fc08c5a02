/* unwind_error.c - errors and names.  */
#include "libunwind/unwind_internal.h"

#include "base/fail.h"

enum unwind_status unwind_fail(struct unwind_error *error, enum unwind_status status,
                               const char *format, ...)
{
    BASE_FAIL(error, status, format);
    return status;
}

const char *unwind_machine_name(enum unwind_machine machine)
{
    switch (machine) {
    case UNWIND_X86_64:
        return "x86-64";
    case UNWIND_ARM64:
        return "arm64";
    case UNWIND_RISCV64:
        return "riscv64";
    default:
        return "unknown";
    }
}

const char *unwind_end_name(enum unwind_end end)
{
    static const char *const names[UNWIND_END_COUNT] = {
        [UNWIND_END_COMPLETE] = "complete",
        [UNWIND_END_NO_STACK] = "the copy of the stack ended",
        [UNWIND_END_NO_TABLE] = "no unwind table and no frame pointer",
        [UNWIND_END_REFUSED] = "an unwind table that makes no sense",
        [UNWIND_END_LOOP] = "a frame that is its own caller",
        [UNWIND_END_NOT_CODE] = "an address in no executable mapping",
        [UNWIND_END_NO_ROOM] = "more frames than there is room for",
        [UNWIND_END_NO_REGISTER] = "a register that the unwind table needs is not known",
    };

    return (unsigned)end < UNWIND_END_COUNT ? names[end] : "unknown";
}

const char *unwind_found_name(enum unwind_found found)
{
    static const char *const names[] = {
        [UNWIND_FOUND_REGISTERS] = "program counter",
        [UNWIND_FOUND_TABLE] = "unwind table",
        [UNWIND_FOUND_SIGNAL] = "signal frame",
        [UNWIND_FOUND_LINK_REGISTER] = "link register",
        [UNWIND_FOUND_PLT] = "PLT rule",
        [UNWIND_FOUND_FRAME_POINTER] = "frame pointer",
        [UNWIND_FOUND_RETURN_PATH] = "return path",
        [UNWIND_FOUND_TRAMPOLINE] = "signal trampoline",
    };

    return (unsigned)found < sizeof names / sizeof *names ? names[found] : "unknown";
}
