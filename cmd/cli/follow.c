/* Following a file: short polls of its size.
 *
 * inotify would tell sooner, but not of writes by other machines (NFS, 9p) or through FUSE, and it
 * has limits of its own.  A capture writes once a second; ten fstat() calls in that time cost
 * nothing, and always tell the truth.  A pipe is waited for with poll() alone.  */
#include "cmd/cli/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { POLL_MS = 100 };

struct cli_follow {
    int fd;
    const char *path;
    const char *name;
    void (*idle)(void *context);
    void *idle_context;
    bool regular;
    uint64_t start; /* where the descriptor stood, in a file */
    bool asked;     /* before, with: */
    uint64_t asked_with;
};

/* A signal is a byte in this pipe; one trace is followed at a time.  */
static int stop_pipe[2] = { -1, -1 };
static struct sigaction old_int, old_term;

static void stop(int signal)
{
    int saved = errno;
    ssize_t written = write(stop_pipe[1], "", 1); /* full: there is one already */

    (void)written;
    (void)signal;
    errno = saved;
}

/* Not if it is ignored, as in a script's background.  */
static void catch (int signal, struct sigaction *old)
{
    struct sigaction action = { .sa_handler = stop, .sa_flags = SA_RESTART | (int)SA_RESETHAND };

    (void)sigemptyset(&action.sa_mask);
    if (sigaction(signal, NULL, old) == 0 && old->sa_handler != SIG_IGN)
        (void)sigaction(signal, &action, NULL);
}

struct cli_follow *cli_follow_start(int fd, const char *path, const char *name,
                                    const struct cli_trace_options *options)
{
    struct cli_follow *follow = cli_allocate(1, sizeof *follow);
    struct stat info;
    off_t start;

    if (pipe2(stop_pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
        free(follow);
        return NULL;
    }
    start = lseek(fd, 0, SEEK_CUR);
    *follow = (struct cli_follow){ .fd = fd,
                                   .path = path,
                                   .name = name,
                                   .idle = options->idle,
                                   .idle_context = options->idle_context,
                                   .regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode),
                                   .start = start > 0 ? (uint64_t)start : 0 };
    catch (SIGINT, &old_int);
    catch (SIGTERM, &old_term);
    return follow;
}

void cli_follow_end(struct cli_follow *follow)
{
    if (!follow)
        return;
    (void)sigaction(SIGINT, &old_int, NULL);
    (void)sigaction(SIGTERM, &old_term, NULL);
    (void)close(stop_pipe[0]);
    (void)close(stop_pipe[1]);
    free(follow);
}

/* Why nothing more will come to a file that has no more, or NULL.  */
static const char *why_over(const struct cli_follow *follow, const struct stat *info)
{
    struct stat now;
    bool there = follow->path && stat(follow->path, &now) == 0;

    if (there && (now.st_dev != info->st_dev || now.st_ino != info->st_ino))
        return "was replaced";
    if (info->st_nlink == 0)
        return "was deleted";
    return follow->path && !there ? "is no longer at its path" : NULL;
}

/* What a regular file has behind its first size bytes.  *end is set when nothing more will come. */
static bool file_has_more(const struct cli_follow *follow, uint64_t size, bool *end)
{
    struct stat info;
    const char *what;

    if (fstat(follow->fd, &info) != 0)
        return true; /* the read will tell */
    if ((uint64_t)info.st_size > size)
        return true;
    if ((uint64_t)info.st_size < size)
        what = "was truncated";
    else
        what = why_over(follow, &info);
    if (!what)
        return false;
    /* A last look: it may have grown between the two.  */
    if (fstat(follow->fd, &info) == 0 && (uint64_t)info.st_size > size)
        return true;
    cli_warning("%s: %s while it was followed: reading ends here", follow->name, what);
    *end = true;
    return false;
}

/* Whether a signal came before there was something to read, or time was up.  */
static bool interrupted(const struct cli_follow *follow, int timeout_ms, bool *readable)
{
    struct pollfd polled[2] = { { .fd = stop_pipe[0], .events = POLLIN },
                                { .fd = follow->fd, .events = POLLIN } };
    int ready = poll(polled, follow->regular ? 1 : 2, timeout_ms);

    *readable = ready > 0 && polled[1].revents != 0;
    return ready > 0 && polled[0].revents != 0;
}

enum fxt_wait cli_follow_wait(void *context, uint64_t raw_bytes)
{
    struct cli_follow *follow = context;
    bool again = follow->asked && follow->asked_with == raw_bytes;
    bool readable, end = false;

    follow->asked = true;
    follow->asked_with = raw_bytes;
    if (!follow->regular && again)
        return FXT_WAIT_END; /* the read gave nothing: nobody writes any more */
    if (interrupted(follow, 0, &readable))
        return FXT_WAIT_LEAVE;
    if (follow->regular ? file_has_more(follow, follow->start + raw_bytes, &end) : readable)
        return FXT_WAIT_MORE;
    if (!end && follow->idle)
        follow->idle(follow->idle_context);
    while (!end) {
        if (interrupted(follow, follow->regular ? POLL_MS : -1, &readable))
            return FXT_WAIT_LEAVE;
        if (follow->regular ? file_has_more(follow, follow->start + raw_bytes, &end) : readable)
            return FXT_WAIT_MORE;
    }
    return FXT_WAIT_END;
}
