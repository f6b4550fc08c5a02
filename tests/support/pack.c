#include "tests/support/pack.h"

#include <check.h>
#include <string.h>
#define ZLIB_CONST /* next_in may point to what is const */
#include <zlib.h>
#include <zstd.h>

size_t pack_gzip(const void *bytes, size_t length, uint8_t *out, size_t size)
{
    z_stream stream = { .next_in = bytes, .avail_in = (uInt)length, .avail_out = (uInt)size };

    out[0] = 0;
    stream.next_out = out;
    ck_assert_int_eq(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    ck_assert_int_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    ck_assert_int_eq(deflateEnd(&stream), Z_OK);
    return (size_t)stream.total_out;
}

size_t pack_zstd(const void *bytes, size_t length, bool with_size, uint8_t *out, size_t size)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    ZSTD_inBuffer in = { bytes, length, 0 };
    ZSTD_outBuffer to = { out, size, 0 };

    out[0] = 0;
    ck_assert_ptr_nonnull(context);
    (void)ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    (void)ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, with_size);
    if (with_size)
        (void)ZSTD_CCtx_setPledgedSrcSize(context, length);
    ck_assert_uint_eq(ZSTD_compressStream2(context, &to, &in, ZSTD_e_end), 0);
    (void)ZSTD_freeCCtx(context);
    return to.pos;
}

size_t pack_skippable(size_t length, unsigned kind, uint8_t *out, size_t size)
{
    const uint8_t header[8] = {
        (uint8_t)(0x50 + kind),  0x2a, 0x4d, 0x18, (uint8_t)length, (uint8_t)(length >> 8),
        (uint8_t)(length >> 16), 0
    };

    ck_assert_uint_le(length + sizeof header, size);
    memcpy(out, header, sizeof header);
    memset(out + sizeof header, 0xa5, length);
    return sizeof header + length;
}
