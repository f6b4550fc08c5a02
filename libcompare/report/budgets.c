/* budgets.c - limits that hold without a base.
 *
 * What is held against a limit is the median of the new runs; of a pattern, all functions of it
 * together.  A limit on what these runs do not measure is not checked, and no verdict passes.  */
#include <stdio.h>
#include <string.h>

#include "libcompare/report/report.h"
#include "libcompare/statements.h"

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

    if (!statements_number(text, &number, &rest))
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

static enum compare_status parse_subject(const struct statements *file, char *text,
                                         struct budget *budget)
{
    char *rest = text;
    const char *word = statements_word(&rest);
    const char *last;

    if (strcmp(word, "function") == 0) {
        last = statements_last_word(rest);
        if (strcmp(last, "self") != 0 && strcmp(last, "total") != 0)
            return statements_wrong(file, "neither \"self\" nor \"total\" before the limit");
        budget->subject = *last == 's' ? SUBJECT_SELF : SUBJECT_CALLEES;
        if (last == rest || !*rest)
            return statements_wrong(file, "no name after \"function\"");
        budget->pattern = rest;
        return COMPARE_OK;
    }
    budget->subject = SUBJECT_TYPE;
    budget->pattern = word;
    if (strcmp(word, "heap") == 0)
        budget->pattern = heap_type(statements_word(&rest));
    else if (strcmp(word, "total") == 0)
        budget->subject = SUBJECT_TOTAL;
    else if (strcmp(word, "cpu") != 0 && strcmp(word, "wall") != 0 && strcmp(word, "samples") != 0)
        return statements_wrong(file,
                                "none of \"function\", \"total\", \"cpu\", \"wall\", \"samples\" "
                                "and \"heap\": %s",
                                word);
    if (!*budget->pattern)
        return statements_wrong(file, "neither \"inuse\", \"alloc\" nor \"free\" after \"heap\"");
    if (*rest)
        return statements_wrong(file, "unexpected text: %s", rest);
    return COMPARE_OK;
}

static enum compare_status parse(const struct statements *file, char *line, struct budget *budget)
{
    char *sign = strrchr(line, '<');
    const char *amount;
    size_t end;
    enum compare_status status;

    if (!sign)
        return statements_wrong(file, "no \"< LIMIT\"");
    amount = sign + 1;
    budget->inclusive = *amount == '=';
    amount += budget->inclusive;
    amount += strspn(amount, " \t");
    if (!parse_amount(amount, budget))
        return statements_wrong(file, "not a limit such as 5%%, 120ms, 64MiB or 1000: %s", amount);
    end = (size_t)(sign - line);
    while (end > 0 && (line[end - 1] == ' ' || line[end - 1] == '\t'))
        end--;
    line[end] = '\0';
    status = parse_subject(file, line, budget);
    if (status == COMPARE_OK && strcmp(budget->unit, "%") == 0 &&
        (budget->subject == SUBJECT_TOTAL || budget->subject == SUBJECT_TYPE))
        return statements_wrong(file, "the limit of a total cannot be a percentage");
    return status;
}

/* ---- Measuring ---- */

struct measuring {
    struct compare_report *report;
    const struct compare_set *set;
    enum compare_side side;
    bool *is_of;          /* of each function: of the pattern */
    bool *is_under;       /* of each node: its stack has such a function */
    double *least, *most; /* of each run of the side: bounds of what is measured */
    size_t matches;
    uint32_t heaviest; /* of the functions: its cost in the first run is the largest */
};

static void match_functions(struct measuring *measuring, const char *pattern)
{
    const struct compare_set *set = measuring->set;

    measuring->matches = 0;
    for (size_t f = 0; f < set->function_count; f++) {
        measuring->is_of[f] = set->functions[f].places[measuring->side].name &&
                              statements_match(pattern, &set->functions[f],
                                               &measuring->report->memory->failed);
        if (measuring->is_of[f] && measuring->matches++ == 0)
            measuring->heaviest = (uint32_t)f;
    }
    for (size_t n = 1; n < set->node_count; n++) /* parents stand before their children */
        measuring->is_under[n] = measuring->is_under[set->nodes[n].parent] ||
                                 measuring->is_of[set->nodes[n].function];
}

/* What the functions of the pattern cost in one run, between *least and *most: a run without stacks
 * does not tell how often they call each other.  */
static void cost_of_functions(struct measuring *measuring, const struct compare_run *run,
                              bool with_callees, double *least, double *most)
{
    double largest = -1;

    *least = *most = 0;
    for (size_t i = 0; i < run->cost_count; i++) {
        const struct compare_cost *cost = &run->costs[i];
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
                              double value, char text[COMPARE_NUMBER_BYTES])
{
    const struct unit *own = find_unit(measuring->set->type.unit);

    if (strcmp(budget->unit, "%") == 0)
        (void)snprintf(text, COMPARE_NUMBER_BYTES, "%.2f%%", 100 * value);
    else
        return compare_amount(measuring->set->type.unit, own ? value / own->scale : value, text);
    return text;
}

/* Why a budget cannot be held against these runs; NULL: it can.  */
static const char *misfit(struct measuring *measuring, const struct budget *budget)
{
    const struct compare_type *type = &measuring->set->type;
    const struct unit *own = find_unit(type->unit);

    if (measuring->set->side_runs[measuring->side] == 0)
        return "there are no runs";
    if (budget->subject == SUBJECT_TYPE && strcmp(budget->pattern, type->type) != 0)
        return report_text(measuring->report, "these runs measure %s in %s", type->type,
                           type->unit);
    if (strcmp(budget->unit, "%") != 0 && (!own || strcmp(own->unit, budget->unit) != 0))
        return report_text(measuring->report, "these runs measure %s, not %s", type->unit,
                           budget->unit);
    return NULL;
}

/* The bounds of each run's value, in the budget's unit.  */
static void measure(struct measuring *measuring, const struct budget *budget)
{
    const struct compare_set *set = measuring->set;
    const struct unit *own = find_unit(set->type.unit);
    double scale = own ? own->scale : 1;
    double *least = measuring->least, *most = measuring->most;
    size_t count = 0;

    for (size_t i = 0; i < set->run_count; i++) {
        const struct compare_run *run = &set->runs[i];

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
        return "no such function in the runs: ";
    name = measuring->set->functions[measuring->heaviest].name;
    if (measuring->matches == 1)
        return report_text(measuring->report, "%s: ", name);
    return report_text(measuring->report, "%s and %zu other%s: ", name, measuring->matches - 1,
                       measuring->matches == 2 ? "" : "s");
}

/* "1.2 s to 1.4 s, median of 5 runs".  */
static const char *say_result(struct measuring *measuring, const struct budget *budget, double low,
                              double high)
{
    size_t count = measuring->set->side_runs[measuring->side];
    char text[COMPARE_NUMBER_BYTES], upper[COMPARE_NUMBER_BYTES], median[40] = "";

    if (count > 1)
        (void)snprintf(median, sizeof median, ", median of %zu runs", count);
    return report_text(measuring->report, "%s%s%s%s%s", say_functions(measuring, budget),
                       say_amount(measuring, budget, low, text), low < high ? " to " : "",
                       low < high ? say_amount(measuring, budget, high, upper) : "", median);
}

static void judge(struct measuring *measuring, const struct budget *budget,
                  struct compare_rule *rule)
{
    size_t count = measuring->set->side_runs[measuring->side];
    double low, high;

    measure(measuring, budget);
    low = median_of(measuring->least, count);
    high = median_of(measuring->most, count);
    rule->outcome = !is_kept(budget, low)   ? COMPARE_RULE_BROKEN
                    : is_kept(budget, high) ? COMPARE_RULE_KEPT
                                            : COMPARE_RULE_UNKNOWN;
    rule->result = say_result(measuring, budget, low, high);
    if (budget->subject < SUBJECT_SELF)
        return;
    if (measuring->matches > 0)
        rule->file = compare_file_of(&measuring->set->functions[measuring->heaviest], &rule->line);
    else
        report_note(measuring->report, "%s: no function matches %s", rule->place, budget->pattern);
}

static void hold_against(struct measuring *measuring, const struct budget *budget,
                         struct compare_rule *rule)
{
    const char *why = misfit(measuring, budget);

    if (!why) {
        if (budget->subject >= SUBJECT_SELF)
            match_functions(measuring, budget->pattern);
        judge(measuring, budget, rule);
        return;
    }
    rule->outcome = COMPARE_RULE_UNKNOWN;
    rule->result = why;
}

/* Every budget of the file; held against what was measured, unless that is NULL.  */
static enum compare_status apply_each(struct statements *file, struct measuring *measuring)
{
    struct budget budget = { .unit = "", .pattern = "" };
    size_t count = 0;
    char *line;

    for (; (line = statements_next(file)) != NULL; count++) {
        const char *text = measuring ? report_text(measuring->report, "%s", line) : NULL;
        enum compare_status status = parse(file, line, &budget);
        struct compare_rule *rule;

        if (status != COMPARE_OK)
            return status;
        rule = measuring ? report_rule(measuring->report) : NULL;
        if (rule) {
            rule->text = text;
            rule->place = report_text(measuring->report, "%s:%zu", file->name, file->line);
            hold_against(measuring, &budget, rule);
        }
    }
    if (count > 0)
        return COMPARE_OK;
    return compare_fail(file->error, COMPARE_MALFORMED, "%s: no budgets", file->name);
}

static enum compare_status measure_each(struct statements *file, struct compare_report *report)
{
    const struct compare_set *set = report->set;
    struct measuring measuring = { .report = report, .set = set };
    enum compare_status status;

    measuring.side = set->side_runs[COMPARE_NEW] > 0 ? COMPARE_NEW : COMPARE_BASE;
    measuring.is_of = compare_array(set->function_count, sizeof *measuring.is_of);
    measuring.is_under = compare_array(set->node_count, sizeof *measuring.is_under);
    measuring.least = compare_array(set->run_count, sizeof *measuring.least);
    measuring.most = compare_array(set->run_count, sizeof *measuring.most);
    if (measuring.is_of && measuring.is_under && measuring.least && measuring.most)
        status = apply_each(file, &measuring);
    else
        status = compare_no_memory(file->error);
    free(measuring.is_of);
    free(measuring.is_under);
    free(measuring.least);
    free(measuring.most);
    return status == COMPARE_OK ? report_status(report, file->error) : status;
}

enum compare_status compare_apply_budgets(struct compare_report *report, const char *name,
                                          const void *bytes, size_t length,
                                          struct compare_error *error)
{
    struct statements file;
    enum compare_status status = statements_open(&file, name, bytes, length, COMPARE_RULES_BYTES,
                                                 error);

    if (status == COMPARE_OK)
        status = report ? measure_each(&file, report) : apply_each(&file, NULL);
    statements_close(&file);
    return status;
}
