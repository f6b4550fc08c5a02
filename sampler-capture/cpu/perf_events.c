#include "sampler-capture/cpu/perf_events.h"

#include "base/file.h"
#include "base/grow.h"
#include "sampler-capture/cpu/region.h"
#include "sampler-capture/host.h"
#include "sampler-capture/perf_record.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ONLINE_CPUS "/sys/devices/system/cpu/online"
#define PARANOID    "/proc/sys/kernel/perf_event_paranoid"
#define MAX_STACK   "/proc/sys/kernel/perf_event_max_stack"
#define MAX_CPUS    65536

#define FORMAT_LOST (1U << 4) /* PERF_FORMAT_LOST, of Linux 6.0 */

/* Some thousand mappings: two rings of these sizes fit into the 516 KiB
 * that perf_event_mlock_kb allows users for each CPU.  */
#define SIDEBAND_RING_SIZE (128U << 10)
#define COMMON_RING_SIZE   (256U << 10)

#define LEAST_COPY 512U                /* bytes */
#define GOOD_COPY  (16U << 10)         /* as long as a ring holds 16 of them */
#define MOST_COPY  (60U << 10)         /* a sample has at most 64 KiB */
#define ENOUGH_NS  UINT64_C(100000000) /* of samples in a ring */
#define ALL_RINGS  (256U << 20)        /* bytes of those of all CPUs */
#define MANY_CPUS  16U
/* Of the sizes for stacks that fit, the one that is left then.  */
#define FOR_MANY_CPUS (COPIES_LARGE - 1)
#define OTHER_FIELDS  1280U /* bytes of a sample that are not its copy: its chain, registers */

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
    if (!base_make_room(&events->cpus, &events->capacity, events->count + 1, sizeof *events->cpus))
        return false;
    events->cpus[events->count++] =
        (struct cpu_events){ .cpu = cpu, .sideband.fd = -1, .samples.fd = -1 };
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

/* The same for all events, so that all records have one layout (perf_record.h).  CPU and
 * instruction pointer are left out of the samples: each ring is of one CPU, and the callchain
 * begins with the instruction.  */
static struct perf_event_attr common_attr(const struct events_config *config, uint64_t counter)
{
    return (struct perf_event_attr){
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(struct perf_event_attr),
        .config = counter,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
        .sample_max_stack = (uint16_t)config->max_frames,
        .sample_id_all = 1,
        .exclude_kernel = !config->kernel,
        .exclude_hv = 1,
        .exclude_callchain_kernel = !config->kernel,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
    };
}

static struct perf_event_attr target_attr(const struct events_config *config,
                                          const struct events_target *target, uint64_t counter)
{
    struct perf_event_attr attr = common_attr(config, counter);

    attr.read_format = FORMAT_LOST;
    attr.inherit = target->reach == EVENTS_PROCESS || target->reach == EVENTS_TREE;
    attr.inherit_thread = target->reach == EVENTS_PROCESS;
    return attr;
}

static int open_sideband(const struct events_config *config, const struct events_target *target,
                         unsigned cpu)
{
    struct perf_event_attr attr = target_attr(config, target, PERF_COUNT_SW_DUMMY);

    attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = 1;
    attr.build_id = 1;
    return perf_event_open(&attr, target->tid, cpu);
}

/* The kernel gives side-band records only to events that are enabled, and those of an exec must not
 * be missed; hence two events, of which this one may still be off.  */
static int open_sampling(const struct events_config *config, const struct events_target *target,
                         unsigned cpu, enum copies_size size, bool is_on)
{
    struct perf_event_attr attr = target_attr(
        config, target,
        target->reach == EVENTS_ALL ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_TASK_CLOCK);

    attr.sample_period = config->period_ns;
    if (config->counter) {
        attr.type = config->counter->type;
        attr.config = config->counter->config;
        attr.sample_period = config->counter_period;
    }
    if (config->copies.bytes[size]) {
        attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
        attr.sample_regs_user = PERF_USER_REGISTERS;
        attr.sample_stack_user = config->copies.bytes[size];
        attr.exclude_callchain_user = size != COPIES_SMALL && size != copies_top(&config->copies);
    }
    attr.exclude_idle = target->reach == EVENTS_ALL;
    attr.disabled = !is_on || !target->running;
    attr.enable_on_exec = is_on && target->on_exec;
    return perf_event_open(&attr, target->tid, cpu);
}

/* The owner of a ring: an event of our own that never counts.  Anybody may open it.  */
static int open_owner(const struct events_config *config, unsigned cpu, size_t ring_size)
{
    struct perf_event_attr attr = common_attr(config, PERF_COUNT_SW_DUMMY);

    attr.exclude_kernel = attr.exclude_callchain_kernel = 1;
    attr.disabled = 1;
    attr.watermark = 1;
    attr.wakeup_watermark = (uint32_t)(ring_size / 4);
    return perf_event_open(&attr, 0, cpu);
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

static void close_attached(struct attached *attached)
{
    base_close(&attached->sideband);
    for (int i = 0; i < COPIES_COUNT; i++)
        base_close(&attached->samples[i]);
}

static void close_cpu(struct cpu_events *cpu)
{
    for (size_t i = 0; i < cpu->attached_count; i++)
        close_attached(&cpu->attached[i]);
    free(cpu->attached);
    cpu->attached = NULL;
    cpu->attached_count = cpu->attached_capacity = 0;
    close_event(&cpu->sideband);
    close_event(&cpu->samples);
}

static bool open_ring(struct event *event, const struct events_config *config, unsigned cpu,
                      size_t ring_size)
{
    event->fd = open_owner(config, cpu, ring_size);
    return event->fd >= 0 && map_ring(event, ring_size);
}

/* All CPUs with rings of one size.  On failure errno says why and nothing is left open.  */
static bool open_rings(struct events *events, size_t sideband_size)
{
    const struct events_config *config = &events->config;

    for (size_t i = 0; i < events->count; i++) {
        struct cpu_events *cpu = &events->cpus[i];
        if ((!config->sideband || open_ring(&cpu->sideband, config, cpu->cpu, sideband_size)) &&
            open_ring(&cpu->samples, config, cpu->cpu, config->ring_size))
            continue;
        int cause = errno;
        if (cause == ENODEV) { /* it went offline just now; nothing runs there */
            close_cpu(cpu);
            continue;
        }
        for (size_t j = 0; j <= i; j++)
            close_cpu(&events->cpus[j]);
        errno = cause;
        return false;
    }
    return true;
}

/* Whether we may measure everything: CAP_PERFMON or CAP_SYS_ADMIN.  */
static bool is_privileged(void)
{
    static const char name[] = "CapEff:";
    FILE *file = fopen("/proc/self/status", "re");
    unsigned long long capabilities = 0;
    char line[256];

    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, sizeof name - 1) == 0)
            capabilities = strtoull(line + sizeof name - 1, NULL, 16);
    if (file)
        (void)fclose(file);
    return capabilities & (1ULL << 38 | 1ULL << 21);
}

/* The kernel lets users measure those that they may trace, whose files in /proc are theirs.  */
static bool is_ours(pid_t tid)
{
    struct stat status;
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%d", (int)tid);
    return stat(path, &status) != 0 || status.st_uid == geteuid();
}

/* Why a target is refused that others would not be; false: for no such reason.  */
static bool explain_target(struct events_error *error, const struct events_target *target,
                           long paranoid)
{
    if (!target || is_privileged())
        return false;
    if (target->reach == EVENTS_ALL && paranoid > 0) {
        (void)snprintf(error->message, sizeof error->message,
                       "kernel.perf_event_paranoid is %ld, which keeps users from measuring all "
                       "processes; as root, 'sysctl kernel.perf_event_paranoid=0' allows it, or "
                       "run sampler-capture with CAP_PERFMON",
                       paranoid);
        return true;
    }
    if (target->reach != EVENTS_ALL && !is_ours(target->tid)) {
        (void)snprintf(error->message, sizeof error->message,
                       "%d is another user's, or got rights when it started: run sampler-capture "
                       "as root or with CAP_PERFMON",
                       (int)target->tid);
        return true;
    }
    return false;
}

/* EACCES or EPERM.  */
static void explain_refusal(struct events_error *error, int cause, bool kernel,
                            const struct events_target *target)
{
    long paranoid = read_number(PARANOID, -1);

    if (kernel && paranoid > 1)
        (void)snprintf(error->message, sizeof error->message,
                       "kernel.perf_event_paranoid is %ld, which keeps users from measuring the "
                       "kernel; as root, 'sysctl kernel.perf_event_paranoid=1' allows it, or run "
                       "sampler-capture with CAP_PERFMON",
                       paranoid);
    else if (paranoid > 2)
        (void)snprintf(error->message, sizeof error->message,
                       "kernel.perf_event_paranoid is %ld, which keeps users from measuring their "
                       "own programs; as root, 'sysctl kernel.perf_event_paranoid=2' allows it, or "
                       "run sampler-capture with CAP_PERFMON",
                       paranoid);
    else if (!explain_target(error, target, paranoid))
        (void)snprintf(error->message, sizeof error->message,
                       "perf_event_open: %s although kernel.perf_event_paranoid is %ld; containers "
                       "forbid it unless started with CAP_PERFMON or a seccomp profile that allows "
                       "it",
                       strerror(cause), paranoid);
}

static void explain(struct events_error *error, int cause, const struct events_config *config,
                    const struct events_target *target)
{
    bool has_copies = config->copies.bytes[COPIES_SMALL] > 0;

    error->cause = cause;
    if (cause == EACCES || cause == EPERM)
        explain_refusal(error, cause, config->kernel, target);
    else if (counter_is_hardware(config->counter) && target &&
             (cause == ENOENT || cause == EOPNOTSUPP || cause == ENODEV || cause == EINVAL))
        (void)snprintf(error->message, sizeof error->message,
                       "the processor does not count %s for this system (perf_event_open: %s), as "
                       "in most virtual machines; omit --event to sample CPU time, or use --event "
                       "page-faults",
                       config->counter->name, strerror(cause));
    else if (cause == ENOSYS || cause == ENOENT)
        (void)snprintf(error->message, sizeof error->message,
                       "this kernel is built without perf events");
    else if (cause == EMFILE)
        (void)snprintf(
            error->message, sizeof error->message,
            "perf_event_open: %s; each thread needs some for each CPU: raise 'ulimit -n'%s",
            strerror(cause), has_copies ? " or take --unwind fp" : "");
    else
        (void)snprintf(error->message, sizeof error->message, "perf_event_open: %s",
                       strerror(cause));
}

/* A ring should hold the samples of a tenth of a second, and must hold some, or all are lost.  */
static uint32_t largest_copy(const struct events_config *config)
{
    uint64_t ring = config->ring_size;
    uint64_t most = config->period_ns < ENOUGH_NS ? ring * config->period_ns / ENOUGH_NS : ring;
    uint64_t least = ring / 16 < GOOD_COPY ? ring / 16 : GOOD_COPY;

    most = most > least ? most : least;
    if (most > MOST_COPY)
        return MOST_COPY;
    return most > LEAST_COPY + OTHER_FIELDS ? (uint32_t)(most - OTHER_FIELDS) & ~7U : LEAST_COPY;
}

/* On large machines events, of which each task has some for each CPU, are dear.  */
static void fit_copies(struct events *events)
{
    uint32_t most = largest_copy(&events->config), *bytes = events->config.copies.bytes;

    if (bytes[COPIES_LARGE] > most)
        bytes[COPIES_LARGE] = most;
    if (bytes[COPIES_SMALL] >= bytes[COPIES_LARGE])
        bytes[COPIES_SMALL] = 0;
    for (int size = COPIES_FIRST_FITTING; size < COPIES_LARGE; size++)
        if (bytes[size] >= bytes[COPIES_LARGE] ||
            (events->count > MANY_CPUS && size != FOR_MANY_CPUS))
            bytes[size] = 0;
    if (bytes[COPIES_LARGEST] > most || bytes[COPIES_LARGEST] <= bytes[COPIES_LARGE] ||
        events->count > MANY_CPUS)
        bytes[COPIES_LARGEST] = 0;
}

bool events_open(struct events *events, const struct events_config *config,
                 struct events_error *error)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t sideband_size = SIDEBAND_RING_SIZE;
    long deepest = read_number(MAX_STACK, config->max_frames);
    bool opened;

    *events = (struct events){ .config = *config };
    if (deepest > 0 && deepest < (long)config->max_frames)
        events->config.max_frames = (uint32_t)deepest;
    if (!add_online_cpus(events)) {
        events_close(events);
        explain(error, ENOMEM, config, NULL);
        return false;
    }
    host_raise_descriptor_limit(); /* a CPU takes two */
    while (events->config.ring_size * events->count > ALL_RINGS &&
           events->config.ring_size > COMMON_RING_SIZE)
        events->config.ring_size /= 2;
    /* mmap() says EPERM when a ring exceeds perf_event_mlock_kb and RLIMIT_MEMLOCK.  It says so for
     * the sum over all rings of the user, hence only trying tells what is possible.  */
    while (!(opened = open_rings(events, sideband_size)) && (errno == EPERM || errno == ENOMEM) &&
           events->config.ring_size > page) {
        if (events->config.ring_size <= COMMON_RING_SIZE && sideband_size > page)
            sideband_size /= 2;
        events->config.ring_size /= 2;
    }
    if (!opened) {
        int cause = errno;
        events_close(events);
        explain(error, cause, config, NULL);
        return false;
    }
    fit_copies(events);
    events->size = copies_top(&events->config.copies);
    return true;
}

/* ---- Attaching ---- */

/* Let an event write into the ring of its CPU.  */
static bool redirect(int fd, const struct event *ring)
{
    return fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) == 0;
}

static struct attached *room_for_one(struct cpu_events *cpu)
{
    return base_make_room(&cpu->attached, &cpu->attached_capacity, cpu->attached_count + 1,
                          sizeof *cpu->attached)
               ? &cpu->attached[cpu->attached_count]
               : NULL;
}

/* What is of no size is sampled without a copy.  */
static bool has_size(const struct events_config *config, enum copies_size size)
{
    return size == COPIES_LARGE || config->copies.bytes[size] > 0;
}

static bool attach_sampling(const struct events *events, const struct cpu_events *cpu,
                            const struct events_target *target, struct attached *attached,
                            enum copies_size size)
{
    const struct events_config *config = &events->config;
    int *fd = &attached->samples[size];

    *fd = open_sampling(config, target, cpu->cpu, size, size == events->size);
    return redirect(*fd, &cpu->samples);
}

/* Side-band first: what begins in between is told of and not sampled, rather than sampled and never
 * told of.  */
static bool attach_on(const struct events *events, struct cpu_events *cpu,
                      const struct events_target *target)
{
    const struct events_config *config = &events->config;
    struct attached *attached = room_for_one(cpu);

    if (!attached)
        return false;
    *attached = (struct attached){ .sideband = -1, .waits = target->on_exec };
    for (int size = 0; size < COPIES_COUNT; size++)
        attached->samples[size] = -1;
    if (config->sideband) {
        attached->sideband = open_sideband(config, target, cpu->cpu);
        if (!redirect(attached->sideband, &cpu->sideband))
            return false;
    }
    for (int size = 0; size < COPIES_COUNT; size++)
        if (has_size(config, (enum copies_size)size) &&
            !attach_sampling(events, cpu, target, attached, (enum copies_size)size))
            return false;
    return true;
}

/* Take the last one off again, on the first count CPUs.  */
static void detach(struct events *events, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct cpu_events *cpu = &events->cpus[i];
        if (cpu->samples.mapping)
            close_attached(&cpu->attached[--cpu->attached_count]);
    }
}

bool events_attach(struct events *events, const struct events_target *target,
                   struct events_error *error)
{
    struct events_target every = *target;

    if (target->reach == EVENTS_ALL)
        every.tid = -1;
    for (size_t i = 0; i < events->count; i++) {
        struct cpu_events *cpu = &events->cpus[i];
        if (!cpu->samples.mapping)
            continue;
        if (attach_on(events, cpu, &every)) {
            cpu->attached_count++;
            continue;
        }
        int cause = errno;
        if (cpu->attached_count < cpu->attached_capacity)
            close_attached(&cpu->attached[cpu->attached_count]);
        detach(events, i);
        explain(error, cause, &events->config, target);
        return false;
    }
    return true;
}

/* Switching an event also reaches those that others inherited from it.  */
static void switch_samples(const struct attached *attached, enum copies_size copies, bool on)
{
    if (attached->samples[copies] >= 0)
        (void)ioctl(attached->samples[copies], on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE,
                    0);
}

void events_start(struct events *events)
{
    for (size_t i = 0; i < events->count; i++) {
        struct cpu_events *cpu = &events->cpus[i];

        cpu->stopped = false;
        for (size_t k = 0; k < cpu->attached_count; k++)
            if (!cpu->attached[k].waits)
                switch_samples(&cpu->attached[k], events->size, true);
    }
}

void events_stop(struct events *events)
{
    for (size_t i = 0; i < events->count; i++)
        events_stop_cpu(&events->cpus[i]);
}

void events_stop_cpu(struct cpu_events *cpu)
{
    cpu->stopped = true;
    for (size_t i = 0; i < cpu->attached_count; i++) {
        for (int size = 0; size < COPIES_COUNT; size++)
            switch_samples(&cpu->attached[i], (enum copies_size)size, false);
        cpu->attached[i].waits = false;
    }
}

/* What waits for an exec has not been sampled, so nothing is chosen before it.  */
void events_choose(struct events *events, enum copies_size size)
{
    enum copies_size before = events->size;

    if (size == before || !has_size(&events->config, size))
        return;
    events->size = size;
    for (size_t i = 0; i < events->count; i++) {
        const struct cpu_events *cpu = &events->cpus[i];

        for (size_t k = 0; k < cpu->attached_count && !cpu->stopped; k++) {
            switch_samples(&cpu->attached[k], before, false);
            switch_samples(&cpu->attached[k], size, true);
        }
    }
}

/* An event with that read_format gives its value and what it lost, events inherited from it
 * included.  */
static uint64_t lost_of(int fd)
{
    uint64_t numbers[2];

    return fd >= 0 && read(fd, numbers, sizeof numbers) == (ssize_t)sizeof numbers ? numbers[1] : 0;
}

uint64_t events_lost(const struct cpu_events *cpu)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < cpu->attached_count; i++)
        for (int size = 0; size < COPIES_COUNT; size++)
            sum += lost_of(cpu->attached[i].samples[size]);
    return sum;
}

uint64_t events_lost_sideband(const struct cpu_events *cpu)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < cpu->attached_count; i++)
        sum += lost_of(cpu->attached[i].sideband);
    return sum;
}

void events_close(struct events *events)
{
    for (size_t i = 0; i < events->count; i++)
        close_cpu(&events->cpus[i]);
    free(events->cpus);
    *events = (struct events){ .cpus = NULL };
}
