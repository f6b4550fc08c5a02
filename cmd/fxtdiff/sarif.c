/* sarif.c - findings as SARIF 2.1.0, as code scanning shows them.
 *
 * Sections are those of "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".  */
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/cli_json.h"
#include "cmd/fxtdiff/findings.h"
#include "cmd/fxtdiff/outputs.h"

/* OASIS' final one.  */
#define SCHEMA \
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

static void put_message(struct json *json, const char *key, const char *text)
{
    json_open(json, key, '{');
    json_text(json, "text", text);
    json_close(json, '}');
}

/* ---- Rules (section 3.49) ---- */

static void put_rule(struct json *json, enum diff_finding_kind kind)
{
    static const char *const levels[] = {
        [DIFF_FINDING_INCONCLUSIVE] = "warning", [DIFF_FINDING_TOTAL] = "error",
        [DIFF_FINDING_FUNCTION] = "error",       [DIFF_FINDING_MOVED] = "note",
        [DIFF_FINDING_BUDGET] = "error",
    };

    static const char *const names[] = {
        [DIFF_FINDING_INCONCLUSIVE] = "NoVerdict",     [DIFF_FINDING_TOTAL] = "TotalRegressed",
        [DIFF_FINDING_FUNCTION] = "FunctionRegressed", [DIFF_FINDING_MOVED] = "FunctionMoved",
        [DIFF_FINDING_BUDGET] = "BudgetExceeded",
    };

    json_open(json, NULL, '{');
    json_text(json, "id", diff_finding_id(kind));
    json_text(json, "name", names[kind]);
    put_message(json, "shortDescription", diff_finding_help(kind));
    put_message(json, "fullDescription", diff_finding_remedy(kind));
    put_message(json, "help", diff_finding_remedy(kind));
    json_open(json, "defaultConfiguration", '{');
    json_text(json, "level", levels[kind]);
    json_close(json, '}');
    json_close(json, '}');
}

static void put_tool(struct json *json)
{
    json_open(json, "tool", '{');
    json_open(json, "driver", '{');
    json_text(json, "name", "fxtdiff");
    json_text(json, "version", FXT_TOOLCHAIN_VERSION);
    json_open(json, "rules", '[');
    for (unsigned kind = 0; kind < DIFF_FINDING_KINDS; kind++)
        put_rule(json, (enum diff_finding_kind)kind);
    json_close(json, ']');
    json_close(json, '}');
    json_close(json, '}');
}

/* ---- Results (section 3.27) ---- */

/* A path as a URI reference (RFC 3986): absolute ones as file:///.  */
static char *uri_of(const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-._~/+,=@";
    char *uri = cli_allocate(strlen(path) + 8, 3);
    char *end = uri;

    if (*path == '/')
        end += snprintf(end, 8, "file://");
    for (; *path; path++)
        if (strchr(plain, *path))
            *end++ = *path;
        else
            end += snprintf(end, 4, "%%%02X", (unsigned)(unsigned char)*path);
    *end = '\0';
    return uri;
}

/* Code scanning refuses results without a place.  Functions without one, outside of any CI: the
 * program itself.  */
static void put_location(struct json *json, const struct diff_finding *finding)
{
    char *uri = uri_of(*finding->file ? finding->file : "fxtdiff");

    json_open(json, "locations", '[');
    json_open(json, NULL, '{');
    json_open(json, "physicalLocation", '{');
    json_open(json, "artifactLocation", '{');
    json_text(json, "uri", uri);
    json_close(json, '}');
    json_open(json, "region", '{');
    json_unsigned(json, "startLine", finding->line > 0 ? finding->line : 1);
    json_close(json, '}');
    json_close(json, '}');
    if (finding->kind == DIFF_FINDING_FUNCTION || finding->kind == DIFF_FINDING_MOVED) {
        json_open(json, "logicalLocations", '[');
        json_open(json, NULL, '{');
        json_text(json, "fullyQualifiedName", finding->name);
        json_text(json, "kind", "function");
        json_close(json, '}');
        json_close(json, ']');
    }
    json_close(json, '}');
    json_close(json, ']');
    free(uri);
}

static void put_result(struct json *json, const struct diff_finding *finding)
{
    static const char *const levels[] = {
        [DIFF_NOTE] = "note", [DIFF_WARNING] = "warning", [DIFF_ERROR] = "error"
    };

    json_open(json, NULL, '{');
    json_text(json, "ruleId", diff_finding_id(finding->kind));
    json_unsigned(json, "ruleIndex", finding->kind);
    json_text(json, "level", levels[finding->level]);
    put_message(json, "message", finding->message);
    put_location(json, finding);
    json_open(json, "partialFingerprints", '{'); /* so that a finding is known again */
    json_text(json, "fxtdiffName/v1", finding->name);
    json_close(json, '}');
    if (finding->suppressed) {
        json_open(json, "suppressions", '[');
        json_open(json, NULL, '{');
        json_text(json, "kind", "external");
        json_text(json, "justification", finding->suppressed);
        json_close(json, '}');
        json_close(json, ']');
    }
    json_close(json, '}');
}

/* ---- The log (section 3.13) ---- */

static void put_run(struct json *json, const struct compare_report *report)
{
    struct diff_findings findings = diff_find(report);
    char *id = cli_join("fxtdiff/", report->benchmark ? report->benchmark : "");

    json_open(json, NULL, '{');
    put_tool(json);
    if (report->benchmark) { /* section 3.17: runs of one upload need categories of their own */
        json_open(json, "automationDetails", '{');
        json_text(json, "id", id);
        json_close(json, '}');
    }
    json_open(json, "invocations", '[');
    json_open(json, NULL, '{');
    json_bool(json, "executionSuccessful", true);
    json_unsigned(json, "exitCode", diff_verdict_exit(report->verdict));
    json_close(json, '}');
    json_close(json, ']');
    json_open(json, "results", '[');
    for (size_t i = 0; i < findings.count; i++)
        put_result(json, &findings.items[i]);
    json_close(json, ']');
    json_open(json, "properties", '{');
    json_text(json, "verdict", compare_verdict_name(report->verdict));
    json_text(json, "power", report->power);
    json_close(json, '}');
    json_close(json, '}');
    free(id);
    diff_findings_release(&findings);
}

enum cli_exit diff_write_sarif(const struct compare_report *report,
                               const struct diff_settings *settings, const char *path)
{
    struct cli_output output;
    struct json json = { .output = &output };
    enum cli_exit status = cli_output_open(&output, path);

    (void)settings;
    if (status != CLI_OK)
        return status;
    json_open(&json, NULL, '{');
    json_text(&json, "$schema", SCHEMA);
    json_text(&json, "version", "2.1.0");
    json_open(&json, "runs", '[');
    for (; report; report = report->next)
        put_run(&json, report);
    json_close(&json, ']');
    json_close(&json, '}');
    json_end_line(&json);
    return cli_output_commit(&output);
}
