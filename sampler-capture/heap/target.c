#include "sampler-capture/heap/target.h"

#include "sampler-capture/heap/program.h"
#include "sampler-capture/heap/protocol.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void say(char message[TARGET_MESSAGE_SIZE], const char *path, const char *text)
{
    (void)snprintf(message, TARGET_MESSAGE_SIZE, "%s %s", path, text);
}

/* ---- The command ---- */

static void say_kind(char message[TARGET_MESSAGE_SIZE], const char *path,
                     const struct program *program)
{
    switch (program->kind) {
    case PROGRAM_STATIC:
        say(message, path,
            "is statically linked, so there is no loader that could put the sampler into it: link "
            "it dynamically");
        break;
    case PROGRAM_LOADER:
        (void)snprintf(message, TARGET_MESSAGE_SIZE,
                       "%s is linked against another C library than this tool (its loader is %s), "
                       "so the sampler cannot be put into it",
                       path, program->detail);
        break;
    case PROGRAM_MACHINE:
        say(message, path,
            "is of another architecture than this tool, so its allocations cannot be seen");
        break;
    case PROGRAM_PRIVILEGED:
        say(message, path,
            "gets rights of another user (set-user-ID, set-group-ID or capabilities), and such "
            "programs are not preloaded into: run the capture as that user");
        break;
    case PROGRAM_SANITIZED:
        (void)snprintf(
            message, TARGET_MESSAGE_SIZE,
            "%s does not start with another library before its sanitizer's, %s: build it "
            "without the sanitizer",
            path, program->detail);
        break;
    default:
        break;
    }
}

/* A sanitizer's library that the user preloads.  */
static bool check_preloaded(char message[TARGET_MESSAGE_SIZE])
{
    const char *item = getenv("LD_PRELOAD");

    while (item && *item) {
        size_t length = strcspn(item, ": ");

        if (program_wants_to_be_first(item, length)) {
            (void)snprintf(message, TARGET_MESSAGE_SIZE,
                           "%.*s in LD_PRELOAD wants to be the first library, and so does the "
                           "sampler: capture without it",
                           (int)length, item);
            return false;
        }
        item += length + (item[length] != '\0');
    }
    return true;
}

bool target_check(const char *name, char message[TARGET_MESSAGE_SIZE])
{
    struct program_loader own;
    const struct program_start start = { .folder_fd = AT_FDCWD, .own = &own };
    struct program program;
    char path[PATH_MAX];

    if (!check_preloaded(message))
        return false;
    if (!program_find(AT_FDCWD, name, path, sizeof path))
        return true;
    program_own_loader(&own);
    program_read_at(&program, AT_FDCWD, path, &start);
    if (program.kind == PROGRAM_FINE)
        return true;
    say_kind(message, program.interpreter[0] ? program.interpreter : path, &program);
    return false;
}

/* ---- The library ---- */

#define SHIM_NAME "libfxtheap.so"

/* The loader splits the variable at these.  */
static bool can_be_preloaded(const char *path)
{
    return path[strcspn(path, ": \t")] == '\0';
}

bool target_find_shim(char path[PATH_MAX], char message[TARGET_MESSAGE_SIZE])
{
    static const char *const places[] = { "../lib/fxt/", "../lib64/fxt/", "" };
    const char *named = getenv(HEAP_ENV_SHIM);
    char own[PATH_MAX], guess[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    char *slash;

    if (length < 0)
        length = 0;
    own[length] = '\0';
    slash = strrchr(own, '/');
    if (slash)
        slash[1] = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (named)
            (void)snprintf(guess, sizeof guess, "%s", named);
        else if (snprintf(guess, sizeof guess, "%s%s" SHIM_NAME, own, places[i]) >=
                 (int)sizeof guess)
            continue;
        if (!realpath(guess, path))
            continue;
        if (can_be_preloaded(path))
            return true;
        say(message, path,
            "cannot be preloaded: the loader takes a space or colon in its path for the end of it");
        return false;
    }
    say(message, named ? named : SHIM_NAME,
        named ? "is not there"
              : "is not where it was installed, ../lib/fxt beside this program; set FXT_HEAP_SHIM "
                "to its path");
    return false;
}

static bool set_number(const char *name, uint64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRIu64, value);
    return setenv(name, text, 1) == 0;
}

static bool set_or_unset(const char *name, const char *value)
{
    return (value[0] ? setenv(name, value, 1) : unsetenv(name)) == 0;
}

/* What a container has confined us with, which all that we start inherits.  */
static uint64_t own_filters(void)
{
    static const char name[] = "Seccomp_filters:";
    FILE *file = fopen("/proc/self/status", "re");
    uint64_t count = 0;
    char line[256];

    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, sizeof name - 1) == 0)
            count = strtoull(line + sizeof name - 1, NULL, 10);
    if (file)
        (void)fclose(file);
    return count;
}

bool target_prepare(const char *shim, const struct target_settings *settings)
{
    const char *before = getenv("LD_PRELOAD");
    char *list;
    bool fine;

    if (asprintf(&list, "%s%s%s", shim, before && *before ? ":" : "", before ? before : "") < 0)
        return false;
    fine = setenv("LD_PRELOAD", list, 1) == 0 &&
           setenv(HEAP_ENV_FOLDER, settings->folder, 1) == 0 &&
           set_or_unset(HEAP_ENV_GATE, settings->gate) &&
           set_or_unset(HEAP_ENV_LOSSES, settings->losses) &&
           setenv(HEAP_ENV_KEY, settings->key, 1) == 0 &&
           set_number(HEAP_ENV_INTERVAL, settings->interval_bytes) &&
           set_number(HEAP_ENV_FILTERS, own_filters()) &&
           set_or_unset(HEAP_ENV_MMAP, settings->mappings ? "1" : "") &&
           setenv(HEAP_ENV_UNWIND, settings->frame_pointers ? "fp" : "cfi", 1) == 0;
    free(list);
    return fine;
}
