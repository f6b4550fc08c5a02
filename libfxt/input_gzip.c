/* gzip: any number of members, zeros between and behind them.  */
#include <string.h>

#include "libfxt/fxt_input.h"

/* Deflate is the only method there is.  Two bytes alone are gzip data that were cut there.  */
bool fxt_starts_gzip(const uint8_t *bytes, size_t length)
{
    static const uint8_t magic[] = { 0x1f, 0x8b, 0x08 };

    return length >= 2 && memcmp(bytes, magic, length < sizeof magic ? length : sizeof magic) == 0;
}

/* Another member, zero padding as tapes leave it, or garbage.  */
enum fxt_status fxt_gzip_next_frame(struct fxt_stream *stream)
{
    if (stream->raw[stream->raw_next] == 0) {
        stream->raw_next++;
        stream->raw_left--;
        return FXT_OK;
    }
    if (stream->raw[stream->raw_next] != 0x1f)
        return fxt_stream_stop(stream, FXT_FATAL, 0,
                               "bytes after the end of the gzip data are not gzip");
    if (inflateReset(&stream->gzip) != Z_OK)
        return fxt_stream_stop(stream, FXT_FATAL, 0, "gzip data cannot be unpacked");
    stream->in_frame = true;
    return FXT_OK;
}

enum fxt_status fxt_gzip_unpack(struct fxt_stream *stream, uint8_t *buffer, size_t size,
                                size_t *length)
{
    z_stream *gzip = &stream->gzip;
    int result;

    gzip->next_in = stream->raw + stream->raw_next;
    gzip->avail_in = (uInt)stream->raw_left;
    gzip->next_out = buffer;
    gzip->avail_out = size > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uInt)size;
    result = inflate(gzip, Z_NO_FLUSH);
    *length = (size_t)(gzip->next_out - buffer);
    stream->raw_next += stream->raw_left - gzip->avail_in;
    stream->raw_left = gzip->avail_in;
    stream->pending = result == Z_OK && gzip->avail_out == 0;
    switch (result) {
    case Z_STREAM_END:
        stream->in_frame = false;
        return FXT_OK;
    case Z_OK:
    case Z_BUF_ERROR: /* it wants more input */
        return FXT_OK;
    case Z_MEM_ERROR:
        return fxt_stream_stop(stream, FXT_NO_MEMORY, 0, "out of memory");
    default:
        stream->offset += *length;
        (void)fxt_stream_stop(stream, FXT_FATAL, 0, "corrupt gzip data");
        return *length > 0 ? FXT_OK : FXT_FATAL; /* first what came out whole */
    }
}
