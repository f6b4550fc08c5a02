/* markdown.c - the report as a comment on a pull request.
 *
 * GitHub takes 65,536 characters; rows end where that would be exceeded, and the rest is
 * counted.  */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/fxtdiff/format.h"
#include "cmd/fxtdiff/outputs.h"
#include "cmd/fxtdiff/print.h"

/* Bytes, so never fewer than characters.  What follows the rows has the rest of 65,000.  */
#define ROWS_LIMIT   50000
#define NAME_LIMIT   300 /* of what is printed of one name */
#define REASON_LIMIT 1000
#define NOTES        10

/* Text in a table: no escapes of Markdown or HTML, and no end of the cell.  */
static char *escaped(const char *text, size_t limit)
{
    size_t length = strlen(text), used = 0;
    char *out = cli_allocate(limit * 6 + 8, 1);
    size_t taken = 0;

    for (; taken < length && taken < limit; taken++) {
        char c = text[taken];

        if (c == '<' || c == '>' || c == '&') {
            const char *entity = c == '<' ? "&lt;" : c == '>' ? "&gt;" : "&amp;";

            used += (size_t)snprintf(out + used, 8, "%s", entity);
            continue;
        }
        if (strchr("\\`*_{}[]#|~@", c))
            out[used++] = '\\';
        out[used++] = c;
    }
    while (taken < length && used > 0 && ((unsigned char)text[taken] & 0xc0) == 0x80) {
        taken--; /* half a character */
        used--;
    }
    if (taken < length)
        (void)snprintf(out + used, 4, "...");
    return out;
}

static size_t longest_ticks(const char *text)
{
    size_t longest = 0;

    while (*(text += strcspn(text, "`"))) {
        size_t ticks = strspn(text, "`");

        longest = ticks > longest ? ticks : longest;
        text += ticks;
    }
    return longest;
}

/* A name or a path as code, in which nothing is emphasis, a mention or a link.  Bars end cells of
 * a table even there.  What has backslashes is escaped instead: a bar behind one cannot be
 * written.  */
static char *code(const char *text)
{
    size_t ticks = longest_ticks(text) + 1, length = strlen(text), used = ticks;
    char *out;

    if (length == 0 || length > NAME_LIMIT || strchr(text, '\\'))
        return escaped(text, NAME_LIMIT);
    out = cli_allocate(2 * length + 2 * ticks + 3, 1);
    memset(out, '`', ticks);
    if (*text == '`' || text[length - 1] == '`')
        out[used++] = ' '; /* both blanks are taken off again */
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '|')
            out[used++] = '\\';
        out[used++] = text[i];
    }
    if (*text == '`' || text[length - 1] == '`')
        out[used++] = ' ';
    memset(out + used, '`', ticks);
    return out;
}

static void put_line(struct cli_output *output, const char *before, const char *text)
{
    char *clean = escaped(text, REASON_LIMIT);

    diff_print(output, "%s%s\n", before, clean);
    free(clean);
}

static void put_total(const struct compare_report *report, struct cli_output *output)
{
    const struct compare_total_change *total = &report->comparison->total;
    char base[32], new_cost[32], change[32], low[32], high[32], p[32];
    char *type = escaped(report->set->type.type, NAME_LIMIT);

    diff_print(output,
               "\n| %s per run | base | new | change | 95 %% interval | p | runs |\n"
               "| --- | ---: | ---: | ---: | :---: | ---: | :---: |\n"
               "| total | %s | %s | **%s** | %s ... %s | %s | %zu + %zu |\n",
               type, compare_amount(report->set->type.unit, total->base, base),
               compare_amount(report->set->type.unit, total->new_cost, new_cost),
               diff_relative(total->relative, change), diff_relative(total->low, low),
               diff_relative(total->high, high), compare_probability(total->p, p),
               report->comparison->runs[0], report->comparison->runs[1]);
    free(type);
}

static char *row_text(const struct compare_row *row, const char *name)
{
    const char *family;
    const double *interval;
    const struct compare_change *change = diff_row_family(row, &family, &interval);
    char *place = diff_row_place(row);
    char *clean_name = code(name), *clean_place = code(place);
    char *reason = escaped(row->suppressed ? row->suppressed : "", NAME_LIMIT);
    const char *mark = diff_row_mark(row);
    char relative[32], q[32], half[32], *text = NULL;
    bool has_spread = *diff_spread(interval, half);

    if (asprintf(&text, "| %s%s%s | %s | %s | %.2f %% | %.2f %% | %+.2f%s%s | %s | %s | %s |\n",
                 strcmp(mark, "~") == 0 ? "\\~" : mark, *reason ? ": " : "", reason, clean_name,
                 family, 100 * change->base_share, 100 * change->new_share,
                 100 * (change->new_share - change->base_share), has_spread ? " \xc2\xb1 " : "",
                 half, diff_relative(change->relative, relative),
                 change->tested ? compare_probability(change->q, q) : "", clean_place) < 0)
        text = NULL;
    free(place);
    free(clean_name);
    free(clean_place);
    free(reason);
    return text ? text : cli_join("", "");
}

static void put_rows(const struct compare_report *report, const struct diff_settings *settings,
                     struct cli_output *output, size_t limit)
{
    size_t count = diff_shown_rows(report, settings), used = 0, i = 0;
    char **names = diff_row_names(report, count);

    if (count > 0)
        diff_print(output, "\n| | function | of | base | new | points | cost | q | |\n"
                           "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n");
    for (; i < count; i++) {
        char *text = row_text(&report->rows[i], names[i]);
        size_t length = strlen(text);

        if (used + length > limit) {
            free(text);
            break;
        }
        diff_print(output, "%s", text);
        used += length;
        free(text);
    }
    diff_row_names_free(names, count);
    if (i < report->row_count)
        diff_print(output, "\n%s more functions; in all %s are new, %s gone, %s renamed.\n",
                   cli_grouped(report->row_count - i), cli_grouped(report->new_count),
                   cli_grouped(report->gone_count), cli_grouped(report->renamed_count));
}

static void put_rules(const struct compare_report *report, struct cli_output *output)
{
    static const char *const outcomes[] = { "kept", "**exceeded**", "unknown" };
    size_t shown = report->rule_count < NOTES ? report->rule_count : NOTES;

    if (shown > 0)
        diff_print(output, "\n| budget | | |\n| --- | --- | --- |\n");
    for (size_t i = 0; i < shown; i++) {
        const struct compare_rule *rule = &report->rules[i];
        char *text = escaped(rule->text, NAME_LIMIT), *result = escaped(rule->result, NAME_LIMIT);

        diff_print(output, "| %s | %s | %s |\n", text, outcomes[rule->outcome], result);
        free(text);
        free(result);
    }
    if (shown < report->rule_count)
        diff_print(output, "\n%zu more budgets.\n", report->rule_count - shown);
}

static void print_benchmark(const struct compare_report *report,
                            const struct diff_settings *settings, struct cli_output *output,
                            size_t limit)
{
    if (report->benchmark) {
        diff_print(output, "\n");
        put_line(output, "#### ", report->benchmark);
        diff_print(output, "\n**%s**\n\n", compare_verdict_name(report->verdict));
    } else {
        diff_print(output, "### fxtdiff: %s\n\n", compare_verdict_name(report->verdict));
    }
    for (size_t i = 0; i < report->reason_count && i < NOTES; i++)
        put_line(output, "- ", report->reasons[i]);
    if (report->comparison) {
        put_total(report, output);
        put_rows(report, settings, output, limit);
    }
    put_rules(report, output);
    if (report->note_count > 0)
        diff_print(output, "\n");
    for (size_t i = 0; i < report->note_count && i < NOTES; i++)
        put_line(output, "- ", report->notes[i]);
    if (*report->power)
        put_line(output, "\nPower: ", report->power);
}

/* Each benchmark has its part of the room for rows; those for which there is none are counted.  */
void diff_print_markdown(const struct compare_report *report, const struct diff_settings *settings,
                         struct cli_output *output)
{
    uint64_t start = output->written + output->used;
    size_t count = 1, left = 0;

    for (const struct compare_report *one = report->next; one; one = one->next)
        count++;
    if (report->benchmark) {
        char *summary = diff_suite_summary(report);

        put_line(output, "### fxtdiff: ", summary);
        free(summary);
    }
    for (; report; report = report->next)
        if (output->written + output->used - start > ROWS_LIMIT)
            left++;
        else
            print_benchmark(report, settings, output, ROWS_LIMIT / count);
    if (left > 0)
        diff_print(output, "\n%s more benchmarks.\n", cli_grouped(left));
}

enum cli_exit diff_write_markdown(const struct compare_report *report,
                                  const struct diff_settings *settings, const char *path)
{
    return diff_write_whole(report, settings, path, diff_print_markdown);
}
