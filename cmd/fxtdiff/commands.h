/* commands.h - what fxtdiff does beside comparing files, and what that shares.  */
#ifndef FXTDIFF_COMMANDS_H
#define FXTDIFF_COMMANDS_H

#include "cmd/fxtdiff/fxtdiff.h"

/* A series of looks at runs that are being added (<fxt/compare.h>).  */
struct diff_series {
    size_t most;            /* runs of each build at most */
    size_t looks;           /* done; diff_main() adds one */
    bool last;              /* no runs will be added after this look, */
    enum compare_stop stop; /* for this reason */
    bool decided;           /* of diff_main(): no more runs are needed */
};

/* Read both sides, compare, write what the settings ask for.  The status is the program's.
 *
 * series: this is one of several looks; NULL: the only one.  If it is neither the last one nor
 * decides, nothing is written but a line on stderr, and the status is CLI_OK.  */
enum cli_exit diff_main(const struct diff_settings *settings, struct diff_series *series);

extern const struct cli_command diff_run_command;      /* capture both builds, compare (run.c) */
extern const struct cli_command diff_history_command;  /* find change points over commits */
extern const struct cli_command diff_baseline_command; /* keep runs in a file */

/* Ends the program with a usage error where two outputs would get into each other's way.  */
void diff_check_outputs(const struct diff_settings *settings);

/* Whether the arguments of policies can be used, before there is anything to apply them to: nobody
 * waits for captures to hear of a typing error.  CLI_OK, or another status after a message.  */
enum cli_exit diff_check_policies(const struct diff_settings *settings);

/* Frees what a command line put into settings.  */
void diff_settings_release(struct diff_settings *settings);

#endif /* FXTDIFF_COMMANDS_H */
