#include "cmd/fxtq/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_in_path(const char *program)
{
    const char *path = getenv("PATH");
    bool found = false;

    for (const char *next = path; next && !found;) {
        size_t length = strcspn(next, ":");
        char file[4096];

        found = length + strlen(program) + 2 < sizeof file &&
                snprintf(file, sizeof file, "%.*s/%s", (int)length, next, program) > 0 &&
                access(file, X_OK) == 0;
        next = next[length] ? next + length + 1 : NULL;
    }
    return found;
}

/* "" for none.  */
static const char *pager_command(void)
{
    const char *command = getenv("FXTQ_PAGER");

    if (!command)
        command = getenv("PAGER");
    if (command)
        return command;
    return is_in_path("less") ? "less" : "";
}

/* Runs $0; where that cannot be run, what was meant for it is shown all the same.  The shell that
 * waits outlives Control-C, which belongs to the pager.  */
static const char script[] = "trap : INT; sh -c \"$0\"; status=$?\n"
                             "case $status in 126 | 127) cat ;; esac\n"
                             "exit $status";

static _Noreturn void run_pager(const char *command, const int pipe_fds[2])
{
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)dup2(pipe_fds[0], STDIN_FILENO);
    (void)close(pipe_fds[0]);
    (void)close(pipe_fds[1]);
    /* Quit when all fits the screen, chop long lines, leave the text there.  */
    (void)setenv("LESS", "FRSX", 0);
    (void)execl("/bin/sh", "sh", "-c", script, command, (char *)NULL);
    _exit(127);
}

static void open_pager(struct cli_output *output, void *context)
{
    struct pager *pager = context;
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) != 0)
        return;
    pager->pid = fork();
    if (pager->pid == 0)
        run_pager(pager_command(), fds);
    (void)close(fds[0]);
    if (pager->pid < 0) {
        (void)close(fds[1]);
        pager->pid = 0;
        return;
    }
    pager->saved_fd = output->fd;
    output->fd = fds[1];
}

void pager_start(struct pager *pager, struct cli_output *output)
{
    const char *command = pager_command();

    if (pager->cannot_run || !isatty(STDOUT_FILENO) || !*command || strcmp(command, "cat") == 0 ||
        cli_output_flush(output) != 0)
        return;
    output->opens = open_pager;
    output->opens_context = pager;
}

void pager_end(struct pager *pager, struct cli_output *output)
{
    int status = 0;

    (void)cli_output_flush(output);
    output->opens = NULL;
    if (pager->pid == 0)
        return;
    (void)close(output->fd);
    output->fd = pager->saved_fd;
    if (output->failed == EPIPE) /* the user has seen enough */
        output->failed = 0;
    while (waitpid(pager->pid, &status, 0) < 0 && errno == EINTR)
        ;
    pager->pid = 0;
    if (!WIFEXITED(status) || (WEXITSTATUS(status) != 126 && WEXITSTATUS(status) != 127))
        return;
    cli_warning("the pager '%s' cannot be run; the output is not paged", pager_command());
    pager->cannot_run = true;
}
