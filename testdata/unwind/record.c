/* A program without C library that records itself as Fuchsia's profiler records a thread: registers
 * and a copy of the stack, in the layout of cpu_profiler/stack_sample.  A system call in the
 * function record() sends it a signal, and the handler writes what was interrupted.
 *
 * It writes, for each sample, a word with the size of the copy and the copy.  The stacks that must
 * be found are in stacks.txt.  See make.  */
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>

#define MOST_BYTES 16384

#define NOINLINE __attribute__((noinline, noclone))

static uintptr_t stack_limit;

#ifdef __x86_64__
static long call(long number, long a, long b, long c, long d)
{
    register long r10 __asm__("r10") = d;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
}

__asm__(".globl _start\n.type _start, @function\n_start:\n.cfi_startproc\n.cfi_undefined rip\n"
        "xor %ebp, %ebp\nmov %rsp, %rdi\ncall begin\n.cfi_endproc\n.size _start, . - _start\n");
__asm__(".type restore, @function\nrestore:\nmov $15, %eax\nsyscall\n.size restore, . - restore\n");
void restore(void);

#define REGISTERS 20
static void take(const ucontext_t *context, uint64_t *out)
{
    static const int order[] = { REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI,
                                 REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                 REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP, REG_EFL };

    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        out[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
}
#define POINTER 7

#elif defined __aarch64__
static long call(long number, long a, long b, long c, long d)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;

    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
}

__asm__(".globl _start\n.type _start, %function\n_start:\n.cfi_startproc\n.cfi_undefined x30\n"
        "mov x29, 0\nmov x0, sp\nbl begin\nbrk 1\n.cfi_endproc\n.size _start, . - _start\n");

#define REGISTERS 35
static void take(const ucontext_t *context, uint64_t *out)
{
    for (size_t i = 0; i < 31; i++)
        out[i] = context->uc_mcontext.regs[i];
    out[31] = context->uc_mcontext.sp;
    out[32] = context->uc_mcontext.pc;
}
#define POINTER   31

#elif defined __riscv
static long call(long number, long a, long b, long c, long d)
{
    register long a7 __asm__("a7") = number;
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c;
    register long a3 __asm__("a3") = d;

    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2), "r"(a3) : "memory");
    return a0;
}

__asm__(".globl _start\n.type _start, @function\n_start:\n.cfi_startproc\n.cfi_undefined ra\n"
        ".option push\n.option norelax\nla gp, __global_pointer$\n.option pop\n"
        "mv a0, sp\ncall begin\nebreak\n.cfi_endproc\n.size _start, . - _start\n");

#define REGISTERS 32
static void take(const ucontext_t *context, uint64_t *out)
{
    for (size_t i = 0; i < REGISTERS; i++) /* the first is the program counter, as in Zircon */
        out[i] = context->uc_mcontext.__gregs[i];
}
#define POINTER   2
#endif

/* ---- Recording ---- */

static void put(const void *bytes, size_t size)
{
    (void)call(SYS_write, 1, (long)bytes, (long)size, 0);
}

static void handle(int number, siginfo_t *info, void *context)
{
    static struct {
        uint64_t copy_size, registers_size, registers[REGISTERS], address, size;
    } head;

    (void)number;
    (void)info;
    take(context, head.registers);
    head.registers_size = sizeof head.registers;
    head.address = head.registers[POINTER];
    head.size = stack_limit - head.address;
    if (head.size > MOST_BYTES)
        head.size = MOST_BYTES;
    head.copy_size = sizeof head - 8 + head.size;
    put(&head, sizeof head);
    put((const void *)(uintptr_t)head.address, head.size); // NOLINT(performance-no-int-to-ptr)
}

/* What the kernel takes for struct sigaction.  */
struct action {
    void (*handler)(int, siginfo_t *, void *);
    unsigned long flags;
#ifdef __x86_64__
    void (*restorer)(void);
#endif
    uint64_t mask;
};

static void catch_signal(void)
{
    struct action action = { .handler = handle, .flags = SA_SIGINFO };

#ifdef __x86_64__
    action.flags |= 0x04000000;
    action.restorer = restore;
#endif
    (void)call(SYS_rt_sigaction, SIGUSR1, (long)&action, 0, 8);
}

static volatile int sink;

static NOINLINE void record(void)
{
    (void)call(SYS_tkill, call(SYS_gettid, 0, 0, 0, 0), SIGUSR1, 0, 0);
    sink++;
}

/* ---- Stacks ---- */

static NOINLINE void leaf(void)
{
    record();
    sink++;
}

/* Many registers are saved.  */
static NOINLINE int saves(int a, int b, int c, int d)
{
    int e = a * b, f = b * c, g = c * d, h = d * a;

    leaf();
    return a + b + c + d + e + f + g + h + sink;
}

/* A frame whose size is not known when it is compiled.  */
static NOINLINE int dynamic(size_t size)
{
    volatile char bytes[size];

    bytes[0] = 1;
    bytes[size - 1] = 2;
    leaf();
    return bytes[0] + bytes[size - 1];
}

static NOINLINE int large(void)
{
    volatile char bytes[6000];

    bytes[0] = 1;
    leaf();
    return bytes[0] + sink;
}

static NOINLINE int recursive(int depth)
{
    if (depth == 0)
        leaf();
    else
        sink += recursive(depth - 1);
    return sink + depth;
}

/* Deeper than a copy.  */
static NOINLINE int deep(int depth)
{
    volatile char bytes[2000];

    bytes[depth] = 1;
    if (depth == 0)
        leaf();
    else
        sink += deep(depth - 1);
    return bytes[depth] + sink;
}

/* The call is the last instruction: the return address is the next function's.  */
static NOINLINE __attribute__((noreturn)) void last(void)
{
    leaf();
    (void)call(SYS_exit, 0, 0, 0, 0);
    __builtin_unreachable();
}

static NOINLINE __attribute__((noreturn)) void calls_last(void)
{
    last();
}

static NOINLINE void run(void)
{
    leaf();
    sink += saves(sink, 2, 3, 4);
    sink += dynamic((size_t)(64 + sink % 2));
    sink += large();
    sink += recursive(4);
    sink += deep(9);
    calls_last();
}

__attribute__((used, noreturn)) void begin(uintptr_t stack)
{
    stack_limit = stack + 16;
    catch_signal();
    run();
    __builtin_unreachable();
}
