/* Traces in: records to the ingest, one ingest a trace, all into one profile.  */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fxt/profile_files.h>

#include "cmd/cli/cli_input.h"
#include "cmd/cli/cli_trace.h"
#include "cmd/cli/cuts.h"
#include "cmd/fxt2pprof/convert.h"

/* All members of the struct are counters.  */
static void add_notices(struct profile_notices *sum, const struct profile_notices *more)
{
    uint64_t to[sizeof *sum / sizeof(uint64_t)], from[sizeof *sum / sizeof(uint64_t)];

    _Static_assert(sizeof to == sizeof *sum, "counters only");
    memcpy(to, sum, sizeof to);
    memcpy(from, more, sizeof from);
    for (size_t i = 0; i < sizeof to / sizeof *to; i++)
        to[i] += from[i];
    memcpy(sum, to, sizeof to);
}

/* --at +TIME counts from the first time of the trace.  */
static void note_start(const struct settings *settings, const struct fxt_record *record,
                       struct profile *profile, struct totals *totals)
{
    int64_t ts_ns;

    totals->has_start = true;
    totals->start_ns = record->ts_ns;
    if (!settings->at_time.relative)
        return;
    if (__builtin_add_overflow(record->ts_ns, settings->at_time.ns, &ts_ns))
        ts_ns = settings->at_time.ns < 0 ? INT64_MIN : INT64_MAX;
    profile_heap_until(profile, ts_ns);
}

static enum cli_exit ingest_trace(const struct settings *settings, struct cli_trace *trace,
                                  struct profile *profile, struct profile_ingest *ingest,
                                  struct totals *totals)
{
    const struct fxt_record *record;
    struct profile_error error;
    enum profile_status status = PROFILE_OK;

    totals->has_start = false;
    while (status == PROFILE_OK && cli_trace_next(trace, &record)) {
        if (!totals->has_start && record->has_time)
            note_start(settings, record, profile, totals);
        status = profile_ingest_record(ingest, record, &error);
    }
    if (status == PROFILE_OK)
        status = profile_ingest_finish(ingest, &error);
    if (status == PROFILE_OK)
        return CLI_OK;
    bool is_often = status == PROFILE_LIMIT && strstr(error.message, "partial profiles");
    cli_error("%s: %s%s", trace->path, error.message, is_often ? ": give a longer --every" : "");
    return CLI_ENVIRONMENT;
}

/* What needs times makes no sense for messages that have none: a recorded stream, or a trace that
 * was made of one.  */
static void refuse_untimed(const struct settings *settings, const struct cli_trace *trace,
                           bool untimed)
{
    enum fxt_format format;

    if (!settings->at_option)
        return;
    if (untimed ||
        (fxt_input_format(trace->input, &format, NULL) == FXT_OK && format == FXT_FORMAT_MESSAGES))
        cli_usage_error("%s: %s: its allocations were recorded without times", settings->at_option,
                        trace->path);
}

/* Where a file is a profile, or a store, say who reads it.  */
static void hint(const char *path)
{
    unsigned char start[PROFILE_SNIFF_BYTES];
    struct fxt_input *input;
    size_t length = 0, got;
    struct stat info;
    int fd = stat(path, &info) == 0 && S_ISREG(info.st_mode) ? cli_input_open(path) : -1;
    struct fxt_input_options from = { .size = sizeof from, .fd = fd, .as_stream = true };

    if (fd < 0)
        return;
    if (fxt_input_open(&from, &input, NULL) == FXT_OK) {
        while (length < sizeof start &&
               fxt_input_read(input, start + length, sizeof start - length, &got, NULL) == FXT_OK)
            length += got;
        fxt_input_close(input);
    }
    if (profile_is_pprof(start, length))
        cli_note("%s is a pprof profile already: fxtq and fxtdiff read it", path);
    else if (profile_format_of(start, length))
        cli_note("%s is %s: 'fxtq export pprof %s -o FILE' converts it", path,
                 profile_format_of(start, length), path);
    else if (profile_is_folded(start, length))
        cli_note("%s looks like folded stacks: fxtq and fxtdiff read them", path);
    else if (length >= 16 && memcmp(start, "SQLite format 3", 16) == 0)
        cli_note("if %s is a store: fxtq report top %s, or fxtq export pprof %s -o FILE", path,
                 path, path);
    cli_input_close(path, fd);
}

static void print_cuts(const struct cli_trace *trace, const struct profile_ingest *ingest)
{
    struct cli_cuts cuts = { .count = 0 };
    struct profile_cut cut;
    char prefix[PATH_MAX + 2];

    for (size_t i = 0; profile_ingest_cut_at(ingest, i, &cut); i++)
        cli_cuts_add_profile(&cuts, &cut);
    (void)snprintf(prefix, sizeof prefix, "%s: ", trace->path);
    cli_cuts_print(&cuts, prefix, CLI_CUTS_REMEDY);
}

static enum cli_exit read_trace(const struct settings *settings,
                                const struct cli_trace_files *files,
                                const struct cli_trace_options *trace_options, uint64_t number,
                                struct profile *profile, struct totals *totals)
{
    struct profile_ingest_options options = { .size = sizeof options,
                                              .arm64 = settings->profiles.reading.arm64,
                                              .pids = settings->profiles.pids.items,
                                              .pid_count = settings->profiles.pids.count,
                                              .tids = settings->profiles.tids.items,
                                              .tid_count = settings->profiles.tids.count,
                                              .message_process = number,
                                              .session = settings->profiles.symbols.session };
    struct profile_ingest *ingest = NULL;
    struct profile_sink sink;
    struct profile_error error;
    struct cli_trace trace;
    bool is_foreign;
    enum cli_exit status = cli_trace_open_files(&trace, files, trace_options);

    profile_sink_of(profile, &sink);
    if (status == CLI_OK && profile_ingest_open(&sink, profile_stacks_of(profile), &options,
                                                &ingest, &error) != PROFILE_OK) {
        cli_error("%s: %s", trace.path, error.message);
        status = CLI_ENVIRONMENT;
    }
    if (status == CLI_OK)
        refuse_untimed(settings, &trace, false);
    if (status == CLI_OK) {
        status = ingest_trace(settings, &trace, profile, ingest, totals);
        refuse_untimed(settings, &trace, profile_ingest_notices(ingest)->untimed_messages > 0);
        add_notices(&totals->notices, profile_ingest_notices(ingest));
        if (!settings->quiet)
            print_cuts(&trace, ingest);
        totals->records += trace.records;
        totals->damage += fxt_damage_total(fxt_reader_damage(trace.reader), false);
    }
    profile_ingest_close(ingest);
    is_foreign = trace.status == FXT_FATAL && trace.records == 0 && !files->regions;
    status = cli_worse(status, cli_trace_close(&trace, settings->profiles.reading.strict));
    if (is_foreign)
        hint(files->paths[0]);
    return status;
}

enum cli_exit read_inputs(const struct settings *settings, struct profile *profile,
                          struct totals *totals)
{
    struct fxt_reader_options reader = { .size = sizeof reader,
                                         .trust_start = settings->profiles.reading.force };
    struct cli_trace_options options = { .reader = &reader,
                                         .modules = &settings->profiles.reading.modules,
                                         .symbols = &settings->profiles.symbols };
    enum cli_exit status = CLI_OK;
    struct cli_traces traces;

    *totals = (struct totals){ .records = 0 };
    cli_traces_find(&traces, &settings->inputs, &options);
    for (size_t i = 0; i < traces.count; i++)
        status = cli_worse(
            status, read_trace(settings, &traces.items[i], &options, i + 1, profile, totals));
    cli_traces_release(&traces);
    return status;
}
