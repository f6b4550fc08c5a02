/* timed.c - samples of a profile that is written, by thread and time; columns of numbers.  */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "libprofile/write/writers.h"

/* ---- Samples ---- */

enum profile_status writer_samples_open(struct writer_samples *samples,
                                        const struct profile_writer_options *options,
                                        struct profile_error *error)
{
    const struct base_sorter_options sorter = {
        .item_size = sizeof(struct writer_sample),
        .bytes = options->sort_bytes ? options->sort_bytes : (size_t)16 << 20,
        .directory = samples->directory = base_temporary_dir(options->temporary_dir),
        .by_ordinal = true, /* of equal times, the one that came first is first */
    };
    int failure = base_sorter_open(&sorter, &samples->sorter);

    return failure ? profile_fail_temporary(error, failure, samples->directory) : PROFILE_OK;
}

void writer_samples_release(struct writer_samples *samples)
{
    base_sorter_close(samples->sorter);
    samples->sorter = NULL;
}

enum profile_status writer_samples_add(struct writer_samples *samples, struct writer_tables *tables,
                                       const struct profile_pprof_sample *sample)
{
    struct writer_sample item = { .thread = sample->thread };
    enum profile_status status = writer_tables_stack(tables, sample, &item.stack);
    int failure;

    if (status != PROFILE_OK)
        return status;
    item.value = sample->values[tables->shown];
    if (samples->count > 0 && samples->has_times != sample->has_time)
        return writer_refuse(tables, "samples with and without times: write this profile as pprof");
    if (!sample->has_time && item.value == 0)
        return PROFILE_OK;
    if (samples->count == 0 || (sample->has_time && sample->ts_ns < samples->first_ns))
        samples->first_ns = sample->has_time ? sample->ts_ns : 0;
    samples->has_times = sample->has_time;
    samples->any_negative |= item.value < 0;
    item.ordinal = sample->has_time ? (uint64_t)sample->ts_ns ^ (UINT64_C(1) << 63)
                                    : samples->count;
    samples->count++;
    failure = base_sorter_add(samples->sorter, &item);
    return failure ? profile_fail_temporary(tables->error, failure, samples->directory)
                   : PROFILE_OK;
}

enum profile_status writer_samples_finish(struct writer_samples *samples,
                                          struct profile_error *error)
{
    int failure = base_sorter_finish(samples->sorter);

    return failure ? profile_fail_temporary(error, failure, samples->directory) : PROFILE_OK;
}

enum profile_status writer_samples_next(struct writer_samples *samples,
                                        const struct writer_sample **out,
                                        struct profile_error *error)
{
    const void *item = NULL;
    int failure = base_sorter_next(samples->sorter, &item);

    *out = item;
    return failure ? profile_fail_temporary(error, failure, samples->directory) : PROFILE_OK;
}

/* ---- Columns ---- */

#define COLUMN_NUMBERS (sizeof((struct writer_column *)NULL)->numbers / sizeof(int64_t))

void writer_column_open(struct writer_column *column, const char *directory)
{
    column->directory = base_temporary_dir(directory);
    column->fd = -1;
    column->file_count = 0;
    column->used = 0;
}

void writer_column_release(struct writer_column *column)
{
    if (column->fd >= 0)
        (void)close(column->fd);
    column->fd = -1;
}

static int write_out(struct writer_column *column)
{
    int failure = 0;

    if (column->fd < 0 && (column->fd = base_temporary_file(column->directory)) < 0)
        return errno;
    if (column->file_count == 0 && lseek(column->fd, 0, SEEK_SET) < 0)
        return errno;
    failure = base_write_all(column->fd, column->numbers, column->used * sizeof(int64_t));
    column->file_count += column->used;
    column->used = 0;
    return failure;
}

enum profile_status writer_column_add(struct writer_column *column, int64_t number,
                                      struct profile_error *error)
{
    if (column->used == COLUMN_NUMBERS) {
        int failure = write_out(column);

        if (failure)
            return profile_fail_temporary(error, failure, column->directory);
    }
    column->numbers[column->used++] = number;
    return PROFILE_OK;
}

enum profile_status writer_column_each(struct writer_column *column,
                                       void (*each)(void *context, uint64_t index, int64_t number),
                                       void *context, struct profile_error *error)
{
    int failure = column->file_count > 0 ? write_out(column) : 0;
    uint64_t index = 0;

    for (uint64_t at = 0; at < column->file_count && !failure; at += column->used) {
        uint64_t left = column->file_count - at;

        column->used = left < COLUMN_NUMBERS ? (size_t)left : COLUMN_NUMBERS;
        failure = base_read_at(column->fd, column->numbers, column->used * sizeof(int64_t),
                               at * sizeof(int64_t));
        for (size_t i = 0; i < column->used && !failure; i++)
            each(context, index++, column->numbers[i]);
    }
    for (size_t i = 0; column->file_count == 0 && i < column->used; i++)
        each(context, index++, column->numbers[i]);
    column->file_count = 0;
    column->used = 0;
    return failure ? profile_fail_temporary(error, failure, column->directory) : PROFILE_OK;
}
