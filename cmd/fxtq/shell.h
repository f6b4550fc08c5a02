/* shell.h - asking again and again.  */
#ifndef FXTQ_SHELL_H
#define FXTQ_SHELL_H

#include "cmd/fxtq/dot_commands.h"

/* Read statements and commands from the terminal until its end, ".quit" or an error of the output.
 * path names the store to the user.  */
void shell_run(struct commands *commands, const char *path);

#endif /* FXTQ_SHELL_H */
