#include "sampler-capture/heap/heap_server.h"

#include "base/file.h"
#include "cmd/cli/cli.h"
#include "sampler-capture/heap/heap_mappings.h"
#include "sampler-capture/heap/message.h"
#include "sampler-capture/heap/passing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define BACKLOG      1024
#define EVENTS       64
#define MAX_PACKET   (FIDL_MAX_MESSAGE + 1) /* one more byte shows that a packet is longer */
#define RESIDENT_MAX (UINT64_C(1) << 47)
#define BURST        256 /* packets of one connection before the others get their turn */
/* Packets in the gate, and connections in the queues, when the capture ends: more do not fit.  */
#define MAX_WAITING 4096
#define MAX_NAMES   ((off_t)64 << 20) /* bytes of the file; the rest is dropped */

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x8U
#endif

struct connection {
    struct connection *next;
    int fd;
    struct process process;
    struct mappings mappings;
    struct heap_losses *losses; /* borrowed from the mapping; NULL: it takes none */
    struct record_loss written; /* what the trace says was lost */
    uint64_t rejected;
    uint64_t ticks;    /* of the last message */
    uint64_t resident; /* bytes at most, as the trace says */
    uint64_t looked;   /* as the last look said */
};

static bool fetch_names(void *context);

/* ---- Opening ---- */

/* A file in memory that nobody can cut, as anyone who has its descriptor could one in the
 * folder.  Kernels before 6.3 know nothing of the third flag, some later ones insist on it.  */
static int make_memory(size_t size)
{
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = memfd_create("fxt-heap-losses", flags | MFD_NOEXEC_SEAL), cause;

    if (fd < 0 && errno == EINVAL)
        fd = memfd_create("fxt-heap-losses", flags);
    if (fd < 0)
        return -1;
    /* All of it, now: memory that is short later would end who writes there.  */
    errno = posix_fallocate(fd, 0, (off_t)size);
    if (errno == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return fd;
    cause = errno;
    (void)close(fd);
    errno = cause;
    return -1;
}

static bool make_losses(struct server *server)
{
    void *memory;

    server->losses_fd = make_memory(sizeof *server->losses);
    if (server->losses_fd < 0)
        return false;
    memory = mmap(NULL, sizeof *server->losses, PROT_READ | PROT_WRITE, MAP_SHARED,
                  server->losses_fd, 0);
    if (memory == MAP_FAILED)
        return false;
    server->losses = memory;
    return getrandom(server->losses->key, sizeof server->losses->key, 0) ==
           (ssize_t)sizeof server->losses->key;
}

static bool make_names(struct server *server)
{
    char path[sizeof server->folder + 16];

    (void)snprintf(path, sizeof path, "%s/" HEAP_NAMES_NAME, server->folder);
    server->names_fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    server->recorder->names_fd = server->names_fd;
    server->recorder->fetch_names = fetch_names;
    server->recorder->fetch_context = server;
    return server->names_fd >= 0;
}

/* A folder is locked by the capture that made it, as long as that lives.  */
static const char folder_prefix[] = "fxt-heap.";

/* Time between making a folder and locking it, generously.  */
#define NEW_SECONDS 60

/* Remove what is in a folder that nobody holds, and is ours.  */
static void remove_dead(int base_fd, const char *name)
{
    static const char *const files[] = { HEAP_SOCKET_NAME, HEAP_LOSSES_NAME, HEAP_NAMES_NAME };
    int fd = openat(base_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;

    if (fd < 0)
        return;
    if (fstat(fd, &status) == 0 && status.st_uid == geteuid() &&
        time(NULL) - status.st_mtime >= NEW_SECONDS && flock(fd, LOCK_EX | LOCK_NB) == 0) {
        for (size_t i = 0; i < sizeof files / sizeof *files; i++)
            (void)unlinkat(fd, files[i], 0);
        (void)unlinkat(base_fd, name, AT_REMOVEDIR);
    }
    (void)close(fd);
}

/* Captures that were killed leave their folders.  */
static void sweep(const char *base)
{
    DIR *folder = opendir(base);
    const struct dirent *entry;

    while (folder && (entry = readdir(folder)))
        if (strncmp(entry->d_name, folder_prefix, sizeof folder_prefix - 1) == 0)
            remove_dead(dirfd(folder), entry->d_name);
    if (folder)
        (void)closedir(folder);
}

/* Its name is not to be guessed while we are away: what has it in the environment may outlive
 * us.  */
static bool make_random_folder(struct server *server, const char *base)
{
    uint32_t random[3];

    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return false;
    (void)snprintf(server->folder, sizeof server->folder, "%s/%s%08x%08x%08x", base, folder_prefix,
                   random[0], random[1], random[2]);
    return mkdir(server->folder, 0700) == 0;
}

static bool make_folder(struct server *server)
{
    const char *base = getenv("TMPDIR");

    if (!base || base[0] != '/' ||
        strlen(base) + 1 + sizeof folder_prefix + 24 > sizeof server->folder)
        base = "/tmp";
    sweep(base);
    if (!make_random_folder(server, base)) {
        server->folder[0] = '\0';
        return false;
    }
    server->folder_fd = open(server->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* Where there are no locks, none sweeps.  */
    (void)flock(server->folder_fd, LOCK_EX | LOCK_NB);
    return server->folder_fd >= 0;
}

/* Out of the way of programs that count on low numbers.  */
static int move_up(int fd)
{
    static const int least[] = { 900, 400, 100 };

    for (size_t i = 0; i < sizeof least / sizeof *least; i++) {
        int higher = fcntl(fd, F_DUPFD, least[i]); /* which an exec leaves open */

        if (higher >= 0) {
            (void)close(fd);
            return higher;
        }
    }
    (void)close(fd);
    return -1;
}

/* Where there may be few descriptors only, programs need them.  */
static bool make_gate(struct server *server)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    server->gate_fd = pair[0];
    server->gate_peer_fd = move_up(pair[1]);
    server->losses_peer_fd = move_up(fcntl(server->losses_fd, F_DUPFD_CLOEXEC, 0));
    return true;
}

/* A socket in the folder; -1 with errno.  */
static int listen_at(const struct server *server, const char *name)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), cause;

    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", server->folder, name);
    if (fd < 0 ||
        (bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, BACKLOG) == 0))
        return fd;
    cause = errno;
    (void)close(fd);
    errno = cause;
    return -1;
}

static bool watch(int epoll_fd, int fd, void *what)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = what };

    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static bool open_doors(struct server *server)
{
    server->listen_fd = listen_at(server, HEAP_SOCKET_NAME);
    server->losses_listen_fd = listen_at(server, HEAP_LOSSES_NAME);
    server->doors_fd = epoll_create1(EPOLL_CLOEXEC);
    server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return server->listen_fd >= 0 && server->losses_listen_fd >= 0 && server->doors_fd >= 0 &&
           server->epoll_fd >= 0 && watch(server->doors_fd, server->listen_fd, NULL) &&
           watch(server->doors_fd, server->losses_listen_fd, NULL) &&
           watch(server->doors_fd, server->gate_fd, NULL) &&
           watch(server->epoll_fd, server->doors_fd, NULL);
}

static void measure_clocks(struct server *server)
{
    server->real_to_monotonic_ns = (int64_t)host_clock_ns(CLOCK_MONOTONIC) -
                                   (int64_t)host_clock_ns(CLOCK_REALTIME);
}

bool server_open(struct server *server, struct recorder *recorder)
{
    *server = (struct server){
        .folder_fd = -1,
        .listen_fd = -1,
        .losses_listen_fd = -1,
        .gate_fd = -1,
        .gate_peer_fd = -1,
        .losses_peer_fd = -1,
        .epoll_fd = -1,
        .doors_fd = -1,
        .names_fd = -1,
        .losses_fd = -1,
        .recorder = recorder,
    };
    measure_clocks(server);
    server->packet = malloc(MAX_PACKET);
    return server->packet && make_folder(server) && make_losses(server) && make_names(server) &&
           make_gate(server) && open_doors(server);
}

void server_peer(int peer_fd, char text[SERVER_PEER_SIZE])
{
    struct stat status;

    text[0] = '\0';
    if (peer_fd >= 0 && fstat(peer_fd, &status) == 0)
        (void)snprintf(text, SERVER_PEER_SIZE, "%d:%" PRIu64, peer_fd, (uint64_t)status.st_ino);
}

void server_key(const struct server *server, char text[SERVER_KEY_SIZE])
{
    (void)snprintf(text, SERVER_KEY_SIZE, "%016" PRIx64 "%016" PRIx64, server->losses->key[0],
                   server->losses->key[1]);
}

void server_let_go(struct server *server)
{
    base_close(&server->gate_peer_fd);
    base_close(&server->losses_peer_fd);
}

int server_fd(const struct server *server)
{
    return server->epoll_fd;
}

int server_doors_fd(const struct server *server)
{
    return server->doors_fd;
}

/* ---- Losses ---- */

/* The slot that the name of the peer's socket says; NULL: it says none.  */
static struct heap_losses *find_losses(struct server *server, int fd)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    socklen_t size = sizeof address;
    size_t folder = strlen(server->folder), start = offsetof(struct sockaddr_un, sun_path) + 1;
    char digits[HEAP_NAME_DIGITS + 1] = "";
    uint64_t number;
    uint32_t index;

    if (getpeername(fd, (struct sockaddr *)&address, &size) != 0 ||
        size != start + folder + 1 + HEAP_NAME_DIGITS || address.sun_path[0] != '\0' ||
        memcmp(address.sun_path + 1, server->folder, folder) != 0)
        return NULL;
    memcpy(digits, address.sun_path + 1 + folder + 1, HEAP_NAME_DIGITS);
    number = strtoull(digits, NULL, 16); /* whatever it is, only what is there is taken */
    index = (uint32_t)number;
    if (index >= HEAP_LOSS_SLOTS || server->slot_taken[index] || number >> 32 == 0 ||
        atomic_load(&server->losses->slots[index].serial) != number >> 32)
        return NULL;
    server->slot_taken[index] = true;
    return &server->losses->slots[index];
}

static void free_losses(struct server *server, struct heap_losses *slot)
{
    server->waits += atomic_load(&slot->waits);
    server->slot_taken[slot - server->losses->slots] = false;
    atomic_store(&slot->allocations, 0);
    atomic_store(&slot->frees, 0);
    atomic_store(&slot->infos, 0);
    atomic_store(&slot->waits, 0);
    atomic_store(&slot->no_memory, 0);
    atomic_store(&slot->forgotten, 0);
    atomic_store(&slot->resident, 0);
    atomic_store(&slot->serial, 0);
}

static void read_losses(struct record_loss *loss, const struct heap_losses *losses)
{
    loss->allocations = atomic_load(&losses->allocations);
    loss->frees = atomic_load(&losses->frees);
    loss->infos = atomic_load(&losses->infos);
    loss->no_memory = atomic_load(&losses->no_memory);
    loss->forgotten = atomic_load(&losses->forgotten);
}

/* Bring the trace from *written to *now, of the process, or of 0.  */
static bool tell_losses(struct server *server, uint64_t koid, const struct record_loss *now,
                        struct record_loss *written)
{
    if (memcmp(now, written, sizeof *now) == 0)
        return true;
    server->lost.allocations += now->allocations - written->allocations;
    server->lost.frees += now->frees - written->frees;
    server->lost.infos += now->infos - written->infos;
    server->lost.rejected += now->rejected - written->rejected;
    server->lost.no_memory += now->no_memory - written->no_memory;
    server->lost.forgotten += now->forgotten - written->forgotten;
    *written = *now;
    return recorder_loss(server->recorder, koid, host_clock_ns(CLOCK_MONOTONIC), now);
}

static bool write_losses(struct server *server, struct connection *connection)
{
    struct record_loss now = { .rejected = connection->rejected };

    if (connection->losses)
        read_losses(&now, connection->losses);
    return tell_losses(server, connection->process.koid, &now, &connection->written);
}

/* Of those that have no slot.  */
static bool write_other_losses(struct server *server)
{
    struct record_loss now = { .rejected = 0 };

    read_losses(&now, &server->losses->others);
    return tell_losses(server, 0, &now, &server->others);
}

static bool write_all_losses(struct server *server)
{
    for (struct connection *each = server->connections; each; each = each->next)
        if (!write_losses(server, each))
            return false;
    return write_other_losses(server);
}

/* ---- Memory that is resident ---- */

#define LOOK_MS 100 /* between two looks */
#define LOOKS   64  /* at so many processes each time, those that connected last */

/* Bytes at most so far; 0: it is not known, or no more.  */
static uint64_t resident_now(const struct connection *connection)
{
    static const char name[] = "VmHWM:";
    char path[64], line[256];
    uint64_t kib = 0;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%" PRIu32 "/status", connection->process.pid);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, sizeof name - 1) == 0)
            kib = strtoull(line + sizeof name - 1, NULL, 10);
    if (file)
        (void)fclose(file);
    return kib < UINT64_MAX / 1024 ? 1024 * kib : 0;
}

static bool tell_resident(struct server *server, struct connection *connection, uint64_t bytes)
{
    if (bytes <= connection->resident)
        return true;
    connection->resident = bytes;
    return recorder_resident(server->recorder, connection->process.koid,
                             host_clock_ns(CLOCK_MONOTONIC), bytes);
}

/* A row for a sixteenth more each time is enough, and at the end one of the last look.  */
static bool look_at_memory(struct server *server)
{
    uint64_t now_ns = host_clock_ns(CLOCK_MONOTONIC);
    unsigned count = 0;

    if (now_ns - server->looked_ns < LOOK_MS * UINT64_C(1000000))
        return true;
    server->looked_ns = now_ns;
    for (struct connection *each = server->connections; each && count < LOOKS; each = each->next) {
        uint64_t bytes = resident_now(each);

        count++;
        if (bytes > each->resident + each->resident / 16 && !tell_resident(server, each, bytes))
            return false;
        if (bytes > each->looked)
            each->looked = bytes;
    }
    return true;
}

/* The process has ended, most likely: what it told itself, or the last look.  */
static bool tell_last_resident(struct server *server, struct connection *connection)
{
    uint64_t bytes = connection->losses ? atomic_load(&connection->losses->resident) : 0;
    uint64_t now = resident_now(connection); /* one that goes on */

    if (bytes > RESIDENT_MAX)
        bytes = 0; /* of a process that writes there what it likes */
    if (bytes < connection->looked)
        bytes = connection->looked;
    return tell_resident(server, connection, bytes > now ? bytes : now);
}

/* ---- Connections ---- */

static bool begin_connection(struct server *server, int fd)
{
    struct connection *connection = calloc(1, sizeof *connection);
    struct ucred peer = { 0, 0, 0 };
    socklen_t size = sizeof peer;
    int on = 1;

    if (!connection) {
        (void)close(fd);
        return false;
    }
    connection->fd = fd;
    connection->next = server->connections;
    server->connections = connection;
    (void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
    (void)setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
    connection->process.pid = (uint32_t)peer.pid;
    if (!id_table_begin(&server->incarnations, connection->process.pid, connection,
                        &connection->process.koid))
        return false;
    connection->losses = find_losses(server, fd);
    return watch(server->epoll_fd, fd, connection) &&
           recorder_process(server->recorder, &connection->process);
}

static bool end_connection(struct server *server, struct connection *connection)
{
    struct connection **link = &server->connections;
    bool fine = write_losses(server, connection) && tell_last_resident(server, connection);

    if (connection->losses)
        free_losses(server, connection->losses);
    while (*link != connection)
        link = &(*link)->next;
    *link = connection->next;
    /* A process may hold a copy of a socket that it made itself: closing ours does not end the
     * watch, which names the connection.  */
    (void)epoll_ctl(server->epoll_fd, EPOLL_CTL_DEL, connection->fd, NULL);
    (void)close(connection->fd);
    process_release(&connection->process);
    mappings_release(&connection->mappings);
    free(connection);
    return fine;
}

static bool accept_some(struct server *server, unsigned most)
{
    for (unsigned count = 0; count < most; count++) {
        int fd = accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0)
            return true; /* none is left, or no descriptor for it: it is tried again */
        if (!begin_connection(server, fd))
            return false;
    }
    return true;
}

/* ---- Those who have only the folder: the file of losses ---- */

static void send_losses(struct server *server, int fd)
{
    server->refused += !passing_send(fd, HEAP_GATE_LOSSES, server->losses_fd);
}

static void serve_losses(struct server *server, unsigned most)
{
    for (unsigned count = 0; count < most; count++) {
        int fd = accept4(server->losses_listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0)
            return;
        send_losses(server, fd);
        (void)close(fd);
    }
}

/* ---- The gate ---- */

static bool is_of_ours(int fd)
{
    int domain = 0, type = 0;
    socklen_t size = sizeof domain;

    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX &&
           getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

/* Whole lines, which the file has room for.  */
static void take_names(const struct server *server, const char *lines, size_t length)
{
    struct stat status;

    if (length > 0 && lines[length - 1] == '\n' && fstat(server->names_fd, &status) == 0 &&
        status.st_size <= MAX_NAMES - HEAP_GATE_MAX_NAMES)
        (void)!write(server->names_fd, lines, length);
}

/* A process wants something, and has sent where.  False when the trace cannot go on.  */
static bool admit(struct server *server, char kind, int fd)
{
    if (fd < 0) { /* we have none left for it */
        server->refused++;
        return true;
    }
    if (kind == HEAP_GATE_CONNECTION && is_of_ours(fd))
        return begin_connection(server, fd);
    if (kind == HEAP_GATE_LOSSES && is_of_ours(fd))
        send_losses(server, fd);
    (void)close(fd);
    return true;
}

static bool admit_some(struct server *server, unsigned most)
{
    static char packet[1 + HEAP_GATE_MAX_NAMES + 1]; /* one more byte shows that it is longer */

    for (unsigned count = 0; count < most; count++) {
        int fd;
        ssize_t size = passing_receive(server->gate_fd, packet, sizeof packet, &fd);

        if (size < 0 && errno != EINTR)
            return true;
        if (size == 0 && passing_is_at_end(server->gate_fd)) {
            /* Nobody has it any more, and it would be ready for ever.  */
            (void)epoll_ctl(server->doors_fd, EPOLL_CTL_DEL, server->gate_fd, NULL);
            return true;
        }
        if (size > 1 && size < (ssize_t)sizeof packet && packet[0] == HEAP_GATE_NAMES) {
            take_names(server, packet + 1, (size_t)size - 1);
            base_close(&fd);
        } else if (size >= 0 && !admit(server, size == 1 ? packet[0] : '\0', fd)) {
            return false;
        }
    }
    return true;
}

/* A message may arrive before the names that were sent earlier, if the gate was looked at in
 * between.  */
static bool fetch_names(void *context)
{
    return admit_some(context, SERVER_BURST);
}

/* ---- Packets ---- */

/* When the packet was sent, by the kernel; those sent before the connection was accepted have no
 * time and get the present one.  */
static uint64_t time_of(const struct server *server, struct msghdr *header)
{
    struct timespec time;

    for (struct cmsghdr *part = CMSG_FIRSTHDR(header); part; part = CMSG_NXTHDR(header, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_TIMESTAMPNS)
            continue;
        memcpy(&time, CMSG_DATA(part), sizeof time);
        return (uint64_t)((int64_t)time.tv_sec * 1000000000 + time.tv_nsec +
                          server->real_to_monotonic_ns);
    }
    return host_clock_ns(CLOCK_MONOTONIC);
}

enum received {
    RECEIVED_PACKET,
    RECEIVED_NOTHING,
    RECEIVED_END,
};

static enum received receive(struct server *server, struct connection *connection, size_t *length)
{
    union passing_room control;
    struct iovec where = { .iov_base = server->packet, .iov_len = MAX_PACKET };
    struct msghdr header = { .msg_iov = &where,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control };
    uint64_t ticks;
    ssize_t size;
    int fd;

    do
        size = recvmsg(connection->fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (size < 0 && errno == EINTR);
    if (size < 0)
        return errno == EAGAIN ? RECEIVED_NOTHING : RECEIVED_END;
    fd = passing_take(&header); /* of no use */
    base_close(&fd);
    if (size == 0) /* an empty packet is no message either, and cannot be told from the end */
        return RECEIVED_END;
    ticks = time_of(server, &header);
    if (ticks > connection->ticks)
        connection->ticks = ticks;
    *length = (size_t)size;
    return RECEIVED_PACKET;
}

struct mapper {
    struct server *server;
    struct connection *connection;
};

static bool write_mapping(void *context, bool is_release, uint64_t address, uint64_t size,
                          const uint64_t *frames, size_t count)
{
    const struct mapper *mapper = context;

    return recorder_mapping(mapper->server->recorder, &mapper->connection->process,
                            mapper->connection->ticks, is_release, address, size, frames, count);
}

/* Take one packet.  *open says whether the connection goes on.  */
static bool take_packet(struct server *server, struct connection *connection, size_t length,
                        bool *open)
{
    struct mapper mapper = { server, connection };
    uint64_t frames[HEAP_MAX_FRAMES];
    struct fidl_message message;
    struct heap_mapping call;
    const char *why;

    server->packets++;
    if (mappings_read(server->packet, length, &call, frames)) {
        enum mappings_status status = mappings_apply(&connection->mappings, &call, frames,
                                                     write_mapping, &mapper);

        if (status == MAPPINGS_TOO_MANY) {
            connection->rejected++;
            *open = false;
        }
        return status == MAPPINGS_OK || status == MAPPINGS_TOO_MANY;
    }
    switch (message_judge(server->packet, length, &message, &why)) {
    case MESSAGE_ACCEPTED:
        return recorder_message(server->recorder, &connection->process, connection->ticks,
                                server->packet, length, &message);
    case MESSAGE_SKIPPED:
        break;
    case MESSAGE_REJECTED:
        if (!server->warned) /* once: whoever does it may do it for ever */
            cli_warning("process %u sent an invalid message, and its connection was closed: %s",
                        connection->process.pid, why);
        server->warned = true;
        connection->rejected++;
        *open = false;
        break;
    }
    return true;
}

/* Take what a connection has, at most a burst unless all is set.  */
static bool drain(struct server *server, struct connection *connection, bool all)
{
    bool open = true;

    for (unsigned count = 0; open && (all || count < BURST); count++) {
        size_t length;
        enum received received = receive(server, connection, &length);

        if (received == RECEIVED_NOTHING)
            return true;
        if (received == RECEIVED_END)
            open = false;
        else if (!take_packet(server, connection, length, &open))
            return false;
    }
    return open || end_connection(server, connection);
}

bool server_round(struct server *server, bool last)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(server->epoll_fd, events, EVENTS, 0);
    unsigned most = last ? MAX_WAITING : SERVER_BURST;

    measure_clocks(server);
    serve_losses(server, most);
    if (!accept_some(server, most) || !admit_some(server, most))
        return false;
    for (int i = 0; i < count; i++)
        if (events[i].data.ptr && !drain(server, events[i].data.ptr, false))
            return false;
    if (!last)
        return write_all_losses(server) && look_at_memory(server);
    for (struct connection *each = server->connections, *next; each; each = next) {
        next = each->next;
        server->running += !passing_is_at_end(each->fd);
        (void)shutdown(each->fd, SHUT_RD); /* what has been sent is still there */
        if (!drain(server, each, true))
            return false;
    }
    return write_other_losses(server);
}

static void remove_file(const struct server *server, const char *name)
{
    char path[sizeof server->folder + 16];

    (void)snprintf(path, sizeof path, "%s/%s", server->folder, name);
    (void)unlink(path);
}

void server_release(struct server *server)
{
    if (server->losses)
        atomic_store(&server->losses->over, 1);
    while (server->connections)
        (void)end_connection(server, server->connections);
    if (server->folder[0]) {
        remove_file(server, HEAP_SOCKET_NAME);
        remove_file(server, HEAP_LOSSES_NAME);
        remove_file(server, HEAP_NAMES_NAME);
        (void)rmdir(server->folder);
    }
    if (server->losses) {
        server->waits += atomic_load(&server->losses->others.waits);
        server->closed = atomic_load(&server->losses->closed);
        server->confined = atomic_load(&server->losses->confined);
        server->unconnected = atomic_load(&server->losses->unconnected) + server->refused;
        server->unseen = atomic_load(&server->losses->unseen);
        server->foreign = atomic_load(&server->losses->foreign);
        for (size_t i = 0; i < PROGRAM_KINDS; i++)
            server->started[i] = atomic_load(&server->losses->started[i]);
        (void)munmap(server->losses, sizeof *server->losses);
    }
    base_close(&server->listen_fd);
    base_close(&server->losses_listen_fd);
    base_close(&server->gate_fd);
    server_let_go(server);
    base_close(&server->losses_fd);
    base_close(&server->epoll_fd);
    base_close(&server->doors_fd);
    base_close(&server->names_fd);
    base_close(&server->folder_fd);
    id_table_release(&server->incarnations);
    free(server->packet);
}
