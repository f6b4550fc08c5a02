/* legacy_contention.c - who waited for locks, as text, of gperftools and of Go with debug=1.
 *
 *     --- contention:
 *     cycles/second=3201000000
 *     19490304 27 @ 0xbccc97 0xc61202  */
#include "libprofile/read/formats.h"

struct contention {
    struct gather *gather;
    uint64_t cycles_per_second;
};

bool legacy_contention_is(struct text start)
{
    struct text line = read_first_line(start);

    return text_begins(line, "--- contentionz ") || text_begins(line, "--- mutex:") ||
           text_begins(line, "--- contention:");
}

/* "sampling period = 100".  False: it is no attribute.  */
static bool take_attribute(struct contention *contention, struct text line)
{
    struct profile_pprof_header *header = &contention->gather->header;
    const char *equals = memchr(line.at, '=', line.length);
    struct text name, value;
    uint64_t number;

    if (!equals)
        return false;
    name = text_trim(text_of(line.at, (size_t)(equals - line.at)));
    value = text_trim(text_of(equals + 1, line.length - (size_t)(equals - line.at) - 1));
    if (!text_take_number(&value, &number) || number > INT64_MAX / 1000000)
        return false;
    if (text_equals(name, "cycles/second"))
        contention->cycles_per_second = number;
    else if (text_equals(name, "sampling period"))
        header->period = (int64_t)number;
    else if (text_equals(name, "ms since reset"))
        header->duration_ns = (int64_t)number * 1000000;
    return true;
}

static bool take_sample(struct contention *contention, struct text line)
{
    struct gather *gather = contention->gather;
    int64_t period = gather->header.period, count, delay;
    double scaled;

    gather_begin(gather);
    if (!text_take_signed(&line, &delay))
        return false;
    text_skip_blanks(&line);
    if (!text_take_signed(&line, &count))
        return false;
    text_skip_blanks(&line);
    if (!text_take(&line, "@") || !text_push_addresses(gather, line, 0))
        return false;
    if (period > 0 && contention->cycles_per_second > 0) {
        scaled = (double)delay * (double)period / ((double)contention->cycles_per_second / 1e9);
        delay = scaled < 9e18 && scaled > -9e18 ? (int64_t)scaled : INT64_MAX;
    }
    if (period > 0 && __builtin_mul_overflow(count, period, &count))
        count = INT64_MAX;
    gather->values[0] = count;
    gather->values[1] = delay;
    gather_end(gather);
    return true;
}

bool legacy_contention_read(struct gather *gather)
{
    struct contention contention = { .gather = gather };
    const char *at;
    size_t length;
    bool is_map = false, has_samples = false;

    if (!gather_line(gather, &at, &length))
        return false;
    gather->header.period = 1;
    gather->header.has_period_type = true;
    gather->header.period_type = (struct profile_pprof_type){ gather_word(gather, "contentions"),
                                                              gather_word(gather, "count") };
    (void)gather_type(gather, "contentions", 11, "count");
    (void)gather_type(gather, "delay", 5, "nanoseconds");
    while (!is_map && gather_line(gather, &at, &length)) {
        struct text line = text_of(at, length);

        is_map = text_is_map_start(line);
        if (is_map)
            break;
        if (text_is_comment(line))
            text_name_address(gather, line);
        else if (text_begins(line, "---") || (!has_samples && take_attribute(&contention, line)))
            continue;
        else if (take_sample(&contention, line))
            has_samples = true;
        else
            gather_bad_line(gather);
    }
    text_read_maps(gather, is_map);
    return true;
}
