#include "sampler-capture/heap/passing.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

bool passing_send(int socket, char kind, int fd)
{
    union {
        struct cmsghdr aligned;
        char bytes[CMSG_SPACE(sizeof(int))];
    } passed = { .bytes = { 0 } };
    struct iovec what = { .iov_base = &kind, .iov_len = 1 };
    struct msghdr header = {
        .msg_iov = &what, .msg_iovlen = 1, .msg_control = &passed, .msg_controllen = sizeof passed
    };
    struct cmsghdr *part = CMSG_FIRSTHDR(&header);

    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(part), &fd, sizeof fd);
    return sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

int passing_take(struct msghdr *header)
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

ssize_t passing_receive(int socket, char *packet, size_t size, int *fd)
{
    union passing_room room;
    struct iovec where = { .iov_base = packet, .iov_len = size };
    struct msghdr header = {
        .msg_iov = &where, .msg_iovlen = 1, .msg_control = &room, .msg_controllen = sizeof room
    };
    ssize_t length = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    *fd = length < 0 ? -1 : passing_take(&header);
    return length;
}

bool passing_is_at_end(int socket)
{
    struct pollfd asked = { .fd = socket };

    return poll(&asked, 1, 0) == 1 && (asked.revents & POLLHUP);
}
