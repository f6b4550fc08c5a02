/* outputs.h - the functions behind diff_outputs[].  */
#ifndef FXTDIFF_OUTPUTS_H
#define FXTDIFF_OUTPUTS_H

#include "cmd/fxtdiff/fxtdiff.h"

#include <unistd.h>

enum cli_exit diff_write_text(const struct diff_report *report, const char *path);
enum cli_exit diff_write_json(const struct diff_report *report, const char *path);
enum cli_exit diff_write_markdown(const struct diff_report *report, const char *path);
enum cli_exit diff_write_junit(const struct diff_report *report, const char *path);
enum cli_exit diff_write_sarif(const struct diff_report *report, const char *path);
enum cli_exit diff_write_github(const struct diff_report *report, const char *nothing);
enum cli_exit diff_write_folded(const struct diff_report *report, const char *path);
enum cli_exit diff_write_pprof(const struct diff_report *report, const char *path);

/* What diff_write_markdown() writes.  */
void diff_print_markdown(const struct diff_report *report, struct cli_output *output);

/* False, after a message: some run is known by its vectors alone, as those of a baseline, and has
 * no stacks to write.  */
bool diff_has_stacks(const struct diff_report *report, const char *option);

#endif /* FXTDIFF_OUTPUTS_H */
