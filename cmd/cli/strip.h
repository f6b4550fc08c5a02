/* strip.h - a strip plot: values as marks on a line of characters.  */
#ifndef CLI_STRIP_H
#define CLI_STRIP_H

#include <stdbool.h>
#include <stddef.h>

/* What both ends of a line stand for; high is not below low.  */
struct cli_axis {
    double low, high;
};

/* An axis without any value: cli_axis_extend() makes it [value, value].  */
#define CLI_NO_AXIS ((struct cli_axis){ INFINITY, -INFINITY })

/* Let the axis hold these finite values, too.  */
void cli_axis_extend(struct cli_axis *axis, const double *values, size_t count);

/* Return a text from malloc() of that many columns, at least 1: a dot ("o" in ASCII) where one
 * value is, a digit where so many are, '#' for ten and more, blanks elsewhere.  Values must be on
 * the axis.  An axis that is one value is the middle of the line.  */
char *cli_strip(const double *values, size_t count, struct cli_axis axis, size_t columns,
                bool utf8);

#endif /* CLI_STRIP_H */
