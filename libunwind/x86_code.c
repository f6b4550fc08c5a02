/* x86_code.c - one instruction of x86-64 (Intel's manual, volume 2, appendices A and B).  */
#include "libunwind/x86_code.h"

#include <string.h>

struct cursor {
    const uint8_t *bytes;
    size_t size, at;
    bool is_short; /* the instruction goes on after the bytes */
};

static uint8_t take(struct cursor *cursor)
{
    if (cursor->at < cursor->size)
        return cursor->bytes[cursor->at++];
    cursor->is_short = true;
    return 0;
}

/* A number of 0 to 8 bytes with its sign.  */
static int64_t take_number(struct cursor *cursor, unsigned size)
{
    uint64_t value = 0, sign;

    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)take(cursor) << 8 * i;
    if (size == 0 || size == 8)
        return (int64_t)value;
    sign = UINT64_C(1) << (8 * size - 1);
    return (int64_t)((value ^ sign) - sign);
}

/* Bit n of the word is of opcode n of a row of 16.  */
static bool has_bit(const uint16_t rows[16], uint8_t opcode)
{
    return rows[opcode >> 4] >> (opcode & 15) & 1;
}

/* ---- Prefixes ---- */

static void take_legacy_prefixes(struct cursor *cursor, struct x86_code *code)
{
    for (; cursor->at < cursor->size; cursor->at++) {
        switch (cursor->bytes[cursor->at]) {
        case 0x66:
            code->is_16_bit = true;
            break;
        case 0x67:
            code->is_short_address = true;
            break;
        case 0xf3:
            code->is_repeated = true;
            break;
        case 0xf0:
        case 0xf2:
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e:
        case 0x64:
        case 0x65:
            break;
        default:
            return;
        }
    }
}

/* The bits R, X and B of a VEX or EVEX prefix are inverted.  */
static uint8_t inverted(uint8_t byte)
{
    return (uint8_t)(~(unsigned)byte >> 5 & 7);
}

static void take_vex(struct cursor *cursor, struct x86_code *code, uint8_t first)
{
    uint8_t byte = take(cursor), second;

    code->is_vector = code->has_rex = true;
    if (first == 0xc5) {
        code->map = 1;
        code->rex = inverted(byte) & X86_REX_R;
        second = byte;
    } else {
        code->map = first == 0x62 ? byte & 7 : byte & 31;
        code->rex = inverted(byte);
        second = take(cursor);
        code->rex |= second & 0x80 ? X86_REX_W : 0;
    }
    code->second_source = (uint8_t)(~(unsigned)second >> 3 & 15);
    code->is_repeated = (second & 3) == 2;
    if (first == 0x62)
        (void)take(cursor);
    code->opcode = take(cursor);
}

static void take_opcode(struct cursor *cursor, struct x86_code *code)
{
    uint8_t byte = take(cursor);

    if ((byte & 0xf0) == 0x40) {
        code->has_rex = true;
        code->rex = byte & 15;
        byte = take(cursor);
    }
    if (byte == 0xc4 || byte == 0xc5 || byte == 0x62) {
        take_vex(cursor, code, byte);
        return;
    }
    if (byte == 0x0f) {
        code->map = 1;
        byte = take(cursor);
        if (byte == 0x38 || byte == 0x3a) {
            code->map = byte == 0x38 ? 2 : 3;
            byte = take(cursor);
        }
    }
    code->opcode = byte;
}

/* ---- Operands ---- */

/* Opcodes with a ModRM byte; those of maps 2 and 3 all have one.  */
static const uint16_t has_modrm[2][16] = {
    { 0x0f0f, 0x0f0f, 0x0f0f, 0x0f0f, 0x0000, 0x0000, 0x0a08, 0x0000, 0xfffb, 0x0000, 0x0000,
      0x0000, 0x00c3, 0xff0f, 0x0000, 0xc0c0 },
    { 0xa00f, 0xffff, 0xffff, 0x0000, 0xffff, 0xffff, 0xffff, 0xff7f, 0x0000, 0xffff, 0xf838,
      0xffff, 0x00ff, 0xffff, 0xffff, 0xffff },
};

/* Opcodes that do not exist in 64-bit code.  */
static const uint16_t is_invalid[16] = { 0x40c0, 0xc0c0, 0x8080, 0x8080, 0, 0,      0x0003, 0,
                                         0x0004, 0x0400, 0,      0,      0, 0x0070, 0x0400, 0 };

static void take_modrm(struct cursor *cursor, struct x86_code *code)
{
    uint8_t modrm = take(cursor), sib;
    unsigned mode = modrm >> 6;

    code->has_modrm = true;
    code->extension = modrm >> 3 & 7;
    code->reg = (uint8_t)(code->extension | (code->rex & X86_REX_R ? 8 : 0));
    code->rm = (uint8_t)((modrm & 7) | (code->rex & X86_REX_B ? 8 : 0));
    code->is_memory = mode != 3;
    if (!code->is_memory)
        return;
    if ((modrm & 7) == 4) {
        sib = take(cursor);
        code->rm = (uint8_t)((sib & 7) | (code->rex & X86_REX_B ? 8 : 0));
        code->has_index = (sib >> 3 & 7) != 4 || code->rex & X86_REX_X;
        if (mode == 0 && (sib & 7) == 5) {
            code->has_no_base = true;
            mode = 2;
        }
    } else if (mode == 0 && (modrm & 7) == 5) {
        code->has_no_base = true;
        mode = 2;
    }
    code->displacement = take_number(cursor, mode == 1 ? 1 : mode == 2 ? 4 : 0);
}

/* Bytes of the immediate operand of an opcode of map 0.  */
static unsigned immediate_size(const struct x86_code *code)
{
    static const uint16_t byte[16] = { 0x1010, 0x1010, 0x1010, 0x1010, 0, 0,      0x0c00, 0xffff,
                                       0x0009, 0,      0x0100, 0x00ff, 0, 0x0000, 0x08ff, 0 };
    static const uint16_t full[16] = { 0x2020, 0x2020, 0x2020, 0x2020, 0, 0, 0x0300, 0,
                                       0x0002, 0,      0x0200, 0,      0, 0, 0,      0 };
    unsigned size = code->is_16_bit ? 2 : 4;

    if (has_bit(byte, code->opcode))
        return 1;
    if (has_bit(full, code->opcode))
        return size;
    switch (code->opcode) {
    case 0xa0:
    case 0xa1:
    case 0xa2:
    case 0xa3:
        return code->is_short_address ? 4 : 8;
    case 0xc0:
    case 0xc1:
    case 0xc6:
    case 0xcd:
        return 1;
    case 0xc2:
    case 0xca:
        return 2;
    case 0xc7:
        return size;
    case 0xc8:
        return 3;
    case 0xe8:
    case 0xe9:
        return 4;
    case 0xf6:
        return code->extension < 2;
    case 0xf7:
        return code->extension < 2 ? size : 0;
    default:
        if (code->opcode >= 0xb8 && code->opcode <= 0xbf)
            return code->rex & X86_REX_W ? 8 : size;
        return 0;
    }
}

static unsigned immediate_size_of_maps(const struct x86_code *code)
{
    static const uint16_t byte[16] = {
        [0] = 0x8000, [7] = 0x000f, [10] = 0x1010, [11] = 0x0400, [12] = 0x0074
    };

    if (code->map == 1)
        return (code->opcode & 0xf0) == 0x80 ? 4 : has_bit(byte, code->opcode);
    return code->map == 3;
}

bool x86_code_read(const uint8_t *bytes, size_t size, struct x86_code *out)
{
    struct cursor cursor = { .bytes = bytes, .size = size < X86_CODE_MOST ? size : X86_CODE_MOST };

    *out = (struct x86_code){ .map = 0 };
    take_legacy_prefixes(&cursor, out);
    take_opcode(&cursor, out);
    if (out->map == 0 ? out->is_vector || has_bit(is_invalid, out->opcode) : out->map > 7)
        return false;
    if (out->map > 1 || (out->is_vector && out->opcode != 0x77) ||
        (!out->is_vector && has_bit(has_modrm[out->map], out->opcode)))
        take_modrm(&cursor, out);
    out->immediate = take_number(&cursor,
                                 out->map == 0 ? immediate_size(out) : immediate_size_of_maps(out));
    out->length = (uint8_t)cursor.at;
    return !cursor.is_short;
}

/* ---- Results ---- */

static uint16_t bit(unsigned number)
{
    return (uint16_t)(1U << number);
}

/* Without a REX prefix, 4 to 7 are the second bytes of 0 to 3.  */
static uint16_t of_size(const struct x86_code *code, unsigned number, bool is_byte)
{
    return bit(is_byte && !code->has_rex ? number & 3 : number);
}

static uint16_t changed_rm(const struct x86_code *code, bool is_byte)
{
    return code->is_memory ? 0 : of_size(code, code->rm, is_byte);
}

static uint16_t changed_of_map_0(const struct x86_code *code)
{
    uint8_t opcode = code->opcode, numbered = (uint8_t)((opcode & 7) | (code->rex & 1 ? 8 : 0));
    bool is_byte = !(opcode & 1);

    if (opcode < 0x40) /* add, or, adc, sbb, and, sub, xor; cmp changes none */
        return opcode >= 0x38 || (opcode & 7) > 3 ? 0
               : opcode & 2                       ? of_size(code, code->reg, is_byte)
                                                  : changed_rm(code, is_byte);
    if (opcode >= 0x90 && opcode <= 0x97)
        return bit(numbered);
    if (opcode >= 0xb0 && opcode <= 0xbf)
        return of_size(code, numbered, opcode < 0xb8);
    switch (opcode) {
    case 0x63:
    case 0x69:
    case 0x6b:
    case 0x8b:
    case 0x8d:
        return bit(code->reg);
    case 0x8a:
        return of_size(code, code->reg, true);
    case 0x86:
    case 0x87:
        return (uint16_t)(of_size(code, code->reg, is_byte) | changed_rm(code, is_byte));
    case 0x80:
    case 0x81:
    case 0x83:
        return code->extension == 7 ? 0 : changed_rm(code, opcode == 0x80);
    case 0xf6:
    case 0xf7: /* not and neg; test changes none, the others rax and rdx */
        return code->extension == 2 || code->extension == 3 ? changed_rm(code, is_byte) : 0;
    case 0xfe:
    case 0xff: /* inc and dec */
        return code->extension < 2 ? changed_rm(code, is_byte) : 0;
    case 0x88:
    case 0x89:
    case 0x8c:
    case 0x8f:
    case 0xc0:
    case 0xc1:
    case 0xc6:
    case 0xc7:
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3:
        return changed_rm(code, is_byte && opcode != 0x8c);
    default:
        return 0;
    }
}

static uint16_t changed_of_map_1(const struct x86_code *code)
{
    /* lar, lsl; cvt; cmov; movmsk; imul, lss, lfs, lgs, movzx, movsx, bsf, bsr, popcnt; xadd,
     * pextrw; pmovmskb */
    static const uint16_t reg[16] = { [0] = 0x000c,  [2] = 0x3000,  [4] = 0xffff,  [5] = 0x0001,
                                      [10] = 0x8000, [11] = 0xf1f4, [12] = 0x0023, [13] = 0x0080 };
    /* mov from control registers; movd; set; bts, shld, shrd; cmpxchg, btr, bt, btc; xadd,
     * rdrand */
    static const uint16_t rm[16] = {
        [2] = 0x0003, [7] = 0x4000, [9] = 0xffff, [10] = 0x3830, [11] = 0x0c0b, [12] = 0x0083
    };
    uint8_t opcode = code->opcode;
    bool is_byte = (opcode & 0xf0) == 0x90 || opcode == 0xb0 || opcode == 0xc0;
    uint16_t changed = 0;

    if (opcode == 0xa2) /* cpuid */
        return bit(3);
    if (!code->is_vector && opcode >= 0xc8 && opcode <= 0xcf)
        return bit((opcode & 7U) | (code->rex & 1 ? 8 : 0));
    if (code->is_vector && ((opcode & 0xf0) == 0x40 || (opcode & 0xf0) == 0x90 || opcode == 0xc2))
        return 0; /* masks, but for kmov to a register */
    if (has_bit(reg, opcode))
        changed |= of_size(code, code->reg, opcode == 0xc0);
    if (has_bit(rm, opcode) && !(opcode == 0x7e && code->is_repeated))
        changed |= changed_rm(code, is_byte);
    return changed;
}

uint16_t x86_code_changed(const struct x86_code *code)
{
    uint8_t opcode = code->opcode;

    switch (code->map) {
    case 0:
        return changed_of_map_0(code);
    case 1:
        if (code->is_vector && opcode == 0x93)
            return bit(code->reg);
        return changed_of_map_1(code);
    case 2: /* movbe, crc32, adcx; bmi: andn, bzhi, pdep, mulx, shlx; blsr */
        if (code->is_vector && opcode == 0xf3)
            return bit(code->second_source);
        if (opcode < 0xf0)
            return 0;
        return (uint16_t)(bit(code->reg) | (code->is_vector ? bit(code->second_source) : 0));
    case 3: /* pextr; rorx */
        if (opcode >= 0x14 && opcode <= 0x17)
            return changed_rm(code, false);
        return opcode == 0xf0 ? bit(code->reg) : 0;
    default:
        return 0;
    }
}

bool x86_code_ends_in_call(const uint8_t bytes[X86_CALL_MOST])
{
    struct x86_code code;

    for (size_t size = 2; size <= X86_CALL_MOST; size++)
        if (x86_code_read(bytes + X86_CALL_MOST - size, size, &code) && code.length == size &&
            code.map == 0 && !code.is_vector &&
            (code.opcode == 0xe8 || (code.opcode == 0xff && code.extension == 2)))
            return true;
    return false;
}
