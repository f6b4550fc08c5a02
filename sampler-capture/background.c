#include "sampler-capture/background.h"

#include "cmd/cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_SIZE (PATH_MAX + 64)

/* ---- The folder ---- */

/* $XDG_RUNTIME_DIR/fxt, or /tmp/fxt-UID.  */
static void folder_path(char path[PATH_SIZE])
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");

    if (runtime && runtime[0] == '/')
        (void)snprintf(path, PATH_SIZE, "%s/fxt", runtime);
    else
        (void)snprintf(path, PATH_SIZE, "/tmp/fxt-%u", (unsigned)getuid());
}

/* Ours, and nobody else can write to it: what it says is acted upon.  */
static bool is_private(const char *path)
{
    struct stat status;

    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == getuid() &&
           (status.st_mode & 077) == 0;
}

bool background_folder(char *path, size_t size)
{
    char own[PATH_SIZE];

    folder_path(own);
    if (mkdir(own, 0700) != 0 && errno != EEXIST) {
        cli_error("%s: %s; set XDG_RUNTIME_DIR to a folder that you can write to", own,
                  strerror(errno));
        return false;
    }
    if (!is_private(own) || strlen(own) >= size) {
        cli_error(
            "%s is not a folder that only you can write to; set XDG_RUNTIME_DIR to another one",
            own);
        return false;
    }
    memcpy(path, own, strlen(own) + 1);
    return true;
}

/* The file of the session, opened, or -1 after a message.  */
static int open_state(void)
{
    char path[PATH_SIZE];
    size_t length;
    int fd;

    if (!background_folder(path, sizeof path - 16))
        return -1;
    length = strlen(path);
    (void)snprintf(path + length, sizeof path - length, "/session");
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        cli_error("%s: %s", path, strerror(errno));
    return fd;
}

/* What the file says.  */
struct state {
    pid_t pid; /* also the task id */
    char output[PATH_MAX];
};

static bool read_state(int fd, struct state *state)
{
    char text[PATH_MAX + 64];
    ssize_t length = pread(fd, text, sizeof text - 1, 0);
    char *end;

    if (length <= 0)
        return false;
    text[length] = '\0';
    state->pid = (pid_t)strtol(text, &end, 10);
    if (*end != '\n' || state->pid <= 1)
        return false;
    (void)snprintf(state->output, sizeof state->output, "%.*s", (int)strcspn(end + 1, "\n"),
                   end + 1);
    return true;
}

static bool write_state(int fd, const char *output)
{
    char text[PATH_MAX + 64];
    int length = snprintf(text, sizeof text, "%d\n%s\n", (int)getpid(), output);

    return ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)length, 0) == length;
}

/* ---- The session ---- */

static int ready_fd = -1;

/* Wait for the background process to have begun, and end as it says.  */
static _Noreturn void wait_until_ready(int fd, pid_t child)
{
    char byte = 1;
    int status = CLI_ENVIRONMENT;

    if (read(fd, &byte, 1) == 1 && byte == 0) {
        printf("Background session started. task_id: %d\n", (int)child);
        exit(cli_flush_stdout());
    }
    if (waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) != 0)
        exit(WEXITSTATUS(status));
    exit(CLI_ENVIRONMENT);
}

void background_begin(const char *output)
{
    int fd = open_state();
    int ready[2];
    struct state state;
    pid_t child;

    if (fd < 0)
        exit(CLI_ENVIRONMENT);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        (void)(read_state(fd, &state) || (state.pid = 0));
        cli_error(
            "a background session is already running, task_id %d; 'sampler-capture stop' ends it",
            (int)state.pid);
        exit(CLI_ENVIRONMENT);
    }
    if (pipe2(ready, O_CLOEXEC) != 0 || (child = fork()) < 0) {
        cli_error("cannot start a process: %s", strerror(errno));
        exit(CLI_ENVIRONMENT);
    }
    if (child > 0) {
        (void)close(ready[1]);
        (void)close(fd); /* the lock is the child's, too */
        wait_until_ready(ready[0], child);
    }
    (void)close(ready[0]);
    ready_fd = ready[1];
    (void)setsid();
    if (!write_state(fd, output)) {
        cli_error("cannot record the session: %s", strerror(errno));
        exit(CLI_ENVIRONMENT);
    }
}

void background_ready(bool failed)
{
    char byte = failed;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (ready_fd < 0)
        return;
    /* Whoever reads our parent's output must not wait for us.  */
    if (!failed && null >= 0) {
        (void)dup2(null, STDIN_FILENO);
        (void)dup2(null, STDOUT_FILENO);
        (void)dup2(null, STDERR_FILENO);
    }
    if (null > STDERR_FILENO)
        (void)close(null);
    (void)!write(ready_fd, &byte, 1);
    (void)close(ready_fd);
    ready_fd = -1;
}

/* ---- status, stop, abort ---- */

static int status_main(char **argv);
static int stop_main(char **argv);
static int abort_main(char **argv);

static void parse_nothing(const struct cli_command *command, char **argv)
{
    struct cli_parser parser;

    cli_start(&parser, command, argv);
    while (cli_next(&parser) != CLI_END)
        cli_usage_error("unexpected operand '%s'", parser.value);
}

/* The running session, or false.  *fd is open then.  */
static bool find_session(int *fd, struct state *state)
{
    *fd = open_state();
    if (*fd < 0)
        exit(CLI_ENVIRONMENT);
    return flock(*fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK && read_state(*fd, state);
}

const struct cli_command background_status_command = {
    .name = "sampler-capture status",
    .usage = "",
    .summary = "Print whether a background session is running.",
    .run = status_main,
    .brief = "print whether a background session is running",
};

static int status_main(char **argv)
{
    struct state state;
    int fd;

    parse_nothing(&background_status_command, argv);
    if (find_session(&fd, &state))
        printf("Active background sessions:\n  - task_id: %d\n    output: %s\n", (int)state.pid,
               state.output);
    else
        printf("No background profiling sessions active.\n");
    (void)close(fd);
    return cli_flush_stdout();
}

/* Send it a signal and wait until it has ended.  */
static int end_session(int number, const char *done)
{
    struct state state;
    int fd;

    if (!find_session(&fd, &state)) {
        cli_error("no background session is active");
        return CLI_ENVIRONMENT;
    }
    if (kill(state.pid, number) != 0) {
        cli_error("task %d: %s", (int)state.pid, strerror(errno));
        return CLI_ENVIRONMENT;
    }
    while (flock(fd, LOCK_EX) != 0 && errno == EINTR)
        continue;
    (void)close(fd);
    printf("%s %s\n", done, state.output);
    return cli_flush_stdout();
}

const struct cli_command background_stop_command = {
    .name = "sampler-capture stop",
    .usage = "",
    .summary = "End the background session.  Its output is complete when this command returns.",
    .run = stop_main,
    .brief = "end the background session and keep its output",
};

static int stop_main(char **argv)
{
    parse_nothing(&background_stop_command, argv);
    return end_session(SIGTERM, "Wrote profile to");
}

const struct cli_command background_abort_command = {
    .name = "sampler-capture abort",
    .usage = "",
    .summary = "End the background session and remove its output.",
    .run = abort_main,
    .brief = "end the background session and remove its output",
};

static int abort_main(char **argv)
{
    parse_nothing(&background_abort_command, argv);
    return end_session(SIGUSR1, "Removed");
}
