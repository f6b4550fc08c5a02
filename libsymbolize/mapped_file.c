/* mapped_file.c - files mapped into memory, and the SIGBUS handler that guards them. */
#include "libsymbolize/mapped_file.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SLOTS = 64,
    FIRST_READ = 64 << 10,
    KEPT_MAX = 64, /* descriptors in a process, of the 1,024 that are usual */
};

/* Of files that cannot be mapped; /proc/kallsyms has 20 MB.  */
static const size_t READ_BYTES_MAX = (size_t)1 << 30;

/* What the handler knows of a mapping.  Slots are reused and never freed, so that it can walk them
 * at any time.  A free one has limit 0.  */
struct slot {
    _Atomic uintptr_t start, limit;
    atomic_bool lost; /* pages were gone when they were read */
    atomic_bool taken;
};

struct slots {
    struct slot items[SLOTS];
    struct slots *_Atomic next;
};

struct sym_map {
    struct sym_bytes bytes;
    void *mapping; /* of mapped_size bytes; NULL: the bytes are in heap */
    size_t mapped_size;
    uint8_t *heap;
    struct slot *slot;
    char *path;
    struct stat facts; /* when it was mapped */
};

static struct slots first_slots; /* static, so that most programs never allocate one */
static atomic_int kept_count;
static struct sigaction previous;
static size_t page_size;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---- Handler: async-signal-safe, any thread ---- */

/* Zeros from the page of address to the end of the mapping: a file is cut at one place, and a fault
 * for each page behind it would take long and split the mapping into thousands.  mmap() is a bare
 * system call.  */
static bool fill_with_zeros(struct slot *slot, uintptr_t address, uintptr_t limit)
{
    uintptr_t start = address & ~(uintptr_t)(page_size - 1);
    void *place = (void *)start; /* NOLINT(performance-no-int-to-ptr): the kernel named it */

    atomic_store(&slot->lost, true);
    return mmap(place, limit - start, PROT_READ,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED;
}

static bool is_ours(uintptr_t address)
{
    for (struct slots *slots = &first_slots; slots; slots = atomic_load(&slots->next)) {
        for (size_t i = 0; i < SLOTS; i++) {
            struct slot *slot = &slots->items[i];
            uintptr_t limit = atomic_load(&slot->limit);
            if (address < limit && address >= atomic_load(&slot->start))
                return fill_with_zeros(slot, address, limit);
        }
    }
    return false;
}

/* A fault comes again when its handler returns, a signal that was sent does not.  */
static void pass_on(int number, siginfo_t *info, void *context)
{
    bool fault = info->si_code > 0;

    if (previous.sa_flags & SA_SIGINFO) {
        previous.sa_sigaction(number, info, context);
    } else if (previous.sa_handler == SIG_DFL || (previous.sa_handler == SIG_IGN && fault)) {
        (void)signal(number, SIG_DFL);
        if (!fault)
            (void)raise(number);
    } else if (previous.sa_handler != SIG_IGN) {
        previous.sa_handler(number);
    }
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    bool ours = info->si_code > 0 && is_ours((uintptr_t)info->si_addr);

    errno = saved;
    if (!ours)
        pass_on(number, info, context);
}

static void install(void)
{
    struct sigaction action;

    page_size = (size_t)sysconf(_SC_PAGESIZE);
    if (sigaction(SIGBUS, NULL, &previous) != 0)
        return;
    action = previous;
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    (void)sigaction(SIGBUS, &action, NULL);
}

/* ---- Slots ---- */

static struct slot *take_slot_of(struct slots *slots)
{
    for (size_t i = 0; i < SLOTS; i++) {
        bool expected = false;
        if (atomic_compare_exchange_strong(&slots->items[i].taken, &expected, true))
            return &slots->items[i];
    }
    return NULL;
}

static struct slot *take_slot(void)
{
    struct slots *slots = &first_slots, *expected = NULL;
    struct slot *slot;

    while (!(slot = take_slot_of(slots)) && atomic_load(&slots->next))
        slots = atomic_load(&slots->next);
    if (slot)
        return slot;
    struct slots *more = calloc(1, sizeof *more);
    if (!more)
        return NULL;
    slot = take_slot_of(more);
    for (;; slots = expected, expected = NULL)
        if (atomic_compare_exchange_strong(&slots->next, &expected, more))
            return slot;
}

static void give_back(struct slot *slot)
{
    atomic_store(&slot->limit, 0);
    atomic_store(&slot->lost, false);
    atomic_store(&slot->taken, false);
}

/* ---- Opening ---- */

static enum sym_status fail_errno(struct sym_error *error, const char *path, int code)
{
    enum sym_status status = code == ENOENT || code == ENOTDIR ? SYM_NOT_FOUND
                             : code == ENOMEM                  ? SYM_NO_MEMORY
                                                               : SYM_IO;

    (void)sym_fail(error, status, "%s: %s", path, strerror(code));
    if (error)
        error->system_errno = code;
    return status;
}

static enum sym_status fail_memory(struct sym_error *error, const char *path)
{
    return sym_fail(error, SYM_NO_MEMORY, "%s: out of memory", path);
}

/* Reads to the end of the file, whatever size it claims.  */
static enum sym_status read_all(struct sym_map *map, int fd, struct sym_error *error)
{
    size_t used = 0, capacity = (size_t)map->facts.st_size + FIRST_READ;

    for (;;) {
        if (capacity > READ_BYTES_MAX)
            return sym_fail(error, SYM_IO, "%s: too large to be read into memory", map->path);
        uint8_t *heap = base_realloc(map->heap, capacity);
        if (!heap)
            return fail_memory(error, map->path);
        map->heap = heap;
        ssize_t got = read(fd, heap + used, capacity - used - 1);
        if (got < 0)
            return fail_errno(error, map->path, errno);
        used += (size_t)got;
        if (got == 0)
            break;
        if (capacity - used - 1 < FIRST_READ / 2)
            capacity *= 2;
    }
    map->heap[used] = 0;
    map->bytes = (struct sym_bytes){ .data = map->heap, .size = used };
    return SYM_OK;
}

/* A page of zeros stays mapped behind the file.  SYM_NOT_FOUND: this file cannot be mapped.  */
static enum sym_status map_file(struct sym_map *map, int fd)
{
    size_t size = (size_t)map->facts.st_size, limit = (size + page_size - 1) & ~(page_size - 1);

    map->slot = take_slot();
    if (!map->slot)
        return SYM_NO_MEMORY;
    void *mapping = mmap(NULL, limit + page_size, PROT_READ,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED)
        return SYM_NO_MEMORY;
    map->mapping = mapping;
    map->mapped_size = limit + page_size;
    if (mmap(mapping, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
        return SYM_NOT_FOUND;
    atomic_store(&map->slot->start, (uintptr_t)mapping);
    atomic_store(&map->slot->limit, (uintptr_t)mapping + limit);
    map->bytes = (struct sym_bytes){ .data = mapping, .size = size };
    return SYM_OK;
}

static enum sym_status open_bytes(struct sym_map *map, int fd, struct sym_error *error)
{
    if (fstat(fd, &map->facts) != 0)
        return fail_errno(error, map->path, errno);
    if (!S_ISREG(map->facts.st_mode))
        return sym_fail(error, SYM_IO, "%s: not a regular file", map->path);
    if ((uint64_t)map->facts.st_size > SIZE_MAX / 2)
        return sym_fail(error, SYM_IO, "%s: too large to be mapped", map->path);
    enum sym_status status = map->facts.st_size ? map_file(map, fd) : SYM_NOT_FOUND;
    if (status == SYM_NO_MEMORY)
        return fail_memory(error, map->path);
    return status ? read_all(map, fd, error) : SYM_OK;
}

/* A capture may name the path.  Opening a device has effects with some, so the type is looked at
 * first; O_NONBLOCK, since a FIFO that has taken the file's place must not hold us until somebody
 * writes to it.  */
static enum sym_status open_regular(const struct sym_map *map, int *fd, struct sym_error *error)
{
    struct stat info;

    if (stat(map->path, &info) == 0 && !S_ISREG(info.st_mode))
        return sym_fail(error, SYM_IO, "%s: not a regular file", map->path);
    *fd = open(map->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return *fd < 0 ? fail_errno(error, map->path, errno) : SYM_OK;
}

/* Keeps fd, which is open, or closes it.  */
static int keep(int fd)
{
    if (atomic_fetch_add(&kept_count, 1) < KEPT_MAX)
        return fd;
    atomic_fetch_sub(&kept_count, 1);
    (void)close(fd);
    return -1;
}

void sym_map_forget(int *kept)
{
    if (*kept < 0)
        return;
    (void)close(*kept);
    *kept = -1;
    atomic_fetch_sub(&kept_count, 1);
}

static enum sym_status map_path(struct sym_map *map, int *kept, struct sym_error *error)
{
    int fd = kept ? *kept : -1;
    bool was_kept = fd >= 0;
    enum sym_status status = was_kept ? SYM_OK : open_regular(map, &fd, error);

    if (!status)
        status = open_bytes(map, fd, error);
    if (fd < 0 || was_kept)
        return status;
    if (!status && kept && map->mapping)
        *kept = keep(fd);
    else
        (void)close(fd); /* the mapping stays */
    return status;
}

enum sym_status sym_map_open(const char *path, int *kept, struct sym_map **out,
                             struct sym_error *error)
{
    struct sym_map *map = base_calloc(1, sizeof *map);

    if (!map)
        return fail_memory(error, path);
    (void)pthread_once(&once, install);
    map->path = sym_format("%s", path);
    enum sym_status status = map->path ? map_path(map, kept, error) : fail_memory(error, path);
    if (status)
        sym_map_close(map);
    else
        *out = map;
    return status;
}

void sym_map_close(struct sym_map *map)
{
    if (!map)
        return;
    if (map->slot)
        give_back(map->slot);
    if (map->mapping)
        (void)munmap(map->mapping, map->mapped_size);
    base_free(map->heap);
    base_free(map->path);
    base_free(map);
}

struct sym_bytes sym_map_bytes(const struct sym_map *map)
{
    return map->bytes;
}

bool sym_map_changed(const struct sym_map *map, bool ask)
{
    struct stat now;
    const struct stat *then = &map->facts;

    if (!map->slot || map->heap) /* read as a whole */
        return false;
    if (atomic_load(&map->slot->lost))
        return true;
    return ask && stat(map->path, &now) == 0 && now.st_dev == then->st_dev &&
           now.st_ino == then->st_ino &&
           (now.st_size != then->st_size || now.st_mtim.tv_sec != then->st_mtim.tv_sec ||
            now.st_mtim.tv_nsec != then->st_mtim.tv_nsec);
}
