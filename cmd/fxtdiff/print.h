/* print.h - what the text and Markdown outputs share.  */
#ifndef FXTDIFF_PRINT_H
#define FXTDIFF_PRINT_H

#include "cmd/fxtdiff/fxtdiff.h"

/* printf() to an output; what fails stays in output->failed.  */
void diff_print(struct cli_output *output, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Open path, let print write to it, commit.  */
typedef void (*diff_print_fn)(const struct compare_report *report,
                              const struct diff_settings *settings, struct cli_output *output);
enum cli_exit diff_write_whole(const struct compare_report *report,
                               const struct diff_settings *settings, const char *path,
                               diff_print_fn print);

/* What a row shows of its function: the family that the flag is of, or that changed most.  */
const struct compare_change *diff_row_family(const struct compare_row *row, const char **name,
                                             const double **interval);

/* Names of the first count rows without what makes them long - parameters, return types - but whole
 * where two of them would read the same; with "(was NAME)" where they were renamed.  The array and
 * its texts come from malloc().  */
char **diff_row_names(const struct compare_report *report, size_t count);
void diff_row_names_free(char **names, size_t count);

/* "folder/file.c:12", from malloc(); "" unknown.  */
char *diff_row_place(const struct compare_row *row);

/* The module of a function, in the new build if it is there; "" unknown.  */
const char *diff_module_of(const struct compare_function *function);

/* A run that has no stacks, as it is known by what its functions cost alone, like those of a
 * baseline; NULL if there is none.  */
const struct compare_run *diff_run_without_stacks(const struct compare_set *set);

/* compare_mean_stacks(), or the end of the program.  */
double *diff_mean_stacks(const struct compare_set *set);

/* What marks a row, most telling first: suppressed, the flag, the state; "~" nothing found, "" not
 * tested.  */
const char *diff_row_mark(const struct compare_row *row);

/* "FAIL: 2 of 12 benchmarks failed: parse, render", from malloc().  */
char *diff_suite_summary(const struct compare_report *reports);

/* How many rows a table shows: all findings, and more up to the number asked for.  */
size_t diff_shown_rows(const struct compare_report *report, const struct diff_settings *settings);

#endif /* FXTDIFF_PRINT_H */
