/* A program that installs a seccomp filter while it is a provider:
 *
 *   confine kill | eperm | enosys | socket | strict  one | all
 *
 * The filter forbids membarrier(2), or socket(2) and its like, or (strict) ends the program at all
 * calls but those that docs/tracing.md names and those that this program itself needs.  one: of the
 * calling thread and of those that it creates; all: of all threads.  It writes 1,000 events before
 * and 60,000 after, of two threads, forks, and prints "done".  */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fxt/trace.h>

#define MOST 64

static struct sock_filter code[2 * MOST + 4];
static unsigned short used;

static void add(struct sock_filter instruction)
{
    if (used == sizeof code / sizeof *code)
        abort();
    code[used++] = instruction;
}

static void add_call(int number, uint32_t action)
{
    add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1));
    add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static void install(const char *what, bool all)
{
    static const int allowed[] = {
        /* Of the library.  */
        SYS_openat,
        SYS_read,
        SYS_close,
        SYS_write,
        SYS_futex,
        SYS_getpid,
        SYS_gettid,
        SYS_newfstatat,
        SYS_fstat,
        SYS_mmap,
        SYS_munmap,
        SYS_rt_sigprocmask,
        SYS_exit,
#ifdef SYS_poll
        SYS_poll,
#else
        SYS_ppoll,
#endif
        SYS_restart_syscall,
        /* Of this program.  */
        SYS_clone,
        SYS_clone3,
        SYS_set_robust_list,
        SYS_rseq,
        SYS_mprotect,
        SYS_madvise,
        SYS_brk,
        SYS_getrandom,
        SYS_wait4,
        SYS_rt_sigaction,
        SYS_exit_group,
    };
    static const int sockets[] = { SYS_socket, SYS_socketpair, SYS_connect, SYS_sendmsg,
                                   SYS_recvmsg };
    bool strict = strcmp(what, "strict") == 0;
    const struct sock_fprog filter = { used, code };
    struct sock_fprog program = filter;

    add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
    if (strict)
        for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
            add_call(allowed[i], SECCOMP_RET_ALLOW);
    else if (strcmp(what, "socket") == 0)
        for (size_t i = 0; i < sizeof sockets / sizeof *sockets; i++)
            add_call(sockets[i], SECCOMP_RET_KILL_PROCESS);
    else
        add_call(SYS_membarrier, strcmp(what, "kill") == 0    ? SECCOMP_RET_KILL_PROCESS
                                 : strcmp(what, "eperm") == 0 ? SECCOMP_RET_ERRNO | EPERM
                                                              : SECCOMP_RET_ERRNO | ENOSYS);
    add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
                                     strict ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ALLOW));
    program.len = used;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, all ? SECCOMP_FILTER_FLAG_TSYNC : 0,
                &program) != 0)
        abort();
}

static void write_events(unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count; i++)
        TRACE_INSTANT("confine", "step", TRACE_SCOPE_THREAD, "seq", TA_UINT32(i));
}

static void *write_after(void *argument)
{
    (void)argument;
    write_events(1000, 30000);
    return NULL;
}

static void fork_once(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        write_events(0, 10);
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        abort();
}

int main(int argc, char **argv)
{
    trace_provider_t *provider = trace_provider_create_with_name("confine");
    pthread_t thread;

    if (argc != 3)
        return 2;
    write_events(0, 1000);
    install(argv[1], strcmp(argv[2], "all") == 0);
    if (pthread_create(&thread, NULL, write_after, NULL) != 0)
        abort();
    (void)write_after(NULL);
    (void)pthread_join(thread, NULL);
    fork_once();
    TRACE_ALERT("confine", "after");
    write_events(31000, 1);
    trace_provider_destroy(provider);
    return write(STDOUT_FILENO, "done\n", 5) != 5;
}
