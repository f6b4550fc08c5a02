#include "tests/support/step_digest.h"

static void mix(struct step_digest *digest, uint64_t value)
{
    digest->hash = (digest->hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    digest->hash ^= digest->hash >> 29;
}

static void mix_step(struct step_digest *digest, const struct insn_step *step, uint64_t count)
{
    mix(digest, (uint64_t)step->kind << 40 | (uint64_t)step->branch << 32 |
                    (uint64_t)step->length << 24 | (uint64_t)step->reason << 16 |
                    (uint64_t)step->has_ticks << 8 | step->calls_next);
    mix(digest, count);
    mix(digest, step->ip);
    mix(digest, step->last_ip);
    mix(digest, step->has_ticks ? step->ticks : 0);
    digest->count++;
}

static void close_block(struct step_digest *digest)
{
    if (digest->open_count > 0)
        mix_step(digest, &digest->open, digest->open_count);
    digest->open_count = 0;
}

static void add_block(struct step_digest *digest, const struct insn_step *step)
{
    uint64_t ip = digest->open_count > 0 ? digest->open.ip : step->ip;

    digest->open_count += step->count;
    digest->open = *step;
    digest->open.ip = ip;
    if (step->branch != INSN_CLASS_OTHER)
        close_block(digest);
}

void step_digest_add(struct step_digest *digest, const struct insn_step *steps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (steps[i].kind == INSN_STEP_BLOCK) {
            add_block(digest, &steps[i]);
        } else {
            close_block(digest);
            mix_step(digest, &steps[i], 0);
        }
    }
}

bool step_digest_is_equal(const struct step_digest *a, const struct step_digest *b)
{
    struct step_digest left = *a, right = *b;

    close_block(&left);
    close_block(&right);
    return left.count == right.count && left.hash == right.hash;
}
