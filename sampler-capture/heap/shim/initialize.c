/* initialize.c - reads the settings and begins.  What was allocated before is not seen, nor is its
 * free.  */
#include "sampler-capture/heap/shim/shim.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

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

static void copy(char *to, const char *from, size_t length)
{
    memcpy(to, from, length);
    to[length] = '\0';
}

static bool read_folder(struct shim_settings *settings)
{
    const char *folder = getenv(HEAP_ENV_FOLDER);
    size_t length = folder ? strlen(folder) : 0;

    if (length == 0 || length > HEAP_MAX_FOLDER || folder[0] != '/')
        return false;
    copy(settings->folder, folder, length);
    return true;
}

static bool read_key(struct shim_settings *settings)
{
    const char *key = getenv(HEAP_ENV_KEY);
    char half[17];

    if (!key || strlen(key) != 32)
        return false;
    for (size_t i = 0; i < 2; i++) {
        copy(half, key + 16 * i, 16);
        settings->key[i] = strtoull(half, NULL, 16);
    }
    return true;
}

/* One that does not hold, or is of another capture, is none.  */
static void read_inherited(struct shim_inherited *inherited, const char *name)
{
    const char *text = getenv(name);
    char *end;
    unsigned long fd = text ? strtoul(text, &end, 10) : 0;

    if (fd == 0 || fd > INT_MAX || *end != ':')
        return;
    inherited->fd = (int)fd;
    inherited->inode = strtoull(end + 1, NULL, 10);
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
    const char *unwind = getenv(HEAP_ENV_UNWIND);
    struct shim_settings *settings = &shim_settings;

    settings->foreign = !gnu_get_libc_version;
    settings->idle = true;
    if (!read_folder(settings) || !read_key(settings))
        return;
    read_inherited(&settings->gate, HEAP_ENV_GATE);
    read_inherited(&settings->inherited_losses, HEAP_ENV_LOSSES);
    settings->own_filters = number(HEAP_ENV_FILTERS, 0);
    if (shim_is_confined()) {
        atomic_store(&shim_confined, true); /* nor do system calls of ours in what it starts */
        return;
    }
    settings->losses = shim_map_losses();
    if (!settings->losses)
        return;
    if (settings->foreign) {
        (void)atomic_fetch_add(&settings->losses->foreign, 1);
        return;
    }
    settings->idle = false;
    if (!sees_malloc())
        (void)atomic_fetch_add(&settings->losses->unseen, 1);
    settings->interval = number(HEAP_ENV_INTERVAL, HEAP_DEFAULT_INTERVAL);
    if (settings->interval < HEAP_MIN_INTERVAL || settings->interval > HEAP_MAX_INTERVAL)
        settings->interval = HEAP_DEFAULT_INTERVAL;
    settings->frame_pointers = unwind && strcmp(unwind, "fp") == 0;
    settings->mappings = number(HEAP_ENV_MMAP, 0) == 1;
    settings->seeded = getenv(HEAP_ENV_SEED) != NULL;
    settings->seed = number(HEAP_ENV_SEED, 0);
    shim_begin();
}
