/* profile_convert.c - one trace to one profile, for tests of libprofile from outside.
 *
 *   profile_convert IN.fxt OUT --pprof|--raw|--folded|--top|--notices [--span] [--symbolize]
 *                   [--vaddrs] [--root process|thread|none] [--value N] [--pid N] [--sort-bytes N]
 *
 * --vaddrs gives address frames the names "module+0xvaddr".  */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libprofile/profile.h"

struct request {
    const char *input, *output;
    const char *format;
    enum profile_kind kind;
    bool symbolize, vaddrs;
    struct profile_folded_options folded;
    struct profile_ingest_options ingest;
    uint64_t pid;
};

static void die(const char *what, const char *message)
{
    (void)fprintf(stderr, "profile_convert: %s: %s\n", what, message);
    exit(4);
}

static int write_file(void *context, const void *bytes, size_t size)
{
    return fwrite(bytes, 1, size, context) == size ? 0 : errno;
}

static void parse_value(struct request *request, const char *name, const char *value)
{
    if (!value)
        die(name, "needs a value");
    if (strcmp(name, "--root") == 0)
        request->folded.root = strcmp(value, "thread") == 0 ? PROFILE_ROOT_THREAD
                               : strcmp(value, "none") == 0 ? PROFILE_ROOT_NONE
                                                            : PROFILE_ROOT_PROCESS;
    else if (strcmp(name, "--value") == 0)
        request->folded.value = (int)strtol(value, NULL, 10);
    else if (strcmp(name, "--sort-bytes") == 0)
        request->ingest.sort_bytes = strtoul(value, NULL, 10);
    else if (strcmp(name, "--pid") == 0) {
        request->pid = strtoul(value, NULL, 10);
        request->ingest.pids = &request->pid;
        request->ingest.pid_count = 1;
    } else
        die(name, "unknown option");
}

static void parse(int argc, char **argv, struct request *request)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--span") == 0)
            request->kind = PROFILE_SPAN;
        else if (strcmp(argv[i], "--symbolize") == 0)
            request->symbolize = true;
        else if (strcmp(argv[i], "--vaddrs") == 0)
            request->vaddrs = true;
        else if (strcmp(argv[i], "--pprof") == 0 || strcmp(argv[i], "--raw") == 0 ||
                 strcmp(argv[i], "--folded") == 0 || strcmp(argv[i], "--top") == 0 ||
                 strcmp(argv[i], "--notices") == 0)
            request->format = argv[i];
        else if (argv[i][0] == '-' && argv[i][1] != '\0') {
            parse_value(request, argv[i], argv[i + 1]);
            i++;
        } else if (!request->input)
            request->input = argv[i];
        else
            request->output = argv[i];
    }
    if (!request->input || !request->output || !request->format)
        die("usage", "profile_convert IN OUT --pprof|--raw|--folded|--top|--notices [OPTIONS]");
}

static void read_trace(const struct request *request, struct profile_ingest *ingest)
{
    struct fxt_input *input = NULL;
    struct fxt_reader *reader = NULL;
    const struct fxt_record *record;
    struct fxt_error fxt_error;
    struct profile_error error;
    enum fxt_status status;
    int fd = open(request->input, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        die(request->input, "cannot be opened");
    if (fxt_input_open_fd(fd, &input, &fxt_error) != FXT_OK ||
        fxt_reader_open(input, NULL, &reader, &fxt_error) != FXT_OK)
        die(request->input, fxt_error.message);
    while ((status = fxt_reader_next(reader, &record, &fxt_error)) == FXT_OK)
        if (profile_ingest_record(ingest, record, &error) != PROFILE_OK)
            die(request->input, error.message);
    if (status != FXT_END)
        die(request->input, fxt_error.message);
    if (profile_ingest_finish(ingest, &error) != PROFILE_OK)
        die(request->input, error.message);
    fxt_reader_close(reader);
    fxt_input_close(input);
    (void)close(fd);
}

static void print_notices(FILE *out, const struct profile_notices *n, const struct profile_loss *l)
{
    (void)fprintf(
        out,
        "truncated_stacks %" PRIu64 "\nanonymous_frames %" PRIu64 "\nunmapped_processes %" PRIu64
        "\nodd_payloads %" PRIu64 "\nstray_ends %" PRIu64 "\ncrossing_slices %" PRIu64
        "\nunfinished_slices %" PRIu64 "\ndeep_slices %" PRIu64 "\nunknown_modules %" PRIu64
        "\nbad_mappings %" PRIu64 "\nstack_captures %" PRIu64 "\nunhandled_records %" PRIu64
        "\nprovider_events %" PRIu64 "\n",
        n->truncated_stacks, n->anonymous_frames, n->unmapped_processes, n->odd_payloads,
        n->stray_ends, n->crossing_slices, n->unfinished_slices, n->deep_slices, n->unknown_modules,
        n->bad_mappings, n->stack_captures, n->unhandled_records, l->provider_events);
}

static void symbolize(struct profile *profile)
{
    struct sym_session *session;
    struct sym_error sym_error;
    struct profile_error error;

    if (sym_session_open(NULL, &session, &sym_error) != SYM_OK)
        die("symbols", sym_error.message);
    if (profile_symbolize(profile, session, &error) != PROFILE_OK)
        die("symbols", error.message);
    sym_session_close(session);
}

static void name_vaddrs(struct profile *profile)
{
    struct profile_stacks *stacks = profile_stacks_of(profile);
    char name[400];

    for (profile_id id = 1; id <= profile_stacks_frame_count(stacks); id++) {
        struct profile_frame frame = profile_stacks_get_frame(stacks, id);
        struct profile_module module = profile_stacks_get_module(stacks, frame.module);
        const char *path = profile_stacks_text(stacks, module.name, NULL);
        const char *slash = strrchr(path, '/');
        struct profile_line line = { .line = 0 };

        (void)snprintf(name, sizeof name, "%s+0x%" PRIx64, slash ? slash + 1 : path, frame.vaddr);
        if (frame.has_address &&
            (profile_stacks_string(stacks, name, strlen(name), &line.function, NULL) !=
                 PROFILE_OK ||
             profile_stacks_set_lines(stacks, id, &line, 1, NULL) != PROFILE_OK))
            die("names", "out of memory");
    }
}

static enum profile_status write_profile(const struct request *request,
                                         const struct profile *profile, FILE *out,
                                         struct profile_error *error)
{
    struct profile_pprof_options pprof = { .size = sizeof pprof };

    pprof.raw = strcmp(request->format, "--raw") == 0;
    if (strcmp(request->format, "--folded") == 0)
        return profile_write_folded(profile, request->kind, &request->folded, write_file, out,
                                    error);
    if (strcmp(request->format, "--top") == 0)
        return profile_write_top(profile, request->kind, NULL, write_file, out, error);
    return profile_write_pprof(profile, request->kind, &pprof, write_file, out, error);
}

int main(int argc, char **argv)
{
    struct request request = { .folded = { .size = sizeof request.folded, .value = -1 },
                               .ingest = { .size = sizeof request.ingest } };
    struct profile *profile;
    struct profile_ingest *ingest;
    struct profile_sink sink;
    struct profile_error error;
    FILE *out;

    parse(argc, argv, &request);
    if (profile_open(&profile, &error) != PROFILE_OK)
        die("memory", error.message);
    profile_sink_of(profile, &sink);
    if (profile_ingest_open(&sink, profile_stacks_of(profile), &request.ingest, &ingest, &error) !=
        PROFILE_OK)
        die("memory", error.message);
    read_trace(&request, ingest);
    if (request.symbolize)
        symbolize(profile);
    if (request.vaddrs)
        name_vaddrs(profile);
    out = strcmp(request.output, "-") == 0 ? stdout : fopen(request.output, "we");
    if (!out)
        die(request.output, "cannot be written");
    if (strcmp(request.format, "--notices") == 0)
        print_notices(out, profile_ingest_notices(ingest), profile_loss_of(profile));
    else if (write_profile(&request, profile, out, &error) != PROFILE_OK)
        die(request.output, error.message);
    if (fclose(out) != 0)
        die(request.output, "cannot be written");
    profile_ingest_close(ingest);
    profile_close(profile);
    return 0;
}
