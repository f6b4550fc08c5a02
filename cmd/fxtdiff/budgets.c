/* budgets.c - limits that hold without a base.
 *
 *     # FILE: one a line
 *     function parse_* self < 5%
 *     function operator new(unsigned long) total < 120ms
 *     total < 2.5s
 *     cpu < 2.5s
 *     heap inuse < 64MiB
 *
 * What is held against a limit is the median of the new runs; of a pattern, all functions of it
 * together.  A limit on what these runs do not measure is not checked, and no verdict passes.  */
#include <stdlib.h>
#include <string.h>

#include "cmd/fxtdiff/policies.h"
#include "cmd/fxtdiff/text_file.h"

#define MOST_BYTES ((size_t)1 << 20)

enum subject { SUBJECT_TOTAL, SUBJECT_TYPE, SUBJECT_SELF, SUBJECT_CALLEES };

struct budget {
    enum subject subject;
    const char *pattern; /* of functions; or the sample type */
    bool inclusive;      /* <= */
    double limit;        /* in unit; a share for '%' */
    const char *unit;    /* "nanoseconds", "bytes", "count", "%" */
};

/* ---- Amounts ---- */

static const struct unit {
    const char *name;
    const char *unit;
    double scale;
} units[] = {
    { "%", "%", 0.01 },
    { "ns", "nanoseconds", 1 },
    { "us", "nanoseconds", 1e3 },
    { "ms", "nanoseconds", 1e6 },
    { "s", "nanoseconds", 1e9 },
    { "min", "nanoseconds", 60e9 },
    { "B", "bytes", 1 },
    { "kB", "bytes", 1e3 },
    { "MB", "bytes", 1e6 },
    { "GB", "bytes", 1e9 },
    { "KiB", "bytes", 1024 },
    { "MiB", "bytes", 1024.0 * 1024 },
    { "GiB", "bytes", 1024.0 * 1024 * 1024 },
    { "", "count", 1 },
    /* As sample types spell them.  */
    { "nanoseconds", "nanoseconds", 1 },
    { "microseconds", "nanoseconds", 1e3 },
    { "milliseconds", "nanoseconds", 1e6 },
    { "seconds", "nanoseconds", 1e9 },
    { "bytes", "bytes", 1 },
    { "kilobytes", "bytes", 1024 },
    { "megabytes", "bytes", 1024.0 * 1024 },
    { "count", "count", 1 },
};

static const struct unit *find_unit(const char *name)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].name, name) == 0)
            return &units[i];
    return NULL;
}

static bool parse_amount(const char *text, struct budget *budget)
{
    const struct unit *unit;
    const char *rest;
    double number;

    if (!diff_take_number(text, &number, &rest))
        return false;
    unit = find_unit(rest + strspn(rest, " \t"));
    if (!unit)
        return false;
    budget->limit = number * unit->scale;
    budget->unit = unit->unit;
    return true;
}

/* ---- Statements ---- */

/* "inuse" for short.  */
static const char *heap_type(const char *word)
{
    if (strcmp(word, "inuse") == 0)
        return "inuse_space";
    if (strcmp(word, "alloc") == 0)
        return "alloc_space";
    return strcmp(word, "free") == 0 ? "free_space" : word;
}

static enum cli_exit parse_subject(const struct diff_text_file *file, char *text,
                                   struct budget *budget)
{
    char *rest = text;
    const char *word = diff_take_word(&rest);
    const char *last;

    if (strcmp(word, "function") == 0) {
        last = diff_take_last_word(rest);
        if (strcmp(last, "self") != 0 && strcmp(last, "total") != 0)
            return diff_text_wrong(file, "neither \"self\" nor \"total\" before the limit");
        budget->subject = *last == 's' ? SUBJECT_SELF : SUBJECT_CALLEES;
        if (last == rest || !*rest)
            return diff_text_wrong(file, "which function?");
        budget->pattern = rest;
        return CLI_OK;
    }
    budget->subject = SUBJECT_TYPE;
    budget->pattern = word;
    if (strcmp(word, "heap") == 0)
        budget->pattern = heap_type(diff_take_word(&rest));
    else if (strcmp(word, "total") == 0)
        budget->subject = SUBJECT_TOTAL;
    else if (strcmp(word, "cpu") != 0 && strcmp(word, "wall") != 0 && strcmp(word, "samples") != 0)
        return diff_text_wrong(file,
                               "none of \"function\", \"total\", \"cpu\", \"wall\", \"samples\" "
                               "and \"heap\": %s",
                               word);
    if (!*budget->pattern)
        return diff_text_wrong(file, "what of the heap: inuse, alloc or free?");
    if (*rest)
        return diff_text_wrong(file, "what is this: %s", rest);
    return CLI_OK;
}

static enum cli_exit parse(const struct diff_text_file *file, char *line, struct budget *budget)
{
    char *sign = strrchr(line, '<');
    const char *amount;
    size_t end;
    enum cli_exit status;

    if (!sign)
        return diff_text_wrong(file, "no \"< LIMIT\"");
    amount = sign + 1;
    budget->inclusive = *amount == '=';
    amount += budget->inclusive;
    amount += strspn(amount, " \t");
    if (!parse_amount(amount, budget))
        return diff_text_wrong(file, "not a limit as 5%%, 120ms, 64MiB or 1000: %s", amount);
    end = (size_t)(sign - line);
    while (end > 0 && (line[end - 1] == ' ' || line[end - 1] == '\t'))
        end--;
    line[end] = '\0';
    status = parse_subject(file, line, budget);
    if (status == CLI_OK && strcmp(budget->unit, "%") == 0 &&
        (budget->subject == SUBJECT_TOTAL || budget->subject == SUBJECT_TYPE))
        return diff_text_wrong(file, "a total is not a percentage of itself");
    return status;
}

/* ---- Measuring ---- */

struct measuring {
    struct diff_report *report;
    const struct diff_set *set;
    enum diff_side side;
    bool *is_of;    /* of each function: of the pattern */
    bool *is_under; /* of each node: its stack has such a function */
    size_t matches;
    uint32_t heaviest; /* of the functions: its cost in the first run is the largest */
};

bool diff_match_function(const char *pattern, const struct diff_function *function)
{
    char *short_name;
    bool is_match;

    if (diff_match_pattern(pattern, function->name))
        return true;
    short_name = profile_short_name(function->name, strlen(function->name));
    is_match = short_name && diff_match_pattern(pattern, short_name);
    free(short_name);
    return is_match;
}

static void match_functions(struct measuring *measuring, const char *pattern)
{
    const struct diff_set *set = measuring->set;

    measuring->matches = 0;
    for (size_t f = 0; f < set->function_count; f++) {
        measuring->is_of[f] = set->functions[f].places[measuring->side].name &&
                              diff_match_function(pattern, &set->functions[f]);
        if (measuring->is_of[f] && measuring->matches++ == 0)
            measuring->heaviest = (uint32_t)f;
    }
    for (size_t n = 1; n < set->node_count; n++) /* parents stand before their children */
        measuring->is_under[n] = measuring->is_under[set->nodes[n].parent] ||
                                 measuring->is_of[set->nodes[n].function];
}

/* What the functions of the pattern cost in one run, between *least and *most: a run without stacks
 * does not tell how often they call each other.  */
static void cost_of_functions(struct measuring *measuring, const struct diff_run *run,
                              bool with_callees, double *least, double *most)
{
    double largest = -1;

    *least = *most = 0;
    for (size_t i = 0; i < run->cost_count; i++) {
        const struct diff_cost *cost = &run->costs[i];
        double value = with_callees ? cost->total : cost->self;

        if (!measuring->is_of[cost->function])
            continue;
        *most += value;
        if (value > largest) {
            largest = value;
            measuring->heaviest = cost->function;
        }
    }
    *least = with_callees && largest > 0 ? largest : *most;
    if (!with_callees || run->stack_count == 0)
        return;
    *least = 0;
    for (size_t i = 0; i < run->stack_count; i++)
        if (measuring->is_under[run->stacks[i].node])
            *least += run->stacks[i].value;
    *most = *least;
}

static int by_size(const void *a, const void *b)
{
    const double *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

static double median_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_size);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* ---- Judging ---- */

static const char *say_amount(const struct measuring *measuring, const struct budget *budget,
                              double value, char text[32])
{
    const struct unit *own = find_unit(measuring->set->type.unit);

    if (strcmp(budget->unit, "%") == 0)
        (void)snprintf(text, 32, "%.2f%%", 100 * value);
    else
        return diff_amount(measuring->set, own ? value / own->scale : value, text);
    return text;
}

/* Why a budget cannot be held against these runs; NULL: it can.  */
static const char *misfit(struct measuring *measuring, const struct budget *budget)
{
    const struct diff_type *type = &measuring->set->type;
    const struct unit *own = find_unit(type->unit);

    if (measuring->set->side_runs[measuring->side] == 0)
        return "there are no runs";
    if (budget->subject == SUBJECT_TYPE && strcmp(budget->pattern, type->type) != 0)
        return diff_report_text(measuring->report, "these runs measure %s in %s", type->type,
                                type->unit);
    if (strcmp(budget->unit, "%") != 0 && (!own || strcmp(own->unit, budget->unit) != 0))
        return diff_report_text(measuring->report, "these runs measure %s, not %s", type->unit,
                                budget->unit);
    return NULL;
}

/* A bound of each run's value, in the budget's unit.  */
static void measure(struct measuring *measuring, const struct budget *budget, double *least,
                    double *most)
{
    const struct diff_set *set = measuring->set;
    const struct unit *own = find_unit(set->type.unit);
    double scale = own ? own->scale : 1;
    size_t count = 0;

    for (size_t i = 0; i < set->run_count; i++) {
        const struct diff_run *run = &set->runs[i];

        if (run->side != measuring->side)
            continue;
        least[count] = most[count] = run->cost;
        if (budget->subject == SUBJECT_SELF || budget->subject == SUBJECT_CALLEES)
            cost_of_functions(measuring, run, budget->subject == SUBJECT_CALLEES, &least[count],
                              &most[count]);
        if (strcmp(budget->unit, "%") == 0) {
            least[count] = run->cost > 0 ? least[count] / run->cost : 0;
            most[count] = run->cost > 0 ? most[count] / run->cost : 0;
        } else {
            least[count] *= scale;
            most[count] *= scale;
        }
        count++;
    }
}

static bool is_kept(const struct budget *budget, double value)
{
    return budget->inclusive ? value <= budget->limit : value < budget->limit;
}

/* "parse_header and 2 others", for what is a function's.  */
static const char *say_functions(struct measuring *measuring, const struct budget *budget)
{
    const char *name;

    if (budget->subject == SUBJECT_TOTAL || budget->subject == SUBJECT_TYPE)
        return "";
    if (measuring->matches == 0)
        return "no such function was seen: ";
    name = measuring->set->functions[measuring->heaviest].name;
    if (measuring->matches == 1)
        return diff_report_text(measuring->report, "%s: ", name);
    return diff_report_text(measuring->report, "%s and %zu other%s: ", name, measuring->matches - 1,
                            measuring->matches == 2 ? "" : "s");
}

static void judge(struct measuring *measuring, const struct budget *budget, struct diff_rule *rule)
{
    size_t count = measuring->set->side_runs[measuring->side];
    double *least = cli_allocate(count, sizeof *least);
    double *most = cli_allocate(count, sizeof *most);
    double low, high;
    char text[32], upper[32];

    measure(measuring, budget, least, most);
    low = median_of(least, count);
    high = median_of(most, count);
    rule->outcome = !is_kept(budget, low)   ? DIFF_RULE_BROKEN
                    : is_kept(budget, high) ? DIFF_RULE_KEPT
                                            : DIFF_RULE_UNKNOWN;
    rule->result = diff_report_text(
        measuring->report, "%s%s%s%s%s", say_functions(measuring, budget),
        say_amount(measuring, budget, low, text), low < high ? " to " : "",
        low < high ? say_amount(measuring, budget, high, upper) : "",
        count > 1 ? diff_report_text(measuring->report, ", median of %zu runs", count) : "");
    if (measuring->matches > 0 && budget->subject >= SUBJECT_SELF)
        rule->file = diff_file_of(&measuring->set->functions[measuring->heaviest], &rule->line);
    if (measuring->matches == 0 && budget->subject >= SUBJECT_SELF)
        diff_report_note(measuring->report, "%s: no function matches %s", rule->place,
                         budget->pattern);
    free(least);
    free(most);
}

static void hold_against(struct measuring *measuring, const struct budget *budget,
                         struct diff_rule *rule)
{
    const char *why = misfit(measuring, budget);

    if (!why) {
        if (budget->subject >= SUBJECT_SELF)
            match_functions(measuring, budget->pattern);
        judge(measuring, budget, rule);
        return;
    }
    rule->outcome = DIFF_RULE_UNKNOWN;
    rule->result = why;
}

/* Every budget of the file; held against what was measured, unless that is NULL.  */
static enum cli_exit apply_each(struct diff_text_file *file, struct measuring *measuring)
{
    struct budget budget = { .unit = "", .pattern = "" };
    size_t count = 0;
    char *line;

    for (; (line = diff_text_statement(file)) != NULL; count++) {
        const char *text = measuring ? diff_report_text(measuring->report, "%s", line) : NULL;
        enum cli_exit status = parse(file, line, &budget);

        if (status != CLI_OK)
            return status;
        if (measuring) {
            struct diff_rule *rule = diff_report_rule(measuring->report);

            rule->text = text;
            rule->place = diff_report_text(measuring->report, "%s:%zu", file->path, file->line);
            hold_against(measuring, &budget, rule);
        }
    }
    if (count > 0)
        return CLI_OK;
    cli_error("%s: no budgets", file->path);
    return CLI_USAGE;
}

static enum cli_exit measure_each(struct diff_text_file *file, struct diff_report *report)
{
    const struct diff_set *set = report->set;
    struct measuring measuring = { .report = report, .set = set };
    enum cli_exit status;

    measuring.side = set->side_runs[DIFF_NEW] > 0 ? DIFF_NEW : DIFF_BASE;
    measuring.is_of = cli_allocate(set->function_count + 1, sizeof *measuring.is_of);
    measuring.is_under = cli_allocate(set->node_count + 1, sizeof *measuring.is_under);
    status = apply_each(file, &measuring);
    free(measuring.is_of);
    free(measuring.is_under);
    return status;
}

enum cli_exit diff_apply_budgets(struct diff_report *report, const char *path)
{
    struct diff_text_file file;
    enum cli_exit status = diff_text_open(&file, path, MOST_BYTES);

    if (status != CLI_OK)
        return status;
    status = report ? measure_each(&file, report) : apply_each(&file, NULL);
    diff_text_close(&file);
    return status;
}
