/* suppressions.c - findings that are known and not to fail the gate, each for a reason and a time.
 *
 *     # FILE: one a line
 *     function parse_* until 2026-12-31: rewritten in the next release
 *     total until 2026-12-31: the new allocator, ticket 1234
 *
 * This is the only place where today's date matters: --today, else $SOURCE_DATE_EPOCH, else the
 * clock, in UTC.  */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/fxtdiff/policies.h"
#include "cmd/fxtdiff/text_file.h"

#define MOST_BYTES ((size_t)1 << 20)

/* ---- Dates ---- */

static bool is_leap(unsigned year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* "YYYY-MM-DD", and a day that there is.  Two of them compare as texts.  */
static bool is_date(const char *text)
{
    static const unsigned days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    unsigned numbers[3] = { 0, 0, 0 };
    unsigned part = 0;

    for (size_t i = 0; i < 10; i++) {
        if (i == 4 || i == 7) {
            if (text[i] != '-')
                return false;
            part++;
        } else if (text[i] >= '0' && text[i] <= '9') {
            numbers[part] = numbers[part] * 10 + (unsigned)(text[i] - '0');
        } else {
            return false;
        }
    }
    if (text[10] != '\0' || numbers[1] < 1 || numbers[1] > 12 || numbers[2] < 1)
        return false;
    return numbers[2] <= days[numbers[1] - 1] + (numbers[1] == 2 && is_leap(numbers[0]) ? 1u : 0u);
}

static enum cli_exit say_date(time_t seconds, char today[11])
{
    struct tm tm;

    if (!gmtime_r(&seconds, &tm) || strftime(today, 11, "%Y-%m-%d", &tm) != 10) {
        cli_error("no calendar has the time %lld", (long long)seconds);
        return CLI_USAGE;
    }
    return CLI_OK;
}

/* The argument of another policy's option; NULL: not given.  */
static const char *argument_of(const struct diff_report *report, const char *option)
{
    for (size_t i = 0; diff_policy_options[i].key; i++)
        if (strcmp(diff_policy_options[i].name, option) == 0)
            return report->settings->policies[i];
    return NULL;
}

static enum cli_exit find_today(const struct diff_report *report, char today[11])
{
    const char *given = argument_of(report, "today");
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    char *end = NULL;
    long long seconds;

    if (given) {
        memcpy(today, given, 11); /* diff_check_today() saw to its form */
        return CLI_OK;
    }
    if (!epoch || !*epoch)
        return say_date(time(NULL), today);
    errno = 0;
    seconds = strtoll(epoch, &end, 10);
    if (errno != 0 || *end != '\0') {
        cli_error("SOURCE_DATE_EPOCH is not a number of seconds: %s", epoch);
        return CLI_USAGE;
    }
    return say_date((time_t)seconds, today);
}

enum cli_exit diff_check_today(struct diff_report *report, const char *date)
{
    (void)report;
    if (is_date(date))
        return CLI_OK;
    cli_error("--today: not a date as 2026-12-31: %s", date);
    return CLI_USAGE;
}

/* ---- Suppressions ---- */

struct suppression {
    const char *pattern; /* of functions; NULL: the total */
    const char *until;
    const char *reason;
};

static enum cli_exit parse(const struct diff_text_file *file, char *line, struct suppression *out)
{
    char *until = strstr(line, " until ");
    char *subject = line;

    if (!until)
        return diff_text_wrong(file, "no \"until DATE\", without which nothing is suppressed");
    *until = '\0';
    until += strlen(" until ");
    out->pattern = NULL;
    if (strncmp(subject, "function ", 9) == 0) {
        out->pattern = subject + 9 + strspn(subject + 9, " \t");
        if (!*out->pattern)
            return diff_text_wrong(file, "which function?");
    } else if (strcmp(subject, "total") != 0) {
        return diff_text_wrong(file, "neither \"function NAME\" nor \"total\": %s", subject);
    }
    if (strlen(until) > 10 && until[10] == ':') {
        until[10] = '\0';
        out->reason = until + 11 + strspn(until + 11, " \t");
    } else {
        out->reason = "";
    }
    out->until = until;
    if (!is_date(until))
        return diff_text_wrong(file, "not a date as 2026-12-31: %s", until);
    if (!*out->reason)
        return diff_text_wrong(file, "no reason after the date");
    return CLI_OK;
}

/* Give the reason to every function that regressed and matches the pattern.  */
static void suppress(struct diff_report *report, const struct suppression *suppression)
{
    const char *reason = diff_report_text(report, "%s, until %s", suppression->reason,
                                          suppression->until);

    if (!suppression->pattern) {
        report->total_suppressed = reason;
        return;
    }
    for (size_t i = 0; i < report->row_count; i++) {
        struct diff_row *row = &report->rows[i];

        if (row->flag == COMPARE_REGRESSED && !row->suppressed &&
            diff_match_function(suppression->pattern, row->names))
            row->suppressed = reason;
    }
}

/* Every suppression of the file; applied to report, unless that is NULL.  */
static enum cli_exit apply_each(struct diff_text_file *file, struct diff_report *report,
                                const char *today)
{
    struct suppression suppression = { .until = "", .reason = "" };
    char *line;

    while ((line = diff_text_statement(file)) != NULL) {
        enum cli_exit status = parse(file, line, &suppression);

        if (status != CLI_OK)
            return status;
        if (!report)
            continue;
        if (strcmp(suppression.until, today) >= 0)
            suppress(report, &suppression);
        else
            diff_report_note(report, "%s:%zu: the suppression of %s expired on %s", file->path,
                             file->line, suppression.pattern ? suppression.pattern : "the total",
                             suppression.until);
    }
    return CLI_OK;
}

enum cli_exit diff_apply_suppressions(struct diff_report *report, const char *path)
{
    struct diff_text_file file;
    char today[11] = "";
    enum cli_exit status = report ? find_today(report, today) : CLI_OK;

    if (status == CLI_OK)
        status = diff_text_open(&file, path, MOST_BYTES);
    if (status != CLI_OK)
        return status;
    status = apply_each(&file, report, today);
    diff_text_close(&file);
    return status;
}
