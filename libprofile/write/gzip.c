/* gzip.c - gzip that depends on nothing but its input.  */
#include "libprofile/write/gzip.h"

#define OS_UNKNOWN 255 /* RFC 1952 section 2.3.1 */

enum profile_status codec_gzip_open(struct codec_gzip *gzip, bool raw, profile_write_fn write,
                                    void *context, struct profile_error *error)
{
    base_output_init(&gzip->output, write, context);
    gzip->raw = raw;
    gzip->open = false;
    gzip->used = 0;
    if (raw)
        return PROFILE_OK;
    gzip->stream = (z_stream){ .next_in = NULL };
    gzip->header = (gz_header){ .os = OS_UNKNOWN };
    if (deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return profile_no_memory(error);
    gzip->open = true;
    (void)deflateSetHeader(&gzip->stream, &gzip->header); /* fails on streams that are not gzip */
    return PROFILE_OK;
}

/* Compress what has gathered.  deflate() cannot fail on a sound stream with room for output.  */
static void compress_input(struct codec_gzip *gzip, int flush)
{
    unsigned char room[16384];

    gzip->stream.next_in = gzip->input;
    gzip->stream.avail_in = (unsigned)gzip->used;
    do {
        gzip->stream.next_out = room;
        gzip->stream.avail_out = sizeof room;
        (void)deflate(&gzip->stream, flush);
        base_output_put(&gzip->output, room, sizeof room - gzip->stream.avail_out);
    } while (gzip->stream.avail_out == 0);
    gzip->used = 0;
}

bool codec_gzip_put(struct codec_gzip *gzip, const void *bytes, size_t size)
{
    const unsigned char *next = bytes;

    if (gzip->raw) {
        base_output_put(&gzip->output, bytes, size);
        return gzip->output.system_errno == 0;
    }
    while (size > 0) {
        size_t room = sizeof gzip->input - gzip->used;
        size_t part = size < room ? size : room;

        memcpy(gzip->input + gzip->used, next, part);
        gzip->used += part;
        next += part;
        size -= part;
        if (gzip->used == sizeof gzip->input)
            compress_input(gzip, Z_NO_FLUSH);
    }
    return gzip->output.system_errno == 0;
}

enum profile_status codec_gzip_finish(struct codec_gzip *gzip, struct profile_error *error)
{
    if (gzip->open) {
        compress_input(gzip, Z_FINISH);
        (void)deflateEnd(&gzip->stream);
        gzip->open = false;
    }
    return codec_output_finish(&gzip->output, error);
}
