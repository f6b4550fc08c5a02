#include "sampler-capture/heap/server.h"

#include "cmd/cli/cli.h"
#include "sampler-capture/heap/message.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
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

#define BACKLOG    1024
#define EVENTS     64
#define MAX_PACKET (FIDL_MAX_MESSAGE + 1) /* one more byte shows that a packet is longer */
#define BURST      256 /* packets of one connection before the others get their turn */

struct connection {
    struct connection *next;
    int fd;
    struct process process;
    struct heap_losses *losses; /* borrowed from the mapping; NULL: it takes none */
    struct record_loss written; /* what the trace says was lost */
    uint64_t rejected;
    uint64_t ticks; /* of the last message */
};

/* ---- Opening ---- */

static bool map_losses(struct server *server)
{
    char path[sizeof server->folder + 16];
    void *memory = MAP_FAILED;
    int fd, cause;

    (void)snprintf(path, sizeof path, "%s/" HEAP_LOSSES_NAME, server->folder);
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    /* All of it, now: a disk that is full later would end who writes there.  */
    errno = posix_fallocate(fd, 0, sizeof *server->losses);
    if (errno == 0)
        memory = mmap(NULL, sizeof *server->losses, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    cause = errno;
    server->losses_fd = fd;
    errno = cause;
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
    server->names_fd = open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    server->recorder->names_fd = server->names_fd;
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
    return true;
}

static bool watch(struct server *server, int fd, void *what)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = what };

    return epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void measure_clocks(struct server *server)
{
    server->real_to_monotonic_ns = (int64_t)host_clock_ns(CLOCK_MONOTONIC) -
                                   (int64_t)host_clock_ns(CLOCK_REALTIME);
}

bool server_open(struct server *server, struct recorder *recorder)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    *server = (struct server){
        .folder_fd = -1,
        .listen_fd = -1,
        .gate_fd = -1,
        .gate_peer_fd = -1,
        .epoll_fd = -1,
        .names_fd = -1,
        .losses_fd = -1,
        .recorder = recorder,
    };
    measure_clocks(server);
    server->packet = malloc(MAX_PACKET);
    if (!server->packet || !make_folder(server) || !map_losses(server) || !make_names(server) ||
        !make_gate(server))
        return false;
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/" HEAP_SOCKET_NAME,
                   server->folder);
    server->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return server->listen_fd >= 0 && server->epoll_fd >= 0 &&
           bind(server->listen_fd, (struct sockaddr *)&address, sizeof address) == 0 &&
           listen(server->listen_fd, BACKLOG) == 0 && watch(server, server->listen_fd, NULL) &&
           watch(server, server->gate_fd, NULL);
}

void server_gate(const struct server *server, char text[SERVER_GATE_SIZE])
{
    struct stat status;

    text[0] = '\0';
    if (server->gate_peer_fd >= 0 && fstat(server->gate_peer_fd, &status) == 0)
        (void)snprintf(text, SERVER_GATE_SIZE, "%d:%" PRIu64, server->gate_peer_fd,
                       (uint64_t)status.st_ino);
}

void server_key(const struct server *server, char text[SERVER_KEY_SIZE])
{
    (void)snprintf(text, SERVER_KEY_SIZE, "%016" PRIx64 "%016" PRIx64, server->losses->key[0],
                   server->losses->key[1]);
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

void server_let_go(struct server *server)
{
    close_fd(&server->gate_peer_fd);
}

int server_fd(const struct server *server)
{
    return server->epoll_fd;
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
    return watch(server, fd, connection) &&
           recorder_process(server->recorder, &connection->process);
}

static bool end_connection(struct server *server, struct connection *connection)
{
    struct connection **link = &server->connections;
    bool fine = write_losses(server, connection);

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
    free(connection);
    return fine;
}

static bool accept_all(struct server *server)
{
    for (;;) {
        int fd = accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0)
            return true; /* none is left, or no descriptor for it: it is tried again */
        if (!begin_connection(server, fd))
            return false;
    }
}

/* ---- The gate ---- */

/* Whether nobody can send there any more.  */
static bool is_at_end(int fd)
{
    struct pollfd asked = { .fd = fd };

    return poll(&asked, 1, 0) == 1 && (asked.revents & POLLHUP);
}

static bool is_of_ours(int fd)
{
    int domain = 0, type = 0;
    socklen_t size = sizeof domain;

    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX &&
           getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

/* False if whoever asked has not waited.  */
static bool send_losses(const struct server *server, int fd)
{
    union {
        struct cmsghdr aligned;
        char bytes[CMSG_SPACE(sizeof(int))];
    } passed = { .bytes = { 0 } };
    char byte = HEAP_GATE_LOSSES;
    struct iovec what = { .iov_base = &byte, .iov_len = 1 };
    struct msghdr header = {
        .msg_iov = &what, .msg_iovlen = 1, .msg_control = &passed, .msg_controllen = sizeof passed
    };
    struct cmsghdr *part = CMSG_FIRSTHDR(&header);

    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof server->losses_fd);
    memcpy(CMSG_DATA(part), &server->losses_fd, sizeof server->losses_fd);
    return sendmsg(fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

/* The first descriptor that came along, -1 if none did; others are closed.  */
static int take_passed(struct msghdr *header)
{
    int taken = -1;

    for (struct cmsghdr *part = CMSG_FIRSTHDR(header); part; part = CMSG_NXTHDR(header, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t at = 0; at + sizeof(int) <= part->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
            int fd;

            memcpy(&fd, CMSG_DATA(part) + at, sizeof fd);
            if (taken < 0)
                taken = fd;
            else
                (void)close(fd);
        }
    }
    return taken;
}

/* What came through the gate, with a descriptor or not.  False when the trace cannot go on.  */
static bool admit(struct server *server, char kind, int fd)
{
    if (fd < 0) { /* we have none left for it */
        server->refused++;
        return true;
    }
    if (kind == HEAP_GATE_CONNECTION && is_of_ours(fd))
        return begin_connection(server, fd);
    if (kind == HEAP_GATE_LOSSES && is_of_ours(fd) && !send_losses(server, fd))
        server->refused++;
    (void)close(fd);
    return true;
}

static bool admit_all(struct server *server)
{
    for (;;) {
        union {
            struct cmsghdr aligned;
            char bytes[512];
        } control;
        char kind[2];
        struct iovec where = { .iov_base = kind, .iov_len = sizeof kind };
        struct msghdr header = { .msg_iov = &where,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = sizeof control };
        ssize_t size = recvmsg(server->gate_fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

        if (size < 0 && errno != EINTR)
            return true;
        if (size == 0 && is_at_end(server->gate_fd)) {
            /* Nobody has it any more, and it would be ready for ever.  */
            (void)epoll_ctl(server->epoll_fd, EPOLL_CTL_DEL, server->gate_fd, NULL);
            return true;
        }
        if (size >= 0 && !admit(server, size == 1 ? kind[0] : '\0', take_passed(&header)))
            return false;
    }
}

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
    union {
        struct cmsghdr aligned;
        char bytes[512];
    } control;
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
    fd = take_passed(&header); /* of no use */
    close_fd(&fd);
    if (size == 0) /* an empty packet is no message either, and cannot be told from the end */
        return RECEIVED_END;
    ticks = time_of(server, &header);
    if (ticks > connection->ticks)
        connection->ticks = ticks;
    *length = (size_t)size;
    return RECEIVED_PACKET;
}

/* Take one packet.  *open says whether the connection goes on.  */
static bool take_packet(struct server *server, struct connection *connection, size_t length,
                        bool *open)
{
    struct fidl_message message;
    const char *why;

    server->packets++;
    switch (message_judge(server->packet, length, &message, &why)) {
    case MESSAGE_ACCEPTED:
        return recorder_message(server->recorder, &connection->process, connection->ticks,
                                server->packet, length, &message);
    case MESSAGE_SKIPPED:
        break;
    case MESSAGE_REJECTED:
        if (!server->warned) /* once: whoever does it may do it for ever */
            cli_warning("process %u sent what is no message, and is not listened to any more: %s",
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

    measure_clocks(server);
    if (!accept_all(server) || !admit_all(server))
        return false;
    for (int i = 0; i < count; i++)
        if (events[i].data.ptr && !drain(server, events[i].data.ptr, false))
            return false;
    if (!last)
        return write_all_losses(server);
    for (struct connection *each = server->connections, *next; each; each = next) {
        next = each->next;
        server->running += !is_at_end(each->fd);
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
    close_fd(&server->listen_fd);
    close_fd(&server->gate_fd);
    close_fd(&server->gate_peer_fd);
    close_fd(&server->losses_fd);
    close_fd(&server->epoll_fd);
    close_fd(&server->names_fd);
    close_fd(&server->folder_fd);
    id_table_release(&server->incarnations);
    free(server->packet);
}
