/* policies.c - what looks at a comparison before it is written.  */
#include "cmd/fxtdiff/policies.h"

const struct diff_policy diff_policies[] = {
    { "budget", "FILE",
      "hold the new runs against limits: \"function parse_* self < 5%\",\n"
      "\"heap inuse < 64MiB\"; needs no base",
      diff_apply_budgets },
    { "today", "DATE", "the day on which suppressions are looked at (2026-12-31)",
      diff_check_today },
    { "suppressions", "FILE",
      "findings not to fail for: \"function parse_* until 2026-12-31: reason\"",
      diff_apply_suppressions },
    { "strict-env", NULL, "refuse to compare runs of different machines, kernels or periods",
      diff_require_environment },
    { 0 },
};
