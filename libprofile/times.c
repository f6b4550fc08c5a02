/* times.c - CPU samples one by one, in a temporary file.  */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "libprofile/aggregate.h"

enum profile_status profile_keep_times(struct profile *profile, const char *temporary_dir,
                                       struct profile_error *error)
{
    struct profile_times *times = calloc(1, sizeof *times);
    const char *directory = base_temporary_dir(temporary_dir);

    if (!times)
        return profile_no_memory(error);
    times->fd = base_temporary_file(directory);
    if (times->fd < 0) {
        int failure = errno;

        free(times);
        return profile_fail_temporary(error, failure, directory);
    }
    times->directory = strdup(directory);
    if (!times->directory) {
        profile_times_close(times);
        return profile_no_memory(error);
    }
    profile_times_close(profile->times);
    profile->times = times;
    return PROFILE_OK;
}

bool profile_has_times(const struct profile *profile, enum profile_kind kind)
{
    return kind == PROFILE_CPU && profile->times && profile->values[PROFILE_CPU].samples > 0;
}

void profile_times_close(struct profile_times *times)
{
    if (!times)
        return;
    (void)close(times->fd);
    for (size_t i = 0; i < times->trace_count; i++)
        free(times->traces[i].final);
    free(times->traces);
    free(times->directory);
    free(times);
}

/* ---- In ---- */

static enum profile_status write_out(struct profile_times *times, struct profile_error *error)
{
    int failure = base_write_all(times->fd, times->buffer, times->used * sizeof *times->buffer);

    if (failure)
        return profile_fail_temporary(error, failure, times->directory);
    times->count += times->used;
    times->used = 0;
    return PROFILE_OK;
}

enum profile_status profile_times_add(struct profile_times *times, const struct profile_kept *kept,
                                      struct profile_error *error)
{
    enum profile_status status = PROFILE_OK;

    if (times->used == PROFILE_KEPT_BUFFER)
        status = write_out(times, error);
    if (status == PROFILE_OK)
        times->buffer[times->used++] = *kept;
    return status;
}

enum profile_status profile_times_settle(struct profile_times *times, const profile_id *final,
                                         uint32_t count, struct profile_error *error)
{
    enum profile_status status = write_out(times, error);
    profile_id *copy = NULL;

    if (base_make_room(&times->traces, &times->trace_capacity, times->trace_count + 1,
                       sizeof *times->traces))
        copy = calloc((size_t)count + 1, sizeof *copy);
    if (!copy)
        return PROFILE_NO_MEMORY;
    for (uint32_t i = 1; i <= count; i++)
        copy[i] = final[i];
    times->traces[times->trace_count++] = (struct profile_times_trace){ times->count, copy };
    return status;
}

void profile_times_forget(struct profile_times *times)
{
    times->count = times->trace_count ? times->traces[times->trace_count - 1].limit : 0;
    times->used = 0;
    (void)lseek(times->fd, (off_t)(times->count * sizeof *times->buffer), SEEK_SET);
}

/* ---- Out ---- */

static enum profile_status each_of_trace(const struct profile_times *times, uint64_t first,
                                         const struct profile_times_trace *trace,
                                         profile_kept_fn each, void *context,
                                         struct profile_error *error)
{
    struct profile_kept items[PROFILE_KEPT_BUFFER];
    enum profile_status status = PROFILE_OK;
    size_t count;

    for (uint64_t at = first; at < trace->limit && status == PROFILE_OK; at += count) {
        uint64_t left = trace->limit - at;
        int failure;

        count = left < PROFILE_KEPT_BUFFER ? (size_t)left : PROFILE_KEPT_BUFFER;
        failure = base_read_at(times->fd, items, count * sizeof *items, at * sizeof *items);
        if (failure)
            return profile_fail_temporary(error, failure, times->directory);
        for (size_t i = 0; i < count && status == PROFILE_OK; i++) {
            items[i].callsite = trace->final[items[i].callsite];
            status = each(context, &items[i]);
        }
    }
    return status;
}

enum profile_status profile_times_each(const struct profile_times *times, profile_kept_fn each,
                                       void *context, struct profile_error *error)
{
    enum profile_status status = PROFILE_OK;
    uint64_t first = 0;

    for (size_t i = 0; i < times->trace_count && status == PROFILE_OK; i++) {
        status = each_of_trace(times, first, &times->traces[i], each, context, error);
        first = times->traces[i].limit;
    }
    return status;
}
