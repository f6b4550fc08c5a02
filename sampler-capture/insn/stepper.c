#include "sampler-capture/insn/stepper.h"

#include "sampler-capture/insn/controller.h"
#include "sampler-capture/proc.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

/* NOLINTBEGIN(performance-no-int-to-ptr): ptrace() and process_vm_readv() take the addresses of
 * another process as pointers.  */

#define QUANTUM     5000 /* instructions of one thread before another gets its turn */
#define QUICK_LOOKS 64   /* how often a system call is looked after before others get their turn */
#define TRAP_FLAG   0x100U
#define CODE_64     0x33 /* the segment of 64-bit user code */
#define LONGEST     INSN_MAX_LENGTH

enum task_state {
    TASK_NEW,     /* its first stop has not come yet */
    TASK_READY,   /* it is stopped and can be stepped */
    TASK_RUNNING, /* it was let go */
};

struct task {
    struct task *next;
    struct stepper *stepper;
    pid_t tid;
    pid_t pid;
    enum task_state state;
    bool has_buffer; /* mode THREAD: with this descriptor */
    uint32_t descriptor;
    uint64_t ip;               /* the next instruction */
    struct insn_opcode opcode; /* of the instruction that it was let go at */
    bool clears_flag;          /* that instruction pushes the flags */
    uint8_t emulated;          /* its length, if a hypervisor may carry it out; else 0 */
    bool is_refused;           /* there are more threads than buffers */
    bool is_traced;            /* code at addresses [same_from, same_to) is */
    uint64_t same_from, same_to;
    bool was_stepped; /* opcode is set */
    bool arrived;     /* it was started or called back at ip by the kernel: nothing was executed */
    bool signalled;   /* a signal was passed on: its handler may come first */
    bool restarts;    /* the system call before ip will be made again */
    int signal;       /* to pass on */
    uint64_t since;   /* when it was let go, in ticks */
    uint64_t before;  /* when the instruction before that was over */
};

/* ---- Tasks ---- */

static struct task *find_task(struct stepper *stepper, pid_t tid)
{
    struct task *task = stepper->tasks;

    while (task && task->tid != tid)
        task = task->next;
    return task;
}

static struct task *add_task(struct stepper *stepper, pid_t pid, pid_t tid)
{
    struct task *task = calloc(1, sizeof *task);

    if (!task) {
        stepper->failed = ENOMEM;
        return NULL;
    }
    task->stepper = stepper;
    task->tid = tid;
    task->pid = pid;
    task->state = TASK_NEW;
    task->next = stepper->tasks;
    stepper->tasks = task;
    stepper->threads++;
    return task;
}

static struct thread *thread_of(struct task *task)
{
    struct thread *thread = processes_thread(&task->stepper->recorder->processes,
                                             (uint32_t)task->pid, (uint32_t)task->tid);

    if (!thread)
        task->stepper->failed = ENOMEM;
    return thread;
}

static void apply(struct stepper *stepper, const struct perf_record *record)
{
    struct perf_record now = *record;

    now.time_ns = stepper->recorder->base_ns + stepper->ticks;
    if (!processes_apply(&stepper->recorder->processes, &now))
        stepper->failed = ENOMEM;
}

/* ---- Buffers ---- */

static void note_failure(struct stepper *stepper)
{
    if (!stepper->failed)
        stepper->failed = stepper->taker->failed ? stepper->taker->failed : ENOMEM;
}

static void note_stream_failure(struct stepper *stepper)
{
    int cause = stream_errno(stepper->recorder->stream);

    if (!stepper->failed)
        stepper->failed = cause ? cause : ENOMEM;
}

static void take_buffer(struct stepper *stepper, uint32_t descriptor)
{
    stepper->taker->ticks = stepper->ticks;
    if (!taker_take(stepper->taker, descriptor, stepper->ticks))
        note_failure(stepper);
}

/* Packets that the encoder could not make would be missing from then on.  */
static void check_encoder(struct stepper *stepper, const struct insn_encoder *encoder)
{
    if (insn_encoder_status(encoder) != INSN_OK)
        note_failure(stepper);
}

/* NULL: the task is not traced yet.  */
static struct insn_encoder *encoder_of(const struct task *task)
{
    const struct stepper *stepper = task->stepper;

    if (stepper->options->mode == INSN_MODE_CPU)
        return stepper->on_cpu == task->tid ? sim_hardware_encoder(stepper->sim, 0) : NULL;
    return task->has_buffer ? sim_hardware_encoder(stepper->sim, task->descriptor) : NULL;
}

/* The names and mappings of a task are in the trace.  thread 0: they are not.  */
static struct insn_owner describe(struct task *task)
{
    struct thread *thread = thread_of(task);

    if (!thread)
        return (struct insn_owner){ .thread = 0 };
    if (!insn_recorder_describe(task->stepper->recorder, thread))
        note_failure(task->stepper);
    return (struct insn_owner){ .process = thread->process->koid, .thread = thread->name.koid };
}

/* When its user code ran last: a system call that it is in, and may never leave, takes none of its
 * time.  With a buffer per CPU, all time until a switch is its own.  */
static uint64_t last_ticks(const struct task *task)
{
    bool is_away = task->state == TASK_RUNNING && task->opcode.branch == INSN_CLASS_FAR &&
                   task->stepper->options->mode == INSN_MODE_THREAD;

    return is_away ? task->before : task->stepper->ticks;
}

/* Tracing ends before the instruction at ip.  If the last packets were lost, the trace says so.  */
static void end_packets(const struct task *task)
{
    struct insn_encoder *encoder = encoder_of(task);

    if (!encoder)
        return;
    insn_encoder_resume(encoder, task->ip, last_ticks(task));
    insn_encoder_disable(encoder, task->ip, last_ticks(task));
    insn_encoder_flush(encoder);
    check_encoder(task->stepper, encoder);
}

/* The thread is no more, or another program begins: its packets end.  */
static void end_buffer(struct task *task)
{
    struct stepper *stepper = task->stepper;

    end_packets(task);
    if (stepper->on_cpu == task->tid)
        stepper->on_cpu = 0;
    if (!task->has_buffer)
        return;
    take_buffer(stepper, task->descriptor);
    (void)controller_release_thread_buffer(stepper->controller, task->descriptor, task->tid);
    (void)controller_free_buffer(stepper->controller, task->descriptor);
    task->has_buffer = false;
}

/* Have the task on the processor.  A context switch takes a tick, and the kernel switches tracing
 * off and on, so that the packets begin with a PSB packet.  */
static void switch_to(struct task *task)
{
    struct stepper *stepper = task->stepper;
    struct task *former = find_task(stepper, stepper->on_cpu);
    struct insn_encoder *encoder = sim_hardware_encoder(stepper->sim, 0);

    if (stepper->on_cpu == task->tid || !encoder)
        return;
    if (former)
        end_packets(former);
    stepper->taker->ticks = ++stepper->ticks;
    if (!taker_switch(stepper->taker, 0, stepper->ticks, describe(task)))
        note_failure(stepper);
    stepper->on_cpu = task->tid;
    insn_encoder_sync(encoder, task->ip, stepper->ticks);
}

static void open_buffer(struct task *task)
{
    struct stepper *stepper = task->stepper;

    if (stepper->options->mode == INSN_MODE_CPU) {
        switch_to(task);
        return;
    }
    if (task->has_buffer || task->is_refused)
        return;
    switch (controller_allocate_buffer(stepper->controller, &stepper->buffer, &task->descriptor)) {
    case INSN_ANSWER_OK:
        break;
    case INSN_ANSWER_NO_RESOURCES:
        task->is_refused = true;
        stepper->refused++;
        return;
    default:
        stepper->failed = ENOMEM;
        return;
    }
    task->has_buffer = true;
    if (controller_assign_thread_buffer(stepper->controller, task->descriptor, task->tid) !=
            INSN_ANSWER_OK ||
        !taker_assign(stepper->taker, task->descriptor, describe(task)))
        note_failure(stepper);
}

static void flush_and_take(struct stepper *stepper, struct insn_encoder *encoder,
                           uint32_t descriptor)
{
    if (!encoder)
        return;
    insn_encoder_flush(encoder);
    check_encoder(stepper, encoder);
    stepper->taker->ticks = stepper->ticks;
    if (!taker_settle(stepper->taker, descriptor, stepper->ticks))
        note_failure(stepper);
}

/* Write what the buffers have.  */
static void take_all(struct stepper *stepper)
{
    if (stepper->options->mode == INSN_MODE_CPU)
        flush_and_take(stepper, sim_hardware_encoder(stepper->sim, 0), 0);
    else
        for (struct task *task = stepper->tasks; task; task = task->next)
            flush_and_take(stepper, encoder_of(task), task->descriptor);
}

static void take_full(void *context, uint32_t descriptor)
{
    take_buffer(context, descriptor);
}

static void remove_task(struct stepper *stepper, struct task *task)
{
    const struct perf_record ended = { .kind = PERF_KIND_EXIT,
                                       .pid = (uint32_t)task->pid,
                                       .tid = (uint32_t)task->tid };
    struct task **link = &stepper->tasks;

    end_buffer(task);
    apply(stepper, &ended);
    while (*link != task)
        link = &(*link)->next;
    *link = task->next;
    free(task);
}

/* ---- Filters ---- */

/* Whether the code at ip is to be traced.  */
static bool is_traced(struct task *task, uint64_t ip)
{
    const struct filter *filter = task->stepper->filter;
    struct thread *thread;
    const struct mapping *mapping;
    uint64_t vaddr, start, end;

    if (filter->count == 0)
        return true;
    if (ip >= task->same_from && ip < task->same_to)
        return task->is_traced;
    thread = thread_of(task);
    mapping = thread ? address_map_find(&thread->process->map, ip) : NULL;
    if (!mapping || !mapping->module)
        return false;
    vaddr = mapping->vaddr + (ip - mapping->start);
    task->is_traced = filter_has(filter, mapping->module->name, vaddr, &start, &end);
    task->same_from = start > mapping->vaddr ? mapping->start + (start - mapping->vaddr)
                                             : mapping->start;
    task->same_to = end - mapping->vaddr < mapping->limit - mapping->start
                        ? mapping->start + (end - mapping->vaddr)
                        : mapping->limit;
    return task->is_traced;
}

static void forget_traced(struct stepper *stepper, pid_t pid)
{
    for (struct task *task = stepper->tasks; task; task = task->next)
        if (task->pid == pid)
            task->same_from = task->same_to = 0;
}

/* ---- Packets ---- */

static uint64_t next_random(struct stepper *stepper)
{
    stepper->random ^= stepper->random << 13;
    stepper->random ^= stepper->random >> 7;
    stepper->random ^= stepper->random << 17;
    return stepper->random;
}

/* Packets are lost from time to time, for a short time.  */
static void lose_at_random(struct task *task, struct insn_encoder *encoder)
{
    struct stepper *stepper = task->stepper;
    uint64_t every = stepper->options->overflow_every;

    if (every == 0 || stepper->until_loss-- > 0)
        return;
    stepper->until_loss = next_random(stepper) % (2 * every);
    insn_encoder_lose(encoder, stepper->ticks);
    stepper->overflows++;
}

static uint64_t now_ticks(const struct stepper *stepper)
{
    return stepper->options->real_clock
               ? host_clock_ns(CLOCK_MONOTONIC) - stepper->recorder->base_ns
               : stepper->ticks + 1;
}

static void note_step(struct task *task, uint64_t ip)
{
    struct stepper *stepper = task->stepper;
    uint8_t entry[16];
    uint64_t thread = (uint64_t)task->tid;

    stepper->instructions++;
    if (!stepper->steps)
        return;
    for (unsigned i = 0; i < 8; i++) {
        entry[i] = (uint8_t)(thread >> 8 * i);
        entry[8 + i] = (uint8_t)(ip >> 8 * i);
    }
    if (fwrite(entry, sizeof entry, 1, stepper->steps) != 1)
        stepper->failed = errno;
}

/* The instruction at task->ip, which is traced, was executed.  */
static void trace_step(struct task *task, struct insn_encoder *encoder, uint64_t to)
{
    struct stepper *stepper = task->stepper;
    bool leaves = task->opcode.branch == INSN_CLASS_FAR;

    note_step(task, task->ip);
    insn_encoder_enable(encoder, task->ip, leaves ? task->since : stepper->ticks);
    stepper->ticks = now_ticks(stepper);
    /* A system call leaves user code when it is made; what it takes is no instruction's time.  */
    if (leaves || is_traced(task, to))
        insn_encoder_step(encoder, task->ip, &task->opcode, to,
                          leaves ? task->since : stepper->ticks);
    else
        insn_encoder_leave(encoder, &task->opcode, to, stepper->ticks);
    insn_encoder_resume(encoder, to, stepper->ticks);
    lose_at_random(task, encoder);
    check_encoder(stepper, encoder);
}

/* The instruction at task->ip was executed; to is where it led.  */
static void executed(struct task *task, uint64_t to)
{
    struct stepper *stepper = task->stepper;
    struct insn_encoder *encoder = NULL;

    if (is_traced(task, task->ip)) {
        open_buffer(task);
        encoder = encoder_of(task);
    }
    if (encoder)
        trace_step(task, encoder, to);
    else
        stepper->ticks = now_ticks(stepper);
    task->ip = to;
}

/* ---- Code ---- */

/* The packets up to now are of the code as it was; what follows begins with a PSB packet.  A
 * circular buffer cannot keep them: the trace has one version of the code at a time.  */
static bool settle_buffer(struct stepper *stepper, const struct task *task,
                          struct insn_encoder *encoder, uint32_t descriptor)
{
    stepper->taker->ticks = stepper->ticks;
    if (stepper->taker->is_circular) {
        insn_encoder_flush(encoder);
        if (!taker_forget(stepper->taker, descriptor))
            return false;
    }
    insn_encoder_sync(encoder, task->ip, stepper->ticks);
    insn_encoder_flush(encoder);
    return stepper->taker->is_circular || taker_settle(stepper->taker, descriptor, stepper->ticks);
}

/* Code of a process is about to change.  */
static void settle(struct stepper *stepper, pid_t pid)
{
    forget_traced(stepper, pid);
    for (struct task *task = stepper->tasks; task; task = task->next) {
        struct insn_encoder *encoder = encoder_of(task);

        if (encoder && (task->pid == pid || !task->has_buffer) &&
            !settle_buffer(stepper, task, encoder, task->has_buffer ? task->descriptor : 0))
            note_failure(stepper);
    }
}

/* Whether the page has the bytes that are about to run; a page that is not in memory whole has
 * those that it has.  */
static bool page_has(const struct code_page *page, uint64_t address, const uint8_t *bytes,
                     size_t size)
{
    size_t at = address % CODE_PAGE;

    if (at >= page->size)
        return false;
    if (size > page->size - at)
        size = page->size - at;
    return memcmp(page->bytes + at, bytes, size) == 0;
}

/* The code that is about to run is in the trace, as it is now.  */
static void know_code(struct task *task, uint64_t address, const uint8_t *bytes, size_t size)
{
    struct insn_recorder *recorder = task->stepper->recorder;
    uint64_t start = address / CODE_PAGE * CODE_PAGE;
    struct thread *thread = thread_of(task);
    struct code_page *page;

    if (!thread || size == 0)
        return;
    page = insn_recorder_find(recorder, thread->process->koid, start);
    if (page && page_has(page, address, bytes, size))
        return;
    if (page)
        settle(task->stepper, task->pid);
    if (!insn_recorder_page(recorder, thread, start, task->stepper->ticks))
        note_stream_failure(task->stepper);
}

/* Read the instruction at task->ip.  */
static size_t read_code(struct task *task, uint8_t bytes[LONGEST])
{
    struct iovec local = { .iov_base = bytes, .iov_len = LONGEST };
    struct iovec remote = { .iov_base = (void *)task->ip, .iov_len = LONGEST };
    ssize_t size = process_vm_readv(task->tid, &local, 1, &remote, 1, 0);
    size_t first = CODE_PAGE - task->ip % CODE_PAGE;

    if (size <= 0)
        return 0;
    if (first > (size_t)size)
        first = (size_t)size;
    know_code(task, task->ip, bytes, first);
    if ((size_t)size > first)
        know_code(task, task->ip + first, bytes + first, (size_t)size - first);
    return (size_t)size;
}

/* ---- Stepping ---- */

static void let_go(struct task *task)
{
    int signal = task->signal;

    task->signal = 0;
    task->signalled = signal != 0;
    task->state = TASK_RUNNING;
    task->before = task->stepper->ticks;
    task->since = now_ticks(task->stepper);
    if (ptrace(PTRACE_SINGLESTEP, task->tid, NULL, (void *)(intptr_t)signal) != 0 &&
        errno != ESRCH) /* it was killed: its end is reported */
        task->stepper->failed = errno;
}

/* Instructions that a hypervisor may carry out for the program.  */
static uint8_t emulated_length(const uint8_t *bytes, size_t size)
{
    static const struct {
        uint8_t bytes[3], length;
    } emulated[] = {
        { { 0x0f, 0xa2 }, 2 },       /* cpuid */
        { { 0x0f, 0x31 }, 2 },       /* rdtsc */
        { { 0x0f, 0x33 }, 2 },       /* rdpmc */
        { { 0x0f, 0x01, 0xf9 }, 3 }, /* rdtscp */
        { { 0x0f, 0x01, 0xd0 }, 3 }, /* xgetbv */
    };

    for (size_t i = 0; i < sizeof emulated / sizeof *emulated; i++)
        if (size >= emulated[i].length && memcmp(bytes, emulated[i].bytes, emulated[i].length) == 0)
            return emulated[i].length;
    return 0;
}

/* Read what the instruction at task->ip is.  */
static void read_instruction(struct task *task)
{
    uint8_t bytes[LONGEST];
    size_t size = read_code(task, bytes);

    insn_classify(bytes, size, &task->opcode);
    task->clears_flag = size > 1 && (bytes[0] == 0x9c || (bytes[0] == 0x66 && bytes[1] == 0x9c));
    task->emulated = emulated_length(bytes, size);
}

/* Let it execute one instruction.  Returns whether it ends soon: it is no system call.  */
static bool step(struct task *task)
{
    read_instruction(task);
    if (task->stepper->failed)
        return true;
    task->was_stepped = true;
    let_go(task);
    return task->opcode.branch != INSN_CLASS_FAR && !task->signalled;
}

/* The flags that the program pushed say that it is stepped: it must not see that.  */
static void clear_pushed_flag(struct task *task, uint64_t stack)
{
    long word = ptrace(PTRACE_PEEKDATA, task->tid, (void *)stack, NULL);

    (void)ptrace(PTRACE_POKEDATA, task->tid, (void *)stack,
                 (void *)(intptr_t)(word & ~(long)TRAP_FLAG));
}

/* Whether the kernel will make the interrupted system call again, if no handler is in the way.  */
static bool will_restart(const struct user_regs_struct *registers)
{
    long long result = (long long)registers->rax;

    return (long long)registers->orig_rax >= 0 &&
           (result == -512 || result == -513 || result == -514 || result == -516);
}

/* Why the kernel says SIGTRAP: SIGTRAP itself stands for the first instruction of a handler.  */
static int trap_code(const struct task *task)
{
    siginfo_t info;

    return ptrace(PTRACE_GETSIGINFO, task->tid, NULL, &info) == 0 ? info.si_code : TRAP_TRACE;
}

/* Whether a breakpoint instruction of the program was executed.  A SIGTRAP that somebody sent is
 * not passed on: when a step ends while the program blocks or ignores SIGTRAP, as raise(3) does for
 * a moment, the kernel forgets its handler, and it would be killed.  */
static bool is_breakpoint(int code)
{
    return code == SI_KERNEL;
}

/* If a hypervisor carries out an instruction, some do not stop the program after it, but after the
 * next one: that was executed, too.  */
static void take_missed(struct task *task, uint64_t ip)
{
    while (task->emulated && ip != task->ip + task->emulated && !task->stepper->failed) {
        executed(task, task->ip + task->emulated);
        read_instruction(task);
    }
}

/* A step has ended.  */
static void take_step(struct task *task, const struct user_regs_struct *registers, int code)
{
    uint64_t ip = registers->rip;
    bool handler = task->signalled && code == SIGTRAP;

    task->signalled = false;
    if (handler || (task->arrived && ip == task->ip)) {
        task->arrived = task->restarts = false;
        task->ip = ip;
        return;
    }
    if (task->restarts) { /* the call before was made once more */
        static const uint8_t syscall[] = { 0x0f, 0x05 };

        insn_classify(syscall, sizeof syscall, &task->opcode);
        task->ip -= sizeof syscall;
    }
    task->arrived = task->restarts = false;
    take_missed(task, ip);
    if (task->opcode.repeats && ip == task->ip)
        return;
    if (task->clears_flag)
        clear_pushed_flag(task, registers->rsp);
    executed(task, ip);
}

/* A signal came, or the task was stopped from outside: the instruction at task->ip may have been a
 * system call that was made.  */
static void take_interrupt(struct task *task, const struct user_regs_struct *registers)
{
    struct insn_encoder *encoder = encoder_of(task);

    if (task->was_stepped && registers->rip != task->ip && task->opcode.branch == INSN_CLASS_FAR)
        executed(task, registers->rip);
    else if (encoder)
        insn_encoder_disable(encoder, task->ip, last_ticks(task));
    task->restarts = will_restart(registers);
    task->ip = registers->rip;
}

/* ---- Events ---- */

static void read_task_maps(struct task *task)
{
    struct thread *thread = thread_of(task);

    if (thread && !insn_recorder_read_maps(task->stepper->recorder, thread, task->stepper->ticks))
        note_stream_failure(task->stepper);
}

/* Another program, in one thread, whose id is that of the process.  */
static void take_exec(struct stepper *stepper, struct task *task)
{
    struct perf_record record = { .kind = PERF_KIND_NAME,
                                  .pid = (uint32_t)task->pid,
                                  .tid = (uint32_t)task->pid };

    for (struct task *other = stepper->tasks, *next; other; other = next) {
        next = other->next;
        if (other->pid == task->pid && other != task)
            remove_task(stepper, other);
    }
    /* The call does not return: what follows is another process in the trace.  It is the first
     * thread's, which may have been anywhere when another one made the call.  */
    if (task->was_stepped && task->state == TASK_RUNNING && task->opcode.branch == INSN_CLASS_FAR)
        executed(task, task->ip);
    end_buffer(task);
    task->same_from = task->same_to = 0;
    record.value.name.exec = true;
    record.value.name.text = "";
    apply(stepper, &record);
    read_task_maps(task);
    task->arrived = true;
    task->restarts = false;
    task->opcode = (struct insn_opcode){ .branch = INSN_CLASS_OTHER };
}

static void take_fork(struct stepper *stepper, struct task *parent, unsigned event)
{
    unsigned long message = 0;
    struct task *child;

    if (ptrace(PTRACE_GETEVENTMSG, parent->tid, NULL, &message) != 0)
        return;
    child = find_task(stepper, (pid_t)message);
    if (!child)
        child = add_task(stepper, 0, (pid_t)message);
    if (!child)
        return;
    child->pid = event == PTRACE_EVENT_CLONE ? proc_process_of(child->tid) : child->tid;
    if (child->pid != 0) {
        const struct perf_record record = { .kind = PERF_KIND_FORK,
                                            .pid = (uint32_t)child->pid,
                                            .tid = (uint32_t)child->tid,
                                            .value.fork = { .parent_pid = (uint32_t)parent->pid,
                                                            .parent_tid = (uint32_t)parent->tid } };

        apply(stepper, &record);
    }
}

static bool is_stop_signal(int number)
{
    return number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

/* Leave a task that cannot be traced.  */
static void leave(struct stepper *stepper, struct task *task)
{
    (void)ptrace(PTRACE_DETACH, task->tid, NULL, (void *)(intptr_t)task->signal);
    remove_task(stepper, task);
}

/* A stop that is no step's end and no signal's.  */
static void take_event(struct stepper *stepper, struct task *task, unsigned event, int number,
                       const struct user_regs_struct *registers)
{
    switch (event) {
    case PTRACE_EVENT_EXEC:
        take_exec(stepper, task);
        task->ip = registers->rip;
        break;
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
    case PTRACE_EVENT_CLONE:
        take_fork(stepper, task, event);
        let_go(task); /* the call goes on */
        return;
    case PTRACE_EVENT_STOP:
        if (task->state == TASK_NEW) {
            task->ip = registers->rip;
            task->arrived = true;
        } else {
            take_interrupt(task, registers);
        }
        if (is_stop_signal(number)) {
            task->state = TASK_RUNNING;
            (void)ptrace(PTRACE_LISTEN, task->tid, NULL, NULL);
            return;
        }
        break;
    default:
        break;
    }
    task->state = TASK_READY;
}

static void take_stop(struct stepper *stepper, struct task *task, int status)
{
    struct user_regs_struct registers;
    unsigned event = (unsigned)status >> 16;
    int number = WSTOPSIG(status), code;

    if (ptrace(PTRACE_GETREGS, task->tid, NULL, &registers) != 0)
        return; /* it was killed */
    if (event == 0 && number != SIGTRAP)
        task->signal = number;
    if (registers.cs != CODE_64) {
        stepper->foreign++;
        leave(stepper, task);
        return;
    }
    if (event != 0) {
        take_event(stepper, task, event, number, &registers);
        return;
    }
    code = trap_code(task);
    if (number == SIGTRAP && !is_breakpoint(code)) {
        take_step(task, &registers, code);
    } else {
        task->signal = number;
        take_interrupt(task, &registers);
    }
    task->state = TASK_READY;
}

static void take_status(struct stepper *stepper, pid_t tid, int status)
{
    struct task *task = find_task(stepper, tid);

    if (WIFSTOPPED(status)) {
        if (!task)
            task = add_task(stepper, 0, tid); /* its creator's report comes later */
        if (task)
            take_stop(stepper, task, status);
        return;
    }
    if (task)
        remove_task(stepper, task);
    if (tid == stepper->command->pid) {
        stepper->command->ended = true;
        stepper->command->wait_status = status;
    }
}

/* ---- Running ---- */

/* Take what there is; with wait, wait for the task's.  */
static bool take_one(struct stepper *stepper, pid_t tid, bool wait)
{
    int status;
    pid_t found = waitpid(tid, &status, __WALL | (wait ? 0 : WNOHANG));

    if (found <= 0)
        return false;
    take_status(stepper, found, status);
    return true;
}

/* A task whose process is known and that can be stepped, after the one given: all get their
 * turn.  */
static struct task *next_ready(struct stepper *stepper, pid_t after)
{
    struct task *last = find_task(stepper, after), *task;

    for (task = last ? last->next : NULL; task; task = task->next)
        if (task->state == TASK_READY && task->pid != 0)
            return task;
    for (task = stepper->tasks; task; task = task->next)
        if (task->state == TASK_READY && task->pid != 0)
            return task;
    return NULL;
}

/* Step a thread until its time is over, or it waits.  It may be gone then.  */
static void run_task(struct stepper *stepper, pid_t tid)
{
    struct insn_encoder *encoder;
    struct task *task;

    for (unsigned i = 0; i < QUANTUM && !stepper->failed; i++) {
        bool quick;

        task = find_task(stepper, tid);
        if (!task || task->state != TASK_READY)
            return;
        quick = step(task);
        for (unsigned looks = 0; !stepper->failed && looks < QUICK_LOOKS; looks++) {
            if (take_one(stepper, tid, quick))
                break;
            (void)sched_yield();
        }
    }
    task = find_task(stepper, tid);
    encoder = task ? encoder_of(task) : NULL;
    if (encoder && stepper->tasks->next) /* another one's turn */
        insn_encoder_disable(encoder, task->ip, stepper->ticks);
}

/* Nothing can be stepped: wait for a report, or a signal.  True when that asks to end.  */
static bool wait_for_any(struct stepper *stepper)
{
    struct pollfd wanted = { .fd = stepper->command->signal_fd, .events = POLLIN };

    if (take_one(stepper, -1, false))
        return false;
    (void)poll(&wanted, 1, -1);
    return command_take_signals(stepper->command);
}

/* Stop a task that runs.  False: it is gone, and so is its entry.  */
static bool halt(struct stepper *stepper, struct task *task)
{
    unsigned event;
    int status = 0;
    pid_t found;

    (void)ptrace(PTRACE_INTERRUPT, task->tid, NULL, NULL);
    found = waitpid(task->tid, &status, __WALL);
    if (found != task->tid || !WIFSTOPPED(status)) {
        if (found == stepper->command->pid && found == task->tid) {
            stepper->command->ended = true;
            stepper->command->wait_status = status;
        }
        remove_task(stepper, task);
        return false;
    }
    event = (unsigned)status >> 16;
    if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE)
        take_fork(stepper, task, event); /* the child is stopped, too, and must be left */
    if (event == 0 && WSTOPSIG(status) != SIGTRAP)
        task->signal = WSTOPSIG(status);
    return true;
}

/* Each task runs on without us.  One that runs must be stopped for that.  */
static void leave_all(struct stepper *stepper)
{
    while (stepper->tasks) {
        struct task *task = stepper->tasks;

        if (task->state == TASK_READY || halt(stepper, task))
            leave(stepper, task);
    }
}

static bool take_signals(struct stepper *stepper)
{
    struct pollfd wanted = { .fd = stepper->command->signal_fd, .events = POLLIN };

    return poll(&wanted, 1, 0) > 0 && command_take_signals(stepper->command);
}

bool stepper_attach(struct stepper *stepper)
{
    pid_t pid = stepper->command->pid;

    stepper->sim->full = take_full;
    stepper->sim->full_context = stepper;
    stepper->random = stepper->options->seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    if (stepper->options->overflow_every)
        stepper->until_loss = next_random(stepper) % (2 * stepper->options->overflow_every);
    if (ptrace(PTRACE_SEIZE, pid, NULL,
               (void *)(intptr_t)(PTRACE_O_TRACEEXEC | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                                  PTRACE_O_TRACECLONE)) != 0)
        return false;
    stepper->command->traced = true;
    if (!add_task(stepper, pid, pid))
        return false;
    stepper->tasks->state = TASK_RUNNING;
    return true;
}

bool stepper_run(struct stepper *stepper)
{
    pid_t last = 0;
    bool end = false;

    while (!end && !stepper->failed && !stepper->command->ended) {
        struct task *task = next_ready(stepper, last);

        if (!task) {
            end = wait_for_any(stepper);
            continue;
        }
        last = task->tid;
        run_task(stepper, last);
        while (take_one(stepper, -1, false))
            continue;
        end = take_signals(stepper);
        if (stepper->command->dump && stepper->options->snapshot) {
            stepper->command->dump = false;
            stepper->snapshots++;
            take_all(stepper);
        }
    }
    leave_all(stepper);
    take_all(stepper);
    if (!taker_finish(stepper->taker))
        note_failure(stepper);
    stepper->command->traced = false;
    return stepper->failed == 0;
}

/* NOLINTEND(performance-no-int-to-ptr) */
