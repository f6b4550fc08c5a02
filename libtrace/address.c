#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "libtrace/provider.h"

/* Ours, and nobody else can put a socket there.  */
static bool is_private(const char *folder)
{
    struct stat status;

    return lstat(folder, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
           (status.st_mode & 022) == 0;
}

/* The text, unless it is too long.  */
static bool put(char *out, size_t size, const char *text)
{
    size_t length = strlen(text);

    if (length >= size)
        return false;
    memcpy(out, text, length + 1);
    return true;
}

static void from_socket(struct trace_address *address, const char *socket_path)
{
    const char *slash = strrchr(socket_path, '/');

    if (!put(address->socket, sizeof address->socket, socket_path) || socket_path[0] != '/' ||
        !put(address->folder, sizeof address->folder, socket_path)) {
        address->socket[0] = '\0';
        return;
    }
    address->folder[slash == socket_path ? 1 : slash - socket_path] = '\0';
    (void)snprintf(address->bell, sizeof address->bell, "%s.bell", address->socket);
}

void trace_address_find(struct trace_address *address)
{
    const char *socket_path = secure_getenv("FXT_TRACE_SOCKET");
    const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
    char path[128];

    memset(address, 0, sizeof *address);
    if (socket_path) {
        address->trusted = true;
        from_socket(address, socket_path);
        return;
    }
    if (runtime && runtime[0] == '/')
        (void)snprintf(path, sizeof path, "%.100s/fxt/trace", runtime);
    else
        (void)snprintf(path, sizeof path, "/tmp/fxt-%u/trace", (unsigned)geteuid());
    from_socket(address, path);
}

/* A path that the environment names is trusted as the environment is; others are not.  */
static bool is_trusted(const struct trace_address *address)
{
    return address->trusted || is_private(address->folder);
}

void trace_address_look(const struct trace_address *address, struct trace_manager *manager)
{
    struct stat status;

    memset(manager, 0, sizeof *manager);
    if (stat(address->socket, &status) != 0)
        return;
    manager->device = status.st_dev;
    manager->inode = status.st_ino;
    manager->made = status.st_ctim;
}

int trace_address_listen(const struct trace_address *address)
{
    struct stat status;
    int fd = -1;

    if (is_trusted(address))
        fd = open(address->bell, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
    if (fd < 0)
        return -1;
    if (fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode) && status.st_uid == geteuid())
        return fd;
    (void)close(fd);
    return -1;
}

int trace_address_connect(const struct trace_address *address, bool *busy)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    struct ucred peer = { .uid = (uid_t)-1 };
    socklen_t size = sizeof peer;
    int fd;

    *busy = false;
    if (!is_trusted(address))
        return -1;
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    (void)put(name.sun_path, sizeof name.sun_path, address->socket);
    if (connect(fd, (const struct sockaddr *)&name, sizeof name) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
        (peer.uid == geteuid() || peer.uid == 0))
        return fd;
    *busy = peer.uid == (uid_t)-1 && errno == EAGAIN;
    (void)close(fd);
    return -1;
}
