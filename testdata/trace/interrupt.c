/* What a program writes, interrupted after every instruction by a signal handler that forks:
 *
 *   interrupt WHAT STRIDE FOLDER
 *
 * with FXT_TRACE_FILE=FOLDER/%p.fxtb.  WHAT is one of the cases below.  After every STRIDE-th
 * instruction a child writes events in the handler, finishes what was interrupted, writes 20 events
 * more, and looks at its own recording.  Prints the number of instructions, or what went wrong.
 *
 * The processor's trap flag makes the signals.  */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <fxt/trace.h>

#ifdef __x86_64__

enum { TRAP_FLAG = 0x100, AFTER = 20 };

static bool is_child;
static unsigned long steps, stride, failures;
static const char *folder;

/* ---- What is interrupted ---- */

static void one_site(void)
{
    TRACE_INSTANT("interrupt", "site", TRACE_SCOPE_THREAD, "number", TA_UINT32(1));
}

static void duration(void)
{
    TRACE_DURATION("interrupt", "duration", "text", TA_STRING("a string"), "pi", TA_DOUBLE(3.14));
}

static void virtual_thread(void)
{
    TRACE_VTHREAD_DURATION_BEGIN("interrupt", "virtual", "thread", 7, 1000);
}

static void blob(void)
{
    static const char bytes[3000];

    TRACE_BLOB_EVENT("interrupt", "blob", bytes, sizeof bytes, "key", TA_INT64(-1));
}

/* More than a chunk has room for, so that chunks are claimed.  */
static void claim(void)
{
    for (unsigned i = 0; i < 3; i++)
        blob();
}

static void by_hand(void)
{
    trace_string_ref_t category, name;
    trace_thread_ref_t thread;
    trace_context_t *context = trace_acquire_context_for_category("interrupt", &category);
    void *bytes;

    if (!context)
        return;
    trace_context_register_current_thread(context, &thread);
    trace_context_register_string_copy(context, "a copy", 6, &name);
    bytes = trace_context_begin_write_blob_record(context, TRACE_BLOB_TYPE_DATA, &name, 100);
    if (bytes)
        memset(bytes, 'x', 100);
    trace_context_write_instant_event_record(context, trace_get_ticks(), &thread, &category, &name,
                                             TRACE_SCOPE_THREAD, NULL, 0);
    trace_release_context(context);
}

static const struct {
    const char *name;
    void (*run)(void);
    bool before; /* once before it is interrupted */
} cases[] = {
    { "first", one_site, false },
    { "again", one_site, true },
    { "duration", duration, true },
    { "blob", blob, true },
    { "claim", claim, true },
    { "by-hand", by_hand, false },
    { "vthread", virtual_thread, false },
};

/* ---- The recording of a child ---- */

/* How many events a row of records has, or -1 if they are not whole.  */
static long look(const uint64_t *words, uint64_t count)
{
    long events = 0;

    for (uint64_t at = 0; at < count;) {
        uint64_t size = (words[at] & 15) == 15 ? words[at] >> 4 & 0xffffffff
                                               : words[at] >> 4 & 0xfff;

        if (size == 0 || size > count - at)
            return -1;
        events += (words[at] & 15) == 4;
        at += size;
    }
    return events;
}

static const char *check_recording(void)
{
    char path[4096];
    const uint64_t *words;
    uint64_t durable, rolling;
    long events[3];
    int fd;

    (void)snprintf(path, sizeof path, "%s/%d.fxtb", folder, (int)getpid());
    fd = open(path, O_RDONLY);
    words = mmap(NULL, 65536, PROT_READ, MAP_SHARED, fd, 0);
    if (words == MAP_FAILED)
        return "it has no recording";
    (void)unlink(path);
    durable = words[3] / 8;
    rolling = words[4] / 8;
    if (words[2] != 65536 || 16 + durable + 2 * rolling != 65536 / 8)
        return "its header is wrong";
    events[0] = look(words + 16, durable);
    events[1] = look(words + 16 + durable, rolling);
    events[2] = look(words + 16 + durable + rolling, rolling);
    if (events[0] != 0 || events[1] < 0 || events[2] < 0)
        return "its records are not whole";
    return events[1] + events[2] >= AFTER ? NULL : "events are missing";
}

/* ---- Interrupting ---- */

static void write_events(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        TRACE_INSTANT("interrupt", "other", TRACE_SCOPE_THREAD, "number", TA_UINT32(i));
}

static bool is_in_kernel_page(uintptr_t address)
{
    uintptr_t start = (uintptr_t)getauxval(AT_SYSINFO_EHDR);

    return start != 0 && address >= start && address - start < 16384;
}

static void handle(int number, siginfo_t *info, void *context)
{
    greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
    int status = 0;
    pid_t pid;

    (void)number;
    (void)info;
    /* The kernel's clock is read again where it changes meanwhile: that would never end.  */
    if (is_in_kernel_page((uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP]))
        return;
    if (steps++ % stride != 0)
        return;
    pid = fork();
    if (pid == 0) {
        is_child = true;
        *flags &= ~(greg_t)TRAP_FLAG;
        write_events(3);
    } else if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
        if (failures++ < 10)
            (void)printf("instruction %lu: status %d\n", steps, status);
    }
}

/* Its last instruction is the first that is interrupted.  */
static inline void set_trap_flag(bool on)
{
    if (on)
        __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
    else
        __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}

static int finish_child(void)
{
    const char *wrong;

    for (unsigned i = 0; i < AFTER && !TRACE_ENABLED(); i++)
        continue;
    write_events(AFTER);
    wrong = check_recording();
    if (wrong)
        (void)fprintf(stderr, "instruction %lu: the child: %s\n", steps, wrong);
    return wrong ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct sigaction action = { .sa_flags = SA_SIGINFO };
    size_t which = 0;

    while (argc == 4 && which < sizeof cases / sizeof *cases &&
           strcmp(cases[which].name, argv[1]) != 0)
        which++;
    if (argc != 4 || which == sizeof cases / sizeof *cases)
        return 2;
    stride = strtoul(argv[2], NULL, 10);
    folder = argv[3];
    (void)trace_provider_create_with_name(NULL);
    if (cases[which].before)
        cases[which].run();
    action.sa_sigaction = handle;
    (void)sigaction(SIGTRAP, &action, NULL);
    set_trap_flag(true);
    cases[which].run();
    if (!is_child)
        set_trap_flag(false);
    if (is_child)
        _exit(finish_child());
    (void)printf("%s: %lu instructions\n", argv[1], steps);
    return failures > 0;
}

#else

int main(void)
{
    (void)puts("this processor has no trap flag");
    return 77;
}

#endif
