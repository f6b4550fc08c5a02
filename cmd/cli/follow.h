/* follow.h - waiting at the end of a file that grows.  Between the files of cmd/cli only.  */
#ifndef CLI_FOLLOW_H
#define CLI_FOLLOW_H

#include "cmd/cli/cli_trace.h"

struct cli_follow;

/* Catch SIGINT and SIGTERM and follow fd, which was opened from path (NULL: it came open).  NULL
 * with errno set when the system refuses.  name is for messages.  */
struct cli_follow *cli_follow_start(int fd, const char *path, const char *name,
                                    const struct cli_trace_options *options);

/* A fxt_wait_fn.  */
enum fxt_wait cli_follow_wait(void *follow, uint64_t raw_bytes);

/* Give the signals back.  Accepts NULL.  */
void cli_follow_end(struct cli_follow *follow);

#endif /* CLI_FOLLOW_H */
