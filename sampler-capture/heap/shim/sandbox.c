/* sandbox.c - programs that confine themselves.
 *
 * What seccomp(2) forbids may end whoever does it, and a program does not know of the system calls
 * of ours.  So from the moment on that a process installs a filter nothing of it is sampled any
 * more, nor of its children; and a program that is started with more filters than the capture
 * itself has, as in a container, is not sampled from its start.  */
#include "sampler-capture/heap/shim/shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HOOK  __attribute__((visibility("default")))
#define WAITS 10000 /* for recordings that are under way; each a sched_yield(2) */

_Atomic bool shim_confined;

/* Nobody is in between two system calls of ours when this returns.  */
static void stop(void)
{
    struct shim_process *process = shim_process;

    atomic_store(&shim_confined, true);
    for (int i = 0; process && i < WAITS && atomic_load(&process->recording) > 0; i++)
        (void)sched_yield();
}

static void finish(bool is_confined)
{
    if (!is_confined)
        atomic_store(&shim_confined, false);
    else if (shim_settings.losses && shim_process)
        (void)atomic_fetch_add(&shim_settings.losses->confined, 1);
}

/* ---- seccomp(2) ---- */

typedef long (*syscall_fn)(long number, ...);

extern syscall_fn shim_real_syscall __attribute__((visibility("hidden")));

/* syscall() with SYS_seccomp.  Without a filter it only asks what the kernel knows.  */
__attribute__((visibility("hidden"))) long shim_seccomp(long number, long mode, long flags,
                                                        long filter);
long shim_seccomp(long number, long mode, long flags, long filter)
{
    bool confines = mode == SECCOMP_SET_MODE_STRICT ||
                    (mode == SECCOMP_SET_MODE_FILTER && filter != 0);
    long status;

    if (!confines || atomic_load_explicit(&shim_confined, memory_order_relaxed))
        return shim_real_syscall(number, mode, flags, filter);
    stop();
    status = shim_real_syscall(number, mode, flags, filter);
    finish(status >= 0); /* a descriptor where one was asked for */
    return status;
}

#ifdef __x86_64__

/* The sixth argument stays where the caller has put it, or has not: C would copy what lies there
 * onto itself, and that may be a word that another thread changes meanwhile.  Until the next
 * syscall() is known, ours does what glibc's does.  */
__attribute__((visibility("hidden"), used)) long shim_syscall_failed(long negative);
long shim_syscall_failed(long negative)
{
    errno = (int)-negative;
    return -1;
}

__asm__(".text\n"
        ".p2align 4\n"
        ".globl syscall\n"
        ".type syscall, @function\n"
        "syscall:\n"
        ".cfi_startproc\n"
        "    cmpq $317, %rdi\n" /* SYS_seccomp */
        "    je shim_seccomp\n"
        "    jmp *shim_real_syscall(%rip)\n"
        ".cfi_endproc\n"
        ".size syscall, . - syscall\n"
        ".type shim_raw_syscall, @function\n"
        ".hidden shim_raw_syscall\n"
        "shim_raw_syscall:\n"
        ".cfi_startproc\n"
        "    movq %rdi, %rax\n"
        "    movq %rsi, %rdi\n"
        "    movq %rdx, %rsi\n"
        "    movq %rcx, %rdx\n"
        "    movq %r8, %r10\n"
        "    movq %r9, %r8\n"
        "    movq 8(%rsp), %r9\n"
        "    syscall\n"
        "    cmpq $-4095, %rax\n"
        "    jae 1f\n"
        "    ret\n"
        "1:  movq %rax, %rdi\n"
        "    jmp shim_syscall_failed\n"
        ".cfi_endproc\n"
        ".size shim_raw_syscall, . - shim_raw_syscall\n");

_Static_assert(SYS_seccomp == 317, "as above");

long shim_raw_syscall(long number, ...) __attribute__((visibility("hidden")));
syscall_fn shim_real_syscall = shim_raw_syscall;

#else /* elsewhere all arguments go in registers */

static long first_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    syscall_fn found = (syscall_fn)dlsym(RTLD_NEXT, "syscall");

    if (!found)
        abort(); /* no C library is without it */
    shim_real_syscall = found;
    return found(number, a, b, c, d, e, f);
}

syscall_fn shim_real_syscall = (syscall_fn)first_syscall;

HOOK long shim_syscall(long number, long a, long b, long c, long d, long e,
                       long f) __asm__("syscall");

HOOK long shim_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    if (number == SYS_seccomp)
        return shim_seccomp(number, a, b, c);
    return shim_real_syscall(number, a, b, c, d, e, f);
}

#endif

/* ---- prctl(2) ---- */

typedef int (*prctl_fn)(int, long, long, long, long);

static prctl_fn real_prctl;

/* Called by the first prctl(), and before there are threads.  */
static __attribute__((constructor(101))) void find_real(void)
{
    bool was_inside = shim_thread.inside;
    void *found;

    if (real_prctl)
        return;
    shim_thread.inside = true;
    found = dlsym(RTLD_NEXT, "syscall");
    if (found)
        shim_real_syscall = (syscall_fn)found;
    real_prctl = (prctl_fn)dlsym(RTLD_NEXT, "prctl");
    shim_thread.inside = was_inside;
    if (!real_prctl)
        abort(); /* no C library is without it */
}

static __attribute__((noinline)) int confine(long mode, long filter)
{
    int status;

    stop();
    status = real_prctl(PR_SET_SECCOMP, mode, filter, 0, 0);
    finish(status == 0);
    return status;
}

HOOK int shim_prctl(int option, long a, long b, long c, long d) __asm__("prctl");

HOOK int shim_prctl(int option, long a, long b, long c, long d)
{
    if (!real_prctl)
        find_real();
    if (option == PR_SET_SECCOMP && !atomic_load_explicit(&shim_confined, memory_order_relaxed))
        return confine(a, b);
    return real_prctl(option, a, b, c, d);
}

/* ---- Filters of the start ---- */

bool shim_is_confined(void)
{
    if (!real_prctl)
        find_real();
    return real_prctl(PR_GET_SECCOMP, 0, 0, 0, 0) > 0 &&
           shim_status_number("\nSeccomp_filters:", UINT64_MAX, 0) >
               shim_settings.own_filters /* since Linux 5.9 */;
}
