/* Allocations and releases become rows of heap_event: both wait in one sorter, keyed by the number
 * of the allocation, so that they come out beside each other.  Nothing is kept by address.  */
#include <stdlib.h>

#include "libstore/import/import.h"

#define SORT_BYTES ((size_t)32 << 20)

struct heap_row {
    int64_t number; /* of the allocation; allocations come before their releases */
    int64_t ts_ns;
    uint64_t address;
    uint64_t size;
    double objects;
    double bytes;
    uint64_t process;  /* koid */
    uint32_t callsite; /* provisional */
    bool has_time;
    bool is_release;
    bool assumed;
};

static enum profile_status take(struct store_import *import, const struct heap_row *row)
{
    return store_import_sink_status(
        store_import_sorted(import, base_sorter_add(import->heap, row)));
}

static enum profile_status take_allocation(void *context,
                                           const struct profile_allocation *allocation)
{
    struct heap_row row = {
        .number = (int64_t)allocation->id,
        .ts_ns = allocation->ts_ns,
        .address = allocation->address,
        .size = allocation->size_bytes,
        .objects = allocation->objects,
        .bytes = allocation->bytes,
        .process = allocation->process_koid,
        .callsite = allocation->callsite,
        .has_time = allocation->has_time,
    };
    struct store_import *import = context;

    if (allocation->interval_bytes > import->heap_interval_bytes)
        import->heap_interval_bytes = allocation->interval_bytes;
    return take(context, &row);
}

static enum profile_status take_release(void *context, const struct profile_release *release)
{
    struct heap_row row = {
        .number = (int64_t)release->allocation->id,
        .ts_ns = release->ts_ns,
        .callsite = release->callsite,
        .has_time = release->has_time,
        .is_release = true,
        .assumed = release->assumed,
    };

    return take(context, &row);
}

enum store_status store_import_heap_open(struct store_import *import, struct profile_sink *sink,
                                         struct store_error *error)
{
    sink->allocation = take_allocation;
    sink->release = take_release;
    return store_import_sorter_open(import, sizeof(struct heap_row), SORT_BYTES, &import->heap,
                                    error);
}

struct heap_sums {
    struct store_sums alloc, inuse, freed;
};

static bool add_to_sums(struct store_sums *sums, int64_t upid, int64_t callsite,
                        const struct heap_row *row)
{
    struct store_sum *sum = store_sums_at(sums, upid, callsite);

    if (!sum)
        return false;
    sum->n.real += row->objects;
    sum->value.real += row->bytes;
    return true;
}

static int64_t final_callsite(const struct store_import *import, const profile_id *final,
                              uint32_t provisional)
{
    return provisional ? store_import_callsite(import, final[provisional]) : 0;
}

/* One allocation, and its release if there was one.  */
static bool write_event(struct store_import *import, const struct heap_row *row,
                        const struct heap_row *release, const profile_id *final,
                        struct heap_sums *sums)
{
    int64_t upid = store_import_upid_of_koid(import, row->process);
    int64_t callsite = final_callsite(import, final, row->callsite);
    int64_t released_at = release ? final_callsite(import, final, release->callsite) : 0;
    struct store_cell *cells = store_writer_row(import->writer, STORE_HEAP_EVENT, NULL);

    if (!cells)
        return false;
    if (row->has_time)
        store_int(&cells[1], row->ts_ns);
    store_int(&cells[2], release ? 1 + release->assumed : 0);
    if (release && release->has_time)
        store_int(&cells[3], release->ts_ns);
    store_int(&cells[4], upid);
    store_unsigned(&cells[5], row->address);
    store_unsigned(&cells[6], row->size);
    store_real(&cells[7], row->objects);
    store_real(&cells[8], row->bytes);
    store_id(&cells[9], callsite);
    store_id(&cells[10], released_at);
    import->counts.heap_events++;
    return (add_to_sums(&sums->alloc, upid, callsite, row) &&
            (release ? add_to_sums(&sums->freed, upid, released_at, row)
                     : add_to_sums(&sums->inuse, upid, callsite, row))) ||
           store_import_fail(import, STORE_NO_MEMORY, "out of memory");
}

static bool next_row(struct store_import *import, const struct heap_row **out)
{
    const void *row = NULL;
    bool ok = store_import_sorted(import, base_sorter_next(import->heap, &row));

    *out = row;
    return ok;
}

static bool write_rows(struct store_import *import, const profile_id *final, struct heap_sums *sums)
{
    const struct heap_row *row;
    bool ok = next_row(import, &row);

    while (ok && row) {
        struct heap_row allocation = *row, release;
        bool released;

        ok = next_row(import, &row);
        released = ok && row && row->is_release;
        if (released) {
            release = *row;
            ok = next_row(import, &row);
        }
        ok = ok && write_event(import, &allocation, released ? &release : NULL, final, sums);
    }
    return ok;
}

bool store_import_write_heap(struct store_import *import, const profile_id *final)
{
    struct heap_sums sums = { .alloc.items = NULL };
    bool ok = store_import_sorted(import, base_sorter_finish(import->heap)) &&
              write_rows(import, final, &sums) &&
              store_import_write_sums(import, &sums.alloc, STORE_TYPE_ALLOC, STORE_SUMS_REAL) &&
              store_import_write_sums(import, &sums.inuse, STORE_TYPE_INUSE, STORE_SUMS_REAL) &&
              store_import_write_sums(import, &sums.freed, STORE_TYPE_FREE, STORE_SUMS_REAL);

    store_sums_release(&sums.alloc);
    store_sums_release(&sums.inuse);
    store_sums_release(&sums.freed);
    base_sorter_close(import->heap);
    import->heap = NULL;
    return ok;
}
