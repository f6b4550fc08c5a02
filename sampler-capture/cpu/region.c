#include "sampler-capture/cpu/region.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LARGE_RECORD_TYPE 15
#define WORD              ((size_t)8)

static void store_u64(uint8_t *bytes, uint64_t value)
{
    value = htole64(value);
    memcpy(bytes, &value, WORD);
}

static uint64_t load_u64(const uint8_t *bytes)
{
    uint64_t value;

    memcpy(&value, bytes, WORD);
    return le64toh(value);
}

bool region_init(struct region *region, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    memset(region, 0, sizeof *region);
    if (size == 0 || size > REGION_MAX_SIZE)
        return false;
    size = (size + page - 1) / page * page;
    region->bytes = calloc(1, size);
    if (!region->bytes)
        return false;
    region->size = size;
    return true;
}

/* Section 3: header, metadata (all zero: inline empty strings, no arguments, inline thread), ticks,
 * process, thread, payload length, program counters.  */
bool region_append(struct region *region, const struct region_sample *sample)
{
    size_t words = REGION_HEADER_WORDS + sample->frame_count;
    uint8_t *record = region->bytes + region->used;

    if (words * WORD > region->size - region->used)
        return false;
    store_u64(record, LARGE_RECORD_TYPE | (uint64_t)words << 4);
    store_u64(record + 1 * WORD, 0);
    store_u64(record + 2 * WORD, sample->ticks);
    store_u64(record + 3 * WORD, sample->pid);
    store_u64(record + 4 * WORD, sample->tid);
    store_u64(record + 5 * WORD, sample->frame_count * WORD);
    memcpy(record + 6 * WORD, sample->frames, sample->frame_count * WORD);
    region->used += words * WORD;
    return true;
}

size_t region_next(const struct region *region, size_t offset, uint64_t *ticks)
{
    const uint8_t *record = region->bytes + offset;

    if (offset >= region->used)
        return 0;
    *ticks = load_u64(record + 2 * WORD);
    return offset + (size_t)(load_u64(record) >> 4) * WORD;
}

size_t region_read(const struct region *region, size_t offset, struct region_sample *out)
{
    uint8_t *record = region->bytes + offset;

    if (offset >= region->used)
        return 0;
    out->ticks = load_u64(record + 2 * WORD);
    out->pid = (uint32_t)load_u64(record + 3 * WORD);
    out->tid = (uint32_t)load_u64(record + 4 * WORD);
    out->frame_count = (size_t)load_u64(record + 5 * WORD) / WORD;
    out->frames = record + 6 * WORD;
    out->record = record;
    out->record_size = (REGION_HEADER_WORDS + out->frame_count) * WORD;
    return offset + out->record_size;
}

void region_set_koids(const struct region_sample *sample, uint64_t process, uint64_t thread)
{
    store_u64(sample->record + 3 * WORD, process);
    store_u64(sample->record + 4 * WORD, thread);
}

void region_discard_before(struct region *region, uint64_t limit)
{
    uint64_t ticks;
    size_t kept = 0;

    for (size_t offset = 0, next; (next = region_next(region, offset, &ticks)); offset = next) {
        if (ticks < limit)
            continue;
        memmove(region->bytes + kept, region->bytes + offset, next - offset);
        kept += next - offset;
    }
    region->used = kept;
}

void region_discard_half(struct region *region)
{
    uint64_t ticks;
    size_t cut = 0;

    while (cut < region->used / 2)
        cut = region_next(region, cut, &ticks);
    memmove(region->bytes, region->bytes + cut, region->used - cut);
    region->used -= cut;
}

void region_release(struct region *region)
{
    free(region->bytes);
    memset(region, 0, sizeof *region);
}
