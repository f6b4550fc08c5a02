/* cpu_options.h - the command line of "sampler-capture cpu".  */
#ifndef CPU_OPTIONS_H
#define CPU_OPTIONS_H

#include "cmd/cli/cli.h"
#include "sampler-capture/cpu/cpu_session.h"

#include <stddef.h>
#include <stdint.h>

#define MAX_PERIOD_NS 3600000000000 /* an hour: whoever asks for more has mixed up units */
#define MAX_HZ        (1000000000 / SAMPLER_MIN_PERIOD_NS)

/* 1 kHz.  Fuchsia takes 100 Hz, perf 4 kHz.  At 1 kHz ten seconds of work give the 10,000 samples
 * that resolve a hundredth of the time to a tenth of itself, for well under 1 % of its cost.  */
#define DEFAULT_PERIOD_NS 1000000

#define DEFAULT_REGION_SIZE (4U << 20) /* as Zircon's */

/* A sample has at most 64 KiB, with callchain and registers.  */
#define MIN_STACK (1U << 10)
#define MAX_STACK (60U << 10)

#define MAX_REPEAT 1000 /* as many runs as can be compared */

struct cpu_options {
    uint64_t period_ns;
    const struct counter *counter; /* NULL: CPU time */
    uint64_t counter_period;
    unsigned cpu; /* COMMAND runs on this one only, if pinned */
    bool pinned;
    const char *frequency, *period; /* as given; NULL: not */
    size_t region_size;
    const char *output;         /* "-" is standard output; NULL: regions instead */
    const char *regions;        /* folder; NULL: none */
    struct session_task *tasks; /* owned; from -p, --tree, -t and -a */
    size_t task_count, task_capacity;
    const char *comm;     /* wait for processes of this name; NULL: none */
    uint64_t duration_ns; /* 0: until the targets end or a signal comes */
    unsigned repeat;      /* captures, one after another; 0: one, under the name as given */
    enum drain_mode mode;
    enum session_strategy strategy;
    uint32_t stack_size; /* 0: the default */
    bool profiler;       /* --layout profiler */
    bool compress;
    bool quiet;
    bool kernel;
    bool background;
    bool print_stats;
    const char *stats_json; /* "-" is standard output; NULL: none */
    const char *kept;       /* folder for copies of the modules; NULL: none */
    char *const *command;   /* at least one word, NULL at the end; or none */
};

/* The period of so many samples a second, to the nearest nanosecond.  hz is 1..MAX_HZ.  */
uint64_t period_from_hz(uint64_t hz);

/* The option table and the help.  */
extern const struct cli_command cpu_command;

/* Read the command line; ends the program when it is wrong or asks for help.  */
void cpu_options_parse(struct cpu_options *options, char **argv);

#endif /* CPU_OPTIONS_H */
