/* unpack.c - zlib, gzip, xz and zstd, with a bound on what may come out. */
#include "libsymbolize/elf_object.h"
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>
#ifdef SYM_HAVE_LZMA
#include <lzma.h>
#endif

enum {
    RATIO_MAX = 64,         /* debug sections pack three- to tenfold */
    SMALL_BYTES = 64 << 10, /* but little bytes of great regularity harm nobody */
};

static const uint64_t UNPACKED_MAX = UINT64_C(4) << 30;

uint64_t sym_unpacked_limit(size_t packed_size)
{
    uint64_t limit = (uint64_t)packed_size * RATIO_MAX + SMALL_BYTES;

    return limit < UNPACKED_MAX ? limit : UNPACKED_MAX;
}

/* Unpacking in progress: what decoders of all three kinds need.  */
struct stream {
    const char *what;
    struct sym_bytes input;
    size_t read; /* of input */
    uint8_t *out;
    size_t written, capacity;
    uint64_t limit;
    bool ended;
};

/* The decoders: move read and written forward, set ended at the end of the input's last frame.
 * SYM_OK, SYM_MALFORMED or SYM_NO_MEMORY.  */
typedef enum sym_status (*step_fn)(struct stream *stream, void *state);

static enum sym_status step_zlib(struct stream *stream, void *state)
{
    z_stream *zlib = state;
    size_t left = stream->input.size - stream->read, room = stream->capacity - stream->written;
    Bytef *input;
    const uint8_t *next = stream->input.data + stream->read;

    memcpy(&input, &next, sizeof input); /* zlib does not write to it */
    zlib->next_in = input;
    zlib->avail_in = left < UINT32_MAX ? (uInt)left : UINT32_MAX;
    zlib->next_out = stream->out + stream->written;
    zlib->avail_out = room < UINT32_MAX ? (uInt)room : UINT32_MAX;
    uInt given = zlib->avail_in, offered = zlib->avail_out;
    int result = inflate(zlib, Z_NO_FLUSH);
    stream->read += given - zlib->avail_in;
    stream->written += offered - zlib->avail_out;
    if (result == Z_STREAM_END) { /* gzip files may be put behind each other */
        stream->ended = stream->read == stream->input.size ||
                        stream->input.data[stream->read] != 0x1f || inflateReset(zlib) != Z_OK;
        return SYM_OK;
    }
    return result == Z_OK || (result == Z_BUF_ERROR && room == 0) ? SYM_OK
           : result == Z_MEM_ERROR                                ? SYM_NO_MEMORY
                                                                  : SYM_MALFORMED;
}

static enum sym_status step_zstd(struct stream *stream, void *state)
{
    ZSTD_inBuffer in = { stream->input.data, stream->input.size, stream->read };
    ZSTD_outBuffer out = { stream->out, stream->capacity, stream->written };
    size_t result = ZSTD_decompressStream(state, &out, &in);

    if (ZSTD_isError(result))
        return ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation ? SYM_NO_MEMORY
                                                                         : SYM_MALFORMED;
    if (in.pos == stream->read && out.pos == stream->written && stream->capacity > stream->written)
        return SYM_MALFORMED; /* it wants more than there is */
    stream->read = in.pos;
    stream->written = out.pos;
    stream->ended = result == 0 && in.pos == in.size;
    return SYM_OK;
}

#ifdef SYM_HAVE_LZMA
static enum sym_status step_xz(struct stream *stream, void *state)
{
    lzma_stream *xz = state;

    xz->next_in = stream->input.data + stream->read;
    xz->avail_in = stream->input.size - stream->read;
    xz->next_out = stream->out + stream->written;
    xz->avail_out = stream->capacity - stream->written;
    lzma_ret result = lzma_code(xz, LZMA_FINISH);
    stream->read = stream->input.size - xz->avail_in;
    stream->written = stream->capacity - xz->avail_out;
    stream->ended = result == LZMA_STREAM_END;
    if (result == LZMA_OK || result == LZMA_STREAM_END ||
        (result == LZMA_BUF_ERROR && xz->avail_out == 0))
        return SYM_OK;
    return result == LZMA_MEM_ERROR ? SYM_NO_MEMORY : SYM_MALFORMED;
}
#endif

static enum sym_status fail_packed(const struct stream *stream, enum sym_status status,
                                   struct sym_error *error)
{
    if (status == SYM_NO_MEMORY)
        return sym_fail(error, status, "%s: out of memory", stream->what);
    return sym_fail(error, status, "%s: damaged compression", stream->what);
}

/* Room behind what was written, doubling, up to the limit and the byte behind it that shows that
 * there is more.  */
static enum sym_status grow(struct stream *stream, struct sym_error *error)
{
    uint64_t wanted = (uint64_t)stream->capacity * 2;

    if (stream->capacity > stream->limit)
        return sym_fail(error, SYM_MALFORMED, "%s: unpacks to more than %u times its size",
                        stream->what, (unsigned)RATIO_MAX);
    if (wanted > stream->limit + 1)
        wanted = stream->limit + 1;
    uint8_t *grown = base_realloc(stream->out, (size_t)wanted + 1);
    if (!grown)
        return fail_packed(stream, SYM_NO_MEMORY, error);
    stream->out = grown;
    stream->capacity = (size_t)wanted;
    return SYM_OK;
}

static enum sym_status run(struct stream *stream, step_fn step, void *state, bool exact,
                           struct sym_error *error)
{
    enum sym_status status = SYM_OK;

    while (!stream->ended && !status) {
        if (stream->written == stream->capacity && exact)
            break; /* all that was promised is there; trailing bytes do not matter */
        if (stream->written == stream->capacity)
            status = grow(stream, error);
        if (!status && (status = step(stream, state)))
            status = fail_packed(stream, status, error);
    }
    if (!status && exact && stream->written != stream->capacity)
        return sym_fail(error, SYM_MALFORMED, "%s: unpacks to %zu bytes, %zu are promised",
                        stream->what, stream->written, stream->capacity);
    return status;
}

static enum sym_status run_zlib(struct stream *stream, bool gzip, bool exact,
                                struct sym_error *error)
{
    z_stream zlib = { 0 };

    if (inflateInit2(&zlib, gzip ? 15 + 16 : 15) != Z_OK)
        return fail_packed(stream, SYM_NO_MEMORY, error);
    enum sym_status status = run(stream, step_zlib, &zlib, exact, error);
    (void)inflateEnd(&zlib);
    return status;
}

static enum sym_status run_zstd(struct stream *stream, bool exact, struct sym_error *error)
{
    ZSTD_DCtx *context = ZSTD_createDCtx();
    enum { WINDOW_LOG_MAX = 25 }; /* 32 MiB: a damaged header must not ask for gigabytes */

    if (!context)
        return fail_packed(stream, SYM_NO_MEMORY, error);
    (void)ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
    enum sym_status status = run(stream, step_zstd, context, exact, error);
    (void)ZSTD_freeDCtx(context);
    return status;
}

static enum sym_status run_xz(struct stream *stream, bool exact, struct sym_error *error)
{
#ifdef SYM_HAVE_LZMA
    lzma_stream xz = LZMA_STREAM_INIT;
    static const uint64_t memory_max = UINT64_C(68) << 20; /* what xz -9 needs */

    if (lzma_stream_decoder(&xz, memory_max, LZMA_CONCATENATED) != LZMA_OK)
        return fail_packed(stream, SYM_NO_MEMORY, error);
    enum sym_status status = run(stream, step_xz, &xz, exact, error);
    lzma_end(&xz);
    return status;
#else
    (void)exact;
    return sym_fail(error, SYM_MALFORMED, "%s: compressed with xz, which this build cannot read",
                    stream->what);
#endif
}

enum sym_packing sym_packing_of(struct sym_bytes bytes)
{
    static const struct {
        enum sym_packing packing;
        size_t size;
        uint8_t magic[6];
    } magics[] = {
        { SYM_PACKING_GZIP, 3, { 0x1f, 0x8b, 8 } },
        { SYM_PACKING_XZ, 6, { 0xfd, '7', 'z', 'X', 'Z', 0 } },
        { SYM_PACKING_ZSTD, 4, { 0x28, 0xb5, 0x2f, 0xfd } },
    };

    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++)
        if (bytes.size >= magics[i].size &&
            memcmp(bytes.data, magics[i].magic, magics[i].size) == 0)
            return magics[i].packing;
    return SYM_PACKING_NONE;
}

enum sym_status sym_unpack(const char *what, enum sym_packing packing, struct sym_bytes input,
                           uint64_t size, uint8_t **out, size_t *out_size, struct sym_error *error)
{
    static const uint8_t nothing[1]; /* decompressors take no NULL, also where nothing is to read */
    struct stream stream = { .what = what,
                             .input = input,
                             .limit = sym_unpacked_limit(input.size) };
    bool exact = size != UINT64_MAX;
    enum sym_status status = SYM_MALFORMED;

    if (exact && size > stream.limit)
        return sym_fail(error, SYM_MALFORMED, "%s: claims to unpack to more than %u times its size",
                        what, (unsigned)RATIO_MAX);
    if (input.size == 0)
        stream.input.data = nothing;
    stream.capacity = exact ? (size_t)size : input.size * 4 + 1;
    stream.out = base_malloc(stream.capacity + 1);
    if (!stream.out)
        return fail_packed(&stream, SYM_NO_MEMORY, error);
    if (packing == SYM_PACKING_ZLIB || packing == SYM_PACKING_GZIP)
        status = run_zlib(&stream, packing == SYM_PACKING_GZIP, exact, error);
    else if (packing == SYM_PACKING_ZSTD)
        status = run_zstd(&stream, exact, error);
    else
        status = run_xz(&stream, exact, error);
    if (status) {
        base_free(stream.out);
        return status;
    }
    stream.out[stream.written] = 0;
    *out = stream.out;
    *out_size = stream.written;
    return SYM_OK;
}
