/* fxt_input.h - between the files of libfxt's input layer only (input*.c).
 *
 * A struct fxt_stream is what one descriptor or callback gives, with compression undone.  A struct
 * fxt_input makes a trace of one or several of them.  */
#ifndef FXT_INPUT_H
#define FXT_INPUT_H

#include <zlib.h>
#include <zstd.h>

#include "libfxt/fxt_internal.h"

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

/* ---- Traces made of parts (input_parts.c) ---- */

#define FXT_HEAD_BYTES 128u /* tell every format: the header of an engine buffer */

/* Bytes of a record in a part, at most; writers keep to 256 KiB.  */
#define FXT_LONGEST (UINT64_C(1) << 20)

/* From here on, up to the next place, the trace's bytes are those of the part.  */
struct fxt_place {
    uint64_t offset; /* in the trace */
    uint64_t part_offset;
    size_t part;
    bool made; /* in no part: records that say which part follows */
};

/* Where records stand in an engine buffer.  */
struct fxt_segment {
    const char *name;
    uint64_t offset; /* in the buffer */
    uint64_t size;   /* bytes; all of its room where walk is set */
    bool walk;       /* nobody wrote down where its records end: up to the first zero word */
    bool is_circular;
    uint32_t turn; /* of its rows, if it is circular; those of others were overtaken */
};

struct fxt_engine {
    struct fxt_segment segments[3]; /* in the order of reading */
    size_t segment_count;
    size_t segment; /* the next one to open */
    bool open;      /* the one before it is being read */
    bool is_old;    /* and is at a row of another turn */
    uint64_t left;  /* bytes of the open one that are not yet in the window */
    uint64_t total; /* bytes that the buffer should have */
    uint64_t at;    /* where the next read happens, in the buffer */
    bool cut;       /* it has fewer, and that was noted */
    bool seeks;     /* it is a plain file: read with pread(), from base on */
    int64_t base;
    uint64_t actual; /* bytes of the file */
    /* From a pipe: a segment that stands before the one to be read first.  */
    uint8_t *held;
    size_t held_size;
    size_t held_next;
    bool from_held; /* it is what is being read */
};

struct fxt_input {
    struct fxt_stream stream; /* of the part that is being read */
    bool as_stream;           /* whatever it looks like */
    bool examined;
    enum fxt_format format;
    uint8_t head[FXT_HEAD_BYTES]; /* bytes read to tell the format by, not yet used */
    size_t head_next;
    size_t head_end;

    /* The rest is for what is made of parts: all but streams.  */
    enum fxt_status status; /* not FXT_OK: every further call returns it */
    struct fxt_error error;
    const struct fxt_region *regions; /* borrowed; NULL: one input that tells itself what it is */
    struct fxt_part *parts;
    size_t part_count;
    size_t part;        /* the current one */
    bool in_part;       /* it was begun and is not over */
    bool part_over;     /* nothing more comes from its stream */
    bool part_failed;   /* and that was noted as damage */
    uint64_t raw_bytes; /* of the parts before it, and what pread() gave */
    uint64_t damage_count;
    uint64_t damaged_at; /* the first, in the trace */
    struct fxt_place *places;
    size_t place_count, place_capacity;
    struct fxt_engine engine;

    /* What goes out next, in this order.  */
    uint8_t queue[320]; /* records in no part */
    size_t queue_next;
    size_t queue_end;
    uint64_t zeros; /* zero bytes between records */
    size_t ready;   /* bytes of whole records, from window + begin on */
    uint64_t given; /* bytes that went out */

    uint8_t *window; /* bytes begin..end are read and not yet used */
    size_t capacity;
    size_t begin;
    size_t end;
    bool no_more;           /* the part, or its segment, ends with the window */
    uint64_t position;      /* of window + begin, in the part */
    uint64_t unused;        /* zero bytes before it that may be the unused end of a region */
    uint64_t after_records; /* where the last record ends, in the part; 0: there was none */
};

/* As fxt_input_read(), for what is made of parts.  */
enum fxt_status fxt_parts_read(struct fxt_input *input, uint8_t *buffer, size_t size,
                               size_t *length);

/* The next bytes of the current part, those in head first.  FXT_OK, FXT_END or FXT_NO_MEMORY; what
 * else ends it is noted as damage.  */
enum fxt_status fxt_parts_take(struct fxt_input *input, uint8_t *buffer, size_t size,
                               size_t *length);

/* Have at least needed bytes, at most FXT_LONGEST, at window + begin, or set no_more: these are
 * all.  FXT_OK or FXT_NO_MEMORY.  */
enum fxt_status fxt_parts_need(struct fxt_input *input, size_t needed);

/* Pass over all that is left of the part, or of its segment; *bytes are how much.  FXT_OK or
 * FXT_NO_MEMORY.  */
enum fxt_status fxt_parts_drop(struct fxt_input *input, uint64_t *bytes);

/* The next size bytes of the window are whole records: hand them out, after the zeros that were
 * passed over before them.  FXT_OK or FXT_NO_MEMORY.  */
enum fxt_status fxt_parts_give(struct fxt_input *input, size_t size);

/* Hand out a record in no part: that a provider begins, or that it lost records.  FXT_OK or
 * FXT_NO_MEMORY.  */
enum fxt_status fxt_parts_provider(struct fxt_input *input, uint32_t id, const char *name);
enum fxt_status fxt_parts_loss(struct fxt_input *input, uint32_t id);

/* Hand out a string of the table, in no part.  FXT_OK or FXT_NO_MEMORY.  */
enum fxt_status fxt_parts_string(struct fxt_input *input, unsigned index, const char *text);

/* Hand out words in no part and, behind them, the next size bytes of the window: one record, which
 * stands nowhere.  At most 4 words.  */
void fxt_parts_give_behind(struct fxt_input *input, const uint64_t *words, size_t count,
                           size_t size);

/* Note damage at an offset of the current part that costs lost bytes.  */
void fxt_parts_damage(struct fxt_input *input, uint64_t offset, uint64_t lost, int system_errno,
                      const char *format, ...) __attribute__((format(printf, 5, 6)));

/* End reading for good.  */
enum fxt_status fxt_parts_stop(struct fxt_input *input, enum fxt_status status, const char *what);

/* ---- Regions (input_region.c) ---- */

/* Whether these 48 bytes begin a record as the kernel sampler writes it.  */
bool fxt_is_sampler_record(const uint8_t *bytes);

/* Pass over zeros or hand out records: FXT_OK.  FXT_END: the region is over.  FXT_NO_MEMORY.  */
enum fxt_status fxt_region_step(struct fxt_input *input);

/* ---- Engine buffers (input_engine.c) ---- */

bool fxt_is_engine_buffer(const uint8_t *bytes, size_t length);

/* Check the header, which is in head, and find the order of reading.  FXT_OK, or the input is
 * stopped.  */
enum fxt_status fxt_engine_start(struct fxt_input *input);

/* As fxt_region_step(), and it may stop the input.  */
enum fxt_status fxt_engine_step(struct fxt_input *input);

/* As fxt_parts_take(), of the open segment.  */
enum fxt_status fxt_engine_take(struct fxt_input *input, uint8_t *buffer, size_t size,
                                size_t *length);

/* ---- Recorded messages (input_messages.c) ---- */

/* Whether these 16 bytes begin a message of the memory sampler.  */
bool fxt_is_message(const uint8_t *bytes);

enum fxt_status fxt_messages_start(struct fxt_input *input);

/* As fxt_region_step().  */
enum fxt_status fxt_messages_step(struct fxt_input *input);

#endif /* FXT_INPUT_H */
