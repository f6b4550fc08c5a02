/* read.c - inputs in: which of them make runs, and traces among them.  */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cli/trace.h"
#include "cmd/fxtdiff/builder.h"
#include "libprofile/codec/files.h"

/* ---- Inputs that can be read only once ---- */

/* Standard input and pipes are copied into a file that has no name, so that their first bytes can
 * be looked at before somebody reads them.  */
struct source {
    const char *operand; /* as given */
    char *path;          /* what to open; owned */
    int fd;              /* that path stands for; -1: operand itself */
};

static bool is_once(const char *operand)
{
    struct stat info;

    return strcmp(operand, "-") == 0 ||
           (stat(operand, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode));
}

static bool write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t wrote = write(fd, bytes, size);

        if (wrote < 0 && errno != EINTR)
            return false;
        if (wrote > 0) {
            bytes += wrote;
            size -= (size_t)wrote;
        }
    }
    return true;
}

static bool copy_all(int from, int to)
{
    static char buffer[65536];

    for (;;) {
        ssize_t got = read(from, buffer, sizeof buffer);

        if (got == 0)
            return true;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 || !write_all(to, buffer, (size_t)got))
            return false;
    }
}

static int open_nameless(void)
{
    const char *dir = getenv("TMPDIR");
    char *template = cli_join(dir && *dir ? dir : "/tmp", "/fxtdiff.XXXXXX");
    int fd = mkostemp(template, O_CLOEXEC);

    if (fd >= 0)
        (void)unlink(template);
    free(template);
    return fd;
}

static enum cli_exit keep_source(struct source *source)
{
    bool is_stdin = strcmp(source->operand, "-") == 0;
    int from = is_stdin ? STDIN_FILENO : open(source->operand, O_RDONLY | O_CLOEXEC);
    int reason = 0;

    source->fd = from < 0 ? -1 : open_nameless();
    if (source->fd < 0 || !copy_all(from, source->fd))
        reason = errno;
    if (from >= 0 && !is_stdin)
        (void)close(from);
    if (reason == 0 && asprintf(&source->path, "/proc/self/fd/%d", source->fd) < 0)
        source->path = NULL;
    if (reason == 0 && source->path)
        return CLI_OK;
    cli_error("%s: %s", is_stdin ? "standard input" : source->operand,
              reason ? strerror(reason) : "out of memory");
    return CLI_ENVIRONMENT;
}

/* ---- What kind of input ---- */

/* The first bytes, uncompressed.  What cannot be opened is left to those who will say so.  */
static size_t first_bytes(const char *path, unsigned char *bytes, size_t size)
{
    struct fxt_input_options options = { .size = sizeof options, .as_stream = true };
    struct fxt_input *input;
    size_t length = 0, part;

    options.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (options.fd < 0)
        return 0;
    if (fxt_input_open(&options, &input, NULL) == FXT_OK) {
        while (length < size &&
               fxt_input_read(input, bytes + length, size - length, &part, NULL) == FXT_OK)
            length += part;
        fxt_input_close(input);
    }
    (void)close(options.fd);
    return length;
}

static const struct diff_reader *reader_of(const char *path)
{
    unsigned char bytes[PROFILE_SNIFF_BYTES];
    size_t length = first_bytes(path, bytes, sizeof bytes);
    const struct diff_reader *reader = diff_readers;

    while (reader->recognizes && !(length > 0 && reader->recognizes(bytes, length)))
        reader++;
    return reader->recognizes ? reader : NULL;
}

/* ---- Traces ---- */

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

/* What a profile held before a trace was taken in: the rest is the trace's.  */
struct before {
    uint64_t samples[PROFILE_KINDS];
    size_t counts[PROFILE_KINDS];
    uint64_t *values[PROFILE_KINDS]; /* PROFILE_MAX_TYPES of each */
};

static void remember(const struct profile *profile, struct before *before)
{
    for (int kind = 0; kind < PROFILE_KINDS; kind++) {
        size_t count = profile_value_count(profile, (enum profile_kind)kind);

        before->samples[kind] = profile_sample_count(profile, (enum profile_kind)kind);
        before->counts[kind] = count;
        before->values[kind] = cli_allocate(count, PROFILE_MAX_TYPES * sizeof(uint64_t));
        for (size_t i = 0; i < count; i++) {
            struct profile_stack_value value = profile_get_value(profile, (enum profile_kind)kind,
                                                                 i);

            memcpy(before->values[kind] + i * PROFILE_MAX_TYPES, value.values, sizeof value.values);
        }
    }
}

static void forget(struct before *before)
{
    for (int kind = 0; kind < PROFILE_KINDS; kind++)
        free(before->values[kind]);
}

static uint64_t new_samples(const struct profile *profile, const struct before *before, int kind)
{
    return profile_sample_count(profile, (enum profile_kind)kind) - before->samples[kind];
}

/* The kind asked for, or that of the traces before, or the first that the trace has; -1: none.  */
static int choose_kind(const struct diff_builder *builder, const struct before *before)
{
    int kind = builder->reading->profile;

    if (kind < 0)
        kind = builder->kind;
    for (int k = 0; kind < 0 && k < PROFILE_KINDS; k++)
        if (new_samples(builder->profile, before, k) > 0)
            kind = k;
    return kind;
}

/* Sample types of a trace by itself: nanoseconds of CPU samples need its own period, whatever other
 * traces have.  */
static size_t types_of(const struct profile *profile, int kind, bool has_period,
                       struct profile_sample_type types[PROFILE_MAX_TYPES])
{
    size_t count = profile_sample_types(profile, (enum profile_kind)kind, types);

    if (kind != PROFILE_CPU)
        return count;
    types[1] = (struct profile_sample_type){ "cpu", "nanoseconds" };
    return has_period ? 2 : 1;
}

/* The type asked for, or the last that there is.  Its index, or -1 after a message.  */
static int choose_type(const struct diff_builder *builder, const char *label, int kind,
                       bool has_period, struct profile_sample_type *out)
{
    struct profile_sample_type types[PROFILE_MAX_TYPES];
    const char *wanted = builder->reading->sample_type;
    size_t count = types_of(builder->profile, kind, has_period, types);
    char names[200] = "";

    for (size_t i = count; i-- > 0;) {
        size_t used = strlen(names);

        *out = types[i];
        if (!wanted || strcmp(types[i].type, wanted) == 0)
            return (int)i;
        (void)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", types[i].type);
    }
    cli_error("%s: no sample type %s in its %s profile, only %s", label, wanted,
              profile_kind_name((enum profile_kind)kind), names);
    return -1;
}

static const char *text_or_null(struct diff_builder *builder, profile_id id)
{
    size_t length;
    const char *text = profile_stacks_text(profile_stacks_of(builder->profile), id, &length);

    return length > 0 ? diff_copy(builder, text, length) : NULL;
}

static void take_origin(struct diff_builder *builder, struct diff_run *run)
{
    struct profile_origin origin = profile_origin_of(builder->profile);

    run->environment.cpu_model = text_or_null(builder, origin.cpu_model);
    run->environment.kernel = text_or_null(builder, origin.kernel);
    run->environment.arch = text_or_null(builder, origin.arch);
    run->environment.command = text_or_null(builder, origin.command);
    run->environment.period_ns = origin.period_ns;
}

/* A run of what the trace added to the profile.  */
static enum cli_exit add_run(struct diff_builder *builder, enum diff_side side, const char *label,
                             const struct before *before)
{
    struct diff_run *run = diff_begin_run(builder, side, label);
    int kind = choose_kind(builder, before);
    struct profile_sample_type name;
    int type;

    take_origin(builder, run);
    if (kind < 0)
        return CLI_OK; /* without samples: the report says so */
    builder->kind = kind;
    type = choose_type(builder, label, kind, run->environment.period_ns > 0, &name);
    if (type < 0 || !diff_set_type(builder, name.type, name.unit))
        return CLI_USAGE;
    run->samples = (double)new_samples(builder->profile, before, kind);
    for (size_t i = 0; i < profile_value_count(builder->profile, (enum profile_kind)kind); i++) {
        struct profile_stack_value value = profile_get_value(builder->profile,
                                                             (enum profile_kind)kind, i);
        uint64_t old = i < before->counts[kind]
                           ? before->values[kind][i * PROFILE_MAX_TYPES + (size_t)type]
                           : 0;

        if (value.values[type] > old) {
            diff_add_stack(builder, value.callsite, (double)(value.values[type] - old));
            run->cost += (double)(value.values[type] - old);
        }
    }
    return CLI_OK;
}

static enum cli_exit read_trace(struct diff_builder *builder, enum diff_side side,
                                const struct cli_trace_files *files, const char *label,
                                const struct cli_trace_options *trace_options)
{
    const struct diff_reading *reading = builder->reading;
    struct profile_ingest_options options = { .size = sizeof options,
                                              .arm64 = reading->arm64,
                                              .pids = reading->pids.items,
                                              .pid_count = reading->pids.count,
                                              .tids = reading->tids.items,
                                              .tid_count = reading->tids.count };
    struct profile_ingest *ingest = NULL;
    struct profile_sink sink;
    struct profile_error error;
    struct cli_trace trace;
    struct before before;
    enum cli_exit status = cli_trace_open_files(&trace, files, trace_options);
    bool readable = false;

    remember(builder->profile, &before);
    profile_sink_of(builder->profile, &sink);
    trace.path = label;
    if (status == CLI_OK && profile_ingest_open(&sink, profile_stacks_of(builder->profile),
                                                &options, &ingest, &error) != PROFILE_OK) {
        cli_error("%s: %s", label, error.message);
        status = CLI_ENVIRONMENT;
    }
    if (status == CLI_OK)
        status = ingest_trace(&trace, ingest);
    readable = trace.records > 0;
    profile_ingest_close(ingest);
    status = cli_worse(status, cli_trace_close(&trace, reading->strict));
    if (status == CLI_OK || (status == CLI_DAMAGED && readable))
        status = cli_worse(status, add_run(builder, side, label, &before));
    else
        builder->set.unreadable_count++;
    forget(&before);
    return status;
}

/* ---- All of them ---- */

/* One trace, or a file of another kind.  */
static enum cli_exit read_files(struct diff_builder *builder, enum diff_side side,
                                const struct cli_trace_files *files, const char *label,
                                const struct cli_trace_options *options)
{
    const struct diff_reader *reader = NULL;

    if (files->count == 1 && !files->regions && !builder->reading->force)
        reader = reader_of(files->paths[0]);
    if (reader)
        return reader->read(builder, side, files->paths[0], label);
    return read_trace(builder, side, files, label, options);
}

/* Operands that stand beside each other, so that the regions of a session are found together.  */
static enum cli_exit read_group(struct diff_builder *builder, enum diff_side side,
                                const struct cli_texts *paths, const char *label)
{
    const struct diff_reading *reading = builder->reading;
    struct fxt_reader_options reader = { .size = sizeof reader, .trust_start = reading->force };
    struct cli_trace_options options = { .reader = &reader, .modules = &reading->modules };
    enum cli_exit status = CLI_OK;
    struct cli_traces traces;

    cli_traces_find(&traces, paths, &options);
    for (size_t i = 0; i < traces.count; i++)
        status = cli_worse(status, read_files(builder, side, &traces.items[i],
                                              label ? label : traces.items[i].label, &options));
    cli_traces_release(&traces);
    return status;
}

static enum cli_exit read_once(struct diff_builder *builder, enum diff_side side,
                               const char *operand)
{
    struct source source = { .operand = operand, .fd = -1 };
    struct cli_texts paths = { .items = NULL };
    enum cli_exit status = keep_source(&source);

    if (status == CLI_OK) {
        cli_texts_add(&paths, source.path);
        status = read_group(builder, side, &paths,
                            strcmp(operand, "-") == 0 ? "standard input" : operand);
    }
    if (source.fd >= 0)
        (void)close(source.fd);
    free(paths.items);
    free(source.path);
    return status;
}

static bool open_profile(struct diff_builder *builder)
{
    struct profile_error error;

    if (builder->profile || profile_open(&builder->profile, &error) == PROFILE_OK)
        return true;
    cli_error("%s", error.message);
    return false;
}

enum cli_exit diff_read(struct diff_builder *builder, enum diff_side side,
                        const struct cli_texts *paths)
{
    struct cli_texts group = { .items = NULL };
    enum cli_exit status = CLI_OK;

    if (!open_profile(builder))
        return CLI_ENVIRONMENT;
    for (size_t i = 0; i < paths->count; i++) {
        bool once = is_once(paths->items[i]);

        if (!once)
            cli_texts_add(&group, paths->items[i]);
        if (group.count > 0 && (once || i + 1 == paths->count)) {
            status = cli_worse(status, read_group(builder, side, &group, NULL));
            group.count = 0;
        }
        if (once)
            status = cli_worse(status, read_once(builder, side, paths->items[i]));
    }
    free(group.items);
    return status;
}
