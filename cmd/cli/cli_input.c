#include "cmd/cli/cli_input.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cli/cli.h"

/* Files kept at a time.  Beyond that they are closed and opened again: a session of a machine with
 * many CPUs has more regions than a process may have open files.  */
#define KEPT_MAX 64

static struct kept {
    char *path; /* NULL: free */
    int fd;
} kept[KEPT_MAX];

static struct kept *find(const char *path)
{
    for (size_t i = 0; i < KEPT_MAX; i++)
        if (kept[i].path && strcmp(kept[i].path, path) == 0)
            return &kept[i];
    return NULL;
}

static int take(struct kept *from)
{
    free(from->path);
    from->path = NULL;
    return from->fd;
}

int cli_input_open(const char *path)
{
    struct kept *known = find(path);

    return known ? take(known) : open(path, O_RDONLY | O_CLOEXEC);
}

/* Where a descriptor of the path can be kept; NULL: nowhere, or one is kept.  */
static struct kept *find_room(const char *path)
{
    for (size_t i = 0; i < KEPT_MAX && !find(path); i++)
        if (!kept[i].path)
            return &kept[i];
    return NULL;
}

void cli_input_close(const char *path, int fd)
{
    struct kept *room = find_room(path);
    struct stat info;

    if (room && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && lseek(fd, 0, SEEK_SET) == 0)
        *room = (struct kept){ cli_join(path, ""), fd };
    else
        (void)close(fd);
}

size_t cli_input_start(const char *path, void *bytes, size_t size)
{
    struct stat info;
    ssize_t got;
    int fd;

    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return 0;
    fd = cli_input_open(path);
    if (fd < 0)
        return 0;
    got = pread(fd, bytes, size, 0);
    cli_input_close(path, fd);
    return got > 0 ? (size_t)got : 0;
}

/* tee() copies what is in a pipe to another one and leaves it there.  */
static size_t peek_pipe(int fd, void *bytes, size_t size)
{
    ssize_t got = 0;
    int copy[2];

    if (pipe2(copy, O_CLOEXEC) != 0)
        return 0;
    if (tee(fd, copy[1], size, 0) > 0)
        got = read(copy[0], bytes, size);
    (void)close(copy[0]);
    (void)close(copy[1]);
    return got > 0 ? (size_t)got : 0;
}

/* A named pipe, or one that a shell gives as /dev/fd/N.  */
static size_t peek_named_pipe(const char *path, void *bytes, size_t size)
{
    struct kept *known = find(path), *room = known ? known : find_room(path);

    if (!known) {
        int fd = room ? open(path, O_RDONLY | O_CLOEXEC) : -1;

        if (fd < 0)
            return 0;
        *room = (struct kept){ cli_join(path, ""), fd };
    }
    return peek_pipe(room->fd, bytes, size);
}

size_t cli_input_peek(const char *path, void *bytes, size_t size)
{
    struct stat info;
    off_t at;
    ssize_t got;

    if (strcmp(path, "-") != 0)
        return stat(path, &info) == 0 && S_ISFIFO(info.st_mode)
                   ? peek_named_pipe(path, bytes, size)
                   : cli_input_start(path, bytes, size);
    at = lseek(STDIN_FILENO, 0, SEEK_CUR);
    if (at < 0)
        return peek_pipe(STDIN_FILENO, bytes, size);
    got = pread(STDIN_FILENO, bytes, size, at);
    return got > 0 ? (size_t)got : 0;
}
