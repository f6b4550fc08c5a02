/* suppressions.c - findings that are known, and do not fail the gate until a date.  */
#include <string.h>

#include "libcompare/report/report.h"
#include "libcompare/statements.h"

/* ---- Dates ---- */

static bool is_leap(unsigned year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* "YYYY-MM-DD", and a day that there is.  Two of them compare as texts.  */
bool compare_is_date(const char *text)
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

/* ---- Suppressions ---- */

struct suppression {
    const char *pattern; /* of functions; NULL: the total */
    const char *until;
    const char *reason;
};

static enum compare_status parse(const struct statements *file, char *line, struct suppression *out)
{
    char *until = strstr(line, " until ");
    char *subject = line;

    if (!until)
        return statements_wrong(file, "no \"until DATE\"; a suppression must have an end");
    *until = '\0';
    until += strlen(" until ");
    out->pattern = NULL;
    if (strncmp(subject, "function ", 9) == 0) {
        out->pattern = subject + 9 + strspn(subject + 9, " \t");
        if (!*out->pattern)
            return statements_wrong(file, "no name after \"function\"");
    } else if (strcmp(subject, "total") != 0) {
        return statements_wrong(file, "neither \"function NAME\" nor \"total\": %s", subject);
    }
    if (strlen(until) > 10 && until[10] == ':') {
        until[10] = '\0';
        out->reason = until + 11 + strspn(until + 11, " \t");
    } else {
        out->reason = "";
    }
    out->until = until;
    if (!compare_is_date(until))
        return statements_wrong(file, "not a date such as 2026-12-31: %s", until);
    if (!*out->reason)
        return statements_wrong(file, "no reason after the date");
    return COMPARE_OK;
}

/* Give the reason to every function that regressed and matches the pattern.  */
static void suppress(struct compare_report *report, const struct suppression *suppression)
{
    const char *reason = report_text(report, "%s, until %s", suppression->reason,
                                     suppression->until);

    if (!suppression->pattern) {
        report->total_suppressed = reason;
        return;
    }
    for (size_t i = 0; i < report->row_count; i++) {
        struct compare_row *row = &report->rows[i];

        if (row->flag == COMPARE_REGRESSED && !row->suppressed &&
            statements_match(suppression->pattern, row->names, &report->memory->failed))
            row->suppressed = reason;
    }
}

static void apply(struct compare_report *report, const struct statements *file,
                  const struct suppression *suppression, const char *today)
{
    if (strcmp(suppression->until, today) >= 0)
        suppress(report, suppression);
    else
        report_note(report, "%s:%zu: the suppression of %s expired on %s", file->name, file->line,
                    suppression->pattern ? suppression->pattern : "the total", suppression->until);
}

enum compare_status compare_apply_suppressions(struct compare_report *report, const char *name,
                                               const void *bytes, size_t length, const char *today,
                                               struct compare_error *error)
{
    struct suppression suppression = { .until = "", .reason = "" };
    struct statements file;
    enum compare_status status;
    char *line;

    if (!compare_is_date(today))
        return compare_fail(error, COMPARE_INVALID, "not a date such as 2026-12-31: %s", today);
    status = statements_open(&file, name, bytes, length, COMPARE_RULES_BYTES, error);
    while (status == COMPARE_OK && (line = statements_next(&file)) != NULL) {
        status = parse(&file, line, &suppression);
        if (status == COMPARE_OK && report)
            apply(report, &file, &suppression, today);
    }
    statements_close(&file);
    return status == COMPARE_OK && report ? report_status(report, error) : status;
}
