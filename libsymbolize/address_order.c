/* address_order.c - sorting addresses: by as many bits at a time as make a table of places that
 * fits into the processor's nearest cache, each pass keeping the order of the one before.  */
#include "libsymbolize/address_order.h"
#include <stdlib.h>
#include <string.h>

enum { DIGIT_BITS_MAX = 11 };

/* A number of bits from each address, for one pass.  */
struct digit {
    unsigned shift, bits;
    const uint64_t *vaddrs; /* NULL: the keys hold what is sorted by */
};

static inline size_t digit_of(const struct digit *digit, uint64_t key)
{
    uint64_t value = digit->vaddrs ? digit->vaddrs[key] : key;

    return (size_t)(value >> digit->shift & ((UINT64_C(1) << digit->bits) - 1));
}

/* Moves keys to sorted; false: all digits are the same, there is nothing to do.  */
static bool sort_by(const struct digit *digit, const uint64_t *keys, uint64_t *sorted, size_t count)
{
    size_t places[1 << DIGIT_BITS_MAX], place = 0, values = (size_t)1 << digit->bits;

    memset(places, 0, values * sizeof *places);
    for (size_t i = 0; i < count; i++)
        places[digit_of(digit, keys[i])]++;
    if (places[digit_of(digit, keys[0])] == count)
        return false;
    for (size_t value = 0; value < values; value++) {
        size_t here = places[value];
        places[value] = place;
        place += here;
    }
    for (size_t i = 0; i < count; i++)
        sorted[places[digit_of(digit, keys[i])]++] = keys[i];
    return true;
}

/* By bits [shift, limit) of what digits are taken from; other has room for as many.  Returns where
 * the result is.  */
static uint64_t *sort_keys(uint64_t *keys, uint64_t *other, size_t count, unsigned shift,
                           unsigned limit, const uint64_t *vaddrs)
{
    unsigned passes = (limit - shift + DIGIT_BITS_MAX - 1) / DIGIT_BITS_MAX;

    for (; passes; passes--) {
        struct digit digit = { .shift = shift, .vaddrs = vaddrs };

        digit.bits = (limit - shift + passes - 1) / passes; /* as even as can be */
        shift += digit.bits;
        if (!sort_by(&digit, keys, other, count))
            continue;
        uint64_t *swap = keys;
        keys = other;
        other = swap;
    }
    return keys;
}

/* Bits that hold every number up to most.  */
static unsigned bits_for(uint64_t most)
{
    return most ? 64 - (unsigned)__builtin_clzll(most) : 0;
}

static void *scratch_room(struct sym_scratch *scratch, size_t size)
{
    if (size <= scratch->size)
        return scratch->bytes;
    sym_scratch_release(scratch);
    scratch->bytes = malloc(size);
    scratch->size = scratch->bytes ? size : 0;
    return scratch->bytes;
}

void sym_scratch_release(struct sym_scratch *scratch)
{
    free(scratch->bytes);
    *scratch = (struct sym_scratch){ .bytes = NULL };
}

enum sym_status sym_order_init(struct sym_order *order, const uint64_t *vaddrs, size_t count,
                               struct sym_scratch *scratch)
{
    uint64_t lowest = UINT64_MAX, highest = 0;
    bool ascending = true;

    *order = (struct sym_order){ .vaddrs = vaddrs, .count = count };
    for (size_t i = 0; i < count; i++) {
        ascending &= i == 0 || vaddrs[i - 1] <= vaddrs[i];
        lowest = vaddrs[i] < lowest ? vaddrs[i] : lowest;
        highest = vaddrs[i] > highest ? vaddrs[i] : highest;
    }
    if (ascending)
        return SYM_OK;
    if (count > SIZE_MAX / (2 * sizeof *order->keys))
        return SYM_NO_MEMORY;
    uint64_t *keys = scratch_room(scratch, 2 * count * sizeof *keys);
    if (!keys)
        return SYM_NO_MEMORY;
    unsigned index_bits = bits_for(count - 1), distance_bits = bits_for(highest - lowest);
    order->packed = index_bits + distance_bits <= 64;
    order->index_bits = index_bits;
    order->lowest = lowest;
    for (size_t i = 0; i < count; i++)
        keys[i] = order->packed ? (vaddrs[i] - lowest) << index_bits | i : i;
    if (order->packed)
        order->keys = sort_keys(keys, keys + count, count, index_bits, index_bits + distance_bits,
                                NULL);
    else
        order->keys = sort_keys(keys, keys + count, count, 0, 64, vaddrs);
    return SYM_OK;
}
