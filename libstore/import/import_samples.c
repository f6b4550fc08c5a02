/* Samples, in the order of their times.
 *
 * Rows of a capture that is in order already, whose call sites are final when samples come, are
 * written while the trace is read, through a window in which small disorder is put right: samples
 * of several CPUs are merged in rounds.  From the first sample on that cannot be written so - its
 * module may follow at the end of the trace, or its time is before what was written - samples wait
 * in a sorter until the trace is over.  */
#include <stdlib.h>
#include <string.h>

#include "libstore/import/import.h"

#define SORT_BYTES  ((size_t)48 << 20)
#define WINDOW_ROWS 65536u /* the older half is written when it is full */

struct sample_row {
    int64_t ts_ns;
    uint64_t weight;   /* nanoseconds, or how much of its event */
    uint32_t thread;   /* of ingest */
    uint32_t callsite; /* provisional */
    int32_t cpu;
    uint32_t event; /* index + 1 in import->events; 0: of CPU time */
};

struct window_row {
    struct sample_row row;
    uint32_t site;  /* callsite.id */
    uint32_t order; /* of equal times */
};

struct import_samples {
    struct base_sorter *sorter;
    struct window_row *window;
    size_t count; /* rows in it */
    bool ordered; /* they are, as they are */
    bool waiting; /* everything goes to the sorter */
    bool written; /* there are rows already: */
    int64_t written_ns;
    bool in_order;          /* all rows so far were */
    struct store_sums sums; /* of (process of ingest, provisional call site) */
};

/* ---- Sums ---- */

static bool add_to_sums(struct store_import *import, struct store_sums *sums, int64_t process,
                        int64_t callsite, const struct store_sum *more)
{
    struct store_sum *sum = store_sums_at(sums, process, callsite);

    if (!sum)
        return store_import_fail(import, STORE_NO_MEMORY, "out of memory");
    sum->n.integer += more->n.integer;
    if (__builtin_add_overflow(sum->value.integer, more->value.integer, &sum->value.integer) ||
        sum->value.integer > INT64_MAX)
        sum->value.integer = INT64_MAX;
    return true;
}

static enum profile_status take_sum(void *context, const struct profile_sample_sum *told)
{
    struct store_import *import = context;
    struct import_events *events = &import->events;
    struct store_sums *sums = &import->samples->sums;
    struct store_sum sum = { .n.integer = told->count, .value.integer = told->weight_ns };

    if (told->event) {
        sums = &events->items[events->places[told->event - 1]].sums;
        sum.value.integer = told->amount;
    }
    return store_import_sink_status(
        add_to_sums(import, sums, told->process_id, told->callsite, &sum));
}

/* The sums of a type by the ids that processes and call sites have in the store.  */
static bool write_sums(struct store_import *import, const struct store_sums *told,
                       const profile_id *final, int64_t type, enum store_sum_values values)
{
    struct store_sums sums = { .items = NULL };
    bool ok = true;

    for (size_t i = 0; i < told->keys.count && ok; i++)
        ok = add_to_sums(import, &sums, store_import_upid(import, (uint32_t)told->keys.items[i].a),
                         store_import_callsite(import, final[told->keys.items[i].b]),
                         &told->items[i]);
    ok = ok && store_import_write_sums(import, &sums, type, values);
    store_sums_release(&sums);
    return ok;
}

static bool write_all_sums(struct store_import *import, const profile_id *final)
{
    bool ok = write_sums(import, &import->samples->sums, final, STORE_TYPE_CPU,
                         import->period_ns ? STORE_SUMS_WHOLE : STORE_SUMS_COUNTED);

    for (size_t i = 0; i < import->events.count && ok; i++) {
        const struct import_event *event = &import->events.items[i];

        ok = write_sums(import, &event->sums, final, event->sample_type_id, STORE_SUMS_WHOLE);
    }
    return ok;
}

/* ---- Rows ---- */

static bool write_row(struct store_import *import, const struct sample_row *row, int64_t callsite)
{
    struct import_samples *samples = import->samples;
    struct store_cell *cells = store_writer_row(import->writer, STORE_CPU_SAMPLE, NULL);

    if (!cells)
        return false;
    store_int(&cells[1], row->ts_ns);
    if (row->cpu >= 0)
        store_int(&cells[2], row->cpu);
    store_int(&cells[3], store_import_utid(import, row->thread));
    store_int(&cells[4], callsite);
    if (row->weight || row->event)
        store_unsigned(&cells[5], row->weight);
    store_int(&cells[6],
              row->event ? import->events.items[row->event - 1].sample_type_id : STORE_TYPE_CPU);
    samples->in_order &= !samples->written || row->ts_ns >= samples->written_ns;
    samples->written = true;
    samples->written_ns = row->ts_ns;
    import->counts.samples++;
    return true;
}

/* ---- The window ---- */

static int compare_rows(const void *a, const void *b)
{
    const struct window_row *left = a, *right = b;

    if (left->row.ts_ns != right->row.ts_ns)
        return left->row.ts_ns < right->row.ts_ns ? -1 : 1;
    return (left->order > right->order) - (left->order < right->order);
}

static void sort_window(struct import_samples *samples)
{
    if (samples->ordered)
        return;
    for (size_t i = 0; i < samples->count; i++)
        samples->window[i].order = (uint32_t)i;
    qsort(samples->window, samples->count, sizeof *samples->window, compare_rows);
    samples->ordered = true;
}

/* Write the first rows of the window.  */
static bool write_window(struct store_import *import, size_t count)
{
    struct import_samples *samples = import->samples;
    bool ok = true;

    sort_window(samples);
    for (size_t i = 0; i < count && ok; i++)
        ok = write_row(import, &samples->window[i].row, samples->window[i].site);
    samples->count -= count;
    memmove(samples->window, samples->window + count, samples->count * sizeof *samples->window);
    return ok;
}

static bool to_sorter(struct store_import *import, const struct sample_row *row)
{
    return store_import_sorted(import, base_sorter_add(import->samples->sorter, row));
}

/* Nothing is written any more before the end.  */
static bool begin_to_wait(struct store_import *import)
{
    struct import_samples *samples = import->samples;
    bool ok = true;

    samples->waiting = true;
    for (size_t i = 0; i < samples->count && ok; i++)
        ok = to_sorter(import, &samples->window[i].row);
    samples->count = 0;
    return ok;
}

static bool to_window(struct store_import *import, const struct sample_row *row, int64_t callsite)
{
    struct import_samples *samples = import->samples;

    if (samples->count == WINDOW_ROWS && !write_window(import, WINDOW_ROWS / 2))
        return false;
    if (samples->count == 0)
        samples->ordered = true;
    else
        samples->ordered &= row->ts_ns >= samples->window[samples->count - 1].row.ts_ns;
    samples->window[samples->count++] = (struct window_row){ *row, (uint32_t)callsite, 0 };
    return true;
}

/* ---- The sink ---- */

/* callsite.id, if the sample says what it is.  */
static bool find_callsite(struct store_import *import, const struct profile_sample *sample,
                          int64_t *out)
{
    if (sample->final > import->callsites.count && !store_import_write_stacks(import))
        return false;
    *out = store_import_callsite(import, sample->final);
    return true;
}

static bool take(struct store_import *import, const struct profile_sample *sample)
{
    struct import_samples *samples = import->samples;
    struct sample_row row = {
        .ts_ns = sample->ts_ns,
        .weight = sample->weight_ns,
        .thread = sample->thread_id,
        .callsite = sample->callsite,
        .cpu = sample->cpu,
    };
    int64_t callsite = 0;

    if (sample->event) {
        row.event = import->events.places[sample->event - 1] + 1;
        row.weight = sample->amount < INT64_MAX ? sample->amount : INT64_MAX;
    }
    if (!samples->waiting && !find_callsite(import, sample, &callsite))
        return false;
    if (!samples->waiting &&
        (!import->has_session || callsite == 0 ||
         (samples->written && row.ts_ns < samples->written_ns)) &&
        !begin_to_wait(import))
        return false;
    return samples->waiting ? to_sorter(import, &row) : to_window(import, &row, callsite);
}

static enum profile_status take_sample(void *context, const struct profile_sample *sample)
{
    return store_import_sink_status(take(context, sample));
}

enum store_status store_import_samples_open(struct store_import *import, struct profile_sink *sink,
                                            struct store_error *error)
{
    struct import_samples *samples = calloc(1, sizeof *samples);

    import->samples = samples;
    if (samples)
        samples->window = calloc(WINDOW_ROWS, sizeof *samples->window);
    if (!samples || !samples->window)
        return store_no_memory(error);
    samples->in_order = true;
    sink->sample = take_sample;
    sink->sample_sum = take_sum;
    return store_import_sorter_open(import, sizeof(struct sample_row), SORT_BYTES, &samples->sorter,
                                    error);
}

void store_import_samples_release(struct store_import *import)
{
    if (!import->samples)
        return;
    base_sorter_close(import->samples->sorter);
    store_sums_release(&import->samples->sums);
    free(import->samples->window);
    free(import->samples);
}

/* ---- The end ---- */

static bool write_waiting(struct store_import *import, const profile_id *final)
{
    struct base_sorter *sorter = import->samples->sorter;
    bool ok = store_import_sorted(import, base_sorter_finish(sorter));
    const void *next;

    while (ok && (ok = store_import_sorted(import, base_sorter_next(sorter, &next))) && next) {
        const struct sample_row *row = next;

        ok = write_row(import, row, store_import_callsite(import, final[row->callsite]));
    }
    return ok;
}

bool store_import_write_samples(struct store_import *import, const profile_id *final)
{
    struct import_samples *samples = import->samples;
    bool ok = write_window(import, samples->count) && write_waiting(import, final) &&
              write_all_sums(import, final);

    import->samples_ordered = samples->in_order;
    return ok;
}
