/* query_command.h - asking a store: what "fxtq STORE ..." does.  */
#ifndef FXTQ_QUERY_COMMAND_H
#define FXTQ_QUERY_COMMAND_H

#include "cmd/fxtq/fxtq.h"

extern const struct cli_command fxtq_program; /* main.c */

/* What is in it, beside the commands.  */
extern const struct cli_option fxtq_query_options[];
extern const char *const fxtq_query_examples[];
const char *fxtq_libraries(void);
int fxtq_query(char **argv);

#endif /* FXTQ_QUERY_COMMAND_H */
