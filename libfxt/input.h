/* input.h - between the files of libfxt's input layer only (input*.c).
 *
 * A struct fxt_stream is what one descriptor or callback gives, with compression undone.  A struct
 * fxt_input makes a trace of one or several of them.  */
#ifndef FXT_INPUT_H
#define FXT_INPUT_H

#include <zlib.h>
#include <zstd.h>

#include "libfxt/internal.h"

#define FXT_RAW_BYTES 65536u

struct fxt_stream {
    fxt_read_fn read;
    void *context;
    int fd; /* where read is fxt_stream_read_fd() */
    fxt_wait_fn wait;
    void *wait_context;

    enum fxt_compression compression;
    enum fxt_status status; /* not FXT_OK: every further call returns it */
    struct fxt_error error;
    bool examined; /* the first bytes were looked at */
    bool raw_end;  /* nothing more will come from read */
    bool left_off; /* wait said so: what is incomplete now is no damage */
    bool cut;      /* a compressed stream ended before its end mark */
    bool in_frame; /* between the first byte of a gzip member or zstd frame and its end mark */
    bool pending;  /* unpacked bytes may have found no room */
    uint64_t raw_bytes;
    uint64_t offset; /* uncompressed bytes handed out */

    uint8_t *raw; /* FXT_RAW_BYTES: bytes read and not yet used */
    size_t raw_next;
    size_t raw_left;
    z_stream gzip;
    bool gzip_open;
    ZSTD_DStream *zstd;
    size_t hint; /* bytes that zstd asks for */
};

/* Fill in *stream from source, which says where bytes come from.  FXT_OK, or FXT_NO_MEMORY with
 * nothing to release.  */
enum fxt_status fxt_stream_open(struct fxt_stream *stream, fxt_read_fn read, void *context, int fd);

/* As fxt_input_read(), the reason of a failure in stream->error.  */
enum fxt_status fxt_stream_read(struct fxt_stream *stream, void *buffer, size_t size,
                                size_t *length);

void fxt_stream_close(struct fxt_stream *stream);

/* Remember how the stream ended, for every further call.  */
enum fxt_status fxt_stream_stop(struct fxt_stream *stream, enum fxt_status status, int system_errno,
                                const char *what);

/* Have at least needed raw bytes, at most FXT_RAW_BYTES, at raw_next, or all there are: then
 * raw_end is true.  */
enum fxt_status fxt_stream_need(struct fxt_stream *stream, size_t needed);

/* One pair a compression.  next_frame() looks at what stands between frames, where raw_left is not
 * 0, and passes over padding or sets in_frame; unpack() unpacks some of what is in raw, and *length
 * may stay 0.  */
enum fxt_status fxt_gzip_next_frame(struct fxt_stream *stream);
enum fxt_status fxt_gzip_unpack(struct fxt_stream *stream, uint8_t *buffer, size_t size,
                                size_t *length);
enum fxt_status fxt_zstd_next_frame(struct fxt_stream *stream);
enum fxt_status fxt_zstd_unpack(struct fxt_stream *stream, uint8_t *buffer, size_t size,
                                size_t *length);

/* Whether bytes, all there is where length is below 4, begin such data.  */
bool fxt_starts_gzip(const uint8_t *bytes, size_t length);
bool fxt_starts_zstd(const uint8_t *bytes, size_t length);

#endif /* FXT_INPUT_H */
