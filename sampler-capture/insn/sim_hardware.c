#include "sampler-capture/insn/sim_hardware.h"

#include <stdlib.h>
#include <string.h>

#define PSB_BYTES 2048U /* between PSB packets, with INSN_CTL_PSB_FREQ 0 */

struct sim_buffer {
    struct sim_hardware *sim;
    uint32_t descriptor;
    uint8_t *bytes; /* owned; NULL: not allocated */
    uint64_t size, head, tail;
    bool is_circular;
    bool is_stopped;              /* it was full: packets are dropped */
    struct insn_encoder *encoder; /* owned */
};

/* ---- Packets ---- */

static void copy_in(struct sim_buffer *buffer, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        size_t at = (size_t)(buffer->head % buffer->size), part = (size_t)buffer->size - at;

        if (part > size)
            part = size;
        memcpy(buffer->bytes + at, bytes, part);
        buffer->head += part;
        bytes += part;
        size -= part;
    }
}

static int take_packets(void *context, const uint8_t *bytes, size_t size)
{
    struct sim_buffer *buffer = context;
    struct sim_hardware *sim = buffer->sim;

    if (buffer->is_circular) {
        copy_in(buffer, bytes, size);
        return 0;
    }
    while (size > 0 && !buffer->is_stopped) {
        uint64_t room = buffer->size - (buffer->head - buffer->tail);
        size_t part = room < size ? (size_t)room : size;

        copy_in(buffer, bytes, part);
        bytes += part;
        size -= part;
        if (buffer->head - buffer->tail < buffer->size)
            break;
        if (sim->full)
            sim->full(sim->full_context, buffer->descriptor);
        buffer->is_stopped = buffer->head - buffer->tail == buffer->size;
    }
    return 0;
}

/* ---- The interface ---- */

static enum insn_answer sim_allocate(void *context, uint32_t descriptor,
                                     const struct insn_buffer_config *config)
{
    struct sim_hardware *sim = context;
    struct insn_encoder_options options = {
        .size = sizeof options,
        .timing = config->ctl & INSN_CTL_CYC   ? INSN_TIMING_CYC
                  : config->ctl & INSN_CTL_MTC ? INSN_TIMING_MTC
                                               : INSN_TIMING_TSC,
        .no_return_compression = config->ctl & INSN_CTL_NO_RETC,
        .psb_bytes = PSB_BYTES << (config->ctl >> INSN_CTL_PSB_FREQ_SHIFT & 0xf),
    };
    struct sim_buffer *buffer = &sim->buffers[descriptor];

    *buffer = (struct sim_buffer){ .sim = sim,
                                   .descriptor = descriptor,
                                   .size = (uint64_t)config->num_chunks * INSN_PAGE
                                           << config->chunk_order,
                                   .is_circular = config->is_circular };
    buffer->bytes = calloc(1, (size_t)buffer->size);
    if (buffer->bytes &&
        insn_encoder_open(&options, take_packets, buffer, &buffer->encoder, NULL) == INSN_OK)
        return INSN_ANSWER_OK;
    free(buffer->bytes);
    buffer->bytes = NULL;
    return INSN_ANSWER_NO_MEMORY;
}

static void sim_release(void *context, uint32_t descriptor)
{
    struct sim_hardware *sim = context;
    struct sim_buffer *buffer = &sim->buffers[descriptor];

    insn_encoder_close(buffer->encoder);
    free(buffer->bytes);
    *buffer = (struct sim_buffer){ .bytes = NULL };
}

static enum insn_answer sim_assign(void *context, uint32_t descriptor, pid_t tid)
{
    const struct sim_hardware *sim = context;

    if (tid == 0 && sim->buffers[descriptor].encoder)
        insn_encoder_flush(sim->buffers[descriptor].encoder);
    return INSN_ANSWER_OK;
}

static enum insn_answer sim_start(void *context)
{
    struct sim_hardware *sim = context;

    sim->is_started = true;
    for (size_t i = 0; i < INSN_SIM_MAX_BUFFERS; i++)
        sim->buffers[i].is_stopped = false;
    return INSN_ANSWER_OK;
}

static enum insn_answer sim_stop(void *context)
{
    struct sim_hardware *sim = context;

    for (size_t i = 0; i < INSN_SIM_MAX_BUFFERS; i++)
        if (sim->buffers[i].encoder)
            insn_encoder_flush(sim->buffers[i].encoder);
    sim->is_started = false;
    return INSN_ANSWER_OK;
}

static struct insn_view sim_view(void *context, uint32_t descriptor)
{
    const struct sim_hardware *sim = context;
    const struct sim_buffer *buffer = &sim->buffers[descriptor];

    return (struct insn_view){ .bytes = buffer->bytes, .size = buffer->size, .head = buffer->head };
}

static void sim_consume(void *context, uint32_t descriptor, uint64_t tail)
{
    const struct sim_hardware *sim = context;

    sim->buffers[descriptor].tail = tail;
}

bool sim_hardware_init(struct sim_hardware *sim)
{
    *sim = (struct sim_hardware){
        .hardware = { .context = sim,
                      .abilities = { .has_pt = true,
                                     .has_topa = true,
                                     .has_threads = true,
                                     .cpus = 1,
                                     .ctl = INSN_CTL_USER | INSN_CTL_TSC | INSN_CTL_BRANCH |
                                            INSN_CTL_MTC | INSN_CTL_MTC_FREQ | INSN_CTL_CYC |
                                            INSN_CTL_NO_RETC | INSN_CTL_PSB_FREQ,
                                     .mtc_periods = 1U << INSN_SIM_MTC_FREQ,
                                     .cyc_thresholds = 1U << 0,
                                     .psb_periods = 0x3f },
                      .allocate = sim_allocate,
                      .release = sim_release,
                      .assign = sim_assign,
                      .start = sim_start,
                      .stop = sim_stop,
                      .view = sim_view,
                      .consume = sim_consume },
        .buffers = calloc(INSN_SIM_MAX_BUFFERS, sizeof *sim->buffers),
    };
    return sim->buffers != NULL;
}

void sim_hardware_release(struct sim_hardware *sim)
{
    free(sim->buffers);
    sim->buffers = NULL;
}

struct insn_encoder *sim_hardware_encoder(const struct sim_hardware *sim, uint32_t descriptor)
{
    return sim->is_started ? sim->buffers[descriptor].encoder : NULL;
}
