/* commands.h - the functions behind diff_commands[], and what they share.  */
#ifndef FXTDIFF_COMMANDS_H
#define FXTDIFF_COMMANDS_H

#include "cmd/fxtdiff/fxtdiff.h"

/* Read both sides, compare, write what the settings ask for.  The status is the program's.  */
enum cli_exit diff_main(const struct diff_settings *settings);

#endif /* FXTDIFF_COMMANDS_H */
