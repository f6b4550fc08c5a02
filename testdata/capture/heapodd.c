/* heapodd - allocates in odd places: each of these a heap capture must live through.
 *
 *   heapodd WHAT     prints nothing and exits 0 when all is well
 *
 * Build with -pthread.  */

// NOLINTBEGIN(clang-analyzer-*,performance-no-int-to-ptr,concurrency-mt-unsafe,bugprone-*)
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static int wrong;

static void check(int fine, const char *what)
{
    if (fine)
        return;
    printf("wrong: %s\n", what);
    wrong = 1;
}

static void *keep(void *address)
{
    __asm__ volatile("" : "+r"(address) : : "memory");
    return address;
}

static void churn(int count)
{
    for (int i = 0; i < count; i++)
        free(keep(malloc((size_t)(i % 700))));
}

static void check_child(pid_t child, int status)
{
    int found = 0;

    check(child > 0 && waitpid(child, &found, __WALL) == child && found == status, "a child");
}

/* ---- Threads ---- */

/* It allocates while it holds the thread's lock.  */
static void *ask_attributes(void *argument)
{
    pthread_attr_t attributes;

    for (int i = 0; i < 100; i++) {
        check(pthread_getattr_np(pthread_self(), &attributes) == 0, "pthread_getattr_np");
        (void)pthread_attr_destroy(&attributes);
    }
    return argument;
}

static pthread_key_t keys[3];

static void destroy(void *value)
{
    static _Thread_local int rounds;

    free(value);
    if (rounds++ < 3)
        (void)pthread_setspecific(keys[rounds % 3], malloc(100));
}

static void *leave_values(void *argument)
{
    for (int i = 0; i < 3; i++)
        (void)pthread_setspecific(keys[i], malloc(100));
    churn(10);
    return argument;
}

static void *churn_for_ever(void *argument)
{
    (void)pthread_setcanceltype(argument ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED,
                                NULL);
    for (;;) {
        /* The allocator itself may not be left by an asynchronous cancellation.  */
        (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
        churn(20);
        (void)pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
        pthread_testcancel();
    }
    return argument;
}

static void *churn_some(void *argument)
{
    churn(2000);
    return argument;
}

static void run_thread(void *(*work)(void *), void *argument, size_t stack)
{
    pthread_attr_t attributes;
    pthread_t id;

    check(pthread_attr_init(&attributes) == 0, "attributes");
    if (stack)
        check(pthread_attr_setstacksize(&attributes, stack) == 0, "stack size");
    check(pthread_create(&id, &attributes, work, argument) == 0 && pthread_join(id, NULL) == 0,
          "thread");
    (void)pthread_attr_destroy(&attributes);
}

static void do_attributes(void)
{
    run_thread(ask_attributes, NULL, 0);
    (void)ask_attributes(NULL);
}

static void do_small_stack(void)
{
    for (int i = 0; i < 20; i++)
        run_thread(churn_some, NULL, 16384);
}

static void do_destructors(void)
{
    for (int i = 0; i < 3; i++)
        check(pthread_key_create(&keys[i], destroy) == 0, "key");
    for (int i = 0; i < 50; i++)
        run_thread(leave_values, NULL, 0);
}

static void do_cancel(void)
{
    for (int i = 0; i < 100; i++) {
        pthread_t id;

        check(pthread_create(&id, NULL, churn_for_ever, i % 2 ? &wrong : NULL) == 0, "thread");
        (void)usleep((unsigned)i * 20);
        check(pthread_cancel(id) == 0 && pthread_join(id, NULL) == 0, "cancel");
    }
    churn(1000);
}

/* ---- Stacks ---- */

static ucontext_t outside, inside;

static void coroutine(void)
{
    for (int i = 0; i < 5; i++) {
        churn(50);
        (void)swapcontext(&inside, &outside);
    }
}

static void do_coroutines(void)
{
    for (int k = 0; k < 10; k++) {
        size_t size = 32768;
        char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        check(stack != MAP_FAILED && getcontext(&inside) == 0, "context");
        inside.uc_stack.ss_sp = stack;
        inside.uc_stack.ss_size = size;
        inside.uc_link = &outside;
        makecontext(&inside, coroutine, 0);
        for (int i = 0; i < 6; i++) {
            check(swapcontext(&outside, &inside) == 0, "swapcontext");
            churn(20);
        }
        (void)munmap(stack, size);
    }
}

static sigjmp_buf back;

static void on_signal(int number)
{
    churn(30);
    if (number == SIGUSR2)
        siglongjmp(back, 1);
}

static void do_handlers(void)
{
    stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

    check(sigaltstack(&stack, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0 &&
              sigaction(SIGUSR2, &action, NULL) == 0,
          "handlers");
    for (int i = 0; i < 100; i++) {
        (void)raise(SIGUSR1);
        churn(10);
        if (sigsetjmp(back, 1) == 0)
            (void)raise(SIGUSR2);
        churn(10);
    }
}

#ifdef __x86_64__

typedef void (*run_fn)(void (*)(void));

static void churn_a_little(void)
{
    churn(100);
}

static run_fn make_code(const unsigned char *code, size_t size)
{
    unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                               0);

    check(page != MAP_FAILED, "mmap");
    memcpy(page, code, size);
    check(mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0, "mprotect");
    return (run_fn)(uintptr_t)page;
}

/* Code that a compiler made: with frame pointers, without, and with a register full of rubbish.  */
static void do_jit(void)
{
    static const unsigned char with[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
    static const unsigned char without[] = { 0x48, 0x83, 0xec, 0x08, 0xff, 0xd7,
                                             0x48, 0x83, 0xc4, 0x08, 0xc3 };
    static const unsigned char rubbish[] = { 0x55, 0x48, 0xc7, 0xc5, 0xf8, 0xff,
                                             0xff, 0xff, 0xff, 0xd7, 0x5d, 0xc3 };

    make_code(with, sizeof with)(churn_a_little);
    make_code(without, sizeof without)(churn_a_little);
    make_code(rubbish, sizeof rubbish)(churn_a_little);
}

/* A function whose unwind table is wrong in every way, but for its range.  */
void wrong_table(void (*call)(void), long rbp);
void high_table(void (*call)(void), long rbp);
__asm__(".text\n"
        ".type wrong_table, @function\n"
        "wrong_table: .cfi_startproc\n"
        "push %rbp\n"
        "mov %rsi, %rbp\n"
        ".cfi_def_cfa %rbp, 16\n"
        ".cfi_offset %rbp, -16\n"
        "call *%rdi\n"
        "pop %rbp\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size wrong_table, . - wrong_table\n"
        ".type high_table, @function\n"
        "high_table: .cfi_startproc\n"
        "push %rbp\n"
        "mov %rsi, %rbp\n"
        ".cfi_def_cfa %rsp, 900000\n"
        "call *%rdi\n"
        "pop %rbp\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size high_table, . - high_table\n");

static void *call_wrong(void *argument)
{
    volatile long here = (long)(uintptr_t)&here;

    wrong_table(churn_a_little, 8);
    wrong_table(churn_a_little, here + 50000);
    wrong_table(churn_a_little, here + 900000);
    wrong_table(churn_a_little, 0x7fffffffff000);
    wrong_table(churn_a_little, -32);
    wrong_table(churn_a_little, -8);
    high_table(churn_a_little, 8);
    return argument;
}

static void do_wrong_tables(void)
{
    (void)call_wrong(NULL);
    run_thread(call_wrong, NULL, 65536);
}

#define GONE_SIZE ((size_t)65536)
#define GONE_LEFT ((size_t)16384)

static char *gone_stack;

/* A frame as large as what is unmapped later, so that all of the stack is looked at.  */
static void use_all(void)
{
    volatile char room[GONE_SIZE - GONE_LEFT + 4096];

    room[0] = 1;
    churn(50);
    room[1] = 1;
}

static void use_left(void)
{
    wrong_table(churn_a_little, (long)(uintptr_t)gone_stack + (long)GONE_SIZE - 8192);
}

static void run_there(void (*run)(void), size_t size)
{
    check(getcontext(&inside) == 0, "context");
    inside.uc_stack.ss_sp = gone_stack;
    inside.uc_stack.ss_size = size;
    inside.uc_link = &outside;
    makecontext(&inside, run, 0);
    check(swapcontext(&outside, &inside) == 0, "swapcontext");
}

/* A stack, and where it was a smaller one, with a register that points to where there is none.  */
static void *lose_stack(void *argument)
{
    gone_stack = mmap(NULL, GONE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(gone_stack != MAP_FAILED, "mmap");
    run_there(use_all, GONE_SIZE);
    check(munmap(gone_stack + GONE_LEFT, GONE_SIZE - GONE_LEFT) == 0, "munmap");
    run_there(use_left, GONE_LEFT);
    (void)munmap(gone_stack, GONE_LEFT);
    return argument;
}

static void do_gone_stacks(void)
{
    (void)lose_stack(NULL);
    run_thread(lose_stack, NULL, 65536);
}

/* ---- Stacks side by side ---- */

#define SIDE_SIZE ((size_t)65536)

/* Three stacks without a gap; the highest one is the thread's own, of which nothing tells where it
 * begins.  */
static char *side;
static int side_way; /* how the one in the middle goes */

static void use_middle(void)
{
    churn(50);
}

/* Beside one that is gone, with a register that points there; the second call needs all
 * registers.  */
static void use_lowest(void)
{
    wrong_table(churn_a_little, (long)(uintptr_t)side + (long)SIDE_SIZE + 8192);
    (void)raise(SIGUSR1);
}

static void *lose_middle(void *argument)
{
    gone_stack = side + SIDE_SIZE;
    run_there(use_middle, SIDE_SIZE);
    gone_stack = side;
    run_there(use_middle, SIDE_SIZE);
    check(side_way ? munmap(side + SIDE_SIZE, SIDE_SIZE) == 0
                   : mprotect(side + SIDE_SIZE, SIDE_SIZE, PROT_NONE) == 0,
          "the stack in the middle");
    run_there(use_lowest, SIDE_SIZE);
    return argument;
}

static void do_side_by_side(void)
{
    struct sigaction action = { .sa_handler = on_signal };

    check(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
    for (side_way = 0; side_way < 2; side_way++) {
        pthread_attr_t attributes;
        pthread_t id;

        side = mmap(NULL, 3 * SIDE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                    0);
        check(side != MAP_FAILED, "mmap");
        check(pthread_attr_init(&attributes) == 0 &&
                  pthread_attr_setstack(&attributes, side + 2 * SIDE_SIZE, SIDE_SIZE) == 0 &&
                  pthread_create(&id, &attributes, lose_middle, NULL) == 0 &&
                  pthread_join(id, NULL) == 0 && pthread_attr_destroy(&attributes) == 0,
              "thread");
        (void)munmap(side, 3 * SIDE_SIZE);
    }
}

/* ---- Stacks made by hand ---- */

/* The register of frame pointers, and what is at the bottom, are anything.  */
void enter_stack(void *bottom, void (*run)(void), long rbp);
void leave_stack(void);
__asm__(".local left_stack\n"
        ".comm left_stack, 8, 8\n"
        ".text\n"
        ".type enter_stack, @function\n"
        "enter_stack: push %rbp\n"
        "push %rbx\n"
        "push %r12\n"
        "push %r13\n"
        "push %r14\n"
        "push %r15\n"
        "mov %rsp, left_stack(%rip)\n"
        "mov %rdi, %rsp\n"
        "mov %rdx, %rbp\n"
        "mov %rdx, %rbx\n"
        "mov %rdx, %r12\n"
        "jmp *%rsi\n"
        ".size enter_stack, . - enter_stack\n"
        ".type leave_stack, @function\n"
        "leave_stack: mov left_stack(%rip), %rsp\n"
        "pop %r15\n"
        "pop %r14\n"
        "pop %r13\n"
        "pop %r12\n"
        "pop %rbx\n"
        "pop %rbp\n"
        "ret\n"
        ".size leave_stack, . - leave_stack\n");

static void churn_there(void)
{
    churn_a_little();
    leave_stack();
}

/* Its frame address lies in memory.  */
__attribute__((noinline)) static void churn_realigned(size_t size)
{
    volatile char room[64] __attribute__((aligned(64)));
    volatile char *more = __builtin_alloca(size);

    room[0] = more[0] = 1;
    churn(20);
    room[1] = more[0] = 1;
}

static void realign_there(void)
{
    churn_realigned(100);
    leave_stack();
}

static void signal_there(void)
{
    (void)raise(SIGUSR1);
    leave_stack();
}

static void *run_by_hand(void *argument)
{
    static void (*const runs[])(void) = { churn_there, realign_there, signal_there };
    char *stack = mmap(NULL, GONE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const long words[] = { 0,
                           8,
                           0xdead0000,
                           -8,
                           (long)(uintptr_t)stack + 8,
                           (long)(uintptr_t)stack + (long)GONE_SIZE - 8,
                           (long)(uintptr_t)stack + (long)GONE_SIZE,
                           (long)(uintptr_t)&words,
                           (long)(uintptr_t)&wrong,
                           (long)(uintptr_t)churn_there + 1 };

    check(stack != MAP_FAILED && munmap(stack + GONE_SIZE / 2, GONE_SIZE / 2) == 0, "mmap");
    for (size_t i = 0; i < sizeof words / sizeof *words * 3; i++) {
        long *bottom = (long *)(void *)(stack + GONE_SIZE / 2) - 1;

        *bottom = words[i / 3];
        enter_stack(bottom, runs[i % 3], words[i / 3]);
        enter_stack(bottom, runs[i % 3], words[(i / 3 + 5) % (sizeof words / sizeof *words)]);
    }
    (void)munmap(stack, GONE_SIZE / 2);
    return argument;
}

static void do_by_hand(void)
{
    struct sigaction action = { .sa_handler = on_signal };
    stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };

    check(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
    (void)run_by_hand(NULL);
    run_thread(run_by_hand, NULL, 65536);
    action.sa_flags = SA_ONSTACK;
    check(sigaction(SIGUSR1, &action, NULL) == 0 && sigaltstack(&stack, NULL) == 0, "sigaltstack");
    (void)run_by_hand(NULL);
}

/* Handlers that leave for another stack, and come back.  */
static void switch_away(int number)
{
    (void)number;
    churn(10);
    (void)swapcontext(&inside, &outside);
    churn(10);
}

static void raise_there(void)
{
    (void)raise(SIGUSR1);
    churn(10);
}

static void do_switching_handlers(void)
{
    struct sigaction action = { .sa_handler = switch_away };
    char *room = mmap(NULL, GONE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = { .ss_sp = room, .ss_size = GONE_SIZE / 2 };

    check(room != MAP_FAILED && sigaltstack(&stack, NULL) == 0, "sigaltstack");
    for (int i = 0; i < 20; i++) {
        action.sa_flags = i % 2 ? SA_ONSTACK : 0;
        check(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
        gone_stack = room + GONE_SIZE / 2;
        run_there(raise_there, GONE_SIZE / 2);
        churn(10);
        check(swapcontext(&outside, &inside) == 0, "swapcontext");
    }
    stack.ss_flags = SS_DISABLE;
    check(sigaltstack(&stack, NULL) == 0 && munmap(room, GONE_SIZE) == 0, "munmap");
    churn(10);
}

#else

static void do_jit(void)
{
}
static void do_wrong_tables(void)
{
}
static void do_gone_stacks(void)
{
}
static void do_side_by_side(void)
{
}
static void do_by_hand(void)
{
}
static void do_switching_handlers(void)
{
}

#endif

/* ---- Processes ---- */

static int churn_and_leave(void *argument)
{
    (void)argument;
    churn(300);
    _exit(7);
}

static void do_processes(void)
{
    static char stack[65536] __attribute__((aligned(16)));
    static void *blocks[10];
    char *const arguments[] = { (char *)"true", NULL };
    pid_t child = vfork();

    if (child == 0) {
        churn(50);
        (void)execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    check_child(child, 0);
    for (int i = 0; i < 10; i++)
        blocks[i] = malloc(500);
    child = vfork();
    if (child == 0) { /* the memory is its parent's, the descriptors are not */
        closefrom(3);
        churn(50);
        _exit(0);
    }
    check_child(child, 0);
    for (int i = 0; i < 10; i++)
        free(blocks[i]);
    check(posix_spawnp(&child, "true", NULL, NULL, arguments, environ) == 0, "posix_spawnp");
    check_child(child, 0);
    /* Nobody hears of its end; its memory is its own or its parent's.  */
    check_child(clone(churn_and_leave, stack + sizeof stack, 0, NULL), 7 << 8);
    check_child(clone(churn_and_leave, stack + sizeof stack, CLONE_VM | CLONE_VFORK, NULL), 7 << 8);
    check_child((pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) ?: (churn(100), _exit(0), 0), 0);
    churn(100);
}

static void do_no_descriptors(void)
{
    const struct rlimit few = { 3, 3 };
    pid_t child;

    closefrom(3);
    churn(500);
    check(setrlimit(RLIMIT_NOFILE, &few) == 0, "setrlimit");
    closefrom(3);
    churn(500);
    child = fork();
    if (child == 0) {
        churn(500);
        _exit(3);
    }
    check_child(child, 3 << 8);
    churn(500);
}

/* Its descriptors lead elsewhere.  */
static void do_taken_descriptors(void)
{
    static char text[64];
    int pipes[2], sockets[2];

    check(pipe(pipes) == 0 && fcntl(pipes[0], F_SETFL, O_NONBLOCK) == 0, "pipe");
    check(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) == 0, "socketpair");
    for (int fd = 20; fd < 1000; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            check(dup2(fd % 2 ? pipes[1] : sockets[1], fd) == fd, "dup2");
    churn(500);
    check(read(pipes[0], text, sizeof text) < 0 && errno == EAGAIN, "bytes in the program's pipe");
    check(recv(sockets[0], text, sizeof text, MSG_DONTWAIT) < 0, "bytes in the program's socket");
}

static void do_little_memory(void)
{
    const struct rlimit little = { 1 << 20, 1 << 20 };
    void *blocks[2000];

    check(setrlimit(RLIMIT_AS, &little) == 0, "setrlimit");
    for (int i = 0; i < 2000; i++)
        blocks[i] = keep(malloc(64));
    for (int i = 0; i < 2000; i++)
        free(blocks[i]);
    check(!keep(malloc((size_t)1 << 30)), "malloc of too much");
}

static void do_root(void)
{
    pid_t child;

    if (geteuid() != 0 || chdir("/proc/self/task") != 0 || chroot(".") != 0 || setgid(65534) != 0 ||
        setuid(65534) != 0)
        return;
    churn(500);
    child = fork();
    if (child == 0) {
        churn(500);
        _exit(4);
    }
    check_child(child, 4 << 8);
    churn(500);
}

/* A sampler may stand before syscall(3) and prctl(2).  */
static void do_calls(void)
{
    char name[16] = "";
    char *page;

    page = (char *)syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
    check(page != MAP_FAILED, "six arguments");
    page[0] = 1;
    errno = 0;
    check(syscall(SYS_close, -1) == -1 && errno == EBADF, "errno of syscall");
    check(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, NULL) == -1, "a question");
    check(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) == -1, "no filter");
    check(prctl(PR_SET_NAME, "odd") == 0 && prctl(PR_GET_NAME, name) == 0 &&
              strcmp(name, "odd") == 0,
          "prctl");
    errno = 0;
    check(prctl(-1, 0, 0, 0, 0) == -1 && errno == EINVAL, "errno of prctl");
    churn(500);
}

/* ---- Sandboxes ---- */

static void write_and_leave(void)
{
    (void)syscall(SYS_write, 1, "", 0);
    (void)syscall(SYS_exit, 5);
}

static void do_strict(void)
{
    pid_t child = fork();

    if (child == 0) {
        churn(500);
        (void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
        for (int i = 0; i < 500; i++)
            free(keep(malloc(20)));
        write_and_leave();
    }
    check_child(child, 5 << 8);
}

#define ALLOW(name)                                        \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int confine(int by_prctl)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(write),
        ALLOW(exit),
        ALLOW(exit_group),
        ALLOW(clone),
        ALLOW(wait4),
        ALLOW(brk),
        ALLOW(rseq),
        ALLOW(set_robust_list),
        ALLOW(gettid),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = { .len = sizeof filter / sizeof *filter, .filter = filter };

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)
                    : (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

static void do_filter(void)
{
    for (int by_prctl = 0; by_prctl < 2; by_prctl++) {
        pid_t child = fork();

        if (child == 0) {
            churn(500);
            check(confine(by_prctl) == 0, "seccomp");
            for (int i = 0; i < 500; i++)
                free(keep(malloc(20)));
            child = fork();
            if (child == 0) {
                for (int i = 0; i < 500; i++)
                    free(keep(malloc(20)));
                _exit(6);
            }
            check_child(child, 6 << 8);
            (void)syscall(SYS_exit_group, wrong ? 1 : 5);
        }
        check_child(child, 5 << 8);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} things[] = {
    { "attributes", do_attributes },
    { "small-stack", do_small_stack },
    { "destructors", do_destructors },
    { "cancel", do_cancel },
    { "coroutines", do_coroutines },
    { "handlers", do_handlers },
    { "jit", do_jit },
    { "wrong-tables", do_wrong_tables },
    { "gone-stacks", do_gone_stacks },
    { "side-by-side", do_side_by_side },
    { "by-hand", do_by_hand },
    { "switching-handlers", do_switching_handlers },
    { "processes", do_processes },
    { "no-descriptors", do_no_descriptors },
    { "taken-descriptors", do_taken_descriptors },
    { "little-memory", do_little_memory },
    { "root", do_root },
    { "calls", do_calls },
    { "strict", do_strict },
    { "filter", do_filter },
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof things / sizeof *things; i++) {
        if (argc == 2 && strcmp(argv[1], things[i].name) == 0) {
            things[i].run();
            return wrong;
        }
    }
    return 2;
}
// NOLINTEND(clang-analyzer-*,performance-no-int-to-ptr,concurrency-mt-unsafe,bugprone-*)
