#include "sampler-capture/cpu/chain.h"

#include <linux/perf_event.h>
#include <string.h>

/* The frame pointer, and what lies where it leads: psABI of each machine.  */
#if defined __x86_64__
enum { FRAME_POINTER = 6, SAVED_POINTER = 0, SAVED_RETURN = 8 };
#elif defined __aarch64__
enum { FRAME_POINTER = 29, SAVED_POINTER = 0, SAVED_RETURN = 8 };
#else
enum { FRAME_POINTER = 8, SAVED_POINTER = -16, SAVED_RETURN = -8 };
#endif

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
