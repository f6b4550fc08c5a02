/* What all subcommands do: open the output, read the inputs, and leave a whole file or none.  */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/utf8.h"
#include "cmd/fxtcat/fxtcat.h"

enum { KEY_OUTPUT = 1000 };

const struct cli_option job_output_options[] = {
    { KEY_OUTPUT, 'o', "output", "FILE",
      "write to FILE, which is replaced only when the output is complete", CLI_FILE },
    { 0 },
};

const struct cli_option *const job_groups[] = { job_output_options, cli_strict_options,
                                                cli_bounds_options, NULL };

void job_take(struct job *job, int key, const struct cli_parser *parser)
{
    if (key == KEY_OUTPUT)
        job->output_path = parser->value;
    else if (key == CLI_OPERAND)
        cli_texts_add(&job->inputs, parser->value);
    else
        (void)cli_reading_take(&job->reading, key, parser);
}

void job_check_inputs(const struct job *job)
{
    if (job->inputs.count == 0)
        cli_usage_error("no trace given");
}

void job_find(struct job *job, size_t most)
{
    struct fxt_reader_options reader = { .size = sizeof reader, .trust_start = job->reading.force };
    struct cli_trace_options options = { .reader = &reader };

    job_check_inputs(job);
    cli_traces_find(&job->traces, &job->inputs, &options);
    if (most && job->traces.count > most)
        cli_usage_error("one trace at a time; 'fxtcat merge' makes one of several");
}

bool job_open(struct job *job)
{
    bool to_stdout = !job->output_path || strcmp(job->output_path, "-") == 0;

    if (to_stdout && isatty(STDOUT_FILENO))
        cli_usage_error("a trace is not written to a terminal; use -o FILE");
    cli_bounds_begin(&job->inputs);
    job->status = cli_output_open(&job->output, job->output_path);
    return job->status == CLI_OK;
}

bool job_read(struct job *job, const struct cli_trace_files *files,
              const struct fxt_reader_options *options, job_visit_fn visit, void *context)
{
    struct fxt_reader_options all = { .size = sizeof all };
    struct cli_trace_options trace_options = { .reader = &all, .symbols = job->symbols };
    const struct fxt_record *record;
    enum cli_exit status;

    if (options)
        all = *options;
    all.trust_start = job->reading.force;
    status = cli_trace_open_files(&job->trace, files, &trace_options);
    while (status == CLI_OK && job->output.failed == 0 && cli_trace_next(&job->trace, &record)) {
        job->records++;
        visit(context, record);
    }
    job->status = cli_worse(job->status, status);
    job->status = cli_worse(job->status, cli_trace_close(&job->trace, job->reading.strict));
    return job->output.failed == 0;
}

void job_fail(struct job *job, enum cli_exit status)
{
    job->status = cli_worse(job->status, status);
    job->output.failed = ECANCELED; /* nothing is written any more */
}

void job_put(struct job *job, struct fxt_writer *writer, const struct fxt_record *record)
{
    struct fxt_error error;
    enum fxt_status status = fxt_writer_record(writer, record, &error);

    if (status == FXT_OK || status == FXT_IO) /* the output tells of failed writes at the end */
        return;
    cli_error("%s: %s", job->output.path, error.message);
    job_fail(job, CLI_ENVIRONMENT);
}

void job_put_as_read(struct job *job, struct fxt_writer *writer, const struct fxt_record *record)
{
    struct fxt_bytes bytes = fxt_reader_bytes(job->trace.reader);

    if (job->trace.from_modules)
        job_put(job, writer, record);
    else
        (void)cli_output_write(&job->output, bytes.bytes, (size_t)bytes.length);
}

enum cli_exit job_close(struct job *job)
{
    enum cli_exit status = job->status;

    free(job->inputs.items);
    cli_traces_release(&job->traces);
    if (job->output.failed == EPIPE) {
        cli_output_abort(&job->output);
        return status; /* the reader has seen enough */
    }
    if (job->output.failed == ECANCELED || (job->records == 0 && status != CLI_OK)) {
        cli_output_abort(&job->output); /* nothing was readable, and a message has said why */
        return status;
    }
    return cli_worse(status, cli_output_commit(&job->output));
}

void put_base_name(char *name, size_t size, const char *path)
{
    const char *base = *base_name(path) ? base_name(path) : path;

    name[base_utf8_copy(name, size - 1, base, strlen(base))] = '\0';
}

bool is_text(const struct fxt_string *string, const char *text)
{
    return string->length == strlen(text) && memcmp(string->bytes, text, string->length) == 0;
}
