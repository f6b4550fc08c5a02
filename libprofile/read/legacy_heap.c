/* legacy_heap.c - heap profiles as text, of gperftools and of Go with debug=1.
 *
 *     heap profile:    12:  98304 [    15: 1572864] @ heap_v2/524288
 *          7:   114688 [     7:   114688] @ 0xc635c8 0x42ecc3
 *
 * What is in use and, in brackets, what was allocated; growth profiles look the same.  */
#include "libprofile/read/formats.h"

struct heap {
    struct gather *gather;
    int64_t rate; /* bytes, on average, of which one allocation was sampled; 0: not to be scaled */
    bool has_allocated;
};

struct counts {
    int64_t objects, bytes, allocated_objects, allocated_bytes;
};

/* "3: 4096 [9: 8192] @", and what stands after it.  */
static bool take_counts(struct text *line, struct counts *out)
{
    text_skip_blanks(line);
    if (!text_take_signed(line, &out->objects) || !text_take(line, ":"))
        return false;
    text_skip_blanks(line);
    if (!text_take_signed(line, &out->bytes))
        return false;
    text_skip_blanks(line);
    if (!text_take(line, "["))
        return false;
    text_skip_blanks(line);
    if (!text_take_signed(line, &out->allocated_objects) || !text_take(line, ":"))
        return false;
    text_skip_blanks(line);
    if (!text_take_signed(line, &out->allocated_bytes))
        return false;
    text_skip_blanks(line);
    if (!text_take(line, "]"))
        return false;
    text_skip_blanks(line);
    return text_take(line, "@");
}

static bool take_header(struct text line, struct counts *counts, struct text *kind)
{
    if (!text_take(&line, "heap profile:") || !take_counts(&line, counts))
        return false;
    *kind = text_trim(line);
    return text_begins(*kind, "heap") || text_begins(*kind, "growth") ||
           text_begins(*kind, "fragmentation");
}

bool legacy_heap_is(struct text start)
{
    struct counts counts;
    struct text kind;

    return take_header(read_first_line(start), &counts, &kind);
}

/* "heap/1048576": Go has twice the rate there.  "heapprofile" and "growthz" have everything.  */
static void take_kind(struct heap *heap, struct text kind)
{
    struct profile_pprof_header *header = &heap->gather->header;
    bool is_go = text_begins(kind, "heap/"), is_sampled;
    uint64_t rate = 0;

    is_sampled = is_go || text_take(&kind, "heapz_v2") || text_take(&kind, "heap_v2");
    if (is_go)
        (void)text_take(&kind, "heap");
    header->period = 1;
    if (!is_sampled)
        return;
    if (text_take(&kind, "/") && text_take_number(&kind, &rate) && rate > INT64_MAX)
        rate = 0;
    heap->rate = (int64_t)(is_go ? rate / 2 : rate);
    header->period = heap->rate;
}

static void add_types(struct heap *heap)
{
    struct gather *gather = heap->gather;

    gather->header.has_period_type = true;
    gather->header.period_type = (struct profile_pprof_type){ gather_word(gather, "space"),
                                                              gather_word(gather, "bytes") };
    if (heap->has_allocated) {
        (void)gather_type(gather, "alloc_objects", 13, "count");
        (void)gather_type(gather, "alloc_space", 11, "bytes");
        (void)gather_type(gather, "inuse_objects", 13, "count");
        (void)gather_type(gather, "inuse_space", 11, "bytes");
    } else {
        (void)gather_type(gather, "objects", 7, "count");
        (void)gather_type(gather, "space", 5, "bytes");
    }
}

/* Returns the size of a block, or -1 for numbers that make no sense.  */
static int64_t put_values(const struct heap *heap, int64_t *values, int64_t count, int64_t size)
{
    int64_t block = 0;

    if (count == 0 && size != 0)
        return -1;
    if (count != 0 && !(count == -1 && size == INT64_MIN))
        block = size / count;
    values[0] = count;
    values[1] = size;
    if (heap->rate > 1 && count != 0)
        text_scale(&values[0], &values[1], heap->rate);
    return block < 0 ? 0 : block;
}

static bool take_sample(struct heap *heap, struct text line)
{
    struct gather *gather = heap->gather;
    struct counts counts;
    int64_t block = 0, used;

    gather_begin(gather);
    if (!take_counts(&line, &counts))
        return false;
    if (heap->has_allocated)
        block = put_values(heap, gather->values, counts.allocated_objects, counts.allocated_bytes);
    used = put_values(heap, gather->values + (heap->has_allocated ? 2 : 0), counts.objects,
                      counts.bytes);
    if (block < 0 || used < 0 || !text_push_addresses(gather, line, 0))
        return false;
    gather_label(gather, "bytes", 0, counts.objects ? used : block, "");
    gather_end(gather);
    return true;
}

bool legacy_heap_read(struct gather *gather)
{
    struct heap heap = { .gather = gather };
    struct counts counts;
    struct text kind;
    const char *at;
    size_t length;
    bool is_map = false;

    if (!gather_line(gather, &at, &length) || !take_header(text_of(at, length), &counts, &kind))
        return false;
    heap.has_allocated = text_begins(kind, "heap") &&
                         ((counts.allocated_objects != counts.objects &&
                           counts.allocated_objects != 0) ||
                          (counts.allocated_bytes != counts.bytes && counts.allocated_bytes != 0));
    take_kind(&heap, kind);
    add_types(&heap);
    while (!is_map && gather_line(gather, &at, &length)) {
        struct text line = text_of(at, length);

        is_map = text_is_map_start(line);
        if (text_is_comment(line))
            text_name_address(gather, line);
        else if (!is_map && !take_sample(&heap, line))
            gather_bad_line(gather);
    }
    text_read_maps(gather, is_map);
    return true;
}
