/* programs.h - what fxtdiff run runs: one program, or a list of benchmarks (programs.c).  */
#ifndef FXTDIFF_PROGRAMS_H
#define FXTDIFF_PROGRAMS_H

#include "cmd/fxtdiff/fxtdiff.h"

struct diff_program {
    char *name;                    /* a file name; NULL: the only one */
    char *commands[COMPARE_SIDES]; /* for sh -c */
};

/* builds: the commands, or what takes the place of {} in those of a list.
 *
 *     # a comment
 *     parse: {}/bench parse input.json
 *
 * list is a path; NULL: the builds are the only program.  The caller owns *out, of *count programs,
 * also on failure.  CLI_OK, CLI_USAGE (a line is wrong) or CLI_ENVIRONMENT, after a message.  */
enum cli_exit diff_programs_read(const char *list, const char *const builds[COMPARE_SIDES],
                                 struct diff_program **out, size_t *count);
void diff_programs_free(struct diff_program *programs, size_t count);

#endif /* FXTDIFF_PROGRAMS_H */
