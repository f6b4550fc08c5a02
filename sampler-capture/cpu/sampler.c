#include "sampler-capture/cpu/sampler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIN_RING_SIZE    (16U << 10)
#define NORMAL_RING_SIZE (256U << 10) /* perf_event_mlock_kb allows users no more by default */
#define MAX_RING_SIZE    (4U << 20)

struct sampler {
    struct events events;
    struct drain drain;
    struct unwinding *unwinding; /* owned; or NULL */
    struct events_error error;
    bool running;
};

/* There is one at a time.  */
static struct sampler *current;

/* ---- Status ---- */

static const struct sampler_status_entry entries[SAMPLER_STATUSES] = {
    [SAMPLER_OK] = { "ZX_OK", 0, 0 },
    [SAMPLER_NOT_SUPPORTED] = { "ZX_ERR_NOT_SUPPORTED", -2, ENOTSUP },
    [SAMPLER_NO_MEMORY] = { "ZX_ERR_NO_MEMORY", -4, ENOMEM },
    [SAMPLER_INVALID_ARGS] = { "ZX_ERR_INVALID_ARGS", -10, EINVAL },
    [SAMPLER_BAD_HANDLE] = { "ZX_ERR_BAD_HANDLE", -11, ESRCH },
    [SAMPLER_BAD_STATE] = { "ZX_ERR_BAD_STATE", -20, EBUSY },
    [SAMPLER_ALREADY_EXISTS] = { "ZX_ERR_ALREADY_EXISTS", -26, EEXIST },
    [SAMPLER_ACCESS_DENIED] = { "ZX_ERR_ACCESS_DENIED", -30, EACCES },
};

const struct sampler_status_entry *sampler_status_entry(enum sampler_status status)
{
    return &entries[status];
}

/* What an errno of perf_event_open(2) and mmap(2) means.  */
static enum sampler_status status_of(int cause)
{
    switch (cause) {
    case ENOSYS:
    case ENOENT:
    case EOPNOTSUPP:
        return SAMPLER_NOT_SUPPORTED;
    case EACCES:
    case EPERM:
        return SAMPLER_ACCESS_DENIED;
    case ESRCH:
        return SAMPLER_BAD_HANDLE;
    case EINVAL:
        return SAMPLER_INVALID_ARGS;
    default:
        return SAMPLER_NO_MEMORY;
    }
}

const char *sampler_message(const struct sampler *sampler)
{
    return sampler->error.message;
}

/* ---- Create and close ---- */

size_t sampler_ring_size(uint64_t period_ns, size_t region_size, uint32_t max_frames)
{
    uint64_t deepest = UINT64_C(8) * (5 + 1 + max_frames); /* bytes of a sample in a ring */
    uint64_t wanted = 250000000 / period_ns * deepest;
    size_t size = NORMAL_RING_SIZE;

    while (size < wanted && size < MAX_RING_SIZE)
        size *= 2;
    while (size > region_size / 2 && size > MIN_RING_SIZE)
        size /= 2;
    return size;
}

#define MAX_STACK_RING_SIZE (16U << 20)

size_t sampler_stack_ring_size(uint64_t period_ns, uint32_t stack_size)
{
    uint64_t wanted = 250000000 / period_ns * stack_size;
    size_t size = NORMAL_RING_SIZE;

    while (size < wanted && size < MAX_STACK_RING_SIZE)
        size *= 2;
    return size;
}

static bool is_valid(uint64_t options, const struct sampler_config *config, size_t config_size)
{
    return options == 0 && config && config_size == sizeof *config &&
           config->iobuffer_discipline == SAMPLER_DISCIPLINE_NONE && config->buffer_size > 0 &&
           config->buffer_size <= SAMPLER_MAX_BUFFER_SIZE &&
           config->period >= SAMPLER_MIN_PERIOD_NS;
}

static enum sampler_status open_all(struct sampler *sampler, const struct sampler_config *config,
                                    const struct sampler_extras *extras)
{
    struct events_config wanted = {
        .period_ns = (uint64_t)config->period,
        .ring_size = sampler_ring_size((uint64_t)config->period, (size_t)config->buffer_size,
                                       extras->max_frames),
        .max_frames = extras->max_frames,
        .counter = extras->counter,
        .counter_period = extras->counter_period,
        .copies = extras->copies,
        .kernel = extras->kernel,
        .sideband = extras->sideband,
    };

    if (extras->copies.bytes[COPIES_LARGE] > 0) {
        wanted.ring_size = sampler_stack_ring_size(wanted.period_ns,
                                                   extras->copies.bytes[COPIES_LARGE]);
        sampler->unwinding = unwinding_open();
        if (!sampler->unwinding)
            return SAMPLER_NO_MEMORY;
    }

    if (!events_open(&sampler->events, &wanted, &sampler->error))
        return status_of(sampler->error.cause);
    if (!drain_init(&sampler->drain, &sampler->events, extras->mode, (size_t)config->buffer_size))
        return SAMPLER_NO_MEMORY;
    if (sampler->unwinding) {
        unwinding_adapt(sampler->unwinding, &sampler->events.config.copies);
        drain_unwind(&sampler->drain, sampler->unwinding, extras->max_unwound);
    }
    return SAMPLER_OK;
}

static void destroy(struct sampler *sampler)
{
    unwinding_close(sampler->unwinding);
    if (sampler->drain.cpus)
        drain_release(&sampler->drain);
    events_close(&sampler->events);
    free(sampler);
}

enum sampler_status sampler_create_extra(uint64_t options, const struct sampler_config *config,
                                         size_t config_size, const struct sampler_extras *extras,
                                         struct sampler **out, struct events_error *error)
{
    struct sampler *sampler;
    enum sampler_status status;

    if (!is_valid(options, config, config_size))
        return SAMPLER_INVALID_ARGS;
    if (current)
        return SAMPLER_ALREADY_EXISTS;
    sampler = calloc(1, sizeof *sampler);
    if (!sampler)
        return SAMPLER_NO_MEMORY;
    status = open_all(sampler, config, extras);
    if (status != SAMPLER_OK) {
        *error = sampler->error;
        destroy(sampler);
        return status;
    }
    current = *out = sampler;
    return SAMPLER_OK;
}

void sampler_close(struct sampler *sampler)
{
    if (!sampler)
        return;
    if (current == sampler)
        current = NULL;
    destroy(sampler);
}

/* ---- Attach ---- */

static enum sampler_status check_handle(const struct sampler *sampler)
{
    if (!current)
        return SAMPLER_BAD_STATE;
    return sampler == current ? SAMPLER_OK : SAMPLER_BAD_HANDLE;
}

enum sampler_status sampler_attach_target(struct sampler *sampler,
                                          const struct events_target *target)
{
    enum sampler_status status = check_handle(sampler);
    struct events_target running = *target;

    if (status != SAMPLER_OK)
        return status;
    running.running = sampler->running && !target->on_exec;
    sampler->error.message[0] = '\0';
    if (!events_attach(&sampler->events, &running, &sampler->error))
        return status_of(sampler->error.cause);
    return SAMPLER_OK;
}

/* ---- Start and stop ---- */

enum sampler_status sampler_start(struct sampler *sampler)
{
    enum sampler_status status = check_handle(sampler);

    if (status != SAMPLER_OK)
        return status;
    if (sampler->running)
        return SAMPLER_BAD_STATE;
    sampler->running = true;
    events_start(&sampler->events);
    return SAMPLER_OK;
}

enum sampler_status sampler_stop(struct sampler *sampler)
{
    enum sampler_status status = check_handle(sampler);

    if (status != SAMPLER_OK)
        return status;
    if (!sampler->running)
        return SAMPLER_BAD_STATE;
    sampler->running = false;
    events_stop(&sampler->events);
    return sampler_drain(sampler);
}

enum sampler_status sampler_drain(struct sampler *sampler)
{
    enum sampler_status status = check_handle(sampler);

    if (status != SAMPLER_OK)
        return status;
    return drain_all(&sampler->drain) ? SAMPLER_OK : SAMPLER_NO_MEMORY;
}

/* ---- Reading ---- */

struct loss sampler_loss(const struct sampler *sampler)
{
    return drain_loss(&sampler->drain);
}

const struct unwinding *sampler_unwinding(const struct sampler *sampler)
{
    return sampler->unwinding;
}

struct drain *sampler_drain_of(struct sampler *sampler)
{
    return &sampler->drain;
}
