#include "cmd/cli/cli_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
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

/* Returns 0 or an errno value; *is_read: it is of reading.  */
static int copy_all(int to, ssize_t (*read)(void *context, void *buffer, size_t size),
                    void *context, bool *is_read)
{
    enum { PIECE = 1 << 16 };
    char *bytes = cli_allocate(PIECE, 1);
    ssize_t got = 1;
    int failure = 0;

    while (failure == 0 && got != 0) {
        got = read(context, bytes, PIECE);
        *is_read = got < 0;
        if (got > 0)
            failure = base_write_all(to, bytes, (size_t)got);
        else if (got < 0 && errno != EINTR)
            failure = errno;
    }
    free(bytes);
    return failure;
}

int cli_input_copy(const char *label, ssize_t (*read)(void *context, void *buffer, size_t size),
                   void *context)
{
    const char *directory = base_temporary_dir(NULL);
    int copy = base_temporary_file(directory);
    bool is_read = false;
    int failure = copy < 0 ? errno : copy_all(copy, read, context, &is_read);

    if (failure == 0 && lseek(copy, 0, SEEK_SET) == 0)
        return copy;
    if (is_read)
        cli_error("%s: %s", label, strerror(failure));
    else
        cli_error("%s: copying it to a temporary file in %s (TMPDIR names another folder): %s",
                  label, directory, strerror(failure ? failure : errno));
    if (copy >= 0)
        (void)close(copy);
    return -1;
}

static ssize_t read_fd(void *context, void *buffer, size_t size)
{
    return read(*(const int *)context, buffer, size);
}

int cli_input_copy_fd(const char *label, int fd)
{
    return cli_input_copy(label, read_fd, &fd);
}
