#include "sampler-capture/insn/packet_taker.h"

#include "base/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TAKE_SWITCHES 1024  /* a buffer is read, even if it is not full */
#define MAX_SWITCHES  65536 /* kept for a circular buffer; the oldest half is dropped */

static bool fail(struct packet_taker *taker, int cause)
{
    if (taker->failed == 0)
        taker->failed = cause ? cause : ENOMEM;
    return false;
}

static bool put(struct packet_taker *taker, struct taker_owner *owner, uint32_t cpu,
                const uint8_t *bytes, size_t size)
{
    const struct insn_packets packets = {
        .bytes = bytes, .size = size, .cpu = cpu, .is_cut = owner->is_cut
    };

    owner->is_cut = false;
    return insn_recorder_packets(taker->recorder, &owner->owner, &packets, taker->ticks) ||
           fail(taker, stream_errno(taker->recorder->stream));
}

/* ---- Owners ---- */

/* The number of an owner among those of a buffer; it is added if it is new.  INSN_NO_THREAD: none,
 * or no memory.  */
static uint64_t owner_number(struct packet_taker *taker, struct taker_buffer *buffer,
                             struct insn_owner owner)
{
    if (owner.thread == 0)
        return INSN_NO_THREAD;
    for (size_t i = buffer->owner_count; i > 0; i--)
        if (buffer->owners[i - 1].owner.thread == owner.thread)
            return i - 1;
    if (!base_make_room(&buffer->owners, &buffer->owner_capacity, buffer->owner_count + 1,
                        sizeof *buffer->owners)) {
        (void)fail(taker, ENOMEM);
        return INSN_NO_THREAD;
    }
    buffer->owners[buffer->owner_count] = (struct taker_owner){ .owner = owner };
    return buffer->owner_count++;
}

static void cut_owners(struct taker_buffer *buffer)
{
    for (size_t i = 0; i < buffer->owner_count; i++)
        buffer->owners[i].is_cut = true;
}

/* ---- The packets of a CPU ---- */

struct reading {
    struct packet_taker *taker;
    struct taker_buffer *buffer;
};

static enum insn_status take_part(void *context, uint64_t thread, uint64_t ticks,
                                  const uint8_t *bytes, size_t size)
{
    struct reading *reading = context;
    uint32_t cpu = (uint32_t)(reading->buffer - reading->taker->buffers);

    (void)ticks;
    return put(reading->taker, &reading->buffer->owners[thread], cpu, bytes, size) ? INSN_OK
                                                                                   : INSN_STOPPED;
}

static bool splitter_fine(struct packet_taker *taker, enum insn_status status)
{
    return status == INSN_OK || fail(taker, ENOMEM); /* a part that failed says why itself */
}

/* All switches that are known, then the packets up to now.  */
static bool split(struct packet_taker *taker, struct taker_buffer *buffer)
{
    bool fine = true;

    for (size_t i = 0; i < buffer->switch_count && fine; i++) {
        buffer->current = buffer->switches[i].owner;
        fine = splitter_fine(taker,
                             insn_splitter_switch(buffer->splitter, buffer->switches[i].ticks,
                                                  buffer->current, NULL));
    }
    buffer->switch_count = 0;
    return fine;
}

static bool note_switch(struct packet_taker *taker, struct taker_buffer *buffer, uint64_t ticks,
                        uint64_t owner)
{
    if (buffer->switch_count == MAX_SWITCHES) {
        buffer->switch_count /= 2;
        memmove(buffer->switches, buffer->switches + buffer->switch_count,
                buffer->switch_count * sizeof *buffer->switches);
    }
    if (!base_make_room(&buffer->switches, &buffer->switch_capacity, buffer->switch_count + 1,
                        sizeof *buffer->switches))
        return fail(taker, ENOMEM);
    buffer->switches[buffer->switch_count++] = (struct taker_switch){ .ticks = ticks,
                                                                      .owner = owner };
    return true;
}

/* ---- Reading ---- */

static bool take_bytes(void *context, uint32_t descriptor, bool is_cut, const uint8_t *bytes,
                       size_t size)
{
    struct packet_taker *taker = context;
    struct taker_buffer *buffer = &taker->buffers[descriptor];

    if (is_cut)
        cut_owners(buffer);
    if (taker->mode == INSN_MODE_CPU)
        return splitter_fine(taker, insn_splitter_feed(buffer->splitter, bytes, size, NULL));
    return buffer->owner_count == 0 || put(taker, buffer->owners, INSN_NO_CPU, bytes, size);
}

static bool forget_bytes(void *context, uint32_t descriptor, bool is_cut, const uint8_t *bytes,
                         size_t size)
{
    struct packet_taker *taker = context;

    (void)is_cut;
    (void)bytes;
    (void)size;
    cut_owners(&taker->buffers[descriptor]);
    return true;
}

static bool take(struct packet_taker *taker, uint32_t descriptor, controller_take_fn how)
{
    return controller_take(taker->controller, descriptor, how, taker) == INSN_ANSWER_OK ||
           fail(taker, ENOMEM);
}

bool taker_take(struct packet_taker *taker, uint32_t descriptor, uint64_t ticks)
{
    struct taker_buffer *buffer = &taker->buffers[descriptor];

    if (!take(taker, descriptor, take_bytes))
        return false;
    return taker->mode != INSN_MODE_CPU ||
           (split(taker, buffer) &&
            splitter_fine(taker, insn_splitter_advance(buffer->splitter, ticks, NULL, NULL)));
}

bool taker_settle(struct packet_taker *taker, uint32_t descriptor, uint64_t ticks)
{
    struct taker_buffer *buffer = &taker->buffers[descriptor];

    return taker_take(taker, descriptor, ticks) &&
           (taker->mode != INSN_MODE_CPU ||
            splitter_fine(
                taker, insn_splitter_switch(buffer->splitter, UINT64_MAX, buffer->current, NULL)));
}

bool taker_forget(struct packet_taker *taker, uint32_t descriptor)
{
    return take(taker, descriptor, forget_bytes);
}

/* ---- Threads ---- */

bool taker_assign(struct packet_taker *taker, uint32_t descriptor, struct insn_owner owner)
{
    struct taker_buffer *buffer = &taker->buffers[descriptor];

    buffer->owner_count = 0;
    (void)owner_number(taker, buffer, owner);
    return taker->failed == 0;
}

bool taker_switch(struct packet_taker *taker, uint32_t cpu, uint64_t ticks, struct insn_owner owner)
{
    struct taker_buffer *buffer = &taker->buffers[cpu];

    return note_switch(taker, buffer, ticks, owner_number(taker, buffer, owner)) &&
           (taker->is_circular || buffer->switch_count < TAKE_SWITCHES ||
            taker_take(taker, cpu, ticks));
}

bool taker_finish(struct packet_taker *taker)
{
    for (size_t i = 0; i < taker->count && taker->mode == INSN_MODE_CPU; i++)
        if (!splitter_fine(taker, insn_splitter_finish(taker->buffers[i].splitter, NULL)))
            return false;
    return taker->failed == 0;
}

/* ---- The taker ---- */

bool taker_init(struct packet_taker *taker, struct insn_controller *controller,
                struct insn_recorder *recorder, enum insn_mode mode, bool is_circular, size_t count)
{
    *taker = (struct packet_taker){ .controller = controller,
                                    .recorder = recorder,
                                    .mode = mode,
                                    .is_circular = is_circular,
                                    .buffers = calloc(count, sizeof *taker->buffers),
                                    .readings = calloc(count, sizeof *taker->readings),
                                    .count = count };
    if (!taker->buffers || !taker->readings)
        return false;
    for (size_t i = 0; i < count; i++) {
        taker->readings[i] = (struct reading){ .taker = taker, .buffer = &taker->buffers[i] };
        taker->buffers[i].current = INSN_NO_THREAD;
        if (mode == INSN_MODE_CPU &&
            insn_splitter_open(&recorder->config, take_part, &taker->readings[i],
                               &taker->buffers[i].splitter, NULL) != INSN_OK)
            return false;
    }
    return true;
}

void taker_release(struct packet_taker *taker)
{
    for (size_t i = 0; i < taker->count && taker->buffers; i++) {
        insn_splitter_close(taker->buffers[i].splitter);
        free(taker->buffers[i].owners);
        free(taker->buffers[i].switches);
    }
    free(taker->buffers);
    free(taker->readings);
    *taker = (struct packet_taker){ .buffers = NULL };
}
