/* fxtq.h - the commands of fxtq.  */
#ifndef FXTQ_H
#define FXTQ_H

#include "cmd/cli/cli.h"
#include "libstore/store.h"

/* A command: main.c has the table.  run gets what stands behind the command's name.  */
struct fxtq_command {
    const char *name;
    enum cli_exit (*run)(char **argv);
    const char *summary; /* a phrase */
};

enum cli_exit fxtq_import(char **argv);     /* import.c */
enum cli_exit fxtq_symbolize(char **argv);  /* symbolize.c */
enum cli_exit fxtq_coverage(char **argv);   /* symbolize.c */
enum cli_exit fxtq_flamegraph(char **argv); /* flamegraph.c */
enum cli_exit fxtq_report(char **argv);     /* report.c */
enum cli_exit fxtq_export(char **argv);     /* export.c */
enum cli_exit fxtq_help(char **argv);       /* help.c */
enum cli_exit fxtq_schema(char **argv);     /* schema.c */

/* Import one trace into a new store, which is not published yet, without a summary.  *imported: the
 * store has it, be it damaged.  (import.c)  */
enum cli_exit fxtq_import_into(struct store *store, const char *path, bool *imported);

/* Say what went wrong with the store at path (or with a step, where it has no path), and the exit
 * status that stands for it.  */
enum cli_exit fxtq_complain(const char *path, const struct store_error *error);

#endif /* FXTQ_H */
