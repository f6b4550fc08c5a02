/* trace_report.h - what a session tells at its end.  */
#ifndef TRACE_REPORT_H
#define TRACE_REPORT_H

#include "sampler-capture/trace/manager.h"

/* Categories that were asked for and that no event has.  */
void report_missing(const struct manager *manager);

/* One line on the whole, and what was lost.  */
void report_summary(const struct manager *manager, const char *output, double seconds, bool quiet);

/* --print-stats and --stats-json.  */
void report_stats(const struct manager *manager);
enum cli_exit report_json(const struct manager *manager, const char *path);

#endif /* TRACE_REPORT_H */
