/* background.h - the one session that runs in the background, as Fuchsia's session manager has it.
 *
 * Its process holds a lock on a file of a folder that only the user can read; the file says what it
 * is.  Whoever finds the lock free finds no session.  */
#ifndef CAPTURE_BACKGROUND_H
#define CAPTURE_BACKGROUND_H

#include "cmd/cli/cli.h"

#include <stdbool.h>
#include <stddef.h>

/* The folder of this user's sessions, made if need be.  False after a message.  */
bool background_folder(char *path, size_t size);

/* Become the background session: returns in a process of its own, which has the lock.  The process
 * that called prints the task id and ends once background_ready() was called.  Ends the program
 * with a message when there is a session already.  */
void background_begin(const char *output);

/* The capture has begun, or failed after a message: let the process that waits end.  */
void background_ready(bool failed);

/* "sampler-capture status", "stop" and "abort".  */
extern const struct cli_command background_status_command, background_stop_command,
    background_abort_command;

#endif /* CAPTURE_BACKGROUND_H */
