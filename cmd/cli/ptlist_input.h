/* ptlist_input.h - the files of Fuchsia's insntrace as an input: the trace that libptlist makes of
 * them.  */
#ifndef CLI_PTLIST_INPUT_H
#define CLI_PTLIST_INPUT_H

#include "cmd/cli/cli.h"

struct ptlist;

/* Whether a path is that of a list of packets, PREFIX.ptlist.  */
bool cli_ptlist_is(const char *path);

/* Open a list.  CLI_OK; or another status, with a message printed.  */
enum cli_exit cli_ptlist_open(const char *path, struct ptlist **out);

/* The bytes of the trace; an fxt_read_fn.  */
ptrdiff_t cli_ptlist_read(void *list, void *buffer, size_t size);

/* Say on stderr what was missing, damaged or left out.  CLI_OK, CLI_DAMAGED or CLI_ENVIRONMENT.
 * Accepts NULL.  */
enum cli_exit cli_ptlist_report(const char *path, const struct ptlist *list);

void cli_ptlist_close(struct ptlist *list); /* accepts NULL */

#endif /* CLI_PTLIST_INPUT_H */
