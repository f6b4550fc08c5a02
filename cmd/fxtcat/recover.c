/* fxtcat recover: a trace without what is damaged.
 *
 * What can be read is copied byte for byte.  Bytes in no record are left out, and so are records
 * that every reader has to pass over: of index 0, of 0 ticks a second, magic with another number.
 * A duration that ends before it starts and a wrong count of frames are set right.  */
#include <stdlib.h>

#include "cmd/fxtcat/fxtcat.h"

#define MAGIC_NUMBER 0x16547846u

static const char *const examples[] = {
    "Recover a damaged trace, and verify the result",
    "fxtcat recover -o mended.fxt damaged.fxt; fxtdump --verify mended.fxt",
    "Extract the records of a buffer saved on a device, without its empty pages",
    "fxtcat recover -o samples.fxt region.bin",
    NULL,
};

static int run(char **argv);

const struct cli_command recover_command = {
    .name = "fxtcat recover",
    .usage = "[OPTION]... FILE",
    .summary = "Copy the readable part of a trace, and report the bytes that are left out.  The "
               "exit status is 3 if the input is damaged.",
    .groups = job_groups,
    .examples = examples,
    .first = CLI_TRACE,
    .run = run,
    .brief = "copy the readable part of a damaged trace",
};

struct recover {
    struct job job;
    struct fxt_writer *writer;
    uint64_t written; /* records, without a magic record of our own */
    uint64_t left_out_bytes;
    uint64_t mended; /* records */
};

/* Whether the record says nothing that any reader could use.  */
static bool is_void(const struct fxt_record *record)
{
    switch (record->kind) {
    case FXT_RECORD_MAGIC:
        return record->value.magic.number != MAGIC_NUMBER;
    case FXT_RECORD_INIT:
        return record->value.init.ticks_per_second == 0;
    case FXT_RECORD_STRING:
    case FXT_RECORD_THREAD:
        return record->value.table.index == 0;
    default:
        return false;
    }
}

/* Whether the count of frames is wrong and can be set right.  256 frames and more are beyond its 8
 * bits: readers take the size.  */
static bool has_wrong_count(const struct recover *recover, const struct fxt_record *record)
{
    struct fxt_bytes bytes = fxt_reader_bytes(recover->job.trace.reader);

    return record->kind == FXT_RECORD_BACKTRACE && record->value.backtrace.frames.count <= 255 &&
           (fxt_load_u64(bytes.bytes) >> 28 & 0xff) != record->value.backtrace.frames.count;
}

static bool ends_before_start(const struct fxt_record *record)
{
    return record->kind == FXT_RECORD_EVENT &&
           record->value.event.type == FXT_EVENT_DURATION_COMPLETE &&
           record->value.event.end_ticks < record->ticks;
}

/* Traces begin with the magic record.  */
static void put_magic(struct recover *recover)
{
    struct fxt_record record = { .kind = FXT_RECORD_MAGIC };

    record.value.magic.number = MAGIC_NUMBER;
    job_put(&recover->job, recover->writer, &record);
}

static void visit(void *context, const struct fxt_record *record)
{
    struct recover *recover = context;
    struct fxt_record mended = *record;

    if (is_void(record)) {
        recover->left_out_bytes += record->size;
        return;
    }
    if (recover->written++ == 0 && record->kind != FXT_RECORD_MAGIC)
        put_magic(recover);
    if (ends_before_start(record))
        mended.value.event.end_ticks = record->ticks;
    else if (!has_wrong_count(recover, record)) {
        job_put_as_read(&recover->job, recover->writer, record);
        return;
    }
    recover->mended++;
    job_put(&recover->job, recover->writer, &mended);
}

/* Bytes in no record.  */
static void count_skipped(void *context, const struct fxt_skipped *skipped)
{
    struct recover *recover = context;

    recover->left_out_bytes += skipped->size;
}

static void summarize(const struct recover *recover, const char *path)
{
    const char *records = cli_counted(recover->written, "record", "records");

    /* Compressed data may be cut off after a whole record: then no byte is left out.  */
    if (recover->left_out_bytes == 0 && recover->mended == 0 && recover->job.status == CLI_OK)
        cli_note("%s: %s, nothing was damaged", path, records);
    else
        cli_note("%s: %s recovered, %s left out, %s mended", path, records,
                 cli_counted(recover->left_out_bytes, "byte", "bytes"),
                 cli_counted(recover->mended, "record", "records"));
}

static int run(char **argv)
{
    struct recover recover = { .job = { .status = CLI_OK } };
    const struct fxt_reader_options options = { .size = sizeof options,
                                                .skipped = count_skipped,
                                                .skipped_context = &recover };
    struct cli_parser parser;
    struct fxt_error error;
    int key;

    cli_start(&parser, &recover_command, argv);
    while ((key = cli_next(&parser)) != CLI_END)
        job_take(&recover.job, key, &parser);
    job_find(&recover.job, 1);
    if (!job_open(&recover.job))
        return (int)job_close(&recover.job);
    if (fxt_writer_open(cli_output_write, &recover.job.output, &recover.writer, &error) == FXT_OK) {
        const struct cli_trace_files *files = recover.job.traces.items;

        (void)job_read(&recover.job, files, &options, visit, &recover);
        if (recover.written == 0)
            put_magic(&recover); /* a trace still, without records */
        if (recover.job.records > 0 && cli_output_flush(&recover.job.output) == 0)
            summarize(&recover, files->label);
        fxt_writer_close(recover.writer);
    } else {
        cli_error("%s", error.message);
        job_fail(&recover.job, CLI_ENVIRONMENT);
    }
    return (int)job_close(&recover.job);
}
