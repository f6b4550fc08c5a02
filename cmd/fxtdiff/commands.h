/* commands.h - what fxtdiff does beside comparing files, and what that shares.  */
#ifndef FXTDIFF_COMMANDS_H
#define FXTDIFF_COMMANDS_H

#include "cmd/fxtdiff/fxtdiff.h"

/* Read both sides, compare, write what the settings ask for.  The status is the program's.  */
enum cli_exit diff_main(const struct diff_settings *settings);

extern const struct cli_command diff_run_command;      /* capture both builds, compare (run.c) */
extern const struct cli_command diff_baseline_command; /* keep runs in a file */

/* Ends the program with a usage error where two outputs would get into each other's way.  */
void diff_check_outputs(const struct diff_settings *settings);

/* Whether the arguments of policies can be used, before there is anything to apply them to: nobody
 * waits for captures to hear of a typing error.  CLI_OK, or another status after a message.  */
enum cli_exit diff_check_policies(const struct diff_settings *settings);

/* Frees what a command line put into settings.  */
void diff_settings_release(struct diff_settings *settings);

#endif /* FXTDIFF_COMMANDS_H */
