/* perf_code.h - names of code that recorded programs made while they ran: the map files
 * perf-PID.map that such programs write for perf.
 *
 * They are looked for beside the perf.data file, and in /tmp if the recording is of this machine.
 * Like perf, these programs read only those of the user and of root.  */
#ifndef CMD_CLI_PERF_CODE_H
#define CMD_CLI_PERF_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* All zero, with a path, is before the first process.  */
struct cli_perf_code {
    const char *path; /* of the perf.data file, borrowed; "-" has nothing beside it */
    struct base_text lines;
    char *first;   /* the first file that was used, owned; NULL: none */
    size_t files;  /* that were used */
    char *foreign; /* the first that belongs to somebody else, owned; NULL: none */
    size_t foreigners;
};

/* Lines as perf_trace_options.code_names returns them; is_local: the recording is of this
 * machine.  */
const char *cli_perf_code_names(struct cli_perf_code *code, bool is_local, uint32_t pid,
                                const uint64_t *addresses, size_t count, size_t *size);

/* Print which files were used and which were not.  */
void cli_perf_code_report(const struct cli_perf_code *code, const char *label);

void cli_perf_code_release(struct cli_perf_code *code);

#endif /* CMD_CLI_PERF_CODE_H */
