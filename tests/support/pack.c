#include "tests/support/pack.h"

#include <check.h>
#define ZLIB_CONST /* next_in may point to what is const */
#include <zlib.h>

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
