/* Bytes from a descriptor or a callback: identified by the first of them, unpacked, passed on.  */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libfxt/fxt_input.h"

#define MAGIC_BYTES 4u /* enough to tell the compressions apart */

static ptrdiff_t read_fd(void *context, void *buffer, size_t size)
{
    const struct fxt_stream *stream = context;

    return read(stream->fd, buffer, size);
}

enum fxt_status fxt_stream_open(struct fxt_stream *stream, fxt_read_fn read, void *context, int fd)
{
    *stream = (struct fxt_stream){ .read = read ? read : read_fd,
                                   .context = read ? context : stream,
                                   .fd = fd };
    stream->raw = malloc(FXT_RAW_BYTES);
    return stream->raw ? FXT_OK : FXT_NO_MEMORY;
}

void fxt_stream_close(struct fxt_stream *stream)
{
    if (stream->gzip_open)
        (void)inflateEnd(&stream->gzip);
    (void)ZSTD_freeDStream(stream->zstd); /* accepts NULL */
    free(stream->raw);
    *stream = (struct fxt_stream){ .status = FXT_END };
}

enum fxt_status fxt_stream_stop(struct fxt_stream *stream, enum fxt_status status, int system_errno,
                                const char *what)
{
    stream->status = status;
    return fxt_fail(&stream->error, status, system_errno, stream->offset, "%s", what);
}

/* Whether reading makes sense: always, but for a growing input that has nothing more to give.  */
static bool may_read(struct fxt_stream *stream)
{
    enum fxt_wait answer;

    if (stream->raw_end || !stream->wait)
        return !stream->raw_end;
    answer = stream->wait(stream->wait_context, stream->raw_bytes);
    stream->raw_end = answer != FXT_WAIT_MORE;
    stream->left_off = answer == FXT_WAIT_LEAVE;
    return !stream->raw_end;
}

/* As the callback, with EINTR retried and the end remembered: then *length is 0.  */
static enum fxt_status read_raw(struct fxt_stream *stream, void *buffer, size_t size,
                                size_t *length)
{
    ptrdiff_t got = 0;

    *length = 0;
    while (got == 0 && may_read(stream)) {
        do
            got = stream->read(stream->context, buffer, size);
        while (got < 0 && errno == EINTR && !stream->wait);
        if (got < 0 && errno == EINTR)
            got = 0; /* perhaps what interrupted it ends the waiting */
        else if (got == 0 && !stream->wait)
            stream->raw_end = true;
    }
    if (got < 0) {
        int reason = errno;

        return fxt_stream_stop(stream, FXT_FATAL, reason, strerror(reason));
    }
    stream->raw_bytes += (uint64_t)got;
    *length = (size_t)got;
    return FXT_OK;
}

enum fxt_status fxt_stream_need(struct fxt_stream *stream, size_t needed)
{
    if (stream->raw_left < needed && stream->raw_next > 0) {
        memmove(stream->raw, stream->raw + stream->raw_next, stream->raw_left);
        stream->raw_next = 0;
    }
    while (stream->raw_left < needed && !stream->raw_end) {
        size_t length;
        enum fxt_status status = read_raw(stream, stream->raw + stream->raw_left,
                                          FXT_RAW_BYTES - stream->raw_left, &length);

        if (status != FXT_OK)
            return status;
        stream->raw_left += length;
    }
    return FXT_OK;
}

/* The first bytes tell the compression; a pipe may give them one by one.  */
static enum fxt_status examine(struct fxt_stream *stream)
{
    enum fxt_status status = fxt_stream_need(stream, MAGIC_BYTES);

    if (status != FXT_OK)
        return status;
    stream->examined = true;
    if (fxt_starts_gzip(stream->raw, stream->raw_left)) {
        stream->compression = FXT_GZIP;
        if (inflateInit2(&stream->gzip, 15 + 16) != Z_OK)
            return fxt_stream_stop(stream, FXT_NO_MEMORY, 0, "out of memory");
        stream->gzip_open = true;
    } else if (fxt_starts_zstd(stream->raw, stream->raw_left)) {
        stream->compression = FXT_ZSTD;
        stream->zstd = ZSTD_createDStream();
        if (!stream->zstd)
            return fxt_stream_stop(stream, FXT_NO_MEMORY, 0, "out of memory");
    }
    return FXT_OK;
}

static enum fxt_status read_plain(struct fxt_stream *stream, uint8_t *buffer, size_t size,
                                  size_t *length)
{
    enum fxt_status status;

    if (stream->raw_left > 0) { /* what examine() took */
        *length = size < stream->raw_left ? size : stream->raw_left;
        memcpy(buffer, stream->raw + stream->raw_next, *length);
        stream->raw_next += *length;
        stream->raw_left -= *length;
        return FXT_OK;
    }
    status = read_raw(stream, buffer, size, length);
    if (status == FXT_OK && *length == 0)
        return fxt_stream_stop(stream, FXT_END, 0, "");
    return status;
}

static enum fxt_status read_packed(struct fxt_stream *stream, uint8_t *buffer, size_t size,
                                   size_t *length)
{
    bool gzip = stream->compression == FXT_GZIP;
    enum fxt_status status = FXT_OK;

    while (status == FXT_OK && *length == 0) {
        if (stream->raw_left == 0 && !stream->pending) {
            status = fxt_stream_need(stream, 1);
            if (status == FXT_OK && stream->raw_left == 0) {
                stream->cut = stream->in_frame && !stream->left_off;
                return fxt_stream_stop(stream, FXT_END, 0, "");
            }
        } else if (stream->in_frame) {
            status = (gzip ? fxt_gzip_unpack : fxt_zstd_unpack)(stream, buffer, size, length);
        } else {
            status = (gzip ? fxt_gzip_next_frame : fxt_zstd_next_frame)(stream);
        }
    }
    return status;
}

enum fxt_status fxt_stream_read(struct fxt_stream *stream, void *buffer, size_t size,
                                size_t *length)
{
    enum fxt_status status = stream->status;
    uint64_t before = stream->offset;

    *length = 0;
    if (status == FXT_OK && !stream->examined)
        status = examine(stream);
    if (status == FXT_OK)
        status = (stream->compression == FXT_PLAIN ? read_plain : read_packed)(stream, buffer, size,
                                                                               length);
    if (status == FXT_OK)
        stream->offset = before + *length;
    return status;
}
