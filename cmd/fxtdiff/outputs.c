/* outputs.c - what a report can be written as.  */
#include "cmd/fxtdiff/outputs.h"

const struct diff_output diff_outputs[] = {
    { "json", NULL, "print one JSON object (schemas/fxtdiff.schema.json)", diff_write_json, true },
    { "markdown", NULL, "print Markdown for a pull request, under 65,000 characters",
      diff_write_markdown, true },
    { "junit", "FILE", "write JUnit XML", diff_write_junit, false },
    { "sarif", "FILE", "write SARIF 2.1.0, with the findings at their places in the source",
      diff_write_sarif, false },
    { "github", NULL,
      "print annotations, and append the report to the step's summary\n"
      "($GITHUB_STEP_SUMMARY)",
      diff_write_github, false },
    { "folded", "FILE", "write both sides as folded stacks, for a differential flame graph",
      diff_write_folded, false },
    { "pprof", "FILE", "write both sides as a profile that pprof shows as a difference",
      diff_write_pprof, false },
    { 0 },
};
