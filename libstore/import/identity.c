/* Four lanes, each a chain of multiplications and rotations over every fourth word, as XXH64 has
 * it; they are mixed twice with different constants for the two halves of the result.  */
#include "libstore/import/identity.h"

#include <string.h>

#define PRIME_1 UINT64_C(0x9e3779b185ebca87)
#define PRIME_2 UINT64_C(0xc2b2ae3d27d4eb4f)
#define PRIME_3 UINT64_C(0x165667b19e3779f9)
#define PRIME_4 UINT64_C(0x85ebca77c2b2ae63)

static uint64_t rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static uint64_t mix(uint64_t lane, uint64_t word)
{
    return rotate(lane + word * PRIME_2, 31) * PRIME_1;
}

/* Little-endian, whatever the machine is.  */
static uint64_t load(const unsigned char *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static void stripes(struct store_identity *identity, const unsigned char *bytes, size_t count)
{
    uint64_t a = identity->lanes[0], b = identity->lanes[1];
    uint64_t c = identity->lanes[2], d = identity->lanes[3];

    for (; count > 0; count--, bytes += 32) {
        a = mix(a, load(bytes));
        b = mix(b, load(bytes + 8));
        c = mix(c, load(bytes + 16));
        d = mix(d, load(bytes + 24));
    }
    identity->lanes[0] = a;
    identity->lanes[1] = b;
    identity->lanes[2] = c;
    identity->lanes[3] = d;
}

void store_identity_start(struct store_identity *identity)
{
    *identity = (struct store_identity){
        .lanes = { PRIME_1 + PRIME_2, PRIME_2, 0, UINT64_C(0) - PRIME_1 },
    };
}

void store_identity_add(struct store_identity *identity, const void *bytes, size_t length)
{
    const unsigned char *next = bytes;

    identity->length += length;
    if (identity->rest_length > 0) {
        size_t take = sizeof identity->rest - identity->rest_length;

        take = take < length ? take : length;
        if (take > 0)
            memcpy(identity->rest + identity->rest_length, next, take);
        identity->rest_length += take;
        next += take;
        length -= take;
        if (identity->rest_length < sizeof identity->rest)
            return;
        stripes(identity, identity->rest, 1);
        identity->rest_length = 0;
    }
    stripes(identity, next, length / 32);
    next += length / 32 * 32;
    length %= 32;
    if (length > 0)
        memcpy(identity->rest, next, length);
    identity->rest_length = length;
}

void store_identity_skip(struct store_identity *identity, uint64_t length)
{
    unsigned char bytes[sizeof length];

    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(length >> 8 * i);
    store_identity_add(identity, bytes, sizeof bytes);
    identity->length += length - sizeof bytes;
}

static uint64_t avalanche(uint64_t word)
{
    word = (word ^ word >> 33) * PRIME_2;
    word = (word ^ word >> 29) * PRIME_3;
    return word ^ word >> 32;
}

void store_identity_end(struct store_identity *identity, unsigned char out[STORE_IDENTITY_BYTES])
{
    uint64_t halves[2] = { identity->length, identity->length ^ PRIME_4 };

    memset(identity->rest + identity->rest_length, 0,
           sizeof identity->rest - identity->rest_length);
    stripes(identity, identity->rest, 1);
    for (unsigned i = 0; i < 4; i++) {
        halves[0] = mix(halves[0] ^ identity->lanes[i], PRIME_3 + i);
        halves[1] = mix(halves[1] ^ rotate(identity->lanes[3 - i], 17), PRIME_4 + i);
    }
    for (unsigned i = 0; i < STORE_IDENTITY_BYTES; i++)
        out[i] = (unsigned char)(avalanche(halves[i / 8]) >> 8 * (i % 8));
}
