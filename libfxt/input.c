/* Bytes from a descriptor or a callback, with compression undone.  */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "libfxt/internal.h"

#define RAW_BYTES   65536u
#define MAGIC_BYTES 3u /* enough to tell the compressions apart */

struct fxt_input {
    fxt_read_fn read;
    void *context;
    int fd;
    enum fxt_compression compression;
    enum fxt_status status; /* not FXT_OK: every further call returns it */
    struct fxt_error error;
    bool examined;  /* the first bytes were looked at */
    bool raw_end;   /* read returned 0 */
    bool cut;       /* a compressed stream ended before its end mark */
    bool in_member; /* gzip: between the first byte of a member and its end mark */
    bool pending;   /* gzip: unpacked bytes may have found no room */
    uint64_t raw_bytes;
    uint64_t offset; /* uncompressed bytes handed out */

    uint8_t *raw; /* bytes read and not yet used; allocated at the first read */
    size_t raw_next;
    size_t raw_left;
    z_stream gzip;
    bool gzip_open;
};

static ptrdiff_t read_fd(void *context, void *buffer, size_t size)
{
    const struct fxt_input *input = context;

    return read(input->fd, buffer, size);
}

enum fxt_status fxt_input_open_callback(fxt_read_fn read, void *context, struct fxt_input **out,
                                        struct fxt_error *error)
{
    struct fxt_input *input = calloc(1, sizeof *input);

    if (input)
        input->raw = malloc(RAW_BYTES);
    if (!input || !input->raw) {
        free(input);
        return fxt_fail(error, FXT_NO_MEMORY, 0, 0, "out of memory");
    }
    input->read = read;
    input->context = context;
    *out = input;
    return FXT_OK;
}

enum fxt_status fxt_input_open_fd(int fd, struct fxt_input **out, struct fxt_error *error)
{
    enum fxt_status status = fxt_input_open_callback(read_fd, NULL, out, error);

    if (status == FXT_OK) {
        (*out)->fd = fd;
        (*out)->context = *out;
    }
    return status;
}

void fxt_input_close(struct fxt_input *input)
{
    if (!input)
        return;
    if (input->gzip_open)
        (void)inflateEnd(&input->gzip);
    free(input->raw);
    free(input);
}

enum fxt_compression fxt_input_compression(const struct fxt_input *input)
{
    return input->compression;
}

bool fxt_input_is_cut(const struct fxt_input *input)
{
    return input->cut;
}

uint64_t fxt_input_raw_bytes(const struct fxt_input *input)
{
    return input->raw_bytes;
}

/* Remember how the input ended, for every further call.  */
static enum fxt_status stop(struct fxt_input *input, enum fxt_status status, int system_errno,
                            const char *what)
{
    input->status = status;
    return fxt_fail(&input->error, status, system_errno, input->offset, "%s", what);
}

/* As the callback, with EINTR retried and the end remembered.  */
static enum fxt_status read_raw(struct fxt_input *input, void *buffer, size_t size, size_t *length)
{
    ptrdiff_t got;

    *length = 0;
    if (input->raw_end)
        return FXT_OK;
    do
        got = input->read(input->context, buffer, size);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
        int reason = errno;

        return stop(input, FXT_FATAL, reason, strerror(reason));
    }
    input->raw_end = got == 0;
    input->raw_bytes += (uint64_t)got;
    *length = (size_t)got;
    return FXT_OK;
}

/* Deflate is the only method there is.  Two bytes alone are gzip data that were cut there.  */
static bool starts_gzip(const uint8_t *bytes, size_t length)
{
    static const uint8_t magic[MAGIC_BYTES] = { 0x1f, 0x8b, 0x08 };

    return length >= 2 && memcmp(bytes, magic, length < MAGIC_BYTES ? length : MAGIC_BYTES) == 0;
}

/* The first bytes tell the compression; a pipe may give them one by one.  */
static enum fxt_status examine(struct fxt_input *input)
{
    while (input->raw_left < MAGIC_BYTES && !input->raw_end) {
        size_t length;
        enum fxt_status status = read_raw(input, input->raw + input->raw_left,
                                          RAW_BYTES - input->raw_left, &length);

        if (status != FXT_OK)
            return status;
        input->raw_left += length;
    }
    input->examined = true;
    if (starts_gzip(input->raw, input->raw_left)) {
        input->compression = FXT_GZIP;
        if (inflateInit2(&input->gzip, 15 + 16) != Z_OK)
            return stop(input, FXT_NO_MEMORY, 0, "out of memory");
        input->gzip_open = true;
        input->in_member = true;
    }
    return FXT_OK;
}

static enum fxt_status read_plain(struct fxt_input *input, uint8_t *buffer, size_t size,
                                  size_t *length)
{
    enum fxt_status status;

    if (input->raw_left > 0) { /* what examine() took */
        *length = size < input->raw_left ? size : input->raw_left;
        memcpy(buffer, input->raw + input->raw_next, *length);
        input->raw_next += *length;
        input->raw_left -= *length;
        return FXT_OK;
    }
    status = read_raw(input, buffer, size, length);
    if (status == FXT_OK && *length == 0)
        return stop(input, FXT_END, 0, "");
    return status;
}

/* Between members: another one, zero padding as tapes leave it, or garbage.  */
static enum fxt_status next_member(struct fxt_input *input)
{
    if (input->raw[input->raw_next] == 0) {
        input->raw_next++;
        input->raw_left--;
        return FXT_OK;
    }
    if (input->raw[input->raw_next] != 0x1f)
        return stop(input, FXT_FATAL, 0, "bytes behind the end of the gzip data are not gzip");
    if (inflateReset(&input->gzip) != Z_OK)
        return stop(input, FXT_FATAL, 0, "gzip data cannot be unpacked");
    input->in_member = true;
    return FXT_OK;
}

/* Unpack what is in raw; *length may stay 0.  */
static enum fxt_status inflate_some(struct fxt_input *input, uint8_t *buffer, size_t size,
                                    size_t *length)
{
    z_stream *gzip = &input->gzip;
    int result;

    gzip->next_in = input->raw + input->raw_next;
    gzip->avail_in = (uInt)input->raw_left;
    gzip->next_out = buffer;
    gzip->avail_out = size > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uInt)size;
    result = inflate(gzip, Z_NO_FLUSH);
    *length = (size_t)(gzip->next_out - buffer);
    input->raw_next += input->raw_left - gzip->avail_in;
    input->raw_left = gzip->avail_in;
    input->pending = result == Z_OK && gzip->avail_out == 0;
    switch (result) {
    case Z_STREAM_END:
        input->in_member = false;
        return FXT_OK;
    case Z_OK:
    case Z_BUF_ERROR: /* it wants more input */
        return FXT_OK;
    case Z_MEM_ERROR:
        return stop(input, FXT_NO_MEMORY, 0, "out of memory");
    default:
        input->offset += *length;
        (void)stop(input, FXT_FATAL, 0, "corrupt gzip data");
        return *length > 0 ? FXT_OK : FXT_FATAL; /* first what came out whole */
    }
}

static enum fxt_status read_gzip(struct fxt_input *input, uint8_t *buffer, size_t size,
                                 size_t *length)
{
    enum fxt_status status = FXT_OK;

    *length = 0;
    while (status == FXT_OK && *length == 0) {
        if (input->raw_left == 0 && !input->pending) {
            input->raw_next = 0;
            status = read_raw(input, input->raw, RAW_BYTES, &input->raw_left);
            if (status == FXT_OK && input->raw_left == 0) {
                input->cut = input->in_member;
                return stop(input, FXT_END, 0, "");
            }
        } else if (input->in_member) {
            status = inflate_some(input, buffer, size, length);
        } else {
            status = next_member(input);
        }
    }
    return status;
}

enum fxt_status fxt_input_read(struct fxt_input *input, void *buffer, size_t size, size_t *length,
                               struct fxt_error *error)
{
    enum fxt_status status = input->status;
    uint64_t before = input->offset;

    *length = 0;
    if (status == FXT_OK && !input->examined)
        status = examine(input);
    if (status == FXT_OK)
        status = input->compression == FXT_GZIP ? read_gzip(input, buffer, size, length)
                                                : read_plain(input, buffer, size, length);
    if (status == FXT_OK)
        input->offset = before + *length;
    else if (status != FXT_END && error)
        *error = input->error;
    return status;
}
