#include "cmd/cli/cli_bounds.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cli/cli_internal.h"

enum { KEY_NO_LIMIT = CLI_BOUNDS_KEYS };

#define SIZE_OF_STREAMS ((uint64_t)1 << 30)
#define MEMORY_LEAST    ((uint64_t)512 << 20)
#define MEMORY_PER_BYTE 128u
#define OUTPUT_LEAST    ((uint64_t)256 << 20)
#define OUTPUT_PER_BYTE 1024u

/* The address space of a sanitizer counts as data.  */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif
#ifndef HAS_SANITIZER
#define HAS_SANITIZER 0
#endif

const struct cli_option cli_bounds_options[] = {
    { KEY_NO_LIMIT, 0, "no-limit", NULL,
      "lift the limits on memory (512 MiB plus 128 times the input) and output (256 MiB plus 1024 "
      "times the input)" },
    { 0 },
};

/* Of the process, as the limits are.  */
static struct {
    bool lifted; /* --no-limit */
    bool holds_memory, holds_files;
    uint64_t input_bytes;
    uint64_t request_bytes;              /* of inputs that only the output follows */
    uint64_t memory_bytes, output_bytes; /* the bounds */
    bool knows_limits;
    struct rlimit data, file; /* as they were */
} bounds;

bool cli_bounds_take(int key)
{
    bounds.lifted |= key == KEY_NO_LIMIT;
    return key == KEY_NO_LIMIT;
}

bool cli_bounds_are_lifted(void)
{
    return bounds.lifted;
}

/* ---- Sizes of inputs ---- */

static uint64_t add_sizes(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t size_of_file(const struct stat *info)
{
    return S_ISREG(info->st_mode) ? (uint64_t)info->st_size : SIZE_OF_STREAMS;
}

/* The files in a folder, which may make one trace.  */
static uint64_t size_of_folder(const char *path)
{
    uint64_t bytes = 0;
    struct dirent *entry;
    struct stat info;
    DIR *folder = opendir(path);

    while (folder && (entry = readdir(folder)))
        if (fstatat(dirfd(folder), entry->d_name, &info, 0) == 0 && S_ISREG(info.st_mode))
            bytes = add_sizes(bytes, (uint64_t)info.st_size);
    if (folder)
        (void)closedir(folder);
    return bytes;
}

/* 0 for what is not there: opening it will say why.  */
static uint64_t size_of_input(const char *path)
{
    struct stat info;
    bool is_there = strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &info) == 0
                                           : stat(path, &info) == 0;
    const char *hash = is_there ? NULL : strrchr(path, '#');

    if (hash) { /* STORE#ID */
        char *store = strndup(path, (size_t)(hash - path));

        is_there = store && stat(store, &info) == 0;
        free(store);
    }
    if (!is_there)
        return 0;
    return S_ISDIR(info.st_mode) ? size_of_folder(path) : size_of_file(&info);
}

/* ---- Limits ---- */

static uint64_t bound_of(uint64_t bytes, uint64_t least, uint64_t per_byte)
{
    uint64_t more;

    return __builtin_mul_overflow(bytes, per_byte, &more) ? UINT64_MAX : add_sizes(least, more);
}

static void learn_limits(void)
{
    if (bounds.knows_limits)
        return;
    bounds.knows_limits = true;
    if (getrlimit(RLIMIT_DATA, &bounds.data) != 0)
        bounds.data = (struct rlimit){ .rlim_cur = 0 };
    if (getrlimit(RLIMIT_FSIZE, &bounds.file) != 0)
        bounds.file = (struct rlimit){ .rlim_cur = 0 };
}

/* Set the soft limit of a resource.  False: it was lower anyhow, or cannot be set.  */
static bool hold(int resource, uint64_t bytes, const struct rlimit *before)
{
    struct rlimit limit = { .rlim_cur = bytes, .rlim_max = before->rlim_max };

    return bytes < before->rlim_cur && setrlimit((__rlimit_resource_t)resource, &limit) == 0;
}

static uint64_t size_of_inputs(const struct cli_texts *inputs)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < inputs->count; i++)
        bytes = add_sizes(bytes, size_of_input(inputs->items[i]));
    return bytes;
}

void cli_bounds_count_output(const struct cli_texts *inputs)
{
    bounds.request_bytes = add_sizes(bounds.request_bytes, size_of_inputs(inputs));
}

void cli_bounds_begin(const struct cli_texts *inputs)
{
    struct stat info;
    uint64_t behind = 0;

    if (bounds.lifted)
        return;
    learn_limits();
    cli_bounds_lift_memory();
    bounds.input_bytes = add_sizes(bounds.input_bytes, size_of_inputs(inputs));
    bounds.memory_bytes = bound_of(bounds.input_bytes, MEMORY_LEAST, MEMORY_PER_BYTE);
    bounds.output_bytes = bound_of(add_sizes(bounds.input_bytes, bounds.request_bytes),
                                   OUTPUT_LEAST, OUTPUT_PER_BYTE);
    bounds.holds_memory = !HAS_SANITIZER && hold(RLIMIT_DATA, bounds.memory_bytes, &bounds.data);
    /* What is appended to a file counts from its start.  */
    if (fstat(STDOUT_FILENO, &info) == 0 && S_ISREG(info.st_mode))
        behind = (uint64_t)info.st_size;
    (void)signal(SIGXFSZ, SIG_IGN); /* EFBIG in its place */
    bounds.holds_files = hold(RLIMIT_FSIZE, add_sizes(bounds.output_bytes, behind), &bounds.file);
}

void cli_bounds_lift_memory(void)
{
    if (bounds.holds_memory)
        (void)setrlimit(RLIMIT_DATA, &bounds.data);
    bounds.holds_memory = false;
}

bool cli_bounds_exceeded(uint64_t written)
{
    return bounds.holds_files && written > bounds.output_bytes;
}

bool cli_bounds_are_of_readers(const char *message)
{
    return strstr(message, "bytes of memory") || strstr(message, "too long to be read");
}

void cli_bounds_explain(const char *message)
{
    const char *what = NULL;
    uint64_t bytes = 0;

    if (bounds.holds_memory && strstr(message, "out of memory")) {
        what = "memory";
        bytes = bounds.memory_bytes;
    } else if (bounds.holds_files && strstr(message, strerror(EFBIG))) {
        what = "output or temporary files";
        bytes = bounds.output_bytes;
    }
    if (bounds.holds_memory && cli_bounds_are_of_readers(message))
        cli_note("if the input is neither damaged nor hostile, --no-limit lifts this limit");
    if (what)
        cli_note("%s MiB of %s is the limit for such an input; use --no-limit if the input is "
                 "neither damaged nor hostile",
                 cli_grouped(bytes >> 20), what);
}
