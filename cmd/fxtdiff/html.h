/* html.h - the parts of the report as a page.
 *
 *   html.c            the page: verdict, total, budgets, notes
 *   html_functions.c  the table of functions
 *   html_runs.c       the runs and their environments
 *   html_chart.c      the flame graph of both sides
 *   html_strip.c      the values of each run as dots
 *
 * Texts of the report are written by cli_template_text() alone.  */
#ifndef FXTDIFF_HTML_H
#define FXTDIFF_HTML_H

#include "cmd/fxtdiff/fxtdiff.h"

/* Values of the runs of both sides on one axis.  */
struct html_strip {
    const double *side[COMPARE_SIDES];
    size_t count[COMPARE_SIDES];
    /* Write a value: "12.34 %".  */
    const char *(*format)(const void *context, double value, char text[COMPARE_NUMBER_BYTES]);
    const void *context;
};

void html_put_strip(const struct html_strip *strip, struct cli_output *output);
void html_put_functions(const struct compare_report *report, const struct diff_settings *settings,
                        struct cli_output *output);
void html_put_runs(const struct compare_report *report, struct cli_output *output);

/* Whether there is a chart; if not, a sentence says why.  */
bool html_put_chart(const struct compare_report *report, struct cli_output *output);

#endif /* FXTDIFF_HTML_H */
