/* html_functions.c - the table of functions in the page.
 *
 * Cells that are sorted as numbers have them in data-value.  */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/template.h"
#include "cmd/fxtdiff/finding_values.h"
#include "cmd/fxtdiff/format.h"
#include "cmd/fxtdiff/html.h"
#include "cmd/fxtdiff/print.h"

/* As many functions as a browser shows with ease; more if there are more findings, or --rows asks
 * for them.  */
#define ROWS 1000

static const char *format_share(const void *context, double value, char text[COMPARE_NUMBER_BYTES])
{
    (void)context;
    (void)snprintf(text, COMPARE_NUMBER_BYTES, "%.2f %%", 100 * value);
    return text;
}

static void put_strip(const struct compare_report *report, const struct compare_row *row,
                      struct cli_output *output)
{
    struct diff_values values;
    struct html_strip strip = { .format = format_share };

    diff_values_open(&values, report, row);
    for (int side = 0; side < COMPARE_SIDES; side++) {
        strip.side[side] = values.side[side];
        strip.count[side] = values.count[side];
    }
    html_put_strip(&strip, output);
    diff_values_close(&values);
}

static const char *class_of(const struct compare_row *row)
{
    static const char *const classes[] = { [COMPARE_UNCHANGED] = "",
                                           [COMPARE_REGRESSED] = "regressed",
                                           [COMPARE_IMPROVED] = "improved",
                                           [COMPARE_MOVED] = "noted" };

    return row->suppressed || row->by_callees ? "noted" : classes[row->flag];
}

static void put_small(const char *label, const char *text, struct cli_output *output)
{
    diff_print(output, "<small>%s", label);
    cli_template_text(output, text);
    diff_print(output, "</small>");
}

/* The whole name where it is shortened, the one before where it was renamed, and the place.  */
static void put_name(const struct compare_row *row, const char *name, struct cli_output *output)
{
    char *place = diff_row_place(row);

    diff_print(output, "<td class=\"name\"><span>");
    cli_template_text(output, name);
    diff_print(output, "</span>");
    if (strcmp(name, row->names->name) != 0)
        put_small("", row->names->name, output);
    if (row->state == COMPARE_STATE_RENAMED)
        put_small("was ", row->names->places[COMPARE_BASE].name, output);
    if (*place)
        put_small("", place, output);
    if (row->suppressed)
        put_small("suppressed: ", row->suppressed, output);
    diff_print(output, "</td>");
    free(place);
}

static void put_number(double value, struct cli_output *output)
{
    char text[32];

    cli_shortest_double(text, isfinite(value) ? value : copysign(1e300, value));
    diff_print(output, "<td class=\"number\" data-value=\"%s\">", text);
}

static void put_change(const struct compare_change *change, const double *interval,
                       struct cli_output *output)
{
    char half[32], relative[32], q[COMPARE_NUMBER_BYTES];
    double points = change->new_share - change->base_share;

    put_number(change->base_share, output);
    diff_print(output, "%.2f %%</td>", 100 * change->base_share);
    put_number(change->new_share, output);
    diff_print(output, "%.2f %%</td>", 100 * change->new_share);
    put_number(points, output);
    diff_print(output, "%+.2f", 100 * points);
    if (*diff_spread(interval, half))
        diff_print(output, " \xc2\xb1%s", half);
    diff_print(output, "</td>");
    put_number(change->relative, output);
    diff_print(output, "%s</td>", diff_relative(change->relative, relative));
    put_number(change->tested ? change->q : 2, output);
    diff_print(output, "%s</td>", change->tested ? compare_probability(change->q, q) : "");
}

static void put_row(const struct compare_report *report, size_t index, const char *name,
                    struct cli_output *output)
{
    const struct compare_row *row = &report->rows[index];
    const char *family;
    const double *interval;
    const struct compare_change *change = diff_row_family(row, &family, &interval);

    diff_print(output, "<tr><td data-value=\"%zu\" class=\"%s\">%s</td>", index, class_of(row),
               diff_row_mark(row));
    put_name(row, name, output);
    diff_print(output, "<td>%s</td>", family);
    put_change(change, interval, output);
    diff_print(output, "<td>");
    if (index < DIFF_VALUES_FINDINGS && diff_is_finding(row))
        put_strip(report, row, output);
    diff_print(output, "</td></tr>\n");
}

static void put_heading(const struct compare_report *report, struct cli_output *output)
{
    char *scaled = diff_scale_note(report);

    diff_print(output, "<h2>Functions</h2>\n<p class=\"soft\">Share of the cost of an average run, "
                       "of the function alone (self) or with its callees (total). The dots are "
                       "the shares of each run of a finding: <b class=\"key base\">base</b> above, "
                       "<b class=\"key new\">new</b> below.");
    if (scaled) {
        diff_print(output, " Of ");
        cli_template_text(output, scaled);
        diff_print(output, ".");
    }
    diff_print(output, "</p>\n");
    free(scaled);
    diff_print(output,
               "<div class=\"tools\" id=\"functions-tools\" hidden><input type=\"search\" "
               "id=\"functions-search\" placeholder=\"Search\" aria-label=\"Search function "
               "names\" spellcheck=\"false\"><span id=\"functions-found\" aria-live=\"polite\">"
               "</span></div>\n");
    diff_print(output, "<div class=\"scroll\"><table id=\"functions\"><thead><tr><th>result</th>"
                       "<th>function</th><th>of</th><th class=\"number\">base</th>"
                       "<th class=\"number\">new</th><th class=\"number\">points</th>"
                       "<th class=\"number\">cost</th><th class=\"number\">q</th>"
                       "<th data-fixed>runs</th></tr></thead><tbody>\n");
}

void html_put_functions(const struct compare_report *report, const struct diff_settings *settings,
                        struct cli_output *output)
{
    size_t count = diff_shown_rows(report, settings);
    char **names;

    if (count < ROWS)
        count = report->row_count < ROWS ? report->row_count : ROWS;
    if (count == 0)
        return;
    names = diff_row_names(report, count);
    put_heading(report, output);
    for (size_t i = 0; i < count; i++)
        put_row(report, i, names[i], output);
    diff_print(output, "</tbody></table></div>\n");
    if (count < report->row_count)
        diff_print(output, "<p class=\"soft\">... and %s with smaller changes (--rows 0)</p>\n",
                   cli_counted(report->row_count - count, "function", "functions"));
    diff_row_names_free(names, count);
}
