/* fxtcat convert --perfetto: the trace, followed by its CPU samples as packets of Perfetto.
 *
 * docs/formats/fxt.md section 2.7: blobs of type 3 hold pieces of one protobuf message, which
 * Perfetto reads after all records; other readers of FXT skip them.  The packets are those of
 * fxt2pprof --format perfetto, with the times that Perfetto gives the records around them: ticks of
 * the provider's clock as nanoseconds, from tick 0 on.
 *
 * Memory: that of a profile; samples wait in a temporary file.  */
#include <stdlib.h>
#include <string.h>

#include <fxt/profile_formats.h>
#include "cmd/fxtcat/convert_perfetto.h"

#define MAGIC_NUMBER 0x16547846u
/* Providers of Fuchsia's trace manager have small ids; its own tool takes this one for packets.  */
#define FIRST_PROVIDER 0xffff0001u
#define CHUNK_BYTES    32000u /* a record has 32,760 bytes at most */
#define PACKET_SAMPLE  135    /* field of TracePacket: stack_sample */

struct perfetto {
    struct job *job;
    struct fxt_writer *writer;
    struct profile *profile;
    struct profile_ingest *ingest;
    bool has_records;
    bool failed;               /* a message was printed */
    struct base_map providers; /* ids in the trace */
    struct fxt_packets others; /* packets that the trace has already */
    char chunk[CHUNK_BYTES];
    size_t used;
    uint64_t bytes; /* of packets */
};

static void fail(struct perfetto *perfetto, const struct profile_error *error)
{
    if (!perfetto->failed)
        cli_error("%s: %s", perfetto->job->traces.items->label, error->message);
    perfetto->failed = true;
    job_fail(perfetto->job, CLI_ENVIRONMENT);
}

/* ---- The trace ---- */

/* Perfetto has one time 0 for all providers, their tick 0.  */
static struct fxt_record restate(const struct fxt_record *record)
{
    struct fxt_record restated = *record;
    const struct fxt_provider *provider = record->provider;

    if (record->has_time && provider && provider->base_ticks &&
        !fxt_ticks_to_ns(record->ticks, provider->ticks_per_second, &restated.ts_ns))
        restated.ts_ns = INT64_MAX;
    return restated;
}

static void put_magic(struct perfetto *perfetto)
{
    struct fxt_record record = { .kind = FXT_RECORD_MAGIC };

    record.value.magic.number = MAGIC_NUMBER;
    job_put(perfetto->job, perfetto->writer, &record);
}

static void visit(void *context, const struct fxt_record *record)
{
    struct perfetto *perfetto = context;
    struct fxt_record restated = restate(record);
    struct profile_error error;

    if (perfetto->failed)
        return;
    if (!perfetto->has_records && record->kind != FXT_RECORD_MAGIC)
        put_magic(perfetto); /* by which Perfetto knows the format */
    perfetto->has_records = true;
    job_put_as_read(perfetto->job, perfetto->writer, record);
    if (record->kind == FXT_RECORD_BLOB && record->value.blob.type == FXT_BLOB_PERFETTO)
        fxt_packets_add(&perfetto->others, record->value.blob.payload);
    if (record->provider && !base_map_find(&perfetto->providers, record->provider->id))
        cli_map_set(&perfetto->providers, record->provider->id, 1);
    if (profile_ingest_record(perfetto->ingest, &restated, &error) != PROFILE_OK)
        fail(perfetto, &error);
}

static bool read_trace(struct perfetto *perfetto)
{
    struct profile_ingest_options options = { .size = sizeof options,
                                              .arm64 = perfetto->job->reading.arm64 };
    struct profile_sink sink;
    struct profile_error error;

    profile_sink_of(perfetto->profile, &sink);
    if (profile_ingest_open(&sink, profile_stacks_of(perfetto->profile), &options,
                            &perfetto->ingest, &error) != PROFILE_OK) {
        fail(perfetto, &error);
        return false;
    }
    (void)job_read(perfetto->job, perfetto->job->traces.items, NULL, visit, perfetto);
    if (!perfetto->failed && profile_ingest_finish(perfetto->ingest, &error) != PROFILE_OK)
        fail(perfetto, &error);
    return !perfetto->failed && perfetto->job->records > 0;
}

/* ---- The packets ---- */

/* A provider of their own: no table of the trace changes.  */
static void put_provider(struct perfetto *perfetto)
{
    struct fxt_record record = { .kind = FXT_RECORD_PROVIDER_INFO, .name = fxt_inline("fxtcat") };
    uint32_t id = FIRST_PROVIDER;

    while (base_map_find(&perfetto->providers, id))
        id++;
    record.value.provider.id = id;
    job_put(perfetto->job, perfetto->writer, &record);
    record.kind = FXT_RECORD_PROVIDER_SECTION;
    record.name = (struct fxt_string){ .length = 0 };
    job_put(perfetto->job, perfetto->writer, &record);
}

static void put_chunk(struct perfetto *perfetto)
{
    struct fxt_record record = { .kind = FXT_RECORD_BLOB, .name = fxt_inline("perfetto") };

    if (perfetto->used == 0)
        return;
    if (perfetto->bytes == 0)
        put_provider(perfetto);
    record.value.blob.type = FXT_BLOB_PERFETTO;
    record.value.blob.payload = (struct fxt_bytes){ (const uint8_t *)perfetto->chunk,
                                                    perfetto->used };
    job_put(perfetto->job, perfetto->writer, &record);
    perfetto->bytes += perfetto->used;
    perfetto->used = 0;
}

/* Packets may continue in the next blob.  */
static int take_bytes(void *context, const void *bytes, size_t size)
{
    struct perfetto *perfetto = context;
    const char *next = bytes;

    while (size > 0) {
        size_t room = CHUNK_BYTES - perfetto->used, part = size < room ? size : room;

        memcpy(perfetto->chunk + perfetto->used, next, part);
        perfetto->used += part;
        next += part;
        size -= part;
        if (perfetto->used == CHUNK_BYTES)
            put_chunk(perfetto);
    }
    return perfetto->job->output.failed;
}

static void write_packets(struct perfetto *perfetto, struct cli_symbols *symbols)
{
    struct sym_session *session;
    struct profile_error error;
    enum profile_status status = PROFILE_OK;

    if (!symbols->no_symbolize && cli_symbols_open(symbols, &session) != CLI_OK) {
        job_fail(perfetto->job, CLI_ENVIRONMENT);
        return;
    }
    if (!symbols->no_symbolize)
        status = profile_symbolize(perfetto->profile, session, &error);
    if (status == PROFILE_OK)
        status = profile_write_format(perfetto->profile, PROFILE_CPU, 0,
                                      profile_format_named("perfetto"), NULL, take_bytes, perfetto,
                                      &error);
    if (status == PROFILE_OK)
        put_chunk(perfetto);
    else if (!perfetto->job->output.failed) /* that is reported at the end */
        fail(perfetto, &error);
}

static void finish(struct perfetto *perfetto, struct cli_symbols *symbols)
{
    const char *label = perfetto->job->traces.items->label;
    uint64_t samples = profile_sample_count(perfetto->profile, PROFILE_CPU);

    if (perfetto->others.kinds[PACKET_SAMPLE] > 0) {
        cli_error("%s: has %s for Perfetto already", label,
                  cli_counted(perfetto->others.kinds[PACKET_SAMPLE], "sample", "samples"));
        job_fail(perfetto->job, CLI_USAGE);
        return;
    }
    if (perfetto->others.damaged) {
        cli_error("%s: its blobs for Perfetto are damaged: Perfetto could not read the records "
                  "after them",
                  label);
        job_fail(perfetto->job, CLI_DAMAGED);
        return;
    }
    if (samples == 0)
        cli_warning("%s: no CPU samples: nothing was added for Perfetto", label);
    else
        write_packets(perfetto, symbols);
    if (samples > 0 && perfetto->job->output.failed == 0)
        cli_note("%s: %s for Perfetto in %s after the trace", label,
                 cli_counted(samples, "sample", "samples"),
                 cli_counted(perfetto->bytes, "byte", "bytes"));
}

static bool open_all(struct perfetto *perfetto)
{
    struct profile_error error;
    struct fxt_error fxt_error;

    if (profile_open(&perfetto->profile, &error) == PROFILE_OK &&
        profile_keep_times(perfetto->profile, NULL, &error) == PROFILE_OK) {
        if (fxt_writer_open(cli_output_write, &perfetto->job->output, &perfetto->writer,
                            &fxt_error) == FXT_OK)
            return true;
        (void)snprintf(error.message, sizeof error.message, "%s", fxt_error.message);
    }
    fail(perfetto, &error);
    return false;
}

void perfetto_convert(struct job *job, struct cli_symbols *symbols)
{
    struct perfetto *perfetto = cli_allocate(1, sizeof *perfetto);

    perfetto->job = job;
    if (open_all(perfetto) && read_trace(perfetto))
        finish(perfetto, symbols);
    profile_ingest_close(perfetto->ingest);
    profile_close(perfetto->profile);
    fxt_writer_close(perfetto->writer);
    base_map_release(&perfetto->providers);
    free(perfetto);
}
