/* A trace's bytes, from wherever they come.  */
#include <stdlib.h>

#include "libfxt/input.h"

struct fxt_input {
    struct fxt_stream stream;
};

enum fxt_status fxt_input_open(const struct fxt_input_options *options, struct fxt_input **out,
                               struct fxt_error *error)
{
    struct fxt_input *input;

    if (options->size != sizeof *options)
        return fxt_fail(error, FXT_INVALID, 0, 0, "input options of another version");
    input = calloc(1, sizeof *input);
    if (!input ||
        fxt_stream_open(&input->stream, options->read, options->context, options->fd) != FXT_OK) {
        free(input);
        return fxt_fail(error, FXT_NO_MEMORY, 0, 0, "out of memory");
    }
    input->stream.wait = options->wait;
    input->stream.wait_context = options->wait_context;
    *out = input;
    return FXT_OK;
}

enum fxt_status fxt_input_open_callback(fxt_read_fn read, void *context, struct fxt_input **out,
                                        struct fxt_error *error)
{
    struct fxt_input_options options = { .size = sizeof options, .read = read, .context = context };

    return fxt_input_open(&options, out, error);
}

enum fxt_status fxt_input_open_fd(int fd, struct fxt_input **out, struct fxt_error *error)
{
    struct fxt_input_options options = { .size = sizeof options, .fd = fd };

    return fxt_input_open(&options, out, error);
}

void fxt_input_close(struct fxt_input *input)
{
    if (!input)
        return;
    fxt_stream_close(&input->stream);
    free(input);
}

enum fxt_compression fxt_input_compression(const struct fxt_input *input)
{
    return input->stream.compression;
}

bool fxt_input_is_cut(const struct fxt_input *input)
{
    return input->stream.cut;
}

bool fxt_input_was_left(const struct fxt_input *input)
{
    return input->stream.left_off;
}

uint64_t fxt_input_raw_bytes(const struct fxt_input *input)
{
    return input->stream.raw_bytes;
}

enum fxt_status fxt_input_read(struct fxt_input *input, void *buffer, size_t size, size_t *length,
                               struct fxt_error *error)
{
    enum fxt_status status = fxt_stream_read(&input->stream, buffer, size, length);

    if (status != FXT_OK && status != FXT_END && error)
        *error = input->stream.error;
    return status;
}
