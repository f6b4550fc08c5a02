/* return_path.c - the instructions with which x86-64 code returns, read from the code itself.
 *
 * Code without tables often has no frame pointer either: trampolines that are copied to executable
 * memory while a program runs, such as those of CPython, move the stack pointer, call, move it back
 * and return.  What follows the call says where the return address is.  */
#include "libunwind/unwind_internal.h"

#include <string.h>

/* Instructions that change neither stack nor saved registers.  */
static size_t skipped(const uint8_t *code, size_t size)
{
    static const struct {
        uint8_t length, bytes[4];
    } known[] = {
        { 1, { 0x90 } },                   /* nop */
        { 2, { 0x66, 0x90 } },             /* nop */
        { 4, { 0xf3, 0x0f, 0x1e, 0xfa } }, /* endbr64 */
        { 3, { 0xc5, 0xf8, 0x77 } },       /* vzeroupper */
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].length <= size && memcmp(code, known[i].bytes, known[i].length) == 0)
            return known[i].length;
    return 0;
}

/* A byte with its sign.  */
static int64_t signed8(uint8_t byte)
{
    return (int64_t)(byte ^ 0x80U) - 0x80;
}

static int64_t signed32(const uint8_t *bytes)
{
    return (int32_t)((uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
                     (uint32_t)bytes[3] << 24);
}

/* add $N, %rsp; lea N(%rsp), %rsp; mov %rbp, %rsp.  */
static size_t moved(const uint8_t *code, size_t size, struct return_step *step)
{
    if (size < 3 || code[0] != 0x48)
        return 0;
    step->kind = RETURN_ADD;
    if (size >= 4 && code[1] == 0x83 && code[2] == 0xc4) {
        step->amount = signed8(code[3]);
        return 4;
    }
    if (size >= 7 && code[1] == 0x81 && code[2] == 0xc4) {
        step->amount = signed32(code + 3);
        return 7;
    }
    if (size >= 5 && code[1] == 0x8d && code[2] == 0x64 && code[3] == 0x24) {
        step->amount = signed8(code[4]);
        return 5;
    }
    if (size >= 8 && code[1] == 0x8d && code[2] == 0xa4 && code[3] == 0x24) {
        step->amount = signed32(code + 4);
        return 8;
    }
    step->kind = RETURN_TO_FRAME;
    return (code[1] == 0x89 && code[2] == 0xec) || (code[1] == 0x8b && code[2] == 0xe5) ? 3 : 0;
}

/* pop, for all registers but the stack pointer.  */
static size_t popped(const uint8_t *code, size_t size, struct return_step *step)
{
    static const uint8_t dwarf_numbers[] = { 0, 2, 1, 3, 7, 6, 4, 5 };
    size_t prefix = size >= 2 && code[0] == 0x41;
    unsigned number = code[prefix] - 0x58U;

    if (number > 7 || (prefix == 0 && number == 4))
        return 0;
    step->kind = RETURN_POP;
    step->number = prefix ? number + 8 : dwarf_numbers[number];
    return prefix + 1;
}

static size_t returned(const uint8_t *code, size_t size)
{
    size_t prefix = size >= 2 && code[0] == 0xf3;

    if (size >= 3 && code[0] == 0xc2)
        return 3;
    return code[prefix] == 0xc3 ? prefix + 1 : 0;
}

/* leave is mov %rbp, %rsp and pop %rbp.  */
static bool add_leave(struct return_path *path)
{
    if (path->count + 2 > RETURN_MAX_STEPS)
        return false;
    path->steps[path->count++] = (struct return_step){ .kind = RETURN_TO_FRAME };
    path->steps[path->count++] = (struct return_step){ .kind = RETURN_POP, .number = 6 };
    return true;
}

bool return_path_read(const uint8_t *code, size_t size, struct return_path *out)
{
    out->count = 0;
    for (size_t at = 0, length; at < size; at += length) {
        struct return_step step = { .kind = RETURN_ADD };

        if (returned(code + at, size - at) > 0)
            return true;
        length = skipped(code + at, size - at);
        if (length > 0)
            continue;
        if (code[at] == 0xc9) {
            if (!add_leave(out))
                return false;
            length = 1;
            continue;
        }
        length = moved(code + at, size - at, &step);
        if (length == 0)
            length = popped(code + at, size - at, &step);
        if (length == 0 || out->count == RETURN_MAX_STEPS)
            return false;
        out->steps[out->count++] = step;
    }
    return false;
}
