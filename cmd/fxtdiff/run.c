/* run.c - fxtdiff run: capture both builds in turn, A B B A, then compare.
 *
 * Whatever drifts meanwhile - temperature, frequency, neighbours - falls on both alike, and what
 * drifts steadily cancels out.  */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/fxtdiff/commands.h"
#include "cmd/fxtdiff/options.h"

enum { KEY_RUNS = 1, KEY_BASE, KEY_NEW, KEY_KEEP, KEY_FREQUENCY, KEY_WARM_UP };

static const struct cli_option own_options[] = {
    { KEY_RUNS, 'n', "runs", "N", "runs of each build (default 5)" },
    { KEY_BASE, 0, "base", "CMD", "shell command that runs the old build", CLI_COMMAND },
    { KEY_NEW, 0, "new", "CMD", "shell command that runs the new build", CLI_COMMAND },
    { KEY_FREQUENCY, 'F', "frequency", "HZ",
      "samples per second of CPU time (default: that of sampler-capture)" },
    { KEY_WARM_UP, 0, "warm-up", "N",
      "run each command N times first, to warm caches (default 1)" },
    { KEY_KEEP, 0, "keep", "DIR", "keep the captures in DIR: base-1.fxt, new-1.fxt, ...",
      CLI_FOLDER },
    { 0 },
};

static const char *const examples[] = {
    "Find out whether the new build is slower",
    "fxtdiff run -n 5 --base './old --bench' --new './new --bench'",
    "Keep the captures, and compare them again later",
    "fxtdiff run --keep runs --base ./old --new ./new\nfxtdiff runs/base-* -- runs/new-*",
    NULL,
};

static int run(char **argv);

const struct cli_command diff_run_command = {
    .name = "fxtdiff run",
    .usage = "[OPTION]... --base CMD --new CMD",
    .summary =
        "Capture the CPU time of two builds in turn (base, new, new, base) and compare them.  The "
        "output of the commands is discarded.  If a command fails, the comparison ends.",
    .options = own_options,
    .groups = diff_groups,
    .libraries = sym_libraries,
    .examples = examples,
    .run = run,
    .brief = "capture both builds in turn and compare them",
};

#define MAX_RUNS 500u

struct job {
    struct diff_settings settings;
    const char *commands[COMPARE_SIDES];
    unsigned runs, warm_up;
    const char *keep;
    const char *frequency;
    char *dir;       /* of the captures; owned */
    bool made;       /* dir is ours to remove */
    char *sampler;   /* path of sampler-capture; owned */
    char **captures; /* 2 * runs paths, base before new; owned */
    int log;         /* what a command and its capture said; an unlinked file */
};

static const char *const side_names[COMPARE_SIDES] = { "base", "new" };

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

static void show_log(const struct job *job)
{
    char text[4096];
    off_t end = lseek(job->log, 0, SEEK_END);
    off_t start = end > (off_t)sizeof text ? end - (off_t)sizeof text : 0;
    ssize_t length = pread(job->log, text, sizeof text, start);

    if (length > 0)
        (void)!write(STDERR_FILENO, text, (size_t)length);
}

/* Run it to its end.  0, or the status a shell would give.  */
static int run_child(const struct job *job, const char *const *argv)
{
    int status = 0, null;
    pid_t pid;

    (void)!ftruncate(job->log, 0);
    (void)lseek(job->log, 0, SEEK_SET);
    (void)fflush(NULL);
    pid = fork();
    if (pid == 0) {
        null = open("/dev/null", O_RDWR | O_CLOEXEC);
        (void)dup2(null, STDIN_FILENO);
        (void)dup2(null, STDOUT_FILENO);
        (void)dup2(job->log, STDERR_FILENO);
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

/* status: of doing, "capturing" or "running" the command.  A capture has the command's status, or
 * one of its own.  */
static enum cli_exit complain(const struct job *job, const char *doing, enum compare_side side,
                              int status)
{
    if (interrupted) {
        cli_error("interrupted");
        return CLI_ENVIRONMENT;
    }
    show_log(job);
    cli_error("%s the %s command ended with status %d: %s", doing, side_names[side], status,
              job->commands[side]);
    return CLI_ENVIRONMENT;
}

static enum cli_exit warm_up(const struct job *job, enum compare_side side)
{
    const char *const argv[] = { "sh", "-c", job->commands[side], NULL };

    for (unsigned i = 0; i < job->warm_up; i++) {
        int status = run_child(job, argv);

        if (status != 0 || interrupted)
            return complain(job, "running", side, status);
    }
    return CLI_OK;
}

static enum cli_exit capture(const struct job *job, enum compare_side side, unsigned number)
{
    const char *argv[16];
    size_t count = 0;
    int status;

    argv[count++] = job->sampler;
    argv[count++] = "cpu";
    if (job->frequency) {
        argv[count++] = "-F";
        argv[count++] = job->frequency;
    }
    argv[count++] = "-o";
    argv[count++] = job->captures[side * job->runs + number];
    argv[count++] = "--";
    argv[count++] = "sh";
    argv[count++] = "-c";
    argv[count++] = job->commands[side];
    argv[count] = NULL;
    status = run_child(job, argv);
    return status == 0 && !interrupted ? CLI_OK : complain(job, "capturing", side, status);
}

static enum cli_exit capture_all(const struct job *job)
{
    struct cli_progress progress;
    enum cli_exit status = CLI_OK;

    for (int side = 0; side < COMPARE_SIDES && status == CLI_OK; side++)
        status = warm_up(job, (enum compare_side)side);
    cli_progress_start(&progress, "capturing", 2 * (uint64_t)job->runs);
    for (unsigned i = 0; i < 2 * job->runs && status == CLI_OK; i++) {
        unsigned number = i / 2;
        unsigned side = (i + number) % 2; /* base new, new base, base new, ... */

        status = capture(job, (enum compare_side)side, number);
        cli_progress_show(&progress, i + 1);
    }
    cli_progress_end(&progress);
    return status;
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

static enum cli_exit make_folder(struct job *job)
{
    const char *tmp = getenv("TMPDIR");
    char *template = cli_join(tmp && *tmp ? tmp : "/tmp", "/fxtdiff.XXXXXX");
    char *log = cli_join(template, "");
    bool ok;

    job->log = mkostemp(log, O_CLOEXEC);
    if (job->log >= 0)
        (void)unlink(log);
    free(log);
    job->dir = job->keep ? cli_join(job->keep, "") : template;
    if (job->keep) {
        free(template);
        ok = mkdir(job->dir, 0777) == 0 || errno == EEXIST;
    } else {
        ok = mkdtemp(job->dir) != NULL;
        job->made = ok;
    }
    if (ok && job->log >= 0)
        return CLI_OK;
    cli_error("%s: %s", job->dir, strerror(errno));
    return CLI_ENVIRONMENT;
}

static void name_captures(struct job *job)
{
    job->captures = cli_allocate((size_t)job->runs * COMPARE_SIDES, sizeof *job->captures);
    for (unsigned side = 0; side < COMPARE_SIDES; side++)
        for (unsigned i = 0; i < job->runs; i++) {
            char **path = &job->captures[side * job->runs + i];

            if (asprintf(path, "%s/%s-%u.fxt", job->dir, side_names[side], i + 1) < 0)
                *path = cli_join(job->dir, "/capture.fxt");
            cli_texts_add(&job->settings.inputs[side], *path);
        }
}

static void release(struct job *job)
{
    for (size_t i = 0; job->captures && i < (size_t)job->runs * COMPARE_SIDES; i++) {
        if (job->made)
            (void)unlink(job->captures[i]);
        free(job->captures[i]);
    }
    if (job->made)
        (void)rmdir(job->dir);
    if (job->log >= 0)
        (void)close(job->log);
    free(job->captures);
    free(job->dir);
    free(job->sampler);
    diff_settings_release(&job->settings);
}

static void take(struct job *job, int key, const struct cli_parser *parser)
{
    const char *value = parser->value;

    switch (key) {
    case KEY_RUNS:
        job->runs = (unsigned)cli_number("--runs", value, 1, MAX_RUNS);
        break;
    case KEY_BASE:
        job->commands[COMPARE_BASE] = value;
        break;
    case KEY_NEW:
        job->commands[COMPARE_NEW] = value;
        break;
    case KEY_FREQUENCY:
        (void)cli_number("-F", value, 1, 100000);
        job->frequency = value;
        break;
    case KEY_WARM_UP:
        job->warm_up = (unsigned)cli_number("--warm-up", value, 0, MAX_RUNS);
        break;
    case KEY_KEEP:
        job->keep = value;
        break;
    default:
        (void)diff_option(&job->settings, key, parser);
        break;
    }
}

static void parse(struct job *job, char **argv)
{
    struct cli_parser parser;
    int key;

    cli_start(&parser, &diff_run_command, argv);
    while ((key = cli_next(&parser)) != CLI_END) {
        if (key == CLI_OPERAND)
            cli_usage_error("unexpected operand '%s'; quote commands: --base 'CMD'", parser.value);
        take(job, key, &parser);
    }
    for (int side = 0; side < COMPARE_SIDES; side++)
        if (!job->commands[side])
            cli_usage_error("no --%s CMD", side_names[side]);
    diff_check_outputs(&job->settings);
}

static int run(char **argv)
{
    struct job job = { .runs = 5, .warm_up = 1, .log = -1 };
    enum cli_exit status;

    diff_settings_init(&job.settings);
    parse(&job, argv);
    job.sampler = find_sampler();
    watch_signals();
    status = diff_check_policies(&job.settings);
    if (status == CLI_OK)
        status = make_folder(&job);
    if (status == CLI_OK) {
        if (job.made)
            job.settings.reading.scratch = job.dir;
        name_captures(&job);
        status = capture_all(&job);
    }
    if (status == CLI_OK)
        status = diff_main(&job.settings);
    release(&job);
    return (int)status;
}
