/* format.c - numbers and names as all outputs print them.  */
#include "cmd/fxtdiff/format.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct scale {
    double factor;
    const char *unit;
};

/* The largest unit that leaves at least 1, with four digits.  */
static void put_scaled(const struct scale *scales, size_t count, double value, char text[32])
{
    size_t i = 0;
    double scaled;

    while (i + 1 < count && fabs(value) < scales[i].factor)
        i++;
    scaled = value / scales[i].factor;
    (void)snprintf(text, 32, "%.*f %s",
                   fabs(scaled) >= 1000  ? 0
                   : fabs(scaled) >= 100 ? 1
                   : fabs(scaled) >= 10  ? 2
                                         : 3,
                   scaled, scales[i].unit);
}

const char *diff_amount(const struct diff_set *set, double value, char text[32])
{
    static const struct scale times[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" } };
    static const struct scale sizes[] = {
        { 1099511627776.0, "TiB" },
        { 1073741824.0, "GiB" },
        { 1048576.0, "MiB" },
        { 1024.0, "KiB" },
        { 1, "B" },
    };
    const char *unit = set->type.unit;

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
        (void)snprintf(text, 32, "%s", cli_grouped((uint64_t)(value + 0.5)));
    else
        (void)snprintf(text, 32, "%.4g", value);
    return text;
}

const char *diff_relative(double value, char text[32])
{
    if (isinf(value))
        (void)snprintf(text, 32, "%s", value > 0 ? "new" : "-");
    else
        (void)snprintf(text, 32, fabs(value) < 9.995 ? "%+.1f%%" : "%+.0f%%", 100 * value);
    return text;
}

const char *diff_probability(double value, char text[32])
{
    if (value < 0.001)
        (void)snprintf(text, 32, "<0.001");
    else
        (void)snprintf(text, 32, "%.3f", value);
    return text;
}

const char *diff_file_of(const struct diff_function *function, uint32_t *line)
{
    const struct diff_place *place = &function->places[DIFF_NEW];

    if (!place->name || !*place->file)
        place = &function->places[DIFF_BASE];
    if (line)
        *line = place->start_line ? place->start_line : place->first_line;
    return place->name ? place->file : "";
}

const char *diff_verdict_name(enum compare_verdict verdict)
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

const char *diff_state_name(enum diff_state state)
{
    static const char *const names[] = { "", "NEW", "GONE", "RENAMED" };

    return names[state];
}

const char *diff_flag_name(enum compare_flag flag)
{
    static const char *const names[] = { "", "regressed", "improved", "moved" };

    return names[flag];
}
