/* legacy_java.c - heap and contention profiles of Java as text.
 *
 *     --- heapz 1 ---
 *     format = java
 *     resolution = bytes
 *               7048     1 @ 0x00000003 0x00000004
 *
 *      0x00000003 com.example.Word.count (Word.java:17)  */
#include "libprofile/read/formats.h"

#define HEAP_RATE 524288

struct java {
    struct gather *gather;
    bool is_heap;
};

/* The second line says that it is Java.  */
bool legacy_java_is(struct text start)
{
    struct text line = read_next_line(&start), format;

    if (!text_equals(line, "--- heapz 1 ---") && !text_equals(line, "--- contentionz 1 ---"))
        return false;
    line = read_next_line(&start);
    if (!text_take(&line, "format"))
        return false;
    text_skip_blanks(&line);
    format = line;
    return text_take(&format, "=") && text_equals(text_trim(format), "java");
}

/* False: it is no attribute.  */
static bool take_attribute(struct java *java, struct text line)
{
    struct gather *gather = java->gather;
    const char *equals = memchr(line.at, '=', line.length);
    struct text name, value;
    char unit[32] = "";
    uint64_t number;

    if (!equals)
        return false;
    name = text_trim(text_of(line.at, (size_t)(equals - line.at)));
    value = text_trim(text_of(equals + 1, line.length - (size_t)(equals - line.at) - 1));
    if (text_equals(name, "resolution") && value.length < sizeof unit) {
        memcpy(unit, value.at, value.length);
        (void)gather_type(gather, java->is_heap ? "inuse_objects" : "contentions",
                          java->is_heap ? 13 : 11, "count");
        (void)gather_type(gather, java->is_heap ? "inuse_space" : "delay", java->is_heap ? 11 : 5,
                          unit);
    } else if (text_take_number(&value, &number) && number <= INT64_MAX / 1000000) {
        if (text_equals(name, "sampling period"))
            gather->header.period = (int64_t)number;
        else if (text_equals(name, "ms since reset"))
            gather->header.duration_ns = (int64_t)number * 1000000;
    }
    return true;
}

static bool take_sample(struct java *java, struct text line)
{
    struct gather *gather = java->gather;
    int64_t *values = gather->values, period = gather->header.period;

    gather_begin(gather);
    if (!text_take_signed(&line, &values[1]))
        return false;
    text_skip_blanks(&line);
    if (!text_take_signed(&line, &values[0]))
        return false;
    text_skip_blanks(&line);
    if (!text_take(&line, "@") || (java->is_heap && values[0] == 0) ||
        !text_push_addresses(gather, line, SIZE_MAX))
        return false;
    if (java->is_heap) {
        gather_label(gather, "bytes", 0, values[1] / values[0], "");
        text_scale(&values[0], &values[1], HEAP_RATE);
    } else if (period) {
        for (size_t i = 0; i < 2; i++)
            if (__builtin_mul_overflow(values[i], period, &values[i]))
                values[i] = INT64_MAX;
    }
    gather_end(gather);
    return true;
}

bool legacy_java_read(struct gather *gather)
{
    struct java java = { .gather = gather };
    const char *at;
    size_t length;

    if (!gather_line(gather, &at, &length))
        return false;
    java.is_heap = text_begins(text_of(at, length), "--- heapz");
    gather->header.has_period_type = !java.is_heap;
    gather->header.period_type = (struct profile_pprof_type){ gather_word(gather, "contentions"),
                                                              gather_word(gather, "count") };
    while (gather_line(gather, &at, &length)) {
        struct text line = text_of(at, length);

        if (length == 0 && gather->spool.count > 0)
            break;
        if (length > 0 && !take_sample(&java, line) && !take_attribute(&java, line))
            gather_bad_line(gather);
    }
    text_read_java_names(gather);
    return true;
}
