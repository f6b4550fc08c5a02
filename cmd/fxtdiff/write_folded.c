/* write_folded.c - both sides as difffolded.pl writes them: "stack base new", for flamegraph.pl.
 *
 * Numbers are those of an average run of each side, so that sides of different sizes compare.  */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "cmd/fxtdiff/outputs.h"
#include "cmd/fxtdiff/print.h"

/* A stack and what it cost.  */
struct line {
    const char *stack;
    double values[COMPARE_SIDES];
};

struct folded {
    const struct compare_set *set;
    struct base_arena arena;
    const char **names; /* of each function, clean */
    struct line *lines;
    size_t count;
};

static const char *clean(struct folded *folded, const char *name)
{
    size_t length = strlen(name);
    char *text = cli_checked(base_arena_text(&folded->arena, name, length));

    length = profile_folded_name(text, length);
    text[length] = '\0';
    return length > 0 ? text : "[unknown]";
}

/* The names of a stack, root first.  */
static const char *text_of(struct folded *folded, uint32_t node)
{
    const struct compare_set *set = folded->set;
    size_t length = 0;
    char *text, *at;

    for (uint32_t n = node; n; n = set->nodes[n].parent)
        length += strlen(folded->names[set->nodes[n].function]) + 1;
    text = cli_checked(base_arena_alloc(&folded->arena, length + 1));
    at = text + length;
    for (uint32_t n = node; n; n = set->nodes[n].parent) {
        const char *name = folded->names[set->nodes[n].function];

        *--at = n == node ? '\0' : ';';
        for (size_t i = strlen(name); i > 0; i--)
            *--at = name[i - 1];
    }
    return text;
}

static void make_lines(struct folded *folded)
{
    const struct compare_set *set = folded->set;
    double *means = diff_mean_stacks(set);

    folded->names = cli_allocate(set->function_count + 1, sizeof *folded->names);
    for (size_t f = 0; f < set->function_count; f++)
        folded->names[f] = clean(folded, set->functions[f].name);
    folded->lines = cli_allocate(set->node_count + 1, sizeof *folded->lines);
    for (uint32_t n = 1; n < set->node_count; n++) {
        const double *mean = &means[2 * (size_t)n];

        if (mean[COMPARE_BASE] > 0 || mean[COMPARE_NEW] > 0)
            folded->lines[folded->count++] = (struct line){
                .stack = text_of(folded, n),
                .values = { mean[COMPARE_BASE], mean[COMPARE_NEW] },
            };
    }
    free(means);
}

/* By bytes; of equal stacks, which come from functions of equal clean names, the values decide, so
 * that their sum does not depend on the order of what was read.  */
static int by_stack(const void *a, const void *b)
{
    const struct line *left = a, *right = b;
    int order = strcmp(left->stack, right->stack);

    for (unsigned side = 0; side < COMPARE_SIDES && order == 0; side++)
        order = (left->values[side] > right->values[side]) -
                (left->values[side] < right->values[side]);
    return order;
}

/* Thousandths are enough: flamegraph.pl takes decimals, and an average run has them.  */
static void put_number(struct cli_output *output, double value)
{
    char text[400];
    int length = snprintf(text, sizeof text, "%.3f", value);

    while (length > 0 && text[length - 1] == '0')
        length--;
    if (length > 0 && text[length - 1] == '.')
        length--;
    diff_print(output, " %.*s", length, text);
}

static void put_lines(struct folded *folded, struct cli_output *output)
{
    if (folded->count > 0)
        qsort(folded->lines, folded->count, sizeof *folded->lines, by_stack);
    for (size_t i = 0; i < folded->count;) {
        struct line line = folded->lines[i++];

        for (; i < folded->count && strcmp(folded->lines[i].stack, line.stack) == 0; i++)
            for (unsigned side = 0; side < COMPARE_SIDES; side++)
                line.values[side] += folded->lines[i].values[side];
        (void)cli_output_write(output, line.stack, strlen(line.stack));
        put_number(output, line.values[COMPARE_BASE]);
        put_number(output, line.values[COMPARE_NEW]);
        (void)cli_output_write(output, "\n", 1);
    }
}

bool diff_has_stacks(const struct compare_report *report, const char *option)
{
    for (size_t i = 0; i < report->set->run_count; i++)
        if (report->set->runs[i].stack_count == 0) {
            cli_error("%s: no stacks, which %s needs", report->set->runs[i].label, option);
            return false;
        }
    return true;
}

enum cli_exit diff_write_folded(const struct compare_report *report,
                                const struct diff_settings *settings, const char *path)
{
    struct folded folded = { .set = report->set };
    struct cli_output output;
    enum cli_exit status = diff_has_stacks(report, "--folded") ? CLI_OK : CLI_USAGE;

    (void)settings;
    if (status == CLI_OK)
        status = cli_output_open(&output, path);
    if (status != CLI_OK)
        return status;
    cli_output_visible(&output);
    make_lines(&folded);
    put_lines(&folded, &output);
    free(folded.names);
    free(folded.lines);
    base_arena_release(&folded.arena);
    return cli_output_commit(&output);
}
