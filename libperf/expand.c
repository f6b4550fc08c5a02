/* expand.c - compressed records: together they are one zstd stream, which holds records that may
 * begin in one and end in the next.  */
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "base/grow.h"
#include "libperf/perf_internal.h"

/* What a record of 64 KiB may become: records that compress better than 512 times hold nothing.  */
#define MAX_EXPANDED ((size_t)64 << 20)

static bool make_room(struct perf_expansion *expansion, size_t size)
{
    size_t there = expansion->limit - expansion->start;

    if (there > 0 && expansion->start > 0)
        memmove(expansion->bytes, expansion->bytes + expansion->start, there);
    expansion->start = 0;
    expansion->limit = there;
    return base_make_room(&expansion->bytes, &expansion->capacity, there + size, 1);
}

/* Decompress all of input; false when it makes no sense, or too much.  */
static bool expand_all(struct perf_data *data, ZSTD_inBuffer input)
{
    struct perf_expansion *expansion = &data->expansion;
    size_t expanded = 0;
    bool is_full = false;

    while (input.pos < input.size || is_full) {
        ZSTD_outBuffer output;
        size_t result;

        if (!make_room(expansion, ZSTD_DStreamOutSize())) {
            data->out_of_memory = true;
            return false;
        }
        output = (ZSTD_outBuffer){ expansion->bytes + expansion->limit,
                                   expansion->capacity - expansion->limit, 0 };
        result = ZSTD_decompressStream(expansion->stream, &output, &input);
        if (ZSTD_isError(result))
            return false;
        is_full = output.pos == output.size;
        expansion->limit += output.pos;
        expanded += output.pos;
        if (expanded > MAX_EXPANDED)
            return false;
        if (output.pos == 0 && !is_full && result == 0 && input.pos == input.size)
            break;
    }
    return true;
}

void perf_expand(struct perf_data *data, const uint8_t *bytes, size_t size, uint64_t offset)
{
    struct perf_expansion *expansion = &data->expansion;

    if (!expansion->stream)
        expansion->stream = ZSTD_createDStream();
    if (!expansion->stream) {
        data->out_of_memory = true;
        return;
    }
    expansion->offset = offset;
    if (expand_all(data, (ZSTD_inBuffer){ bytes, size, 0 }) || data->out_of_memory)
        return;
    perf_note(data, &data->notices.bad_blocks, offset);
    (void)ZSTD_DCtx_reset(expansion->stream, ZSTD_reset_session_only);
}

bool perf_expansion_add(struct perf_data *data, const uint8_t *bytes, size_t size, uint64_t offset)
{
    struct perf_expansion *expansion = &data->expansion;

    if (!make_room(expansion, size)) {
        data->out_of_memory = true;
        return false;
    }
    if (size > 0)
        memcpy(expansion->bytes + expansion->limit, bytes, size);
    expansion->limit += size;
    expansion->offset = offset;
    return true;
}

void perf_expansion_release(struct perf_expansion *expansion)
{
    (void)ZSTD_freeDStream(expansion->stream);
    free(expansion->bytes);
    *expansion = (struct perf_expansion){ .stream = NULL };
}
