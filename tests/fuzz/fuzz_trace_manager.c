/* What hostile providers may send to the manager: sampler-capture/trace/manager.c.
 *
 * The input is commands to up to three providers: to register, to send packets and messages (also
 * ones that are none), to write to their buffers, also while the manager copies them, to close.
 *
 * - The session ends, whatever was sent.
 * - Whole records go to the output, no metadata, each after its provider was introduced.  */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fxt/fidl_provider.h>
#include <fxt/fxt.h>

#include "cmd/cli/cli.h"
#include "sampler-capture/background.h"
#include "sampler-capture/host.h"
#include "sampler-capture/trace/manager.h"
#include "tests/fuzz/support.h"

enum { PROVIDERS = 3, BUFFER = 8192 };

struct bytes {
    const uint8_t *at;
    size_t left;
};

struct provider_end {
    int registry, channel, fifo; /* -1: none */
    uint8_t *buffer;             /* NULL: none */
};

static struct provider_end providers[PROVIDERS];
static struct bytes later; /* to be written to buffers while they are copied */
static struct manager manager;
static char socket_path[64];

static unsigned take(struct bytes *bytes)
{
    if (bytes->left == 0)
        return 0;
    bytes->left--;
    return *bytes->at++;
}

static struct bytes take_some(struct bytes *bytes, size_t most)
{
    size_t length = take(bytes);
    struct bytes some;

    length = length < most ? length : most;
    length = length < bytes->left ? length : bytes->left;
    some = (struct bytes){ bytes->at, length };
    bytes->at += length;
    bytes->left -= length;
    return some;
}

static void close_one(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

/* ---- Providers ---- */

static void send_to(int fd, const void *bytes, size_t length, int handle)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = { .bytes = { 0 } };
    struct iovec part = { (void *)bytes, length };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

    if (handle >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
                                           .cmsg_level = SOL_SOCKET,
                                           .cmsg_type = SCM_RIGHTS };
        memcpy(CMSG_DATA(&control.header), &handle, sizeof handle);
    }
    if (fd >= 0)
        (void)sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void connect_one(struct provider_end *provider)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    if (provider->registry >= 0 || provider->channel >= 0)
        return;
    provider->registry = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    memcpy(address.sun_path, manager.registry.path, sizeof manager.registry.path);
    if (connect(provider->registry, (const struct sockaddr *)&address, sizeof address) != 0)
        close_one(&provider->registry);
}

/* As it should be, or with the bytes of the input.  */
static void register_one(struct provider_end *provider, struct bytes name, bool plain)
{
    const struct fidl_provider_message message = {
        .method = FIDL_REGISTRY_REGISTER,
        .pid = 7,
        .name = { (const char *)name.at, (uint32_t)name.left },
    };
    uint8_t bytes[512];
    size_t length = 0;
    int ends[2];

    if (provider->registry < 0 || provider->channel >= 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
        return;
    if (!plain)
        send_to(provider->registry, name.at, name.left, ends[1]);
    else if (fidl_provider_encode(&message, NULL, 0, bytes, sizeof bytes, &length) == FIDL_OK)
        send_to(provider->registry, bytes, length, ends[1]);
    (void)close(ends[1]);
    provider->channel = ends[0];
    close_one(&provider->registry);
}

/* Take what the manager sent: with Initialize comes the buffer.  */
static void receive(struct provider_end *provider)
{
    uint8_t bytes[4096];
    int fds[CHANNEL_MOST_FDS];

    while (provider->channel >= 0 &&
           channel_receive(provider->channel, bytes, sizeof bytes, fds) > 0) {
        if (fds[0] >= 0 && !provider->buffer) {
            void *memory = mmap(NULL, BUFFER, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);

            provider->buffer = memory == MAP_FAILED ? NULL : memory;
        }
        close_one(&fds[0]);
        if (fds[1] >= 0 && provider->fifo < 0)
            provider->fifo = fds[1];
        else
            close_one(&fds[1]);
    }
    while (provider->fifo >= 0 && channel_receive(provider->fifo, bytes, 16, fds) > 0)
        continue;
}

static void write_bytes(struct provider_end *provider, size_t at, struct bytes bytes)
{
    at %= BUFFER;
    if (provider->buffer)
        memcpy(provider->buffer + at, bytes.at,
               bytes.left < BUFFER - at ? bytes.left : BUFFER - at);
}

/* The header of a buffer that is sound, so that what follows is looked at.  */
static void write_header(struct provider_end *provider, unsigned wrapped, unsigned ends)
{
    uint64_t room = BUFFER - TRACE_HEADER_BYTES, durable = room / 16;
    uint64_t words[9] = { TRACE_BUFFER_MAGIC,
                          (uint64_t)manager.options->mode << 16 | (uint64_t)wrapped << 32,
                          BUFFER,
                          0,
                          room,
                          0,
                          0,
                          0,
                          ends & 15 };

    if (manager.options->mode != TRACE_ONESHOT) {
        durable += (room - durable) & 15;
        words[3] = durable;
        words[4] = (room - durable) / 2;
        words[5] = ends & 1 ? 16 : 0;
    }
    words[6] = ends & 2 ? words[4] / 8 * 8 : 0;
    words[7] = ends & 4 && manager.options->mode != TRACE_ONESHOT ? words[4] / 8 * 8 : 0;
    write_bytes(provider, 0, (struct bytes){ (const uint8_t *)words, sizeof words });
}

static void send_packet(struct provider_end *provider, unsigned request, unsigned number)
{
    const struct trace_packet packet = { .request = (uint16_t)request,
                                         .data32 = number,
                                         .data64 = request == TRACE_PACKET_SAVE_BUFFER ? 16 : 0 };

    send_to(provider->fifo, &packet, sizeof packet, -1);
}

static void end_provider(struct provider_end *provider)
{
    close_one(&provider->registry);
    close_one(&provider->channel);
    close_one(&provider->fifo);
    if (provider->buffer)
        (void)munmap(provider->buffer, BUFFER);
    provider->buffer = NULL;
}

/* ---- Commands ---- */

static void command(struct bytes *input)
{
    unsigned what = take(input), who = what >> 4 & 3;
    struct provider_end *provider = &providers[who % PROVIDERS];

    receive(provider);
    switch (what & 15) {
    case 0:
        connect_one(provider);
        break;
    case 1:
    case 2:
        register_one(provider, take_some(input, 100), (what & 15) == 1);
        break;
    case 3:
        send_packet(provider, TRACE_PACKET_STARTED, TRACE_PROTOCOL_VERSION);
        break;
    case 4:
        send_packet(provider, TRACE_PACKET_STOPPED, 0);
        break;
    case 5:
        send_packet(provider, TRACE_PACKET_SAVE_BUFFER, take(input));
        break;
    case 6: {
        struct bytes some = take_some(input, 40);

        send_to(provider->fifo, some.at, some.left, -1);
        break;
    }
    case 7: {
        struct bytes some = take_some(input, 200);

        send_to(provider->channel, some.at, some.left, -1);
        break;
    }
    case 8: {
        unsigned wrapped = take(input), ends = take(input);

        write_header(provider, wrapped, ends);
        break;
    }
    case 9: {
        size_t at = take(input) << 5;

        write_bytes(provider, at, take_some(input, 255));
        break;
    }
    case 10:
        later = take_some(input, 255);
        break;
    case 11:
        end_provider(provider);
        break;
    case 12:
        close_one(&provider->fifo);
        break;
    case 13:
        close_one(&provider->channel);
        break;
    default:
        break;
    }
    manager_round(&manager, -1, 0);
}

/* ---- What the manager needs ---- */

static bool introduced[1 << 16];
static uint32_t current; /* provider of the output; 0: none */

/* Whole records of a provider that was introduced, not of metadata; while they are written, the
 * buffer changes.  */
bool stream_raw(struct stream *stream, const void *records, size_t size)
{
    const uint8_t *bytes = records;

    (void)stream;
    HOLD(current != 0 && size > 0 && size <= 512 << 10);
    for (size_t at = 0; at < size;) {
        uint64_t header, length;

        HOLD(size - at >= 8);
        header = fxt_load_u64(bytes + at);
        length = 8 * ((header & 15) == 15 ? header >> 4 & 0xffffffff : header >> 4 & 0xfff);
        HOLD((header & 15) != 0 && length > 0 && length <= size - at);
        at += length;
    }
    for (unsigned i = 0; i < PROVIDERS && later.left > 0; i++) {
        size_t at = 128 + (size_t)take(&later) * 16;

        write_bytes(&providers[i], at, take_some(&later, 64));
    }
    return true;
}

bool stream_introduce(struct stream *stream, uint32_t id, const char *name)
{
    (void)stream;
    HOLD(id > 0 && id < 1 << 16 && !introduced[id] && strlen(name) <= 100);
    introduced[id] = true;
    current = id;
    return true;
}

bool stream_switch(struct stream *stream, uint32_t id)
{
    (void)stream;
    HOLD(id == TRACE_TOOL_PROVIDER || (id > 0 && id < 1 << 16 && introduced[id]));
    current = id;
    return true;
}

bool stream_provider_loss(struct stream *stream, uint32_t id)
{
    (void)stream;
    HOLD(introduced[id]);
    return true;
}

struct fxt_arg stream_number(const char *name, uint64_t value)
{
    return (
        struct fxt_arg){ .name = fxt_inline(name), .type = FXT_ARG_UINT64, .value.uint64 = value };
}

bool stream_event(struct stream *stream, unsigned type, const char *name, uint64_t ticks,
                  uint64_t id, const struct fxt_arg *args, size_t arg_count)
{
    (void)stream;
    (void)type;
    (void)ticks;
    (void)args;
    HOLD(current == TRACE_TOOL_PROVIDER && name[0] != '\0' && introduced[id] && arg_count == 2);
    return true;
}

/* Time stands still, until the end, where it is never too early.  */
static uint64_t clock_ns;

uint64_t host_clock_ns(clockid_t clock)
{
    (void)clock;
    return clock_ns;
}

void cli_warning(const char *format, ...)
{
    HOLD(format[0] != '\0');
}

void cli_error(const char *format, ...)
{
    HOLD(format[0] != '\0');
}

void *cli_allocate(size_t count, size_t size)
{
    return fuzz_allocate(count * size);
}

bool background_folder(char *path, size_t size)
{
    HOLD(path && size == 0); /* $FXT_TRACE_SOCKET says where */
    return false;
}

/* ---- A session ---- */

static void begin(struct recording_options *options, unsigned mode)
{
    (void)snprintf(socket_path, sizeof socket_path, "/tmp/fuzz-trace-%d", (int)getpid());
    (void)setenv("FXT_TRACE_SOCKET", socket_path, 1);
    *options = (struct recording_options){ .mode = (enum trace_mode)(mode % 3),
                                           .buffer_bytes = BUFFER,
                                           .wait_ns = 1000 };
    memset(introduced, 0, sizeof introduced);
    current = 0;
    clock_ns = 1000;
    later = (struct bytes){ NULL, 0 };
    for (unsigned i = 0; i < PROVIDERS; i++)
        providers[i] = (struct provider_end){ -1, -1, -1, NULL };
    HOLD(manager_open(&manager, options));
    manager.stream = (struct stream *)(void *)&current; /* any but NULL: what it says comes here */
    manager.phase = PHASE_STARTED;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes input = { data, size };
    struct recording_options options;
    unsigned rounds = 0;

    if (size == 0)
        return 0;
    begin(&options, take(&input));
    while (input.left > 0 && !manager.failed)
        command(&input);
    manager_stop(&manager);
    for (; !manager_is_over(&manager) && !manager.failed; rounds++) {
        HOLD(rounds < 100);
        clock_ns += 2000;
        manager_round(&manager, -1, 0);
    }
    manager_close(&manager);
    for (unsigned i = 0; i < PROVIDERS; i++)
        end_provider(&providers[i]);
    (void)unlink(socket_path);
    return 0;
}
