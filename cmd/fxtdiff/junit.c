/* junit.c - a report as JUnit XML, as Jenkins, GitLab and others read it.
 *
 * Valid for the schema of Jenkins' xUnit plugin, which allows no file of a test case; GitLab reads
 * it, so it is written in GitLab's jobs alone.
 *
 * A test case for whether there is a verdict, for the total, for each function that was tested, and
 * for each budget.  What is inconclusive is an error, so that it never looks like a pass.  */
#include <stdlib.h>
#include <string.h>

#include "cmd/fxtdiff/findings.h"
#include "cmd/fxtdiff/outputs.h"
#include "cmd/fxtdiff/print.h"
#include "cmd/fxtdiff/source_paths.h"

/* Points to one of findings.  */
struct junit_place {
    const struct diff_finding *finding;
};

struct junit {
    const struct compare_report *report;
    struct diff_findings findings;
    struct cli_output *output;
    /* Finding of each row and rule; NULL: none.  */
    struct junit_place *of_row, *of_rule;
    const struct diff_finding *total, *inconclusive;
};

/* Bytes 0 to 31 are not there: texts of a report are clean.  */
static void put_escaped(struct cli_output *output, const char *text)
{
    for (;;) {
        size_t plain = strcspn(text, "&<>\"");

        (void)cli_output_write(output, text, plain);
        text += plain;
        switch (*text++) {
        case '&':
            diff_print(output, "&amp;");
            break;
        case '<':
            diff_print(output, "&lt;");
            break;
        case '>':
            diff_print(output, "&gt;");
            break;
        case '"':
            diff_print(output, "&quot;");
            break;
        default:
            return;
        }
    }
}

static void put_attribute(struct cli_output *output, const char *name, const char *value)
{
    diff_print(output, " %s=\"", name);
    put_escaped(output, value);
    diff_print(output, "\"");
}

/* ---- Cases ---- */

static const char *element_of(const struct diff_finding *finding)
{
    if (finding->suppressed)
        return "skipped";
    switch (finding->level) {
    case DIFF_ERROR:
        return "failure";
    case DIFF_WARNING:
        return "error";
    case DIFF_NOTE:
        break;
    }
    return NULL;
}

/* "src/parse.c:30".  */
static void put_place(struct cli_output *output, const struct diff_finding *finding)
{
    put_escaped(output, finding->file);
    if (finding->line > 0)
        diff_print(output, ":%u", finding->line);
}

static void put_outcome(struct junit *junit, const struct diff_finding *finding)
{
    const char *element = element_of(finding);

    if (!element) {
        diff_print(junit->output, "      <system-out>");
        put_escaped(junit->output, finding->message);
        diff_print(junit->output, "</system-out>\n");
        return;
    }
    diff_print(junit->output, "      <%s", element);
    put_attribute(junit->output, "message", finding->message);
    if (!finding->suppressed)
        put_attribute(junit->output, "type", diff_finding_id(finding->kind));
    diff_print(junit->output, ">");
    put_place(junit->output, finding);
    diff_print(junit->output, "</%s>\n", element);
}

/* file: "" unknown.  */
static void put_case(struct junit *junit, const char *class, const char *name, const char *file,
                     const struct diff_finding *finding)
{
    struct cli_output *output = junit->output;

    diff_print(output, "    <testcase");
    put_attribute(output, "name", name);
    put_attribute(output, "classname", class);
    if (*file && getenv("GITLAB_CI"))
        put_attribute(output, "file", file);
    diff_print(output, " time=\"0\"%s>\n", finding ? "" : "/");
    if (!finding)
        return;
    put_outcome(junit, finding);
    diff_print(output, "    </testcase>\n");
}

static bool has_case(const struct junit *junit, size_t row)
{
    const struct compare_row *it = &junit->report->rows[row];

    return it->self.tested || it->total.tested || junit->of_row[row].finding;
}

static void put_cases(struct junit *junit)
{
    const struct compare_report *report = junit->report;

    put_case(junit, "fxtdiff", "conclusive", "", junit->inconclusive);
    if (report->comparison)
        put_case(junit, "fxtdiff", "total", "", junit->total);
    for (size_t i = 0; i < report->rule_count; i++)
        put_case(junit, "fxtdiff.budget", report->rules[i].text, "", junit->of_rule[i].finding);
    for (size_t i = 0; i < report->row_count; i++) {
        char *file;

        if (!has_case(junit, i))
            continue;
        file = diff_source_path(compare_file_of(report->rows[i].names, NULL));
        put_case(junit, "fxtdiff.function", report->rows[i].names->name, file,
                 junit->of_row[i].finding);
        free(file);
    }
}

/* ---- The file ---- */

static void index_findings(struct junit *junit)
{
    const struct compare_report *report = junit->report;

    junit->of_row = cli_allocate(report->row_count + 1, sizeof *junit->of_row);
    junit->of_rule = cli_allocate(report->rule_count + 1, sizeof *junit->of_rule);
    for (size_t i = 0; i < junit->findings.count; i++) {
        const struct diff_finding *finding = &junit->findings.items[i];

        switch (finding->kind) {
        case DIFF_FINDING_INCONCLUSIVE:
            junit->inconclusive = finding;
            break;
        case DIFF_FINDING_TOTAL:
            junit->total = finding;
            break;
        case DIFF_FINDING_FUNCTION:
        case DIFF_FINDING_MOVED:
            junit->of_row[finding->row].finding = finding;
            break;
        default:
            junit->of_rule[finding->row].finding = finding;
            break;
        }
    }
}

static size_t count_elements(const struct junit *junit, const char *element)
{
    size_t count = 0;

    for (size_t i = 0; i < junit->findings.count; i++) {
        const char *of = element_of(&junit->findings.items[i]);

        count += of && strcmp(of, element) == 0;
    }
    return count;
}

static size_t count_cases(const struct junit *junit)
{
    const struct compare_report *report = junit->report;
    size_t cases = (report->comparison ? 2 : 1) + report->rule_count;

    for (size_t i = 0; i < report->row_count; i++)
        cases += has_case(junit, i);
    return cases;
}

struct counts {
    size_t tests, failures, errors, skipped;
};

static void put_counts(struct cli_output *output, const struct counts *counts)
{
    diff_print(output, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" time=\"0\"", counts->tests,
               counts->failures, counts->errors);
}

static struct counts count_suite(const struct junit *junit)
{
    return (struct counts){ count_cases(junit), count_elements(junit, "failure"),
                            count_elements(junit, "error"), count_elements(junit, "skipped") };
}

static void put_suite(struct junit *junit)
{
    const struct compare_report *report = junit->report;
    struct cli_output *output = junit->output;
    struct counts counts = count_suite(junit);

    diff_print(output, "  <testsuite name=\"fxtdiff%s", report->benchmark ? "." : "");
    put_escaped(output, report->benchmark ? report->benchmark : "");
    diff_print(output, "\"");
    put_counts(output, &counts);
    diff_print(output, " skipped=\"%zu\">\n    <properties>\n", counts.skipped);
    diff_print(output, "      <property name=\"verdict\" value=\"%s\"/>\n",
               compare_verdict_name(report->verdict));
    diff_print(output, "      <property name=\"power\"");
    put_attribute(output, "value", report->power);
    diff_print(output, "/>\n    </properties>\n");
    put_cases(junit);
    diff_print(output, "  </testsuite>\n");
}

static void open_suite(struct junit *junit, const struct compare_report *report,
                       struct cli_output *output)
{
    *junit = (struct junit){ .report = report, .output = output, .findings = diff_find(report) };
    index_findings(junit);
}

static void close_suite(struct junit *junit)
{
    diff_findings_release(&junit->findings);
    free(junit->of_row);
    free(junit->of_rule);
}

static void put_suites(const struct compare_report *report, const struct diff_settings *settings,
                       struct cli_output *output)
{
    struct counts all = { 0, 0, 0, 0 };
    struct junit junit;

    (void)settings;
    for (const struct compare_report *one = report; one; one = one->next) {
        struct counts counts;

        open_suite(&junit, one, output);
        counts = count_suite(&junit);
        all.tests += counts.tests;
        all.failures += counts.failures;
        all.errors += counts.errors;
        close_suite(&junit);
    }
    diff_print(output, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
    put_counts(output, &all);
    diff_print(output, ">\n");
    for (; report; report = report->next) {
        open_suite(&junit, report, output);
        put_suite(&junit);
        close_suite(&junit);
    }
    diff_print(output, "</testsuites>\n");
}

enum cli_exit diff_write_junit(const struct compare_report *report,
                               const struct diff_settings *settings, const char *path)
{
    return diff_write_whole(report, settings, path, put_suites);
}
