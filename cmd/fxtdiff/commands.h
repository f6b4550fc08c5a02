/* commands.h - the functions behind diff_commands[], and what they share.  */
#ifndef FXTDIFF_COMMANDS_H
#define FXTDIFF_COMMANDS_H

#include "cmd/fxtdiff/fxtdiff.h"

/* Read both sides, compare, write what the settings ask for.  The status is the program's.  */
enum cli_exit diff_main(const struct diff_settings *settings);

/* fxtdiff run: capture both builds in turn, then compare (run.c).  */
enum cli_exit diff_run_command(char **argv);

/* Frees what a command line put into settings.  */
void diff_settings_release(struct diff_settings *settings);

#endif /* FXTDIFF_COMMANDS_H */
