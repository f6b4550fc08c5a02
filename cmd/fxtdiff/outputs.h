/* outputs.h - the functions behind diff_outputs[].  */
#ifndef FXTDIFF_OUTPUTS_H
#define FXTDIFF_OUTPUTS_H

#include "cmd/fxtdiff/fxtdiff.h"

#include <unistd.h>

enum cli_exit diff_write_text(const struct diff_report *report, const char *path);
enum cli_exit diff_write_json(const struct diff_report *report, const char *path);
enum cli_exit diff_write_markdown(const struct diff_report *report, const char *path);

#endif /* FXTDIFF_OUTPUTS_H */
