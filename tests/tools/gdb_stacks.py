"""Inside gdb: step through functions by instruction, and write what is known of the thread at each, with gdb's stack.

    gdb -batch -nx -iex "set auto-load off" -ex "python FUNCTIONS='f g'; OUT='stacks'; STEPS=200" -x gdb_stacks.py PROGRAM

For tests/tools/unwind_gdb.c: of each stop a line of each kind.

    S FUNCTION
    R rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15 rip
    M address bytes             from the stack pointer on
    F program counters          of gdb's frames, innermost first

The lines before are those of /proc/PID/maps, as "P ...".
"""

import gdb

REGISTERS = "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip".split()
MOST_STACK = 32768


def register(name):
    return int(gdb.selected_frame().read_register(name)) % 2**64


def frames():
    """Not those of inlined functions, nor those of functions that ended in a jump: nothing of them is on the stack."""
    frame = gdb.newest_frame()
    while frame:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            yield frame.pc()
        frame = frame.older()


def mapping(maps, address):
    for line in maps:
        start, limit = (int(part, 16) for part in line.split()[0].split("-"))
        if start <= address < limit:
            return limit
    return address


def write_stop(out, name, maps):
    gdb.newest_frame().select()
    pointer = register("rsp")
    size = min(MOST_STACK, mapping(maps, pointer) - pointer)
    memory = bytes(gdb.selected_inferior().read_memory(pointer, size)) if size else b""
    print("S", name, file=out)
    print("R", *(f"{register(each):x}" for each in REGISTERS), file=out)
    print("M", f"{pointer:x}", memory.hex(), file=out)
    print("F", *(f"{pc:x}" for pc in frames()), file=out)


def step_through(out, name, maps):
    start = register("rsp")
    for _ in range(STEPS):
        write_stop(out, name, maps)
        gdb.execute("stepi", to_string=True)
        if register("rsp") > start:
            return
    write_stop(out, name, maps)


def main():
    for setting in ("pagination off", "confirm off", "backtrace past-main on", "disable-randomization on", "width 0"):
        gdb.execute("set " + setting)
    gdb.execute("handle SIGUSR1 nostop noprint pass", to_string=True)
    gdb.execute("break main", to_string=True)
    gdb.execute("run >/dev/null", to_string=True)
    with open(f"/proc/{gdb.selected_inferior().pid}/maps") as file:
        maps = file.read().splitlines()
    with open(OUT, "w") as out:
        for line in maps:
            print("P", line, file=out)
        for name in FUNCTIONS.split():
            gdb.execute("delete", to_string=True)
            gdb.execute(f"tbreak *(char *){name}", to_string=True)
            gdb.execute("continue", to_string=True)
            step_through(out, name, maps)
    gdb.execute("kill", to_string=True)


main()
