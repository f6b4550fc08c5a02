#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libtrace/provider.h"

/* Out of the way of programs that count on low numbers.  */
static int move_up(int fd)
{
    static const int least[] = { 900, 400, 100 };

    for (size_t i = 0; i < sizeof least / sizeof *least; i++) {
        int higher = fcntl(fd, F_DUPFD_CLOEXEC, least[i]);

        if (higher >= 0) {
            (void)close(fd);
            return higher;
        }
    }
    return fd;
}

void trace_fd_take(struct trace_fd *out, int fd)
{
    struct stat status;

    out->fd = -1;
    if (fd < 0)
        return;
    fd = move_up(fd);
    if (fstat(fd, &status) != 0)
        return;
    out->device = status.st_dev;
    out->inode = status.st_ino;
    out->fd = fd;
}

bool trace_fd_is_open(const struct trace_fd *fd)
{
    struct stat status;

    return fd->fd >= 0 && fstat(fd->fd, &status) == 0 && status.st_dev == fd->device &&
           status.st_ino == fd->inode;
}

void trace_fd_close(struct trace_fd *fd)
{
    if (trace_fd_is_open(fd))
        (void)close(fd->fd);
    fd->fd = -1;
}
