/* html_strip.c - the values of each run as dots on an axis, those of the base above.  */
#include <math.h>

#include "cmd/cli/strip.h"
#include "cmd/fxtdiff/finding_values.h"
#include "cmd/fxtdiff/html.h"
#include "cmd/fxtdiff/print.h"

/* In pixels.  */
#define WIDTH  240.0
#define MARGIN 6.0
#define LIMITS 42.0 /* the line of the axis's limits */
static const double lanes[COMPARE_SIDES] = { 9, 23 };

static const char *const classes[COMPARE_SIDES] = { "base", "new" };

static double place_on(struct cli_axis axis, double value)
{
    if (!(axis.high > axis.low))
        return WIDTH / 2;
    return MARGIN + (WIDTH - 2 * MARGIN) * (value - axis.low) / (axis.high - axis.low);
}

static size_t shown(const struct html_strip *strip, int side)
{
    return strip->count[side] < DIFF_VALUES_RUNS ? strip->count[side] : DIFF_VALUES_RUNS;
}

static void put_dots(const struct html_strip *strip, int side, struct cli_axis axis,
                     struct cli_output *output)
{
    char text[COMPARE_NUMBER_BYTES];

    for (size_t i = 0; i < shown(strip, side); i++)
        diff_print(output,
                   "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.0f\" r=\"4\">"
                   "<title>%s, run %zu: %s</title></circle>",
                   classes[side], place_on(axis, strip->side[side][i]), lanes[side], classes[side],
                   i + 1, strip->format(strip->context, strip->side[side][i], text));
}

void html_put_strip(const struct html_strip *strip, struct cli_output *output)
{
    struct cli_axis axis = CLI_NO_AXIS;
    char low[COMPARE_NUMBER_BYTES], high[COMPARE_NUMBER_BYTES];

    for (int side = 0; side < COMPARE_SIDES; side++)
        cli_axis_extend(&axis, strip->side[side], shown(strip, side));
    (void)strip->format(strip->context, axis.low, low);
    (void)strip->format(strip->context, axis.high, high);
    diff_print(output,
               "<svg class=\"strip\" width=\"%.0f\" height=\"48\" role=\"img\" "
               "aria-label=\"runs from %s to %s\">",
               WIDTH, low, high);
    for (int side = 0; side < COMPARE_SIDES; side++)
        diff_print(output, "<line x1=\"0\" x2=\"%.0f\" y1=\"%.0f\" y2=\"%.0f\"/>", WIDTH,
                   lanes[side], lanes[side]);
    for (int side = 0; side < COMPARE_SIDES; side++)
        put_dots(strip, side, axis, output);
    if (axis.high > axis.low)
        diff_print(output,
                   "<text x=\"0\" y=\"%.0f\">%s</text>"
                   "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%s</text>",
                   LIMITS, low, WIDTH, LIMITS, high);
    else
        diff_print(output, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">%s</text>",
                   WIDTH / 2, LIMITS, low);
    diff_print(output, "</svg>");
}
