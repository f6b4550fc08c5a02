/* meter - run a command and write down what it took: CPU time, time, memory.
 *
 *   meter [--runs N] [--anonymous] FILE COMMAND [ARGUMENT]...
 *
 * FILE gets one line for the run with the least CPU time.  The command's status is passed on.
 * --anonymous looks every millisecond how much memory the command has that is no file's: what maps
 * its input has a resident set that says little.  */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/cli/cli.h"

struct taken {
    double cpu_seconds;
    double seconds;
    long max_rss_kib;
    long max_anonymous_kib; /* of all looks; 0: nobody looked */
    int status;
};

static double now(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

static _Noreturn void fail(const char *what)
{
    cli_error("%s: %s", what, strerror(errno));
    exit(CLI_ENVIRONMENT);
}

/* RssAnon of a process; 0 when it is gone.  */
static long anonymous_kib(pid_t process)
{
    char path[64], line[128];
    long kib = 0;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)process);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "RssAnon:", 8) == 0)
            kib = strtol(line + 8, NULL, 10);
    if (file)
        (void)fclose(file);
    return kib;
}

/* Waits for the child and looks at it meanwhile.  */
static int wait_and_look(pid_t child, struct rusage *usage, long *max_kib)
{
    static const struct timespec pause = { .tv_nsec = 1000000 };
    int status;

    for (;;) {
        pid_t done = wait4(child, &status, WNOHANG, usage);
        long kib;

        if (done < 0 && errno != EINTR)
            fail("wait4");
        if (done == child)
            return status;
        kib = anonymous_kib(child);
        if (kib > *max_kib)
            *max_kib = kib;
        (void)nanosleep(&pause, NULL);
    }
}

/* Of the child alone, and of the children that it waited for.  */
static struct taken run(char **argv, bool look)
{
    double start = now();
    struct rusage usage;
    struct taken taken = { .max_anonymous_kib = 0 };
    int status;
    pid_t child = fork();

    if (child < 0)
        fail("fork");
    if (child == 0) {
        (void)execvp(argv[0], argv);
        cli_error("%s: %s", argv[0], strerror(errno));
        _exit(127);
    }
    if (look)
        status = wait_and_look(child, &usage, &taken.max_anonymous_kib);
    else
        while (wait4(child, &status, 0, &usage) < 0)
            if (errno != EINTR)
                fail("wait4");
    taken.seconds = now() - start;
    taken.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    taken.max_rss_kib = usage.ru_maxrss;
    taken.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return taken;
}

static void report(const char *path, const struct taken *taken)
{
    FILE *file = fopen(path, "we");

    if (!file)
        fail(path);
    (void)fprintf(file,
                  "cpu_seconds=%.4f seconds=%.4f max_rss_kib=%ld max_anonymous_kib=%ld status=%d\n",
                  taken->cpu_seconds, taken->seconds, taken->max_rss_kib, taken->max_anonymous_kib,
                  taken->status);
    if (fclose(file) != 0)
        fail(path);
}

static const struct cli_option options[] = {
    { 1, 'n', "runs", "N", "run it N times, report the run with the least CPU time (default 1)" },
    { 2, 'a', "anonymous", NULL, "look at its memory every millisecond" },
    { 0 },
};

static const char *const examples[] = {
    "what reading from a pipe takes",
    "fxtgen --size 1G | meter figures fxtdump --stats -",
    NULL,
};

static const struct cli_command command = {
    .name = "meter",
    .usage = "[OPTION]... FILE COMMAND [ARGUMENT]...",
    .summary = "Run COMMAND and write the CPU time, time and memory it took to FILE.",
    .options = options,
    .examples = examples,
    .stop_at_operand = true,
};

int main(int argc, char **argv)
{
    struct cli_parser parser;
    struct taken best = { 0 };
    uint64_t runs = 1;
    bool look = false;
    int key;

    (void)argc;
    cli_start(&parser, &command, argv + 1);
    while ((key = cli_next(&parser)) != CLI_END) {
        if (key == 2)
            look = true;
        else
            runs = cli_number("--runs", parser.value, 1, 1000);
    }
    if (!parser.argv[0] || !parser.argv[1])
        cli_usage_error("a file and a command are needed");
    for (uint64_t i = 0; i < runs; i++) {
        struct taken taken = run(parser.argv + 1, look);
        if (i == 0 || taken.status != 0 || taken.cpu_seconds < best.cpu_seconds)
            best = taken;
        if (taken.status != 0)
            break;
    }
    report(parser.argv[0], &best);
    return best.status;
}
