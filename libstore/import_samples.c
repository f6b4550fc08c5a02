/* Samples wait until the trace is over: only then is known which module an address of theirs was
 * in, and so what their call site is.  They come out in the order of their times.  */
#include <stdlib.h>

#include "libstore/import.h"

#define SORT_BYTES ((size_t)48 << 20)

struct sample_row {
    int64_t ts_ns;
    uint64_t weight_ns;
    uint32_t thread;   /* of ingest */
    uint32_t callsite; /* provisional */
    int32_t cpu;
    uint32_t reserved; /* the size is a multiple of 8 */
};

static enum profile_status take_sample(void *context, const struct profile_sample *sample)
{
    struct store_import *import = context;
    struct sample_row row = {
        .ts_ns = sample->ts_ns,
        .weight_ns = sample->weight_ns,
        .thread = sample->thread_id,
        .callsite = sample->callsite,
        .cpu = sample->cpu,
    };

    return store_import_sink_status(store_sorter_add(import->samples, &row, &import->error) ==
                                    STORE_OK);
}

enum store_status store_import_samples_open(struct store_import *import, struct profile_sink *sink,
                                            struct store_error *error)
{
    sink->sample = take_sample;
    return store_sorter_open(sizeof(struct sample_row), SORT_BYTES, import->store->temporary_dir,
                             &import->samples, error);
}

/* A provisional call site.  Nearly every one belongs to one process, for which its place here
 * counts; what others add to it goes to the sums at once.  */
struct site {
    int64_t callsite; /* callsite.id */
    uint64_t n, value;
    uint32_t process;
};

static bool add_to_sums(struct store_sums *sums, int64_t upid, int64_t callsite, uint64_t n,
                        uint64_t value)
{
    struct store_sum *sum = store_sums_at(sums, upid, callsite);

    if (!sum)
        return false;
    sum->n.integer += n;
    if (__builtin_add_overflow(sum->value.integer, value, &sum->value.integer) ||
        sum->value.integer > INT64_MAX)
        sum->value.integer = INT64_MAX;
    return true;
}

static bool count_sample(struct store_import *import, const struct sample_row *row,
                         struct site *site, struct store_sums *sums)
{
    uint32_t process = import->threads[row->thread - 1].process;

    if (site->n > 0 && (site->process != process || site->value > INT64_MAX - row->weight_ns))
        return add_to_sums(sums, store_import_upid(import, process), site->callsite, 1,
                           row->weight_ns);
    site->process = process;
    site->n++;
    site->value += row->weight_ns;
    return true;
}

static bool write_sample(struct store_import *import, const struct sample_row *row,
                         int64_t callsite)
{
    struct store_cell *cells = store_writer_row(import->writer, STORE_CPU_SAMPLE, NULL);

    if (!cells)
        return false;
    store_int(&cells[1], row->ts_ns);
    if (row->cpu >= 0)
        store_int(&cells[2], row->cpu);
    store_int(&cells[3], store_import_utid(import, row->thread));
    store_int(&cells[4], callsite);
    if (row->weight_ns)
        store_unsigned(&cells[5], row->weight_ns);
    return true;
}

static bool write_rows(struct store_import *import, struct site *sites, struct store_sums *sums)
{
    struct store_error error = { .status = STORE_OK };
    const struct sample_row *row;

    while ((row = store_sorter_next(import->samples, &error)) != NULL) {
        struct site *site = &sites[row->callsite];

        if (!write_sample(import, row, site->callsite))
            return false;
        if (!count_sample(import, row, site, sums))
            return store_import_fail(import, STORE_NO_MEMORY, "out of memory");
        import->counts.samples++;
    }
    return error.status == STORE_OK || store_import_fail(import, error.status, error.message);
}

bool store_import_write_samples(struct store_import *import, const profile_id *final,
                                uint32_t count)
{
    struct store_sums sums = { .items = NULL };
    struct site *sites = calloc((size_t)count + 1, sizeof *sites);
    bool ok = sites != NULL;

    import->first_sample_id = store_writer_next_id(import->writer, STORE_CPU_SAMPLE);
    if (!ok)
        (void)store_import_fail(import, STORE_NO_MEMORY, "out of memory");
    for (uint32_t i = 1; i <= count && ok; i++)
        sites[i].callsite = store_import_callsite(import, final[i]);
    ok = ok && store_sorter_start(import->samples, &import->error) == STORE_OK &&
         write_rows(import, sites, &sums);
    for (uint32_t i = 1; i <= count && ok; i++)
        if (sites[i].n > 0)
            ok = add_to_sums(&sums, store_import_upid(import, sites[i].process),
                             store_import_callsite(import, final[i]), sites[i].n, sites[i].value) ||
                 store_import_fail(import, STORE_NO_MEMORY, "out of memory");
    ok = ok && store_import_write_sums(import, &sums, STORE_TYPE_CPU, false);
    store_sums_release(&sums);
    free(sites);
    store_sorter_close(import->samples);
    import->samples = NULL;
    return ok;
}
