/* thread_state.c - what raw stacks have of registers.  */
#include <fxt/unwind.h>

#include "cmd/fxtdump/dump.h"

bool dump_thread_state_read(const struct fxt_stack_sample *sample, struct dump_thread_state *out)
{
    struct unwind_registers registers;

    if (unwind_registers_from_zircon(sample->registers.bytes, (size_t)sample->registers.length,
                                     &registers) != UNWIND_OK)
        return false;
    *out = (struct dump_thread_state){ .machine = unwind_machine_name(registers.machine),
                                       .pc = registers.pc,
                                       .sp = unwind_stack_pointer(&registers) };
    return true;
}
