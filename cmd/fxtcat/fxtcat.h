/* fxtcat.h - the subcommands of fxtcat, one a file, and what they share.  */
#ifndef FXTCAT_H
#define FXTCAT_H

#include <fxt/fxt.h>
#include "cmd/cli/cli.h"
#include "cmd/cli/cli_bounds.h"
#include "cmd/cli/cli_trace.h"
#include "cmd/cli/symbol_options.h"

/* ---- Subcommands ---- */

extern const struct cli_command cut_command, merge_command, recover_command, compress_command,
    convert_command, symbolize_fidl_command;

/* ---- A job: traces in, one trace out (job.c) ---- */

struct job {
    struct cli_texts inputs;  /* as given */
    struct cli_traces traces; /* that they make: job_open() */
    const char *output_path;  /* NULL: stdout */
    struct cli_reading reading;
    const struct cli_symbols *symbols; /* where the objects of perf.data files are; may be NULL */
    struct cli_output output;
    struct cli_trace trace; /* the input that is being read */
    uint64_t records;       /* read so far, of all inputs */
    enum cli_exit status;   /* the worst so far */
};

/* --output; and the groups of options (cli.h) of those that read records.  */
extern const struct cli_option job_output_options[];
extern const struct cli_option *const job_groups[];

/* Take an option of these groups, or an input.  */
void job_take(struct job *job, int key, const struct cli_parser *parser);

/* There must be an input; else the program ends with CLI_USAGE.  */
void job_check_inputs(const struct job *job);

/* Find out which traces the inputs make, if they are not to be taken as files (compress): a
 * directory or several regions can be one.  More than most (0: any number) is CLI_USAGE.  */
void job_find(struct job *job, size_t most);

/* Open the output.  Traces are no text: a terminal is refused.  False after a message; job->status
 * says why.  */
bool job_open(struct job *job);

/* Visit all records of one trace; what was wrong with it is said and goes into job->status.
 * options may be NULL; trust_start is set by the job.  True while there is any sense in going
 * on.  */
typedef void (*job_visit_fn)(void *context, const struct fxt_record *record);
bool job_read(struct job *job, const struct cli_trace_files *files,
              const struct fxt_reader_options *options, job_visit_fn visit, void *context);

/* Write a record of our own; writer writes to the job's output.  A failure ends in the job.  */
void job_put(struct job *job, struct fxt_writer *writer, const struct fxt_record *record);

/* Write the record that was read last, as it is.  What markup says of regions has no bytes yet.  */
void job_put_as_read(struct job *job, struct fxt_writer *writer, const struct fxt_record *record);

/* The output could not be made: it is removed at the end.  */
void job_fail(struct job *job, enum cli_exit status);

/* Put the output in place, if anything could be read, and free all.  The exit status.  */
enum cli_exit job_close(struct job *job);

/* ---- Pieces of records (job.c) ---- */

bool is_text(const struct fxt_string *string, const char *text);

/* The name of the file without its folder, for people: at most size - 1 bytes of valid UTF-8.  */
void put_base_name(char *name, size_t size, const char *path);

#endif /* FXTCAT_H */
