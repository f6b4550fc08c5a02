/* A recorded stream of messages of the memory sampler to heap profiles: input_messages.c, ingest's
 * heap.c, the profile's heap.c and heap_partials.c.
 *
 * The first byte chooses the interval; the rest are messages, whose transaction ids, which say
 * nothing, are taken for process and time.
 *
 * - Nothing is in use that was not allocated.
 * - What is in use at the peak is the peak, and never less than what is in use at the end.
 * - Over all ages it is the same.
 * - The last of partial profiles has in use what is in use at the end; what they say was released
 *   adds up to what was.  */
#include <stdlib.h>
#include <string.h>

#include <fxt/profile.h>
#include "tests/fuzz/support.h"

/* Sums above this have stopped at the top, or may have.  */
#define REASONABLE ((uint64_t)1 << 50)

enum type { ALLOCATED, ALLOCATED_BYTES, IN_USE, IN_USE_BYTES };

struct sums {
    uint64_t amounts[4]; /* of PROFILE_HEAP */
    uint64_t released;   /* bytes of PROFILE_HEAP_FREE */
    uint64_t values;     /* each of them is rounded */
    bool reasonable;
};

static void add(struct sums *sums, const struct profile *profile)
{
    for (size_t i = 0; i < profile_value_count(profile, PROFILE_HEAP); i++) {
        struct profile_stack_value value = profile_get_value(profile, PROFILE_HEAP, i);

        HOLD(value.values[IN_USE] <= value.values[ALLOCATED]);
        HOLD(value.values[IN_USE_BYTES] <= value.values[ALLOCATED_BYTES]);
        for (size_t type = 0; type < 4; type++) {
            sums->reasonable &= value.values[type] < REASONABLE / 1024;
            sums->amounts[type] += value.values[type];
        }
        sums->values++;
    }
    for (size_t i = 0; i < profile_value_count(profile, PROFILE_HEAP_FREE); i++) {
        struct profile_stack_value value = profile_get_value(profile, PROFILE_HEAP_FREE, i);

        sums->reasonable &= value.values[1] < REASONABLE / 1024;
        sums->released += value.values[1];
        sums->values++;
    }
}

/* The message as a capture has it, with what its transaction id says.  */
static struct fxt_record timed(const struct fxt_record *record, int64_t *ts_ns,
                               struct fxt_arg *interval)
{
    const uint8_t *id = record->value.large_blob.payload.bytes;
    struct fxt_record out = *record;

    *ts_ns += id[1] % 64;
    out.has_time = out.has_thread = true;
    out.ts_ns = *ts_ns;
    out.thread = (struct fxt_thread){ .process = 1 + id[0] % 3, .thread = id[2] % 2 };
    out.args = interval;
    out.arg_count = interval->value.uint64 != 1;
    return out;
}

static struct profile *read_profile(const uint8_t *data, size_t size,
                                    const struct profile_heap_options *options)
{
    static const char name[] = "sampling_interval_bytes";
    struct fxt_arg interval = { .type = FXT_ARG_UINT64,
                                .name = { .bytes = name, .length = sizeof name - 1 },
                                .value.uint64 = data[0] < 65 ? (uint64_t)1 << data[0] % 64 : 0 };
    struct fuzz_source source;
    struct fxt_input *input = fuzz_open(&source, data + 1, size - 1,
                                        (struct pieces){ .least = 1, .most = 90, .state = size });
    const struct fxt_record *record;
    struct profile_ingest *ingest;
    struct profile_sink sink;
    struct fxt_reader *reader;
    struct profile *profile;
    int64_t ts_ns = 0;

    HOLD(profile_open(&profile, NULL) == PROFILE_OK);
    HOLD(profile_heap_configure(profile, options, NULL) == PROFILE_OK);
    profile_sink_of(profile, &sink);
    HOLD(profile_ingest_open(&sink, profile_stacks_of(profile), NULL, &ingest, NULL) == PROFILE_OK);
    HOLD(fxt_reader_open(input, NULL, &reader, NULL) == FXT_OK);
    while (fxt_reader_next(reader, &record, NULL) == FXT_OK) {
        struct fxt_record made = *record;

        if (record->kind == FXT_RECORD_LARGE_BLOB && record->value.large_blob.format == 1 &&
            record->value.large_blob.payload.length >= 16)
            made = timed(record, &ts_ns, &interval);
        HOLD(profile_ingest_record(ingest, &made, NULL) == PROFILE_OK);
    }
    HOLD(profile_ingest_finish(ingest, NULL) == PROFILE_OK);
    profile_ingest_close(ingest);
    fxt_reader_close(reader);
    fxt_input_close(input);
    return profile;
}

static bool is_near(uint64_t a, uint64_t b, uint64_t most)
{
    return (a > b ? a - b : b - a) <= most;
}

static void check_peak(const uint8_t *data, size_t size, const struct sums *end)
{
    const struct profile_heap_options options = { .size = sizeof options,
                                                  .at = PROFILE_HEAP_AT_PEAK };
    struct profile *profile = read_profile(data, size, &options);
    struct sums sums = { .reasonable = true };
    size_t count;
    const struct profile_heap_peak *peaks = profile_heap_peaks(profile, &count);
    uint64_t peak = count > 0 ? peaks[0].bytes : 0;

    add(&sums, profile);
    if (sums.reasonable && end->reasonable) {
        HOLD(is_near(sums.amounts[IN_USE_BYTES], peak, sums.values + 1));
        HOLD(peak + end->values + 1 >= end->amounts[IN_USE_BYTES]);
    }
    profile_close(profile);
}

static void check_parts(const uint8_t *data, size_t size, const struct sums *end)
{
    const struct profile_heap_options options = { .size = sizeof options, .every_ns = 100 };
    struct profile *profile = read_profile(data, size, &options);
    struct sums all = { .reasonable = true }, last = { .reasonable = true };

    for (size_t i = 0; i < profile_heap_partials(profile); i++) {
        HOLD(profile_heap_show_partial(profile, i, NULL) == PROFILE_OK);
        add(&all, profile);
        last = (struct sums){ .reasonable = true };
        add(&last, profile);
    }
    if (all.reasonable && end->reasonable) {
        HOLD(last.amounts[IN_USE] == end->amounts[IN_USE]);
        HOLD(last.amounts[IN_USE_BYTES] == end->amounts[IN_USE_BYTES]);
        HOLD(is_near(all.released, end->released, all.values + end->values));
    }
    profile_close(profile);
}

static void check_ages(const uint8_t *data, size_t size, const struct sums *end)
{
    const struct profile_heap_options options = { .size = sizeof options, .ages = true };
    struct profile *profile = read_profile(data, size, &options);
    struct sums sums = { .reasonable = true };

    add(&sums, profile);
    for (size_t type = 0; type < 4 && sums.reasonable && end->reasonable; type++)
        HOLD(is_near(sums.amounts[type], end->amounts[type], sums.values + end->values));
    profile_close(profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct profile_heap_options options = { .size = sizeof options };
    struct sums end = { .reasonable = true };
    struct profile *profile;

    if (size == 0)
        return 0;
    profile = read_profile(data, size, &options);
    add(&end, profile);
    profile_close(profile);
    check_peak(data, size, &end);
    check_parts(data, size, &end);
    check_ages(data, size, &end);
    return 0;
}
