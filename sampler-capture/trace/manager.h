/* manager.h - the manager of fuchsia.tracing.provider (docs/formats/trace-provider.md): it takes
 * registrations, gives each provider a buffer, starts and stops it, and writes what it wrote.  */
#ifndef TRACE_MANAGER_H
#define TRACE_MANAGER_H

#include "sampler-capture/record_stream.h"
#include "sampler-capture/trace/channel.h"
#include "sampler-capture/trace/trace_options.h"
#include "sampler-capture/trace/transfer.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum provider_state {
    PROVIDER_CONNECTED = 0, /* has not said who it is */
    PROVIDER_READY,
    PROVIDER_INITIALIZED,
    PROVIDER_STARTING,
    PROVIDER_STARTED,
    PROVIDER_STOPPING,
    PROVIDER_STOPPED,
    PROVIDER_TERMINATING,
    PROVIDER_TERMINATED,
};

enum session_phase {
    PHASE_LISTING, /* providers are only to be known */
    PHASE_STARTED,
    PHASE_STOPPING,
    PHASE_TERMINATING,
};

struct provider {
    enum provider_state state;
    uint32_t id; /* in the archive, from 1 */
    char name[101];
    char *shown; /* owned: the name in messages, in one line, safe to show; NULL: no memory */
    uint64_t pid;
    int registry_fd, channel_fd, fifo_fd, buffer_fd; /* -1: none */
    uint64_t buffer_bytes;
    bool has_own_size; /* of --provider, not of --buffer-size */
    struct transfer transfer;
    uint64_t since_ns; /* of the state */
    bool introduced, was_started, written, told_slow, told_waiting, answered;
    bool unreadable; /* the header of its buffer was damaged at the end */
    uint64_t alerts;
    struct transfer_header header; /* as it was at the end */
    const char *refused;           /* why we ended it; NULL: we did not */
};

struct manager {
    const struct recording_options *options;
    uint64_t (*now_ns)(void);         /* CLOCK_MONOTONIC; tests have a clock of their own */
    size_t most_at_once, most_in_all; /* programs */
    struct registry registry;
    struct stream *stream;       /* owned by the caller; NULL while listing */
    struct provider **providers; /* owned; that are connected */
    size_t count, capacity, next_id;
    struct provider **over; /* owned; that registered and are terminated */
    size_t over_count, over_capacity;
    uint64_t rejected;        /* connections, for want of room */
    uint64_t accept_after_ns; /* no descriptors before */
    struct pollfd *polled;    /* owned */
    size_t polled_count, polled_capacity;
    struct transfer_wanted wanted;
    enum session_phase phase;
    bool triggered; /* an alert asks to end */
    bool failed;    /* the trace cannot be written on */
    /* Called for each known category of a provider while listing.  */
    void (*on_category)(const struct provider *provider, const char *name, size_t name_length,
                        const char *description, size_t description_length);
};

/* Listen for providers.  False after a message.  */
bool manager_open(struct manager *manager, const struct recording_options *options);

/* Wait for something to happen, at most timeout_ms, or for extra_fd; then do it.  */
void manager_round(struct manager *manager, int extra_fd, int timeout_ms);

/* Stop all, write what they wrote, end them.  manager_is_over() tells when that is done.  */
void manager_stop(struct manager *manager);
bool manager_is_over(const struct manager *manager);

/* Those that are over first, then others: index from 0, NULL after the last.  */
const struct provider *manager_provider(const struct manager *manager, size_t index);

/* Those that are over in the order in which they registered.  */
void manager_sort(struct manager *manager);

/* Whether all that registered have answered; while listing.  */
bool manager_has_answers(const struct manager *manager);

/* What messages call it.  */
const char *manager_shown(const struct provider *provider);

void manager_close(struct manager *manager);

#endif /* TRACE_MANAGER_H */
