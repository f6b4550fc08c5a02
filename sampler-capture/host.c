#include "sampler-capture/host.h"

#include "sampler-capture/clean_text.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

uint64_t host_clock_ns(int clock)
{
    struct timespec now;

    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* struct sched_attr of sched_setattr(2), first version.  */
struct scheduling {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

#define RESET_ON_FORK 1

/* Since Linux 6.12 anybody may ask for a short slice, which makes a deadline near.  */
void host_hurry(void)
{
    int nice = getpriority(PRIO_PROCESS, 0);
    struct scheduling wanted = { .size = sizeof wanted,
                                 .policy = SCHED_OTHER,
                                 .flags = RESET_ON_FORK,
                                 .nice = nice ? nice : -10,
                                 .runtime = 100000 };

    if (sched_getscheduler(0) != SCHED_OTHER || syscall(SYS_sched_setattr, 0, &wanted, 0) == 0)
        return;
    wanted.nice = nice;
    (void)syscall(SYS_sched_setattr, 0, &wanted, 0);
}

/* "model name : ..." on x86; arm64 has no such line and the text stays empty.  */
static void find_cpu_model(char *model, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[256];

    model[0] = '\0';
    while (file && fgets(line, sizeof line, file)) {
        char *value = strchr(line, ':');
        if (strncmp(line, "model name", strlen("model name")) != 0 || !value)
            continue;
        value += 1 + strspn(value + 1, " \t");
        value[strcspn(value, "\n")] = '\0';
        utf8_copy(model, size, value);
        break;
    }
    if (file)
        (void)fclose(file);
}

static bool needs_quotes(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-+=./,:@%";

    return word[0] == '\0' || word[strspn(word, plain)] != '\0';
}

static void write_word(FILE *text, const char *word)
{
    if (!needs_quotes(word)) {
        (void)fputs(word, text);
        return;
    }
    (void)fputc('\'', text);
    for (; *word; word++)
        (void)fputs(*word == '\'' ? "'\\''" : (char[]){ *word, '\0' }, text);
    (void)fputc('\'', text);
}

static void join_command(char *command, size_t size, char *const argv[])
{
    char *joined = NULL;
    size_t length;
    FILE *text = open_memstream(&joined, &length);

    command[0] = '\0';
    if (!text)
        return;
    for (size_t i = 0; argv[i]; i++) {
        if (i > 0)
            (void)fputc(' ', text);
        write_word(text, argv[i]);
    }
    if (fclose(text) == 0 && joined)
        utf8_copy(command, size, joined);
    free(joined);
}

void host_describe(struct host *host, char *const argv[], struct trace_session *session)
{
    (void)uname(&host->system);
    find_cpu_model(host->cpu_model, sizeof host->cpu_model);
    join_command(host->command, sizeof host->command, argv);
    session->arch = host->system.machine;
    session->kernel = host->system.release;
    session->cpu_model = host->cpu_model;
    session->command = host->command;
    session->clock = "monotonic"; /* samples of CPU time have another */
    session->tool_version = FXT_TOOLCHAIN_VERSION;
    session->realtime_ns = host_clock_ns(CLOCK_REALTIME);
    session->monotonic_ns = host_clock_ns(CLOCK_MONOTONIC);
}

void host_raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}
