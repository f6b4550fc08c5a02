/* expression.c - values of DWARF expressions as call frame information has them.
 *
 * Jumps are allowed, so what is executed is counted.  */
#include "libunwind/cfi/cfi.h"

#define MAX_VALUES     16
#define MAX_OPERATIONS 1000

struct values {
    uint64_t each[MAX_VALUES];
    unsigned count;
    bool bad; /* too many, too few, or an operation that we do not know */
};

static void push(struct values *values, uint64_t value)
{
    if (values->count == MAX_VALUES)
        values->bad = true;
    else
        values->each[values->count++] = value;
}

static uint64_t pop(struct values *values)
{
    if (values->count == 0) {
        values->bad = true;
        return 0;
    }
    return values->each[--values->count];
}

static void pick(struct values *values, uint64_t depth)
{
    if (depth >= values->count)
        values->bad = true;
    else
        push(values, values->each[values->count - 1 - depth]);
}

/* The last count values turn by one place: the last becomes the first of them.  */
static void turn(struct values *values, unsigned count)
{
    uint64_t last;

    if (values->count < count) {
        values->bad = true;
        return;
    }
    last = values->each[values->count - 1];
    for (unsigned i = 1; i < count; i++)
        values->each[values->count - i] = values->each[values->count - i - 1];
    values->each[values->count - count] = last;
}

static void load(struct values *values, const struct cfi_frame *frame, uint64_t size)
{
    uint64_t word = 0;

    if (size == 0 || size > 8 || !frame->read(frame->context, pop(values), (unsigned)size, &word))
        values->bad = true;
    push(values, word);
}

static void push_register(struct values *values, const struct cfi_frame *frame, uint64_t number,
                          int64_t offset)
{
    if (number >= CFI_COLUMNS || !(frame->known >> number & 1))
        values->bad = true;
    else
        push(values, frame->registers[number] + (uint64_t)offset);
}

/* A constant that follows the operation, of 1, 2, 4 or 8 bytes, unsigned and signed in turn.  */
static uint64_t constant(unsigned code, struct cfi_bytes *bytes)
{
    unsigned size = 1U << ((code - 0x08) / 2), unused = 64 - 8 * size;
    uint64_t value = cfi_take(bytes, size);

    return code & 1 ? (uint64_t)((int64_t)(value << unused) >> unused) : value;
}

/* Division by zero gives zero, and so does the one quotient that does not fit.  */
static uint64_t divide(uint64_t a, uint64_t b)
{
    return b == 0 || (a == (uint64_t)INT64_MIN && b == UINT64_MAX)
               ? 0
               : (uint64_t)((int64_t)a / (int64_t)b);
}

static uint64_t combine(unsigned code, uint64_t a, uint64_t b, bool *bad)
{
    switch (code) {
    case 0x1a: /* and */
        return a & b;
    case 0x1b:
        return divide(a, b);
    case 0x1c: /* minus */
        return a - b;
    case 0x1d: /* mod */
        return b ? a % b : 0;
    case 0x1e: /* mul */
        return a * b;
    case 0x21: /* or */
        return a | b;
    case 0x22: /* plus */
        return a + b;
    case 0x24: /* shl, shr, shra */
        return b < 64 ? a << b : 0;
    case 0x25:
        return b < 64 ? a >> b : 0;
    case 0x26:
        b = b < 64 ? b : 63;
        return a >> 63 ? ~(~a >> b) : a >> b;
    case 0x27: /* xor */
        return a ^ b;
    case 0x29: /* eq, ge, gt, le, lt, ne: of signed numbers */
        return a == b;
    case 0x2a:
        return (int64_t)a >= (int64_t)b;
    case 0x2b:
        return (int64_t)a > (int64_t)b;
    case 0x2c:
        return (int64_t)a <= (int64_t)b;
    case 0x2d:
        return (int64_t)a < (int64_t)b;
    case 0x2e:
        return a != b;
    default:
        *bad = true;
        return 0;
    }
}

static void jump(struct cfi_bytes *bytes, const uint8_t *start, bool taken)
{
    int64_t distance = (int16_t)cfi_take(bytes, 2);

    if (!taken || bytes->bad)
        return;
    if (distance < start - bytes->next || distance > bytes->end - bytes->next)
        bytes->bad = true;
    else
        bytes->next += distance;
}

/* Operations on the stack of values alone.  False: it is another one.  */
static bool operate_on_stack(struct values *values, unsigned code)
{
    switch (code) {
    case 0x12: /* dup */
        pick(values, 0);
        return true;
    case 0x13: /* drop */
        (void)pop(values);
        return true;
    case 0x14: /* over */
        pick(values, 1);
        return true;
    case 0x16: /* swap */
        turn(values, 2);
        return true;
    case 0x17: /* rot */
        turn(values, 3);
        return true;
    case 0x1f: /* neg */
        push(values, -pop(values));
        return true;
    case 0x20: /* not */
        push(values, ~pop(values));
        return true;
    case 0x96: /* nop */
        return true;
    default:
        return false;
    }
}

static void operate_by_range(struct values *values, unsigned code, struct cfi_bytes *bytes,
                             const struct cfi_frame *frame)
{
    if (code >= 0x08 && code <= 0x0f) {
        push(values, constant(code, bytes));
    } else if (code >= 0x30 && code <= 0x4f) { /* lit0 and so on */
        push(values, code - 0x30);
    } else if (code >= 0x70 && code <= 0x8f) { /* breg0 and so on */
        push_register(values, frame, code - 0x70, cfi_take_sleb(bytes));
    } else if (!operate_on_stack(values, code)) {
        uint64_t value = pop(values);

        push(values, combine(code, pop(values), value, &values->bad));
    }
}

static void operate(struct values *values, struct cfi_bytes *bytes, const uint8_t *start,
                    const struct cfi_frame *frame)
{
    unsigned code = (unsigned)cfi_take(bytes, 1);
    uint64_t value;

    switch (code) {
    case 0x06: /* deref */
        load(values, frame, 8);
        break;
    case 0x10: /* constu */
        push(values, cfi_take_uleb(bytes));
        break;
    case 0x11: /* consts */
        push(values, (uint64_t)cfi_take_sleb(bytes));
        break;
    case 0x15: /* pick */
        pick(values, cfi_take(bytes, 1));
        break;
    case 0x23: /* plus_uconst */
        push(values, pop(values) + cfi_take_uleb(bytes));
        break;
    case 0x28: /* bra */
        jump(bytes, start, pop(values) != 0);
        break;
    case 0x2f: /* skip */
        jump(bytes, start, true);
        break;
    case 0x92: /* bregx */
        value = cfi_take_uleb(bytes);
        push_register(values, frame, value, cfi_take_sleb(bytes));
        break;
    case 0x94: /* deref_size */
        load(values, frame, cfi_take(bytes, 1));
        break;
    default:
        operate_by_range(values, code, bytes, frame);
        break;
    }
}

bool cfi_evaluate(const uint8_t *expression, const struct cfi_frame *frame, const uint64_t *first,
                  uint64_t *result)
{
    struct cfi_bytes bytes = { .next = expression, .end = expression + 10 }; /* of a LEB128 */
    struct values values = { .count = 0 };
    uint64_t size = cfi_take_uleb(&bytes);
    const uint8_t *start = bytes.next;
    unsigned left = MAX_OPERATIONS;

    bytes.end = bytes.next + size; /* it lies in its section: whoever read the row has looked */
    if (first)
        push(&values, *first);
    while (bytes.next < bytes.end && !bytes.bad && !values.bad && left-- > 0)
        operate(&values, &bytes, start, frame);
    *result = pop(&values);
    return !bytes.bad && !values.bad && bytes.next == bytes.end;
}
