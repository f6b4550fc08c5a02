/* format.c - numbers as all outputs print them.  */
#include "cmd/fxtdiff/format.h"

#include <math.h>

/* Larger parts are bounded: nobody reads more digits.  */
#define MOST 9999.0

const char *diff_relative(double value, char text[32])
{
    if (isinf(value))
        (void)snprintf(text, 32, "%s", value > 0 ? "new" : "-");
    else if (fabs(value) < MOST)
        (void)snprintf(text, 32, fabs(value) < 9.995 ? "%+.1f%%" : "%+.0f%%", 100 * value);
    else
        (void)snprintf(text, 32, value > 0 ? ">+%.0f%%" : "<-%.0f%%", 100 * MOST);
    return text;
}

const char *diff_spread(const double interval[2], char text[32])
{
    double half = 50 * (interval[1] - interval[0]);

    text[0] = '\0';
    if (half > 0 && isfinite(half))
        (void)snprintf(text, 32, half < 0.005 ? "<0.01" : "%.2f", half);
    return text;
}
