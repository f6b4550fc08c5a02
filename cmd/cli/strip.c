/* strip.c - a strip plot: values as marks on a line of characters.  */
#include "cmd/cli/strip.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/cli.h"

#define DOT "\xe2\x80\xa2" /* U+2022 */

void cli_axis_extend(struct cli_axis *axis, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        axis->low = fmin(axis->low, values[i]);
        axis->high = fmax(axis->high, values[i]);
    }
}

static size_t column_of(double value, struct cli_axis axis, size_t columns)
{
    double last = (double)(columns - 1);

    if (axis.high <= axis.low)
        return (columns - 1) / 2;
    return (size_t)lround((value - axis.low) / (axis.high - axis.low) * last);
}

static size_t put_mark(char *out, size_t count, bool utf8)
{
    if (count == 1)
        return (size_t)snprintf(out, sizeof DOT, "%s", utf8 ? DOT : "o");
    *out = ' ';
    if (count > 0)
        *out = count < 10 ? (char)('0' + count) : '#';
    return 1;
}

char *cli_strip(const double *values, size_t count, struct cli_axis axis, size_t columns, bool utf8)
{
    size_t *counts = cli_allocate(columns, sizeof *counts);
    char *text = cli_allocate(columns * strlen(DOT) + 1, 1);
    size_t used = 0;

    for (size_t i = 0; i < count; i++)
        counts[column_of(values[i], axis, columns)]++;
    for (size_t i = 0; i < columns; i++)
        used += put_mark(text + used, counts[i], utf8);
    free(counts);
    return text;
}
