/* outputs.c - what a report can be written as.  */
#include "cmd/fxtdiff/outputs.h"

enum { JSON, MARKDOWN, JUNIT, SARIF, GITHUB, HTML, FOLDED, PPROF, OUTPUTS };

#define KEY(output) (DIFF_OUTPUT_KEYS + (output))

const struct cli_option diff_output_options[] = {
    { KEY(JSON), 0, "json", NULL, "print one JSON object (schemas/fxtdiff.schema.json)" },
    { KEY(MARKDOWN), 0, "markdown", NULL,
      "print Markdown for a pull request, at most 65,000 characters" },
    { KEY(JUNIT), 0, "junit", "FILE", "write JUnit XML", CLI_FILE },
    { KEY(SARIF), 0, "sarif", "FILE",
      "write SARIF 2.1.0, with the source locations of the findings", CLI_FILE },
    { KEY(GITHUB), 0, "github", NULL,
      "print annotations, and append the report to the step summary ($GITHUB_STEP_SUMMARY)" },
    { KEY(HTML), 0, "html", "FILE",
      "write one HTML page: verdict, runs, functions, flame graph; needs no network", CLI_FILE },
    { KEY(FOLDED), 0, "folded", "FILE",
      "print both sides as folded stacks for a differential flame graph, or write them to FILE",
      CLI_FILE, .optional = true },
    { KEY(PPROF), 0, "pprof", "FILE",
      "print both sides as one profile, which pprof shows as a difference, or write it to FILE",
      CLI_FILE, .optional = true },
    { 0 },
};

const struct diff_output diff_outputs[] = {
    [JSON] = { diff_write_json, .replaces_text = true },
    [MARKDOWN] = { diff_write_markdown, .replaces_text = true },
    [JUNIT] = { diff_write_junit },
    [SARIF] = { diff_write_sarif },
    [GITHUB] = { diff_write_github },
    [HTML] = { diff_write_html, .single = true },
    [FOLDED] = { diff_write_folded, .is_profile = true, .single = true },
    [PPROF] = { diff_write_pprof, .is_profile = true, .binary = true, .single = true },
    [OUTPUTS] = { NULL },
};
