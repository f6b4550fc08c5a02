/* fxtread - time libfxt's reader.
 *
 * Reads a trace to its end and visits what the reader delivers: of every record its kind and times,
 * of every thread both ids, of every string each byte, of every argument its value.  The checksum
 * keeps the visit from being optimized away, and is the same for the same trace.
 *
 * --sum does as little as can be done with the bytes: it adds up their words, read as a trace is
 * read, or in memory.  That is the limit the reader's rate is printed beside.  */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "cmd/cli/cli.h"
#include "cmd/cli/cli_trace.h"

#define MEMORY_BYTES ((size_t)256 << 20) /* what --sum memory keeps; more than caches hold */
#define WINDOW_BYTES ((size_t)256 << 10)

struct result {
    uint64_t bytes;
    uint64_t records;
    uint64_t checksum;
    double seconds; /* of CPU time: one thread's, reading included */
};

static double cpu_seconds(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- Visiting ---- */

/* Every byte, eight at a time.  */
static uint64_t sum_bytes(const void *bytes, uint64_t length)
{
    const uint8_t *at = bytes;
    uint64_t sum = length;

    for (; length >= 8; at += 8, length -= 8)
        sum += fxt_load_u64(at);
    for (; length > 0; at++, length--)
        sum += *at;
    return sum;
}

static uint64_t visit_string(const struct fxt_string *string)
{
    return string->index + sum_bytes(string->bytes, string->length);
}

static uint64_t visit_arg(const struct fxt_arg *arg)
{
    uint64_t sum = arg->type + visit_string(&arg->name);

    switch (arg->type) {
    case FXT_ARG_STRING:
        return sum + visit_string(&arg->value.string);
    case FXT_ARG_BLOB:
        return sum + sum_bytes(arg->value.blob.bytes, arg->value.blob.length);
    case FXT_ARG_INT32:
        return sum + (uint64_t)arg->value.int32;
    case FXT_ARG_UINT32:
        return sum + arg->value.uint32;
    case FXT_ARG_BOOL:
        return sum + arg->value.boolean;
    case FXT_ARG_INT64:
    case FXT_ARG_UINT64:
    case FXT_ARG_DOUBLE:
    case FXT_ARG_POINTER:
    case FXT_ARG_KOID:
        return sum + arg->value.uint64;
    case FXT_ARG_NULL:
    case FXT_ARG_UNKNOWN:
        break;
    }
    return sum;
}

static uint64_t visit_value(const struct fxt_record *record)
{
    switch (record->kind) {
    case FXT_RECORD_EVENT:
        return record->value.event.type + record->value.event.id +
               (uint64_t)record->value.event.end_ns;
    case FXT_RECORD_CONTEXT_SWITCH:
    case FXT_RECORD_LEGACY_CONTEXT_SWITCH:
    case FXT_RECORD_THREAD_WAKEUP:
        return record->value.sched.cpu + record->value.sched.outgoing_tid +
               record->value.sched.incoming_tid;
    case FXT_RECORD_BACKTRACE:
        return sum_bytes(record->value.backtrace.frames.bytes,
                         8 * record->value.backtrace.frames.count);
    case FXT_RECORD_LARGE_BLOB:
        return sum_bytes(record->value.large_blob.payload.bytes,
                         record->value.large_blob.payload.length);
    case FXT_RECORD_BLOB:
        return sum_bytes(record->value.blob.payload.bytes, record->value.blob.payload.length);
    default:
        return 0;
    }
}

static uint64_t visit(const struct fxt_record *record)
{
    uint64_t sum = record->kind + record->provider->id + (uint64_t)record->ts_ns;

    sum += record->thread.process + record->thread.thread;
    sum += visit_string(&record->category) + visit_string(&record->name);
    for (size_t i = 0; i < record->arg_count; i++)
        sum += visit_arg(&record->args[i]);
    return sum + visit_value(record);
}

/* all: visit every record; otherwise count what can be counted, as fxtdump --stats does.  */
static enum cli_exit read_trace(const char *path, bool all, struct result *result)
{
    const struct fxt_record *record;
    struct fxt_tally tally = { .has_time = false };
    struct cli_trace trace;
    double start = cpu_seconds();
    enum cli_exit status = cli_trace_open(&trace, path, NULL);

    if (status != CLI_OK)
        return status;
    if (all) {
        while (cli_trace_next(&trace, &record))
            result->checksum += visit(record);
    } else {
        while (cli_trace_next(&trace, &record))
            (void)cli_trace_tally(&trace, &tally);
    }
    result->checksum += (uint64_t)tally.last_ns;
    result->records = trace.records;
    result->bytes = fxt_reader_offset(trace.reader);
    result->seconds = cpu_seconds() - start;
    return cli_trace_close(&trace, false);
}

/* ---- Summing ---- */

static uint64_t sum_words(const uint8_t *bytes, size_t length)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < length / 8; i++)
        sum += fxt_load_u64(bytes + 8 * i);
    return sum;
}

/* Up to size bytes; less at the end of the file.  */
static size_t read_fully(int fd, uint8_t *bytes, size_t size)
{
    size_t used = 0;

    while (used < size) {
        ssize_t got = read(fd, bytes + used, size - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        used += (size_t)got;
    }
    return used;
}

/* in_memory: only the first MEMORY_BYTES, and without the time it takes to read them.  */
static enum cli_exit sum_file(const char *path, bool in_memory, struct result *result)
{
    size_t window = in_memory ? MEMORY_BYTES : WINDOW_BYTES;
    uint8_t *bytes = cli_allocate(window, 1);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    double start = cpu_seconds();
    size_t length;

    if (fd < 0) {
        cli_error("%s: %s", path, strerror(errno));
        free(bytes);
        return CLI_ENVIRONMENT;
    }
    do {
        length = read_fully(fd, bytes, window);
        if (in_memory)
            start = cpu_seconds();
        result->checksum += sum_words(bytes, length);
        result->bytes += length;
    } while (length == window && !in_memory);
    result->seconds = cpu_seconds() - start;
    (void)close(fd);
    free(bytes);
    return CLI_OK;
}

/* ---- The program ---- */

enum mode { ALL, TALLY, SUM, SUM_MEMORY };
static const char *const mode_names[] = { "all", "tally", "sum", "sum-memory", NULL };

enum key { KEY_MODE = 1, KEY_REPEAT };

static const struct cli_option options[] = {
    { KEY_MODE, 0, "mode", "MODE",
      "all: every field of every record (default)\n"
      "tally: kinds and times, as for statistics\n"
      "sum: add up the file's words instead of reading records\n"
      "sum-memory: the same for its first 256 MiB, once they are in memory" },
    { KEY_REPEAT, 0, "repeat", "N", "do it N times, report the fastest (default 1)" },
    { 0 },
};

static const char *const examples[] = {
    "the reader, and what the machine does at best",
    "fxtread --repeat 5 events.fxt; fxtread --mode sum --repeat 5 events.fxt",
    NULL,
};

static const struct cli_command command = {
    .name = "fxtread",
    .usage = "[OPTION]... FILE",
    .summary = "Read a trace as fast as it goes and say how fast that was.",
    .options = options,
    .examples = examples,
};

static enum cli_exit run(enum mode mode, const char *path, struct result *result)
{
    *result = (struct result){ 0 };
    switch (mode) {
    case ALL:
    case TALLY:
        return read_trace(path, mode == ALL, result);
    case SUM:
    case SUM_MEMORY:
        break;
    }
    return sum_file(path, mode == SUM_MEMORY, result);
}

static enum cli_exit report(enum mode mode, const char *path, uint64_t repeat)
{
    struct rusage usage;
    struct result best = { 0 };

    for (uint64_t i = 0; i < repeat; i++) {
        struct result result;
        enum cli_exit status = run(mode, path, &result);
        if (status != CLI_OK)
            return status;
        if (i == 0 || result.seconds < best.seconds)
            best = result;
    }
    (void)getrusage(RUSAGE_SELF, &usage);
    printf("%s bytes=%" PRIu64 " records=%" PRIu64 " seconds=%.4f gb_per_s=%.2f ns_per_record=%.1f "
           "max_rss_kib=%ld checksum=%016" PRIx64 "\n",
           mode_names[mode], best.bytes, best.records, best.seconds,
           1e-9 * (double)best.bytes / best.seconds,
           best.records ? 1e9 * best.seconds / (double)best.records : 0, usage.ru_maxrss,
           best.checksum);
    return CLI_OK;
}

int main(int argc, char **argv)
{
    struct cli_parser parser;
    const char *path = NULL;
    enum mode mode = ALL;
    uint64_t repeat = 1;
    int key;

    (void)argc;
    cli_start(&parser, &command, argv + 1);
    while ((key = cli_next(&parser)) != CLI_END) {
        if (key == KEY_MODE)
            mode = (enum mode)cli_choice("--mode", parser.value, mode_names);
        else if (key == KEY_REPEAT)
            repeat = cli_number("--repeat", parser.value, 1, 1000);
        else if (path)
            cli_usage_error("one trace at a time");
        else
            path = parser.value;
    }
    if (!path)
        cli_usage_error("no trace given");
    return (int)report(mode, path, repeat);
}
