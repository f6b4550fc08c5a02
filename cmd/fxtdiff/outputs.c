/* outputs.c - what a report can be written as.  */
#include "cmd/fxtdiff/outputs.h"

const struct diff_output diff_outputs[] = {
    { "json", NULL, "print one JSON object (schemas/fxtdiff.schema.json)", diff_write_json, true },
    { "markdown", NULL, "print Markdown for a pull request, under 65,000 characters",
      diff_write_markdown, true },
    { 0 },
};
