/* folded_addresses.c - one trace to folded stacks, with what fxt2pprof has no use for: addresses as
 * names ("module+0xvaddr"), to compare with what a generator wrote, and runs of a sort so small
 * that there are many.
 *
 *   folded_addresses IN.fxt OUT             samples
 *   folded_addresses IN.fxt OUT SORT_BYTES  self times of spans; 0: the usual memory
 *   folded_addresses IN.fxt OUT heap N      the heap's sample type N
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fxt/profile.h>

static void die(const char *what, const char *message)
{
    (void)fprintf(stderr, "folded_addresses: %s: %s\n", what, message);
    exit(4);
}

static int write_file(void *context, const void *bytes, size_t size)
{
    return fwrite(bytes, 1, size, context) == size ? 0 : errno;
}

static void read_trace(const char *path, struct profile_ingest *ingest)
{
    struct fxt_input *input = NULL;
    struct fxt_reader *reader = NULL;
    const struct fxt_record *record;
    struct fxt_error fxt_error;
    struct profile_error error;
    enum fxt_status status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        die(path, "cannot be opened");
    if (fxt_input_open_fd(fd, &input, &fxt_error) != FXT_OK ||
        fxt_reader_open(input, NULL, &reader, &fxt_error) != FXT_OK)
        die(path, fxt_error.message);
    while ((status = fxt_reader_next(reader, &record, &fxt_error)) == FXT_OK)
        if (profile_ingest_record(ingest, record, &error) != PROFILE_OK)
            die(path, error.message);
    if (status != FXT_END)
        die(path, fxt_error.message);
    if (profile_ingest_finish(ingest, &error) != PROFILE_OK)
        die(path, error.message);
    fxt_reader_close(reader);
    fxt_input_close(input);
    (void)close(fd);
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
        size_t used = 0;

        for (size_t i = 0; !*path && i < module.build_id_length; i++)
            used += (size_t)snprintf(name + used, sizeof name - used, "%02x", module.build_id[i]);
        (void)snprintf(name + used, sizeof name - used, "%s+0x%" PRIx64, slash ? slash + 1 : path,
                       frame.vaddr);
        if (frame.has_address &&
            (profile_stacks_string(stacks, name, strlen(name), &line.function, NULL) !=
                 PROFILE_OK ||
             profile_stacks_set_lines(stacks, id, &line, 1, NULL) != PROFILE_OK))
            die("names", "out of memory");
    }
}

int main(int argc, char **argv)
{
    bool spans = argc == 4, heap = argc == 5;
    enum profile_kind kind = spans ? PROFILE_SPAN : heap ? PROFILE_HEAP : PROFILE_CPU;
    struct profile_ingest_options options = { .size = sizeof options };
    struct profile_folded_options folded = { .size = sizeof folded, .value = spans ? 1 : 0 };
    struct profile *profile;
    struct profile_ingest *ingest;
    struct profile_sink sink;
    struct profile_error error;
    FILE *out;

    if (argc < 3 || argc > 5)
        die("usage", "folded_addresses IN OUT [SORT_BYTES | heap TYPE]");
    if (heap)
        folded.value = (int)strtol(argv[4], NULL, 10);
    if (spans)
        options.sort_bytes = strtoul(argv[3], NULL, 10);
    if (profile_open(&profile, &error) != PROFILE_OK)
        die("memory", error.message);
    profile_sink_of(profile, &sink);
    if (profile_ingest_open(&sink, profile_stacks_of(profile), &options, &ingest, &error) !=
        PROFILE_OK)
        die("memory", error.message);
    read_trace(argv[1], ingest);
    name_vaddrs(profile);
    out = fopen(argv[2], "we");
    if (!out)
        die(argv[2], "cannot be written");
    if (profile_write_folded(profile, kind, &folded, write_file, out, &error) != PROFILE_OK)
        die(argv[2], error.message);
    if (fclose(out) != 0)
        die(argv[2], "cannot be written");
    profile_ingest_close(ingest);
    profile_close(profile);
    return 0;
}
