/* gzip.h - a stream of bytes, compressed or not, to a profile_write_fn.  */
#ifndef PROFILE_WRITE_GZIP_H
#define PROFILE_WRITE_GZIP_H

#include <zlib.h>

#include "libprofile/write/writer_output.h"

/* gzip with neither time nor name nor system in its header: equal bytes give equal files.  */
struct codec_gzip {
    struct base_output output;
    bool raw; /* pass the bytes on as they are */
    bool open;
    z_stream stream;
    gz_header header;
    size_t used;
    unsigned char input[32768]; /* nanopb writes a few bytes at a time */
};

enum profile_status codec_gzip_open(struct codec_gzip *gzip, bool raw, profile_write_fn write,
                                    void *context, struct profile_error *error);
/* False when writing failed; codec_gzip_finish() tells why.  */
bool codec_gzip_put(struct codec_gzip *gzip, const void *bytes, size_t size);
/* Ends the stream and frees what it holds; also after a failure.  */
enum profile_status codec_gzip_finish(struct codec_gzip *gzip, struct profile_error *error);

#endif /* PROFILE_WRITE_GZIP_H */
