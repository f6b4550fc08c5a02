/* policies.h - the functions behind diff_policies[], and what is looked at without being asked.  */
#ifndef FXTDIFF_POLICIES_H
#define FXTDIFF_POLICIES_H

#include "cmd/fxtdiff/fxtdiff.h"

enum cli_exit diff_apply_budgets(struct diff_report *report, const char *path);
enum cli_exit diff_apply_suppressions(struct diff_report *report, const char *path);
enum cli_exit diff_check_today(struct diff_report *report, const char *date);
enum cli_exit diff_require_environment(struct diff_report *report, const char *nothing);

/* A note for everything in which the sides' environments differ.  */
void diff_note_environment(struct diff_report *report);

#endif /* FXTDIFF_POLICIES_H */
