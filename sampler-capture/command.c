#include "sampler-capture/command.h"

#include "base/file.h"
#include "cmd/cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOTE_AFTER_MS 1000

/* How things were before us: what the child needs to find.  */
static struct {
    sigset_t mask;
    void (*on_child)(int);
    void (*on_pipe)(int);
} inherited;

/* The child's side: never returns.  Only async-signal-safe functions.  */
static _Noreturn void run_child(char *const argv[], int go_fd, int report_fd, bool stdout_is_taken)
{
    char byte;
    int cause;

    if (read(go_fd, &byte, 1) != 1) /* the parent gave up */
        _exit(0);
    (void)signal(SIGCHLD, inherited.on_child);
    (void)signal(SIGPIPE, inherited.on_pipe);
    (void)sigprocmask(SIG_SETMASK, &inherited.mask, NULL);
    if (stdout_is_taken && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        _exit(125);
    execvp(argv[0], argv);
    cause = errno;
    if (write(report_fd, &cause, sizeof cause) != (ssize_t)sizeof cause)
        _exit(125);
    _exit(127);
}

static bool is_ignored(int number)
{
    struct sigaction action;

    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

bool command_watch(struct command *command)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD };
    sigset_t mask;

    *command = (struct command){ .pid = -1, .signal_fd = -1, .go_fd = -1, .report_fd = -1 };
    (void)sigemptyset(&mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (signals[i] != SIGHUP || !is_ignored(SIGHUP)) /* nohup(1): nobody is to end of it */
            (void)sigaddset(&mask, signals[i]);
    if (sigprocmask(SIG_BLOCK, &mask, &inherited.mask) != 0)
        return false;
    /* Where a parent of ours ignores it, there would be no status to wait for.  */
    inherited.on_child = signal(SIGCHLD, SIG_DFL);
    inherited.on_pipe = signal(SIGPIPE, SIG_IGN);
    command->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    return command->signal_fd >= 0;
}

bool command_start(struct command *command, char *const argv[], bool stdout_is_taken)
{
    int go[2] = { -1, -1 }, report[2] = { -1, -1 };

    command->name = argv[0];
    if (pipe2(go, O_CLOEXEC) != 0)
        return false;
    command->go_fd = go[1];
    if (pipe2(report, O_CLOEXEC) == 0) {
        command->report_fd = report[0];
        command->pid = fork();
    }
    if (command->pid == 0) {
        (void)close(go[1]); /* or it would wait for itself */
        run_child(argv, go[0], report[1], stdout_is_taken);
    }
    (void)close(go[0]);
    base_close(&report[1]);
    return command->pid > 0;
}

static void reap(struct command *command, int flags)
{
    int status;

    if (command->pid > 0 && !command->ended && !command->traced &&
        waitpid(command->pid, &status, flags) == command->pid) {
        command->ended = true;
        command->wait_status = status;
    }
}

/* 0, or the errno of execvp(3).  */
static int let_go(struct command *command)
{
    int cause = 0;
    ssize_t n;

    if (write(command->go_fd, "", 1) != 1)
        return errno;
    base_close(&command->go_fd);
    do
        n = read(command->report_fd, &cause, sizeof cause);
    while (n < 0 && errno == EINTR);
    base_close(&command->report_fd);
    if (n != (ssize_t)sizeof cause) /* the exec closed the pipe */
        return 0;
    reap(command, 0);
    return cause;
}

int command_fail(const char *what)
{
    cli_error("%s: %s", what, strerror(errno));
    return COMMAND_NOT_STARTED;
}

int command_exec(struct command *command, const char *name)
{
    int cause = let_go(command);

    if (cause == 0)
        return 0;
    cli_error("%s: %s", name, strerror(cause));
    return cause == ENOENT ? COMMAND_NOT_FOUND : COMMAND_NOT_EXECUTABLE;
}

/* Do what a signal asks for; true when that is to end.  */
static bool obey(struct command *command, const struct signalfd_siginfo *info)
{
    switch (info->ssi_signo) {
    case SIGCHLD:
        reap(command, WNOHANG);
        return false;
    case SIGUSR2:
        command->dump = true;
        return false;
    case SIGUSR1:
        command->abort = true;
        return true;
    default:
        command->is_asked = true;
        if (info->ssi_code != SI_KERNEL && command->pid > 0 && !command->ended)
            (void)kill(command->pid, (int)info->ssi_signo);
        return true;
    }
}

bool command_take_signals(struct command *command)
{
    struct signalfd_siginfo info;
    bool end = false;

    while (read(command->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
        end |= obey(command, &info);
    return end;
}

/* The note is not printed for a command that is about to end.  */
static void wait_for_end(struct command *command, bool quiet)
{
    struct pollfd wanted = { .fd = command->signal_fd, .events = POLLIN };

    reap(command, WNOHANG);
    while (command->pid > 0 && !command->ended) {
        if (poll(&wanted, 1, quiet ? -1 : NOTE_AFTER_MS) == 0) {
            cli_note("the capture is complete; %s (process %d) still runs: waiting for its end",
                     command->name, (int)command->pid);
            quiet = true;
        }
        (void)command_take_signals(command);
    }
}

/* A command with a closed pipe ends by a signal every day: shells do not report that either.  */
static void tell_signal(const struct command *command)
{
    int number = WTERMSIG(command->wait_status);

    if (!command->is_asked && number != SIGPIPE)
        cli_note("%s (process %d) was ended by signal %d: %s", command->name, (int)command->pid,
                 number, strsignal(number));
}

int command_finish(struct command *command, const struct output *output, bool fine, bool quiet)
{
    wait_for_end(command, quiet || !fine);
    if (command->abort && output->name && !output->is_stdout)
        (void)unlink(output->name);
    if (!fine)
        return CLI_ENVIRONMENT;
    if (WIFSIGNALED(command->wait_status)) {
        if (!quiet)
            tell_signal(command);
        return 128 + WTERMSIG(command->wait_status);
    }
    return WEXITSTATUS(command->wait_status);
}

void command_close(struct command *command)
{
    base_close(&command->go_fd);
    base_close(&command->report_fd);
    if (command->pid > 0)
        reap(command, 0);
    base_close(&command->signal_fd);
}
