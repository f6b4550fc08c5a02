/* packet_stream.c - packets as they come: cut into pieces at PSB packets, decoded by several
 * threads, and put together again.  */
#include "libinsn/insn_internal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"

/* A piece ends at the first PSB packet after so many bytes: processors write one every 4 KiB, or
 * less often.  So what contradicts the code in one stretch has no effect on others.  */
#define DEFAULT_PIECE_BYTES (2U << 10)
#define MIN_PIECE_BYTES     64U
#define MAX_PIECE_BYTES     (1U << 20) /* without a PSB packet in it; then it is cut anywhere */
#define PIECES_PER_THREAD   32
#define MOST_KEPT_STEPS     (1U << 13) /* of a piece, from one batch to the next */
#define FEW_KEPT_STEPS      (1U << 12) /* of streams that are many */
#define LOSS_SEEN           256U /* bytes before a PSB packet that are searched for an overflow */

struct worker {
    struct insn_stream *stream;
    struct pt_image *image; /* owned; NULL: not made yet */
    uint64_t version;       /* of the space, when it was made */
    struct insn_opcode_cache cache;
    struct insn_blocks blocks;
};

struct batch {
    struct insn_piece *pieces; /* owned; room for options.threads * PIECES_PER_THREAD */
    size_t count;
};

struct insn_stream {
    struct insn_stream_options options;
    struct insn_space *space; /* borrowed */
    insn_steps_fn take;
    void *context;
    struct insn_totals totals;

    uint8_t *bytes; /* owned; what was not decoded yet */
    size_t used, capacity;
    uint64_t offset; /* of bytes in the stream */
    bool synced;     /* they begin with a PSB packet */
    bool looks_on;   /* after a loss the processor's packets need those that follow */

    struct worker *workers; /* owned; options.threads, and one for the thread that delivers */
    /* With several threads, one batch is decoded while the one before is delivered.  */
    struct batch batches[2];
    struct batch *next, *decoded;
    _Atomic size_t next_piece;

    struct insn_piece last; /* decoded, but its end may have to be cut */
    bool has_last;
};

/* ---- Out ---- */

static void count_steps(struct insn_totals *totals, const struct insn_steps *steps)
{
    for (size_t i = 0; i < steps->count; i++) {
        const struct insn_step *step = &steps->items[i];

        switch (step->kind) {
        case INSN_STEP_BLOCK:
            totals->blocks++;
            totals->instructions += step->count;
            break;
        case INSN_STEP_OVERFLOW:
            totals->overflows++;
            break;
        case INSN_STEP_GAP:
            totals->gaps[step->reason]++;
            totals->gap_bytes[step->reason] += step->last_ip;
            break;
        default:
            break;
        }
    }
}

static enum insn_status deliver(struct insn_stream *stream, const struct insn_steps *steps,
                                struct insn_error *error)
{
    if (steps->count == 0)
        return INSN_OK;
    count_steps(&stream->totals, steps);
    if (stream->take(stream->context, steps->items, steps->count) == INSN_OK)
        return INSN_OK;
    return insn_fail(error, INSN_STOPPED, "the receiver stopped");
}

static enum insn_status deliver_one(struct insn_stream *stream, struct insn_step *step,
                                    struct insn_error *error)
{
    const struct insn_steps steps = { .items = step, .count = 1 };

    return deliver(stream, &steps, error);
}

static enum insn_status deliver_gap(struct insn_stream *stream, enum insn_gap_reason reason,
                                    uint64_t offset, uint64_t size, struct insn_error *error)
{
    struct insn_step step = {
        .kind = INSN_STEP_GAP, .reason = (uint8_t)reason, .ip = offset, .last_ip = size
    };

    return deliver_one(stream, &step, error);
}

/* The next batch uses the memory again, unless it is much.  */
static void keep_room(const struct insn_stream *stream, struct insn_steps *steps)
{
    steps->count = 0;
    if (steps->capacity <= (stream->options.threads > 1 ? MOST_KEPT_STEPS : FEW_KEPT_STEPS))
        return;
    free(steps->items);
    *steps = (struct insn_steps){ .items = NULL };
}

/* The last piece is whole: nothing of it has to be cut any more.  */
static enum insn_status deliver_last(struct insn_stream *stream, struct insn_error *error)
{
    enum insn_status status = INSN_OK;

    if (stream->has_last)
        status = deliver(stream, &stream->last.steps, error);
    keep_room(stream, &stream->last.steps);
    stream->has_last = false;
    return status;
}

/* Whether the piece before leads to where this one begins.  It is cut there.  */
static bool leads_to(struct insn_stream *stream, const struct insn_piece *piece)
{
    const struct worker *own = &stream->workers[stream->options.threads];

    return stream->has_last && stream->last.alive && piece->continues &&
           insn_steps_cut(&stream->last.steps, piece->first_ip, &stream->options.config,
                          own->image);
}

/* How the piece goes on, or begins.  */
static enum insn_status join(struct insn_stream *stream, const struct insn_piece *piece,
                             struct insn_error *error)
{
    bool joined = leads_to(stream, piece), before = stream->has_last;
    bool ended_in_gap = before && stream->last.steps.count > 0 &&
                        stream->last.steps.items[stream->last.steps.count - 1].kind ==
                            INSN_STEP_GAP;
    bool was_alive = before && stream->last.alive;
    enum insn_status status = deliver_last(stream, error);
    struct insn_step enabled = { .kind = INSN_STEP_ENABLED, .ip = piece->first_ip };

    if (status != INSN_OK || joined || (!was_alive && !piece->continues))
        return status;
    if (before && !ended_in_gap)
        status = deliver_gap(stream, INSN_GAP_DISCONTINUED, piece->offset, 0, error);
    if (status != INSN_OK || !piece->continues)
        return status;
    enabled.has_ticks = piece->has_first_ticks;
    enabled.ticks = piece->first_ticks;
    return deliver_one(stream, &enabled, error);
}

/* ---- Decoding a batch ---- */

/* The worker's image of the space as it is now.  */
static bool prepare(struct worker *worker)
{
    struct insn_space *space = worker->stream->space;

    if (worker->image && worker->version == insn_space_version(space))
        return true;
    insn_blocks_release(&worker->blocks);
    pt_image_free(worker->image);
    memset(&worker->cache, 0, sizeof worker->cache);
    worker->version = insn_space_version(space);
    worker->image = insn_space_image(space, (unsigned)(worker - worker->stream->workers));
    return worker->image != NULL;
}

static void *work(void *context)
{
    struct worker *worker = context;
    struct insn_stream *stream = worker->stream;
    size_t i;

    while ((i = atomic_fetch_add(&stream->next_piece, 1)) < stream->next->count)
        insn_piece_decode(&stream->next->pieces[i], &stream->options.config, stream->space,
                          worker->image, &worker->cache,
                          stream->options.is_plain ? NULL : &worker->blocks);
    return NULL;
}

/* Threads for the next batch, as many as there are pieces for.  Returns how many began.  */
static size_t start_threads(struct insn_stream *stream, pthread_t *threads)
{
    size_t started = 0, wanted = stream->options.threads;

    if (wanted > stream->next->count)
        wanted = stream->next->count;
    while (stream->options.threads > 1 && started < wanted) {
        struct worker *worker = &stream->workers[started];

        if (!prepare(worker) || pthread_create(&threads[started], NULL, work, worker) != 0)
            break;
        started++;
    }
    return started;
}

static enum insn_status no_memory(struct insn_error *error)
{
    return insn_fail(error, INSN_NO_MEMORY, "out of memory");
}

static enum insn_status take_piece(struct insn_stream *stream, struct insn_piece *piece,
                                   struct insn_error *error)
{
    enum insn_status status;
    struct insn_steps kept;

    if (piece->failed)
        return no_memory(error);
    stream->totals.decoded_bytes += piece->decoded;
    status = join(stream, piece, error);
    kept = stream->last.steps;
    stream->last = *piece;
    stream->has_last = true;
    piece->steps = kept;
    return status;
}

/* Deliver what was decoded.  */
static enum insn_status drain(struct insn_stream *stream, struct insn_error *error)
{
    struct batch *batch = stream->decoded;
    enum insn_status status = INSN_OK;

    if (batch->count > 0 && !prepare(&stream->workers[stream->options.threads]))
        status = no_memory(error);
    for (size_t i = 0; i < batch->count; i++) {
        if (status == INSN_OK)
            status = take_piece(stream, &batch->pieces[i], error);
        keep_room(stream, &batch->pieces[i].steps);
    }
    batch->count = 0;
    return status;
}

/* Decode the next batch, and deliver the one before.  Where no threads can be made, this one does
 * it all.  */
static enum insn_status run_batch(struct insn_stream *stream, struct insn_error *error)
{
    pthread_t threads[MAX_THREADS];
    enum insn_status status;
    struct batch *done = stream->next;
    size_t started;

    if (done->count == 0)
        return INSN_OK;
    atomic_store(&stream->next_piece, 0);
    started = start_threads(stream, threads);
    status = drain(stream, error);
    if (started == 0 && status == INSN_OK) {
        if (!prepare(&stream->workers[0]))
            status = no_memory(error);
        else
            (void)work(&stream->workers[0]);
    }
    while (started > 0)
        (void)pthread_join(threads[--started], NULL);
    stream->next = stream->decoded;
    stream->decoded = done;
    if (status == INSN_OK && stream->options.threads == 1) /* streams that are many keep little */
        status = drain(stream, error);
    return status;
}

/* ---- Cutting ---- */

static size_t batch_size(const struct insn_stream *stream)
{
    return (size_t)stream->options.threads * PIECES_PER_THREAD;
}

/* Whether a batch has as many pieces as fit, or as many bytes as usual pieces have: the steps of
 * all are in memory.  */
static bool batch_is_full(const struct insn_stream *stream)
{
    size_t bytes = 0;

    for (size_t i = 0; i < stream->next->count; i++)
        bytes += stream->next->pieces[i].size;
    return stream->next->count == batch_size(stream) ||
           bytes >= batch_size(stream) * stream->options.piece_bytes;
}

static void add_piece(struct insn_stream *stream, size_t from, size_t to)
{
    struct insn_piece *piece = &stream->next->pieces[stream->next->count++];

    *piece = (struct insn_piece){ .steps = piece->steps,
                                  .bytes = stream->bytes + from,
                                  .size = to - from,
                                  .followed = to < stream->used,
                                  .offset = stream->offset + from };
}

/* Bytes before the first PSB packet mean nothing.  Those that might begin one are kept, unless no
 * more will come.  */
static enum insn_status find_start(struct insn_stream *stream, bool all, struct insn_error *error)
{
    enum insn_status status;
    size_t at, lost;

    if (stream->synced || stream->used == 0)
        return INSN_OK;
    at = insn_find_psb(stream->bytes, stream->used, 0);
    stream->synced = at < stream->used;
    lost = at;
    if (!stream->synced && !all)
        lost = at < PSB_SEEN ? 0 : at - (PSB_SEEN - 1);
    if (lost == 0)
        return INSN_OK;
    memmove(stream->bytes, stream->bytes + lost, stream->used - lost);
    stream->used -= lost;
    stream->offset += lost;
    status = drain(stream, error);
    return status != INSN_OK
               ? status
               : deliver_gap(stream, INSN_GAP_NO_SYNC, stream->offset - lost, lost, error);
}

/* Whether packets were lost just before the PSB packet at to.  */
static bool follows_loss(const struct insn_stream *stream, size_t from, size_t to)
{
    static const uint8_t overflow[] = { 0x02, 0xf3 };
    size_t size = to - from < LOSS_SEEN ? to - from : LOSS_SEEN;

    return memmem(stream->bytes + to - size, size, overflow, sizeof overflow) != NULL;
}

/* The first place at or after at where a piece that begins at from can end; stream->used: none.  */
static size_t find_cut(const struct insn_stream *stream, size_t from, size_t at)
{
    do {
        at = insn_find_psb(stream->bytes, stream->used, at);
        if (at == stream->used || !stream->looks_on || at - from > MAX_PIECE_BYTES ||
            !follows_loss(stream, from, at))
            return at;
        at += PSB_SIZE;
    } while (true);
}

/* Cut what there is into pieces and decode them.  What follows the last PSB packet waits for more,
 * unless all is to be decoded.  */
static enum insn_status decode(struct insn_stream *stream, bool all, struct insn_error *error)
{
    enum insn_status status = find_start(stream, all, error);
    size_t from = 0;

    while (status == INSN_OK && stream->synced && from < stream->used) {
        size_t to = find_cut(stream, from, from + stream->options.piece_bytes);

        if (to == stream->used) { /* to the last PSB packet of a short rest */
            size_t next = from;

            while ((next = find_cut(stream, from, next + PSB_SIZE)) < stream->used)
                to = next;
        }
        if (to == stream->used && !all && stream->used - from <= MAX_PIECE_BYTES)
            break;
        add_piece(stream, from, to);
        if (to == stream->used)
            stream->synced = false;
        from = to;
        if (batch_is_full(stream))
            status = run_batch(stream, error);
    }
    if (status == INSN_OK)
        status = run_batch(stream, error);
    stream->used -= from;
    stream->offset += from;
    if (from > 0)
        memmove(stream->bytes, stream->bytes + from, stream->used);
    return status;
}

/* ---- The stream ---- */

static unsigned processors(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);

    return count < 1 ? 1 : count > MAX_THREADS ? MAX_THREADS : (unsigned)count;
}

static void apply_defaults(struct insn_stream_options *options)
{
    if (options->threads == 0)
        options->threads = processors();
    if (options->threads > MAX_THREADS)
        options->threads = MAX_THREADS;
    if (options->piece_bytes == 0)
        options->piece_bytes = DEFAULT_PIECE_BYTES;
    if (options->piece_bytes < MIN_PIECE_BYTES)
        options->piece_bytes = MIN_PIECE_BYTES;
    if (options->piece_bytes > MAX_PIECE_BYTES)
        options->piece_bytes = MAX_PIECE_BYTES;
}

enum insn_status insn_stream_open(const struct insn_stream_options *options,
                                  struct insn_space *space, insn_steps_fn take, void *context,
                                  struct insn_stream **out, struct insn_error *error)
{
    struct insn_stream *stream;

    if (options && options->size < sizeof *options)
        return insn_fail(error, INSN_INVALID, "options of another version");
    stream = calloc(1, sizeof *stream);
    if (!stream)
        return no_memory(error);
    if (options)
        stream->options = *options;
    apply_defaults(&stream->options);
    stream->looks_on = insn_config_looks_on(&stream->options.config);
    stream->space = space;
    stream->take = take;
    stream->context = context;
    stream->workers = calloc(stream->options.threads + 1, sizeof *stream->workers);
    stream->next = &stream->batches[0];
    stream->decoded = &stream->batches[1];
    for (int i = 0; i < 2; i++)
        stream->batches[i].pieces = calloc(batch_size(stream), sizeof(struct insn_piece));
    if (!stream->workers || !stream->batches[0].pieces || !stream->batches[1].pieces) {
        insn_stream_close(stream);
        return no_memory(error);
    }
    for (unsigned i = 0; i <= stream->options.threads; i++)
        stream->workers[i].stream = stream;
    *out = stream;
    return INSN_OK;
}

static bool append(struct insn_stream *stream, const uint8_t *bytes, size_t size)
{
    if (!base_make_room(&stream->bytes, &stream->capacity, stream->used + size, 1))
        return false;
    memcpy(stream->bytes + stream->used, bytes, size);
    stream->used += size;
    stream->totals.bytes += size;
    return true;
}

enum insn_status insn_stream_feed(struct insn_stream *stream, const void *bytes, size_t size,
                                  struct insn_error *error)
{
    const uint8_t *next = bytes;
    /* A batch for all threads.  */
    size_t batch = (size_t)stream->options.piece_bytes * stream->options.threads *
                   PIECES_PER_THREAD;
    enum insn_status status = INSN_OK;

    while (status == INSN_OK && size > 0) {
        size_t part = size < batch ? size : batch;

        if (!append(stream, next, part))
            return no_memory(error);
        next += part;
        size -= part;
        if (stream->used >= batch)
            status = decode(stream, false, error);
    }
    return status;
}

enum insn_status insn_stream_flush(struct insn_stream *stream, struct insn_error *error)
{
    enum insn_status status = decode(stream, false, error);

    return status == INSN_OK ? drain(stream, error) : status;
}

enum insn_status insn_stream_finish(struct insn_stream *stream, struct insn_error *error)
{
    enum insn_status status = decode(stream, true, error);

    if (status == INSN_OK)
        status = drain(stream, error);
    return status == INSN_OK ? deliver_last(stream, error) : status;
}

enum insn_status insn_stream_break(struct insn_stream *stream, struct insn_error *error)
{
    enum insn_status status;

    if (stream->totals.bytes == 0)
        return INSN_OK;
    status = insn_stream_finish(stream, error);
    return status == INSN_OK
               ? deliver_gap(stream, INSN_GAP_DISCONTINUED, stream->totals.bytes, 0, error)
               : status;
}

const struct insn_totals *insn_stream_totals(const struct insn_stream *stream)
{
    return &stream->totals;
}

static void free_batch(struct batch *batch, size_t room)
{
    for (size_t i = 0; batch->pieces && i < room; i++)
        free(batch->pieces[i].steps.items);
    free(batch->pieces);
}

void insn_stream_close(struct insn_stream *stream)
{
    if (!stream)
        return;
    for (unsigned i = 0; stream->workers && i <= stream->options.threads; i++) {
        insn_blocks_release(&stream->workers[i].blocks);
        pt_image_free(stream->workers[i].image);
    }
    for (int i = 0; i < 2; i++)
        free_batch(&stream->batches[i], batch_size(stream));
    free(stream->workers);
    free(stream->last.steps.items);
    free(stream->bytes);
    free(stream);
}
