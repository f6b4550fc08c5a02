/* Bytes taken for a trace: docs/formats/fxt.md, libfxt/reader.c.
 *
 * - Every byte is in a delivered record or in the damage; put together, they are the trace.
 * - In pieces of any size, the same records and the same damage come as in one piece.
 * - Counting with fxt_reader_tally() finds the same records, times and damage.
 * - What was read, written with fxt_writer and read again, is the same sequence.
 * - Small bounds (max_record_bytes, max_table_bytes) lose records, never count.  */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/support.h"

struct outcome {
    enum fxt_status status;
    enum fxt_compression compression;
    struct fxt_damage damage;
    uint64_t offset;
    struct fuzz_buffer records; /* digests */
    struct fuzz_buffer bytes;   /* of the trace, as records and skipped stretches gave them */
    uint64_t unseen;            /* bytes of records too large to be given */
    struct fxt_tally tally;     /* of the delivered records */
    struct fuzz_buffer copy;    /* the records as fxt_writer writes them, if it was asked to */
};

static void outcome_release(struct outcome *outcome)
{
    free(outcome->records.bytes);
    free(outcome->bytes.bytes);
    free(outcome->copy.bytes);
}

static void check_accounts(const struct fxt_reader *reader, uint64_t delivered)
{
    const struct fxt_damage *damage = fxt_reader_damage(reader);
    uint64_t sum = delivered;

    for (int kind = 0; kind < FXT_DAMAGE_KINDS; kind++) {
        sum += damage->kinds[kind].bytes;
        HOLD(damage->kinds[kind].count > 0 || damage->kinds[kind].bytes == 0);
        HOLD(damage->kinds[kind].count == 0 ||
             damage->kinds[kind].first_offset <= fxt_reader_offset(reader));
    }
    HOLD(sum == fxt_reader_offset(reader));
}

static void count(struct fxt_tally *tally, const struct fxt_record *record)
{
    tally->records[record->kind]++;
    if (!record->has_time)
        return;
    if (!tally->has_time || record->ts_ns < tally->first_ns)
        tally->first_ns = record->ts_ns;
    if (!tally->has_time || record->ts_ns > tally->last_ns)
        tally->last_ns = record->ts_ns;
    tally->has_time = true;
}

static void take_skipped(void *context, const struct fxt_skipped *skipped)
{
    struct outcome *outcome = context;

    HOLD(skipped->offset == outcome->bytes.used + outcome->unseen);
    if (skipped->kind == FXT_DAMAGE_OVERSIZED_RECORD) {
        HOLD(skipped->bytes.length == 0);
        outcome->unseen += skipped->size;
    } else if (skipped->kind == FXT_DAMAGE_SIZE_ZERO) {
        HOLD(skipped->size == 0 && skipped->bytes.length == 8);
    } else if (skipped->bytes.length == 0) {
        outcome->unseen += skipped->size; /* the tail of an oversized record */
    } else {
        HOLD(skipped->bytes.length == skipped->size);
        fuzz_append(&outcome->bytes, skipped->bytes.bytes, (size_t)skipped->size);
    }
}

/* Read all of the input, which is closed.  writer may be NULL.  */
static void read_all(struct fxt_input *input, const struct fxt_reader_options *given,
                     enum digest_form form, struct fxt_writer *writer, struct outcome *outcome)
{
    struct fxt_reader_options options = { .size = sizeof options };
    const struct fxt_record *record = NULL;
    struct fxt_reader *reader = NULL;
    struct fxt_error error = { .status = FXT_OK };
    uint64_t delivered = 0;

    if (given)
        options = *given;
    options.skipped = take_skipped;
    options.skipped_context = outcome;
    HOLD(fxt_reader_open(input, &options, &reader, NULL) == FXT_OK);
    while ((outcome->status = fxt_reader_next(reader, &record, &error)) == FXT_OK) {
        HOLD(record->offset + record->size == fxt_reader_offset(reader));
        HOLD(record->size > 0 && record->size % 8 == 0);
        HOLD(record->arg_count <= FXT_MAX_ARGS);
        delivered += record->size;
        count(&outcome->tally, record);
        HOLD(fxt_reader_bytes(reader).length == record->size);
        fuzz_append(&outcome->bytes, fxt_reader_bytes(reader).bytes, (size_t)record->size);
        digest_record(&outcome->records, record, form);
        if (writer)
            HOLD(fxt_writer_record(writer, record, NULL) == FXT_OK);
    }
    HOLD(outcome->status == FXT_END || outcome->status == FXT_FATAL);
    HOLD(error.status == (outcome->status == FXT_END ? FXT_OK : FXT_FATAL));
    HOLD(memchr(error.message, '\0', sizeof error.message) != NULL);
    HOLD(fxt_reader_next(reader, &record, NULL) == outcome->status);
    check_accounts(reader, delivered);
    outcome->damage = *fxt_reader_damage(reader);
    outcome->offset = fxt_reader_offset(reader);
    outcome->compression = fxt_input_compression(input);
    fxt_reader_close(reader);
    fxt_input_close(input);
}

static void check_same(const struct outcome *one, const struct outcome *other)
{
    HOLD(one->status == other->status);
    HOLD(one->offset == other->offset);
    HOLD(memcmp(&one->damage, &other->damage, sizeof one->damage) == 0);
    HOLD(one->records.used == other->records.used);
    HOLD(one->records.used == 0 ||
         memcmp(one->records.bytes, other->records.bytes, one->records.used) == 0);
}

static void check_pieces(const uint8_t *data, size_t size, const struct fxt_reader_options *options,
                         struct pieces pieces, const struct outcome *whole)
{
    struct outcome outcome = { .offset = 0 };
    struct fuzz_source source;

    read_all(fuzz_open(&source, data, size, pieces), options, DIGEST_WHOLE, NULL, &outcome);
    if (outcome.status == FXT_END)
        HOLD(outcome.offset == size);
    if (outcome.unseen == 0)
        HOLD(outcome.bytes.used == 0 || memcmp(outcome.bytes.bytes, data, outcome.bytes.used) == 0);
    HOLD(outcome.bytes.used + outcome.unseen == outcome.offset);
    check_same(whole, &outcome);
    outcome_release(&outcome);
}

/* Whether its records are delivered or counted, what a trace holds is the same.  */
static void check_tally(const uint8_t *data, size_t size, const struct fxt_reader_options *options,
                        struct pieces pieces, const struct outcome *whole)
{
    struct fxt_tally tally = { .has_time = false };
    const struct fxt_record *record;
    struct fxt_reader *reader;
    struct fuzz_source source;
    struct fxt_input *input = fuzz_open(&source, data, size, pieces);
    enum fxt_status status;

    HOLD(fxt_reader_open(input, options, &reader, NULL) == FXT_OK);
    while ((status = fxt_reader_next(reader, &record, NULL)) == FXT_OK) {
        uint64_t before = fxt_reader_offset(reader);

        count(&tally, record);
        HOLD((fxt_reader_tally(reader, &tally) > 0) == (fxt_reader_offset(reader) > before));
    }
    HOLD(status == whole->status && fxt_reader_offset(reader) == whole->offset);
    HOLD(memcmp(fxt_reader_damage(reader), &whole->damage, sizeof whole->damage) == 0);
    HOLD(memcmp(tally.records, whole->tally.records, sizeof tally.records) == 0);
    HOLD(tally.has_time == whole->tally.has_time);
    HOLD(tally.first_ns == whole->tally.first_ns && tally.last_ns == whole->tally.last_ns);
    fxt_reader_close(reader);
    fxt_input_close(input);
}

/* Every reader costs; the bytes choose which of the ways to read them is compared with the whole at
 * once.  */
static void check_ways(const uint8_t *data, size_t size, const struct fxt_reader_options *options)
{
    struct pieces pieces[] = { { .most = 0 },
                               { .least = 1, .most = 1 },
                               { .least = 1, .most = 40, .state = size },
                               { .least = 1, .most = 300, .state = size } };
    struct outcome whole = { .offset = 0 };
    struct fuzz_source source;
    uint32_t hash = 2166136261;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ data[i]) * 16777619;
    read_all(fuzz_open(&source, data, size, pieces[0]), options, DIGEST_WHOLE, NULL, &whole);
    check_pieces(data, size, options, pieces[1 + (hash >> 16) % 3], &whole);
    check_tally(data, size, options, pieces[(hash >> 20) % 4], &whole);
    outcome_release(&whole);
}

static void check_copy(const uint8_t *data, size_t size, const struct fxt_reader_options *options)
{
    const struct pieces whole = { .most = 0 };
    struct outcome first = { .offset = 0 };
    struct outcome second = { .offset = 0 };
    struct fuzz_source source;
    struct fxt_writer *writer;

    HOLD(fxt_writer_open(fuzz_write, &first.copy, &writer, NULL) == FXT_OK);
    read_all(fuzz_open(&source, data, size, whole), options, DIGEST_WRITTEN, writer, &first);
    HOLD(fxt_writer_bytes(writer) == first.copy.used);
    fxt_writer_close(writer);

    read_all(fuzz_open(&source, first.copy.bytes, first.copy.used, whole), options, DIGEST_WRITTEN,
             NULL, &second);
    HOLD(second.status == FXT_END);
    HOLD(first.records.used == second.records.used);
    HOLD(first.records.used == 0 ||
         memcmp(first.records.bytes, second.records.bytes, first.records.used) == 0);
    outcome_release(&first);
    outcome_release(&second);
}

/* fuzz_fxt_input looks at what is compressed.  */
static bool is_compressed(const uint8_t *data, size_t size)
{
    struct fuzz_source source;
    struct fxt_input *input = fuzz_open(&source, data, size, (struct pieces){ .most = 0 });
    enum fxt_compression compression;
    uint8_t byte;
    size_t length;

    (void)fxt_input_read(input, &byte, 1, &length, NULL);
    compression = fxt_input_compression(input);
    fxt_input_close(input);
    return compression != FXT_PLAIN;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct fxt_reader_options trusting = { .size = sizeof trusting, .trust_start = true };
    const struct fxt_reader_options bounded = { .size = sizeof bounded,
                                                .trust_start = true,
                                                .max_record_bytes = 32768,
                                                .max_table_bytes = 2000 };

    if (is_compressed(data, size))
        return 0;
    check_ways(data, size, &trusting);
    check_ways(data, size, &bounded);
    check_copy(data, size, &trusting);
    { /* an untrusted start may be refused, and is then no trace to account for */
        struct outcome outcome = { .offset = 0 };
        struct fuzz_source source;

        read_all(fuzz_open(&source, data, size, (struct pieces){ .most = 0 }), NULL, DIGEST_WHOLE,
                 NULL, &outcome);
        outcome_release(&outcome);
    }
    return 0;
}
