#include "sampler-capture/cpu/events.h"

#include "sampler-capture/cpu/region.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ONLINE_CPUS "/sys/devices/system/cpu/online"
#define PARANOID    "/proc/sys/kernel/perf_event_paranoid"
#define MAX_STACK   "/proc/sys/kernel/perf_event_max_stack"
#define MAX_CPUS    65536

#define FORMAT_LOST (1U << 4) /* PERF_FORMAT_LOST, of Linux 6.0 */

/* Some thousand mappings: with this and NORMAL_RING_SIZE (capture.c) two rings fit into the 516 KiB
 * that perf_event_mlock_kb allows users for each CPU.  */
#define SIDEBAND_RING_SIZE (128U << 10)

static bool read_text(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "re");
    bool read = file && fgets(text, (int)size, file);

    if (file)
        (void)fclose(file);
    return read;
}

static long read_number(const char *path, long otherwise)
{
    char text[32];

    return read_text(path, text, sizeof text) ? strtol(text, NULL, 10) : otherwise;
}

/* ---- Which CPUs ---- */

static bool add_cpu(struct events *events, unsigned cpu)
{
    struct cpu_events *cpus = events->cpus;

    if ((events->count & (events->count - 1)) == 0) { /* full at powers of two */
        cpus = reallocarray(cpus, events->count ? 2 * events->count : 1, sizeof *cpus);
        if (!cpus)
            return false;
        events->cpus = cpus;
    }
    cpus[events->count++] = (struct cpu_events){ .cpu = cpu, .sideband.fd = -1, .samples.fd = -1 };
    events->cpu_limit = cpu + 1;
    return true;
}

/* The list has the form "0-3,8,10-11".  */
static bool add_online_cpus(struct events *events)
{
    char text[4096];
    char *next = text;

    if (!read_text(ONLINE_CPUS, text, sizeof text)) /* no sysfs: CPUs are numbered without gaps */
        (void)snprintf(text, sizeof text, "0-%ld", sysconf(_SC_NPROCESSORS_ONLN) - 1);
    while (*next >= '0' && *next <= '9') {
        unsigned long first = strtoul(next, &next, 10), last = first;
        if (*next == '-')
            last = strtoul(next + 1, &next, 10);
        for (; first <= last && first < MAX_CPUS; first++)
            if (!add_cpu(events, (unsigned)first))
                return false;
        if (*next == ',')
            next++;
    }
    return events->count > 0;
}

/* ---- Opening ---- */

/* Older kernels refuse what they do not know; a capture can do without its count of losses (6.0)
 * and its build IDs (5.12).  */
static int perf_event_open(struct perf_event_attr *attr, pid_t pid, unsigned cpu)
{
    int fd;

    for (;;) {
        fd = (int)syscall(SYS_perf_event_open, attr, pid, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
        if (fd >= 0 || errno != EINVAL)
            return fd;
        if (attr->read_format)
            attr->read_format = 0;
        else if (attr->build_id)
            attr->build_id = 0;
        else
            return fd;
    }
}

/* The same for both events, so that all records have one layout (perf_record.h).  CPU and
 * instruction pointer are left out of the samples: each ring is of one CPU, and the callchain
 * begins with the instruction.  */
static struct perf_event_attr common_attr(uint64_t config, size_t ring_size)
{
    return (struct perf_event_attr){
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(struct perf_event_attr),
        .config = config,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
        .read_format = FORMAT_LOST,
        .sample_id_all = 1,
        .inherit = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .exclude_callchain_kernel = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .watermark = 1,
        .wakeup_watermark = (uint32_t)(ring_size / 4),
    };
}

static int open_sideband(pid_t pid, unsigned cpu, size_t ring_size, uint32_t max_frames)
{
    struct perf_event_attr attr = common_attr(PERF_COUNT_SW_DUMMY, ring_size);

    attr.sample_max_stack = (uint16_t)max_frames;
    attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = 1;
    attr.build_id = 1;
    return perf_event_open(&attr, pid, cpu);
}

static int open_sampling(pid_t pid, unsigned cpu, uint64_t period_ns, size_t ring_size,
                         uint32_t max_frames)
{
    struct perf_event_attr attr = common_attr(PERF_COUNT_SW_TASK_CLOCK, ring_size);

    attr.sample_max_stack = (uint16_t)max_frames;
    attr.sample_period = period_ns;
    attr.disabled = 1;
    attr.enable_on_exec = 1;
    return perf_event_open(&attr, pid, cpu);
}

/* Two descriptors a CPU: on large machines more than the usual soft limit.  */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static bool map_ring(struct event *event, size_t ring_size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *mapping = mmap(NULL, page + ring_size, PROT_READ | PROT_WRITE, MAP_SHARED, event->fd, 0);

    if (mapping == MAP_FAILED)
        return false;
    event->mapping = mapping;
    event->mapping_size = page + ring_size;
    ring_init(&event->ring, mapping, (const uint8_t *)mapping + page, ring_size);
    return true;
}

static void close_event(struct event *event)
{
    if (event->mapping)
        (void)munmap(event->mapping, event->mapping_size);
    if (event->fd >= 0)
        (void)close(event->fd);
    ring_release(&event->ring);
    *event = (struct event){ .fd = -1 };
}

static void close_cpu(struct cpu_events *cpu)
{
    close_event(&cpu->sideband);
    close_event(&cpu->samples);
}

static bool open_cpu(struct cpu_events *cpu, pid_t pid, uint64_t period_ns, size_t ring_size,
                     size_t sideband_size, uint32_t max_frames)
{
    cpu->sideband.fd = open_sideband(pid, cpu->cpu, sideband_size, max_frames);
    if (cpu->sideband.fd < 0 || !map_ring(&cpu->sideband, sideband_size))
        return false;
    cpu->samples.fd = open_sampling(pid, cpu->cpu, period_ns, ring_size, max_frames);
    return cpu->samples.fd >= 0 && map_ring(&cpu->samples, ring_size);
}

/* All CPUs with rings of one size.  On failure errno says why and nothing is left open.  */
static bool open_all(struct events *events, pid_t pid, uint64_t period_ns, size_t ring_size,
                     size_t sideband_size)
{
    for (size_t i = 0; i < events->count; i++) {
        if (open_cpu(&events->cpus[i], pid, period_ns, ring_size, sideband_size,
                     events->max_frames))
            continue;
        int cause = errno;
        if (cause == ENODEV) { /* it went offline just now; nothing runs there */
            close_cpu(&events->cpus[i]);
            continue;
        }
        for (size_t j = 0; j <= i; j++)
            close_cpu(&events->cpus[j]);
        errno = cause;
        return false;
    }
    return true;
}

static void explain(struct events_error *error, int cause)
{
    long paranoid = read_number(PARANOID, -1);

    if ((cause == EACCES || cause == EPERM) && paranoid > 2)
        (void)snprintf(error->message, sizeof error->message,
                       "kernel.perf_event_paranoid is %ld, which keeps users from measuring their "
                       "own programs; as root, 'sysctl kernel.perf_event_paranoid=2' allows it, or "
                       "run sampler-capture with CAP_PERFMON",
                       paranoid);
    else if (cause == EACCES || cause == EPERM)
        (void)snprintf(error->message, sizeof error->message,
                       "perf_event_open: %s although kernel.perf_event_paranoid is %ld; containers "
                       "forbid it unless started with CAP_PERFMON or a seccomp profile that allows "
                       "it",
                       strerror(cause), paranoid);
    else if (cause == ENOSYS || cause == ENOENT)
        (void)snprintf(error->message, sizeof error->message,
                       "this kernel is built without perf events");
    else if (cause == EMFILE)
        (void)snprintf(error->message, sizeof error->message,
                       "perf_event_open: %s; two are needed for each CPU: raise 'ulimit -n'",
                       strerror(cause));
    else
        (void)snprintf(error->message, sizeof error->message, "perf_event_open: %s",
                       strerror(cause));
}

bool events_open(struct events *events, pid_t pid, uint64_t period_ns, size_t ring_size,
                 struct events_error *error)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t sideband_size = SIDEBAND_RING_SIZE;
    long deepest = read_number(MAX_STACK, REGION_MAX_FRAMES);
    bool opened;

    *events = (struct events){ .max_frames = REGION_MAX_FRAMES };
    if (deepest > 0 && deepest < REGION_MAX_FRAMES)
        events->max_frames = (uint32_t)deepest;
    if (!add_online_cpus(events)) {
        events_close(events);
        explain(error, ENOMEM);
        return false;
    }
    raise_descriptor_limit();
    /* mmap() says EPERM when a ring exceeds perf_event_mlock_kb and RLIMIT_MEMLOCK.  It says so for
     * the sum over all rings of the user, hence only trying tells what is possible.  */
    while (!(opened = open_all(events, pid, period_ns, ring_size, sideband_size)) &&
           (errno == EPERM || errno == ENOMEM) && ring_size > page) {
        ring_size /= 2;
        if (sideband_size > page)
            sideband_size /= 2;
    }
    if (!opened) {
        int cause = errno;
        events_close(events);
        explain(error, cause);
    }
    return opened;
}

/* Also stops the events that children inherited.  */
void events_stop(const struct events *events)
{
    for (size_t i = 0; i < events->count; i++)
        if (events->cpus[i].samples.fd >= 0)
            (void)ioctl(events->cpus[i].samples.fd, PERF_EVENT_IOC_DISABLE, 0);
}

/* An event with that read_format gives its value and what it lost, events inherited from it
 * included.  */
static uint64_t lost_of(int fd)
{
    uint64_t numbers[2];

    return read(fd, numbers, sizeof numbers) == (ssize_t)sizeof numbers ? numbers[1] : 0;
}

uint64_t events_lost(const struct cpu_events *cpu)
{
    return lost_of(cpu->samples.fd) + lost_of(cpu->sideband.fd);
}

void events_close(struct events *events)
{
    for (size_t i = 0; i < events->count; i++)
        close_cpu(&events->cpus[i]);
    free(events->cpus);
    *events = (struct events){ .cpus = NULL };
}
