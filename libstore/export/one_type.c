/* one_type.c - the samples of one type, of traces and of profiles, added up: for formats that hold
 * one type, such as folded stacks.  */
#include <stdlib.h>

#include <fxt/profile_types.h>
#include "libstore/export/export_entries.h"

#define MILLION 1000000u

struct amount {
    uint64_t whole; /* in units */
    uint64_t millionths;
};

struct one_type {
    struct export_type type;
    uint32_t units; /* that make one */
    enum profile_root root;
    struct base_pairs keys; /* (owner, call site) */
    struct amount *amounts; /* [key - 1] */
    size_t capacity;
};

/* ---- Adding up ---- */

/* Who a stack begins with: a process, or a thread where there is one.  */
static uint64_t owner_of(const struct one_type *sums, const struct export_row *row)
{
    if (sums->root == PROFILE_ROOT_NONE || row->process == 0)
        return 0;
    if (sums->root == PROFILE_ROOT_THREAD)
        return (uint64_t)row->thread << 32 | row->process;
    return row->process;
}

/* Samples without a stack have no place.  */
static enum store_status add(struct export *export, struct one_type *sums, uint64_t owner,
                             uint32_t callsite, struct amount amount)
{
    struct amount *sum;
    uint32_t number;
    bool is_new;

    export->counts->samples++;
    if (callsite == 0)
        return STORE_OK;
    number = base_pairs_add(&sums->keys, owner, callsite, &is_new);
    if (number == 0 ||
        !base_make_room(&sums->amounts, &sums->capacity, number, sizeof *sums->amounts))
        return store_no_memory(export->error);
    sum = &sums->amounts[number - 1];
    if (is_new)
        *sum = (struct amount){ .whole = 0 };
    sum->millionths += amount.millionths;
    if (__builtin_add_overflow(sum->whole, amount.whole, &sum->whole))
        sum->whole = UINT64_MAX;
    return STORE_OK;
}

static enum store_status take_cpu(struct export *export, const struct export_row *row,
                                  void *context)
{
    struct one_type *sums = context;
    uint64_t amount = sums->type.counts ? 1 : row->value > 0 ? (uint64_t)row->value : 0;

    return add(export, sums, owner_of(sums, row), row->callsite,
               (struct amount){ .whole = amount });
}

static enum store_status take_heap(struct export *export, const struct export_row *row,
                                   void *context)
{
    struct one_type *sums = context;
    bool released = sums->type.kind == STORE_SAMPLES_RELEASED;
    uint64_t amount = profile_to_units(sums->type.counts ? row->objects : row->bytes, sums->units);

    if (sums->type.kind == STORE_SAMPLES_IN_USE && row->freed != 0)
        return STORE_OK;
    return add(export, sums, owner_of(sums, row), released ? row->free_callsite : row->callsite,
               (struct amount){ .whole = amount });
}

static enum store_status take_profile(struct export *export, const struct export_row *row,
                                      void *context)
{
    struct one_type *sums = context;
    uint64_t value = row->value > 0 ? (uint64_t)row->value : 0;

    if (__builtin_mul_overflow(value, sums->units, &value))
        value = UINT64_MAX;
    return add(export, sums, owner_of(sums, row), row->callsite,
               (struct amount){ .whole = value, .millionths = row->millionths });
}

static enum store_status add_up(struct export *export, struct one_type *sums)
{
    bool heap = sums->type.from_trace && store_samples_are_heap(sums->type.kind);
    enum store_status status = STORE_OK;

    sums->units = !heap ? 1 : sums->type.counts ? PROFILE_OBJECT_UNITS : PROFILE_BYTE_UNITS;
    if (heap)
        status = export_each_heap(export, sums->type.kind == STORE_SAMPLES_RELEASED, take_heap,
                                  sums);
    else if (sums->type.from_trace)
        status = export_each_cpu(export, take_cpu, sums);
    if (status == STORE_OK && sums->type.id)
        status = export_each_profile(export, sums->type.id, take_profile, sums);
    return status;
}

/* ---- Writing ---- */

/* The heap is estimated, so parts of an object or a byte mean nothing; values of profiles keep
 * theirs.  The format has no place for the name of the type.  */
static bool put_header(struct out *work, const struct one_type *sums)
{
    const struct profile_pprof_type type = { .type = 0 };
    const struct profile_pprof_header header = {
        .types = &type,
        .type_count = 1,
        .parts = sums->units > 1 ? PROFILE_OBJECT_UNITS : MILLION,
        .decimals = sums->units > 1 ? 0 : 6,
    };

    return out_put(work, work->sink.header(work->sink.context, &header));
}

static struct profile_pprof_exact exact_of(const struct one_type *sums, struct amount amount)
{
    struct profile_pprof_exact exact = { .whole = amount.whole / sums->units };
    uint64_t rest = amount.whole % sums->units, more = amount.millionths / MILLION;

    amount.millionths %= MILLION;
    if (sums->units > 1)
        exact.part = (uint32_t)(rest * (PROFILE_OBJECT_UNITS / sums->units) +
                                amount.millionths * PROFILE_OBJECT_UNITS / MILLION);
    else
        exact.part = (uint32_t)amount.millionths;
    if (__builtin_add_overflow(exact.whole, more, &exact.whole))
        exact.whole = UINT64_MAX;
    return exact;
}

static bool put_key(struct out *work, struct places *places, const struct one_type *sums,
                    size_t index)
{
    const struct base_pair *key = &sums->keys.items[index];
    const struct profile_pprof_exact exact = exact_of(sums, sums->amounts[index]);
    const int64_t value = exact.whole < INT64_MAX ? (int64_t)exact.whole : INT64_MAX;
    struct profile_pprof_sample sample = {
        .values = &value, .value_count = 1, .exact = &exact, .stack = (uint32_t)key->b
    };

    if (!places_stack(places, (uint32_t)key->b, &sample.location_count))
        return false;
    if (sample.location_count == 0) /* nothing is left of it */
        return true;
    sample.locations = work->stack;
    return out_thread(work, (uint32_t)key->a, (uint32_t)(key->a >> 32), &sample.thread) &&
           out_put(work, work->sink.sample(work->sink.context, &sample));
}

static bool put_keys(struct out *work, const struct one_type *sums)
{
    struct places places;
    bool ok = places_open(&places, work);

    for (size_t i = 0; i < sums->keys.count && ok; i++) {
        ok = put_key(work, &places, sums, i);
        if (ok && i % 4096 == 0 && work->export->store->interrupted) {
            work->status = store_fail(work->export->error, STORE_STOPPED, "interrupted");
            ok = false;
        }
    }
    places_release(&places);
    return ok;
}

bool one_type_tell(struct out *work)
{
    struct one_type sums = { .root = work->export->options.root };
    bool ok;

    work->status = export_choose_type(work->export, false, &sums.type);
    work->export->sampled = sums.type.sampled;
    if (work->status == STORE_OK)
        work->status = add_up(work->export, &sums);
    ok = work->status == STORE_OK && put_header(work, &sums) && put_keys(work, &sums);
    free(sums.amounts);
    base_pairs_release(&sums.keys);
    return ok;
}
