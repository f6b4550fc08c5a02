/* number_texts.c - numbers and results as all outputs show them.  */
#include <fxt/compare_report.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

struct scale {
    double factor;
    const char *unit;
};

/* The largest unit that leaves at least 1, with four digits.  */
static void put_scaled(const struct scale *scales, size_t count, double value,
                       char text[COMPARE_NUMBER_BYTES])
{
    size_t i = 0;
    double scaled;

    while (i + 1 < count && fabs(value) < scales[i].factor)
        i++;
    scaled = value / scales[i].factor;
    (void)snprintf(text, COMPARE_NUMBER_BYTES, "%.*f %s",
                   fabs(scaled) >= 1000  ? 0
                   : fabs(scaled) >= 100 ? 1
                   : fabs(scaled) >= 10  ? 2
                                         : 3,
                   scaled, scales[i].unit);
}

const char *compare_amount(const char *unit, double value, char text[COMPARE_NUMBER_BYTES])
{
    static const struct scale times[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" } };
    static const struct scale sizes[] = {
        { 1099511627776.0, "TiB" },
        { 1073741824.0, "GiB" },
        { 1048576.0, "MiB" },
        { 1024.0, "KiB" },
        { 1, "B" },
    };
    char number[BASE_GROUPED_BYTES];

    if (strcmp(unit, "nanoseconds") == 0)
        put_scaled(times, sizeof times / sizeof *times, value, text);
    else if (strcmp(unit, "microseconds") == 0)
        put_scaled(times, sizeof times / sizeof *times, value * 1e3, text);
    else if (strcmp(unit, "milliseconds") == 0)
        put_scaled(times, sizeof times / sizeof *times, value * 1e6, text);
    else if (strcmp(unit, "seconds") == 0)
        put_scaled(times, sizeof times / sizeof *times, value * 1e9, text);
    else if (strcmp(unit, "bytes") == 0)
        put_scaled(sizes, sizeof sizes / sizeof *sizes, value, text);
    else if (value >= 0 && value < 1e15)
        (void)snprintf(text, COMPARE_NUMBER_BYTES, "%s",
                       base_grouped((uint64_t)(value + 0.5), number));
    else
        (void)snprintf(text, COMPARE_NUMBER_BYTES, "%.4g", value);
    return text;
}

/* Percentages of more digits are not read.  */
#define MOST_PERCENT 1e4
#define MOST_FACTOR  1e6

const char *compare_growth(double value, char text[COMPARE_NUMBER_BYTES])
{
    char number[BASE_GROUPED_BYTES];

    if (100 * fabs(value) < MOST_PERCENT)
        (void)snprintf(text, COMPARE_NUMBER_BYTES, fabs(value) < 0.9995 ? "%.1f %%" : "%.0f %%",
                       100 * value);
    else if (value < MOST_FACTOR)
        (void)snprintf(text, COMPARE_NUMBER_BYTES, "a factor of %s",
                       base_grouped((uint64_t)(value + 1.5), number));
    else
        (void)snprintf(text, COMPARE_NUMBER_BYTES, "a factor above %s",
                       base_grouped((uint64_t)MOST_FACTOR, number));
    return text;
}

const char *compare_variation(double noise, char text[COMPARE_NUMBER_BYTES])
{
    if (noise < 1)
        (void)snprintf(text, COMPARE_NUMBER_BYTES, "%.1f %%", 100 * noise);
    else
        (void)snprintf(text, COMPARE_NUMBER_BYTES, "more than their cost");
    return text;
}

const char *compare_probability(double value, char text[COMPARE_NUMBER_BYTES])
{
    if (value < 0.001)
        (void)snprintf(text, COMPARE_NUMBER_BYTES, "<0.001");
    else
        (void)snprintf(text, COMPARE_NUMBER_BYTES, "%.3f", value);
    return text;
}

const char *compare_verdict_name(enum compare_verdict verdict)
{
    switch (verdict) {
    case COMPARE_PASS:
        return "PASS";
    case COMPARE_FAIL:
        return "FAIL";
    case COMPARE_INCONCLUSIVE:
        break;
    }
    return "INCONCLUSIVE";
}

const char *compare_state_name(enum compare_state state)
{
    static const char *const names[] = { "", "NEW", "GONE", "RENAMED" };

    return names[state];
}

const char *compare_flag_name(enum compare_flag flag)
{
    static const char *const names[] = { "", "regressed", "improved", "moved" };

    return names[flag];
}
