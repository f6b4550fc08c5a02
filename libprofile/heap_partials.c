/* heap_partials.c - partial profiles of the heap, which wait in a temporary file.
 *
 * What addresses mean is known at the end of the trace only, so partial profiles keep provisional
 * call sites until then.  Memory holds one of them at a time.  */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "libprofile/profile_heap.h"

#define MAX_PARTIALS 10000u

/* The largest value of both tables, as it lies in the file.  */
struct stored {
    profile_id callsite; /* provisional */
    uint32_t thread;
    uint64_t amounts[4];
};

/* ---- The file ---- */

/* It has no name any more.  */
static enum profile_status fail_file(struct profile_heap *heap, int failure,
                                     struct profile_error *error)
{
    return profile_fail_temporary(error, failure, base_temporary_dir(heap->options.temporary_dir));
}

static enum profile_status open_file(struct profile_heap *heap, struct profile_error *error)
{
    int fd = base_temporary_file(base_temporary_dir(heap->options.temporary_dir)), failure;

    if (fd < 0)
        return fail_file(heap, errno, error);
    heap->file = fdopen(fd, "w+b");
    if (heap->file)
        return PROFILE_OK;
    failure = errno;
    (void)close(fd);
    return fail_file(heap, failure, error);
}

static bool store(FILE *file, const struct profile_value *value, size_t types)
{
    struct stored stored = { value->callsite, value->thread_id, { 0 } };

    memcpy(stored.amounts, value->amounts, types * sizeof *value->amounts);
    return fwrite(&stored, sizeof stored, 1, file) == 1;
}

/* Values that are not all 0.  */
static enum profile_status store_table(struct profile_heap *heap, const struct heap_table *table,
                                       size_t *count, struct profile_error *error)
{
    static const uint64_t nothing[4];

    *count = 0;
    for (size_t i = 0; i < table->values.count; i++) {
        const struct profile_value *value = profile_value_at(&table->values, i);

        if (memcmp(value->amounts, nothing, table->values.types * sizeof *nothing) == 0)
            continue;
        if (!store(heap->file, value, table->values.types))
            return fail_file(heap, errno ? errno : EIO, error);
        ++*count;
    }
    return PROFILE_OK;
}

/* ---- Taking in ---- */

/* Blocks in use go on; nothing else does.  */
static enum profile_status keep_live(struct heap_table *blocks)
{
    struct profile_values kept = { .types = blocks->values.types };
    enum profile_status status = PROFILE_OK;

    for (size_t i = 0; i < blocks->values.count && status == PROFILE_OK; i++) {
        const struct profile_value *value = profile_value_at(&blocks->values, i);
        const uint64_t live[4] = { value->amounts[0], value->amounts[1] };

        if (live[0] || live[1])
            status = profile_values_add(&kept, value->callsite, value->thread_id, live, NULL);
    }
    kept.samples = blocks->values.samples;
    profile_values_clear(&blocks->values);
    blocks->values = kept;
    return status;
}

static enum profile_status put_away(struct profile_heap *heap, struct profile_error *error)
{
    uint64_t samples = heap->releases.values.samples;
    enum profile_status status = PROFILE_OK;

    if (heap->partial_count == MAX_PARTIALS)
        return profile_fail(error, PROFILE_LIMIT, "more than %u partial profiles", MAX_PARTIALS);
    if (!base_make_room(&heap->partials, &heap->partial_capacity, heap->partial_count + 1,
                        sizeof *heap->partials))
        return PROFILE_NO_MEMORY;
    if (!heap->file)
        status = open_file(heap, error);
    errno = 0;
    if (status == PROFILE_OK)
        status = store_table(heap, &heap->blocks, &heap->open.blocks, error);
    if (status == PROFILE_OK)
        status = store_table(heap, &heap->releases, &heap->open.releases, error);
    if (status != PROFILE_OK)
        return status;
    heap->partials[heap->partial_count++] = heap->open;
    heap->open.offset += (heap->open.blocks + heap->open.releases) * sizeof(struct stored);
    profile_values_clear(&heap->releases.values);
    heap->releases.values.samples = samples;
    return keep_live(&heap->blocks);
}

/* The stretch that an event begins.  */
static void open_partial(struct profile_heap *heap, int64_t ts_ns)
{
    uint64_t every_ns = heap->options.every_ns, since;

    if (heap->partial_count == 0)
        heap->start_ns = ts_ns;
    since = (uint64_t)ts_ns - (uint64_t)heap->start_ns;
    since -= since % every_ns;
    if (__builtin_add_overflow(since, every_ns, &since) ||
        __builtin_add_overflow(heap->start_ns, since, &heap->open_limit_ns))
        heap->open_limit_ns = INT64_MAX;
    heap->open.first_ns = heap->open.last_ns = ts_ns;
    heap->has_open = true;
}

enum profile_status profile_heap_advance(struct profile *profile, bool has_time, int64_t ts_ns)
{
    struct profile_heap *heap = &profile->heap;
    enum profile_status status = PROFILE_OK;

    if (!has_time)
        return PROFILE_OK;
    if (!heap->options.every_ns) {
        profile_values_note_times(&heap->blocks.values, ts_ns, ts_ns);
        profile_values_note_times(&heap->releases.values, ts_ns, ts_ns);
        return PROFILE_OK;
    }
    if (heap->has_open && ts_ns >= heap->open_limit_ns) {
        status = put_away(heap, &profile->failure);
        heap->has_open = false;
    }
    if (!heap->has_open)
        open_partial(heap, ts_ns);
    if (ts_ns > heap->open.last_ns)
        heap->open.last_ns = ts_ns;
    return status;
}

enum profile_status profile_heap_end_partials(struct profile *profile, const profile_id *final,
                                              uint32_t count)
{
    struct profile_heap *heap = &profile->heap;
    enum profile_status status = put_away(heap, &profile->failure);

    if (status != PROFILE_OK)
        return status;
    free(heap->final);
    heap->final = calloc((size_t)count + 1, sizeof *heap->final);
    if (!heap->final)
        return PROFILE_NO_MEMORY;
    memcpy(heap->final, final, ((size_t)count + 1) * sizeof *final);
    heap->final_count = count;
    heap->has_clock = profile->has_clock;
    heap->clock_ns = profile->clock_ns;
    return profile_heap_show_partial(profile, heap->partial_count - 1, &profile->failure);
}

/* ---- Showing ---- */

size_t profile_heap_partials(const struct profile *profile)
{
    return profile->heap.partial_count;
}

/* Values go, what is known of all partial profiles together stays.  */
static void start_kind(const struct profile_heap *heap, struct profile_values *values,
                       const struct heap_partial *partial)
{
    uint64_t samples = values->samples, stacks = values->stacks;

    profile_values_clear(values);
    values->samples = samples;
    values->stacks = stacks;
    values->duration_ns = (uint64_t)partial->last_ns - (uint64_t)partial->first_ns;
    if (!heap->has_clock ||
        __builtin_add_overflow(heap->clock_ns, partial->first_ns, &values->time_ns))
        values->time_ns = 0;
}

/* The next count values of the file.  */
static enum profile_status load(struct profile *profile, size_t count, heap_add_fn *add,
                                struct profile_error *error)
{
    struct profile_heap *heap = &profile->heap;
    enum profile_status status = PROFILE_OK;

    for (size_t i = 0; i < count && status == PROFILE_OK; i++) {
        struct stored stored;
        profile_id callsite;

        if (fread(&stored, sizeof stored, 1, heap->file) != 1)
            return fail_file(heap, errno ? errno : EIO, error);
        if (stored.callsite > heap->final_count)
            return profile_fail(error, PROFILE_INVALID, "call site %u of %u", stored.callsite,
                                heap->final_count);
        callsite = heap->final[stored.callsite];
        if (stored.callsite == 0)
            status = profile_heap_unknown(profile, &callsite);
        if (status == PROFILE_OK)
            status = add(profile, callsite, stored.thread, stored.amounts);
    }
    return status == PROFILE_NO_MEMORY ? profile_no_memory(error) : status;
}

enum profile_status profile_heap_show_partial(struct profile *profile, size_t index,
                                              struct profile_error *error)
{
    struct profile_heap *heap = &profile->heap;
    const struct heap_partial *partial;
    enum profile_status status;

    if (index >= heap->partial_count)
        return profile_fail(error, PROFILE_INVALID, "no partial profile %zu of %zu", index,
                            heap->partial_count);
    partial = &heap->partials[index];
    start_kind(heap, &profile->values[PROFILE_HEAP], partial);
    start_kind(heap, &profile->values[PROFILE_HEAP_FREE], partial);
    errno = 0;
    if (fseeko(heap->file, (off_t)partial->offset, SEEK_SET) != 0)
        return fail_file(heap, errno, error);
    status = load(profile, partial->blocks, profile_heap_add_block, error);
    if (status == PROFILE_OK)
        status = load(profile, partial->releases, profile_heap_add_release, error);
    return status;
}

/* ---- Forgetting ---- */

void profile_heap_forget_partials(struct profile_heap *heap)
{
    if (heap->file)
        (void)fclose(heap->file);
    heap->file = NULL;
    free(heap->partials);
    heap->partials = NULL;
    heap->partial_count = heap->partial_capacity = 0;
    free(heap->final);
    heap->final = NULL;
    heap->open = (struct heap_partial){ .offset = 0 };
    heap->has_open = false;
}
