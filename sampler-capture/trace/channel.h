/* channel.h - what goes between the manager and its providers: packets over SOCK_SEQPACKET, with
 * descriptors beside them.  */
#ifndef TRACE_CHANNEL_H
#define TRACE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The registry: where providers find us.  */
struct registry {
    int fd;      /* listening; -1: none */
    int lock_fd; /* one manager at a time */
    char path[108];
    bool is_first; /* nobody listened for the bell: programs take a second to notice */
};

/* Listen at $FXT_TRACE_SOCKET, or in the folder of this user's sessions.  False after a message:
 * another manager is there, or the folder is not ours.  */
bool registry_open(struct registry *registry);

/* The next connection, or -1: there is none, or (errno) there is no room for it now.  */
int registry_accept(const struct registry *registry);

/* Accepts a closed one.  */
void registry_close(struct registry *registry);

#define CHANNEL_MOST_FDS 2

/* One packet.  Length, 0: the other end is closed, -1: none now.  fds are set to -1 or to be
 * closed by the caller.  A packet longer than size has length size + 1.  */
ssize_t channel_receive(int fd, void *bytes, size_t size, int fds[CHANNEL_MOST_FDS]);

/* False when it cannot be sent now.  */
bool channel_send(int fd, const void *bytes, size_t size, const int *fds, size_t fd_count);

#endif /* TRACE_CHANNEL_H */
