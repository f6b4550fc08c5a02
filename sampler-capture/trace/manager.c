#include "sampler-capture/trace/manager.h"

#include "base/file.h"
#include "base/grow.h"
#include "base/visible.h"
#include "cmd/cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <fxt/fidl_provider.h>

#define MOST_PROVIDERS  4096
#define MOST_REGISTERED 100000
#define START_NS        UINT64_C(5000000000) /* who takes longer is named */
#define ACCEPT_NS       UINT64_C(100000000)  /* until connections are looked at again */
#define MOST_PACKETS    64                   /* of one provider in a round */

static uint64_t monotonic_ns(void)
{
    return host_clock_ns(CLOCK_MONOTONIC);
}

static void enter(const struct manager *manager, struct provider *provider,
                  enum provider_state state)
{
    provider->state = state;
    provider->since_ns = manager->now_ns();
}

const char *manager_shown(const struct provider *provider)
{
    return provider->shown && provider->shown[0] ? provider->shown : "(no name)";
}

static void free_provider(struct provider *provider)
{
    free(provider->shown);
    free(provider);
}

/* ---- Writing ---- */

static bool put(void *context, const void *records, size_t size)
{
    struct manager *manager = context;

    return stream_raw(manager->stream, records, size);
}

/* What follows is the provider's.  */
static bool introduce(struct manager *manager, struct provider *provider)
{
    if (provider->introduced)
        return stream_switch(manager->stream, provider->id);
    provider->introduced = true;
    return stream_introduce(manager->stream, provider->id, provider->name);
}

/* That records were dropped, and how many, which the provider event has no room for.  */
static bool put_loss(struct manager *manager, struct provider *provider)
{
    struct fxt_arg args[] = { stream_number("dropped", provider->header.dropped),
                              stream_number("pid", provider->pid) };

    return stream_provider_loss(manager->stream, provider->id) &&
           stream_switch(manager->stream, TRACE_TOOL_PROVIDER) &&
           stream_event(manager->stream, FXT_EVENT_COUNTER, "provider_records_dropped",
                        manager->now_ns(), provider->id, args, 2);
}

static void fail(struct manager *manager)
{
    manager->failed = true;
}

/* What is left in the buffer, once: when the provider has stopped, or is gone.  */
static void write_rest(struct manager *manager, struct provider *provider)
{
    enum transfer_status status;

    if (provider->written || !provider->was_started || manager->failed || !manager->stream)
        return;
    provider->written = true;
    status = transfer_read_header(&provider->transfer, &provider->header);
    if (status == TRANSFER_OK && !introduce(manager, provider))
        status = TRANSFER_NO_OUTPUT;
    if (status == TRANSFER_OK)
        status = transfer_rest(&provider->transfer);
    if (status == TRANSFER_OK && provider->header.dropped > 0 && !put_loss(manager, provider))
        status = TRANSFER_NO_OUTPUT;
    provider->unreadable = status == TRANSFER_BAD_BUFFER;
    if (status == TRANSFER_BAD_BUFFER)
        cli_warning("%s (%" PRIu64 "): the header of its buffer is damaged: what was in it could "
                    "not be written",
                    manager_shown(provider), provider->pid);
    if (status == TRANSFER_NO_OUTPUT)
        fail(manager);
}

/* ---- Messages ---- */

static bool send_message(struct provider *provider, const struct fidl_provider_message *message,
                         const struct cli_texts *lists[2], const int *fds, size_t fd_count)
{
    static uint8_t bytes[FIDL_MAX_MESSAGE];
    size_t count = 0, length;
    const char **items;
    bool sent = false;

    errno = EMSGSIZE;
    for (size_t i = 0; i < 2; i++)
        count += lists[i] ? lists[i]->count : 0;
    items = cli_allocate(count + 1, sizeof *items);
    count = 0;
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; lists[i] && k < lists[i]->count; k++)
            items[count++] = lists[i]->items[k];
    if (fidl_provider_encode(message, items, count, bytes, sizeof bytes, &length) == FIDL_OK)
        sent = channel_send(provider->channel_fd, bytes, length, fds, fd_count);
    free(items);
    return sent;
}

static bool send_plain(struct provider *provider, enum fidl_provider_method method)
{
    const struct cli_texts *none[2] = { NULL, NULL };
    const struct fidl_provider_message message = { .method = method,
                                                   .disposition = 1 /* clear all */ };

    return send_message(provider, &message, none, NULL, 0);
}

/* The provider is over: what it wrote is written.  */
static void end(struct manager *manager, struct provider *provider)
{
    if (provider->state == PROVIDER_TERMINATED)
        return;
    write_rest(manager, provider);
    base_close(&provider->registry_fd);
    base_close(&provider->channel_fd);
    base_close(&provider->fifo_fd);
    base_close(&provider->buffer_fd);
    transfer_release(&provider->transfer);
    enter(manager, provider, PROVIDER_TERMINATED);
}

/* It broke the rules.  */
static void refuse(struct manager *manager, struct provider *provider, const char *why)
{
    provider->refused = why;
    cli_warning("%s (%" PRIu64 "): ended, %s", manager_shown(provider), provider->pid, why);
    end(manager, provider);
}

static void terminate(struct manager *manager, struct provider *provider)
{
    if (provider->state == PROVIDER_READY || provider->state == PROVIDER_CONNECTED ||
        !send_plain(provider, FIDL_PROVIDER_TERMINATE))
        end(manager, provider);
    else
        enter(manager, provider, PROVIDER_TERMINATING);
}

/* ---- Initialize and Start ---- */

static const struct trace_spec *spec_of(const struct manager *manager,
                                        const struct provider *provider)
{
    for (size_t i = 0; i < manager->options->spec_count; i++)
        if (strcmp(manager->options->specs[i].name, provider->name) == 0)
            return &manager->options->specs[i];
    return NULL;
}

/* Shared memory that nobody can make smaller.  */
static bool make_buffer(struct provider *provider)
{
    provider->buffer_fd = memfd_create("fxt-trace", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return provider->buffer_fd >= 0 &&
           ftruncate(provider->buffer_fd, (off_t)provider->buffer_bytes) == 0 &&
           fcntl(provider->buffer_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
}

/* Why what just failed for the provider did.  */
static const char *cause(const struct provider *provider, const char *otherwise)
{
    switch (errno) {
    case EMFILE:
        return "because there are no more descriptors: raise ulimit -n";
    case ENFILE:
        return "because there are no more descriptors: raise fs.file-max";
    case ENOMEM:
    case ENOSPC:
    case EFBIG:
        return provider->has_own_size
                   ? "because there is no memory for its buffer: use a smaller SIZE in --provider "
                     "NAME:SIZE"
                   : "because there is no memory for its buffer: use a smaller --buffer-size";
    case EMSGSIZE: /* of send_message() */
        return "because the names of its categories take more than 64 KiB: use patterns such as "
               "net*";
    default:
        return otherwise;
    }
}

/* NULL, or why it cannot be.  */
static const char *initialize(struct manager *manager, struct provider *provider)
{
    const struct trace_spec *spec = spec_of(manager, provider);
    const struct cli_texts *lists[2] = { &manager->options->categories,
                                         spec ? &spec->categories : NULL };
    const struct fidl_provider_message message = {
        .method = FIDL_PROVIDER_INITIALIZE,
        .mode = (uint8_t)(manager->options->mode + 1),
    };
    uint64_t bytes = manager->options->buffer_bytes;
    int ends[2], fds[2];
    bool sent;

    provider->has_own_size = spec && spec->buffer_bytes;
    if (provider->has_own_size)
        bytes = spec->buffer_bytes;
    provider->buffer_bytes = (bytes + 4095) / 4096 * 4096;
    if (!make_buffer(provider) ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
        return cause(provider, "because its buffer could not be made");
    provider->fifo_fd = ends[0];
    fds[0] = provider->buffer_fd;
    fds[1] = ends[1];
    sent = send_message(provider, &message, lists, fds, 2);
    (void)close(ends[1]); /* errno stays: it is open */
    provider->transfer = (struct transfer){ .fd = provider->buffer_fd,
                                            .size = provider->buffer_bytes,
                                            .mode = manager->options->mode,
                                            .put = put,
                                            .context = manager,
                                            .wanted = &manager->wanted };
    enter(manager, provider, PROVIDER_INITIALIZED);
    return sent ? NULL : cause(provider, "because it does not take messages");
}

static void begin(struct manager *manager, struct provider *provider)
{
    const char *wrong = initialize(manager, provider);

    if (!wrong && !send_plain(provider, FIDL_PROVIDER_START))
        wrong = "because it does not take messages";
    if (!wrong)
        enter(manager, provider, PROVIDER_STARTING);
    else if (errno == EPIPE || errno == ECONNRESET)
        end(manager, provider); /* it has ended meanwhile */
    else
        refuse(manager, provider, wrong);
}

/* ---- What providers say ---- */

static void on_registered(struct manager *manager, struct provider *provider,
                          const struct fidl_provider_message *message)
{
    const struct cli_texts *none[2] = { NULL, NULL };
    struct provider answer = { .channel_fd = provider->registry_fd };
    struct base_text shown = { .bytes = NULL };
    const struct fidl_provider_message reply = {
        .method = FIDL_REGISTRY_REGISTERED,
        .txid = message->txid,
        .started = manager->phase == PHASE_STARTED,
    };

    memcpy(provider->name, message->name.text, message->name.length);
    provider->name[message->name.length] = '\0';
    base_text_add_visible(&shown, message->name.text, message->name.length);
    if (shown.failed)
        base_text_release(&shown);
    provider->shown = shown.bytes;
    provider->pid = message->pid;
    provider->id = (uint32_t)++manager->next_id;
    enter(manager, provider, PROVIDER_READY);
    if (message->method == FIDL_REGISTRY_REGISTER_SYNC)
        (void)send_message(&answer, &reply, none, NULL, 0);
    base_close(&provider->registry_fd);
    if (manager->phase == PHASE_STARTED)
        begin(manager, provider);
    else if (manager->phase == PHASE_LISTING && manager->on_category)
        (void)send_plain(provider, FIDL_PROVIDER_GET_CATEGORIES);
}

static void read_registration(struct manager *manager, struct provider *provider)
{
    struct fidl_provider_message message;
    uint8_t bytes[256];
    int fds[CHANNEL_MOST_FDS];
    ssize_t length = channel_receive(provider->registry_fd, bytes, sizeof bytes, fds);

    if (length < 0)
        return;
    provider->channel_fd = fds[0];
    base_close(&fds[1]);
    if (length > (ssize_t)sizeof bytes || provider->channel_fd < 0 ||
        fidl_provider_decode(bytes, (size_t)length, false, &message) != FIDL_OK ||
        (message.method != FIDL_REGISTRY_REGISTER && message.method != FIDL_REGISTRY_REGISTER_SYNC))
        end(manager, provider); /* nobody whom we could name */
    else
        on_registered(manager, provider, &message);
}

static void on_categories(struct manager *manager, struct provider *provider,
                          struct fidl_strings list)
{
    struct fidl_string name, description;

    while (manager->on_category && fidl_strings_next_pair(&list, &name, &description))
        manager->on_category(provider, name.text, name.length, description.text,
                             description.length);
    provider->answered = true;
}

static void read_channel(struct manager *manager, struct provider *provider)
{
    static uint8_t bytes[FIDL_MAX_MESSAGE];
    struct fidl_provider_message message;
    int fds[CHANNEL_MOST_FDS];
    ssize_t length = channel_receive(provider->channel_fd, bytes, sizeof bytes, fds);

    base_close(&fds[0]);
    base_close(&fds[1]);
    if (length < 0)
        return;
    if (length == 0) { /* it is gone, or does not want any more */
        end(manager, provider);
        return;
    }
    if (length > (ssize_t)sizeof bytes ||
        fidl_provider_decode(bytes, (size_t)length, true, &message) != FIDL_OK ||
        message.method != FIDL_PROVIDER_CATEGORIES)
        refuse(manager, provider, "because it sent an invalid message");
    else
        on_categories(manager, provider, message.list);
}

static void on_alert(struct manager *manager, struct provider *provider, const char *name)
{
    provider->alerts++;
    for (size_t i = 0; i < manager->options->triggers.count; i++)
        if (strncmp(manager->options->triggers.items[i], name, 14) == 0)
            manager->triggered = true;
}

static void on_save(struct manager *manager, struct provider *provider,
                    const struct trace_packet *packet)
{
    struct trace_packet saved = { .request = TRACE_PACKET_BUFFER_SAVED,
                                  .data32 = packet->data32,
                                  .data64 = packet->data64 };
    enum transfer_status status;

    if (provider->written || !provider->was_started)
        return;
    status = introduce(manager, provider)
                 ? transfer_half(&provider->transfer, packet->data32, packet->data64)
                 : TRANSFER_NO_OUTPUT;
    if (status == TRANSFER_NO_OUTPUT)
        fail(manager);
    else if (status != TRANSFER_OK)
        refuse(manager, provider, "because it reported a full buffer that its header contradicts");
    else if (!channel_send(provider->fifo_fd, &saved, sizeof saved, NULL, 0)) {
        if (errno == EAGAIN)
            refuse(manager, provider, "because it does not read its packets");
        else
            end(manager, provider); /* it is gone */
    }
}

static void on_started(struct manager *manager, struct provider *provider)
{
    if (provider->state != PROVIDER_STARTING)
        return; /* not asked for: it must not put off the end */
    provider->was_started = true;
    enter(manager, provider, PROVIDER_STARTED);
    if (manager->phase == PHASE_STOPPING) { /* too late */
        (void)send_plain(provider, FIDL_PROVIDER_STOP);
        enter(manager, provider, PROVIDER_STOPPING);
    }
}

static void on_stopped(struct manager *manager, struct provider *provider)
{
    if (provider->state == PROVIDER_STARTED || provider->state == PROVIDER_STOPPING ||
        provider->state == PROVIDER_TERMINATING) {
        write_rest(manager, provider);
        if (provider->state != PROVIDER_TERMINATING)
            enter(manager, provider, PROVIDER_STOPPED);
    }
}

/* Why the packet breaks the rules; NULL: it does not.  */
static const char *check_packet(const struct trace_packet *packet)
{
    if (packet->request != TRACE_PACKET_ALERT && packet->data16 != 0)
        return "because of a packet with wrong data";
    switch (packet->request) {
    case TRACE_PACKET_STARTED:
        return packet->data32 == TRACE_PROTOCOL_VERSION && packet->data64 == 0
                   ? NULL
                   : "because it speaks another version of the protocol";
    case TRACE_PACKET_STOPPED:
        return packet->data32 == 0 && packet->data64 == 0 ? NULL
                                                          : "because of a packet with wrong data";
    case TRACE_PACKET_SAVE_BUFFER:
    case TRACE_PACKET_ALERT:
        return NULL;
    default:
        return "because of a packet of unknown kind";
    }
}

static void on_packet(struct manager *manager, struct provider *provider,
                      const struct trace_packet *packet)
{
    const char *wrong = check_packet(packet);
    char name[15] = "";

    if (wrong) {
        refuse(manager, provider, wrong);
        return;
    }
    switch (packet->request) {
    case TRACE_PACKET_STARTED:
        on_started(manager, provider);
        break;
    case TRACE_PACKET_STOPPED:
        on_stopped(manager, provider);
        break;
    case TRACE_PACKET_SAVE_BUFFER:
        on_save(manager, provider, packet);
        break;
    default:
        memcpy(name, (const char *)packet + 2, 14);
        on_alert(manager, provider, name);
    }
}

static void read_fifo(struct manager *manager, struct provider *provider)
{
    for (unsigned i = 0; i < MOST_PACKETS && provider->fifo_fd >= 0; i++) {
        struct trace_packet packet;
        int fds[CHANNEL_MOST_FDS];
        ssize_t length = channel_receive(provider->fifo_fd, &packet, sizeof packet, fds);

        base_close(&fds[0]);
        base_close(&fds[1]);
        if (length < 0)
            return;
        if (length == 0)
            end(manager, provider);
        else if (length != (ssize_t)sizeof packet)
            refuse(manager, provider, "because of a packet of another size than 16 bytes");
        else
            on_packet(manager, provider, &packet);
    }
}

/* ---- Rounds ---- */

static struct provider *add_provider(struct manager *manager, int fd)
{
    struct provider *provider = manager->count < manager->most_at_once &&
                                        manager->next_id < manager->most_in_all &&
                                        base_make_room(&manager->providers, &manager->capacity,
                                                       manager->count + 1, sizeof(void *))
                                    ? calloc(1, sizeof *provider)
                                    : NULL;

    if (!provider)
        return NULL;
    provider->registry_fd = fd;
    provider->channel_fd = provider->fifo_fd = provider->buffer_fd = -1;
    enter(manager, provider, PROVIDER_CONNECTED);
    manager->providers[manager->count++] = provider;
    return provider;
}

/* Where there are no descriptors, connections wait until others have ended.  */
static void accept_all(struct manager *manager)
{
    int fd;

    while ((fd = registry_accept(&manager->registry)) >= 0) {
        if (add_provider(manager, fd))
            continue;
        if (manager->rejected++ == 0)
            cli_warning("more than %zu programs at once, or %zu in all, or out of memory: others "
                        "are not recorded",
                        manager->most_at_once, manager->most_in_all);
        (void)close(fd);
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        if (manager->accept_after_ns == 0)
            cli_warning("%s: new programs are recorded when others have ended", strerror(errno));
        manager->accept_after_ns = manager->now_ns() + ACCEPT_NS;
    }
}

/* Keep of those that are terminated what the report says.  */
static void put_away(struct manager *manager)
{
    size_t kept = 0;

    for (size_t i = 0; i < manager->count; i++) {
        struct provider *provider = manager->providers[i];

        if (provider->state != PROVIDER_TERMINATED) {
            manager->providers[kept++] = provider;
            continue;
        }
        if (provider->id != 0 &&
            !base_make_room(&manager->over, &manager->over_capacity, manager->over_count + 1,
                            sizeof(void *))) { /* it stays where it is for now */
            manager->providers[kept++] = provider;
            continue;
        }
        if (provider->id != 0)
            manager->over[manager->over_count++] = provider;
        else
            free_provider(provider);
    }
    manager->count = kept;
}

static int compare_ids(const void *a, const void *b)
{
    const struct provider *const *x = a, *const *y = b;

    return (*x)->id < (*y)->id ? -1 : (*x)->id > (*y)->id;
}

static void tell_slow(struct provider *provider)
{
    if (!provider->told_slow)
        cli_warning("%s (%" PRIu64 "): has not started within 5 seconds; the session continues",
                    manager_shown(provider), provider->pid);
    provider->told_slow = true;
}

static void tell_waiting(struct provider *provider)
{
    if (!provider->told_waiting)
        cli_warning("%s (%" PRIu64 "): has not stopped within 5 seconds; it is waited for, see "
                    "--stop-timeout",
                    manager_shown(provider), provider->pid);
    provider->told_waiting = true;
}

/* It is not asked to end in an orderly way, which takes as long again.  */
static void leave_behind(struct manager *manager, struct provider *provider)
{
    write_rest(manager, provider);
    if (!provider->unreadable)
        cli_warning("%s (%" PRIu64 "): %s", manager_shown(provider), provider->pid,
                    provider->was_started
                        ? "did not stop in time; the trace has the events that it wrote until now"
                        : "has not begun to record; the trace has none of its events");
    terminate(manager, provider);
    end(manager, provider);
}

static void check_time(struct manager *manager, struct provider *provider)
{
    uint64_t waited_ns = manager->now_ns() - provider->since_ns;
    bool stops = provider->state == PROVIDER_STARTING || provider->state == PROVIDER_STOPPING;

    if (provider->state == PROVIDER_CONNECTED && waited_ns > START_NS) {
        end(manager, provider);
    } else if (manager->phase < PHASE_STOPPING) {
        if (provider->state == PROVIDER_STARTING && waited_ns > START_NS &&
            manager->phase == PHASE_STARTED)
            tell_slow(provider);
    } else if (waited_ns > manager->options->wait_ns) {
        if (stops)
            leave_behind(manager, provider);
        else if (provider->state == PROVIDER_TERMINATING)
            end(manager, provider);
    } else if (stops && waited_ns > START_NS) {
        tell_waiting(provider);
    }
}

/* The descriptors to wait for: extra, the registry, and three of each provider.  */
static bool fill_polled(struct manager *manager, int extra_fd)
{
    size_t needed = 2 + 3 * manager->count;

    if (!base_make_room(&manager->polled, &manager->polled_capacity, needed,
                        sizeof *manager->polled))
        return false;
    manager->polled_count = needed;
    manager->polled[0] = (struct pollfd){ .fd = extra_fd, .events = POLLIN };
    manager->polled[1] = (struct pollfd){
        .fd = manager->now_ns() < manager->accept_after_ns ? -1 : manager->registry.fd,
        .events = POLLIN,
    };
    for (size_t i = 0; i < manager->count; i++) {
        const struct provider *provider = manager->providers[i];
        const int fds[3] = { provider->registry_fd, provider->fifo_fd, provider->channel_fd };

        for (size_t k = 0; k < 3; k++)
            manager->polled[2 + 3 * i + k] = (struct pollfd){ .fd = fds[k], .events = POLLIN };
    }
    return true;
}

/* Stopped providers are ended once all is written.  */
static void go_on_stopping(struct manager *manager)
{
    for (size_t i = 0; i < manager->count; i++)
        if (manager->providers[i]->state == PROVIDER_STOPPED ||
            manager->providers[i]->state == PROVIDER_INITIALIZED ||
            manager->providers[i]->state == PROVIDER_READY ||
            manager->providers[i]->state == PROVIDER_CONNECTED)
            terminate(manager, manager->providers[i]);
}

void manager_round(struct manager *manager, int extra_fd, int timeout_ms)
{
    size_t count = manager->count;

    if (!fill_polled(manager, extra_fd)) {
        manager->failed = true; /* out of memory */
        return;
    }
    (void)poll(manager->polled, manager->polled_count, timeout_ms);
    for (size_t i = 0; i < count; i++) {
        struct provider *provider = manager->providers[i];
        const struct pollfd *polled = &manager->polled[2 + 3 * i];

        if (polled[0].revents && provider->registry_fd == polled[0].fd)
            read_registration(manager, provider);
        if (polled[1].revents && provider->fifo_fd == polled[1].fd)
            read_fifo(manager, provider); /* before the end of the channel */
        if (polled[2].revents && provider->channel_fd == polled[2].fd)
            read_channel(manager, provider);
    }
    if (manager->polled[1].revents && manager->phase <= PHASE_STARTED)
        accept_all(manager);
    for (size_t i = 0; i < manager->count; i++)
        check_time(manager, manager->providers[i]);
    if (manager->phase == PHASE_STOPPING)
        go_on_stopping(manager);
    put_away(manager);
}

/* ---- Life ---- */

bool manager_open(struct manager *manager, const struct recording_options *options)
{
    *manager = (struct manager){ .options = options,
                                 .now_ns = monotonic_ns,
                                 .most_at_once = MOST_PROVIDERS,
                                 .most_in_all = MOST_REGISTERED,
                                 .phase = PHASE_LISTING };
    manager->wanted = (struct transfer_wanted){ .patterns = options->requested.items,
                                                .count = options->requested.count };
    return registry_open(&manager->registry);
}

void manager_stop(struct manager *manager)
{
    manager->phase = PHASE_STOPPING;
    registry_close(&manager->registry);
    for (size_t i = 0; i < manager->count; i++) {
        struct provider *provider = manager->providers[i];

        if (provider->state != PROVIDER_STARTED && provider->state != PROVIDER_STARTING)
            continue;
        if (send_plain(provider, FIDL_PROVIDER_STOP))
            enter(manager, provider,
                  provider->state == PROVIDER_STARTED ? PROVIDER_STOPPING : PROVIDER_STARTING);
        else
            end(manager, provider);
    }
    go_on_stopping(manager);
    put_away(manager);
}

const struct provider *manager_provider(const struct manager *manager, size_t index)
{
    if (index < manager->over_count)
        return manager->over[index];
    index -= manager->over_count;
    return index < manager->count ? manager->providers[index] : NULL;
}

void manager_sort(struct manager *manager)
{
    if (manager->over_count > 1)
        qsort(manager->over, manager->over_count, sizeof(void *), compare_ids);
}

bool manager_is_over(const struct manager *manager)
{
    for (size_t i = 0; i < manager->count; i++)
        if (manager->providers[i]->state != PROVIDER_TERMINATED)
            return false;
    return true;
}

bool manager_has_answers(const struct manager *manager)
{
    for (size_t i = 0; i < manager->count; i++)
        if (manager->providers[i]->state == PROVIDER_CONNECTED ||
            (manager->on_category && manager->providers[i]->state == PROVIDER_READY &&
             !manager->providers[i]->answered))
            return false;
    return true;
}

void manager_close(struct manager *manager)
{
    manager->failed = true; /* nothing is written any more */
    registry_close(&manager->registry);
    for (size_t i = 0; i < manager->count; i++) {
        end(manager, manager->providers[i]);
        free_provider(manager->providers[i]);
    }
    for (size_t i = 0; i < manager->over_count; i++)
        free_provider(manager->over[i]);
    free(manager->over);
    free(manager->providers);
    free(manager->polled);
    manager->over = NULL;
    manager->over_count = 0;
    manager->providers = NULL;
    manager->polled = NULL;
    manager->count = 0;
}
