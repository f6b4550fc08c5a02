/* html_runs.c - the runs and their environments in the page.  */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/template.h"
#include "cmd/fxtdiff/html.h"
#include "cmd/fxtdiff/print.h"

static const char *const side_names[COMPARE_SIDES] = { "base", "new" };

/* ---- Environments ---- */

#define BUILDS 30 /* that a cell shows */

/* What runs were made with; NULL: unknown.  The text is from malloc().  */
typedef char *(*take_fn)(const struct compare_environment *environment);

static char *copy(const char *text)
{
    return text && *text ? cli_join(text, "") : NULL;
}

static char *take_cpu(const struct compare_environment *environment)
{
    return copy(environment->cpu_model);
}

static char *take_kernel(const struct compare_environment *environment)
{
    return copy(environment->kernel);
}

static char *take_arch(const struct compare_environment *environment)
{
    return copy(environment->arch);
}

static char *take_compiler(const struct compare_environment *environment)
{
    return copy(environment->compiler);
}

static char *take_command(const struct compare_environment *environment)
{
    return copy(environment->command);
}

static char *take_commit(const struct compare_environment *environment)
{
    return copy(environment->commit);
}

static char *take_period(const struct compare_environment *environment)
{
    char text[COMPARE_NUMBER_BYTES];

    return environment->period_ns == 0
               ? NULL
               : copy(compare_amount("nanoseconds", (double)environment->period_ns, text));
}

static char *take_builds(const struct compare_environment *environment)
{
    size_t count = environment->builds ? environment->build_count : 0;
    char *text = NULL;

    for (size_t i = 0; i < count && i < BUILDS; i++) {
        char *before = cli_join(text ? text : "", text ? ", " : "");

        free(text);
        text = cli_join(before, environment->builds[i]);
        free(before);
    }
    return text;
}

static const struct {
    const char *name;
    take_fn take;
} kinds[] = {
    { "command", take_command },      { "commit", take_commit },     { "CPU", take_cpu },
    { "kernel", take_kernel },        { "architecture", take_arch }, { "compiler", take_compiler },
    { "sampled every", take_period }, { "modules", take_builds },
};
#define KINDS (sizeof kinds / sizeof *kinds)

/* The different texts of a side, each once, in the order of runs.  */
struct texts {
    struct cli_texts items;
    size_t *runs; /* that have each */
};

static struct texts collect(const struct compare_set *set, int side, take_fn take)
{
    struct texts texts = { .runs = cli_allocate(set->run_count + 1, sizeof *texts.runs) };

    for (size_t i = 0; i < set->run_count; i++) {
        size_t at = 0;
        char *text;

        if (set->runs[i].side != (enum compare_side)side)
            continue;
        text = take(&set->runs[i].environment);
        if (!text)
            text = cli_join("unknown", "");
        while (at < texts.items.count && strcmp(texts.items.items[at], text) != 0)
            at++;
        if (at == texts.items.count)
            cli_texts_add(&texts.items, text);
        else
            free(text);
        texts.runs[at]++;
    }
    return texts;
}

static void release(struct texts *texts)
{
    for (size_t i = 0; i < texts->items.count; i++)
        free((char *)texts->items.items[i]);
    free(texts->items.items);
    free(texts->runs);
}

static bool is_known(const struct texts *texts)
{
    return texts->items.count > 1 ||
           (texts->items.count == 1 && strcmp(texts->items.items[0], "unknown") != 0);
}

static bool are_same(const struct texts *a, const struct texts *b)
{
    return a->items.count == 1 && b->items.count == 1 &&
           strcmp(a->items.items[0], b->items.items[0]) == 0;
}

static void put_texts(const struct texts *texts, struct cli_output *output)
{
    diff_print(output, "<td class=\"text\">");
    for (size_t i = 0; i < texts->items.count; i++) {
        if (i > 0)
            diff_print(output, "<br>");
        cli_template_text(output, texts->items.items[i]);
        if (texts->items.count > 1)
            diff_print(output, " <span class=\"soft\">(%s)</span>",
                       cli_counted(texts->runs[i], "run", "runs"));
    }
    diff_print(output, "</td>");
}

static void put_kind(const struct compare_set *set, size_t kind, struct cli_output *output)
{
    struct texts sides[COMPARE_SIDES];

    for (int side = 0; side < COMPARE_SIDES; side++)
        sides[side] = collect(set, side, kinds[kind].take);
    if (is_known(&sides[COMPARE_BASE]) || is_known(&sides[COMPARE_NEW])) {
        diff_print(output, "<tr><th scope=\"row\">%s</th>", kinds[kind].name);
        for (int side = 0; side < COMPARE_SIDES; side++)
            put_texts(&sides[side], output);
        diff_print(output, "<td class=\"noted\">%s</td></tr>\n",
                   are_same(&sides[COMPARE_BASE], &sides[COMPARE_NEW]) ? "" : "differs");
    }
    for (int side = 0; side < COMPARE_SIDES; side++)
        release(&sides[side]);
}

/* ---- Runs ---- */

static void put_run(const struct compare_set *set, const struct compare_run *run,
                    struct cli_output *output)
{
    char cost[COMPARE_NUMBER_BYTES];

    diff_print(output, "<tr><td class=\"key %s\">%s</td><td class=\"text\">", side_names[run->side],
               side_names[run->side]);
    cli_template_text(output, run->label);
    diff_print(output, "</td><td class=\"number\">%s</td><td class=\"number\">%s</td></tr>\n",
               compare_amount(set->type.unit, run->cost, cost),
               run->samples > 0 ? cli_grouped((uint64_t)run->samples) : "");
}

void html_put_runs(const struct compare_report *report, struct cli_output *output)
{
    const struct compare_set *set = report->set;

    diff_print(output, "<h2>Environment</h2>\n<div class=\"scroll\"><table id=\"environment\">"
                       "<thead><tr><th></th><th>base</th><th>new</th><th></th></tr></thead>"
                       "<tbody>\n");
    for (size_t i = 0; i < KINDS; i++)
        put_kind(set, i, output);
    diff_print(output, "</tbody></table></div>\n<h2>Runs</h2>\n<div class=\"scroll\">"
                       "<table id=\"runs\"><thead><tr><th>side</th><th>run</th>"
                       "<th class=\"number\">");
    cli_template_text(output, set->type.type);
    diff_print(output, "</th><th class=\"number\">samples</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < set->run_count; i++)
        put_run(set, &set->runs[i], output);
    diff_print(output, "</tbody></table></div>\n");
}
