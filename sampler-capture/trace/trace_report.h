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
void report_losses(uint64_t dropped, uint64_t broken, uint64_t refused, enum trace_mode mode);

/* --print-stats and --stats-json.  */
void report_stats(const struct manager *manager);
enum cli_exit report_json(const struct manager *manager, const char *path);

#endif /* TRACE_REPORT_H */
