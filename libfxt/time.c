/* Ticks to nanoseconds (section 1.6).  */
#include "libfxt/fxt_internal.h"

#define NS_PER_SECOND UINT64_C(1000000000)

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* floor(ticks * 10^9 / rate) and whether nothing was cut off; false when it does not fit 64
 * bits.  */
static bool convert(uint64_t ticks, uint64_t rate, uint64_t *ns, bool *exact)
{
    unsigned __int128 product, quotient;

    if (rate == NS_PER_SECOND) {
        *ns = ticks;
        *exact = true;
        return true;
    }
    product = (unsigned __int128)ticks * NS_PER_SECOND;
    quotient = product / rate;
    if (quotient > UINT64_MAX)
        return false;
    *ns = (uint64_t)quotient;
    *exact = quotient * rate == product;
    return true;
}

bool fxt_ticks_to_ns(uint64_t ticks, uint64_t ticks_per_second, int64_t *ns)
{
    uint64_t value;
    bool exact;

    if (ticks_per_second == 0 || !convert(ticks, ticks_per_second, &value, &exact) ||
        value > INT64_MAX)
        return false;
    *ns = (int64_t)value;
    return true;
}

bool fxt_provider_time(const struct fxt_provider *provider, uint64_t ticks, int64_t *ns)
{
    uint64_t value;
    bool exact;

    if (ticks >= provider->base_ticks) {
        if (!convert(ticks - provider->base_ticks, provider->ticks_per_second, &value, &exact) ||
            value > INT64_MAX)
            return false;
        *ns = (int64_t)value;
        return true;
    }
    /* Before the base: floor() of a negative time is one less where something was cut off.  */
    if (!convert(provider->base_ticks - ticks, provider->ticks_per_second, &value, &exact) ||
        value > INT64_MAX)
        return false;
    *ns = -(int64_t)value - (exact ? 0 : 1);
    return true;
}

/* Rates up to 18.4 GHz need nothing but their reciprocal.  Higher ones with no divisor in common
 * with 10^9 keep the definition: max_ticks 0 sends every time but the base's there.  */
void fxt_clock_set(struct fxt_clock *clock, const struct fxt_provider *provider)
{
    uint64_t multiplier = NS_PER_SECOND;
    uint64_t divisor = provider->ticks_per_second;
    uint64_t common = greatest_common_divisor(divisor, multiplier);
    uint64_t to_wrap = UINT64_MAX - provider->base_ticks;
    unsigned __int128 max;

    multiplier /= common;
    divisor /= common;
    *clock = (struct fxt_clock){ .base_ticks = provider->base_ticks,
                                 .multiplier = multiplier,
                                 .divisor = divisor,
                                 .reciprocal = UINT64_MAX / divisor };
    if (divisor > UINT64_MAX / multiplier)
        return; /* rest * multiplier could exceed 64 bits */
    max = (((unsigned __int128)divisor << 63) - 1) / multiplier; /* the last with ns < 2^63 */
    clock->max_ticks = max < to_wrap ? (uint64_t)max : to_wrap;
}
