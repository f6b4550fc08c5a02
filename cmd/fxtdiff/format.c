/* format.c - numbers as all outputs print them.  */
#include "cmd/fxtdiff/format.h"

#include <math.h>

const char *diff_relative(double value, char text[32])
{
    if (isinf(value))
        (void)snprintf(text, 32, "%s", value > 0 ? "new" : "-");
    else
        (void)snprintf(text, 32, fabs(value) < 9.995 ? "%+.1f%%" : "%+.0f%%", 100 * value);
    return text;
}
