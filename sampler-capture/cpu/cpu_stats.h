/* cpu_stats.h - a session's result, as Fuchsia's "ffx profiler --print-stats" shows it and as
 * JSON.  */
#ifndef CPU_STATS_H
#define CPU_STATS_H

#include "cmd/cli/cli.h"
#include "sampler-capture/cpu/cpu_session.h"

/* On stderr.  */
void stats_print(const struct session_result *result);

/* One object to path; "-" is standard output.  CLI_OK, or CLI_ENVIRONMENT after a message.  */
enum cli_exit stats_write_json(const struct session_result *result, const char *path);

#endif /* CPU_STATS_H */
