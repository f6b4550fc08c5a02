/* github.c - findings as workflow commands, and the report as the summary of the step.
 *
 * A line "::error file=F,line=N,title=T::MESSAGE" on stdout becomes an annotation; GitHub shows ten
 * errors, ten warnings and ten notices of a step and drops the others.  What is appended to the
 * file that $GITHUB_STEP_SUMMARY names is shown, as Markdown, on the page of the run.  */
#include <stdlib.h>
#include <string.h>

#include "cmd/fxtdiff/findings.h"
#include "cmd/fxtdiff/outputs.h"
#include "cmd/fxtdiff/print.h"

#define SHOWN 10 /* of each level */

/* Properties end at ',' and ':', messages at the line's end.  */
static void put_escaped(struct cli_output *output, const char *text, bool property)
{
    for (; *text; text++)
        if (*text == '%' || *text == '\r' || *text == '\n' ||
            (property && (*text == ':' || *text == ',')))
            diff_print(output, "%%%02X", (unsigned)(unsigned char)*text);
        else
            (void)cli_output_write(output, text, 1);
}

static void put_annotation(struct cli_output *output, const struct diff_finding *finding)
{
    static const char *const commands[] = {
        [DIFF_NOTE] = "notice", [DIFF_WARNING] = "warning", [DIFF_ERROR] = "error"
    };

    diff_print(output, "::%s ", commands[finding->level]);
    if (*finding->file) {
        diff_print(output, "file=");
        put_escaped(output, finding->file, true);
        diff_print(output, finding->line > 0 ? ",line=%u," : ",", finding->line);
    }
    diff_print(output, "title=fxtdiff %s::", diff_finding_id(finding->kind));
    put_escaped(output, finding->message, false);
    diff_print(output, "\n");
}

static void put_annotations(const struct compare_report *report, struct cli_output *output,
                            size_t *shown)
{
    struct diff_findings findings = diff_find(report);

    for (size_t i = 0; i < findings.count; i++)
        if (shown[findings.items[i].level]++ < SHOWN)
            put_annotation(output, &findings.items[i]);
    if (report->verdict == COMPARE_PASS && shown[DIFF_NOTE]++ < SHOWN) {
        diff_print(output, "::notice title=fxtdiff PASS::");
        put_escaped(output, report->benchmark ? report->benchmark : "", false);
        put_escaped(output, report->benchmark ? ": " : "", false);
        put_escaped(output, report->comparison ? report->power : "all budgets are kept", false);
        diff_print(output, "\n");
    }
    diff_findings_release(&findings);
}

static enum cli_exit append_summary(const struct compare_report *report,
                                    const struct diff_settings *settings)
{
    const char *path = getenv("GITHUB_STEP_SUMMARY");
    struct cli_output output;
    enum cli_exit status;

    if (!path || !*path)
        return CLI_OK;
    status = cli_output_append(&output, path);
    if (status != CLI_OK)
        return status;
    diff_print_markdown(report, settings, &output);
    return cli_output_commit(&output);
}

enum cli_exit diff_write_github(const struct compare_report *report,
                                const struct diff_settings *settings, const char *nothing)
{
    size_t shown[DIFF_ERROR + 1] = { 0 }; /* GitHub shows so many of a step */
    struct cli_output output;
    enum cli_exit status = cli_output_open(&output, NULL);

    (void)nothing;
    if (status != CLI_OK)
        return status;
    for (const struct compare_report *one = report; one; one = one->next)
        put_annotations(one, &output, shown);
    status = cli_output_commit(&output);
    return cli_worse(status, append_summary(report, settings));
}
