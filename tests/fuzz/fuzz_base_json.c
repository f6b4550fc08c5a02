/* JSON that may be hostile: base/json_read.c, which reads FIDL IR.
 *
 * - Tokens are the same however the bytes come.
 * - Each call takes bytes, or is the end; depth and texts stay in their bounds.  */
#include <string.h>

#include "base/json_read.h"
#include "tests/fuzz/support.h"

struct source {
    const uint8_t *bytes;
    size_t left, piece;
};

static ssize_t fill(void *context, void *bytes, size_t size)
{
    struct source *source = context;
    size_t length = source->left < source->piece ? source->left : source->piece;

    if (length > size)
        length = size;
    if (length > 0)
        memcpy(bytes, source->bytes, length);
    source->bytes += length;
    source->left -= length;
    return (ssize_t)length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct base_json_reader one, other;
    struct source whole = { data, size, SIZE_MAX }, pieces = { data, size, 1 };
    enum base_json_token token;
    uint64_t before = 0;

    base_json_init(&one, fill, &whole);
    base_json_init(&other, fill, &pieces);
    do {
        token = base_json_next(&one);
        HOLD(base_json_next(&other) == token);
        HOLD(one.length == other.length && memcmp(one.text, other.text, one.length + 1) == 0);
        HOLD(one.depth == other.depth && one.depth <= BASE_JSON_DEPTH);
        HOLD(one.offset == other.offset && one.offset <= size && one.length <= BASE_JSON_TEXT);
        HOLD(one.offset > before || token == BASE_JSON_END || token == BASE_JSON_BAD);
        before = one.offset;
    } while (token != BASE_JSON_END && token != BASE_JSON_BAD);
    HOLD(token == BASE_JSON_END ? one.depth == 0 && one.offset == size : one.problem != NULL);
    return 0;
}
