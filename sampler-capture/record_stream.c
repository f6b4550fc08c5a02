/* record_stream.c - records to bytes, bytes to a file.  */
#include "sampler-capture/record_stream.h"

#include "base/grow.h"
#include "sampler-capture/capture_output.h"
#include "sampler-capture/clean_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#define TICKS_PER_SECOND 1000000000
#define BUFFER_SIZE      (1U << 20)
#define NAME_SIZE        64  /* of tasks, with NUL; the kernel's are 16 */
#define MODULE_NAME_SIZE 256 /* with NUL: the length is an 8-bit field */
#define FRAME_NS         TICKS_PER_SECOND
#define FRAME_SIZE       (1U << 20) /* compressed bytes after which a frame ends early */

struct stream {
    int fd;
    int failed;                /* errno */
    uint64_t bytes;            /* in the file */
    struct fxt_writer *writer; /* owned */
    uint8_t *buffer;           /* owned; whole records */
    size_t used;
    uint32_t provider;

    /* Compressed output: a frame is written when it is whole.  */
    ZSTD_CCtx *zstd; /* owned; NULL: not compressed */
    uint8_t *frame;  /* owned */
    size_t frame_used;
    size_t frame_capacity;
    uint64_t frame_started_ns; /* 0: nothing is in it */
};

/* ---- Bytes ---- */

/* Bytes of the whole records among the first size bytes of buffer, which starts with one.  */
static size_t whole_records(const uint8_t *buffer, size_t size)
{
    size_t end = 0;

    while (size - end >= 8) {
        uint64_t header = fxt_load_u64(buffer + end);
        uint64_t words = (header & 15) == 15 ? header >> 4 & 0xffffffff : header >> 4 & 0xfff;
        if (words * 8 > size - end)
            break;
        end += (size_t)words * 8;
    }
    return end;
}

/* Take what is cut off the end of the file.  A pipe keeps it.  */
static void cut_file(struct stream *stream, size_t extra)
{
    struct stat status;
    off_t end = lseek(stream->fd, 0, SEEK_CUR);

    if (extra > 0 && end >= (off_t)extra && fstat(stream->fd, &status) == 0 &&
        S_ISREG(status.st_mode) && ftruncate(stream->fd, end - (off_t)extra) == 0)
        stream->bytes -= extra;
}

static bool write_plain(struct stream *stream)
{
    size_t done;

    stream->failed = output_write(stream->fd, stream->buffer, stream->used, &done);
    stream->bytes += done;
    if (done < stream->used)
        cut_file(stream, done - whole_records(stream->buffer, done));
    stream->used = 0;
    return stream->failed == 0;
}

/* Room for more of the frame.  */
static bool reserve_frame(struct stream *stream)
{
    return base_make_room(&stream->frame, &stream->frame_capacity,
                          stream->frame_used + ZSTD_CStreamOutSize(), 1);
}

/* What is in the buffer goes into the frame; with end the frame is whole.  */
static bool compress(struct stream *stream, bool end)
{
    ZSTD_inBuffer in = { .src = stream->buffer, .size = stream->used };
    size_t left = 1;

    while (end ? left > 0 : in.pos < in.size) {
        ZSTD_outBuffer out;

        if (!reserve_frame(stream)) {
            stream->failed = ENOMEM;
            return false;
        }
        out = (ZSTD_outBuffer){ .dst = stream->frame,
                                .size = stream->frame_capacity,
                                .pos = stream->frame_used };
        left = ZSTD_compressStream2(stream->zstd, &out, &in, end ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left)) {
            stream->failed = ENOMEM; /* the only way to fail with valid parameters */
            return false;
        }
        stream->frame_used = out.pos;
    }
    stream->used = 0;
    return true;
}

/* A frame is on its way for at most a second: that much is lost when the capture is killed, and
 * what is in the file can be read.  */
static bool write_frames(struct stream *stream, bool last)
{
    uint64_t now_ns = host_clock_ns(CLOCK_MONOTONIC);
    size_t done;
    bool end;

    if (stream->used > 0 && stream->frame_started_ns == 0)
        stream->frame_started_ns = now_ns;
    if (stream->frame_started_ns == 0)
        return true;
    end = last || now_ns - stream->frame_started_ns >= FRAME_NS || stream->frame_used >= FRAME_SIZE;
    if (!compress(stream, end))
        return false;
    if (!end)
        return true;
    stream->failed = output_write(stream->fd, stream->frame, stream->frame_used, &done);
    stream->bytes += done;
    if (done < stream->frame_used)
        cut_file(stream, done);
    stream->frame_used = 0;
    stream->frame_started_ns = 0;
    return stream->failed == 0;
}

bool stream_flush(struct stream *stream, bool last)
{
    if (stream->failed)
        return false;
    return stream->zstd ? write_frames(stream, last) : write_plain(stream);
}

static int take_record(void *context, const void *bytes, size_t size)
{
    struct stream *stream = context;

    if (size > BUFFER_SIZE - stream->used && !stream_flush(stream, false))
        return stream->failed;
    memcpy(stream->buffer + stream->used, bytes, size); /* nothing here is larger than 512 KiB */
    stream->used += size;
    return 0;
}

bool stream_put(struct stream *stream, const struct fxt_record *record)
{
    enum fxt_status status;

    if (stream->failed)
        return false;
    status = fxt_writer_record(stream->writer, record, NULL);
    if (status != FXT_OK && stream->failed == 0)
        stream->failed = status == FXT_NO_MEMORY ? ENOMEM : EINVAL;
    return status == FXT_OK;
}

bool stream_raw(struct stream *stream, const void *records, size_t size)
{
    return stream->failed == 0 && take_record(stream, records, size) == 0;
}

struct stream *stream_open(int fd, bool compress_it)
{
    struct stream *stream = calloc(1, sizeof *stream);

    if (!stream)
        return NULL;
    stream->fd = fd;
    stream->buffer = malloc(BUFFER_SIZE);
    if (compress_it)
        stream->zstd = ZSTD_createCCtx();
    if (stream->buffer && (stream->zstd || !compress_it) &&
        fxt_writer_open(take_record, stream, &stream->writer, NULL) == FXT_OK)
        return stream;
    stream_close(stream);
    return NULL;
}

bool stream_publish(struct stream *stream, struct output *output)
{
    if (!output_is_new(output))
        return true;
    errno = stream_flush(stream, true) ? 0 : stream_errno(stream);
    return errno == 0 && output_publish(output);
}

int stream_errno(const struct stream *stream)
{
    return stream->failed;
}

uint64_t stream_bytes(const struct stream *stream)
{
    return stream->bytes;
}

void stream_close(struct stream *stream)
{
    if (!stream)
        return;
    fxt_writer_close(stream->writer);
    free(stream->buffer);
    (void)ZSTD_freeCCtx(stream->zstd);
    free(stream->frame);
    free(stream);
}

/* ---- Providers ---- */

bool stream_magic(struct stream *stream)
{
    struct fxt_record magic = { .kind = FXT_RECORD_MAGIC };

    magic.value.magic.number = 0x16547846;
    return stream_put(stream, &magic);
}

bool stream_init(struct stream *stream)
{
    struct fxt_record init = { .kind = FXT_RECORD_INIT };

    init.value.init.ticks_per_second = TICKS_PER_SECOND;
    return stream_put(stream, &init);
}

bool stream_introduce(struct stream *stream, uint32_t id, const char *name)
{
    struct fxt_record info = { .kind = FXT_RECORD_PROVIDER_INFO, .name = fxt_inline(name) };

    info.value.provider.id = id;
    stream->provider = id;
    return stream_put(stream, &info) && stream_init(stream);
}

bool stream_switch(struct stream *stream, uint32_t id)
{
    struct fxt_record section = { .kind = FXT_RECORD_PROVIDER_SECTION };

    if (stream->provider == id)
        return true;
    section.value.provider.id = id;
    stream->provider = id;
    return stream_put(stream, &section);
}

/* The record names its provider and switches to none.  */
bool stream_provider_loss(struct stream *stream, uint32_t id)
{
    struct fxt_record full = { .kind = FXT_RECORD_PROVIDER_EVENT };

    full.value.provider.id = id;
    return stream_put(stream, &full);
}

/* ---- Session ---- */

struct fxt_arg stream_number(const char *name, uint64_t value)
{
    return (
        struct fxt_arg){ .type = FXT_ARG_UINT64, .name = fxt_inline(name), .value.uint64 = value };
}

struct fxt_arg stream_text(const char *name, const char *value)
{
    return (struct fxt_arg){ .type = FXT_ARG_STRING,
                             .name = fxt_inline(name),
                             .value.string = fxt_inline(value) };
}

bool stream_event(struct stream *stream, unsigned type, const char *name, uint64_t ticks,
                  uint64_t id, const struct fxt_arg *args, size_t arg_count)
{
    struct fxt_record event = {
        .kind = FXT_RECORD_EVENT,
        .ticks = ticks,
        .category = fxt_inline("fxt.capture"),
        .name = fxt_inline(name),
        .args = args,
        .arg_count = arg_count,
    };

    event.value.event.type = type;
    event.value.event.id = id;
    event.value.event.has_scope = type == FXT_EVENT_INSTANT;
    event.value.event.scope = FXT_SCOPE_GLOBAL;
    return stream_put(stream, &event);
}

bool stream_session(struct stream *stream, const struct trace_session *session,
                    const struct fxt_arg *args, size_t count)
{
    const struct fxt_arg common[] = {
        stream_text("arch", session->arch),
        stream_number("realtime_ns", session->realtime_ns),
        stream_number("monotonic_ns", session->monotonic_ns),
        stream_text("kernel", session->kernel),
        stream_text("cpu_model", session->cpu_model),
        stream_text("command", session->command),
        stream_text("tool_version", session->tool_version),
    };
    struct fxt_arg all[STREAM_OWN_ARGS + sizeof common / sizeof *common];

    memcpy(all, args, count * sizeof *args);
    memcpy(all + count, common, sizeof common);
    return stream_magic(stream) &&
           stream_introduce(stream, TRACE_TOOL_PROVIDER, "sampler-capture") &&
           stream_event(stream, FXT_EVENT_INSTANT, "session", session->monotonic_ns, 0, all,
                        count + sizeof common / sizeof *common);
}

/* ---- Names and address maps ---- */

bool stream_process(struct stream *stream, uint64_t koid, const char *name)
{
    char text[NAME_SIZE];
    struct fxt_record object = { .kind = FXT_RECORD_KERNEL_OBJECT };

    utf8_copy(text, sizeof text, name);
    object.name = fxt_inline(text);
    object.value.object.type = FXT_OBJECT_PROCESS;
    object.value.object.koid = koid;
    return stream_put(stream, &object);
}

bool stream_thread(struct stream *stream, uint64_t koid, uint64_t process_koid, const char *name)
{
    char text[NAME_SIZE];
    const struct fxt_arg owner = { .type = FXT_ARG_KOID,
                                   .name = fxt_inline("process"),
                                   .value.uint64 = process_koid };
    struct fxt_record object = { .kind = FXT_RECORD_KERNEL_OBJECT, .args = &owner, .arg_count = 1 };

    utf8_copy(text, sizeof text, name);
    object.name = fxt_inline(text);
    object.value.object.type = FXT_OBJECT_THREAD;
    object.value.object.koid = koid;
    return stream_put(stream, &object);
}

bool stream_module(struct stream *stream, uint64_t process_koid, const struct module *module,
                   uint16_t id, uint64_t ticks)
{
    char name[MODULE_NAME_SIZE];
    struct fxt_record record = { .kind = FXT_RECORD_MODULE,
                                 .ticks = ticks,
                                 .thread.process = process_koid };

    utf8_copy_tail(name, sizeof name, module->name ? module->name : "[anon]");
    record.name = fxt_inline(name);
    record.value.module.id = id;
    record.value.module.build_id.bytes = module->image.build_id;
    record.value.module.build_id.length = module->image.build_id_size;
    return stream_put(stream, &record);
}

bool stream_mapping(struct stream *stream, uint64_t process_koid, const struct mapping *mapping,
                    uint16_t id)
{
    struct fxt_record record = { .kind = FXT_RECORD_MAPPING,
                                 .ticks = mapping->time_ns,
                                 .thread.process = process_koid };

    record.value.mapping.module_id = id;
    record.value.mapping.flags = mapping->flags;
    record.value.mapping.start = mapping->start;
    record.value.mapping.length = mapping->limit - mapping->start;
    record.value.mapping.vaddr = mapping->vaddr;
    return stream_put(stream, &record);
}
