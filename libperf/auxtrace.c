/* auxtrace.c - traces that hardware wrote: which decoder they need, and where their bytes are.  */
#include "libperf/perf_internal.h"

#include <stdlib.h>

#define SCAN_BYTES ((size_t)64 << 10)

/* ---- The decoder ---- */

/* The words of AUXTRACE_INFO for Intel PT, by their place.  */
enum {
    WORD_PMU_TYPE = 0,
    WORD_TIME_SHIFT = 1,
    WORD_TIME_MULT = 2,
    WORD_TIME_ZERO = 3,
    WORD_HAS_CLOCK = 4,
    WORD_SNAPSHOT = 8,
    WORD_MTC_FREQ_BITS = 11,
    WORD_TSC_CTC_NUMERATOR = 12,
    WORD_TSC_CTC_DENOMINATOR = 13,
    WORD_MAX_NONTURBO_RATIO = 15,
    WORDS = 16,
};

static uint64_t config_of(const struct perf_data *data, uint32_t pmu_type)
{
    for (size_t i = 0; i < data->events.count; i++)
        if (data->events.items[i].type == pmu_type)
            return data->events.items[i].config;
    return 0;
}

bool perf_data_intel_pt(const struct perf_data *data, const struct perf_data_record *record,
                        struct perf_data_intel_pt *out)
{
    enum { INTEL_PT = 1, START = PERF_HEADER_BYTES + 8 };
    struct perf_cursor cursor = { .at = record->bytes + PERF_HEADER_BYTES,
                                  .left = record->size - PERF_HEADER_BYTES,
                                  .swap = data->swap };
    uint64_t words[WORDS] = { 0 }, bits, config;

    if (perf_take_u32(&cursor) != INTEL_PT || cursor.failed || record->size < START)
        return false;
    (void)perf_take_u32(&cursor);
    for (size_t i = 0; i < WORDS && cursor.left >= 8; i++)
        words[i] = perf_take_u64(&cursor);
    *out = (struct perf_data_intel_pt){
        .pmu_type = (uint32_t)words[WORD_PMU_TYPE],
        .has_clock = words[WORD_HAS_CLOCK] && words[WORD_TIME_MULT] != 0 &&
                     words[WORD_TIME_MULT] <= UINT32_MAX && words[WORD_TIME_SHIFT] < 64,
        .time_shift = words[WORD_TIME_SHIFT],
        .time_mult = words[WORD_TIME_MULT],
        .time_zero = words[WORD_TIME_ZERO],
        .is_snapshot = words[WORD_SNAPSHOT] != 0,
        .tsc_numerator = (uint32_t)words[WORD_TSC_CTC_NUMERATOR],
        .tsc_denominator = (uint32_t)words[WORD_TSC_CTC_DENOMINATOR],
        .max_nonturbo_ratio = (uint8_t)words[WORD_MAX_NONTURBO_RATIO],
    };
    if (!out->has_clock) { /* a tick is taken for a nanosecond */
        out->time_shift = out->time_zero = 0;
        out->time_mult = 1;
    }
    bits = words[WORD_MTC_FREQ_BITS];
    config = config_of(data, out->pmu_type);
    if (bits)
        out->mtc_freq = (uint8_t)((config & bits) >> __builtin_ctzll(bits));
    return true;
}

/* ---- Its bytes ---- */

static void read_place(const struct perf_data *data, const uint8_t *bytes, uint64_t offset,
                       struct perf_data_auxtrace *out)
{
    struct perf_cursor cursor = { .at = bytes + PERF_HEADER_BYTES,
                                  .left = PERF_AUXTRACE_BYTES - PERF_HEADER_BYTES,
                                  .swap = data->swap };

    out->length = perf_take_u64(&cursor);
    out->ring_offset = perf_take_u64(&cursor);
    (void)perf_take_u64(&cursor); /* reference */
    out->index = perf_take_u32(&cursor);
    out->tid = perf_take_u32(&cursor);
    out->cpu = perf_take_u32(&cursor);
    out->offset = offset + perf_load_u16(bytes + 6, data->swap);
}

bool perf_data_can_seek(const struct perf_data *data)
{
    return data->window.can_seek;
}

/* Bytes of the file from *at on, which are read when they are not in the buffer.  NULL: there are
 * not so many.  */
struct scan {
    struct perf_data *data;
    uint8_t *buffer;
    uint64_t offset; /* of the buffer */
    size_t there;
};

static const uint8_t *bytes_at(struct scan *scan, uint64_t at, size_t size)
{
    uint64_t end = scan->data->window.end;
    size_t wanted = SCAN_BYTES;

    if (at >= scan->offset && at - scan->offset <= scan->there &&
        size <= scan->there - (size_t)(at - scan->offset))
        return scan->buffer + (at - scan->offset);
    if (at > end || size > end - at)
        return NULL;
    if (wanted > end - at)
        wanted = (size_t)(end - at);
    scan->offset = at;
    scan->there = perf_window_peek(&scan->data->window, at, scan->buffer, wanted);
    return size <= scan->there ? scan->buffer : NULL;
}

bool perf_data_find_auxtrace(struct perf_data *data, const struct perf_data_record *from,
                             bool (*take)(void *context, const struct perf_data_auxtrace *place),
                             void *context)
{
    struct scan scan = { .data = data, .buffer = malloc(SCAN_BYTES) };
    uint64_t at = from->offset + from->size;
    bool fine = scan.buffer != NULL;
    const uint8_t *header;

    while (fine && data->window.can_seek &&
           (header = bytes_at(&scan, at, PERF_HEADER_BYTES)) != NULL) {
        uint32_t kind = perf_load_u32(header, data->swap);
        uint16_t size = perf_load_u16(header + 6, data->swap);
        struct perf_data_auxtrace place;

        if (kind == 0 || size < PERF_HEADER_BYTES)
            break; /* damage, which the reader tells of */
        at += size;
        if (kind == PERF_DATA_TRACING_DATA || kind == PERF_DATA_AUXTRACE) {
            const uint8_t *record = bytes_at(&scan, at - size, size);
            uint64_t after = record ? perf_bytes_after(data, kind, record, size) : UINT64_MAX;

            if (after > INT64_MAX || at > INT64_MAX - after)
                break;
            at += after;
            if (kind != PERF_DATA_AUXTRACE || size < PERF_AUXTRACE_BYTES)
                continue;
            read_place(data, record, at - after - size, &place);
            fine = take(context, &place);
        }
    }
    free(scan.buffer);
    return fine;
}

size_t perf_data_auxtrace_read(struct perf_data *data, uint64_t offset, void *bytes, size_t size)
{
    return perf_window_peek(&data->window, offset, bytes, size);
}

size_t perf_data_auxtrace_next(struct perf_data *data, void *bytes, size_t size)
{
    size_t there;

    if (size > data->to_skip)
        size = (size_t)data->to_skip;
    there = perf_window_need(&data->window, size < SCAN_BYTES ? size : SCAN_BYTES);
    if (there > size)
        there = size;
    memcpy(bytes, perf_window_bytes(&data->window), there);
    perf_window_take(&data->window, there);
    data->to_skip -= there;
    return there;
}
