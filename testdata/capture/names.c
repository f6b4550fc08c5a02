/* A program whose functions say where they are, for tests/cli/test_capture_names.sh.
 *
 *   names tasks           four threads run on_thread_0 .. on_thread_3, a child runs in_child
 *   names libraries A B   dlopen A, run its work(), dlclose; the same with B; prints where
 *   names threads N       N threads, one after the other, each of a few ms in short_lived
 *   names renames         a thread works as "first", "second" and "first" again
 *   names mappings N LIBRARY READY   makes N executable mappings, loads the library, makes the file
 *                         READY, waits until that is gone, and runs work() of the library
 *   names early           a child that runs in_child and ends at once, then the parent works on
 *
 * Each function works for its own share of CPU time.  */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Each is a function of its own that does its work itself.  */
#define FUNCTION(name)                                \
    __attribute__((noinline)) void name(uint64_t ms); \
    void name(uint64_t ms)                            \
    {                                                 \
        uint64_t end = cpu_ns() + ms * 1000000;       \
        while (cpu_ns() < end)                        \
            for (volatile int i = 0; i < 100000; i++) \
                continue;                             \
    }

FUNCTION(on_thread_0)
FUNCTION(on_thread_1)
FUNCTION(on_thread_2)
FUNCTION(on_thread_3)
FUNCTION(in_child)
FUNCTION(in_parent)
FUNCTION(short_lived)

static void (*const thread_functions[])(uint64_t) = { on_thread_0, on_thread_1, on_thread_2,
                                                      on_thread_3 };

static void *run_thread(void *function)
{
    (*(void (*const *)(uint64_t))function)(60);
    return NULL;
}

static void *run_short(void *unused)
{
    (void)unused;
    short_lived(3);
    return NULL;
}

static void run_tasks(void)
{
    pthread_t threads[4];
    pid_t child = fork();

    if (child == 0) {
        in_child(60);
        _exit(0);
    }
    for (int i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, run_thread, (void *)&thread_functions[i]) != 0)
            abort();
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    waitpid(child, NULL, 0);
}

static void run_library(const char *path, uint64_t ms)
{
    void *library = dlopen(path, RTLD_NOW);
    void (*work)(uint64_t);
    void *symbol = library ? dlsym(library, "work") : NULL;

    if (!symbol)
        abort();
    memcpy(&work, &symbol, sizeof work);
    printf("%p\n", symbol);
    work(ms);
    dlclose(library);
}

static void *run_renamed(void *unused)
{
    (void)unused;
    for (int i = 0; i < 3; i++) {
        (void)pthread_setname_np(pthread_self(), i == 1 ? "second" : "first");
        thread_functions[i](i == 1 ? 200 : 100);
    }
    return NULL;
}

/* Those of neighbouring pages would become one.  */
static void map_pages(long count)
{
    int fd = open("/proc/self/exe", O_RDONLY);

    for (long i = 0; i < count; i++)
        if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
            abort();
    close(fd);
}

static void run_mapped(char **argv)
{
    void *library;
    void (*work)(uint64_t);

    map_pages(strtol(argv[2], NULL, 10));
    library = dlopen(argv[3], RTLD_NOW);
    if (!library)
        abort();
    work = (void (*)(uint64_t))dlsym(library, "work");
    close(open(argv[4], O_WRONLY | O_CREAT, 0600));
    while (access(argv[4], F_OK) == 0)
        usleep(10000);
    work(400);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (strcmp(what, "tasks") == 0) {
        run_tasks();
    } else if (strcmp(what, "libraries") == 0 && argc == 4) {
        for (int round = 0; round < 2; round++) {
            run_library(argv[2], 80);
            run_library(argv[3], 40);
        }
    } else if (strcmp(what, "threads") == 0 && argc == 3) {
        for (long i = strtol(argv[2], NULL, 10); i > 0; i--) {
            pthread_t thread;
            if (pthread_create(&thread, NULL, run_short, NULL) != 0)
                abort();
            pthread_join(thread, NULL);
        }
    } else if (strcmp(what, "renames") == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, run_renamed, NULL) != 0)
            abort();
        pthread_join(thread, NULL);
    } else if (strcmp(what, "mappings") == 0 && argc == 5) {
        run_mapped(argv);
    } else if (strcmp(what, "early") == 0) {
        pid_t child = fork();
        if (child == 0) {
            in_child(20);
            _exit(0);
        }
        waitpid(child, NULL, 0);
        in_parent(300);
    } else {
        return 2;
    }
    return 0;
}
