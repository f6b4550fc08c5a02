/* meter - run a command and write down what it took: CPU time, time, memory.
 *
 *   meter [--runs N] FILE COMMAND [ARGUMENT]...
 *
 * FILE gets one line for the run with the least CPU time.  The command's status is passed on.  */
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

/* Of the child alone, and of the children that it waited for.  */
static struct taken run(char **argv)
{
    double start = now();
    struct rusage usage;
    struct taken taken;
    int status;
    pid_t child = fork();

    if (child < 0)
        fail("fork");
    if (child == 0) {
        (void)execvp(argv[0], argv);
        cli_error("%s: %s", argv[0], strerror(errno));
        _exit(127);
    }
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
    (void)fprintf(file, "cpu_seconds=%.4f seconds=%.4f max_rss_kib=%ld status=%d\n",
                  taken->cpu_seconds, taken->seconds, taken->max_rss_kib, taken->status);
    if (fclose(file) != 0)
        fail(path);
}

static const struct cli_option options[] = {
    { 1, 'n', "runs", "N", "run it N times, report the run with the least CPU time (default 1)" },
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

    (void)argc;
    cli_start(&parser, &command, argv + 1);
    while (cli_next(&parser) != CLI_END)
        runs = cli_number("--runs", parser.value, 1, 1000);
    if (!parser.argv[0] || !parser.argv[1])
        cli_usage_error("a file and a command are needed");
    for (uint64_t i = 0; i < runs; i++) {
        struct taken taken = run(parser.argv + 1);
        if (i == 0 || taken.status != 0 || taken.cpu_seconds < best.cpu_seconds)
            best = taken;
        if (taken.status != 0)
            break;
    }
    report(parser.argv[0], &best);
    return best.status;
}
