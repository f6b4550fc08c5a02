/* command.h - the program that is captured: started held, let go, waited for; and the signals that
 * end a capture, which the program gets as well.  */
#ifndef CAPTURE_COMMAND_H
#define CAPTURE_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

#include "sampler-capture/capture_output.h"

struct command {
    pid_t pid; /* a child of ours; -1: there is none */
    const char *name;
    int signal_fd; /* poll it, then command_take_signals() */
    int go_fd;     /* the child waits for a byte from here */
    int report_fd; /* the child writes errno here when exec fails */
    bool ended;    /* wait_status is set */
    bool traced;   /* somebody else waits for it, and sets the two */
    bool dump;     /* SIGUSR2 came: for whoever keeps a flight recorder; to be cleared by them */
    bool abort;    /* SIGUSR1 came: nothing is to be left */
    bool is_asked; /* to end, by a signal to us */
    int wait_status;
};

/* From here on SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and SIGCHLD only come through signal_fd,
 * and SIGPIPE is ignored: a reader of "-o -" that goes away is a failed write.  False with
 * errno.  */
bool command_watch(struct command *command);

/* Start a child that will run argv but waits for command_exec(); it gets all signals as they were
 * before command_watch().  With stdout_is_taken its standard output is ours for errors.  False with
 * errno.  */
bool command_start(struct command *command, char *const argv[], bool stdout_is_taken);

/* As env(1) and timeout(1): from the exec on the status is the command's, so what happens before
 * has values that commands seldom use.  */
enum {
    COMMAND_NOT_STARTED = 125,
    COMMAND_NOT_EXECUTABLE = 126,
    COMMAND_NOT_FOUND = 127,
};

/* Print what, followed by the phrase of errno.  Returns COMMAND_NOT_STARTED.  */
int command_fail(const char *what);

/* Let the child exec name.  0, or the exit status after a message; the child is gone then.  */
int command_exec(struct command *command, const char *name);

/* Read what signals came.  Returns true when one asks to end: SIGINT, SIGTERM, SIGHUP or SIGUSR1.
 * The command gets the first three too: from the terminal by itself, otherwise passed on.  */
bool command_take_signals(struct command *command);

/* Wait for the end of the command, if there is one, and pass signals on; unless quiet, say so if
 * that takes longer than a second, and which signal ended the command if nobody asked for it, as a
 * shell would.  Remove the trace if SIGUSR1 came.  Returns the exit status of
 * the capture: that of the command, or 128 + the signal that ended it; 0 without a command;
 * CLI_ENVIRONMENT unless fine.  */
int command_finish(struct command *command, const struct output *output, bool fine, bool quiet);

/* End a child that was not let go, and close what is open.  */
void command_close(struct command *command);

#endif /* CAPTURE_COMMAND_H */
