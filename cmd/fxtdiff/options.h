/* options.h - the command line: rows of options that several commands share.  */
#ifndef FXTDIFF_OPTIONS_H
#define FXTDIFF_OPTIONS_H

#include "cmd/fxtdiff/fxtdiff.h"

/* Defaults.  What is allocated lives as long as the program.  */
void diff_settings_init(struct diff_settings *settings);

/* All rows of reading, comparing, outputs and policies, behind those given (NULL: none); from
 * malloc().  */
struct cli_option *diff_all_options(const struct cli_option *own);
/* False: the key is none of theirs.  */
bool diff_option(struct diff_settings *settings, int key, const char *value);

/* "5%", "0.3pp", "0.05": a part of 1, from 0 to limit.  Ends the program with CLI_USAGE.  */
double diff_part(const char *option, const char *text, double limit);

/* A mistyped --symbols would only show as missing names: say it before the work.  */
enum cli_exit diff_check_symbol_paths(const struct diff_reading *reading);

#endif /* FXTDIFF_OPTIONS_H */
