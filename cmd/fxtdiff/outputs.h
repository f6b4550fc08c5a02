/* outputs.h - the functions behind diff_outputs[].  */
#ifndef FXTDIFF_OUTPUTS_H
#define FXTDIFF_OUTPUTS_H

#include "cmd/fxtdiff/fxtdiff.h"

#include <unistd.h>

enum cli_exit diff_write_text(const struct compare_report *report,
                              const struct diff_settings *settings, const char *path);
enum cli_exit diff_write_json(const struct compare_report *report,
                              const struct diff_settings *settings, const char *path);
enum cli_exit diff_write_markdown(const struct compare_report *report,
                                  const struct diff_settings *settings, const char *path);
enum cli_exit diff_write_junit(const struct compare_report *report,
                               const struct diff_settings *settings, const char *path);
enum cli_exit diff_write_sarif(const struct compare_report *report,
                               const struct diff_settings *settings, const char *path);
enum cli_exit diff_write_github(const struct compare_report *report,
                                const struct diff_settings *settings, const char *nothing);
enum cli_exit diff_write_html(const struct compare_report *report,
                              const struct diff_settings *settings, const char *path);
enum cli_exit diff_write_folded(const struct compare_report *report,
                                const struct diff_settings *settings, const char *path);
enum cli_exit diff_write_pprof(const struct compare_report *report,
                               const struct diff_settings *settings, const char *path);

/* What diff_write_markdown() writes.  */
void diff_print_markdown(const struct compare_report *report, const struct diff_settings *settings,
                         struct cli_output *output);

#endif /* FXTDIFF_OUTPUTS_H */
