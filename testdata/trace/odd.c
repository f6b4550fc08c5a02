/* Programs that do what makes tracing hard; each prints "done" and nothing else.
 *
 *   odd fork | forks | vfork | quiet-forks | anew | exec | signals | blocked | seccomp | close |
 *       threads | dlclose PLUGIN | images COUNT
 *
 * ODD_STORAGE is the size of its thread-local storage.  */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fxt/trace.h>

#ifdef ODD_STORAGE
static __thread volatile char storage[ODD_STORAGE];
#endif

static void step(unsigned seq)
{
#ifdef ODD_STORAGE
    storage[seq] = 1;
#endif
    TRACE_INSTANT("odd", "step", TRACE_SCOPE_THREAD, "seq", TA_UINT32(seq));
}

static void wait_for(pid_t pid)
{
    int status;

    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        abort();
}

/* A child is a provider of its own, from its first event on; what it writes until it is registered
 * is not recorded, so it waits.  */
static void in_child(void)
{
    pid_t pid = fork();

    if (pid < 0)
        abort();
    if (pid == 0) {
        for (unsigned i = 0; i < 20000 && !TRACE_ENABLED(); i++)
            (void)usleep(1000);
        for (unsigned i = 0; i < 100; i++)
            step(i);
        _exit(0);
    }
    for (unsigned i = 0; i < 100; i++)
        step(i);
    wait_for(pid);
}

/* A child makes a provider of its own after its parent has let go of its.  */
static void in_child_anew(trace_provider_t *provider)
{
    pid_t pid;

    trace_provider_destroy(provider);
    pid = fork();
    if (pid < 0)
        abort();
    if (pid > 0) {
        wait_for(pid);
        return;
    }
    provider = trace_provider_create_with_name("anew");
    for (unsigned i = 0; i < 100; i++)
        TRACE_INSTANT("odd", "step", TRACE_SCOPE_THREAD, "text", TA_STRING("a text"));
    trace_provider_destroy(provider);
    _exit(0);
}

/* Of several threads at once, none of which executes another program.  */
static void *fork_often(void *none)
{
    (void)none;
    for (unsigned i = 0; i < 25; i++) {
        pid_t pid = fork();

        step(i);
        if (pid < 0)
            abort();
        if (pid == 0)
            _exit(0);
        wait_for(pid);
    }
    return NULL;
}

static void in_threads_that_fork(void)
{
    pthread_t ids[4];

    for (unsigned i = 0; i < 4; i++)
        if (pthread_create(&ids[i], NULL, fork_often, NULL) != 0)
            abort();
    for (unsigned i = 0; i < 4; i++)
        (void)pthread_join(ids[i], NULL);
}

/* Children that have the memory of their parent until they execute something.  */
static void spawn_programs(const char *self)
{
    char *const arguments[] = { (char *)self, (char *)"blocked-quietly", NULL };

    for (unsigned i = 0; i < 5; i++) {
        pid_t pid;

        step(i);
        if (posix_spawn(&pid, self, NULL, NULL, arguments, environ) != 0)
            abort();
        step(i);
        wait_for(pid);
    }
}

/* Handlers call _Fork(), of which no library knows: each child finishes what was interrupted.  */
static volatile sig_atomic_t forked, is_child;

static void fork_quietly(int number)
{
    pid_t pid;

    (void)number;
    if (is_child || forked == 100)
        return;
    forked++;
    pid = _Fork();
    if (pid == 0)
        is_child = 1;
    else
        wait_for(pid);
}

static void in_quiet_forks(void)
{
    const struct itimerval often = { { 0, 500 }, { 0, 500 } };
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = fork_quietly;
    (void)sigaction(SIGALRM, &action, NULL);
    (void)setitimer(ITIMER_REAL, &often, NULL);
    for (unsigned i = 0; !is_child && (forked < 100 || i < 50000); i++)
        if (i < 50000)
            TRACE_INSTANT("odd", "step", TRACE_SCOPE_THREAD, "seq", TA_UINT32(i), "text",
                          TA_STRING("a text"));
    if (!is_child)
        return;
    for (unsigned i = 0; i < 100; i++)
        TRACE_INSTANT("odd", "of no provider", TRACE_SCOPE_THREAD);
    _exit(0);
}

static void in_program(const char *self)
{
    pid_t pid = fork();

    step(1);
    if (pid == 0) {
        (void)execl(self, self, "blocked-quietly", (char *)NULL);
        _exit(1);
    }
    wait_for(pid);
}

/* Two recordings of this image, then another image of the same process.  */
static void in_images(trace_provider_t *provider, const char *self, const char *count)
{
    char fewer[16];

    for (unsigned i = 0; i < 2; i++) {
        for (unsigned k = 0; k < 100; k++)
            step(k);
        trace_provider_destroy(provider);
        if (i == 0)
            provider = trace_provider_create_with_name("images");
    }
    if (count[0] == '1')
        return;
    (void)snprintf(fewer, sizeof fewer, "%c", count[0] - 1);
    (void)execl(self, self, "images", fewer, (char *)NULL);
    abort();
}

static volatile sig_atomic_t handled;

static void handle(int number)
{
    (void)number;
    TRACE_INSTANT("odd", "handler", TRACE_SCOPE_THREAD);
    handled++;
}

static void in_handlers(void)
{
    const struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = handle;
    (void)sigaction(SIGALRM, &action, NULL);
    (void)setitimer(ITIMER_REAL, &often, NULL);
    for (unsigned i = 0; handled < 200; i++) {
        if (i >= 50000) { /* as many as a buffer has room for */
            (void)usleep(100);
            continue;
        }
        TRACE_DURATION("odd", "interrupted", "seq", TA_UINT32(i), "text", TA_STRING("a text"));
    }
    (void)setitimer(ITIMER_REAL, &never, NULL);
}

static void block_all(void)
{
    sigset_t all;

    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
}

/* From now on socket(2) fails.  */
static void forbid_sockets(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = { sizeof code / sizeof *code, code };

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        abort();
}

/* A program that closes what it does not know, and uses the numbers for files of its own.  */
static void close_everything(void)
{
    char path[] = "own.XXXXXX";
    int first, fds[64];

    if (mkstemp(path) < 0)
        abort();
    for (int fd = 3; fd < 1100; fd++)
        (void)close(fd);
    first = open(path, O_RDWR);
    for (int i = 0; i < 64; i++) /* also where ours were */
        fds[i] = fcntl(first, F_DUPFD, 896 + i);
    for (unsigned i = 0; i < 100000; i++)
        step(i);
    (void)usleep(20000);
    if (lseek(first, 0, SEEK_END) != 0 || fds[0] < 0)
        abort();
    (void)unlink(path);
}

static void *one_event(void *seq)
{
    step((unsigned)(uintptr_t)seq);
    return NULL;
}

/* Many that live for an event, one after another and at once.  */
static void many_threads(void)
{
    for (unsigned i = 0; i < 1000; i += 10) {
        pthread_t ids[10];

        for (unsigned k = 0; k < 10; k++)
            /* NOLINTNEXTLINE(performance-no-int-to-ptr): a number */
            if (pthread_create(&ids[k], NULL, one_event, (void *)(uintptr_t)(i + k)) != 0)
                abort();
        for (unsigned k = 0; k < 10; k++)
            (void)pthread_join(ids[k], NULL);
    }
}

static void unload(const char *path)
{
    for (unsigned i = 0; i < 50; i++) {
        void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        void (*work)(unsigned);
        void *symbol = plugin ? dlsym(plugin, "plugin_work") : NULL;

        if (!symbol)
            abort();
        memcpy(&work, &symbol, sizeof work);
        work(i);
        (void)dlclose(plugin);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    trace_provider_t *provider;

    if (strcmp(what, "seccomp") == 0)
        forbid_sockets();
    if (strncmp(what, "blocked", 7) == 0)
        block_all();
    provider = trace_provider_create_with_name(what);
    if (strcmp(what, "fork") == 0)
        in_child();
    else if (strcmp(what, "anew") == 0)
        in_child_anew(provider);
    else if (strcmp(what, "forks") == 0)
        in_threads_that_fork();
    else if (strcmp(what, "vfork") == 0)
        spawn_programs(argv[0]);
    else if (strcmp(what, "quiet-forks") == 0)
        in_quiet_forks();
    else if (strcmp(what, "exec") == 0)
        in_program(argv[0]);
    else if (strcmp(what, "signals") == 0)
        in_handlers();
    else if (strcmp(what, "close") == 0)
        close_everything();
    else if (strcmp(what, "threads") == 0)
        many_threads();
    else if (strcmp(what, "dlclose") == 0)
        unload(argv[2]);
    else if (strcmp(what, "images") == 0)
        in_images(provider, argv[0], argv[2]);
    else
        for (unsigned i = 0; i < 100; i++)
            step(i);
    if (strcmp(what, "blocked-quietly") != 0)
        (void)puts("done");
    return 0;
}
