/* query.h - asking a store: what "fxtq STORE ..." does.  */
#ifndef FXTQ_QUERY_H
#define FXTQ_QUERY_H

#include "cmd/fxtq/fxtq.h"

/* The option table of fxtq itself, which has a command in place of the store too.  summary is shown
 * by --help.  */
enum cli_exit fxtq_query(char **argv, const char *summary);

#endif /* FXTQ_QUERY_H */
