/* options.h - the command line: groups of options that several commands share (cli.h).  */
#ifndef FXTDIFF_OPTIONS_H
#define FXTDIFF_OPTIONS_H

#include "cmd/fxtdiff/fxtdiff.h"

/* How runs are read, NULL at the end; and what takes it, False: the key is none of theirs.  */
extern const struct cli_option *const diff_reading_groups[];
bool diff_reading_option(struct diff_reading *reading, int key, const struct cli_parser *parser);

/* Everything: comparing, outputs, policies, reading.  */
extern const struct cli_option *const diff_groups[];
bool diff_option(struct diff_settings *settings, int key, const struct cli_parser *parser);

/* Defaults.  What is allocated lives until diff_settings_release().  */
void diff_settings_init(struct diff_settings *settings);

#endif /* FXTDIFF_OPTIONS_H */
