/* fxtcat merge: several traces one after another in one, their providers apart.
 *
 * Not by time: traces are not in order of time themselves, every reader sorts, and to interleave
 * providers would cost a record at each change.  One after another, each file's records keep their
 * order, and readers with one thread table or one clock for all providers (the Rust crate,
 * docs/formats/fxt.md section 3.2) still see each file's own.  */
#include "cmd/fxtcat/emit_trace.h"

static const char *const examples[] = {
    "Join two captures of one run",
    "fxtcat merge -o all.fxt cpu.fxt heap.fxt",
    "Join and compress",
    "fxtcat merge *.fxt | fxtcat compress -o all.fxt.zst -",
    NULL,
};

static int run(char **argv);

const struct cli_command merge_command = {
    .name = "fxtcat merge",
    .usage = "[OPTION]... FILE...",
    .summary = "Write the records of several traces as one trace, one file after another.  If two "
               "traces use the same provider id, the later one gets a new id.  Records before the "
               "first provider of a file get a provider named after the file.  Timestamps are not "
               "changed: each counts on the clock of its provider.",
    .groups = job_groups,
    .examples = examples,
    .first = CLI_TRACE,
    .rest = CLI_TRACE,
    .run = run,
    .brief = "join several traces into one",
};

static void visit(void *context, const struct fxt_record *record)
{
    emit_record(context, record, true);
}

static int run(char **argv)
{
    struct job job = { .status = CLI_OK };
    struct cli_parser parser;
    struct emit emit;
    int key;

    cli_start(&parser, &merge_command, argv);
    while ((key = cli_next(&parser)) != CLI_END)
        job_take(&job, key, &parser);
    job_find(&job, 0);
    if (!job_open(&job))
        return (int)job_close(&job);
    job.status = emit_open(&emit, &job, EMIT_IN_PLACE);
    if (job.status != CLI_OK)
        return (int)job_close(&job);
    for (size_t i = 0; i < job.traces.count; i++) {
        emit_start(&emit, job.traces.items[i].label);
        if (!job_read(&job, &job.traces.items[i], NULL, visit, &emit))
            break;
    }
    emit_close(&emit);
    return (int)job_close(&job);
}
