/* Zstandard: any number of frames, with or without content size, skippable frames among them.
 *
 * The window is bounded by the library's own limit, 128 MiB (2^27 bytes): what zstd(1) writes
 * without --long or --ultra takes at most 8.  */
#include <string.h>
#include <zstd_errors.h>

#include "libfxt/fxt_input.h"

#define MAGIC_BYTES  4u
#define BLOCK_HEADER 3u /* bytes */

/* RFC 8878 sections 3.1.1 and 3.1.2.  Two bytes alone are zstd data that were cut there; a
 * skippable frame, as pzstd puts it first, needs all four.  */
bool fxt_starts_zstd(const uint8_t *bytes, size_t length)
{
    static const uint8_t frame[MAGIC_BYTES] = { 0x28, 0xb5, 0x2f, 0xfd };

    if (length >= MAGIC_BYTES && (bytes[0] & 0xf0) == 0x50 &&
        memcmp(bytes + 1, "\x2a\x4d\x18", 3) == 0)
        return true;
    return length >= 2 && memcmp(bytes, frame, length < MAGIC_BYTES ? length : MAGIC_BYTES) == 0;
}

/* Whether fewer than four bytes could go on as a frame of either kind.  */
static bool may_start_zstd(const uint8_t *bytes, size_t length)
{
    static const uint8_t skippable[MAGIC_BYTES] = { 0x50, 0x2a, 0x4d, 0x18 };

    return bytes[0] == 0x28
               ? length < 2 || fxt_starts_zstd(bytes, length)
               : (bytes[0] & 0xf0) == 0x50 && memcmp(bytes + 1, skippable + 1, length - 1) == 0;
}

enum fxt_status fxt_zstd_next_frame(struct fxt_stream *stream)
{
    enum fxt_status status = fxt_stream_need(stream, MAGIC_BYTES);
    const uint8_t *bytes = stream->raw + stream->raw_next;

    if (status != FXT_OK)
        return status;
    if (stream->raw_left < MAGIC_BYTES ? !may_start_zstd(bytes, stream->raw_left)
                                       : !fxt_starts_zstd(bytes, stream->raw_left))
        return fxt_stream_stop(stream, FXT_FATAL, 0,
                               "bytes after the end of the zstd data are not zstd");
    stream->hint = ZSTD_initDStream(stream->zstd);
    if (ZSTD_isError(stream->hint))
        return fxt_stream_stop(stream, FXT_FATAL, 0, "zstd data cannot be unpacked");
    stream->in_frame = true;
    return FXT_OK;
}

static enum fxt_status fail(struct fxt_stream *stream, ZSTD_ErrorCode code)
{
    enum fxt_status status = FXT_FATAL;
    const char *what = "corrupt zstd data";

    if (code == ZSTD_error_memory_allocation) {
        status = FXT_NO_MEMORY;
        what = "out of memory";
    } else if (code == ZSTD_error_frameParameter_windowTooLarge) {
        what = "zstd data that take a window of more than 128 MiB; unpack them first: "
               "zstd -d --long=31";
    } else if (code == ZSTD_error_dictionary_wrong) {
        what = "zstd data that need a dictionary; unpack them first: zstd -d -D DICTIONARY";
    }
    return fxt_stream_stop(stream, status, 0, what);
}

/* The library is given no more than it asks for, which is a block and the header of the next, and
 * of that not the header: when it fails, it does not tell what it had unpacked in the same call.
 * For the same reason what found no room is taken from it before it is given more, and a header, or
 * the end of the last block, which may turn out not to be what the frame has promised, goes byte by
 * byte: so the same is given before a failure in whatever pieces the input came.  */
enum fxt_status fxt_zstd_unpack(struct fxt_stream *stream, uint8_t *buffer, size_t size,
                                size_t *length)
{
    size_t wanted = stream->hint > BLOCK_HEADER ? stream->hint - BLOCK_HEADER : 1;
    size_t given = stream->raw_left < wanted ? stream->raw_left : wanted;
    ZSTD_inBuffer in = { stream->raw + stream->raw_next, stream->pending ? 0 : given, 0 };
    ZSTD_outBuffer out = { buffer, size, 0 };
    size_t result = ZSTD_decompressStream(stream->zstd, &out, &in);

    *length = out.pos;
    stream->raw_next += in.pos;
    stream->raw_left -= in.pos;
    stream->pending = !ZSTD_isError(result) && result != 0 && out.pos == out.size;
    if (ZSTD_isError(result))
        return fail(stream, ZSTD_getErrorCode(result));
    stream->in_frame = result != 0;
    stream->hint = result;
    return FXT_OK;
}
