# faults.so in the working folder, to be preloaded: with FULL_AT=N the N-th call that takes space fails, and all after it; with KILL_AT=N
# the N-th call that changes a file is the last, in its middle.
# shellcheck shell=sh
cat >faults.c <<'SOURCE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>
static long calls;
static int is_at(const char *variable)
{
    const char *at = getenv(variable);
    return at && __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) >= atol(at);
}
static void die(void)
{
    (void)raise(SIGKILL);
}
#define WRAP(type, name, parameters, arguments, half)                \
    type name parameters                                            \
    {                                                               \
        static type (*real) parameters;                             \
        if (!real)                                                  \
            real = (type (*) parameters)dlsym(RTLD_NEXT, #name);    \
        if (fd > 2 && is_at("FULL_AT")) {                           \
            errno = ENOSPC;                                         \
            return -1;                                              \
        }                                                           \
        if (fd > 2 && is_at("KILL_AT")) {                           \
            half;                                                   \
            die();                                                  \
        }                                                           \
        return real arguments;                                      \
    }
WRAP(ssize_t, write, (int fd, const void *b, size_t n), (fd, b, n), (void)!real(fd, b, n / 2))
WRAP(ssize_t, pwrite, (int fd, const void *b, size_t n, off_t o), (fd, b, n, o), (void)!real(fd, b, n / 2, o))
WRAP(ssize_t, pwrite64, (int fd, const void *b, size_t n, off64_t o), (fd, b, n, o), (void)!real(fd, b, n / 2, o))
WRAP(int, ftruncate, (int fd, off_t n), (fd, n), )
WRAP(int, ftruncate64, (int fd, off64_t n), (fd, n), )
WRAP(int, fallocate, (int fd, int m, off_t o, off_t n), (fd, m, o, n), )
WRAP(int, fsync, (int fd), (fd), )
WRAP(int, fdatasync, (int fd), (fd), )
#define NAMED(name, parameters, arguments)                              \
    int name parameters                                                 \
    {                                                                   \
        static int (*real) parameters;                                  \
        if (!real)                                                      \
            real = (int (*) parameters)dlsym(RTLD_NEXT, #name);         \
        if (is_at("KILL_AT"))                                           \
            die();                                                      \
        return real arguments;                                          \
    }
NAMED(unlink, (const char *a), (a))
NAMED(rename, (const char *a, const char *b), (a, b))
NAMED(renameat2, (int d, const char *a, int e, const char *b, unsigned f), (d, a, e, b, f))
SOURCE
${CC:-cc} -shared -fPIC -o faults.so faults.c -ldl
