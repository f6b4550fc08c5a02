/* A trace to profiles: reader, ingest, sorting of spans, stacks, folded text, pprof, table.
 *
 * - Every stack of at least one frame that the reader delivers is a sample, whatever stands around
 *   it.
 * - The counts in the folded text add up to the samples; of the heap, which is weighed,
 *   fuzz_profile_heap.c knows more.
 * - Sorting spans in a file gives what sorting them in memory gives, to the last byte of each
 *   output.
 * - The gzip form of a pprof message holds the raw form.
 *
 * Folded text repeats names a stack, so a deep trace of long names makes much of it: what comes
 * after the first MOST_BYTES is refused, as by a disk that is full, and must end as that.  */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/profile.h>
#include "tests/fuzz/support.h"

#define MOST_BYTES ((size_t)4 << 20)

struct output {
    struct fuzz_buffer bytes;
    bool full;
};

static int take_output(void *context, const void *bytes, size_t size)
{
    struct output *output = context;

    if (size > MOST_BYTES - output->bytes.used) {
        output->full = true;
        return EFBIG;
    }
    fuzz_append(&output->bytes, bytes, size);
    return 0;
}

/* Backtraces may be empty; a kernel sampler's stack is not, by definition.  */
static bool has_stack(const struct fxt_record *record)
{
    return fxt_record_sampler_stack(record, NULL) ||
           (record->kind == FXT_RECORD_BACKTRACE && record->value.backtrace.frames.count > 0);
}

/* How many stacks the trace has, and a profile of it.  */
static uint64_t read_profile(const uint8_t *data, size_t size, size_t sort_bytes,
                             struct profile **profile)
{
    const struct fxt_reader_options trusting = { .size = sizeof trusting, .trust_start = true };
    const struct profile_ingest_options options = { .size = sizeof options,
                                                    .sort_bytes = sort_bytes };
    struct fuzz_source source;
    struct fxt_input *input = fuzz_open(&source, data, size, (struct pieces){ .most = 0 });
    const struct fxt_record *record;
    struct profile_ingest *ingest;
    struct profile_sink sink;
    struct fxt_reader *reader;
    enum fxt_status status;
    uint64_t stacks = 0;

    HOLD(profile_open(profile, NULL) == PROFILE_OK);
    profile_sink_of(*profile, &sink);
    HOLD(profile_ingest_open(&sink, profile_stacks_of(*profile), &options, &ingest, NULL) ==
         PROFILE_OK);
    HOLD(fxt_reader_open(input, &trusting, &reader, NULL) == FXT_OK);
    while ((status = fxt_reader_next(reader, &record, NULL)) == FXT_OK) {
        stacks += has_stack(record);
        HOLD(profile_ingest_record(ingest, record, NULL) == PROFILE_OK);
    }
    HOLD(status == FXT_END || status == FXT_FATAL);
    HOLD(profile_ingest_finish(ingest, NULL) == PROFILE_OK);
    HOLD(profile_ingest_record(ingest, &(struct fxt_record){ .kind = FXT_RECORD_MAGIC }, NULL) ==
         PROFILE_INVALID);
    profile_ingest_close(ingest);
    fxt_reader_close(reader);
    fxt_input_close(input);
    return stacks;
}

/* The numbers at the ends of the lines, added up.  */
static uint64_t sum_of(const struct fuzz_buffer *folded)
{
    uint64_t sum = 0;
    uint64_t scale = 1;
    bool number = false; /* between the end of a line and the blank before its number */

    for (size_t i = folded->used; i-- > 0;) {
        uint8_t c = folded->bytes[i];

        if (c == '\n') {
            HOLD(!number);
            number = true;
            scale = 1;
        } else if (number && isdigit(c)) {
            sum += scale * (uint64_t)(c - '0');
            scale *= 10;
        } else if (number) {
            HOLD(c == ' ');
            number = false;
        }
    }
    HOLD(!number);
    return sum;
}

static struct output folded_of(const struct profile *profile, enum profile_kind kind, int value)
{
    const struct profile_folded_options options = { .size = sizeof options, .value = value };
    struct output output = { .full = false };
    enum profile_status status = profile_write_folded(profile, kind, &options, take_output, &output,
                                                      NULL);

    HOLD(status == (output.full ? PROFILE_IO : PROFILE_OK));
    return output;
}

static struct output pprof_of(const struct profile *profile, enum profile_kind kind, bool raw)
{
    const struct profile_pprof_options options = { .size = sizeof options, .raw = raw };
    struct output output = { .full = false };
    enum profile_status status = profile_write_pprof(profile, kind, &options, take_output, &output,
                                                     NULL);

    HOLD(status == (output.full ? PROFILE_IO : PROFILE_OK));
    return output;
}

static struct output top_of(const struct profile *profile, enum profile_kind kind)
{
    const struct profile_top_options options = { .size = sizeof options,
                                                 .rows = 20,
                                                 .columns = 80 };
    struct output output = { .full = false };
    enum profile_status status = profile_write_top(profile, kind, &options, take_output, &output,
                                                   NULL);

    HOLD(status == (output.full ? PROFILE_IO : PROFILE_OK));
    return output;
}

static void check_same(struct output *one, struct output *other)
{
    HOLD(one->full == other->full);
    HOLD(one->full || one->bytes.used == other->bytes.used);
    HOLD(one->full || one->bytes.used == 0 ||
         memcmp(one->bytes.bytes, other->bytes.bytes, one->bytes.used) == 0);
    free(other->bytes.bytes);
}

static void check_unpacked(const struct output *raw, const struct output *packed)
{
    struct fuzz_source source;
    struct fxt_input *input;
    uint8_t block[4096];
    size_t length;
    size_t at = 0;

    if (raw->full || packed->full)
        return;
    input = fuzz_open(&source, packed->bytes.bytes, packed->bytes.used,
                      (struct pieces){ .most = 0 });
    while (fxt_input_read(input, block, sizeof block, &length, NULL) == FXT_OK) {
        HOLD(length <= raw->bytes.used - at);
        HOLD(memcmp(raw->bytes.bytes + at, block, length) == 0);
        at += length;
    }
    HOLD(at == raw->bytes.used && !fxt_input_is_cut(input));
    fxt_input_close(input);
}

static void check_kind(const struct profile *profile, const struct profile *again,
                       enum profile_kind kind)
{
    struct output folded = folded_of(profile, kind, 0), other = folded_of(again, kind, 0);
    struct output pprof = pprof_of(profile, kind, true), other_pprof = pprof_of(again, kind, true);
    struct output top = top_of(profile, kind), other_top = top_of(again, kind);
    struct output packed = pprof_of(profile, kind, false);

    HOLD(profile_sample_count(profile, kind) == profile_sample_count(again, kind));
    if (!folded.full && (kind == PROFILE_CPU || kind == PROFILE_SPAN))
        HOLD(sum_of(&folded.bytes) == profile_sample_count(profile, kind));
    check_same(&folded, &other);
    check_same(&pprof, &other_pprof);
    check_same(&top, &other_top);
    check_unpacked(&pprof, &packed);
    free(folded.bytes.bytes);
    free(pprof.bytes.bytes);
    free(top.bytes.bytes);
    free(packed.bytes.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct profile *profile;
    struct profile *again;
    uint64_t stacks = read_profile(data, size, 0, &profile);

    HOLD(read_profile(data, size, 1, &again) == stacks);
    HOLD(profile_sample_count(profile, PROFILE_CPU) == stacks);
    for (int kind = 0; kind < PROFILE_KINDS; kind++)
        check_kind(profile, again, (enum profile_kind)kind);
    profile_close(profile);
    profile_close(again);
    return 0;
}
