#include "sampler-capture/cpu/chain.h"

#include <linux/perf_event.h>
#include <string.h>

/* The frame pointer, and what lies where it leads, in words: psABI of each machine.  The others are
 * places among the registers of a sample, where the frame pointer has its number, too.  */
#if defined __x86_64__
enum { FRAME_POINTER = 6, STACK_POINTER = 7, COUNTER = 8, POINTER_WORD = 0, RETURN_WORD = 1 };
#elif defined __aarch64__
enum { FRAME_POINTER = 29, STACK_POINTER = 31, COUNTER = 32, POINTER_WORD = 0, RETURN_WORD = 1 };
#else
enum { FRAME_POINTER = 8, STACK_POINTER = 2, COUNTER = 0, POINTER_WORD = -2, RETURN_WORD = -1 };
#endif

#define SAVED_POINTER (8 * POINTER_WORD)
#define SAVED_RETURN  (8 * RETURN_WORD)

void chain_user_part(const struct perf_record *sample, size_t *start, size_t *limit)
{
    size_t count = sample->value.sample.count;

    *start = *limit = count;
    for (size_t i = 0; i < count; i++) {
        uint64_t word = chain_word(sample, i);

        if (word == PERF_CONTEXT_USER) {
            *start = i + 1;
        } else if (word >= PERF_CONTEXT_MAX && *start <= i) {
            *limit = i;
            return;
        }
    }
}

uint64_t chain_word(const struct perf_record *sample, size_t i)
{
    uint64_t word;

    memcpy(&word, sample->value.sample.words + 8 * i, sizeof word);
    return word;
}

static bool read_word(const struct unwind_memory *memory, uint64_t address, uint64_t *word)
{
    for (size_t i = 0; i < memory->count; i++) {
        const struct unwind_piece *piece = &memory->pieces[i];
        uint64_t offset = address - piece->address;

        if (offset > piece->size || sizeof *word > piece->size - offset)
            continue;
        memcpy(word, piece->bytes + offset, sizeof *word);
        return true;
    }
    return false;
}

/* ---- The walk, if the kernel was not asked for it ---- */

static uint64_t register_of(const struct perf_record *sample, size_t place)
{
    uint64_t word;

    memcpy(&word, sample->value.sample.registers + 8 * place, sizeof word);
    return word;
}

/* A word of the program, which has 4 bytes in 32-bit programs.  */
static bool read_stack(const struct perf_record *sample, uint64_t address, size_t size,
                       uint64_t *out)
{
    uint64_t offset = address - register_of(sample, STACK_POINTER);

    if (offset > sample->value.sample.stack_size || size > sample->value.sample.stack_size - offset)
        return false;
    *out = 0;
    if (size == sizeof(uint32_t)) {
        uint32_t word;

        memcpy(&word, sample->value.sample.stack + offset, sizeof word);
        *out = word;
    } else {
        memcpy(out, sample->value.sample.stack + offset, sizeof *out);
    }
    return true;
}

static size_t put(uint8_t *words, size_t count, uint64_t word)
{
    memcpy(words + 8 * count, &word, sizeof word);
    return count + 1;
}

size_t chain_from_copy(const struct perf_record *sample, uint8_t *words, size_t max)
{
    size_t size = sample->value.sample.abi == PERF_SAMPLE_REGS_ABI_32 ? 4 : 8, count = 0;
    uint64_t frame, next, back;

    if (sample->value.sample.abi == PERF_SAMPLE_REGS_ABI_NONE || max < 2)
        return 0;
    count = put(words, count, PERF_CONTEXT_USER);
    count = put(words, count, register_of(sample, COUNTER));
    frame = register_of(sample, FRAME_POINTER);
    while (count < max &&
           read_stack(sample, frame + (uint64_t)((int64_t)size * POINTER_WORD), size, &next) &&
           read_stack(sample, frame + (uint64_t)((int64_t)size * RETURN_WORD), size, &back)) {
        count = put(words, count, back);
        frame = next;
    }
    return count;
}

/* ---- Alignment ---- */

/* The walk is taken once more, as far as the copy goes: an entry whose return address lies between
 * the stack pointers of the last frame but one and the last is the last.  */
size_t chain_align(const struct perf_record *sample, const struct unwind_registers *registers,
                   const struct unwind_memory *memory, const struct unwind_stack *stack)
{
    uint64_t frame = registers->values[FRAME_POINTER], next, back, low, high;
    size_t start, limit, last = stack->count - 1;

    chain_user_part(sample, &start, &limit);
    if (start >= limit || chain_word(sample, start) != stack->addresses[0])
        return CHAIN_NONE;
    if (last == 0)
        return start;
    low = stack->pointers[last - 1];
    high = stack->pointers[last];
    for (size_t i = start + 1; i < limit; i++, frame = next) {
        uint64_t place = frame + (uint64_t)(int64_t)SAVED_RETURN;

        if (place >= high || !read_word(memory, frame + (uint64_t)(int64_t)SAVED_POINTER, &next) ||
            !read_word(memory, place, &back))
            return CHAIN_NONE;
        if (place >= low)
            return chain_word(sample, i) == stack->addresses[last] ? i : CHAIN_NONE;
        if (next <= frame)
            return CHAIN_NONE;
    }
    return CHAIN_NONE;
}

struct chain_tail *chain_tail_of(struct chain_tails *tails, uint64_t address)
{
    const size_t count = sizeof tails->each / sizeof *tails->each;

    return &tails->each[address * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (count - 1)];
}
