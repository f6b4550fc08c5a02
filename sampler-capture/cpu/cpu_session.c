#include "sampler-capture/cpu/cpu_session.h"

#include "base/grow.h"
#include "sampler-capture/cpu/cpu_capture.h"
#include "sampler-capture/proc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_PERIOD_NS   10000000
#define DEFAULT_BUFFER_SIZE (8U << 20)
#define DEFAULT_STACK_SIZE  (32U << 10)

/* Soon enough to open the files of processes that do not live long; and, where copies are taken
 * into which the stacks have just fit, that few are cut when they become deeper.  */
#define ROUND_MS         100
#define FITTING_ROUND_MS 20

struct session {
    enum session_state state;
    /* Configured.  */
    struct session_config config; /* samplings and tasks are in the two below */
    struct session_sampling sampling;
    size_t sampling_count;
    struct session_task *tasks; /* owned */
    size_t task_count, task_capacity;
    /* Running.  */
    struct sampler *sampler;
    struct trace *trace;
    struct capture capture;
    struct trace_session about;
    struct kernel kernel;
    bool kernel_written;
    struct session_cpu_loss *cpu_losses; /* owned; room for every CPU */
    size_t buffer_size;
    /* Of the last failure.  */
    int write_errno;
    char message[400];
};

static enum session_error fail(struct session *session, enum session_error error,
                               const char *message)
{
    (void)snprintf(session->message, sizeof session->message, "%s", message);
    return error;
}

static enum session_error no_memory(struct session *session)
{
    return fail(session, SESSION_NO_MEMORY, "out of memory");
}

struct session *session_open(void)
{
    return calloc(1, sizeof(struct session));
}

/* ---- Configure ---- */

static bool exists(const struct session_task *task)
{
    switch (task->kind) {
    case SESSION_SYSTEM_WIDE:
        return true;
    case SESSION_PROCESS:
    case SESSION_JOB:
        return proc_process_of(task->id) == task->id && task->id > 0;
    case SESSION_THREAD:
    case SESSION_LAUNCH:
        return task->id > 0 && proc_process_of(task->id) > 0;
    }
    return false;
}

static bool is_kind(const struct session_task *task)
{
    return task->kind >= SESSION_PROCESS && task->kind <= SESSION_LAUNCH;
}

static enum session_error no_such_task(struct session *session, const struct session_task *task)
{
    char text[64];

    (void)snprintf(text, sizeof text, "there is no %s %d",
                   task->kind == SESSION_THREAD ? "thread" : "process", (int)task->id);
    return fail(session, SESSION_INVALID_CONFIGURATION, text);
}

static bool is_of_kernel(const struct session_task *task)
{
    return (task->kind == SESSION_PROCESS || task->kind == SESSION_THREAD) && task->id > 0 &&
           proc_is_kernel_thread(task->id);
}

static enum session_error no_user_code(struct session *session, const struct session_task *task)
{
    char text[160];

    (void)snprintf(text, sizeof text,
                   "%d is a thread of the kernel, and only code outside the kernel is sampled "
                   "without --kernel",
                   (int)task->id);
    return fail(session, SESSION_INVALID_CONFIGURATION, text);
}

/* Unknown kinds, then nothing to launch, threads of the kernel, then tasks of which none exists.
 */
static enum session_error check_tasks(struct session *session, const struct session_config *config)
{
    bool found = false;

    for (size_t i = 0; i < config->task_count; i++)
        if (!is_kind(&config->tasks[i]))
            return fail(session, SESSION_INVALID_CONFIGURATION, "a target of an unknown kind");
    for (size_t i = 0; i < config->task_count; i++)
        if (config->tasks[i].kind == SESSION_LAUNCH && config->tasks[i].id <= 0)
            return fail(session, SESSION_MISSING_COMPONENT_URL, "no command to launch");
    for (size_t i = 0; i < config->task_count; i++)
        if (!config->kernel && is_of_kernel(&config->tasks[i]))
            return no_user_code(session, &config->tasks[i]);
    for (size_t i = 0; i < config->task_count; i++)
        found |= exists(&config->tasks[i]);
    if (found)
        return SESSION_OK;
    return config->task_count > 1 ? fail(session, SESSION_INVALID_CONFIGURATION,
                                         "none of these processes and threads exists")
                                  : no_such_task(session, &config->tasks[0]);
}

static enum session_error check(struct session *session, const struct session_config *config)
{
    session->message[0] = '\0';
    if (session->state != SESSION_UNCONFIGURED)
        return fail(session, SESSION_BAD_STATE, "the session is configured already");
    if (config->output < 0)
        return fail(session, SESSION_BAD_SOCKET, "no output");
    if (config->task_count == 0)
        return fail(session, SESSION_MISSING_TARGET_CONFIGS, "no target");
    if (config->sampling_count == 0)
        return fail(session, SESSION_MISSING_SAMPLE_CONFIGS, "no sample specification");
    return check_tasks(session, config);
}

enum session_error session_configure(struct session *session, const struct session_config *config)
{
    enum session_error error = check(session, config);

    if (error != SESSION_OK)
        return error;
    session->tasks = calloc(config->task_count, sizeof *session->tasks);
    if (!session->tasks)
        return no_memory(session);
    memcpy(session->tasks, config->tasks, config->task_count * sizeof *session->tasks);
    session->task_count = config->task_count;
    session->config = *config;
    session->sampling = config->samplings[0]; /* the only one that Start accepts */
    session->sampling_count = config->sampling_count;
    if (session->sampling.period_ns == 0)
        session->sampling.period_ns = DEFAULT_PERIOD_NS;
    session->state = SESSION_STOPPED;
    return SESSION_OK;
}

/* ---- Attaching ---- */

static enum session_error refused(struct session *session, enum sampler_status status)
{
    if (status == SAMPLER_NO_MEMORY && sampler_message(session->sampler)[0] == '\0')
        return no_memory(session);
    return fail(session, SESSION_REFUSED, sampler_message(session->sampler));
}

/* Threads and processes that end while they are attached are no failure.  */
static enum session_error attach_one(struct session *session, enum events_reach reach, pid_t tid,
                                     bool on_exec)
{
    const struct events_target target = { .reach = reach, .tid = tid, .on_exec = on_exec };
    enum sampler_status status = sampler_attach_target(session->sampler, &target);

    if (status == SAMPLER_OK || status == SAMPLER_BAD_HANDLE)
        return SESSION_OK;
    return refused(session, status);
}

static bool tell(void *context, const struct perf_record *record)
{
    struct session *session = context;

    return capture_tell(&session->capture, record);
}

/* Whether a target other than task stands for all threads of process pid already.  */
static bool is_covered(const struct session *session, const struct session_task *task, pid_t pid)
{
    for (const struct session_task *other = session->tasks; other < task; other++)
        if (other->kind == SESSION_SYSTEM_WIDE ||
            ((other->kind == SESSION_PROCESS || other->kind == SESSION_JOB) && other->id == pid))
            return true;
    for (size_t i = 0; i < session->task_count; i++)
        if (session->tasks[i].kind == SESSION_SYSTEM_WIDE && task->kind != SESSION_SYSTEM_WIDE)
            return true;
    return false;
}

static bool is_among(const struct proc_ids *ids, pid_t id)
{
    for (size_t i = 0; i < ids->count; i++)
        if (ids->ids[i] == id)
            return true;
    return false;
}

/* Those of the threads that are neither attached nor have their events from a parent that is.  */
static enum session_error attach_new(struct session *session, enum events_reach reach,
                                     const struct proc_ids *threads, struct proc_ids *attached)
{
    for (size_t i = 0; i < threads->count; i++) {
        pid_t tid = threads->ids[i];
        enum session_error error;

        if (is_among(attached, tid) || capture_was_told_of(&session->capture, (uint32_t)tid))
            continue;
        error = attach_one(session, reach, tid, false);
        if (error != SESSION_OK)
            return error;
        if (!proc_add_id(attached, tid))
            return no_memory(session);
    }
    return SESSION_OK;
}

/* The threads of a process.  While they are attached one after another, those that are not yet may
 * make new ones: look again until nothing is new.  */
static enum session_error attach_threads(struct session *session, enum events_reach reach,
                                         pid_t pid)
{
    struct proc_ids threads = { .ids = NULL }, attached = { .ids = NULL };
    enum session_error error = SESSION_OK;
    size_t before;

    do {
        before = attached.count;
        threads.count = 0;
        if (!drain_all(sampler_drain_of(session->sampler)) || !proc_threads(pid, &threads))
            error = no_memory(session);
        else
            error = attach_new(session, reach, &threads, &attached);
    } while (error == SESSION_OK && attached.count > before);
    free(threads.ids);
    free(attached.ids);
    return error;
}

static enum session_error attach_process(struct session *session, const struct session_task *task,
                                         enum events_reach reach, pid_t pid)
{
    enum session_error error;

    if (is_covered(session, task, pid))
        return SESSION_OK;
    error = attach_threads(session, reach, pid);
    if (error == SESSION_OK && !proc_describe(pid, tell, session))
        return no_memory(session);
    return error;
}

static enum session_error attach_tree(struct session *session, const struct session_task *task)
{
    struct proc_ids processes = { .ids = NULL };
    enum session_error error = SESSION_OK;

    if (!proc_tree(task->id, &processes))
        error = no_memory(session);
    for (size_t i = 0; i < processes.count && error == SESSION_OK; i++)
        error = attach_process(session, task, EVENTS_TREE, processes.ids[i]);
    free(processes.ids);
    return error;
}

static enum session_error attach_all(struct session *session)
{
    struct proc_ids processes = { .ids = NULL };
    enum session_error error = attach_one(session, EVENTS_ALL, -1, false);

    if (error == SESSION_OK && !proc_processes(&processes))
        error = no_memory(session);
    for (size_t i = 0; i < processes.count && error == SESSION_OK; i++)
        if (!proc_describe(processes.ids[i], tell, session))
            error = no_memory(session);
    free(processes.ids);
    return error;
}

static enum session_error attach_thread(struct session *session, const struct session_task *task)
{
    pid_t pid = proc_process_of(task->id);
    enum session_error error;

    if (pid == 0 || is_covered(session, task, pid))
        return SESSION_OK;
    error = attach_one(session, EVENTS_THREAD, task->id, false);
    if (error == SESSION_OK && !proc_describe(pid, tell, session))
        return no_memory(session);
    return error;
}

static enum session_error attach(struct session *session, const struct session_task *task)
{
    switch (task->kind) {
    case SESSION_PROCESS:
        return attach_process(session, task, EVENTS_PROCESS, task->id);
    case SESSION_THREAD:
        return attach_thread(session, task);
    case SESSION_JOB:
        return attach_tree(session, task);
    case SESSION_SYSTEM_WIDE:
        return attach_all(session);
    case SESSION_LAUNCH:
        return attach_one(session, EVENTS_TREE, task->id, true);
    }
    return SESSION_INVALID_CONFIGURATION;
}

enum session_error session_add(struct session *session, const struct session_task *task)
{
    session->message[0] = '\0';
    if (session->state != SESSION_RUNNING)
        return fail(session, SESSION_BAD_STATE, "the session is not running");
    if (!is_kind(task))
        return fail(session, SESSION_INVALID_CONFIGURATION, "a target of an unknown kind");
    if (!exists(task))
        return no_such_task(session, task);
    if (!base_make_room(&session->tasks, &session->task_capacity, session->task_count + 1,
                        sizeof *task))
        return no_memory(session);
    session->tasks[session->task_count] = *task;
    return attach(session, &session->tasks[session->task_count++]);
}

/* ---- Start ---- */

/* Section 4: only this can the kernel's sampler do.  */
static enum session_error check_sampling(struct session *session)
{
    if (session->sampling_count != 1)
        return fail(session, SESSION_INVALID_ARGS, "exactly one sample specification is possible");
    if (session->sampling.timebase != SESSION_NANOSECONDS)
        return fail(session, SESSION_INVALID_ARGS, "the timebase can only be nanoseconds");
    if (session->sampling.strategy != SESSION_STRATEGY_FRAME_POINTER &&
        session->sampling.strategy != SESSION_STRATEGY_DWARF &&
        session->sampling.strategy != SESSION_STRATEGY_AUTO)
        return fail(session, SESSION_INVALID_ARGS,
                    "stacks can only be walked by frame pointers or unwind tables");
    if (session->sampling.strategy == SESSION_STRATEGY_DWARF && !unwinding_is_possible())
        return fail(session, SESSION_INVALID_ARGS,
                    "on this machine stacks can only be walked by frame pointers");
    return SESSION_OK;
}

/* That is wanted; 0: by frame pointers.  */
static uint32_t stack_size(const struct session *session)
{
    if (session->sampling.strategy == SESSION_STRATEGY_FRAME_POINTER || !unwinding_is_possible())
        return 0;
    return session->config.stack_size ? session->config.stack_size : DEFAULT_STACK_SIZE;
}

/* How much of stacks is copied.  A size that was asked for is the largest.  */
static struct copies_sizes sizes_of(const struct session *session)
{
    static const uint32_t fitting[COPIES_FITTING] = { 5U << 10, 12U << 10 };
    struct copies_sizes sizes = { .bytes = { [COPIES_LARGE] = stack_size(session) } };

    if (sizes.bytes[COPIES_LARGE] == 0 || session->sampling.strategy != SESSION_STRATEGY_AUTO)
        return sizes;
    sizes.bytes[COPIES_SMALL] = 1U << 10;
    memcpy(&sizes.bytes[COPIES_FIRST_FITTING], fitting, sizeof fitting);
    sizes.bytes[COPIES_LARGEST] = session->config.stack_size ? 0 : 60U << 10;
    return sizes;
}

/* A backtrace record of Fuchsia's profiler counts its frames in a byte.  */
static uint32_t max_unwound(const struct session *session)
{
    return session->config.trace.profiler ? REGION_BACKTRACE_FRAMES : REGION_FRAMES_LIMIT;
}

static enum session_error open_sampler(struct session *session)
{
    const struct sampler_config config = { .period = (int64_t)session->sampling.period_ns,
                                           .buffer_size = session->buffer_size };
    const struct sampler_extras extras = {
        .mode = session->config.mode,
        .max_frames = session->config.kernel || stack_size(session) ? REGION_KERNEL_FRAMES
                                                                    : REGION_MAX_FRAMES,
        .copies = sizes_of(session),
        .counter = session->config.counter,
        .counter_period = session->config.counter_period,
        .max_unwound = max_unwound(session),
        .kernel = session->config.kernel,
        .sideband = true,
    };
    struct events_error error = { .message = "" };
    enum sampler_status status = sampler_create_extra(0, &config, sizeof config, &extras,
                                                      &session->sampler, &error);
    if (status == SAMPLER_OK)
        return SESSION_OK;
    if (status == SAMPLER_NO_MEMORY && error.message[0] == '\0')
        return no_memory(session);
    return fail(session, SESSION_REFUSED,
                error.message[0] ? error.message : sampler_status_entry(status)->name);
}

static enum session_error write_failed(struct session *session)
{
    session->write_errno = trace_errno(session->trace);
    if (session->write_errno == 0 || session->write_errno == ENOMEM)
        return no_memory(session);
    return fail(session, SESSION_WRITE_FAILED, strerror(session->write_errno));
}

static bool is_system_wide(const struct session *session)
{
    for (size_t i = 0; i < session->task_count; i++)
        if (session->tasks[i].kind == SESSION_SYSTEM_WIDE)
            return true;
    return false;
}

static enum session_error open_trace(struct session *session)
{
    const struct events *events = sampler_drain_of(session->sampler)->events;

    if (session->config.about)
        session->about = *session->config.about;
    session->about.period_ns = session->config.counter ? 0 : session->sampling.period_ns;
    if (session->config.counter) {
        session->about.event = session->config.counter->name;
        session->about.event_period = session->config.counter_period;
    }
    session->about.max_frames = stack_size(session) ? max_unwound(session)
                                                    : events->config.max_frames;
    session->about.stack_size = events->config.copies.bytes[COPIES_LARGE];
    session->about.small_size = events->config.copies.bytes[COPIES_SMALL];
    session->about.clock = is_system_wide(session) ? "cpu-clock" : "task-clock";
    session->trace = trace_open(session->config.output, events->cpu_limit, &session->config.trace);
    if (!session->trace)
        return no_memory(session);
    capture_init(&session->capture, sampler_drain_of(session->sampler), session->trace);
    session->capture.processes.modules.keeper = session->config.keeper;
    session->cpu_losses = calloc(events->count, sizeof *session->cpu_losses);
    return session->cpu_losses ? SESSION_OK : no_memory(session);
}

/* Megabytes, so they come once the command has been started and the output is kept.  */
static bool write_kernel(struct session *session, struct trace *trace)
{
    return !session->config.kernel ||
           trace_write_kernel(trace, &session->kernel, session->about.monotonic_ns);
}

static bool round_of(struct session *session, bool last)
{
    if (!session->kernel_written && !write_kernel(session, session->trace))
        return false;
    session->kernel_written = true;
    return capture_round(&session->capture, last);
}

static void close_running(struct session *session)
{
    if (session->sampler)
        capture_release(&session->capture);
    trace_close(session->trace);
    sampler_close(session->sampler);
    kernel_release(&session->kernel);
    free(session->cpu_losses);
    session->cpu_losses = NULL;
    session->kernel_written = false;
    session->trace = NULL;
    session->sampler = NULL;
    session->capture = (struct capture){ .drain = NULL };
}

static enum session_error start(struct session *session)
{
    enum session_error error = open_sampler(session);

    if (error == SESSION_OK)
        error = open_trace(session);
    for (size_t i = 0; i < session->task_count && error == SESSION_OK; i++)
        error = attach(session, &session->tasks[i]);
    return error;
}

enum session_error session_start(struct session *session, size_t buffer_size)
{
    enum session_error error;

    session->message[0] = '\0';
    if (session->state != SESSION_STOPPED)
        return fail(session, SESSION_BAD_STATE, "the session is not stopped");
    error = check_sampling(session);
    if (error != SESSION_OK)
        return error;
    close_running(session); /* of a former run */
    session->buffer_size = buffer_size ? buffer_size : DEFAULT_BUFFER_SIZE;
    error = start(session);
    if (error == SESSION_OK && session->config.kernel && !kernel_read(&session->kernel, ""))
        error = no_memory(session);
    if (error == SESSION_OK && !trace_write_session(session->trace, &session->about))
        error = write_failed(session);
    if (error != SESSION_OK) {
        close_running(session);
        return error;
    }
    session->state = SESSION_RUNNING;
    (void)sampler_start(session->sampler); /* it is Configured, and ours */
    return SESSION_OK;
}

/* ---- Running ---- */

enum session_error session_flush(struct session *session)
{
    if (session->state != SESSION_RUNNING)
        return fail(session, SESSION_BAD_STATE, "the session is not running");
    return trace_finish(session->trace) ? SESSION_OK : write_failed(session);
}

enum session_error session_round(struct session *session)
{
    if (session->state != SESSION_RUNNING)
        return fail(session, SESSION_BAD_STATE, "the session is not running");
    return round_of(session, false) ? SESSION_OK : write_failed(session);
}

int session_round_ms(const struct session *session)
{
    const struct unwinding *unwinding = session->state == SESSION_RUNNING
                                            ? sampler_unwinding(session->sampler)
                                            : NULL;

    return unwinding && copies_is_fitting(unwinding_copies(unwinding)) ? FITTING_ROUND_MS
                                                                       : ROUND_MS;
}

enum session_error session_dump(struct session *session, int output)
{
    const struct events *events;
    struct trace *trace;
    bool fine;

    if (session->state != SESSION_RUNNING)
        return fail(session, SESSION_BAD_STATE, "the session is not running");
    events = sampler_drain_of(session->sampler)->events;
    trace = trace_open(output, events->cpu_limit, &session->config.trace);
    if (!trace)
        return no_memory(session);
    fine = trace_write_session(trace, &session->about) && write_kernel(session, trace) &&
           capture_dump(&session->capture, trace) && trace_finish(trace);
    session->write_errno = trace_errno(trace);
    trace_close(trace);
    if (fine)
        return SESSION_OK;
    return session->write_errno
               ? fail(session, SESSION_WRITE_FAILED, strerror(session->write_errno))
               : no_memory(session);
}

static size_t find_cpu_losses(const struct session *session)
{
    const struct drain *drain = session->capture.drain;
    size_t count = 0;

    for (size_t i = 0; i < drain->events->count; i++)
        if (loss_total(&drain->cpus[i].loss) > 0)
            session->cpu_losses[count++] = (struct session_cpu_loss){
                .cpu = drain->events->cpus[i].cpu, .loss = drain->cpus[i].loss
            };
    return count;
}

static void fill_unwound(struct session *session, struct session_result *result)
{
    const struct unwinding *unwinding = sampler_unwinding(session->sampler);

    if (!unwinding) {
        result->frameless = leaves_judge(&session->capture.leaves);
        return;
    }
    result->unwound = *unwinding_counts(unwinding);
    result->cuts = unwinding_cuts(unwinding);
    result->stack_size = session->about.stack_size;
    result->wanted_stack_size = stack_size(session);
}

static void fill_result(struct session *session, struct session_result *result)
{
    const struct capture *capture = &session->capture;

    *result = (struct session_result){
        .samples_collected = trace_totals(session->trace)->samples,
        .missing_process_mappings = capture->missing,
        .missing_count = capture->missing_count,
        .loss = drain_loss(capture->drain),
        .cpu_losses = session->cpu_losses,
        .cpu_loss_count = find_cpu_losses(session),
        .totals = *trace_totals(session->trace),
        .looks = capture->looks,
        .broken = capture->broken,
        .unplaced = capture->processes.modules.unplaced,
        .mappings_dropped = capture->processes.mappings_dropped,
        .region_size = session->buffer_size,
        .period_ns = session->config.counter ? 0 : session->sampling.period_ns,
        .counter = session->config.counter,
        .counter_period = session->config.counter_period,
        .max_frames = session->about.max_frames,
        .kernel_hidden = session->config.kernel && session->kernel.hidden,
    };
    fill_unwound(session, result);
}

enum session_error session_stop(struct session *session, struct session_result *result)
{
    enum session_error error = SESSION_OK;

    if (session->state != SESSION_RUNNING)
        return fail(session, SESSION_BAD_STATE, "the session is not running");
    session->state = SESSION_STOPPED;
    if (sampler_stop(session->sampler) != SAMPLER_OK || trace_errno(session->trace) != 0 ||
        !round_of(session, true) || !trace_finish(session->trace))
        error = write_failed(session);
    fill_result(session, result);
    return error;
}

void session_reset(struct session *session)
{
    close_running(session);
    free(session->tasks);
    *session = (struct session){ .state = SESSION_UNCONFIGURED };
}

/* ---- Asking ---- */

const char *session_message(const struct session *session)
{
    return session->message;
}

int session_errno(const struct session *session)
{
    return session->write_errno;
}

size_t session_fds(const struct session *session, int *fds, size_t capacity)
{
    const struct events *events = sampler_drain_of(session->sampler)->events;
    size_t count = 0;

    for (size_t i = 0; i < events->count; i++) {
        if (count < capacity)
            fds[count] = events->cpus[i].sideband.fd;
        count++;
        if (count < capacity)
            fds[count] = events->cpus[i].samples.fd;
        count++;
    }
    return count;
}

void session_close(struct session *session)
{
    if (!session)
        return;
    session_reset(session);
    free(session);
}
