/* html.c - the report as one page that needs nothing else.  Without JavaScript it has everything
 * but the flame graph, and sorting and searching the table.  */
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/template.h"
#include "cmd/flame/page.h"
#include "cmd/fxtdiff/format.h"
#include "cmd/fxtdiff/html.h"
#include "cmd/fxtdiff/outputs.h"
#include "cmd/fxtdiff/print.h"

/* The files of cmd/fxtdiff/page, built in.  */
extern const char page_report_html[], page_report_css[], page_report_js[];

struct page {
    const struct compare_report *report;
    const struct diff_settings *settings;
    bool has_chart; /* known after @CHART@ */
};

/* ---- Verdict ---- */

static void put_list(const char *const *texts, size_t count, const char *class,
                     struct cli_output *output)
{
    if (count > 0)
        diff_print(output, "<ul class=\"%s\">\n", class);
    for (size_t i = 0; i < count; i++) {
        diff_print(output, "<li>");
        cli_template_text(output, texts[i]);
        diff_print(output, "</li>\n");
    }
    if (count > 0)
        diff_print(output, "</ul>\n");
}

static const char *format_amount(const void *unit, double value, char text[COMPARE_NUMBER_BYTES])
{
    return compare_amount(unit, value, text);
}

/* Cost of the runs in their order, from malloc(); those of the base first.  */
static double *costs_of(const struct compare_set *set)
{
    double *costs = cli_allocate(set->run_count, sizeof *costs);

    for (size_t i = 0; i < set->run_count; i++)
        costs[i] = set->runs[i].cost;
    return costs;
}

static void put_strip(const struct compare_set *set, struct cli_output *output)
{
    double *costs = costs_of(set);
    const struct html_strip strip = { .side = { costs, costs + set->side_runs[COMPARE_BASE] },
                                      .count = { set->side_runs[COMPARE_BASE],
                                                 set->side_runs[COMPARE_NEW] },
                                      .format = format_amount,
                                      .context = set->type.unit };

    html_put_strip(&strip, output);
    free(costs);
}

static void put_total(const struct compare_report *report, struct cli_output *output)
{
    const struct compare_set *set = report->set;
    const struct compare_result *comparison = report->comparison;
    const struct compare_total_change *total = &comparison->total;
    char base[COMPARE_NUMBER_BYTES], new_cost[COMPARE_NUMBER_BYTES], p[COMPARE_NUMBER_BYTES];
    char change[32], low[32], high[32], noise[COMPARE_NUMBER_BYTES];

    diff_print(output, "<div class=\"scroll\"><table id=\"total\"><thead><tr><th>");
    cli_template_text(output, set->type.type);
    diff_print(output,
               " per run</th><th class=\"number\">base</th><th class=\"number\">new</th>"
               "<th class=\"number\">change</th><th class=\"number\">95 %% interval</th>"
               "<th class=\"number\">p</th><th class=\"number\">runs vary by</th><th>runs</th>"
               "</tr></thead><tbody><tr><td>total</td><td class=\"number\">%s</td>"
               "<td class=\"number\">%s</td><td class=\"number\"><b>%s</b></td>",
               compare_amount(set->type.unit, total->base, base),
               compare_amount(set->type.unit, total->new_cost, new_cost),
               diff_relative(total->relative, change));
    diff_print(output, "<td class=\"number\">");
    if (total->low < total->high)
        diff_print(output, "%s to %s", diff_relative(total->low, low),
                   diff_relative(total->high, high));
    diff_print(output, "</td><td class=\"number\">%s</td><td class=\"number\">%s</td><td>",
               compare_probability(total->p, p),
               comparison->runs[0] + comparison->runs[1] > 2
                   ? compare_variation(total->noise, noise)
                   : "");
    put_strip(set, output);
    diff_print(output, "</td></tr></tbody></table></div>\n");
}

static void put_verdict(const struct compare_report *report, struct cli_output *output)
{
    const char *verdict = compare_verdict_name(report->verdict);

    diff_print(output, "<h1 id=\"verdict\"><span class=\"badge %s\">%s</span> ", verdict, verdict);
    if (report->reason_count > 0)
        cli_template_text(output, report->reasons[0]);
    diff_print(output, "</h1>\n");
    if (report->reason_count > 1)
        put_list(report->reasons + 1, report->reason_count - 1, "reasons", output);
    if (report->comparison)
        put_total(report, output);
    if (report->power && *report->power) {
        diff_print(output, "<p id=\"power\">Power: ");
        cli_template_text(output, report->power);
        diff_print(output, "</p>\n");
    }
    put_list(report->notes, report->note_count, "notes soft", output);
}

/* ---- Budgets ---- */

static void put_budgets(const struct compare_report *report, struct cli_output *output)
{
    static const char *const outcomes[] = { "kept", "exceeded", "unknown" };

    if (report->rule_count == 0)
        return;
    diff_print(output, "<h2>Budgets</h2>\n<div class=\"scroll\"><table id=\"budgets\"><tbody>\n");
    for (size_t i = 0; i < report->rule_count; i++) {
        const struct compare_rule *rule = &report->rules[i];

        diff_print(output, "<tr><td class=\"%s\">%s</td><td class=\"text\">",
                   outcomes[rule->outcome], outcomes[rule->outcome]);
        cli_template_text(output, rule->text);
        diff_print(output, "</td><td class=\"text\">");
        cli_template_text(output, rule->result);
        diff_print(output, "</td></tr>\n");
    }
    diff_print(output, "</tbody></table></div>\n");
}

/* ---- The page ---- */

static void fill(void *context, const char *word, size_t length, struct cli_output *output)
{
    struct page *page = context;
    const struct compare_report *report = page->report;

    if (cli_template_is(word, length, "TITLE")) {
        diff_print(output, "fxtdiff: %s", compare_verdict_name(report->verdict));
    } else if (cli_template_is(word, length, "STYLE")) {
        flame_page_put_style(output);
        diff_print(output, "%s", page_report_css);
    } else if (cli_template_is(word, length, "VERDICT")) {
        put_verdict(report, output);
    } else if (cli_template_is(word, length, "BUDGETS")) {
        put_budgets(report, output);
    } else if (cli_template_is(word, length, "FUNCTIONS")) {
        if (report->comparison)
            html_put_functions(report, page->settings, output);
    } else if (cli_template_is(word, length, "RUNS")) {
        html_put_runs(report, output);
    } else if (cli_template_is(word, length, "CHART")) {
        page->has_chart = html_put_chart(report, output);
    } else {
        diff_print(output, "%s", page_report_js);
        if (page->has_chart)
            flame_page_put_script(output);
    }
}

static void put_page(const struct compare_report *report, const struct diff_settings *settings,
                     struct cli_output *output)
{
    struct page page = { .report = report, .settings = settings };

    cli_template_write(output, page_report_html, fill, &page);
}

enum cli_exit diff_write_html(const struct compare_report *report,
                              const struct diff_settings *settings, const char *path)
{
    return diff_write_whole(report, settings, path, put_page);
}
