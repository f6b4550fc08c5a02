/* policies.c - what looks at a comparison before it is written.  */
#include "cmd/fxtdiff/policies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/fxtdiff/text_file.h"

enum { BUDGET, TODAY, SUPPRESSIONS, STRICT_ENV, POLICIES };

#define KEY(policy) (DIFF_POLICY_KEYS + (policy))

const struct cli_option diff_policy_options[] = {
    { KEY(BUDGET), 0, "budget", "FILE",
      "check the new runs against limits: \"function parse_* self < 5%\", \"heap inuse < 64MiB\"; "
      "base runs are optional",
      CLI_FILE },
    { KEY(TODAY), 0, "today", "DATE",
      "evaluate the dates of suppressions on DATE: 2026-12-31 (default: today)" },
    { KEY(SUPPRESSIONS), 0, "suppressions", "FILE",
      "ignore the findings listed in FILE: \"function parse_* until 2026-12-31: reason\"",
      CLI_FILE },
    { KEY(STRICT_ENV), 0, "strict-env", NULL,
      "reject runs of different machines, kernels or sampling periods" },
    { 0 },
};

const diff_policy_fn diff_policies[] = {
    [BUDGET] = diff_apply_budgets,
    [TODAY] = diff_check_today,
    [SUPPRESSIONS] = diff_apply_suppressions,
    [STRICT_ENV] = diff_require_environment,
    [POLICIES] = NULL,
};

/* ---- Today ---- */

static enum cli_exit say_date(time_t seconds, char today[11])
{
    struct tm tm;

    if (!gmtime_r(&seconds, &tm) || strftime(today, 11, "%Y-%m-%d", &tm) != 10) {
        cli_error("the time %lld has no date", (long long)seconds);
        return CLI_USAGE;
    }
    return CLI_OK;
}

/* Only suppressions depend on the date: that of --today, else $SOURCE_DATE_EPOCH, else the clock's,
 * in UTC.  */
static enum cli_exit find_today(const struct diff_settings *settings, char today[11])
{
    const char *given = settings->policies[TODAY];
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

enum cli_exit diff_check_today(struct compare_report *report, const struct diff_settings *settings,
                               const char *date)
{
    (void)report;
    (void)settings;
    if (compare_is_date(date))
        return CLI_OK;
    cli_error("--today: not a date such as 2026-12-31: %s", date);
    return CLI_USAGE;
}

/* ---- Files ---- */

enum cli_exit diff_apply_budgets(struct compare_report *report,
                                 const struct diff_settings *settings, const char *path)
{
    struct diff_text_file file;
    struct compare_error error;
    enum cli_exit status = diff_text_open(&file, path, COMPARE_RULES_BYTES);

    (void)settings;
    if (status != CLI_OK)
        return status;
    if (compare_apply_budgets(report, file.name, file.bytes, file.length, &error) != COMPARE_OK)
        status = runs_fail(&error);
    diff_text_close(&file);
    return status;
}

enum cli_exit diff_apply_suppressions(struct compare_report *report,
                                      const struct diff_settings *settings, const char *path)
{
    struct diff_text_file file;
    struct compare_error error;
    char today[11] = "2000-01-01"; /* without a report nothing depends on it */
    enum cli_exit status = report ? find_today(settings, today) : CLI_OK;

    if (status == CLI_OK)
        status = diff_text_open(&file, path, COMPARE_RULES_BYTES);
    if (status != CLI_OK)
        return status;
    if (compare_apply_suppressions(report, file.name, file.bytes, file.length, today, &error) !=
        COMPARE_OK)
        status = runs_fail(&error);
    diff_text_close(&file);
    return status;
}

/* ---- Environment ---- */

enum cli_exit diff_require_environment(struct compare_report *report,
                                       const struct diff_settings *settings, const char *nothing)
{
    struct compare_error error;

    (void)settings;
    (void)nothing;
    if (!report || compare_require_environment(report, &error) == COMPARE_OK)
        return CLI_OK;
    if (error.status == COMPARE_NO_MEMORY)
        return runs_fail(&error);
    cli_error("%s (--strict-env)", error.message);
    return CLI_POLICY;
}
