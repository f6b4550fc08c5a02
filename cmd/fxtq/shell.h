/* shell.h - asking again and again.  */
#ifndef FXTQ_SHELL_H
#define FXTQ_SHELL_H

#include "cmd/fxtq/session.h"

/* Read statements and commands (".help") from the terminal until its end, ".quit" or an error of
 * the output.  path names the store to the user.  */
enum cli_exit shell_run(struct session *session, const char *path);

#endif /* FXTQ_SHELL_H */
