/* run_capture.c - running a command under sampler-capture.  */
#include "cmd/fxtdiff/run_capture.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

const char *const diff_side_names[COMPARE_SIDES] = { "base", "new" };

/* ---- Children ---- */

static volatile pid_t child;
static volatile sig_atomic_t interrupted;

/* The terminal sends its signals to the child as well; others have to be passed on.  */
static void pass_on(int number, siginfo_t *info, void *context)
{
    (void)context;
    interrupted = number;
    if (info->si_code != SI_KERNEL && child > 0)
        (void)kill(child, number);
}

static void watch_signals(void)
{
    struct sigaction action = { .sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART };

    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGHUP, &action, NULL);
}

static void show_log(const struct diff_capture *capture)
{
    char text[4096];
    off_t end = lseek(capture->log, 0, SEEK_END);
    off_t start = end > (off_t)sizeof text ? end - (off_t)sizeof text : 0;
    ssize_t length = pread(capture->log, text, sizeof text, start);

    if (length > 0)
        (void)!write(STDERR_FILENO, text, (size_t)length);
}

/* Only the commands are bound to a CPU: sampler-capture, which reads the samples, is to be on
 * another one.  */
static void pin(const struct diff_capture *capture)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(strtoul(capture->cpu, NULL, 10), &set);
    (void)sched_setaffinity(0, sizeof set, &set);
}

/* Run it to its end, on the CPU that was asked for if pinned.  0, or the status a shell would
 * give.  */
static int run_child(const struct diff_capture *capture, const char *const *argv, bool pinned)
{
    int status = 0, null;
    pid_t pid;

    (void)!ftruncate(capture->log, 0);
    (void)lseek(capture->log, 0, SEEK_SET);
    (void)fflush(NULL);
    pid = fork();
    if (pid == 0) {
        null = open("/dev/null", O_RDWR | O_CLOEXEC);
        (void)dup2(null, STDIN_FILENO);
        (void)dup2(null, STDOUT_FILENO);
        (void)dup2(capture->log, STDERR_FILENO);
        if (pinned && capture->cpu)
            pin(capture);
        (void)execvp(argv[0], (char *const *)argv);
        (void)dprintf(STDERR_FILENO, "%s: %s\n", argv[0], strerror(errno));
        _exit(errno == ENOENT ? 127 : 126);
    }
    if (pid < 0)
        return 125;
    child = pid;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    child = 0;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- One run ---- */

static enum cli_exit prepare(const struct diff_capture *capture)
{
    const char *const argv[] = { "sh", "-c", capture->prepare, NULL };
    int status = capture->prepare ? run_child(capture, argv, false) : 0;

    if (status == 0 && !interrupted)
        return CLI_OK;
    if (!interrupted)
        show_log(capture);
    cli_error(interrupted ? "interrupted" : "--prepare ended with status %d: %s", status,
              capture->prepare);
    return CLI_ENVIRONMENT;
}

/* status: of doing, "capturing" or "running" the command.  A capture has the command's status, or
 * one of its own.  */
static enum cli_exit complain(const struct diff_capture *capture, const char *doing,
                              enum compare_side side, const char *command, int status)
{
    if (interrupted) {
        cli_error("interrupted");
        return CLI_ENVIRONMENT;
    }
    show_log(capture);
    cli_error("%s the %s command ended with status %d: %s", doing, diff_side_names[side], status,
              command);
    return CLI_ENVIRONMENT;
}

enum cli_exit diff_capture_warm_up(const struct diff_capture *capture, enum compare_side side,
                                   const char *command)
{
    const char *const argv[] = { "sh", "-c", command, NULL };

    for (unsigned i = 0; i < capture->warm_up; i++) {
        enum cli_exit prepared = prepare(capture);
        int status = prepared == CLI_OK ? run_child(capture, argv, true) : 0;

        if (prepared != CLI_OK)
            return prepared;
        if (status != 0 || interrupted)
            return complain(capture, "running", side, command, status);
    }
    return CLI_OK;
}

/* The sampler with its options.  Returns how many words.  */
static size_t add_sampler(const struct diff_capture *capture, const char **argv)
{
    const struct {
        const char *option, *value;
    } options[] = { { "-F", capture->frequency },
                    { "--period", capture->period },
                    { "--event", capture->event },
                    { "--cpu", capture->cpu } };
    size_t count = 0;

    argv[count++] = capture->sampler;
    argv[count++] = "cpu";
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].value) {
            argv[count++] = options[i].option;
            argv[count++] = options[i].value;
        }
    /* Switches happen in the kernel.  */
    if (capture->event && strcmp(capture->event, "context-switches") == 0)
        argv[count++] = "--kernel";
    return count;
}

enum cli_exit diff_capture_run(const struct diff_capture *capture, enum compare_side side,
                               const char *command, const char *path)
{
    const char *argv[24];
    size_t count = add_sampler(capture, argv);
    enum cli_exit prepared = prepare(capture);
    int status;

    if (prepared != CLI_OK)
        return prepared;
    argv[count++] = "-o";
    argv[count++] = path;
    argv[count++] = "--";
    argv[count++] = "sh";
    argv[count++] = "-c";
    argv[count++] = command;
    argv[count] = NULL;
    status = run_child(capture, argv, false);
    return status == 0 && !interrupted ? CLI_OK
                                       : complain(capture, "capturing", side, command, status);
}

/* ---- Around it ---- */

static char *find_sampler(void)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    char *slash, *beside;

    if (length <= 0)
        return cli_join("sampler-capture", "");
    path[length] = '\0';
    slash = strrchr(path, '/');
    if (slash)
        slash[1] = '\0';
    beside = cli_join(path, "sampler-capture");
    if (access(beside, X_OK) == 0)
        return beside;
    free(beside);
    return cli_join("sampler-capture", ""); /* along PATH */
}

/* The sampler says no at once, and not after every command was run to warm up.  */
static enum cli_exit try_sampler(const struct diff_capture *capture)
{
    const char *argv[24];
    size_t count = add_sampler(capture, argv);

    if (!capture->event && !capture->cpu && !capture->period)
        return CLI_OK;
    argv[count++] = "-q";
    argv[count++] = "-o";
    argv[count++] = "/dev/null";
    argv[count++] = "--";
    argv[count++] = "true";
    argv[count] = NULL;
    if (run_child(capture, argv, false) == 0)
        return CLI_OK;
    show_log(capture);
    return CLI_ENVIRONMENT;
}

static bool is_never_random(void)
{
    char text = '2';
    int fd = open("/proc/sys/kernel/randomize_va_space", O_RDONLY | O_CLOEXEC);

    if (fd >= 0) {
        (void)!read(fd, &text, 1);
        (void)close(fd);
    }
    return text == '0';
}

/* What is set here, commands inherit.  */
static enum cli_exit set_layout(enum diff_layout layout)
{
    int old = personality(0xffffffff);
    unsigned long wanted = layout == DIFF_LAYOUT_FIXED
                               ? (unsigned long)old | ADDR_NO_RANDOMIZE
                               : (unsigned long)old & ~(unsigned long)ADDR_NO_RANDOMIZE;

    if (layout == DIFF_LAYOUT_DEFAULT)
        return CLI_OK;
    if (layout == DIFF_LAYOUT_RANDOM && is_never_random()) {
        cli_error("--layout random: kernel.randomize_va_space is 0, so every run has the same "
                  "layout; as root, 'sysctl kernel.randomize_va_space=2' changes it");
        return CLI_ENVIRONMENT;
    }
    if (old >= 0 && personality(wanted) >= 0)
        return CLI_OK;
    cli_error("--layout: personality: %s; containers often forbid it: omit --layout, or allow it "
              "in the container's seccomp profile",
              strerror(errno));
    return CLI_ENVIRONMENT;
}

enum cli_exit diff_capture_open(struct diff_capture *capture)
{
    const char *tmp = getenv("TMPDIR");
    char *path = cli_join(tmp && *tmp ? tmp : "/tmp", "/fxtdiff.XXXXXX");

    watch_signals();
    capture->sampler = find_sampler();
    capture->log = mkostemp(path, O_CLOEXEC);
    if (capture->log >= 0)
        (void)unlink(path);
    else
        cli_error("%s: %s", path, strerror(errno));
    free(path);
    if (capture->log < 0 || set_layout(capture->layout) != CLI_OK)
        return CLI_ENVIRONMENT;
    return try_sampler(capture);
}

void diff_capture_close(struct diff_capture *capture)
{
    if (capture->log >= 0)
        (void)close(capture->log);
    free(capture->sampler);
    capture->log = -1;
    capture->sampler = NULL;
}
