#include "sampler-capture/insn/controller.h"

#include <fxt/insn.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct buffer {
    bool is_allocated;
    struct insn_buffer_config config;
    pid_t tid;     /* it is assigned to; 0: none */
    uint64_t tail; /* bytes before it were taken */
};

struct insn_controller {
    struct insn_hardware *hardware; /* borrowed */
    bool is_initialized;
    bool is_active;
    struct insn_allocation allocation;
    struct buffer *buffers; /* owned; allocation.num_traces */
};

const struct insn_answer_entry *insn_answer_entry(enum insn_answer answer)
{
    static const struct insn_answer_entry table[INSN_ANSWERS] = {
        [INSN_ANSWER_OK] = { "ZX_OK", 0, 0 },
        [INSN_ANSWER_NOT_SUPPORTED] = { "ZX_ERR_NOT_SUPPORTED", -2, EOPNOTSUPP },
        [INSN_ANSWER_NO_RESOURCES] = { "ZX_ERR_NO_RESOURCES", -3, ENOSPC },
        [INSN_ANSWER_NO_MEMORY] = { "ZX_ERR_NO_MEMORY", -4, ENOMEM },
        [INSN_ANSWER_INVALID_ARGS] = { "ZX_ERR_INVALID_ARGS", -10, EINVAL },
        [INSN_ANSWER_BAD_STATE] = { "ZX_ERR_BAD_STATE", -20, EBUSY },
        [INSN_ANSWER_ACCESS_DENIED] = { "ZX_ERR_ACCESS_DENIED", -30, EACCES },
        [INSN_ANSWER_ALREADY_BOUND] = { "ZX_ERR_ALREADY_BOUND", -42, EBUSY },
        [INSN_ANSWER_IO] = { "ZX_ERR_IO", -40, EIO },
    };

    return &table[answer];
}

/* ---- Open and closed ---- */

enum insn_answer controller_open(struct insn_hardware *hardware, struct insn_controller **out)
{
    struct insn_controller *controller;

    if (hardware->is_bound)
        return INSN_ANSWER_ALREADY_BOUND;
    controller = calloc(1, sizeof *controller);
    if (!controller)
        return INSN_ANSWER_NO_MEMORY;
    controller->hardware = hardware;
    hardware->is_bound = true;
    *out = controller;
    return INSN_ANSWER_OK;
}

void controller_close(struct insn_controller *controller)
{
    if (!controller)
        return;
    (void)controller_stop(controller);
    (void)controller_terminate(controller);
    controller->hardware->is_bound = false;
    free(controller);
}

enum insn_answer controller_initialize(struct insn_controller *controller, unsigned mode,
                                       uint32_t num_traces)
{
    const struct insn_abilities *abilities = &controller->hardware->abilities;

    if (!abilities->has_pt || !abilities->has_topa)
        return INSN_ANSWER_NOT_SUPPORTED;
    if (controller->is_initialized)
        return INSN_ANSWER_BAD_STATE;
    if (mode == INSN_MODE_THREAD && !abilities->has_threads)
        return INSN_ANSWER_NOT_SUPPORTED;
    if (mode > INSN_MODE_THREAD || num_traces == 0 || num_traces > INSN_MAX_TRACES ||
        (mode == INSN_MODE_CPU && num_traces != abilities->cpus))
        return INSN_ANSWER_INVALID_ARGS;
    controller->buffers = calloc(num_traces, sizeof *controller->buffers);
    if (!controller->buffers)
        return INSN_ANSWER_NO_MEMORY;
    controller->allocation = (struct insn_allocation){ .mode = (enum insn_mode)mode,
                                                       .num_traces = (uint16_t)num_traces };
    controller->is_initialized = true;
    return INSN_ANSWER_OK;
}

enum insn_answer controller_terminate(struct insn_controller *controller)
{
    const struct insn_hardware *hardware = controller->hardware;

    if (!controller->is_initialized || controller->is_active)
        return INSN_ANSWER_BAD_STATE;
    for (uint32_t i = 0; i < controller->allocation.num_traces; i++)
        if (controller->buffers[i].is_allocated)
            hardware->release(hardware->context, i);
    free(controller->buffers);
    controller->buffers = NULL;
    controller->is_initialized = false;
    return INSN_ANSWER_OK;
}

enum insn_answer controller_get_allocation(const struct insn_controller *controller,
                                           struct insn_allocation *out)
{
    if (!controller->is_initialized)
        return INSN_ANSWER_BAD_STATE;
    *out = controller->allocation;
    return INSN_ANSWER_OK;
}

/* ---- Buffers ---- */

/* The CPUs are traced: their buffers stay as they are.  */
static bool is_fixed(const struct insn_controller *controller)
{
    return controller->is_active && controller->allocation.mode == INSN_MODE_CPU;
}

/* NULL: there is none, and *answer says why.  */
static struct buffer *buffer_of(const struct insn_controller *controller, uint32_t descriptor,
                                enum insn_answer *answer)
{
    *answer = INSN_ANSWER_BAD_STATE;
    if (!controller->is_initialized)
        return NULL;
    *answer = INSN_ANSWER_INVALID_ARGS;
    if (descriptor >= controller->allocation.num_traces ||
        !controller->buffers[descriptor].is_allocated)
        return NULL;
    *answer = INSN_ANSWER_OK;
    return &controller->buffers[descriptor];
}

static bool may_be(uint64_t ctl, unsigned shift, uint32_t allowed)
{
    return allowed >> (ctl >> shift & 0xf) & 1;
}

static bool is_valid_ctl(const struct insn_abilities *abilities, uint64_t ctl)
{
    if (ctl & ~abilities->ctl)
        return false;
    if ((ctl & INSN_CTL_MTC) && !may_be(ctl, INSN_CTL_MTC_FREQ_SHIFT, abilities->mtc_periods))
        return false;
    if ((ctl & INSN_CTL_CYC) && !may_be(ctl, INSN_CTL_CYC_THRESH_SHIFT, abilities->cyc_thresholds))
        return false;
    return (ctl & INSN_CTL_PSB_FREQ) == 0 ||
           may_be(ctl, INSN_CTL_PSB_FREQ_SHIFT, abilities->psb_periods);
}

static bool is_valid_size(const struct insn_buffer_config *config)
{
    return config->num_chunks > 0 && config->num_chunks <= INSN_MAX_CHUNKS &&
           config->chunk_order <= INSN_MAX_ORDER &&
           (uint64_t)config->num_chunks * INSN_PAGE << config->chunk_order <= INSN_MAX_BUFFER_BYTES;
}

enum insn_answer controller_allocate_buffer(struct insn_controller *controller,
                                            const struct insn_buffer_config *config,
                                            uint32_t *descriptor)
{
    const struct insn_hardware *hardware = controller->hardware;
    enum insn_answer answer;
    uint32_t free_one = 0;

    if (!controller->is_initialized || is_fixed(controller))
        return INSN_ANSWER_BAD_STATE;
    if (!is_valid_size(config) || !is_valid_ctl(&hardware->abilities, config->ctl) ||
        (config->address_space_match & 0x1f))
        return INSN_ANSWER_INVALID_ARGS;
    if (config->address_space_match && !hardware->abilities.has_cr3)
        return INSN_ANSWER_NOT_SUPPORTED;
    while (free_one < controller->allocation.num_traces &&
           controller->buffers[free_one].is_allocated)
        free_one++;
    if (free_one == controller->allocation.num_traces)
        return INSN_ANSWER_NO_RESOURCES;
    answer = hardware->allocate(hardware->context, free_one, config);
    if (answer != INSN_ANSWER_OK)
        return answer;
    controller->buffers[free_one] = (struct buffer){ .is_allocated = true, .config = *config };
    *descriptor = free_one;
    return INSN_ANSWER_OK;
}

enum insn_answer controller_free_buffer(struct insn_controller *controller, uint32_t descriptor)
{
    const struct insn_hardware *hardware = controller->hardware;
    enum insn_answer answer;
    struct buffer *buffer = buffer_of(controller, descriptor, &answer);

    if (!buffer)
        return answer;
    if (is_fixed(controller) || buffer->tid)
        return INSN_ANSWER_BAD_STATE;
    hardware->release(hardware->context, descriptor);
    *buffer = (struct buffer){ .is_allocated = false };
    return INSN_ANSWER_OK;
}

/* The buffer, if it can be a thread's: the mode is known once there is an allocation.  */
static struct buffer *thread_buffer_of(struct insn_controller *controller, uint32_t descriptor,
                                       enum insn_answer *answer)
{
    if (controller->is_initialized && controller->allocation.mode != INSN_MODE_THREAD) {
        *answer = INSN_ANSWER_NOT_SUPPORTED;
        return NULL;
    }
    return buffer_of(controller, descriptor, answer);
}

enum insn_answer controller_assign_thread_buffer(struct insn_controller *controller,
                                                 uint32_t descriptor, pid_t tid)
{
    const struct insn_hardware *hardware = controller->hardware;
    enum insn_answer answer;
    struct buffer *buffer = thread_buffer_of(controller, descriptor, &answer);

    if (!buffer)
        return answer;
    if (buffer->tid)
        return INSN_ANSWER_BAD_STATE;
    if (tid <= 0)
        return INSN_ANSWER_INVALID_ARGS;
    answer = hardware->assign(hardware->context, descriptor, tid);
    if (answer == INSN_ANSWER_OK)
        buffer->tid = tid;
    return answer;
}

enum insn_answer controller_release_thread_buffer(struct insn_controller *controller,
                                                  uint32_t descriptor, pid_t tid)
{
    const struct insn_hardware *hardware = controller->hardware;
    enum insn_answer answer;
    struct buffer *buffer = thread_buffer_of(controller, descriptor, &answer);

    if (!buffer)
        return answer;
    if (tid <= 0 || buffer->tid != tid)
        return INSN_ANSWER_INVALID_ARGS;
    buffer->tid = 0;
    return hardware->assign(hardware->context, descriptor, 0);
}

enum insn_answer controller_get_buffer_config(const struct insn_controller *controller,
                                              uint32_t descriptor, struct insn_buffer_config *out)
{
    enum insn_answer answer;
    const struct buffer *buffer = buffer_of(controller, descriptor, &answer);

    if (buffer)
        *out = buffer->config;
    return answer;
}

enum insn_answer controller_get_buffer_state(const struct insn_controller *controller,
                                             uint32_t descriptor, struct insn_buffer_state *out)
{
    const struct insn_hardware *hardware = controller->hardware;
    enum insn_answer answer;
    const struct buffer *buffer = buffer_of(controller, descriptor, &answer);
    struct insn_view view;

    if (!buffer)
        return answer;
    if (is_fixed(controller))
        return INSN_ANSWER_BAD_STATE;
    view = hardware->view(hardware->context, descriptor);
    out->capture_end = buffer->config.is_circular ? view.head % view.size
                                                  : view.head - buffer->tail;
    return INSN_ANSWER_OK;
}

enum insn_answer controller_get_chunk(const struct insn_controller *controller, uint32_t descriptor,
                                      uint32_t chunk, const uint8_t **bytes, size_t *size)
{
    const struct insn_hardware *hardware = controller->hardware;
    enum insn_answer answer;
    const struct buffer *buffer = buffer_of(controller, descriptor, &answer);

    if (!buffer)
        return answer;
    if (chunk >= buffer->config.num_chunks)
        return INSN_ANSWER_INVALID_ARGS;
    *size = (size_t)INSN_PAGE << buffer->config.chunk_order;
    *bytes = hardware->view(hardware->context, descriptor).bytes + *size * chunk;
    return INSN_ANSWER_OK;
}

/* ---- Tracing ---- */

enum insn_answer controller_start(struct insn_controller *controller)
{
    const struct insn_hardware *hardware = controller->hardware;
    enum insn_answer answer;

    if (!controller->is_initialized || controller->is_active)
        return INSN_ANSWER_BAD_STATE;
    for (uint32_t i = 0; i < controller->allocation.num_traces; i++)
        if (controller->allocation.mode == INSN_MODE_CPU && !controller->buffers[i].is_allocated)
            return INSN_ANSWER_BAD_STATE;
    answer = hardware->start(hardware->context);
    controller->is_active = answer == INSN_ANSWER_OK;
    return answer;
}

enum insn_answer controller_stop(struct insn_controller *controller)
{
    const struct insn_hardware *hardware = controller->hardware;

    if (!controller->is_initialized)
        return INSN_ANSWER_BAD_STATE;
    if (!controller->is_active)
        return INSN_ANSWER_OK;
    controller->is_active = false;
    return hardware->stop(hardware->context);
}

/* ---- Packets ---- */

void insn_buffer_set_size(struct insn_buffer_config *config, uint64_t size)
{
    config->chunk_order = 0;
    while (config->chunk_order < INSN_MAX_ORDER && (size >> config->chunk_order) > INSN_PAGE)
        config->chunk_order++;
    config->num_chunks = (uint32_t)(size >> config->chunk_order) / INSN_PAGE;
}

/* What is in a ring from position tail on, in one piece: NULL without memory.  */
static uint8_t *linear(const struct insn_view *view, uint64_t tail, size_t size)
{
    size_t start = (size_t)(tail % view->size), first = (size_t)view->size - start;
    uint8_t *bytes = malloc(size);

    if (!bytes)
        return NULL;
    if (first > size)
        first = size;
    memcpy(bytes, view->bytes + start, first);
    memcpy(bytes + first, view->bytes, size - first);
    return bytes;
}

/* Take what is left of a ring whose oldest bytes were replaced.  */
static enum insn_answer take_cut(const struct insn_view *view, uint32_t descriptor,
                                 controller_take_fn take, void *context)
{
    size_t size = (size_t)view->size, start;
    uint8_t *bytes = linear(view, view->head - view->size, size);
    bool fine = true;

    if (!bytes)
        return INSN_ANSWER_NO_MEMORY;
    start = insn_first_psb(bytes, size);
    if (start < size)
        fine = take(context, descriptor, true, bytes + start, size - start);
    free(bytes);
    return fine ? INSN_ANSWER_OK : INSN_ANSWER_IO;
}

enum insn_answer controller_take(struct insn_controller *controller, uint32_t descriptor,
                                 controller_take_fn take, void *context)
{
    const struct insn_hardware *hardware = controller->hardware;
    enum insn_answer answer;
    struct buffer *buffer = buffer_of(controller, descriptor, &answer);
    struct insn_view view;
    uint64_t tail;

    if (!buffer)
        return answer;
    view = hardware->view(hardware->context, descriptor);
    tail = buffer->tail;
    buffer->tail = view.head;
    if (view.head - tail > view.size) {
        answer = take_cut(&view, descriptor, take, context);
    } else {
        while (answer == INSN_ANSWER_OK && tail < view.head) {
            size_t start = (size_t)(tail % view.size), size = (size_t)view.size - start;

            if (size > view.head - tail)
                size = (size_t)(view.head - tail);
            if (!take(context, descriptor, false, view.bytes + start, size))
                answer = INSN_ANSWER_IO;
            tail += size;
        }
    }
    hardware->consume(hardware->context, descriptor, view.head);
    return answer;
}
