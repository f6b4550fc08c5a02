#include "cmd/cli/input.h"

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

void cli_input_close(const char *path, int fd)
{
    struct stat info;

    for (size_t i = 0; i < KEPT_MAX && !find(path); i++) {
        if (kept[i].path)
            continue;
        if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || lseek(fd, 0, SEEK_SET) != 0)
            break;
        kept[i] = (struct kept){ cli_join(path, ""), fd };
        return;
    }
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

void cli_input_forget(const char *path)
{
    struct kept *known = find(path);

    if (known)
        (void)close(take(known));
}
