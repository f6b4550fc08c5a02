#include "sampler-capture/insn/pt_capture.h"

#include "base/grow.h"
#include "sampler-capture/cpu/ring.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define SIDE_PAGES     64 /* of a ring of records */
#define LOOK_MS        50 /* between two looks at the rings */
#define SAMPLE_ID_SIZE 16 /* pid, tid and time, at the end of each record */

struct side_ring {
    int fd;
    struct perf_event_mmap_page *control;
    struct ring ring;
};

struct side_record {
    uint64_t time_ns;
    size_t order; /* in which they were read */
    size_t offset, size;
    uint32_t cpu;
};

/* ---- Records of the kernel ---- */

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static bool open_ring(struct side_ring *ring, pid_t pid, int cpu)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_DUMMY,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
        .sample_id_all = 1,
        .inherit = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .mmap = 1,
        .mmap2 = 1,
        .comm = 1,
        .comm_exec = 1,
        .task = 1,
        .context_switch = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
    };
    size_t size = page_size() * SIDE_PAGES;
    void *mapping;

    ring->fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (ring->fd < 0)
        return false;
    mapping = mmap(NULL, page_size() + size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
    if (mapping == MAP_FAILED)
        return false;
    ring->control = mapping;
    ring_init(&ring->ring, ring->control, (const uint8_t *)mapping + page_size(), size);
    return true;
}

static bool open_rings(struct pt_capture *capture)
{
    uint32_t cpus = capture->facts.abilities.cpus;

    capture->rings = calloc(cpus, sizeof *capture->rings);
    if (!capture->rings)
        return false;
    capture->ring_count = cpus;
    for (uint32_t i = 0; i < cpus; i++)
        capture->rings[i].fd = -1;
    for (uint32_t i = 0; i < cpus; i++)
        if (!open_ring(&capture->rings[i], capture->command->pid, (int)i))
            return false;
    return true;
}

/* Keep a record of a CPU until its turn.  */
static bool keep_record(struct pt_capture *capture, uint32_t cpu, const uint8_t *bytes, size_t size)
{
    struct side_record record = {
        .order = capture->record_count, .offset = capture->used, .size = size, .cpu = cpu
    };

    if (size < sizeof(struct perf_event_header) + SAMPLE_ID_SIZE)
        return true;
    memcpy(&record.time_ns, bytes + size - 8, 8);
    if (!base_make_room(&capture->bytes, &capture->capacity, capture->used + size, 1) ||
        !base_make_room(&capture->records, &capture->record_capacity, capture->record_count + 1,
                        sizeof *capture->records))
        return false;
    memcpy(capture->bytes + capture->used, bytes, size);
    capture->used += size;
    capture->records[capture->record_count++] = record;
    return true;
}

static bool read_rings(struct pt_capture *capture)
{
    for (uint32_t i = 0; i < capture->ring_count; i++) {
        struct ring *ring = &capture->rings[i].ring;
        const uint8_t *bytes;
        bool corrupt = false, fine = true;
        size_t size;

        ring_begin(ring);
        while (fine && (bytes = ring_next(ring, &size, &corrupt)))
            fine = keep_record(capture, i, bytes, size);
        ring_end(ring);
        capture->lost += corrupt;
        if (!fine)
            return false;
    }
    return true;
}

static int by_time(const void *left, const void *right)
{
    const struct side_record *a = left, *b = right;

    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* ---- Their meaning ---- */

static uint64_t ticks_at(const struct insn_recorder *recorder, uint64_t time_ns)
{
    uint64_t since = time_ns - recorder->time_zero;

    return (since / recorder->time_mult << recorder->time_shift) +
           ((since % recorder->time_mult) << recorder->time_shift) / recorder->time_mult;
}

static bool take_switch(struct pt_capture *capture, const struct side_record *side)
{
    const uint8_t *bytes = capture->bytes + side->offset;
    struct insn_owner owner = { .thread = 0 };
    struct perf_event_header header;
    uint32_t ids[2];

    memcpy(&header, bytes, sizeof header);
    memcpy(ids, bytes + side->size - SAMPLE_ID_SIZE, sizeof ids);
    if (!(header.misc & PERF_RECORD_MISC_SWITCH_OUT)) {
        struct thread *thread = processes_thread(&capture->recorder->processes, ids[0], ids[1]);

        if (!thread || !insn_recorder_describe(capture->recorder, thread))
            return false;
        owner = (struct insn_owner){ .process = thread->process->koid,
                                     .thread = thread->name.koid };
        if (capture->options->mode == INSN_MODE_THREAD && ids[1] == (uint32_t)capture->command->pid)
            return taker_assign(&capture->taker, 0, owner);
    }
    return capture->options->mode == INSN_MODE_THREAD ||
           taker_switch(&capture->taker, side->cpu, ticks_at(capture->recorder, side->time_ns),
                        owner);
}

/* The vDSO is in no file.  */
static bool take_map(struct pt_capture *capture, const struct perf_record *record)
{
    struct thread *thread;

    if (record->kind != PERF_KIND_MAP || strcmp(record->value.map.name, "[vdso]") != 0)
        return true;
    thread = processes_thread(&capture->recorder->processes, record->pid, record->tid);
    for (uint64_t at = 0; thread && at < record->value.map.length; at += CODE_PAGE)
        if (!insn_recorder_page(capture->recorder, thread, record->value.map.start + at,
                                record->time_ns))
            return false;
    return thread != NULL;
}

static bool take_record(struct pt_capture *capture, const struct side_record *side)
{
    const uint8_t *bytes = capture->bytes + side->offset;
    struct perf_event_header header;
    struct perf_record record;

    memcpy(&header, bytes, sizeof header);
    if (header.type == PERF_RECORD_SWITCH)
        return take_switch(capture, side);
    if (!perf_record_parse(bytes, side->size, &record))
        return true;
    if (record.kind == PERF_KIND_LOST)
        capture->lost += record.value.lost;
    return processes_apply(&capture->recorder->processes, &record) && take_map(capture, &record);
}

/* Take the records up to limit, in order of time.  */
static bool take_records(struct pt_capture *capture, uint64_t limit)
{
    size_t done = 0, from;

    qsort(capture->records, capture->record_count, sizeof *capture->records, by_time);
    while (done < capture->record_count && capture->records[done].time_ns <= limit)
        if (!take_record(capture, &capture->records[done++]))
            return false;
    capture->record_count -= done;
    memmove(capture->records, capture->records + done,
            capture->record_count * sizeof *capture->records);
    /* Bytes of those that wait: all records of later rounds come after them.  */
    from = capture->used;
    for (size_t i = 0; i < capture->record_count; i++)
        if (capture->records[i].offset < from)
            from = capture->records[i].offset;
    capture->used -= from;
    memmove(capture->bytes, capture->bytes + from, capture->used);
    for (size_t i = 0; i < capture->record_count; i++) {
        capture->records[i].offset -= from;
        capture->records[i].order = i;
    }
    return true;
}

/* ---- Packets ---- */

/* The rings of the events of packets say what was dropped.  */
static void count_truncated(struct pt_capture *capture)
{
    for (uint32_t i = 0; i < capture->buffer_count; i++)
        capture->truncated += pt_truncated(&capture->hardware, i);
}

static bool take_packets(struct pt_capture *capture, uint64_t now_ns)
{
    uint64_t ticks = ticks_at(capture->recorder, now_ns);

    capture->taker.ticks = now_ns;
    for (uint32_t i = 0; i < capture->buffer_count; i++)
        if (!taker_take(&capture->taker, i, ticks))
            return false;
    count_truncated(capture);
    return true;
}

/* Everything up to now.  */
static bool look(struct pt_capture *capture, bool packets)
{
    uint64_t now_ns = host_clock_ns(CLOCK_MONOTONIC);

    if (read_rings(capture) && take_records(capture, now_ns) &&
        (!packets || take_packets(capture, now_ns)))
        return true;
    capture->failed = capture->taker.failed ? capture->taker.failed : ENOMEM;
    return false;
}

/* What circular buffers have; tracing is off meanwhile.  */
static bool snapshot(struct pt_capture *capture)
{
    return controller_stop(capture->controller) == INSN_ANSWER_OK && look(capture, true) &&
           controller_start(capture->controller) == INSN_ANSWER_OK;
}

bool pt_capture_run(struct pt_capture *capture)
{
    struct command *command = capture->command;
    struct pollfd *wanted = calloc(capture->buffer_count + 1, sizeof *wanted);
    bool fine = wanted != NULL, end = false;

    for (uint32_t i = 0; fine && i < capture->buffer_count; i++)
        wanted[i + 1] = (struct pollfd){ .fd = pt_poll_fd(&capture->hardware, i),
                                         .events = POLLIN };
    while (fine && !end && !command->ended) {
        wanted[0] = (struct pollfd){ .fd = command->signal_fd, .events = POLLIN };
        (void)poll(wanted, capture->buffer_count + 1, LOOK_MS);
        end = command_take_signals(command);
        fine = look(capture, !capture->options->is_circular);
        if (fine && command->dump && capture->options->snapshot) {
            command->dump = false;
            fine = snapshot(capture);
        }
    }
    free(wanted);
    (void)controller_stop(capture->controller);
    return fine && look(capture, true) && taker_finish(&capture->taker);
}

/* ---- Start and end ---- */

static enum insn_answer open_buffers(struct pt_capture *capture)
{
    const struct insn_options *options = capture->options;
    struct insn_buffer_config config = {
        .is_circular = options->is_circular,
        .ctl = pt_choose_ctl(&capture->facts, options->timing, options->no_return_compression),
    };
    enum insn_answer answer = controller_initialize(capture->controller, options->mode,
                                                    capture->buffer_count);
    uint32_t descriptor = 0;

    insn_buffer_set_size(&config, options->buffer_size);
    for (uint32_t i = 0; i < capture->buffer_count && answer == INSN_ANSWER_OK; i++)
        answer = controller_allocate_buffer(capture->controller, &config, &descriptor);
    if (answer == INSN_ANSWER_OK && options->mode == INSN_MODE_THREAD)
        answer = controller_assign_thread_buffer(capture->controller, descriptor,
                                                 capture->command->pid);
    if (answer == INSN_ANSWER_OK)
        answer = controller_start(capture->controller);
    capture->recorder->config = capture->facts.decoder;
    if (config.ctl & INSN_CTL_MTC)
        capture->recorder->config.mtc_freq = (uint8_t)(config.ctl >> INSN_CTL_MTC_FREQ_SHIFT & 0xf);
    return answer;
}

/* TSC and CLOCK_MONOTONIC of one moment, by the kernel's rate.  */
static bool read_clock(struct pt_capture *capture)
{
    struct insn_recorder *recorder = capture->recorder;
    uint64_t tsc = __rdtsc(), now_ns = host_clock_ns(CLOCK_MONOTONIC), low;

    if (!pt_clock(&capture->hardware, &recorder->time_shift, &recorder->time_mult) ||
        recorder->time_mult == 0 || recorder->time_shift > 63)
        return false;
    low = tsc & ((UINT64_C(1) << recorder->time_shift) - 1);
    recorder->time_zero = now_ns - ((tsc >> recorder->time_shift) * recorder->time_mult +
                                    (low * recorder->time_mult >> recorder->time_shift));
    recorder->base_ns = 0;
    return true;
}

enum insn_answer pt_capture_start(struct pt_capture *capture, const struct insn_options *options,
                                  const struct filter *filter, struct insn_recorder *recorder,
                                  struct command *command, char *message, size_t size)
{
    enum insn_answer answer;

    capture->options = options;
    capture->recorder = recorder;
    capture->command = command;
    capture->buffer_count = options->mode == INSN_MODE_CPU ? capture->facts.abilities.cpus : 1;
    if (!pt_hardware_init(&capture->hardware, &capture->facts, capture->buffer_count))
        return INSN_ANSWER_NO_MEMORY;
    if (filter->count > 0 && !(capture->filter = pt_filter_text(filter)))
        return INSN_ANSWER_NO_MEMORY;
    capture->hardware.filter = capture->filter;
    capture->hardware.pid = command->pid;
    capture->hardware.by_cpu = options->mode == INSN_MODE_CPU;
    if (!open_rings(capture)) {
        (void)snprintf(message, size, "perf_event_open: %s", strerror(errno));
        return INSN_ANSWER_IO;
    }
    answer = controller_open(&capture->hardware.hardware, &capture->controller);
    if (answer == INSN_ANSWER_OK)
        answer = open_buffers(capture);
    (void)snprintf(message, size, "%s", capture->hardware.message);
    if (answer != INSN_ANSWER_OK)
        return answer;
    if (!taker_init(&capture->taker, capture->controller, recorder, options->mode,
                    options->is_circular, capture->buffer_count))
        return INSN_ANSWER_NO_MEMORY;
    if (read_clock(capture))
        return INSN_ANSWER_OK;
    (void)snprintf(message, size,
                   "the kernel does not convert the processor's clock (its time "
                   "stamp counter is not reliable); use --simulate");
    return INSN_ANSWER_NOT_SUPPORTED;
}

void pt_capture_release(struct pt_capture *capture)
{
    taker_release(&capture->taker);
    controller_close(capture->controller);
    pt_hardware_release(&capture->hardware);
    for (uint32_t i = 0; i < capture->ring_count; i++) {
        struct side_ring *ring = &capture->rings[i];

        if (ring->control) {
            ring_release(&ring->ring);
            (void)munmap(ring->control, page_size() * (SIDE_PAGES + 1));
        }
        if (ring->fd >= 0)
            (void)close(ring->fd);
    }
    free(capture->rings);
    free(capture->records);
    free(capture->bytes);
    free(capture->filter);
}
