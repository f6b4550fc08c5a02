/* passing.h - descriptors that are sent through sockets (unix(7), SCM_RIGHTS).  */
#ifndef HEAP_PASSING_H
#define HEAP_PASSING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Room for what comes along with a packet.  */
union passing_room {
    struct cmsghdr aligned;
    char bytes[512];
};

/* Send one byte with the descriptor, without waiting.  False if the socket has no room for it, or
 * its other end is closed.  */
bool passing_send(int socket, char kind, int fd);

/* The first descriptor that came along, -1 if none did; the caller closes it.  Others are
 * closed.  */
int passing_take(struct msghdr *header);

/* Receive a packet without waiting, and the descriptor that came along, or -1.  Returns the size of
 * the packet, at most size; -1 with errno.  */
ssize_t passing_receive(int socket, char *packet, size_t size, int *fd);

/* Whether nobody can send to the socket any more.  */
bool passing_is_at_end(int socket);

#endif /* HEAP_PASSING_H */
