/* report_command.h - fxtq report NAME STORE: the rows of a report (<fxt/store_report.h>), printed.
 *
 *   report_command.c   the command
 *   report_rows.c      tables, JSON
 *   report_timeline.c  the heat map  */
#ifndef FXTQ_REPORT_COMMAND_H
#define FXTQ_REPORT_COMMAND_H

#include <fxt/store_report.h>
#include "cmd/cli/cli.h"
#include "cmd/fxtq/format/fxtq_text.h"

enum report_output { REPORT_AS_TEXT, REPORT_AS_JSON, REPORT_AS_MARKDOWN, REPORT_AS_SQL };

/* Print all rows; *shown is then the number of rows or lines.  start_ts is what times count from.
 * Returns STORE_OK, also if output failed; else nothing, or the first rows, were printed.  */
enum store_status report_print_rows(struct store_report *report, enum report_output kind,
                                    int64_t start_ts, struct cli_output *output, uint64_t *shown,
                                    struct store_error *error);

/* The same as a heat map.  columns: of the terminal; 0: names of any length.  */
enum store_status report_print_timeline(struct store_report *report, size_t columns,
                                        struct cli_output *output, uint64_t *shown,
                                        struct store_error *error);

/* The bins that leave room for the names of lanes.  */
size_t report_bins_for(size_t columns);

/* "1.50ms" */
void report_add_duration(struct base_text *text, double ns);

#endif /* FXTQ_REPORT_COMMAND_H */
