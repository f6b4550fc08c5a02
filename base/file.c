#include "base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *base_temporary_dir(const char *directory)
{
    if (!directory || !*directory)
        directory = getenv("TMPDIR");
    return directory && *directory ? directory : "/tmp";
}

int base_temporary_file(const char *directory)
{
    int fd = open(directory, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    char *path = NULL;
    int saved_errno;

    if (fd >= 0)
        return fd;
    /* Not every file system has O_TMPFILE.  */
    if (asprintf(&path, "%s/fxt-XXXXXX", directory) < 0) {
        errno = ENOMEM;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    saved_errno = errno;
    if (fd >= 0)
        (void)unlink(path);
    free(path);
    errno = saved_errno;
    return fd;
}

int base_write_all(int fd, const void *bytes, size_t size)
{
    const char *next = bytes;

    while (size > 0) {
        ssize_t written = write(fd, next, size);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? errno : ENOSPC;
        next += written;
        size -= (size_t)written;
    }
    return 0;
}

int base_read_at(int fd, void *bytes, size_t size, uint64_t offset)
{
    char *next = bytes;

    while (size > 0) {
        ssize_t count = pread(fd, next, size, (off_t)offset);

        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return count < 0 ? errno : EIO;
        next += count;
        size -= (size_t)count;
        offset += (uint64_t)count;
    }
    return 0;
}

void base_close(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}
