#include "sampler-capture/capture_output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cli/cli.h"

/* A file without a name in the folder of path, which it can get later; -1 where file systems or the
 * lack of /proc forbid that.  */
static int open_unnamed(const char *path)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX] = ".";
    struct stat status;

    if (lstat(path, &status) == 0 || access("/proc/self/fd", X_OK) != 0 ||
        (slash && slash - path >= PATH_MAX - 1))
        return -1;
    if (slash)
        (void)snprintf(folder, sizeof folder, "%.*s", (int)(slash - path) + 1, path);
    return open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
}

void output_check_operand(const char *path)
{
    if (!path)
        cli_usage_error("no output file given; use -o OUT.fxt");
    else if (strcmp(path, "-") == 0 && isatty(STDOUT_FILENO))
        cli_usage_error("a trace is not written to a terminal; redirect standard output");
}

bool output_open(struct output *output, const char *path)
{
    *output = (struct output){ .fd = -1, .name = path };
    if (strcmp(path, "-") == 0) {
        output->name = "standard output";
        output->is_stdout = true;
        output->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        return output->fd >= 0;
    }
    output->fd = open_unnamed(path);
    output->is_unnamed = output->fd >= 0;
    if (output->fd < 0)
        output->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (output->fd >= 0) {
        output->path = path;
        return true;
    }
    if (errno == EEXIST)
        output->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    return output->fd >= 0;
}

bool output_is_new(const struct output *output)
{
    return output->path != NULL;
}

bool output_publish(struct output *output)
{
    char path[64];

    if (!output->is_unnamed)
        return true;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", output->fd);
    if (linkat(AT_FDCWD, path, AT_FDCWD, output->path, AT_SYMLINK_FOLLOW) != 0)
        return false;
    output->is_unnamed = false;
    return true;
}

void output_keep(struct output *output)
{
    struct stat status;
    bool is_new = output_is_new(output);

    output->path = NULL;
    if (!is_new && !output->is_stdout && fstat(output->fd, &status) == 0 && S_ISREG(status.st_mode))
        (void)ftruncate(output->fd, 0);
}

bool output_close(struct output *output)
{
    int fd = output->fd;

    output->fd = -1;
    return close(fd) == 0;
}

void output_report_early_end(const char *name, int cause, const char *remainder)
{
    if (cause == 0 || cause == ENOMEM)
        cli_error("out of memory: the trace ends here%s", remainder);
    else
        cli_error("%s: %s: the trace ends here%s", name, strerror(cause), remainder);
}

bool output_finish(struct output *output, bool fine)
{
    if (output_close(output) || !fine)
        return fine;
    cli_error("%s: %s", output->name, strerror(errno));
    return false;
}

void output_abandon(struct output *output)
{
    if (output->fd >= 0)
        (void)close(output->fd);
    output->fd = -1;
    if (output->path && !output->is_unnamed)
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
