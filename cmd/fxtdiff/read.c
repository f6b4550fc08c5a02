/* read.c - inputs in: which of them make runs.  */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fxt/profile_files.h>
#include "cmd/cli/cli_input.h"
#include "cmd/cli/cli_trace.h"
#include "cmd/fxtdiff/readers.h"
#include "cmd/fxtdiff/traces.h"

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

static enum cli_exit keep_source(struct source *source)
{
    bool is_stdin = strcmp(source->operand, "-") == 0;
    int from = is_stdin ? STDIN_FILENO : open(source->operand, O_RDONLY | O_CLOEXEC);

    if (from < 0) {
        cli_error("%s: %s", source->operand, strerror(errno));
        return CLI_ENVIRONMENT;
    }
    source->fd = cli_input_copy_fd(is_stdin ? "standard input" : source->operand, from);
    if (!is_stdin)
        (void)close(from);
    if (source->fd < 0)
        return CLI_ENVIRONMENT;
    if (asprintf(&source->path, "/proc/self/fd/%d", source->fd) >= 0)
        return CLI_OK;
    source->path = NULL;
    cli_error("out of memory");
    return CLI_ENVIRONMENT;
}

/* ---- What kind of input ---- */

/* The first bytes, uncompressed.  What cannot be opened is left to those who will say so.  */
static size_t first_bytes(const char *path, unsigned char *bytes, size_t size)
{
    struct fxt_input_options options = { .size = sizeof options, .as_stream = true };
    struct fxt_input *input;
    size_t length = 0, part;

    options.fd = cli_input_open(path);
    if (options.fd < 0)
        return 0;
    if (fxt_input_open(&options, &input, NULL) == FXT_OK) {
        while (length < size &&
               fxt_input_read(input, bytes + length, size - length, &part, NULL) == FXT_OK)
            length += part;
        fxt_input_close(input);
    }
    cli_input_close(path, options.fd);
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

/* ---- All of them ---- */

/* One trace, or a file of another kind, which waits for the traces before it: runs keep their
 * order.  */
static enum cli_exit read_files(struct diff_runs *runs, struct diff_traces *traces,
                                enum compare_side side, const struct cli_trace_files *files,
                                const char *label)
{
    const struct diff_reader *reader = NULL;
    enum cli_exit status;

    if (files->count == 1 && !files->regions && !runs->reading->profiles.reading.force)
        reader = reader_of(files->paths[0]);
    if (!reader)
        return diff_traces_add(traces, side, files, label);
    status = diff_traces_drain(traces);
    return cli_worse(status, reader->read(runs, side, files->paths[0], label));
}

/* Operands that stand beside each other, so that the regions of a session are found together.  */
static enum cli_exit read_group(struct diff_runs *runs, enum compare_side side,
                                const struct cli_texts *paths, const char *label)
{
    const struct diff_reading *reading = runs->reading;
    struct fxt_reader_options reader = { .size = sizeof reader,
                                         .trust_start = reading->profiles.reading.force };
    struct cli_trace_options options = { .reader = &reader,
                                         .modules = &reading->profiles.reading.modules,
                                         .symbols = &reading->profiles.symbols };
    enum cli_exit status = CLI_OK;
    struct diff_traces *jobs;
    struct cli_traces traces;

    cli_traces_find(&traces, paths, &options);
    jobs = diff_traces_open(runs, &options, traces.count);
    for (size_t i = 0; i < traces.count; i++)
        status = cli_worse(status, read_files(runs, jobs, side, &traces.items[i],
                                              label ? label : traces.items[i].label));
    status = cli_worse(status, diff_traces_drain(jobs));
    diff_traces_close(jobs);
    cli_traces_release(&traces);
    return status;
}

static enum cli_exit read_once(struct diff_runs *runs, enum compare_side side, const char *operand)
{
    struct source source = { .operand = operand, .fd = -1 };
    struct cli_texts paths = { .items = NULL };
    enum cli_exit status = keep_source(&source);

    if (status == CLI_OK) {
        cli_texts_add(&paths, source.path);
        status = read_group(runs, side, &paths,
                            strcmp(operand, "-") == 0 ? "standard input" : operand);
    }
    if (source.fd >= 0)
        (void)close(source.fd);
    free(paths.items);
    free(source.path);
    return status;
}

enum cli_exit diff_read(struct diff_runs *runs, enum compare_side side,
                        const struct cli_texts *paths)
{
    struct cli_texts group = { .items = NULL };
    enum cli_exit status = CLI_OK;

    cli_bounds_begin(paths);
    for (size_t i = 0; i < paths->count; i++) {
        bool capture = diff_is_capture(paths->items[i]);
        bool once = !capture && is_once(paths->items[i]);

        if (!once && !capture)
            cli_texts_add(&group, paths->items[i]);
        if (group.count > 0 && (once || capture || i + 1 == paths->count)) {
            status = cli_worse(status, read_group(runs, side, &group, NULL));
            group.count = 0;
        }
        if (once)
            status = cli_worse(status, read_once(runs, side, paths->items[i]));
        if (capture)
            status = cli_worse(status, diff_read_capture(runs, side, paths->items[i]));
    }
    free(group.items);
    return status;
}
