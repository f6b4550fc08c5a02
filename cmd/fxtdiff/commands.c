/* commands.c - what fxtdiff does beside comparing files.  */
#include "cmd/fxtdiff/commands.h"

const struct diff_command diff_commands[] = {
    { "run", diff_run_command },
    { 0 },
};
