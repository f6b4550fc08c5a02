/* mapwork - memory that a program maps itself, in ways whose rest at the end is known.
 *
 * mapwork NAME: does what is called so; each function of that name below keeps what its comment
 * says.  Everything is checked, and the status is 0.  */
// Children and handlers map memory here because that is what is tested.
// NOLINTBEGIN(clang-analyzer-*fork,bugprone-signal-handler)
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE   4096UL
#define MEMORY (MAP_PRIVATE | MAP_ANONYMOUS)
#define KEEP   __attribute__((noinline, noclone))

static void must(int condition, const char *what)
{
    if (!condition) {
        (void)fprintf(stderr, "mapwork: %s: %s\n", what, strerror(errno));
        _exit(9);
    }
}

static char *map(size_t pages, int protection, void *where, int flags)
{
    void *at = mmap(where, pages * PAGE, protection, MEMORY | flags, -1, 0);

    must(at != MAP_FAILED, "mmap");
    return at;
}

KEEP static void *whole(size_t pages)
{
    char *at = map(pages, PROT_READ | PROT_WRITE, NULL, 0);

    memset(at, 1, pages * PAGE);
    return at;
}

/* 100 pages.  */
KEEP static void keep(void)
{
    (void)whole(100);
    must(munmap(whole(50), 50 * PAGE) == 0, "munmap");
}

/* 100 pages less 10 at the start, 10 in the middle, 10 at the end: 70.  */
KEEP static void partial(void)
{
    char *at = whole(100);

    must(munmap(at, 10 * PAGE) == 0, "munmap");
    must(munmap(at + 40 * PAGE, 10 * PAGE - 1) == 0, "munmap");
    must(munmap(at + 90 * PAGE, 10 * PAGE) == 0, "munmap");
}

/* 20 of 100 pages are mapped once more, 10 become a file: 90.  */
KEEP static void fixed(void)
{
    char *at = whole(100);
    FILE *file = tmpfile();

    must(file && ftruncate(fileno(file), 10 * PAGE) == 0, "tmpfile");
    (void)map(20, PROT_READ | PROT_WRITE, at + 30 * PAGE, MAP_FIXED);
    must(mmap(at + 70 * PAGE, 10 * PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fileno(file), 0) !=
             MAP_FAILED,
         "mmap of a file");
}

/* 10 pages grow to 200, 100 shrink to 50, 30 of 60 are moved elsewhere; one call fails: 310.  */
KEEP static void moved(void)
{
    char *grown = mremap(whole(10), 10 * PAGE, 200 * PAGE, MREMAP_MAYMOVE);
    char *shrunk = mremap(whole(100), 100 * PAGE, 50 * PAGE, 0);
    char *torn = whole(60), *to = map(30, PROT_NONE, NULL, 0);

    must(grown != MAP_FAILED && grown[0] == 1 && shrunk != MAP_FAILED, "mremap");
    must(mremap(torn + 10 * PAGE, 30 * PAGE, 30 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to,
         "mremap to a place");
    errno = 0;
    must(mremap(to, 30 * PAGE, (size_t)-1 / 2 / PAGE * PAGE, 0) == MAP_FAILED && errno != 0,
         "mremap that fails");
}

/* Of 10,000 reserved pages 40 are opened, 10 of them anew; 16 more by mmap(2): 56.  */
KEEP static void reserved(void)
{
    char *at = map(10000, PROT_NONE, NULL, MAP_NORESERVE);

    must(mprotect(at + 100 * PAGE, 40 * PAGE, PROT_READ | PROT_WRITE) == 0, "mprotect");
    must(mprotect(at + 110 * PAGE, 10 * PAGE, PROT_READ) == 0, "mprotect");
    (void)map(16, PROT_READ | PROT_WRITE, at + 1000 * PAGE, MAP_FIXED);
}

/* Four threads that map and unmap at the same time; each keeps 25 pages: 100.  */
static void *thread(void *context)
{
    (void)context;
    for (int i = 0; i < 200; i++) {
        char *at = map(8, PROT_READ | PROT_WRITE, NULL, 0);

        at[0] = 1;
        must(munmap(at, 8 * PAGE) == 0, "munmap");
    }
    (void)whole(25);
    return NULL;
}

KEEP static void threads(void)
{
    pthread_t ids[4];

    for (int i = 0; i < 4; i++)
        must(pthread_create(&ids[i], NULL, thread, NULL) == 0, "pthread_create");
    for (int i = 0; i < 4; i++)
        must(pthread_join(ids[i], NULL) == 0, "pthread_join");
}

/* The child unmaps what it inherited, and keeps 30 pages; the parent keeps 100.  Then a child of
 * vfork(2) maps and unmaps, which is its parent's memory.  */
KEEP static void forks(void)
{
    char *at = whole(100);
    pid_t child = fork();
    int status;

    if (child == 0) {
        must(munmap(at, 100 * PAGE) == 0, "munmap");
        (void)whole(30);
        exit(0);
    }
    must(waitpid(child, &status, 0) == child && status == 0, "the child");
    child = vfork();
    if (child == 0) {
        char *own = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MEMORY, -1, 0);

        _exit(own == MAP_FAILED || munmap(own, PAGE) != 0);
    }
    must(waitpid(child, &status, 0) == child && status == 0, "the child of vfork");
}

/* A handler that maps interrupts what maps: 10 pages of main(), 1 of the last signal.  */
static char *by_handler;

static void handle(int number)
{
    int error = errno;

    (void)number;
    if (by_handler)
        (void)munmap(by_handler, PAGE);
    by_handler = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MEMORY, -1, 0);
    errno = error;
}

KEEP static void signals(void)
{
    pid_t parent = getpid(), child;
    int status;

    (void)signal(SIGUSR1, handle);
    child = fork();
    if (child == 0) {
        for (int i = 0; i < 300; i++) {
            (void)kill(parent, SIGUSR1);
            (void)usleep(100);
        }
        _exit(0);
    }
    while (waitpid(child, &status, WNOHANG) == 0)
        must(munmap(map(3, PROT_READ, NULL, 0), 3 * PAGE) == 0, "munmap");
    (void)whole(10);
}

/* Calls that fail are told as they are.  Nothing is kept.  */
KEEP static void wrong(void)
{
    errno = 0;
    must(mmap(NULL, 0, PROT_READ, MEMORY, -1, 0) == MAP_FAILED && errno == EINVAL, "mmap of 0");
    errno = 0;
    must(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, -1, 0) == MAP_FAILED && errno == EBADF, "EBADF");
    errno = 0;
    must(munmap((char *)1, PAGE) == -1 && errno == EINVAL, "munmap of 1");
    errno = 0;
    must(mprotect((char *)PAGE, PAGE, PROT_READ) == -1 && errno == ENOMEM, "mprotect of nothing");
    errno = 77;
    must(munmap(map(1, PROT_READ, NULL, 0), PAGE) == 0 && errno == 77, "errno");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } works[] = {
        { "keep", keep },   { "partial", partial },   { "fixed", fixed },
        { "moved", moved }, { "reserved", reserved }, { "threads", threads },
        { "forks", forks }, { "signals", signals },   { "wrong", wrong },
    };

    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        if (argc > 1 && strcmp(argv[1], works[i].name) == 0) {
            works[i].run();
            return 0;
        }
    return 8;
}
// NOLINTEND(clang-analyzer-*fork,bugprone-signal-handler)
