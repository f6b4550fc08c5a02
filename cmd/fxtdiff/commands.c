/* commands.c - what fxtdiff does beside comparing files.  */
#include "cmd/fxtdiff/commands.h"

#include "cmd/fxtdiff/baseline.h"

const struct diff_command diff_commands[] = {
    { "run", diff_run_command },
    { "baseline", diff_baseline_command },
    { 0 },
};
