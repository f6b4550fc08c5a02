/* trace_report.h - what a session tells at its end.  */
#ifndef TRACE_REPORT_H
#define TRACE_REPORT_H

#include "sampler-capture/trace/manager.h"

/* Categories that were asked for and that no event has.  */
void report_missing(const struct manager *manager);

/* One line on the whole, and what was lost.  */
void report_summary(const struct manager *manager, const char *output, double seconds, bool quiet);

/* A sentence for each cause: records for which buffers had no room, bytes that were no records,
 * records that a provider must not write.  */
struct report_losses {
    uint64_t dropped;     /* of buffers of the size of --buffer-size */
    uint64_t dropped_own; /* of buffers whose size --provider says */
    uint64_t broken, refused;
};

void report_losses(const struct report_losses *losses, enum trace_mode mode);

/* --print-stats and --stats-json; is_written: the whole trace is.  */
void report_stats(const struct manager *manager, bool is_written);
enum cli_exit report_json(const struct manager *manager, const char *path);

#endif /* TRACE_REPORT_H */
