/* Packets of Intel PT over known code: libinsn.
 *
 * - Cut anywhere and decoded in pieces of any size, no more is in gaps than was fed.
 * - Steps are sound: blocks have instructions, gaps lie inside the stream and do not overlap.
 * - Stacks made from them are charged no more instructions than were decoded; spans begin before
 *   they end, and the stacks of charges are those that were asked for.
 * - libipt's block decoder alone finds the same steps, with the same times.
 *
 * The first two bytes choose where the input is cut; a PSB packet is put before each cut, since
 * nobody finds its 16 bytes by chance.  */
#include <stdlib.h>
#include <string.h>

#include <fxt/insn.h>
#include "tests/fuzz/support.h"
#include "tests/support/step_digest.h"

static const uint8_t psb[] = { 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
                               2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82 };

/* Every kind of branch, at 0x1000: a call, jcc, jmp, indirect ones, returns, a system call.  */
static const uint8_t code[] = {
    0xe8, 0x0b, 0,    0,    0, 0x74, 0x02, 0x90, 0x90, 0xff, 0xd0, 0xc3, 0, 0, 0, 0,    0x90,
    0xc3, 0x0f, 0x05, 0xeb, 0, 0,    0xff, 0xe0, 0xeb, 0xfe, 0xcc, 0xe8, 0, 0, 0, 0x90, 0xc3,
};

struct seen {
    uint64_t fed;
    uint64_t gap_end;
    struct insn_stacks *stacks;
    uint32_t stack_count;
    uint64_t charged;
    struct step_digest digest;
};

static void check(int good)
{
    if (!good)
        abort();
}

/* Three functions, of which two are parts of one, and code of none.  */
static void tell_function(void *context, uint64_t address, struct insn_function *out)
{
    (void)context;
    if (address < 0x1000 || address >= 0x1020)
        return;
    out->start = address & ~UINT64_C(7);
    out->end = out->start + 8;
    out->id = 1 + (address - 0x1000) / 8 % 3;
}

static enum insn_status take_stack(void *context, uint32_t callers, uint64_t address, uint32_t *out)
{
    struct seen *seen = context;

    (void)address;
    check(callers <= seen->stack_count);
    *out = ++seen->stack_count;
    return INSN_OK;
}

static enum insn_status take_charge(void *context, uint32_t stack, const struct insn_charge *charge)
{
    struct seen *seen = context;

    check(stack >= 1 && stack <= seen->stack_count);
    seen->charged += charge->instructions;
    return INSN_OK;
}

static enum insn_status take_span(void *context, const struct insn_span *span)
{
    (void)context;
    check(span->begin_ticks <= span->end_ticks);
    check(span->order > 0 && span->order < UINT64_C(1) << 44);
    return INSN_OK;
}

static enum insn_status take(void *context, const struct insn_step *steps, size_t count)
{
    struct seen *seen = context;

    step_digest_add(&seen->digest, steps, count);
    for (size_t i = 0; i < count; i++) {
        const struct insn_step *step = &steps[i];

        if (step->kind == INSN_STEP_BLOCK && step->count == 0)
            abort();
        if (step->kind != INSN_STEP_GAP)
            continue;
        if (step->ip < seen->gap_end || step->last_ip > seen->fed ||
            step->ip > seen->fed - step->last_ip)
            abort();
        seen->gap_end = step->ip + step->last_ip;
    }
    check(insn_stacks_take(seen->stacks, steps, count) == INSN_OK);
    return INSN_OK;
}

static enum insn_status take_plain(void *context, const struct insn_step *steps, size_t count)
{
    step_digest_add(context, steps, count);
    return INSN_OK;
}

/* Each part of the input, after a PSB packet.  Returns the bytes fed.  */
static uint64_t feed(struct insn_stream *stream, const uint8_t *data, size_t size)
{
    size_t part = (size_t)data[1] + 1;
    uint64_t fed = 0;

    for (size_t at = 2; at < size; at += part) {
        size_t length = part < size - at ? part : size - at;

        fed += sizeof psb + length;
        check(insn_stream_feed(stream, psb, sizeof psb, NULL) == INSN_OK);
        check(insn_stream_feed(stream, data + at, length, NULL) == INSN_OK);
    }
    return fed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct insn_stream_options options = { .size = sizeof options, .threads = 1 };
    struct seen seen = { .fed = 0 };
    const struct insn_receiver receiver = { .context = &seen,
                                            .function = tell_function,
                                            .stack = take_stack,
                                            .charge = take_charge,
                                            .span = take_span };
    struct step_digest plain_digest = { .count = 0 };
    const struct insn_totals *totals;
    struct insn_stream *stream, *plain;
    struct insn_space *space;
    struct insn_code *pieces;
    uint64_t lost = 0;
    uint32_t section;

    if (size < 2)
        return 0;
    options.piece_bytes = 64 + data[0];
    check(insn_code_open(&pieces, NULL) == INSN_OK);
    check(insn_code_add(pieces, code, sizeof code, &section, NULL) == INSN_OK);
    check(insn_space_open(pieces, &space, NULL) == INSN_OK);
    check(insn_space_map(space, 0x1000, section, 0, sizeof code, NULL) == INSN_OK);
    insn_encoder_config(&options.config);
    check(insn_stacks_open(&receiver, &seen.stacks, NULL) == INSN_OK);
    check(insn_stream_open(&options, space, take, &seen, &stream, NULL) == INSN_OK);
    options.is_plain = true;
    check(insn_stream_open(&options, space, take_plain, &plain_digest, &plain, NULL) == INSN_OK);
    for (size_t at = 2; at < size; at += (size_t)data[1] + 1)
        seen.fed += sizeof psb +
                    (size - at < (size_t)data[1] + 1 ? size - at : (size_t)data[1] + 1);
    check(feed(stream, data, size) == seen.fed);
    check(insn_stream_finish(stream, NULL) == INSN_OK);
    check(feed(plain, data, size) == seen.fed);
    check(insn_stream_finish(plain, NULL) == INSN_OK);
    check(step_digest_is_equal(&seen.digest, &plain_digest));
    totals = insn_stream_totals(stream);
    for (size_t i = 0; i < INSN_GAP_REASONS; i++)
        lost += totals->gap_bytes[i];
    check(totals->bytes == seen.fed && lost <= seen.fed);
    check(insn_stacks_finish(seen.stacks) == INSN_OK);
    check(seen.charged <= totals->instructions);
    insn_stacks_close(seen.stacks);
    insn_stream_close(stream);
    insn_stream_close(plain);
    insn_space_close(space);
    insn_code_close(pieces);
    return 0;
}
