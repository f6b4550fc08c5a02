#include "sampler-capture/cpu/repeat.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "cmd/cli/cli.h"

void repeat_name(const char *path, unsigned number, unsigned most, char *name, size_t size)
{
    const char *dot = strchr(base_name(path), '.');
    int stem = dot ? (int)(dot - path) : (int)strlen(path);
    int digits = snprintf(NULL, 0, "%u", most);

    (void)snprintf(name, size, "%.*s.%0*u%s", stem, path, digits, number, dot ? dot : "");
}

/* The exit status of a shell for a child's.  */
static int status_of(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Wait for the child.  A signal ends the series; the terminal sent it to the child too, anybody
 * else has to be passed on.  */
static int wait_for(pid_t pid, const sigset_t *signals, bool *stopped)
{
    int status = 0;
    siginfo_t info;

    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (sigwaitinfo(signals, &info) < 0 || info.si_signo == SIGCHLD)
            continue;
        *stopped = true;
        if (info.si_code != SI_KERNEL)
            (void)kill(pid, info.si_signo);
    }
    return status_of(status);
}

static int capture_one(const struct cpu_options *options, const char *name,
                       int (*capture)(const struct cpu_options *options), const sigset_t *signals,
                       const sigset_t *before, bool *stopped)
{
    struct cpu_options one = *options;
    pid_t pid;

    one.output = name;
    (void)fflush(NULL);
    pid = fork();
    if (pid == 0) {
        (void)sigprocmask(SIG_SETMASK, before, NULL);
        _exit(capture(&one));
    }
    if (pid > 0)
        return wait_for(pid, signals, stopped);
    cli_error("cannot start a process: %s", strerror(errno));
    return CLI_ENVIRONMENT;
}

int repeat_captures(const struct cpu_options *options,
                    int (*capture)(const struct cpu_options *options))
{
    char name[4200];
    sigset_t signals, before;
    bool stopped = false;
    int status = 0;

    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGCHLD);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &signals, &before);
    for (unsigned i = 1; i <= options->repeat && status == 0 && !stopped; i++) {
        repeat_name(options->output, i, options->repeat, name, sizeof name);
        status = capture_one(options, name, capture, &signals, &before, &stopped);
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}
