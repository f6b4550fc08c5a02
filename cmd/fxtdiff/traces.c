/* traces.c - traces as runs, several read at once.  */
#include "cmd/fxtdiff/traces.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_DEFAULT_JOBS 8

/* A trace on its way.  Opened, joined and closed by the main thread, which prints; only the records
 * are read by its own.  */
struct job {
    const struct diff_reading *reading;
    enum compare_side side;
    const char *label;
    int kind; /* of profile, enum profile_kind; -1: the first that there is */
    struct cli_trace trace;
    pthread_t thread;
    bool has_thread;
    enum cli_exit status;
    struct profile *profile;
    struct profile_error error;
    bool failed; /* error says why */
};

struct diff_traces {
    struct diff_runs *runs;
    const struct cli_trace_options *options;
    struct job *jobs; /* a ring */
    size_t room, first, count;
    struct cli_progress progress;
    size_t done;
};

static unsigned default_jobs(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    return cpus < 1 ? 1 : cpus > MAX_DEFAULT_JOBS ? MAX_DEFAULT_JOBS : (unsigned)cpus;
}

struct diff_traces *diff_traces_open(struct diff_runs *runs,
                                     const struct cli_trace_options *options, size_t count)
{
    struct diff_traces *traces = cli_allocate(1, sizeof *traces);

    traces->runs = runs;
    traces->options = options;
    traces->room = runs->reading->jobs ? runs->reading->jobs : default_jobs();
    if (traces->room > count)
        traces->room = count ? count : 1;
    traces->jobs = cli_allocate(traces->room, sizeof *traces->jobs);
    cli_progress_start(&traces->progress, "reading", count);
    return traces;
}

/* ---- In its own thread ---- */

static enum profile_status take_records(struct job *job, struct profile_ingest *ingest)
{
    const struct fxt_record *record;
    enum profile_status status = PROFILE_OK;

    while (status == PROFILE_OK && cli_trace_next(&job->trace, &record))
        status = profile_ingest_record(ingest, record, &job->error);
    return status == PROFILE_OK ? profile_ingest_finish(ingest, &job->error) : status;
}

/* Only one kind of profile is compared: what makes others, and has to sort a trace for it, is not
 * asked for where it is known which.  */
static void omit_others(struct profile_sink *sink, int kind)
{
    if (kind < 0)
        return;
    if (kind != PROFILE_SPAN)
        sink->span = NULL;
    if (kind != PROFILE_OFF_CPU)
        sink->off_cpu = NULL;
    if (kind != PROFILE_INSN)
        sink->executed = NULL;
}

static void *read_trace(void *context)
{
    struct job *job = context;
    const struct diff_reading *reading = job->reading;
    struct profile_ingest_options options = { .size = sizeof options,
                                              .arm64 = reading->profiles.reading.arm64,
                                              .pids = reading->profiles.pids.items,
                                              .pid_count = reading->profiles.pids.count,
                                              .tids = reading->profiles.tids.items,
                                              .tid_count = reading->profiles.tids.count,
                                              .session = cli_symbols_of_thread(
                                                  &reading->profiles.symbols) };
    struct profile_ingest *ingest = NULL;
    struct profile_sink sink;
    enum profile_status status = profile_open(&job->profile, &job->error);

    if (status == PROFILE_OK) {
        profile_omit_threads(job->profile);
        profile_sink_of(job->profile, &sink);
        omit_others(&sink, job->kind);
        status = profile_ingest_open(&sink, profile_stacks_of(job->profile), &options, &ingest,
                                     &job->error);
    }
    if (status == PROFILE_OK)
        status = take_records(job, ingest);
    profile_ingest_close(ingest);
    sym_session_close(options.session);
    job->failed = status != PROFILE_OK;
    return NULL;
}

/* ---- Into the set ---- */

/* Ids of the trace's profile become ids of that of all runs; 0: not met yet.  */
struct move {
    struct profile_stacks *from, *to;
    profile_id *modules, *frames, *callsites;
    struct profile_line *lines; /* scratch */
    size_t line_capacity;
    struct profile_error *error;
};

static enum profile_status move_text(struct move *move, profile_id text, profile_id *out)
{
    size_t length;
    const char *bytes = profile_stacks_text(move->from, text, &length);

    *out = 0;
    return length ? profile_stacks_string(move->to, bytes, length, out, move->error) : PROFILE_OK;
}

static enum profile_status move_module(struct move *move, profile_id id, profile_id *out)
{
    struct profile_module module = profile_stacks_get_module(move->from, id);
    enum profile_status status = PROFILE_OK;

    if (id != 0 && move->modules[id] == 0) {
        status = move_text(move, module.name, &module.name);
        if (status == PROFILE_OK)
            status = profile_stacks_module(move->to, &module, &move->modules[id], move->error);
    }
    *out = move->modules[id];
    return status;
}

static enum profile_status move_named(struct move *move, const struct profile_frame *frame,
                                      profile_id *out)
{
    enum profile_status status = PROFILE_OK;

    move->lines = cli_grow(move->lines, &move->line_capacity, frame->line_count + (size_t)1,
                           sizeof *move->lines);
    for (uint32_t i = 0; i < frame->line_count && status == PROFILE_OK; i++) {
        struct profile_line *line = &move->lines[i];

        *line = frame->lines[i];
        status = move_text(move, frame->lines[i].function, &line->function);
        if (status == PROFILE_OK)
            status = move_text(move, frame->lines[i].system_name, &line->system_name);
        if (status == PROFILE_OK)
            status = move_text(move, frame->lines[i].file, &line->file);
    }
    if (status != PROFILE_OK)
        return status;
    return profile_stacks_named_frame(move->to, move->lines, frame->line_count, out, move->error);
}

static enum profile_status move_frame(struct move *move, profile_id id, profile_id *out)
{
    struct profile_frame frame;
    enum profile_status status = PROFILE_OK;
    profile_id module;

    if (move->frames[id] == 0) {
        frame = profile_stacks_get_frame(move->from, id);
        if (!frame.has_address)
            status = move_named(move, &frame, &move->frames[id]);
        else
            status = move_module(move, frame.module, &module);
        if (status == PROFILE_OK && frame.has_address)
            status = profile_stacks_address_frame(move->to, module, frame.vaddr, &move->frames[id],
                                                  move->error);
    }
    *out = move->frames[id];
    return status;
}

/* Of the call sites marked with 1 in move->callsites, and their callers.  Parents have lower ids
 * than their children.  */
static enum profile_status move_callsites(struct move *move)
{
    profile_id count = profile_stacks_callsite_count(move->from);
    enum profile_status status = PROFILE_OK;

    for (profile_id id = count; id > 0; id--)
        if (move->callsites[id])
            move->callsites[profile_stacks_get_callsite(move->from, id).parent] = 1;
    move->callsites[0] = 0;
    for (profile_id id = 1; id <= count && status == PROFILE_OK; id++) {
        struct profile_callsite callsite = profile_stacks_get_callsite(move->from, id);
        profile_id frame;

        if (!move->callsites[id])
            continue;
        status = move_frame(move, callsite.frame, &frame);
        if (status == PROFILE_OK)
            status = profile_stacks_callsite(move->to, move->callsites[callsite.parent], frame,
                                             &move->callsites[id], move->error);
    }
    return status;
}

/* Values of a kind and a type become stacks of the current run.  */
static enum profile_status move_values(struct diff_runs *runs, struct job *job, int kind,
                                       size_t type, struct compare_run *run)
{
    struct move move = { .from = profile_stacks_of(job->profile),
                         .to = profile_stacks_of(runs->profile),
                         .error = &job->error };
    size_t count = profile_value_count(job->profile, (enum profile_kind)kind);
    enum profile_status status;

    move.modules = cli_allocate((size_t)profile_stacks_module_count(move.from) + 1,
                                sizeof *move.modules);
    move.frames = cli_allocate((size_t)profile_stacks_frame_count(move.from) + 1,
                               sizeof *move.frames);
    move.callsites = cli_allocate((size_t)profile_stacks_callsite_count(move.from) + 1,
                                  sizeof *move.callsites);
    for (size_t i = 0; i < count; i++)
        move.callsites[profile_get_value(job->profile, (enum profile_kind)kind, i).callsite] = 1;
    status = move_callsites(&move);
    for (size_t i = 0; i < count && status == PROFILE_OK; i++) {
        struct profile_stack_value value = profile_get_value(job->profile, (enum profile_kind)kind,
                                                             i);
        double cost = (double)value.values[type];

        if (cost > 0)
            compare_builder_add_stack(runs->builder, move.callsites[value.callsite], cost);
        run->cost += cost;
    }
    free(move.modules);
    free(move.frames);
    free(move.callsites);
    free(move.lines);
    return status;
}

/* The kind asked for, or that of the traces before; -1: neither.  */
static int known_kind(const struct diff_runs *runs)
{
    return runs->reading->profiles.kind >= 0 ? runs->reading->profiles.kind : runs->kind;
}

/* The kind that is known, or the first that the trace has; -1: none.  */
static int choose_kind(const struct diff_runs *runs, const struct profile *profile)
{
    int kind = known_kind(runs);

    for (int k = 0; kind < 0 && k < PROFILE_KINDS; k++)
        if (profile_sample_count(profile, (enum profile_kind)k) > 0)
            kind = k;
    return kind;
}

/* The index of the type asked for, or that of the runs before, or the profile's default; -1 after a
 * message.  */
static int choose_type(const struct diff_runs *runs, const struct job *job, int kind,
                       struct profile_sample_type *out)
{
    struct profile_sample_type types[PROFILE_MAX_TYPES];
    const char *wanted = runs->reading->sample_type;
    const char *name = wanted ? wanted : compare_builder_type(runs->builder).type;
    size_t count = profile_sample_types(job->profile, (enum profile_kind)kind, types);
    size_t by_default = profile_default_type(job->profile, (enum profile_kind)kind);
    char names[200] = "";

    for (size_t i = count; i-- > 0 && name;) {
        size_t used = strlen(names);

        *out = types[i];
        if (strcmp(types[i].type, name) == 0)
            return (int)i;
        (void)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", types[i].type);
    }
    *out = types[by_default];
    if (!wanted)
        return (int)by_default;
    cli_error("%s: no sample type %s in its %s profile, only %s", job->label, wanted,
              profile_kind_name((enum profile_kind)kind), names);
    return -1;
}

static const char *text_or_null(struct diff_runs *runs, const struct job *job, profile_id id)
{
    size_t length;
    const char *text = profile_stacks_text(profile_stacks_of(job->profile), id, &length);

    return length > 0 ? compare_builder_text(runs->builder, text, length) : NULL;
}

static void take_origin(struct diff_runs *runs, const struct job *job, struct compare_run *run)
{
    struct profile_origin origin = profile_origin_of(job->profile);
    size_t size;
    const char *symbols = profile_kernel_symbols_of(job->profile, &size);

    run->environment.cpu_model = text_or_null(runs, job, origin.cpu_model);
    run->environment.kernel = text_or_null(runs, job, origin.kernel);
    run->environment.arch = text_or_null(runs, job, origin.arch);
    run->environment.command = text_or_null(runs, job, origin.command);
    run->environment.period_ns = origin.period_ns;
    if (size > 0 && !runs->kernel_symbols) {
        runs->kernel_symbols = cli_allocate(size, 1);
        memcpy(runs->kernel_symbols, symbols, size);
        runs->kernel_symbols_size = size;
    }
}

/* A CPU capture beside heap profiles is not empty.  */
static const char *other_samples(struct diff_runs *runs, const struct profile *profile, int kind)
{
    char text[80];
    int length;

    for (int k = 0; kind >= 0 && k < PROFILE_KINDS; k++) {
        if (profile_sample_count(profile, (enum profile_kind)k) == 0)
            continue;
        length = snprintf(text, sizeof text, "%s samples, only %s",
                          profile_kind_name((enum profile_kind)kind),
                          profile_kind_name((enum profile_kind)k));
        return compare_builder_text(runs->builder, text, length < 0 ? 0 : (size_t)length);
    }
    return NULL;
}

static enum cli_exit add_run(struct diff_runs *runs, struct job *job)
{
    struct compare_run *run = diff_begin_run(runs, job->side, job->label);
    int kind = choose_kind(runs, job->profile);
    struct profile_sample_type name = { NULL, NULL };
    int type;

    take_origin(runs, job, run);
    if (kind < 0 || profile_sample_count(job->profile, (enum profile_kind)kind) == 0) {
        run->lacks = other_samples(runs, job->profile, kind);
        return CLI_OK; /* without samples: the report says so */
    }
    runs->kind = kind;
    type = choose_type(runs, job, kind, &name);
    if (type < 0 || !diff_set_type(runs, name.type, name.unit))
        return CLI_USAGE;
    run->samples = (double)profile_sample_count(job->profile, (enum profile_kind)kind);
    if (move_values(runs, job, kind, (size_t)type, run) == PROFILE_OK)
        return CLI_OK;
    cli_error("%s: %s", job->label, job->error.message);
    return CLI_ENVIRONMENT;
}

/* ---- The ring ---- */

/* Wait for the oldest, and take it over.  */
static enum cli_exit finish_first(struct diff_traces *traces)
{
    struct job *job = &traces->jobs[traces->first];
    enum cli_exit status = job->status;
    bool readable;

    if (job->has_thread)
        (void)pthread_join(job->thread, NULL);
    if (job->failed) {
        cli_error("%s: %s", job->label, job->error.message);
        status = CLI_ENVIRONMENT;
    }
    readable = job->trace.records > 0;
    status = cli_worse(
        status, cli_trace_close(&job->trace, traces->runs->reading->profiles.reading.strict));
    if (job->profile && (status == CLI_OK || (status == CLI_DAMAGED && readable)))
        status = cli_worse(status, add_run(traces->runs, job));
    else
        compare_builder_add_unreadable(traces->runs->builder);
    profile_close(job->profile);
    traces->first = (traces->first + 1) % traces->room;
    traces->count--;
    cli_progress_show(&traces->progress, ++traces->done);
    return status;
}

enum cli_exit diff_traces_add(struct diff_traces *traces, enum compare_side side,
                              const struct cli_trace_files *files, const char *label)
{
    enum cli_exit status = traces->count == traces->room ? finish_first(traces) : CLI_OK;
    struct job *job = &traces->jobs[(traces->first + traces->count) % traces->room];

    *job = (struct job){ .reading = traces->runs->reading,
                         .side = side,
                         .label = label,
                         .kind = known_kind(traces->runs) };
    traces->count++;
    job->status = cli_trace_open_files(&job->trace, files, traces->options);
    job->trace.path = label;
    if (job->status != CLI_OK)
        return status;
    if (traces->room > 1) {
        job->trace.progress.started_ns = 0; /* several lines at once would hide each other */
        job->has_thread = pthread_create(&job->thread, NULL, read_trace, job) == 0;
    }
    if (!job->has_thread)
        (void)read_trace(job);
    return status;
}

enum cli_exit diff_traces_drain(struct diff_traces *traces)
{
    enum cli_exit status = CLI_OK;

    while (traces->count > 0)
        status = cli_worse(status, finish_first(traces));
    return status;
}

void diff_traces_close(struct diff_traces *traces)
{
    cli_progress_end(&traces->progress);
    free(traces->jobs);
    free(traces);
}
