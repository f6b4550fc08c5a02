/* fallback_process.c - a child process with bounds, and what it writes.  */
#include "libsymbolize/fallback.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/grow.h"

enum {
    READ_BYTES = 64 << 10,
    NOT_BOUNDED = 125, /* exit status of a child that has done nothing */
};

/* One child starts at a time, so that none inherits the pipe of another.  */
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;

/* ---- In the child ---- */

/* more: after most, how far the child may go before it is killed.  */
static bool bound(int resource, rlim_t most, rlim_t more)
{
    struct rlimit limit;

    if (getrlimit((__rlimit_resource_t)resource, &limit) != 0)
        return false;
    if (limit.rlim_cur > most)
        limit.rlim_cur = most;
    if (limit.rlim_max > limit.rlim_cur + more)
        limit.rlim_max = limit.rlim_cur + more;
    return setrlimit((__rlimit_resource_t)resource, &limit) == 0;
}

/* Bytes of addresses that the process has: the first number in statm counts pages.  */
static bool inherited_bytes(uint64_t *out)
{
    char text[64];
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

    if (fd >= 0)
        (void)close(fd);
    if (size <= 0)
        return false;
    text[size] = '\0';
    return !__builtin_mul_overflow(strtoull(text, NULL, 10), (uint64_t)sysconf(_SC_PAGESIZE), out);
}

static bool bound_child(const struct sym_fallback_limits *limits)
{
    uint64_t bytes;

    return inherited_bytes(&bytes) &&
           !__builtin_add_overflow(bytes, limits->memory_bytes, &bytes) &&
           bound(RLIMIT_AS, bytes, 0) && bound(RLIMIT_CPU, limits->cpu_seconds, 1) &&
           bound(RLIMIT_CORE, 0, 0);
}

/* The program's handlers are for the program.  That of SIGBUS may be the one of mapped_file.c,
 * which repairs mappings of files that were cut.  */
static void reset_signals(void)
{
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        if (number != SIGBUS)
            (void)signal(number, SIG_DFL); /* fails for some, which does no harm */
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void silence(void)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int fd = 0; fd < 3 && nothing >= 0; fd++)
        (void)dup2(nothing, fd);
}

static _Noreturn void run_child(sym_fallback_fn task, void *context,
                                const struct sym_fallback_limits *limits, int fd)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    reset_signals();
    if (fd < 3) /* the program has closed its standard streams */
        fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    silence();
    (void)base_account_enter(NULL);
    if (fd < 0 || !bound_child(limits))
        _exit(NOT_BOUNDED);
    task(context, fd);
    _exit(0);
}

/* ---- In the parent ---- */

static int64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Starts the child; *fd is where its answer comes from.  -1: that failed.  */
static pid_t start_child(sym_fallback_fn task, void *context,
                         const struct sym_fallback_limits *limits, int *fd)
{
    sigset_t all, before;
    pid_t child = -1;
    int ends[2];

    (void)pthread_mutex_lock(&starting);
    if (pipe2(ends, O_CLOEXEC) == 0) {
        (void)sigfillset(&all);
        (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* until the child has no handlers */
        child = fork();
        if (child == 0) {
            (void)close(ends[0]);
            run_child(task, context, limits, ends[1]);
        }
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        (void)close(ends[1]);
        *fd = ends[0];
        if (child < 0)
            (void)close(ends[0]);
    }
    (void)pthread_mutex_unlock(&starting);
    return child;
}

/* Reads some bytes; *ends: there are no more.  SYM_OK, SYM_NOT_FOUND or SYM_NO_MEMORY.  */
static enum sym_status take_some(int fd, size_t most, struct sym_fallback_answer *out, bool *ends)
{
    if (!base_make_room(&out->bytes, &out->capacity, out->size + READ_BYTES, 1))
        return SYM_NO_MEMORY;
    ssize_t size = read(fd, out->bytes + out->size, READ_BYTES);
    if (size < 0)
        return errno == EINTR ? SYM_OK : SYM_NOT_FOUND;
    out->size += (size_t)size;
    *ends = size == 0;
    if (out->size <= most)
        return SYM_OK;
    out->end = SYM_FALLBACK_TOO_LONG;
    return SYM_NOT_FOUND;
}

/* Reads until the child closes the pipe.  */
static enum sym_status collect(int fd, const struct sym_fallback_limits *limits,
                               struct sym_fallback_answer *out)
{
    int64_t deadline = now_ms() + limits->wall_ms;
    enum sym_status status = SYM_OK;
    bool ends = false;

    while (!status && !ends) {
        struct pollfd waiting = { .fd = fd, .events = POLLIN };
        int64_t left = deadline - now_ms();
        int count = left > 0 ? poll(&waiting, 1, (int)left) : 0;
        if (count == 0)
            out->end = SYM_FALLBACK_TIMED_OUT;
        if (count == 0 || (count < 0 && errno != EINTR))
            return SYM_NOT_FOUND;
        if (count > 0)
            status = take_some(fd, limits->answer_bytes, out, &ends);
    }
    return status;
}

static uint64_t cost_ms(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000 + (uint64_t)time->tv_usec / 1000;
}

/* Why a child that ended badly of itself did so.  */
static enum sym_fallback_end end_of(int result)
{
    if (WIFEXITED(result) && WEXITSTATUS(result) == NOT_BOUNDED)
        return SYM_FALLBACK_NO_PROCESS;
    return WIFSIGNALED(result) && WTERMSIG(result) == SIGXCPU ? SYM_FALLBACK_TIMED_OUT
                                                              : SYM_FALLBACK_CRASHED;
}

/* Waits for the child.  False: it did not end well.  A program that ignores SIGCHLD, or waits for
 * any child, leaves no result: the answer is checked anyway.  */
static bool reap(pid_t child, int64_t started, struct sym_fallback_answer *out)
{
    struct rusage usage;
    int result = 0;
    pid_t reaped;

    do
        reaped = wait4(child, &result, 0, &usage);
    while (reaped < 0 && errno == EINTR);
    if (reaped != child) {
        out->cost_ms = (uint64_t)(now_ms() - started);
        return true;
    }
    out->cost_ms = cost_ms(&usage.ru_utime) + cost_ms(&usage.ru_stime);
    if (WIFEXITED(result) && WEXITSTATUS(result) == 0)
        return true;
    if (!out->end)
        out->end = end_of(result);
    return false;
}

enum sym_status sym_fallback_run(sym_fallback_fn task, void *context,
                                 const struct sym_fallback_limits *limits,
                                 struct sym_fallback_answer *out)
{
    int64_t started = now_ms();
    int fd = -1;

    *out = (struct sym_fallback_answer){ .bytes = NULL };
    pid_t child = start_child(task, context, limits, &fd);
    if (child < 0) {
        out->end = SYM_FALLBACK_NO_PROCESS;
        return SYM_NOT_FOUND;
    }
    enum sym_status status = collect(fd, limits, out);
    if (status) /* it has the pipe open, so it is there */
        (void)kill(child, SIGKILL);
    (void)close(fd);
    bool ended_well = reap(child, started, out);
    if (status && !out->end) /* its result is unknown */
        out->end = SYM_FALLBACK_CRASHED;
    return status || ended_well ? status : SYM_NOT_FOUND;
}
