#include <fcntl.h>
#include <stdio.h>
#include <sys/eventfd.h>
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

/* ---- What wakes a thread ---- */

/* The end to read from, and the pipe once more, for both directions.  False: there are too few
 * descriptors, there is no /proc, or it is not for us.  */
static bool make_pipe(int *in, int *both)
{
    char path[40];
    int ends[2];

    if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0)
        return false;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    *in = ends[0];
    *both = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    (void)close(ends[1]);
    if (*both < 0)
        (void)close(ends[0]);
    return *both >= 0;
}

bool trace_wake_make(struct trace_wake *wake)
{
    int in, both;

    *wake = (struct trace_wake)TRACE_NO_WAKE;
    if (make_pipe(&in, &both)) {
        trace_fd_take(&wake->out, both);
        trace_fd_take(&wake->in, in);
        return true;
    }
    trace_fd_take(&wake->in, eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    wake->out = wake->in;
    return wake->in.fd >= 0;
}

bool trace_wake_is_open(const struct trace_wake *wake)
{
    return trace_fd_is_open(&wake->in) && trace_fd_is_open(&wake->out);
}

/* A pipe that is full wakes as well.  */
void trace_wake_ring(const struct trace_wake *wake)
{
    static const uint64_t once = 1; /* in the form that an eventfd takes */

    if (trace_fd_is_open(&wake->out))
        (void)!write(wake->out.fd, &once, sizeof once);
}

void trace_wake_read(const struct trace_wake *wake)
{
    char bytes[512];

    if (trace_fd_is_open(&wake->in))
        (void)!read(wake->in.fd, bytes, sizeof bytes);
}

void trace_wake_close(struct trace_wake *wake)
{
    if (wake->out.fd != wake->in.fd)
        trace_fd_close(&wake->out);
    trace_fd_close(&wake->in);
    wake->out.fd = -1;
}
