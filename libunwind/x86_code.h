/* x86_code.h - one instruction of x86-64: its length, its operands, and the registers it changes.
 * It knows no more than the way to where code returns needs.  */
#ifndef UNWIND_X86_CODE_H
#define UNWIND_X86_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define X86_CODE_MOST 15 /* bytes */

enum { X86_REX_B = 1, X86_REX_X = 2, X86_REX_R = 4, X86_REX_W = 8 };

/* Registers have the numbers of the encoding: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to
 * r15.  */
struct x86_code {
    uint8_t length;
    uint8_t map;    /* 0: opcodes of one byte; 1: 0f; 2: 0f 38; 3: 0f 3a; others: of vectors */
    uint8_t opcode; /* the last byte of it */
    uint8_t rex;    /* X86_REX_... */
    uint8_t second_source;
    uint8_t extension; /* the middle bits of ModRM */
    uint8_t reg, rm;   /* register operands; rm is the base of a memory operand */
    bool has_rex, has_modrm;
    bool is_vector;        /* VEX or EVEX */
    bool is_16_bit;        /* prefix 66 */
    bool is_short_address; /* prefix 67 */
    bool is_repeated;      /* prefix f3 */
    bool is_memory;        /* the operand rm is in memory */
    bool has_index;        /* at base + index + displacement */
    bool has_no_base;      /* rm is no base: of the instruction pointer, or none */
    int64_t displacement;  /* of the memory operand */
    int64_t immediate;
};

/* False: no instruction, or it has more bytes than size.  */
bool x86_code_read(const uint8_t *bytes, size_t size, struct x86_code *out);

/* Whether the last of X86_CALL_MOST bytes end a call, of any form.  */
#define X86_CALL_MOST 7
bool x86_code_ends_in_call(const uint8_t bytes[X86_CALL_MOST]);

/* The general registers that it changes, as operands: bit n is register n.  Those that an opcode
 * changes without naming them are left out, but for rbx of cpuid: nobody saves them.  */
uint16_t x86_code_changed(const struct x86_code *code);

#endif /* UNWIND_X86_CODE_H */
