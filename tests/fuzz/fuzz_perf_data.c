/* perf.data files: header, attributes, features, records, compressed records.
 *
 * - Reading ends, with a status, and takes no record from outside the input.
 * - Records come in the order of time but for those that are counted as late.
 * - Damage is described exactly when there is some.  */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libperf/perf_data.h"
#include "tests/fuzz/support.h"

static uint64_t read_words(const struct perf_data *data, struct perf_data_words words)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < words.count; i++)
        sum += perf_data_word(data, words, i);
    return sum;
}

/* Touch what a record borrows.  */
static uint64_t touch(const struct perf_data *data, const struct perf_data_record *record)
{
    const struct perf_data_sample *sample = &record->sample;
    uint64_t sum = record->bytes[record->size - 1];

    switch (record->kind) {
    case PERF_DATA_SAMPLE:
        sum += read_words(data, sample->chain) + read_words(data, sample->branches) +
               read_words(data, sample->user.values) + read_words(data, sample->intr.values);
        if (sample->stack_size)
            sum += sample->stack[sample->stack_size - 1];
        if (sample->raw_size)
            sum += sample->raw[sample->raw_size - 1];
        return sum + strlen(perf_data_event(data, record->event)->name);
    case PERF_DATA_MMAP:
    case PERF_DATA_MMAP2:
        return sum + strlen(record->mapping.name);
    case PERF_DATA_COMM:
        return sum + strlen(record->comm.name);
    case PERF_DATA_KSYMBOL:
        return sum + strlen(record->ksymbol.name);
    default:
        return sum;
    }
}

static void read_all(struct perf_data *data)
{
    const struct perf_data_record *record;
    const struct perf_data_notices *notices = perf_data_notices_of(data);
    enum perf_data_status status;
    struct perf_data_error error;
    uint64_t latest = 0, late = 0;
    char text[400];

    while ((status = perf_data_next(data, &record, &error)) == PERF_DATA_OK) {
        static volatile uint64_t sum;

        sum = sum + touch(data, record);
        if (!record->has_time)
            continue;
        late += record->time_ns < latest;
        latest = record->time_ns > latest ? record->time_ns : latest;
    }
    HOLD(status == PERF_DATA_END);
    HOLD(late <= notices->late);
    HOLD(perf_data_describe(notices, text, sizeof text) == (*text != '\0'));
    for (size_t i = 0; i < perf_data_build_id_count(data); i++)
        HOLD(perf_data_build_id(data, i)->length <= 20);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const struct perf_data_options options = { .size = sizeof options, .order_bytes = 4096 };
    int fd = memfd_create("perf.data", MFD_CLOEXEC);
    struct perf_data_error error;
    struct perf_data *data;

    HOLD(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    if (perf_data_open(fd, &options, &data, &error) == PERF_DATA_OK)
        read_all(data);
    else
        HOLD(error.message[0] != '\0' && error.status != PERF_DATA_IO);
    perf_data_close(data);
    (void)close(fd);
    return 0;
}
