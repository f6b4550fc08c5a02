/* opcode.c - which instructions leave a trace, by their bytes (Intel's manual, volume 2).
 *
 * Instructions that are no branches need no length: a stepper sees where the next one is, and
 * blocks end in branches.  */
#include "libinsn/insn_internal.h"

struct cursor {
    const uint8_t *bytes;
    size_t size;
    size_t at;
};

/* 0x90, nop, where nothing is: it is no branch.  */
static uint8_t peek(const struct cursor *cursor, size_t ahead)
{
    return ahead < cursor->size - cursor->at ? cursor->bytes[cursor->at + ahead] : 0x90;
}

/* True if there was a repeat prefix.  The last REX prefix changes no branch.  */
static bool skip_prefixes(struct cursor *cursor)
{
    bool repeat = false;

    for (; cursor->at < cursor->size; cursor->at++) {
        switch (cursor->bytes[cursor->at]) {
        case 0xf2:
        case 0xf3:
            repeat = true;
            break;
        case 0x66:
        case 0x67:
        case 0x2e:
        case 0x36:
        case 0x3e:
        case 0x26:
        case 0x64:
        case 0x65:
            break;
        default:
            if ((cursor->bytes[cursor->at] & 0xf0) == 0x40)
                cursor->at++;
            return repeat;
        }
    }
    return repeat;
}

/* Bytes of ModRM, SIB and displacement.  */
static size_t modrm_size(uint8_t modrm, uint8_t sib)
{
    unsigned mode = modrm >> 6, rm = modrm & 7;
    size_t size = 1;

    if (mode == 3)
        return size;
    if (rm == 4) {
        size++;
        if (mode == 0 && (sib & 7) == 5)
            size += 4;
    } else if (mode == 0 && rm == 5) {
        size += 4;
    }
    if (mode == 1)
        size += 1;
    else if (mode == 2)
        size += 4;
    return size;
}

static void set(struct insn_opcode *out, const struct cursor *cursor, enum insn_class branch,
                size_t length)
{
    if (length > cursor->size - cursor->at || cursor->at + length > INSN_MAX_LENGTH)
        return;
    out->branch = branch;
    out->length = (uint8_t)(cursor->at + length);
}

/* Opcode ff: calls and jumps through memory or a register.  */
static void classify_group5(struct insn_opcode *out, const struct cursor *cursor)
{
    static const enum insn_class classes[8] = {
        [2] = INSN_CLASS_CALL_INDIRECT,
        [3] = INSN_CLASS_FAR,
        [4] = INSN_CLASS_JUMP_INDIRECT,
        [5] = INSN_CLASS_FAR,
    };
    uint8_t modrm = peek(cursor, 1);
    enum insn_class branch = classes[modrm >> 3 & 7];

    if (branch != INSN_CLASS_OTHER)
        set(out, cursor, branch, 1 + modrm_size(modrm, peek(cursor, 2)));
}

/* Two-byte opcodes, 0f xx.  */
static void classify_0f(struct insn_opcode *out, const struct cursor *cursor)
{
    uint8_t second = peek(cursor, 1);

    if ((second & 0xf0) == 0x80)
        set(out, cursor, INSN_CLASS_CONDITIONAL, 6);
    else if (second == 0x05 || second == 0x07 || second == 0x34 || second == 0x35)
        set(out, cursor, INSN_CLASS_FAR, 2); /* syscall, sysret, sysenter, sysexit */
}

static bool is_string(uint8_t opcode)
{
    return (opcode >= 0x6c && opcode <= 0x6f) || (opcode >= 0xa4 && opcode <= 0xa7) ||
           (opcode >= 0xaa && opcode <= 0xaf);
}

static void classify_call(struct insn_opcode *out, const struct cursor *cursor)
{
    set(out, cursor, INSN_CLASS_CALL, 5);
    out->calls_next = out->branch == INSN_CLASS_CALL && !peek(cursor, 1) && !peek(cursor, 2) &&
                      !peek(cursor, 3) && !peek(cursor, 4);
}

void insn_classify(const uint8_t *bytes, size_t size, struct insn_opcode *out)
{
    struct cursor cursor = { .bytes = bytes, .size = size };
    bool repeat = skip_prefixes(&cursor);
    uint8_t opcode = peek(&cursor, 0);

    *out = (struct insn_opcode){ .branch = INSN_CLASS_OTHER,
                                 .repeats = repeat && is_string(opcode) };
    switch (opcode) {
    case 0x0f:
        classify_0f(out, &cursor);
        break;
    case 0xff:
        classify_group5(out, &cursor);
        break;
    case 0xe8:
        classify_call(out, &cursor);
        break;
    case 0xe9:
        set(out, &cursor, INSN_CLASS_JUMP, 5);
        break;
    case 0xeb:
        set(out, &cursor, INSN_CLASS_JUMP, 2);
        break;
    case 0xc2:
        set(out, &cursor, INSN_CLASS_RETURN, 3);
        break;
    case 0xc3:
        set(out, &cursor, INSN_CLASS_RETURN, 1);
        break;
    case 0xca:
        set(out, &cursor, INSN_CLASS_FAR, 3);
        break;
    case 0xcd:
        set(out, &cursor, INSN_CLASS_FAR, 2);
        break;
    case 0xcb:
    case 0xcc:
    case 0xcf:
    case 0xf1:
        set(out, &cursor, INSN_CLASS_FAR, 1);
        break;
    default:
        if ((opcode & 0xf0) == 0x70 || (opcode >= 0xe0 && opcode <= 0xe3))
            set(out, &cursor, INSN_CLASS_CONDITIONAL, 2);
        break;
    }
}
