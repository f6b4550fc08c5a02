/* heapwork - allocates and frees in every way that a heap capture must live through.
 *
 *   heapwork entries          each entry of the allocator once; prints what it got wrong
 *   heapwork threads N        N threads pass blocks on to each other
 *   heapwork forks N          N children, each of which frees blocks of the parent's
 *   heapwork again PATH       closes all descriptors but the first three, allocates, then runs PATH
 *   heapwork soak MS PLUGIN   all at once, with checks of every block, loading and unloading PLUGIN
 *   heapwork deep N           an allocation below N calls
 *   heapwork fail             a block of 1000 bytes whose realloc fails, and which stays
 *   heapwork leak N           N blocks of 1000 bytes from each of two callers, half of them freed
 *
 * Exits 0 when all is well.  */

/* What a checker warns of is what this is for: sizes of 0, blocks that move, arguments that
 * fail.  */
// NOLINTBEGIN(clang-analyzer-*,performance-no-int-to-ptr)
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int wrong;

static void check(int fine, const char *what)
{
    if (fine)
        return;
    printf("wrong: %s\n", what);
    wrong = 1;
}

/* The compiler may not see through it.  */
static void *keep(void *address)
{
    __asm__ volatile("" : "+r"(address) : : "memory");
    return address;
}

/* ---- entries ---- */

static int is_aligned(void *address, size_t alignment)
{
    return address && (uintptr_t)address % alignment == 0;
}

static int is_zero(const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i])
            return 0;
    return 1;
}

static void aligned_entries(void)
{
    long page = sysconf(_SC_PAGESIZE);
    void *p = NULL;

    errno = 77;
    check(posix_memalign(&p, 256, 100000) == 0 && is_aligned(p, 256), "posix_memalign");
    check(errno == 77, "errno of posix_memalign");
    free(p);
    p = keep(NULL);
    check(posix_memalign(&p, 3, 100) == EINVAL && !p, "posix_memalign of a bad alignment");
    p = keep(aligned_alloc(4096, 8192));
    check(is_aligned(p, 4096), "aligned_alloc");
    free(p);
    p = keep(memalign(512, 100000));
    check(is_aligned(p, 512), "memalign");
    free(p);
    p = keep(valloc(100000));
    check(is_aligned(p, (size_t)page), "valloc");
    free(p);
    p = keep(pvalloc(100000));
    check(is_aligned(p, (size_t)page), "pvalloc");
    free(p);
}

static volatile size_t half = SIZE_MAX / 2; /* so that compilers have no opinion of it */

static void entries(void)
{
    char *p = keep(malloc(100000)), *q;

    check(p != NULL, "malloc");
    memset(p, 5, 100000);
    q = keep(realloc(p, 200000));
    check(q && q[0] == 5 && q[99999] == 5, "realloc");
    errno = 0;
    p = keep(realloc(q, (size_t)1 << 62));
    check(!p && errno == ENOMEM && q[99999] == 5, "realloc of too much");
    errno = 78;
    check(keep(realloc(q, 0)) == NULL && errno == 78, "realloc to nothing");
    p = keep(calloc(1000, 100));
    check(p && is_zero(p, 100000), "calloc");
    errno = 79;
    free(p);
    check(errno == 79, "errno of free");
    p = keep(reallocarray(NULL, 100, 1000));
    check(p != NULL, "reallocarray");
    errno = 0;
    check(!keep(reallocarray(p, half, 3)) && errno == ENOMEM, "reallocarray of too much");
    free(p);
    errno = 0;
    check(!keep(malloc(2 * half - 100)) && errno == ENOMEM, "malloc of too much");
    errno = 0;
    check(!keep(calloc(half, 3)) && errno == ENOMEM, "calloc of too much");
    free(keep(malloc(0)));
    free(NULL);
    aligned_entries();
    p = strdup("duplicates are allocated in libc");
    check(p && p[0] == 'd', "strdup");
    free(p);
    check(system("exit 3") == 3 << 8, "system");
}

/* ---- threads ---- */

#define POSTS 64

static _Atomic(void *) posts[POSTS];

static void *pass_on(void *argument)
{
    unsigned state = (unsigned)(uintptr_t)argument * 2654435761U + 1;

    for (int i = 0; i < 20000; i++) {
        size_t size = 16 + (state >> 8) % 5000;
        char *block = keep(malloc(size));

        memset(block, 1, size);
        free(atomic_exchange(&posts[state % POSTS], block));
        state = state * 1664525 + 1013904223;
    }
    return NULL;
}

static void threads(int count)
{
    pthread_t ids[64];

    for (int i = 0; i < count && i < 64; i++)
        check(pthread_create(&ids[i], NULL, pass_on, (void *)(uintptr_t)(i + 1)) == 0, "thread");
    for (int i = 0; i < count && i < 64; i++)
        check(pthread_join(ids[i], NULL) == 0, "join");
    for (int i = 0; i < POSTS; i++)
        free(posts[i]);
}

/* ---- forks ---- */

static void forks(int count)
{
    static void *blocks[1000];
    int status;

    for (int i = 0; i < 1000; i++)
        blocks[i] = keep(malloc(2000));
    for (int i = 0; i < count; i++) {
        pid_t child = fork();

        if (child == 0) {
            for (int k = 0; k < 1000; k++) {
                free(blocks[k]);
                blocks[k] = keep(malloc(3000));
            }
            for (int k = 0; k < 1000; k += 2)
                free(blocks[k]);
            _exit(i % 100);
        }
        check(child > 0 && waitpid(child, &status, 0) == child && status == (i % 100) << 8,
              "child");
    }
    for (int i = 0; i < 1000; i++)
        free(blocks[i]);
}

/* ---- again ---- */

static void churn(int count)
{
    for (int i = 0; i < count; i++) {
        char *block = keep(malloc(4000));
        block[0] = 1;
        free(block);
    }
}

static void again(char *program)
{
    static char text[16];
    int fds[2];

    churn(1000);
    for (int fd = 3; fd < 1100; fd++)
        (void)close(fd);
    /* What was the library's is the program's: nobody else may write there.  */
    check(pipe(fds) == 0 && dup2(fds[1], 900) == 900 && fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0,
          "pipe");
    churn(1000);
    check(read(fds[0], text, sizeof text) < 0 && errno == EAGAIN, "bytes in the program's pipe");
    if (!wrong)
        execl(program, program, "leak", "1000", (char *)NULL);
}

/* ---- soak ---- */

static atomic_int stop;
static const char *plugin;

/* Blocks with a pattern that depends on the address: whatever is given out twice, moved wrongly or
 * written to by others is found.  */
static void fill(unsigned char *block, size_t size)
{
    for (size_t i = 0; i < size; i += 61)
        block[i] = (unsigned char)((uintptr_t)block >> 4 ^ i);
}

static int is_filled(const unsigned char *block, const void *as, size_t size)
{
    for (size_t i = 0; i < size; i += 61)
        if (block[i] != (unsigned char)((uintptr_t)as >> 4 ^ i))
            return 0;
    return 1;
}

struct slot {
    unsigned char *block;
    size_t size;
};

static void change(struct slot *slot, unsigned random)
{
    size_t size = random % 97 == 0 ? random % 300000 : random % 2000;
    void *before = slot->block;
    size_t kept = slot->size < size ? slot->size : size;

    check(!slot->block || is_filled(slot->block, slot->block, slot->size), "contents");
    if (slot->block && random % 3 == 0 && size > 0) {
        slot->block = keep(realloc(slot->block, size));
        check(slot->block && is_filled(slot->block, before, kept), "contents after realloc");
    } else {
        free(slot->block);
        slot->block = random % 5 == 0 ? keep(calloc(1, size)) : keep(malloc(size));
    }
    check(slot->block != NULL, "a block");
    slot->size = size;
    fill(slot->block, size);
}

static void *soak_thread(void *argument)
{
    unsigned state = (unsigned)(uintptr_t)argument;
    struct slot slots[200] = { { NULL, 0 } };

    while (!atomic_load(&stop)) {
        state = state * 1664525 + 1013904223;
        change(&slots[(state >> 16) % 200], state >> 3);
    }
    for (int i = 0; i < 200; i++)
        free(slots[i].block);
    return NULL;
}

/* Threads come and go.  */
static void *short_threads(void *argument)
{
    while (!atomic_load(&stop)) {
        pthread_t id;

        check(pthread_create(&id, NULL, pass_on, argument) == 0 && pthread_join(id, NULL) == 0,
              "short thread");
    }
    return NULL;
}

static void *load_plugin(void *argument)
{
    (void)argument;
    while (!atomic_load(&stop)) {
        void *library = dlopen(plugin, RTLD_NOW);
        void *(*allocate)(size_t) = library ? (void *(*)(size_t))dlsym(library, "plugin_allocate")
                                            : NULL;

        check(allocate != NULL, "plugin");
        for (int i = 0; allocate && i < 100; i++)
            free(allocate(3000));
        if (library)
            (void)dlclose(library);
    }
    return NULL;
}

/* It interrupts everything, the library too.  */
static void on_alarm(int number)
{
    struct timespec now;

    (void)number;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
}

static void soak_forks(long until_ms)
{
    struct timespec now;
    int status;

    do {
        pid_t child = fork();

        if (child == 0) {
            struct slot slot = { NULL, 0 };

            for (unsigned i = 0; i < 2000; i++)
                change(&slot, i * 2654435761U >> 3);
            _exit(wrong);
        }
        check(child > 0 && waitpid(child, &status, 0) == child && status == 0, "forked child");
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < until_ms);
}

static void soak(long ms)
{
    struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
    timer_t timer;
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
    const struct itimerspec often = { { 0, 700000 }, { 0, 700000 } };
    struct timespec now;
    pthread_t ids[6];
    int count = 0;

    (void)sigaction(SIGALRM, &action, NULL);
    check(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 &&
              timer_settime(timer, 0, &often, NULL) == 0,
          "timer");
    for (; count < 3; count++)
        check(pthread_create(&ids[count], NULL, soak_thread, (void *)(uintptr_t)(count + 9)) == 0,
              "thread");
    check(pthread_create(&ids[count++], NULL, short_threads, (void *)3) == 0, "thread");
    check(pthread_create(&ids[count++], NULL, load_plugin, NULL) == 0, "thread");
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    soak_forks(now.tv_sec * 1000 + now.tv_nsec / 1000000 + ms);
    atomic_store(&stop, 1);
    for (int i = 0; i < count; i++)
        check(pthread_join(ids[i], NULL) == 0, "join");
    (void)timer_delete(timer);
    for (int i = 0; i < POSTS; i++)
        free(posts[i]);
}

/* ---- deep, leak ---- */

__attribute__((noinline)) static void *deep(int calls)
{
    void *p = calls > 0 ? deep(calls - 1) : malloc(1000);

    return keep(p);
}

__attribute__((noinline)) static void *first_caller(void)
{
    return keep(malloc(1000));
}

__attribute__((noinline)) static void *second_caller(void)
{
    return keep(malloc(1000));
}

static void fail(void)
{
    void *block = first_caller();

    check(keep(realloc(block, half)) == NULL, "realloc of too much");
}

static void leak(int count)
{
    for (int i = 0; i < count; i++) {
        void *a = first_caller(), *b = second_caller();

        if (i % 2 == 0) {
            free(a);
            free(b);
        }
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int number = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;

    if (strcmp(mode, "entries") == 0)
        entries();
    else if (strcmp(mode, "threads") == 0)
        threads(number);
    else if (strcmp(mode, "forks") == 0)
        forks(number);
    else if (strcmp(mode, "again") == 0 && argc > 2)
        again(argv[2]);
    else if (strcmp(mode, "soak") == 0 && argc > 3) {
        plugin = argv[3];
        soak(number);
    } else if (strcmp(mode, "deep") == 0)
        free(deep(number));
    else if (strcmp(mode, "fail") == 0)
        fail();
    else if (strcmp(mode, "leak") == 0)
        leak(number);
    else
        return 2;
    return wrong;
}
// NOLINTEND(clang-analyzer-*,performance-no-int-to-ptr)
