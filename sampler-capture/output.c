#include "sampler-capture/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool output_open(struct output *output, const char *path)
{
    *output = (struct output){ .fd = -1, .name = path };
    if (strcmp(path, "-") == 0) {
        output->name = "standard output";
        output->is_stdout = true;
        output->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        return output->fd >= 0;
    }
    output->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (output->fd >= 0) {
        output->path = path;
        return true;
    }
    if (errno == EEXIST)
        output->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    return output->fd >= 0;
}

void output_keep(struct output *output)
{
    struct stat status;

    output->path = NULL;
    if (!output->is_stdout && fstat(output->fd, &status) == 0 && S_ISREG(status.st_mode))
        (void)ftruncate(output->fd, 0);
}

bool output_close(struct output *output)
{
    int fd = output->fd;

    output->fd = -1;
    return close(fd) == 0;
}

void output_abandon(struct output *output)
{
    if (output->fd >= 0)
        (void)close(output->fd);
    output->fd = -1;
    if (output->path)
        (void)unlink(output->path);
}

int output_write(int fd, const void *bytes, size_t size, size_t *done)
{
    *done = 0;
    while (*done < size) {
        ssize_t n = write(fd, (const uint8_t *)bytes + *done, size - *done);
        if (n >= 0)
            *done += (size_t)n;
        else if (errno != EINTR)
            return errno;
    }
    return 0;
}
