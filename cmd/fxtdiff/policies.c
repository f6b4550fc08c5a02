/* policies.c - what looks at a comparison before it is written.  */
#include "cmd/fxtdiff/policies.h"

enum { BUDGET, TODAY, SUPPRESSIONS, STRICT_ENV, POLICIES };

#define KEY(policy) (DIFF_POLICY_KEYS + (policy))

const struct cli_option diff_policy_options[] = {
    { KEY(BUDGET), 0, "budget", "FILE",
      "hold the new runs against limits: \"function parse_* self < 5%\", \"heap inuse < 64MiB\"; "
      "needs no base",
      CLI_FILE },
    { KEY(TODAY), 0, "today", "DATE", "the day on which suppressions are looked at (2026-12-31)" },
    { KEY(SUPPRESSIONS), 0, "suppressions", "FILE",
      "findings not to fail for: \"function parse_* until 2026-12-31: reason\"", CLI_FILE },
    { KEY(STRICT_ENV), 0, "strict-env", NULL,
      "refuse to compare runs of different machines, kernels or periods" },
    { 0 },
};

const diff_policy_fn diff_policies[] = {
    [BUDGET] = diff_apply_budgets,
    [TODAY] = diff_check_today,
    [SUPPRESSIONS] = diff_apply_suppressions,
    [STRICT_ENV] = diff_require_environment,
    [POLICIES] = NULL,
};
