/* start.c - reads the settings and begins.  What was allocated before is not seen, nor is its
 * free.  */
#include "sampler-capture/heap/shim/shim.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A decimal number, or otherwise where there is none.  */
static uint64_t number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    uint64_t value = 0;

    if (!text || !*text)
        return otherwise;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || value > UINT64_MAX / 10 - 1)
            return otherwise;
        value = value * 10 + (uint64_t)(*text - '0');
    }
    return value;
}

/* folder/name, or false where it does not fit.  */
static bool join(char *path, size_t size, const char *folder, const char *name)
{
    size_t length = strlen(folder), more = strlen(name) + 1;

    if (length > size || more + 1 > size - length)
        return false;
    for (size_t i = 0; i < length; i++)
        path[i] = folder[i];
    path[length] = '/';
    for (size_t i = 0; i < more; i++)
        path[length + 1 + i] = name[i];
    return true;
}

static struct heap_loss_file *map_losses(const char *folder)
{
    char path[4096];
    void *memory;
    int fd;

    if (!join(path, sizeof path, folder, HEAP_LOSSES_NAME))
        return NULL;
    fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return NULL;
    memory = lseek(fd, 0, SEEK_END) < (off_t)sizeof(struct heap_loss_file)
                 ? MAP_FAILED
                 : mmap(NULL, sizeof(struct heap_loss_file), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                        0);
    (void)close(fd);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Which malloc the loader has found for calls shows when one is counted.  Its address does not
 * tell: where a program that is not position-independent takes that, it is one in the program.  */
static bool sees_malloc(void)
{
    uint64_t left = shim_thread.left;
    void *block;
    bool is_counted;

    shim_thread.left = 1024;
    block = malloc(64);
    __asm__ volatile("" : : "r"(block) : "memory"); /* the compiler may not leave it out */
    is_counted = shim_thread.left == 1024 - 64;
    shim_thread.left = left;
    free(block);
    return is_counted;
}

/* Others have no such function.  */
extern const char *gnu_get_libc_version(void) __attribute__((weak));

__attribute__((constructor)) static void start(void)
{
    const char *folder = getenv(HEAP_ENV_FOLDER);
    const char *unwind = getenv(HEAP_ENV_UNWIND);
    struct shim_settings *settings = &shim_settings;

    settings->foreign = !gnu_get_libc_version;
    if (!folder ||
        !join(settings->socket_path, sizeof settings->socket_path, folder, HEAP_SOCKET_NAME) ||
        !join(settings->names_path, sizeof settings->names_path, folder, HEAP_NAMES_NAME)) {
        settings->idle = true;
        return;
    }
    settings->own_filters = number(HEAP_ENV_FILTERS, 0);
    if (shim_is_confined()) {
        settings->idle = true;
        return;
    }
    settings->losses = map_losses(folder);
    if (settings->foreign) {
        settings->idle = true;
        if (settings->losses)
            (void)atomic_fetch_add(&settings->losses->foreign, 1);
        return;
    }
    if (settings->losses && !sees_malloc())
        (void)atomic_fetch_add(&settings->losses->unseen, 1);
    settings->interval = number(HEAP_ENV_INTERVAL, HEAP_DEFAULT_INTERVAL);
    if (settings->interval < HEAP_MIN_INTERVAL || settings->interval > HEAP_MAX_INTERVAL)
        settings->interval = HEAP_DEFAULT_INTERVAL;
    settings->frame_pointers = unwind && strcmp(unwind, "fp") == 0;
    settings->seeded = getenv(HEAP_ENV_SEED) != NULL;
    settings->seed = number(HEAP_ENV_SEED, 0);
    shim_begin();
}
