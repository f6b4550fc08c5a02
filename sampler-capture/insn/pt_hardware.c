#include "sampler-capture/insn/pt_hardware.h"

#include "sampler-capture/cpu/ring.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RING_PAGES 16 /* for records that say which packets came */

struct pt_buffer {
    int fd; /* -1: none */
    struct insn_buffer_config config;
    struct perf_event_mmap_page *control; /* NULL: not mapped */
    struct ring ring;
    uint8_t *aux;
    size_t aux_size;
    uint64_t taken; /* circular: positions of areas that were read before */
};

/* ---- What there is ---- */

static bool read_text(const char *folder, const char *name, char *text, size_t size)
{
    char path[256];
    FILE *file;
    bool fine;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "re");
    if (!file)
        return false;
    fine = fgets(text, (int)size, file) != NULL;
    (void)fclose(file);
    return fine;
}

/* A number of a file; 0 if there is none.  */
static uint64_t read_number(const char *folder, const char *name, int base)
{
    char text[64];

    return read_text(folder, name, text, sizeof text) ? strtoull(text, NULL, base) : 0;
}

static void read_processor(struct insn_config *config)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[256];
    unsigned family = 0, model = 0, stepping = 0;

    if (!file)
        return;
    while (fgets(line, sizeof line, file) && line[0] != '\n') {
        (void)sscanf(line, "cpu family : %u", &family);
        (void)sscanf(line, "model : %u", &model);
        (void)sscanf(line, "stepping : %u", &stepping);
    }
    (void)fclose(file);
    config->family = (uint16_t)family;
    config->model = (uint8_t)model;
    config->stepping = (uint8_t)stepping;
}

static void read_clock(const char *folder, struct insn_config *config)
{
    char text[64];
    unsigned numerator, denominator;

    config->nom_freq = (uint8_t)read_number(folder, "max_nonturbo_ratio", 10);
    if (read_text(folder, "tsc_art_ratio", text, sizeof text) &&
        sscanf(text, "%u:%u", &numerator, &denominator) == 2) {
        config->cpuid_0x15_ebx = numerator;
        config->cpuid_0x15_eax = denominator;
    }
}

static uint64_t allowed_ctl(const char *folder)
{
    uint64_t ctl = INSN_CTL_USER | INSN_CTL_TSC | INSN_CTL_BRANCH | INSN_CTL_NO_RETC;

    if (read_number(folder, "caps/mtc", 16))
        ctl |= INSN_CTL_MTC | INSN_CTL_MTC_FREQ;
    if (read_number(folder, "caps/psb_cyc", 16))
        ctl |= INSN_CTL_CYC | INSN_CTL_CYC_THRESH | INSN_CTL_PSB_FREQ;
    if (read_number(folder, "caps/ptwrite", 16))
        ctl |= INSN_CTL_PTW;
    return ctl;
}

bool pt_read_facts(const char *folder, struct pt_facts *out, char *message, size_t size)
{
    char type[32];
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    *out = (struct pt_facts){ .type = 0 };
    if (!read_text(folder, "type", type, sizeof type)) {
        (void)snprintf(message, size,
                       "this machine has no Intel PT: %s is missing, as in most virtual machines; "
                       "use --simulate",
                       folder);
        return false;
    }
    out->type = (uint32_t)strtoul(type, NULL, 10);
    out->abilities = (struct insn_abilities){
        .has_pt = true,
        .has_topa = read_number(folder, "caps/topa_output", 16) != 0,
        .has_threads = true,
        .cpus = cpus > 0 ? (uint32_t)cpus : 1,
        .ctl = allowed_ctl(folder),
        .mtc_periods = (uint32_t)read_number(folder, "caps/mtc_periods", 16),
        .cyc_thresholds = (uint32_t)read_number(folder, "caps/cycle_thresholds", 16),
        .psb_periods = (uint32_t)read_number(folder, "caps/psb_periods", 16),
    };
    if (read_number(folder, "caps/ip_filtering", 16))
        out->filters = (unsigned)read_number(folder, "caps/num_address_ranges", 16);
    read_processor(&out->decoder);
    read_clock(folder, &out->decoder);
    if (!out->abilities.has_topa)
        (void)snprintf(message, size,
                       "the Intel PT of this processor cannot write to tables of memory; use "
                       "--simulate");
    return out->abilities.has_topa;
}

/* The value of a field nearest to wanted that the mask allows.  */
static uint64_t nearest(uint32_t mask, unsigned wanted)
{
    for (unsigned distance = 0; distance < 16; distance++) {
        if (wanted + distance < 16 && mask >> (wanted + distance) & 1)
            return wanted + distance;
        if (wanted >= distance && mask >> (wanted - distance) & 1)
            return wanted - distance;
    }
    return 0;
}

uint64_t pt_choose_ctl(const struct pt_facts *facts, enum insn_timing timing,
                       bool no_return_compression)
{
    const struct insn_abilities *abilities = &facts->abilities;
    uint64_t ctl = INSN_CTL_USER | INSN_CTL_TSC | INSN_CTL_BRANCH;

    if (timing != INSN_TIMING_TSC && (abilities->ctl & INSN_CTL_MTC) && abilities->mtc_periods)
        ctl |= INSN_CTL_MTC | nearest(abilities->mtc_periods, 3) << INSN_CTL_MTC_FREQ_SHIFT;
    if (timing == INSN_TIMING_CYC && (abilities->ctl & INSN_CTL_CYC) && abilities->cyc_thresholds)
        ctl |= INSN_CTL_CYC | nearest(abilities->cyc_thresholds, 0) << INSN_CTL_CYC_THRESH_SHIFT;
    if (no_return_compression)
        ctl |= INSN_CTL_NO_RETC;
    return ctl;
}

void pt_describe_event(const struct pt_facts *facts, const struct insn_buffer_config *config,
                       bool is_inherited, struct perf_event_attr *out)
{
    const uint64_t modes = INSN_CTL_OS | INSN_CTL_USER | INSN_CTL_TRACE_ENABLED | INSN_CTL_TOPA;

    *out = (struct perf_event_attr){
        .type = facts->type,
        .size = sizeof(struct perf_event_attr),
        /* Bit 0 of config is not TraceEn: it says that the BRANCH bit is meant.  */
        .config = (config->ctl & ~modes) | INSN_CTL_TRACE_ENABLED,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
        .sample_id_all = 1,
        .disabled = 1,
        .enable_on_exec = 1,
        .inherit = is_inherited,
        .exclude_kernel = !(config->ctl & INSN_CTL_OS),
        .exclude_user = !(config->ctl & INSN_CTL_USER),
        .exclude_hv = 1,
        .watermark = 1,
        .wakeup_watermark = 1,
        .aux_watermark =
            config->is_circular
                ? 0
                : (uint32_t)((uint64_t)config->num_chunks * INSN_PAGE << config->chunk_order >> 2),
    };
}

char *pt_filter_text(const struct filter *filter)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    for (size_t i = 0; i < filter->count; i++) {
        const struct filter_range *range = &filter->ranges[i];

        (void)fprintf(out, "%sfilter 0x%" PRIx64 "/0x%" PRIx64 "@%s", i > 0 ? "," : "",
                      range->file_offset, range->end - range->start, range->file);
    }
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* ---- Events ---- */

/* mmap() says EPERM when the buffer exceeds perf_event_mlock_kb and RLIMIT_MEMLOCK.  */
const char *pt_remedy(int cause, bool is_mmap)
{
    switch (cause) {
    case EPERM:
    case EACCES:
        if (!is_mmap)
            return "; lower kernel.perf_event_paranoid, or run as root";
        return "; use a smaller --buffer-size, or raise kernel.perf_event_mlock_kb";
    case ENOMEM:
        return "; use a smaller --buffer-size, or raise kernel.perf_event_mlock_kb";
    case EBUSY:
        return "; another program uses Intel PT";
    case EMFILE:
        return "; raise ulimit -n";
    default:
        return "";
    }
}

static enum insn_answer fail(struct pt_hardware *pt, const char *what, bool is_mmap)
{
    int cause = errno;

    (void)snprintf(pt->message, sizeof pt->message, "%s: %s%s", what, strerror(cause),
                   pt_remedy(cause, is_mmap));
    return cause == EACCES || cause == EPERM ? INSN_ANSWER_ACCESS_DENIED
           : cause == ENOMEM                 ? INSN_ANSWER_NO_MEMORY
           : cause == EINVAL                 ? INSN_ANSWER_INVALID_ARGS
                                             : INSN_ANSWER_IO;
}

static enum insn_answer refuse(struct pt_hardware *pt, const char *what)
{
    return fail(pt, what, false);
}

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* A circular area cannot be written to by us: the kernel then replaces the oldest packets.  */
static bool map_aux(struct pt_buffer *buffer)
{
    size_t ring = page_size() * (RING_PAGES + 1);
    int protection = buffer->config.is_circular ? PROT_READ : PROT_READ | PROT_WRITE;
    void *aux;

    buffer->control->aux_offset = ring;
    buffer->control->aux_size = buffer->aux_size;
    aux = mmap(NULL, buffer->aux_size, protection, MAP_SHARED, buffer->fd, (off_t)ring);
    buffer->aux = aux == MAP_FAILED ? NULL : aux;
    return buffer->aux != NULL;
}

static void unmap(struct pt_buffer *buffer)
{
    if (buffer->aux)
        (void)munmap(buffer->aux, buffer->aux_size);
    ring_release(&buffer->ring);
    if (buffer->control)
        (void)munmap(buffer->control, page_size() * (RING_PAGES + 1));
    if (buffer->fd >= 0)
        (void)close(buffer->fd);
    *buffer = (struct pt_buffer){ .fd = -1 };
}

static enum insn_answer open_event(struct pt_hardware *pt, struct pt_buffer *buffer, pid_t tid,
                                   int cpu)
{
    struct perf_event_attr attr;
    void *ring;

    pt_describe_event(&pt->facts, &buffer->config, pt->by_cpu, &attr);
    buffer->fd = (int)syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (buffer->fd < 0)
        return refuse(pt, "perf_event_open of intel_pt");
    if (pt->filter && ioctl(buffer->fd, PERF_EVENT_IOC_SET_FILTER, pt->filter) != 0)
        return refuse(pt, "--filter");
    ring = mmap(NULL, page_size() * (RING_PAGES + 1), PROT_READ | PROT_WRITE, MAP_SHARED,
                buffer->fd, 0);
    if (ring == MAP_FAILED)
        return fail(pt, "the ring of an event", true);
    buffer->control = ring;
    ring_init(&buffer->ring, buffer->control, (const uint8_t *)ring + page_size(),
              page_size() * RING_PAGES);
    return map_aux(buffer) ? INSN_ANSWER_OK : fail(pt, "the buffer of an event", true);
}

/* ---- The interface ---- */

static enum insn_answer pt_allocate(void *context, uint32_t descriptor,
                                    const struct insn_buffer_config *config)
{
    struct pt_hardware *pt = context;
    struct pt_buffer *buffer = &pt->buffers[descriptor];
    enum insn_answer answer = INSN_ANSWER_OK;

    pt->message[0] = '\0';
    buffer->config = *config;
    buffer->aux_size = (size_t)config->num_chunks * INSN_PAGE << config->chunk_order;
    if (pt->by_cpu)
        answer = open_event(pt, buffer, pt->pid, (int)descriptor);
    if (answer != INSN_ANSWER_OK)
        unmap(buffer);
    return answer;
}

static void pt_release(void *context, uint32_t descriptor)
{
    const struct pt_hardware *pt = context;

    unmap(&pt->buffers[descriptor]);
}

static enum insn_answer pt_assign(void *context, uint32_t descriptor, pid_t tid)
{
    struct pt_hardware *pt = context;
    struct pt_buffer *buffer = &pt->buffers[descriptor];

    pt->message[0] = '\0';
    if (tid > 0)
        return open_event(pt, buffer, tid, -1);
    if (buffer->fd >= 0)
        (void)ioctl(buffer->fd, PERF_EVENT_IOC_DISABLE, 0);
    return INSN_ANSWER_OK;
}

/* The exec enables the events; a later start does it here.  */
static enum insn_answer pt_start(void *context)
{
    struct pt_hardware *pt = context;

    for (size_t i = 0; i < pt->count && pt->was_stopped; i++)
        if (pt->buffers[i].fd >= 0 && ioctl(pt->buffers[i].fd, PERF_EVENT_IOC_ENABLE, 0) != 0)
            return refuse(pt, "enabling an event");
    return INSN_ANSWER_OK;
}

static enum insn_answer pt_stop(void *context)
{
    struct pt_hardware *pt = context;

    pt->was_stopped = true;
    for (size_t i = 0; i < pt->count; i++)
        if (pt->buffers[i].fd >= 0 && ioctl(pt->buffers[i].fd, PERF_EVENT_IOC_DISABLE, 0) != 0)
            return refuse(pt, "disabling an event");
    return INSN_ANSWER_OK;
}

/* The kernel does not say whether a circular area wrapped.  It was zero at first, which no stretch
 * of packets is.  */
static bool has_wrapped(const struct pt_buffer *buffer, size_t at)
{
    for (size_t i = at; i < buffer->aux_size; i++)
        if (buffer->aux[i])
            return true;
    return false;
}

static struct insn_view pt_view(void *context, uint32_t descriptor)
{
    const struct pt_hardware *pt = context;
    const struct pt_buffer *buffer = &pt->buffers[descriptor];
    struct insn_view view = { .bytes = buffer->aux, .size = buffer->aux_size };

    if (!buffer->aux)
        return (struct insn_view){ .bytes = NULL, .size = buffer->aux_size };
    view.head = __atomic_load_n(&buffer->control->aux_head, __ATOMIC_ACQUIRE);
    if (buffer->config.is_circular) {
        view.head %= view.size;
        if (has_wrapped(buffer, (size_t)view.head))
            view.head += view.size;
        view.head += buffer->taken;
    }
    return view;
}

/* A circular area is mapped again, so that it is zero: what is in it then was not read.  */
static void pt_consume(void *context, uint32_t descriptor, uint64_t tail)
{
    struct pt_hardware *pt = context;
    struct pt_buffer *buffer = &pt->buffers[descriptor];

    if (!buffer->aux)
        return;
    if (!buffer->config.is_circular) {
        __atomic_store_n(&buffer->control->aux_tail, tail, __ATOMIC_RELEASE);
        return;
    }
    (void)munmap(buffer->aux, buffer->aux_size);
    buffer->taken = (tail + buffer->aux_size - 1) / buffer->aux_size * buffer->aux_size;
    (void)map_aux(buffer);
}

bool pt_hardware_init(struct pt_hardware *pt, const struct pt_facts *facts, size_t count)
{
    *pt = (struct pt_hardware){ .hardware = { .context = pt,
                                              .abilities = facts->abilities,
                                              .allocate = pt_allocate,
                                              .release = pt_release,
                                              .assign = pt_assign,
                                              .start = pt_start,
                                              .stop = pt_stop,
                                              .view = pt_view,
                                              .consume = pt_consume },
                                .facts = *facts,
                                .buffers = calloc(count, sizeof *pt->buffers),
                                .count = count };
    for (size_t i = 0; pt->buffers && i < count; i++)
        pt->buffers[i].fd = -1;
    return pt->buffers != NULL;
}

void pt_hardware_release(struct pt_hardware *pt)
{
    for (size_t i = 0; pt->buffers && i < pt->count; i++)
        unmap(&pt->buffers[i]);
    free(pt->buffers);
    pt->buffers = NULL;
}

bool pt_clock(const struct pt_hardware *pt, uint64_t *shift, uint64_t *mult)
{
    const struct perf_event_mmap_page *control = pt->count ? pt->buffers[0].control : NULL;

    if (!control || !control->cap_user_time)
        return false;
    *shift = control->time_shift;
    *mult = control->time_mult;
    return true;
}

uint64_t pt_truncated(struct pt_hardware *pt, uint32_t descriptor)
{
    struct pt_buffer *buffer = &pt->buffers[descriptor];
    const uint8_t *bytes;
    uint64_t count = 0, flags;
    bool corrupt = false;
    size_t size;

    if (!buffer->control)
        return 0;
    ring_begin(&buffer->ring);
    while ((bytes = ring_next(&buffer->ring, &size, &corrupt))) {
        struct perf_event_header header;

        memcpy(&header, bytes, sizeof header);
        if (header.type != PERF_RECORD_AUX || size < sizeof header + 24)
            continue;
        memcpy(&flags, bytes + sizeof header + 16, sizeof flags);
        count += (flags & PERF_AUX_FLAG_TRUNCATED) != 0;
    }
    ring_end(&buffer->ring);
    return count;
}

int pt_poll_fd(const struct pt_hardware *pt, uint32_t descriptor)
{
    return pt->buffers[descriptor].fd;
}
