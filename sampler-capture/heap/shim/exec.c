/* exec.c - programs that a captured process starts, and in which the library must not be.
 *
 * The loader ends a program of another C library that lacks what the library needs, and a sanitizer
 * one that has a library before its own.  So each program is looked at before it is executed, and
 * gets the environment that it would have without the capture where the library cannot be in it,
 * and also once the capture is over.  The rest of what is not captured is counted.
 *
 * All of this may run in a child of vfork(2), on any stack, and in a handler of signals.  */
#include "sampler-capture/heap/program.h"
#include "sampler-capture/heap/shim/shim.h"
#include "sampler-capture/heap/shim/spawn.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HOOK __attribute__((visibility("default")))

static struct {
    int (*execve)(const char *, char *const[], char *const[]);
    int (*execvpe)(const char *, char *const[], char *const[]);
    int (*fexecve)(int, char *const[], char *const[]);
    int (*execveat)(int, const char *, char *const[], char *const[], int);
    int (*spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                 const posix_spawnattr_t *, char *const[], char *const[]);
    int (*spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                  const posix_spawnattr_t *, char *const[], char *const[]);
} real;

static const char *own_path; /* of this library, as in LD_PRELOAD; NULL: not known */
static struct program_loader own_loader;

/* Constructors of libraries that the program needs run before this one, so whatever starts a
 * program calls it, too.  */
static __attribute__((constructor(101))) void find_real(void)
{
    static bool is_found;
    Dl_info info;

    if (is_found)
        return;
    is_found = true;
    shim_thread.inside = true;
    real.execve = (int (*)(const char *, char *const[], char *const[]))dlsym(RTLD_NEXT, "execve");
    real.execvpe = (int (*)(const char *, char *const[], char *const[]))dlsym(RTLD_NEXT, "execvpe");
    real.fexecve = (int (*)(int, char *const[], char *const[]))dlsym(RTLD_NEXT, "fexecve");
    real.execveat = (int (*)(int, const char *, char *const[], char *const[], int))dlsym(
        RTLD_NEXT, "execveat");
    real.spawn = (int (*)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                          const posix_spawnattr_t *, char *const[],
                          char *const[]))dlsym(RTLD_NEXT, "posix_spawn");
    real.spawnp = (int (*)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                           const posix_spawnattr_t *, char *const[],
                           char *const[]))dlsym(RTLD_NEXT, "posix_spawnp");
    (void)dlerror(); /* what was not found is no business of the program's */
    if (dladdr(&real, &info) && info.dli_fname)
        own_path = info.dli_fname;
    program_own_loader(&own_loader);
    spawn_learn();
    shim_thread.inside = false;
}

/* ---- A program to be started ---- */

struct launch {
    enum {
        BY_PATH,
        BY_SEARCH,
        BY_DESCRIPTOR,
        BY_FOLDER,
        SPAWN,
        SPAWN_BY_SEARCH,
    } how;
    int fd;    /* BY_DESCRIPTOR, BY_FOLDER */
    int flags; /* BY_FOLDER */
    const char *name;
    char *const *argv;
    /* SPAWN, SPAWN_BY_SEARCH */
    pid_t *pid;
    const posix_spawn_file_actions_t *actions;
    const posix_spawnattr_t *attributes;
};

static int fail(int cause)
{
    errno = cause;
    return -1;
}

static int call_real(const struct launch *launch, char *const *envp)
{
    switch (launch->how) {
    case BY_PATH:
        return real.execve ? real.execve(launch->name, launch->argv, envp)
                           : (int)syscall(SYS_execve, launch->name, launch->argv, envp);
    case BY_SEARCH:
        return real.execvpe ? real.execvpe(launch->name, launch->argv, envp) : fail(ENOSYS);
    case BY_DESCRIPTOR:
        return real.fexecve ? real.fexecve(launch->fd, launch->argv, envp) : fail(ENOSYS);
    case BY_FOLDER:
        return real.execveat
                   ? real.execveat(launch->fd, launch->name, launch->argv, envp, launch->flags)
                   : (int)syscall(SYS_execveat, launch->fd, launch->name, launch->argv, envp,
                                  launch->flags);
    case SPAWN:
        return real.spawn ? real.spawn(launch->pid, launch->name, launch->actions,
                                       launch->attributes, launch->argv, envp)
                          : ENOSYS;
    case SPAWN_BY_SEARCH:
        return real.spawnp ? real.spawnp(launch->pid, launch->name, launch->actions,
                                         launch->attributes, launch->argv, envp)
                           : ENOSYS;
    }
    return fail(ENOSYS);
}

/* ---- Its environment ---- */

#define PRELOAD "LD_PRELOAD="

static const char *find_preload(char *const *envp)
{
    for (; envp && *envp; envp++)
        if (strncmp(*envp, PRELOAD, sizeof PRELOAD - 1) == 0)
            return *envp + sizeof PRELOAD - 1;
    return NULL;
}

static bool is_own_item(const char *item, size_t length)
{
    return strlen(own_path) == length && memcmp(item, own_path, length) == 0;
}

struct preload {
    bool has_own;       /* this library */
    bool has_sanitizer; /* one that wants to be the first */
    size_t others;      /* bytes of the other items */
};

static struct preload read_preload(const char *list)
{
    struct preload preload = { .has_own = false };

    while (list && *list) {
        size_t length = strcspn(list, ": ");

        if (is_own_item(list, length))
            preload.has_own = true;
        else if (length > 0)
            preload.others += length + 1;
        preload.has_sanitizer |= program_wants_to_be_first(list, length);
        list += length + (list[length] != '\0');
    }
    return preload;
}

static bool is_ours(const char *variable)
{
    static const char *const names[] = { HEAP_ENV_FOLDER "=", HEAP_ENV_INTERVAL "=",
                                         HEAP_ENV_UNWIND "=", HEAP_ENV_FILTERS "=",
                                         HEAP_ENV_KEY "=",    HEAP_ENV_GATE "=",
                                         HEAP_ENV_LOSSES "=", HEAP_ENV_MMAP "=" };

    if (strncmp(variable, HEAP_ENV_PREFIX, sizeof HEAP_ENV_PREFIX - 1) != 0)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(variable, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* The variable without this library, in text, which has room.  */
static char *without_own(char *text, const char *list)
{
    char *end = text + sizeof PRELOAD - 1;

    memcpy(text, PRELOAD, sizeof PRELOAD);
    while (*list) {
        size_t length = strcspn(list, ": ");

        if (length > 0 && !is_own_item(list, length)) {
            if (end[-1] != '=')
                *end++ = ':';
            memcpy(end, list, length);
            end += length;
        }
        list += length + (list[length] != '\0');
    }
    *end = '\0';
    return text;
}

/* Copy what is not the capture's to kept, which has room for all; text has room for one preload
 * variable.  Of several, the loader takes the last and this library read the first: all are left
 * out but that one.  */
static void keep_others(char **kept, char *const *envp, char *text, const struct preload *preload)
{
    bool has_preload = false;

    for (; *envp; envp++) {
        if (strncmp(*envp, PRELOAD, sizeof PRELOAD - 1) == 0) {
            if (preload->others > 0 && !has_preload)
                *kept++ = without_own(text, *envp + sizeof PRELOAD - 1);
            has_preload = true;
        } else if (!is_ours(*envp)) {
            *kept++ = *envp;
        }
    }
    *kept = NULL;
}

/* As large an environment is copied on the stack.  */
#define SMALL_BYTES 8192

static size_t bytes_for(char *const *envp, const struct preload *preload)
{
    size_t count = 1;

    while (*envp++)
        count++;
    return count * sizeof *envp + sizeof PRELOAD + preload->others;
}

static int launch_clean(const struct launch *launch, char *const *envp,
                        const struct preload *preload)
{
    size_t bytes = bytes_for(envp, preload);
    bool is_small = bytes <= SMALL_BYTES;
    char **kept = is_small ? __builtin_alloca(bytes)
                           : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                                  -1, 0);
    int status, cause;

    if (kept == MAP_FAILED)
        return call_real(launch, envp);
    keep_others(kept, envp, (char *)kept + bytes - sizeof PRELOAD - preload->others, preload);
    status = call_real(launch, kept);
    cause = errno;
    if (!is_small)
        (void)munmap(kept, bytes);
    errno = cause;
    return status;
}

/* ---- Which kind ---- */

/* The loader must find and open this library.  */
static bool is_readable(void)
{
    long fd = syscall(SYS_openat, AT_FDCWD, own_path, O_RDONLY | O_CLOEXEC);

    if (fd >= 0)
        (void)syscall(SYS_close, fd);
    return fd >= 0 || errno == EMFILE || errno == ENFILE;
}

static void read_by_search(struct program *program, const struct launch *launch,
                           const struct program_start *how)
{
    char path[1024];

    if (program_find(how->folder_fd, launch->name, path, sizeof path))
        program_read_at(program, how->folder_fd, path, how);
}

/* Relative names are those of the folder in which the child will be.  */
static enum program_kind kind_of_spawned(const struct launch *launch)
{
    struct program program = { .kind = PROGRAM_FINE };
    struct program_start how = { .own = &own_loader };
    short flags = 0;

    if (launch->attributes)
        (void)posix_spawnattr_getflags(launch->attributes, &flags);
    how.resets_ids = (flags & POSIX_SPAWN_RESETIDS) != 0;
    if (!spawn_find_folder(launch->actions, &how.folder_fd)) {
        if (launch->name[0] != '/')
            return PROGRAM_HIDDEN;
        how.folder_fd = AT_FDCWD;
    }
    if (launch->how == SPAWN_BY_SEARCH)
        read_by_search(&program, launch, &how);
    else
        program_read_at(&program, how.folder_fd, launch->name, &how);
    if (how.folder_fd != AT_FDCWD)
        (void)syscall(SYS_close, how.folder_fd);
    return program.kind;
}

static enum program_kind kind_of_file(const struct launch *launch)
{
    struct program program = { .kind = PROGRAM_FINE };
    const struct program_start how = { .folder_fd = AT_FDCWD, .own = &own_loader };

    switch (launch->how) {
    case BY_PATH:
        program_read_at(&program, AT_FDCWD, launch->name, &how);
        break;
    case SPAWN:
    case SPAWN_BY_SEARCH:
        return kind_of_spawned(launch);
    case BY_SEARCH:
        read_by_search(&program, launch, &how);
        break;
    case BY_FOLDER:
        if (launch->name[0]) {
            program_read_at(&program, launch->fd, launch->name, &how);
            break;
        }
        __attribute__((fallthrough));
    case BY_DESCRIPTOR:
        program_read(&program, launch->fd, &how);
        break;
    }
    return program.kind;
}

static enum program_kind kind_of(const struct launch *launch, const struct preload *preload)
{
    enum program_kind kind = kind_of_file(launch);

    if (kind != PROGRAM_FINE)
        return kind;
    if (!preload->has_own)
        return PROGRAM_BARE;
    if (preload->has_sanitizer)
        return PROGRAM_SANITIZED;
    return is_readable() ? PROGRAM_FINE : PROGRAM_APART;
}

/* Whether the library would do harm.  A static program ignores it but hands it on to others, and so
 * does one that gets rights.  */
static bool must_be_clean(enum program_kind kind)
{
    return kind == PROGRAM_LOADER || kind == PROGRAM_MACHINE || kind == PROGRAM_SANITIZED ||
           kind == PROGRAM_APART || kind == PROGRAM_HIDDEN;
}

static void count(enum program_kind kind, unsigned change)
{
    if (shim_settings.losses && kind != PROGRAM_FINE)
        (void)atomic_fetch_add(&shim_settings.losses->started[kind], change);
}

/* What is inherited is not for programs that are not captured.  What another thread starts just
 * then goes without it, and takes the folder.  */
static void set_inherited_flag(int flag)
{
    const int inherited[] = { shim_gate(), shim_inherited_losses() };

    for (size_t i = 0; i < sizeof inherited / sizeof *inherited; i++)
        if (inherited[i] >= 0)
            (void)fcntl(inherited[i], F_SETFD, flag);
}

static int start(const struct launch *launch, char *const *envp)
{
    struct preload preload;
    enum program_kind kind;
    int error = errno, status;

    find_real();
    if (!own_path || shim_settings.foreign || !envp ||
        (launch->how != BY_DESCRIPTOR && !launch->name))
        return call_real(launch, envp);
    preload = read_preload(find_preload(envp));
    /* One that has confined itself is not to do system calls of ours.  */
    if (!atomic_load(&shim_confined) && shim_is_over())
        set_inherited_flag(FD_CLOEXEC);
    errno = error;
    if (atomic_load(&shim_confined) || shim_is_over())
        return preload.has_own ? launch_clean(launch, envp, &preload) : call_real(launch, envp);
    kind = kind_of(launch, &preload);
    errno = error;
    count(kind, 1); /* before, as there is no after if all goes well */
    if (kind != PROGRAM_FINE)
        set_inherited_flag(FD_CLOEXEC);
    status = preload.has_own && must_be_clean(kind) ? launch_clean(launch, envp, &preload)
                                                    : call_real(launch, envp);
    error = errno;
    if (kind != PROGRAM_FINE)
        set_inherited_flag(0);
    if (status != 0)
        count(kind, (unsigned)-1);
    errno = error;
    return status;
}

/* ---- The hooks ---- */

HOOK int execve(const char *path, char *const argv[], char *const envp[])
{
    const struct launch launch = { .how = BY_PATH, .name = path, .argv = argv };

    return start(&launch, envp);
}

HOOK int execv(const char *path, char *const argv[])
{
    const struct launch launch = { .how = BY_PATH, .name = path, .argv = argv };

    return start(&launch, environ);
}

HOOK int execvpe(const char *file, char *const argv[], char *const envp[])
{
    const struct launch launch = { .how = BY_SEARCH, .name = file, .argv = argv };

    return start(&launch, envp);
}

HOOK int execvp(const char *file, char *const argv[])
{
    const struct launch launch = { .how = BY_SEARCH, .name = file, .argv = argv };

    return start(&launch, environ);
}

HOOK int fexecve(int fd, char *const argv[], char *const envp[])
{
    const struct launch launch = { .how = BY_DESCRIPTOR, .fd = fd, .argv = argv };

    return start(&launch, envp);
}

HOOK int execveat(int folder_fd, const char *path, char *const argv[], char *const envp[],
                  int flags)
{
    const struct launch launch = {
        .how = BY_FOLDER, .fd = folder_fd, .flags = flags, .name = path, .argv = argv
    };

    return start(&launch, envp);
}

HOOK int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                     const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
    const struct launch launch = { .how = SPAWN,
                                   .name = path,
                                   .argv = argv,
                                   .pid = pid,
                                   .actions = actions,
                                   .attributes = attributes };

    return start(&launch, envp);
}

HOOK int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                      const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
    const struct launch launch = { .how = SPAWN_BY_SEARCH,
                                   .name = file,
                                   .argv = argv,
                                   .pid = pid,
                                   .actions = actions,
                                   .attributes = attributes };

    return start(&launch, envp);
}

/* ---- With arguments as a list ---- */

static size_t count_arguments(const char *first, va_list *list)
{
    size_t all = 0;

    while (first) {
        all++;
        first = va_arg(*list, const char *);
    }
    return all;
}

/* The array is the caller's, on its stack as glibc has it.  */
static void take_arguments(char **argv, const char *first, va_list *list)
{
    while (first) {
        *argv++ = (char *)first; /* the exec family does not write there */
        first = va_arg(*list, const char *);
    }
    *argv = NULL;
}

/* The arguments after first, as an array on the stack of the function that has them.  */
#define LISTED_ARGUMENTS(argv, first)                                                 \
    do {                                                                              \
        char **all_;                                                                  \
        va_list list_;                                                                \
                                                                                      \
        va_start(list_, first);                                                       \
        all_ = __builtin_alloca((count_arguments(first, &list_) + 1) * sizeof *all_); \
        va_end(list_);                                                                \
        va_start(list_, first);                                                       \
        take_arguments(all_, first, &list_);                                          \
        va_end(list_);                                                                \
        (argv) = all_;                                                                \
    } while (0)

HOOK int execl(const char *path, const char *first, ...)
{
    struct launch launch = { .how = BY_PATH, .name = path };

    LISTED_ARGUMENTS(launch.argv, first);
    return start(&launch, environ);
}

HOOK int execlp(const char *file, const char *first, ...)
{
    struct launch launch = { .how = BY_SEARCH, .name = file };

    LISTED_ARGUMENTS(launch.argv, first);
    return start(&launch, environ);
}

HOOK int execle(const char *path, const char *first, ...)
{
    struct launch launch = { .how = BY_PATH, .name = path };
    char *const *envp;
    va_list list;
    char **argv;

    va_start(list, first);
    argv = __builtin_alloca((count_arguments(first, &list) + 1) * sizeof *argv);
    envp = va_arg(list, char *const *);
    va_end(list);
    va_start(list, first);
    take_arguments(argv, first, &list);
    va_end(list);
    launch.argv = argv;
    return start(&launch, envp);
}
