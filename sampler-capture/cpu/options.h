/* options.h - the command line of "sampler-capture cpu".  */
#ifndef CPU_OPTIONS_H
#define CPU_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#define MIN_PERIOD_NS 10000         /* ZX_SAMPLER_MIN_PERIOD */
#define MAX_PERIOD_NS 3600000000000 /* an hour: whoever asks for more has mixed up units */
#define MAX_HZ        (1000000000 / MIN_PERIOD_NS)

/* 1 kHz.  Fuchsia takes 100 Hz, perf 4 kHz.  At 1 kHz ten seconds of work give the 10,000 samples
 * that resolve a hundredth of the time to a tenth of itself, for well under 1 % of its cost.  */
#define DEFAULT_PERIOD_NS 1000000

#define DEFAULT_REGION_SIZE (4U << 20) /* as Zircon's */

struct cpu_options {
    uint64_t period_ns;
    size_t region_size;
    const char *output;   /* "-" is standard output */
    char *const *command; /* at least one word, NULL at the end */
};

/* The period of so many samples a second, to the nearest nanosecond.  hz is 1..MAX_HZ.  */
uint64_t period_from_hz(uint64_t hz);

/* Read the command line; ends the program when it is wrong or asks for help.  */
void cpu_options_parse(struct cpu_options *options, char **argv);

#endif /* CPU_OPTIONS_H */
