/* pprof_rewrite.c - one pprof profile through reader and writer, for comparing with what protoc and
 * Go's pprof make of both; or folded stacks, as they were read.
 *
 *   pprof_rewrite IN OUT     a pprof profile, uncompressed
 *   pprof_rewrite -t IN OUT  the same, with its tables behind its samples going through a file
 *   pprof_rewrite -f IN OUT  folded stacks: frames, ';' between them, and all numbers
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fxt/profile_formats.h>

_Noreturn static void die(const char *what, const char *message)
{
    (void)fprintf(stderr, "pprof_rewrite: %s: %s\n", what, message);
    exit(4);
}

static int write_file(void *context, const void *bytes, size_t size)
{
    return fwrite(bytes, 1, size, context) == size ? 0 : errno;
}

static enum profile_status write_line(void *context, const struct profile_folded_line *line)
{
    for (size_t i = 0; i < line->frame_count; i++)
        (void)fprintf(context, "%s%s", i > 0 ? ";" : "", line->frames[i].bytes);
    for (size_t i = 0; i < line->count_count; i++)
        if (line->counts[i].is_integer)
            (void)fprintf(context, " %" PRIu64, line->counts[i].integer);
        else
            (void)fprintf(context, " %.17g", line->counts[i].number);
    (void)putc('\n', context);
    return PROFILE_OK;
}

static enum profile_status rewrite_folded(struct fxt_input *input, FILE *out,
                                          struct profile_read_notices *notices,
                                          struct profile_error *error)
{
    const struct profile_folded_sink sink = { .size = sizeof sink,
                                              .context = out,
                                              .line = write_line };

    return profile_read_folded(input, &sink, NULL, notices, error);
}

static enum profile_status rewrite_pprof(struct fxt_input *input, FILE *out, bool file,
                                         struct profile_read_notices *notices,
                                         struct profile_error *error)
{
    const struct profile_read_options options = { .size = sizeof options,
                                                  .sample_bytes = file ? 64 : 0 };
    const struct profile_writer_options raw = { .size = sizeof raw, .raw = true };
    struct profile_writer *writer = NULL;
    struct profile_pprof_sink sink;
    enum profile_status status = profile_writer_open(profile_format_named("pprof"), &raw,
                                                     write_file, out, &writer, error);

    if (status != PROFILE_OK)
        return status;
    profile_writer_sink(writer, &sink);
    status = profile_read_pprof(input, &sink, &options, notices, error);
    if (status == PROFILE_OK)
        status = profile_writer_finish(writer, error);
    profile_writer_close(writer);
    return status;
}

int main(int argc, char **argv)
{
    const char *mode = argc == 4 ? argv[1] : "";
    const char *from = argv[argc - 2];
    struct profile_read_notices notices;
    struct profile_error error;
    struct fxt_input *input = NULL;
    enum profile_status status;
    char damage[200];
    FILE *out;
    int fd;

    if (argc != 3 && argc != 4)
        die("usage", "[-t|-f] IN OUT");
    fd = open(from, O_RDONLY | O_CLOEXEC);
    out = fopen(argv[argc - 1], "we");
    if (fd < 0 || !out)
        die(from, strerror(errno));
    if (fxt_input_open(&(struct fxt_input_options){ .size = sizeof(struct fxt_input_options),
                                                    .fd = fd,
                                                    .as_stream = true },
                       &input, NULL) != FXT_OK)
        die(from, "out of memory");
    status = strcmp(mode, "-f") == 0
                 ? rewrite_folded(input, out, &notices, &error)
                 : rewrite_pprof(input, out, strcmp(mode, "-t") == 0, &notices, &error);
    if (status != PROFILE_OK)
        die(from, error.message);
    if (fclose(out) != 0)
        die(argv[argc - 1], strerror(errno));
    fxt_input_close(input);
    (void)close(fd);
    if (!profile_read_describe(&notices, damage, sizeof damage))
        return 0;
    (void)fprintf(stderr, "%s\n", damage);
    return 3;
}
