/* The input layer: any bytes as plain, gzip or zstd data; libfxt/fxt_input.c.
 *
 * - However many bytes a read gives or asks for, the same bytes come out and the same end.
 * - Plain bytes come out as they are; a read never gives more than was asked for.
 * - Bytes that are packed come out whole; of a packed stream that is cut, a prefix.
 *
 * Output is bounded here, not by the library: a reader works through any length.  */
#include <stdlib.h>
#include <string.h>
#define ZLIB_CONST /* next_in may point to what is const */
#include <zlib.h>
#include <zstd.h>

#include "tests/fuzz/support.h"

#define MOST_BYTES ((size_t)1 << 20)

struct outcome {
    enum fxt_status status; /* FXT_OK: more than MOST_BYTES */
    enum fxt_compression compression;
    bool cut;
    struct fxt_error error;
    struct fuzz_buffer bytes;
};

static struct outcome read_all(const void *bytes, size_t size, struct pieces pieces, size_t step)
{
    struct outcome outcome = { .status = FXT_OK };
    struct fuzz_source source = { bytes, size, pieces };
    /* fuzz_fxt_parts looks at what is more than a stream.  */
    const struct fxt_input_options options = {
        .size = sizeof options, .read = fuzz_read, .context = &source, .as_stream = true
    };
    struct fxt_input *input;
    uint8_t *block = fuzz_allocate(step);
    size_t length = 0;

    HOLD(fxt_input_open(&options, &input, NULL) == FXT_OK);
    while (outcome.bytes.used < MOST_BYTES &&
           (outcome.status = fxt_input_read(input, block, step, &length, &outcome.error)) ==
               FXT_OK) {
        HOLD(length >= 1 && length <= step);
        fuzz_append(&outcome.bytes, block, length);
    }
    if (outcome.status != FXT_OK)
        HOLD(fxt_input_read(input, block, step, &length, NULL) == outcome.status);
    HOLD(outcome.status == FXT_OK || outcome.status == FXT_END || outcome.status == FXT_FATAL);
    HOLD(outcome.status != FXT_FATAL || outcome.error.offset == outcome.bytes.used);
    HOLD(fxt_input_raw_bytes(input) == size - source.left);
    outcome.compression = fxt_input_compression(input);
    outcome.cut = fxt_input_is_cut(input);
    fxt_input_close(input);
    free(block);
    return outcome;
}

static void check_same(const struct outcome *one, const struct outcome *other)
{
    size_t common = one->bytes.used < other->bytes.used ? one->bytes.used : other->bytes.used;

    HOLD(one->compression == other->compression);
    HOLD(common == 0 || memcmp(one->bytes.bytes, other->bytes.bytes, common) == 0);
    if (one->status == FXT_OK || other->status == FXT_OK) {
        HOLD(common >= MOST_BYTES || one->status == other->status);
        return;
    }
    HOLD(one->status == other->status && one->cut == other->cut);
    /* A zstd frame that is not as long as it says is found corrupt with its last block, of which
     * less is lost the smaller the pieces are.  */
    if (one->compression != FXT_ZSTD || one->status != FXT_FATAL) {
        HOLD(one->bytes.used == other->bytes.used);
        HOLD(strcmp(one->error.message, other->error.message) == 0);
    }
}

static void check_pieces(const uint8_t *data, size_t size)
{
    struct outcome whole = read_all(data, size, (struct pieces){ .most = 0 }, 65536);
    struct outcome bytes = read_all(data, size, (struct pieces){ .least = 1, .most = 1 }, 4096);
    struct outcome parts = read_all(
        data, size, (struct pieces){ .least = 1, .most = 200, .state = size }, 7 + size % 100);

    check_same(&whole, &bytes);
    check_same(&whole, &parts);
    if (whole.compression == FXT_PLAIN && size < MOST_BYTES) {
        HOLD(whole.status == FXT_END && !whole.cut && whole.bytes.used == size);
        HOLD(size == 0 || memcmp(whole.bytes.bytes, data, size) == 0);
    }
    free(whole.bytes.bytes);
    free(bytes.bytes.bytes);
    free(parts.bytes.bytes);
}

static size_t pack_gzip(const uint8_t *data, size_t size, uint8_t *out, size_t capacity)
{
    z_stream stream = { .next_in = data, .avail_in = (uInt)size, .next_out = out };

    stream.avail_out = (uInt)capacity;
    HOLD(deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    HOLD(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    HOLD(deflateEnd(&stream) == Z_OK);
    return (size_t)stream.total_out;
}

/* With the content size in its header where sized.  */
static size_t pack_zstd(const uint8_t *data, size_t size, bool sized, uint8_t *out, size_t capacity)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    size_t length;

    HOLD(context != NULL);
    HOLD(!ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, sized)));
    HOLD(!ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, size % 2)));
    length = ZSTD_compress2(context, out, capacity, data, size);
    HOLD(!ZSTD_isError(length));
    ZSTD_freeCCtx(context);
    return length;
}

/* The data as two packed streams one behind the other, whole and cut.  */
static void check_packed(const uint8_t *data, size_t size, enum fxt_compression compression)
{
    size_t capacity = 2 * (compressBound(size) + ZSTD_compressBound(size)) + 100;
    uint8_t *packed = fuzz_allocate(capacity);
    size_t half = size / 2;
    bool gzip = compression == FXT_GZIP;
    size_t length = gzip ? pack_gzip(data, half, packed, capacity)
                         : pack_zstd(data, half, true, packed, capacity);
    struct outcome outcome;

    length += gzip ? pack_gzip(data + half, size - half, packed + length, capacity - length)
                   : pack_zstd(data + half, size - half, false, packed + length, capacity - length);
    outcome = read_all(packed, length, (struct pieces){ .least = 1, .most = 500, .state = size },
                       3 + size % 1000);
    HOLD(outcome.compression == compression && outcome.status == FXT_END && !outcome.cut);
    HOLD(outcome.bytes.used == size);
    HOLD(size == 0 || memcmp(outcome.bytes.bytes, data, size) == 0);
    free(outcome.bytes.bytes);

    outcome = read_all(packed, length - 1 - size % 3, (struct pieces){ .most = 0 }, 4096);
    HOLD(outcome.status == FXT_END && outcome.cut && outcome.bytes.used <= size);
    HOLD(outcome.bytes.used == 0 || memcmp(outcome.bytes.bytes, data, outcome.bytes.used) == 0);
    free(outcome.bytes.bytes);
    free(packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_pieces(data, size);
    check_packed(data, size, FXT_GZIP);
    check_packed(data, size, FXT_ZSTD);
    return 0;
}
