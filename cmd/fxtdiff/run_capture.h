/* run_capture.h - running a command under sampler-capture, for fxtdiff run (run_capture.c).  */
#ifndef FXTDIFF_RUN_CAPTURE_H
#define FXTDIFF_RUN_CAPTURE_H

#include "cmd/fxtdiff/fxtdiff.h"

/* How commands are run.  Texts are borrowed.  */
struct diff_capture {
    const char *frequency; /* of sampler-capture; NULL: its default */
    const char *period;    /* likewise */
    const char *event;     /* likewise; NULL: CPU time */
    const char *cpu;       /* number of the CPU that commands run on; NULL: any */
    const char *prepare;   /* shell command before each run; NULL: none */
    unsigned warm_up;      /* runs of each command before its first capture */
    /* Of addresses.  What the layout of one run favours is in all runs if it is fixed, and differs
     * from build to build; if it is random, it is noise, which tests allow for.  */
    enum diff_layout { DIFF_LAYOUT_DEFAULT, DIFF_LAYOUT_FIXED, DIFF_LAYOUT_RANDOM } layout;

    /* Of diff_capture_open().  */
    char *sampler; /* path of sampler-capture */
    int log;       /* what a command and its capture printed; an unlinked file; -1: none */
};

/* Find sampler-capture, check that it can do what is asked for, and pass signals on to what runs.
 * CLI_OK, or a status after a message.  */
enum cli_exit diff_capture_open(struct diff_capture *capture);
void diff_capture_close(struct diff_capture *capture);

/* Run a shell command of a side to its end, to warm caches, or to capture it into path.  A command
 * that fails is CLI_ENVIRONMENT after a message.  */
enum cli_exit diff_capture_warm_up(const struct diff_capture *capture, enum compare_side side,
                                   const char *command);
enum cli_exit diff_capture_run(const struct diff_capture *capture, enum compare_side side,
                               const char *command, const char *path);

/* "base", "new".  */
extern const char *const diff_side_names[COMPARE_SIDES];

#endif /* FXTDIFF_RUN_CAPTURE_H */
