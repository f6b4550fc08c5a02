/* cache_pack.c - the digest that finds damage in cache files. */
#include "libsymbolize/cache_pack.h"

/* Odd numbers without a pattern.  */
static const uint64_t MIX_1 = UINT64_C(0x9e3779b97f4a7c15);
static const uint64_t MIX_2 = UINT64_C(0xc2b2ae3d27d4eb4f);

static uint64_t rotate(uint64_t value, unsigned bits)
{
    return value << bits | value >> (64 - bits);
}

/* For a given state each word leads to another one, and each state with a given word: a single
 * changed word never goes unnoticed in its lane.  */
static uint64_t mix(uint64_t state, uint64_t word)
{
    return rotate(state ^ word * MIX_2, 31) * MIX_1;
}

/* Four lanes, because a multiplication takes longer than the next one waits.  */
static const uint8_t *digest_lanes(const uint8_t *at, size_t *left, uint64_t *state)
{
    uint64_t lanes[4] = { *state, *state + MIX_1, *state ^ MIX_2, ~*state };

    for (; *left >= 32; at += 32, *left -= 32)
        for (unsigned i = 0; i < 4; i++)
            lanes[i] = mix(lanes[i], load_u64(at + 8 * (size_t)i));
    for (unsigned i = 0; i < 4; i++)
        *state = mix(*state, lanes[i]);
    return at;
}

uint64_t sym_cache_digest(const void *data, size_t size, uint64_t seed)
{
    const uint8_t *at = data;
    size_t left = size;
    uint64_t state = mix(seed, size);

    if (left >= 32)
        at = digest_lanes(at, &left, &state);
    for (; left >= 8; at += 8, left -= 8)
        state = mix(state, load_u64(at));
    for (; left; at++, left--)
        state = mix(state, *at + UINT64_C(1));
    state ^= state >> 32;
    state *= MIX_2;
    return state ^ state >> 29;
}

/* A new release may answer differently without a word in the format.  */
uint64_t sym_cache_release(void)
{
    static const char version[] = FXT_TOOLCHAIN_VERSION;

    return sym_cache_digest(version, sizeof version, 0);
}
