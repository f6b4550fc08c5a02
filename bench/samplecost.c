/* samplecost - what the kernel takes for a sample, by what it records.
 *
 *   samplecost [ROUNDS]
 *
 * The same work runs under events that record more and more, forwards and backwards in each
 * round, at 1 kHz; nobody reads the samples, and new ones overwrite old ones.  Prints microseconds
 * of CPU time a sample: of one that records the address alone, and how much more others take, as
 * means without a fifth at each end, with their standard errors.
 *
 * The stack has 26 KiB and what the system puts above, so a copy of 12 KiB ends on it, and one of
 * 32 KiB beyond.  */
#include <linux/perf_event.h>
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { RATE = 1000, ROUNDS_MOST = 1000, DEPTH = 16, FRAME_BYTES = 512, ABOVE_BYTES = 16384 };

#define WORK         60000000U
#define BUFFER_BYTES ((size_t)8 << 20)
/* All that callers are found by.  */
#if defined __x86_64__
#define REGISTERS UINT64_C(0xff0fff)
#elif defined __aarch64__
#define REGISTERS UINT64_C(0x1ffffffff)
#else
#define REGISTERS UINT64_C(0xffffffff)
#endif

static const struct {
    const char *name;
    uint64_t records;
    uint32_t stack_bytes;
} events[] = {
    { "none", 0, 0 },
    { "address", PERF_SAMPLE_IP, 0 },
    { "chain", PERF_SAMPLE_CALLCHAIN, 0 },
    { "registers", PERF_SAMPLE_REGS_USER, 0 },
    { "copy_1k", PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER, 1024 },
    { "auto", PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER, 1024 },
    { "copy_12k", PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER, 12288 },
    { "perf_dwarf", PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER, 32768 },
};

enum { CHAIN = 2, AUTO = 5, EVENTS = sizeof events / sizeof *events };

static double times[EVENTS][ROUNDS_MOST]; /* CPU time of both runs of a round */
static size_t count;                      /* of rounds */

static double seconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

__attribute__((noinline)) static uint64_t work(unsigned depth)
{
    volatile char frame[FRAME_BYTES];
    uint64_t number = 1;

    frame[depth] = 0;
    if (depth)
        return work(depth - 1) + (uint64_t)frame[depth];
    for (uint32_t i = 0; i < WORK; i++)
        number = number * 6364136223846793005U + 1;
    return number;
}

static int open_event(int event)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = 1000000000 / RATE,
        .exclude_kernel = 1,
        .exclude_callchain_kernel = 1,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | events[event].records,
        .sample_regs_user = events[event].records & PERF_SAMPLE_REGS_USER ? REGISTERS : 0,
        .sample_stack_user = events[event].stack_bytes,
        .watermark = 1,
        .wakeup_watermark = UINT32_C(1) << 30,
        .write_backward = 1,
    };

    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

/* The CPU time of the work; below 0 if the event cannot be opened.  */
static double measure(int event)
{
    size_t size = BUFFER_BYTES + (size_t)sysconf(_SC_PAGESIZE);
    static volatile uint64_t result;
    void *buffer = MAP_FAILED;
    double before, passed = -1;
    int fd = -1;

    if (event > 0) {
        fd = open_event(event);
        if (fd >= 0)
            buffer = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    }
    if (event == 0 || buffer != MAP_FAILED) {
        before = seconds();
        result = work(DEPTH);
        passed = seconds() - before;
        (void)result;
    }
    if (buffer != MAP_FAILED)
        (void)munmap(buffer, size);
    if (fd >= 0)
        (void)close(fd);
    return passed;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* What an event takes more than another one: mean and standard error without a fifth at each
 * end.  */
static void print(const char *name, int event, int other)
{
    double values[ROUNDS_MOST] = { 0 }, mean = 0, squares = 0;
    size_t cut = count / 5, kept = count - 2 * cut;

    for (size_t r = 0; r < count; r++)
        values[r] = 1e6 * (times[event][r] - times[other][r]) / (times[0][r] * RATE);
    qsort(values, count, sizeof *values, compare);
    for (size_t i = cut; i < count - cut; i++)
        mean += values[i] / (double)kept;
    for (size_t i = 0; i < count; i++) {
        double value = values[i < cut ? cut : i >= count - cut ? count - cut - 1 : i];

        squares += (value - mean) * (value - mean);
    }
    printf("%s=%.2f %s_error=%.2f\n", name, mean, name,
           sqrt(squares / (double)count) * sqrt((double)count) / (double)kept);
}

int main(int argc, char **argv)
{
    volatile char above[ABOVE_BYTES];
    cpu_set_t cpu;

    for (size_t i = 0; i < sizeof above; i++)
        above[i] = 0; /* pages that are not there could not be copied */
    count = argc > 1 ? strtoul(argv[1], NULL, 10) : 60;
    if (count < 5 || count > ROUNDS_MOST)
        return 1;
    CPU_ZERO(&cpu);
    CPU_SET((size_t)sysconf(_SC_NPROCESSORS_ONLN) - 1, &cpu);
    (void)sched_setaffinity(0, sizeof cpu, &cpu);
    for (size_t r = 0; r < count; r++)
        for (int turn = 0; turn < 2 * EVENTS; turn++) {
            int event = turn < EVENTS ? turn : 2 * EVENTS - 1 - turn;
            double time = measure(event);

            if (time < 0) {
                perror(events[event].name);
                return 1;
            }
            times[event][r] += time;
        }
    for (int event = 1; event < EVENTS; event++)
        print(events[event].name, event, event == 1 ? 0 : 1);
    print("auto_less_chain", AUTO, CHAIN);
    return 0;
}
