/* html_chart.c - the flame graph of an average run of each side.  Functions are those of the
 * comparison: matched by it, in whatever folders their modules are, and if they were renamed.  */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/template.h"
#include "cmd/flame/page.h"
#include "cmd/fxtdiff/html.h"
#include "cmd/fxtdiff/print.h"

static uint32_t add_node(struct flame_page *page, const struct compare_function *function,
                         uint32_t parent)
{
    return flame_page_child(page, parent, function->name, diff_module_of(function));
}

/* "src/parse.c:12", and the name before.  */
static void add_place(struct flame_page *page, const struct compare_function *function)
{
    uint32_t line;
    const char *file = compare_file_of(function, &line);
    char *place = NULL;

    if (asprintf(&place, line > 0 ? "%s:%" PRIu32 "%s%s" : "%s%.0" PRIu32 "%s%s", file, line,
                 function->renamed ? (*file ? ", was " : "was ") : "",
                 function->renamed ? function->places[COMPARE_BASE].name : "") < 0)
        cli_out_of_memory();
    if (*place)
        flame_page_place(page, function->name, diff_module_of(function), place);
    free(place);
}

static struct flame_page *make_page(const struct compare_set *set)
{
    struct flame_page *page = flame_page_open(COMPARE_SIDES);
    uint32_t *nodes = cli_allocate(set->node_count, sizeof *nodes);
    double *means = diff_mean_stacks(set);

    for (size_t n = 1; n < set->node_count; n++) {
        const struct compare_node *node = &set->nodes[n];

        nodes[n] = add_node(page, &set->functions[node->function], nodes[node->parent]);
    }
    for (size_t n = 0; n < set->node_count; n++)
        for (size_t side = 0; side < COMPARE_SIDES; side++)
            flame_page_add(page, nodes[n], side, means[2 * n + side]);
    for (size_t i = 0; i < set->function_count; i++)
        add_place(page, &set->functions[i]);
    free(nodes);
    free(means);
    return page;
}

static void draw(const struct compare_report *report, struct cli_output *output)
{
    const struct compare_set *set = report->set;
    const struct flame_page_type type = { set->type.type, set->type.unit };
    const struct flame_page_head head = { .title = "all",
                                          .types = &type,
                                          .type_count = 1,
                                          .diff = true,
                                          .scale = report->comparison ? report->comparison->scale
                                                                      : 1 };
    struct flame_page *page = make_page(set);

    diff_print(output, "<noscript><p>The flame graph is drawn with JavaScript.</p></noscript>\n");
    diff_print(output, "<section id=\"flame\" aria-label=\"Flame graph\"><header><h2>Flame graph"
                       "</h2><span id=\"summary\"></span><span class=\"soft\">of an average run "
                       "of each side</span></header>\n");
    flame_page_put_chart(page, &head, output);
    diff_print(output, "</section>\n");
    flame_page_close(page);
}

bool html_put_chart(const struct compare_report *report, struct cli_output *output)
{
    const struct compare_run *without = diff_run_without_stacks(report->set);

    if (!without) {
        draw(report, output);
        return true;
    }
    diff_print(output, "<p class=\"soft\" id=\"no-chart\">No flame graph: ");
    cli_template_text(output, without->label);
    diff_print(output, " has no stacks.</p>\n");
    return false;
}
