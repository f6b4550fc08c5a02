/* policies.h - the functions behind diff_policies[].  */
#ifndef FXTDIFF_POLICIES_H
#define FXTDIFF_POLICIES_H

#include "cmd/fxtdiff/fxtdiff.h"

enum cli_exit diff_apply_budgets(struct compare_report *report,
                                 const struct diff_settings *settings, const char *path);
enum cli_exit diff_apply_suppressions(struct compare_report *report,
                                      const struct diff_settings *settings, const char *path);
enum cli_exit diff_check_today(struct compare_report *report, const struct diff_settings *settings,
                               const char *date);
enum cli_exit diff_require_environment(struct compare_report *report,
                                       const struct diff_settings *settings, const char *nothing);

#endif /* FXTDIFF_POLICIES_H */
