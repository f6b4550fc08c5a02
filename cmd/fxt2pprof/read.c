/* Traces in: records to the ingest, one ingest a trace, all into one profile.  */
#include <string.h>

#include "cmd/cli/trace.h"
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

static enum cli_exit ingest_trace(struct cli_trace *trace, struct profile_ingest *ingest)
{
    const struct fxt_record *record;
    struct profile_error error;
    enum profile_status status = PROFILE_OK;

    while (status == PROFILE_OK && cli_trace_next(trace, &record))
        status = profile_ingest_record(ingest, record, &error);
    if (status == PROFILE_OK)
        status = profile_ingest_finish(ingest, &error);
    if (status == PROFILE_OK)
        return CLI_OK;
    cli_error("%s: %s", trace->path, error.message);
    return CLI_ENVIRONMENT;
}

static enum cli_exit read_input(const struct settings *settings, const char *path,
                                struct profile *profile, struct totals *totals)
{
    struct fxt_reader_options reader_options = { .size = sizeof reader_options,
                                                 .trust_start = settings->force };
    struct profile_ingest_options options = { .size = sizeof options,
                                              .arm64 = settings->arm64,
                                              .pids = settings->pids.items,
                                              .pid_count = settings->pids.count,
                                              .tids = settings->tids.items,
                                              .tid_count = settings->tids.count };
    struct profile_ingest *ingest = NULL;
    struct profile_sink sink;
    struct profile_error error;
    struct cli_trace trace;
    enum cli_exit status = cli_trace_open(&trace, path, &reader_options);

    profile_sink_of(profile, &sink);
    if (status == CLI_OK && profile_ingest_open(&sink, profile_stacks_of(profile), &options,
                                                &ingest, &error) != PROFILE_OK) {
        cli_error("%s: %s", path, error.message);
        status = CLI_ENVIRONMENT;
    }
    if (status == CLI_OK) {
        status = ingest_trace(&trace, ingest);
        add_notices(&totals->notices, profile_ingest_notices(ingest));
        totals->records += trace.records;
        totals->damage += fxt_damage_total(fxt_reader_damage(trace.reader), false);
    }
    profile_ingest_close(ingest);
    return cli_worse(status, cli_trace_close(&trace, settings->strict));
}

enum cli_exit read_inputs(const struct settings *settings, struct profile *profile,
                          struct totals *totals)
{
    enum cli_exit status = CLI_OK;

    *totals = (struct totals){ .records = 0 };
    for (size_t i = 0; i < settings->inputs.count; i++)
        status = cli_worse(status,
                           read_input(settings, settings->inputs.items[i], profile, totals));
    return status;
}
