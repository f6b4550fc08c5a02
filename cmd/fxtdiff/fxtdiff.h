/* fxtdiff.h - between the files of fxtdiff, which reads runs for libcompare and prints its reports.
 *
 *   runs      struct diff_runs: what readers add to a set (<fxt/compare_set.h>)
 *   outputs   diff_outputs[]: one row an option that writes a report (outputs.c)
 *   policies  diff_policies[]: one row an option that changes a verdict before it is written
 *
 * Running out of memory ends the program (cli_allocate()).  */
#ifndef FXTDIFF_H
#define FXTDIFF_H

#include <fxt/compare_report.h>
#include <fxt/profile.h>
#include "cmd/cli/profile_options.h"
#include "cmd/history/refusals.h"

/* ---- Settings ---- */

/* How inputs are read: the same options for every command that reads runs.  */
struct diff_reading {
    struct cli_profiles profiles;
    const char *sample_type; /* --sample-type; NULL: that of the runs before, else the input's */
    bool ignore_templates;
    bool only_labelled;  /* captures of stores without the label "commit" are left out */
    unsigned jobs;       /* traces read at once; 0: as many as there are CPUs */
    const char *scratch; /* a folder that runs are shown without, for it will be gone; NULL: none */
};

/* One of several programs or inputs that are compared in one report.  Texts are owned.  */
struct diff_benchmark {
    char *name;
    struct cli_texts inputs[COMPARE_SIDES];
};

struct diff_settings {
    struct diff_reading reading;
    struct compare_options compare;
    struct cli_texts inputs[COMPARE_SIDES];
    struct diff_benchmark *benchmarks; /* owned; NULL: there is one without a name, of inputs */
    size_t benchmark_count;
    bool suite;             /* there are several benchmarks, or will be */
    const char *conditions; /* a note: how the runs were made; NULL: unknown */
    size_t rows;            /* of tables; 0: all */
    bool quiet;
    bool bisect; /* the program's status is one for "git bisect run" */
    /* The argument of each diff_outputs[] and diff_policies[] row ("" for those that take none);
     * NULL: not given.  */
    const char **outputs;
    const char **policies;
};

/* ---- Runs ---- */

struct diff_runs {
    const struct diff_reading *reading; /* borrowed */
    struct compare_builder *builder;
    struct profile *profile; /* the builder's: stacks of all runs */
    char *kernel_symbols;    /* of the first trace that has any; owned */
    size_t kernel_symbols_size;
    int kind; /* enum profile_kind of the traces; -1: none read yet */
};

void diff_runs_open(struct diff_runs *runs, const struct diff_reading *reading);

/* Read paths as runs of a side.  Messages are printed; the status is the worst.  */
enum cli_exit diff_read(struct diff_runs *runs, enum compare_side side,
                        const struct cli_texts *paths);

/* Symbolize, and make the set, which belongs to runs.  NULL after a message.  */
const struct compare_set *diff_runs_finish(struct diff_runs *runs);
void diff_runs_close(struct diff_runs *runs);

/* Begin a run (compare_builder_begin_run()) that is shown without the scratch folder.  */
struct compare_run *diff_begin_run(struct diff_runs *runs, enum compare_side side,
                                   const char *label);

/* The values of the run that was begun are of this type.  False, after a message, if runs before it
 * have another one.  */
bool diff_set_type(struct diff_runs *runs, const char *type, const char *unit);

/* The status of the program for a verdict.  */
enum cli_exit diff_verdict_exit(enum compare_verdict verdict);
/* What the program returns for a status.  */
int diff_exit_status(const struct diff_settings *settings, enum cli_exit status);

/* ---- Readers, outputs, policies, commands ---- */

/* A kind of input beside traces.  Whatever is no regular file (standard input, a pipe) was copied
 * into one before.  */
struct diff_reader {
    /* Whether this is such a file, by its first bytes, uncompressed if they were gzip's.  */
    bool (*recognizes)(const unsigned char *start, size_t length);
    /* Add its runs: one, or as many as it has.  path is what to open, label what to call it in
     * messages and in struct compare_run.  Messages are printed.  */
    enum cli_exit (*read)(struct diff_runs *runs, enum compare_side side, const char *path,
                          const char *label);
};
extern const struct diff_reader diff_readers[]; /* readers.c; ends with recognizes NULL */

/* Writes a report.  argument is a path ("-" stdout) or "" when the option takes none.  Messages are
 * printed.  */
typedef enum cli_exit (*diff_write_fn)(const struct compare_report *report,
                                       const struct diff_settings *settings, const char *argument);

/* One row of diff_output_options[].  */
struct diff_output {
    diff_write_fn write;
    bool replaces_text; /* written to stdout in place of the text; its option takes none */
    bool is_profile;    /* which could be an input */
    bool binary;        /* nothing for a terminal */
    bool single;        /* of one benchmark only */
};

/* The options of what is built (outputs.c; keys from DIFF_OUTPUT_KEYS on), and row by row what
 * writes it, NULL at the end.  Without an argument it is written to stdout.  */
enum { DIFF_OUTPUT_KEYS = 1000, DIFF_POLICY_KEYS = 2000 };
extern const struct cli_option diff_output_options[];
extern const struct diff_output diff_outputs[];

/* Looks at a finished comparison before anything is written: suppresses rows, adds rules and notes.
 * Without a report - before anything was captured or read - only whether the argument can be used.
 * Returns CLI_OK, or CLI_USAGE / CLI_ENVIRONMENT after a message, which ends the program.  */
typedef enum cli_exit (*diff_policy_fn)(struct compare_report *report,
                                        const struct diff_settings *settings, const char *argument);

/* Likewise (policies.c; keys from DIFF_POLICY_KEYS on).  */
extern const struct cli_option diff_policy_options[];
extern const diff_policy_fn diff_policies[];

#endif /* FXTDIFF_H */
