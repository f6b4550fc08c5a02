/* fxtq.h - the commands of fxtq.  */
#ifndef FXTQ_H
#define FXTQ_H

#include <fxt/store.h>
#include "cmd/cli/cli.h"

/* The commands, each in a file of its own; main.c lists them.  */
extern const struct cli_command fxtq_import, fxtq_symbolize, fxtq_coverage, fxtq_flamegraph,
    fxtq_report, fxtq_trend, fxtq_export, fxtq_help, fxtq_schema, fxtq_upgrade;

/* Import one trace into a new store, which is not published yet, without a summary.  *imported: the
 * store has it, be it damaged.  (import_command.c)  */
enum cli_exit fxtq_import_into(struct store *store, const char *path, bool *imported);

/* Whether "fxtq report NAME" is one.  (report/report_command.c)  */
bool fxtq_is_report(const char *name);

/* The text of 'fxtq help reports': what each report shows, its --by and its filters; from malloc().
 * (report/report_command.c)  */
char *fxtq_report_topic(void);

/* Say what went wrong with the store at path (or with a step, where it has no path), and the exit
 * status that stands for it.  */
enum cli_exit fxtq_complain(const char *path, const struct store_error *error);

#endif /* FXTQ_H */
