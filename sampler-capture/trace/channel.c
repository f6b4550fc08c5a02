#include "sampler-capture/trace/channel.h"

#include "cmd/cli/cli.h"
#include "sampler-capture/background.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define QUEUE 4096 /* as far as the kernel allows; programs beyond it try again */

static bool find_path(char path[108])
{
    const char *named = getenv("FXT_TRACE_SOCKET");
    size_t length;

    if (named && named[0] != '\0') {
        if (named[0] != '/' || strlen(named) > 90) {
            cli_error("FXT_TRACE_SOCKET=%s is not an absolute path of at most 90 bytes", named);
            return false;
        }
        memcpy(path, named, strlen(named) + 1);
        return true;
    }
    if (!background_folder(path, 85))
        return false;
    length = strlen(path);
    (void)snprintf(path + length, 108 - length, "/trace");
    return true;
}

/* Held until the end; what it is of is for people.  */
static bool lock(struct registry *registry)
{
    char path[128];

    (void)snprintf(path, sizeof path, "%s.lock", registry->path);
    registry->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (registry->lock_fd < 0) {
        cli_error("%s: %s", path, strerror(errno));
        return false;
    }
    if (flock(registry->lock_fd, LOCK_EX | LOCK_NB) == 0)
        return true;
    if (errno == EWOULDBLOCK)
        cli_error("another session is using %s; end it first, or set FXT_TRACE_SOCKET",
                  registry->path);
    else
        cli_error("%s: %s", path, strerror(errno));
    return false;
}

/* Providers that see the name can connect: it listens before it has it.  */
static bool listen_at(struct registry *registry)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    registry->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (registry->fd < 0)
        return false;
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s.%d", registry->path,
                   (int)getpid());
    (void)unlink(address.sun_path);
    return bind(registry->fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
           listen(registry->fd, QUEUE) == 0 && rename(address.sun_path, registry->path) == 0;
}

/* Programs that wait have the other end open: they notice that somebody came and went.  */
static void ring(struct registry *registry)
{
    char bell[128];
    int fd;

    (void)snprintf(bell, sizeof bell, "%s.bell", registry->path);
    registry->is_first = mkfifo(bell, 0600) == 0;
    fd = open(bell, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0)
        (void)close(fd);
}

bool registry_open(struct registry *registry)
{
    *registry = (struct registry){ .fd = -1, .lock_fd = -1 };
    if (!find_path(registry->path) || !lock(registry))
        return false;
    if (listen_at(registry)) {
        ring(registry);
        return true;
    }
    cli_error("%s: %s", registry->path, strerror(errno));
    return false;
}

int registry_accept(const struct registry *registry)
{
    return accept4(registry->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

void registry_close(struct registry *registry)
{
    if (registry->fd >= 0) {
        (void)unlink(registry->path);
        (void)close(registry->fd);
    }
    if (registry->lock_fd >= 0)
        (void)close(registry->lock_fd);
    registry->fd = registry->lock_fd = -1;
}

/* ---- Packets ---- */

/* Descriptors that came along, the first ones; others are closed.  */
static void take_fds(struct msghdr *message, int fds[CHANNEL_MOST_FDS])
{
    size_t count = 0;

    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header;
         header = CMSG_NXTHDR(message, header)) {
        size_t there = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < there; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
            if (count < CHANNEL_MOST_FDS)
                fds[count++] = fd;
            else
                (void)close(fd);
        }
    }
}

ssize_t channel_receive(int fd, void *bytes, size_t size, int fds[CHANNEL_MOST_FDS])
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(8 * sizeof(int))];
    } control;
    struct iovec part = { bytes, size };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof control.bytes };
    ssize_t length;

    for (size_t i = 0; i < CHANNEL_MOST_FDS; i++)
        fds[i] = -1;
    length = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (length < 0)
        return errno == EAGAIN || errno == EINTR ? -1 : 0;
    take_fds(&message, fds);
    return message.msg_flags & MSG_TRUNC ? (ssize_t)size + 1 : length;
}

bool channel_send(int fd, const void *bytes, size_t size, const int *fds, size_t fd_count)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(CHANNEL_MOST_FDS * sizeof(int))];
    } control = { .bytes = { 0 } };
    struct iovec part = { (void *)bytes, size };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

    if (fd_count > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(fd_count * sizeof(int)),
                                           .cmsg_level = SOL_SOCKET,
                                           .cmsg_type = SCM_RIGHTS };
        memcpy(CMSG_DATA(&control.header), fds, fd_count * sizeof(int));
    }
    return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size;
}
