#include "sampler-capture/heap/target.h"

#include "sampler-capture/heap/protocol.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MAX_HEADERS 256
#define MAX_SCRIPTS 5 /* as many interpreters as the kernel follows */

static void say(char message[TARGET_MESSAGE_SIZE], const char *path, const char *text)
{
    (void)snprintf(message, TARGET_MESSAGE_SIZE, "%s %s", path, text);
}

/* ---- Which file ---- */

static bool is_program(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* As execvp(3) looks for it.  */
static bool find_program(const char *name, char path[PATH_MAX])
{
    const char *folder = getenv("PATH");

    if (strchr(name, '/')) {
        (void)snprintf(path, PATH_MAX, "%s", name);
        return is_program(path);
    }
    if (!folder)
        folder = "/bin:/usr/bin";
    for (;;) {
        size_t length = strcspn(folder, ":");

        if (snprintf(path, PATH_MAX, "%.*s%s%s", (int)length, folder, length ? "/" : "", name) <
                PATH_MAX &&
            is_program(path))
            return true;
        if (folder[length] == '\0')
            return false;
        folder += length + 1;
    }
}

/* ---- What kind of file ---- */

/* The loader ignores LD_PRELOAD in programs that get rights at their start.  */
static bool gains_rights(int fd, const struct stat *status)
{
    return ((status->st_mode & S_ISUID) && status->st_uid != geteuid()) ||
           ((status->st_mode & S_ISGID) && status->st_gid != getegid()) ||
           (geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0);
}

static bool check_loader(const char *path, const char *loader, char message[TARGET_MESSAGE_SIZE])
{
    const char *slash = strrchr(loader, '/');
    const char *name = slash ? slash + 1 : loader;

    if (strncmp(name, "ld-linux", 8) == 0 || strncmp(name, "ld64", 4) == 0)
        return true;
    (void)snprintf(
        message, TARGET_MESSAGE_SIZE,
        "%s is linked against another C library than ours (its loader is %.100s), so its "
        "allocations cannot be seen",
        path, loader);
    return false;
}

/* What this program itself is.  */
#if defined __x86_64__
#define OUR_MACHINE EM_X86_64
#elif defined __aarch64__
#define OUR_MACHINE EM_AARCH64
#elif defined __riscv
#define OUR_MACHINE EM_RISCV
#else
#define OUR_MACHINE header->e_machine
#endif

static bool check_elf(int fd, const char *path, const ElfW(Ehdr) * header,
                      char message[TARGET_MESSAGE_SIZE])
{
    char loader[PATH_MAX] = "";

    if (header->e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
        header->e_machine != OUR_MACHINE) {
        say(message, path,
            "is of another architecture than this tool, so its allocations cannot be seen");
        return false;
    }
    if (header->e_phentsize != sizeof(ElfW(Phdr)))
        return true;
    for (size_t i = 0; i < header->e_phnum && i < MAX_HEADERS; i++) {
        ElfW(Phdr) segment;

        if (pread(fd, &segment, sizeof segment, (off_t)(header->e_phoff + i * sizeof segment)) !=
            (ssize_t)sizeof segment)
            return true;
        if (segment.p_type != PT_INTERP || segment.p_filesz >= sizeof loader)
            continue;
        if (pread(fd, loader, segment.p_filesz, (off_t)segment.p_offset) !=
            (ssize_t)segment.p_filesz)
            return true;
        return check_loader(path, loader, message);
    }
    say(message, path,
        "is statically linked, so there is no loader that could put the sampler into it: link it "
        "dynamically");
    return false;
}

static bool check_file(char path[PATH_MAX], char interpreter[PATH_MAX],
                       char message[TARGET_MESSAGE_SIZE])
{
    union {
        ElfW(Ehdr) header;
        char text[PATH_MAX];
    } start = { .text = "" };
    struct stat status;
    bool fine = true;
    ssize_t size;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return true;
    size = read(fd, &start, sizeof start - 1);
    if (size >= (ssize_t)sizeof start.header &&
        memcmp(start.header.e_ident, ELFMAG, SELFMAG) == 0) {
        if (fstat(fd, &status) == 0 && gains_rights(fd, &status)) {
            say(message, path,
                "gets rights of another user (set-user-ID, set-group-ID or capabilities), and such "
                "programs are not preloaded into: run the capture as that user");
            fine = false;
        } else {
            fine = check_elf(fd, path, &start.header, message);
        }
    } else if (size > 2 && start.text[0] == '#' && start.text[1] == '!') {
        char *name = start.text + 2 + strspn(start.text + 2, " \t");

        name[strcspn(name, " \t\n")] = '\0';
        (void)snprintf(interpreter, PATH_MAX, "%s", name);
    }
    (void)close(fd);
    return fine;
}

bool target_check(const char *name, char message[TARGET_MESSAGE_SIZE])
{
    char path[PATH_MAX], interpreter[PATH_MAX];

    if (!find_program(name, path))
        return true;
    for (int i = 0; i < MAX_SCRIPTS; i++) {
        interpreter[0] = '\0';
        if (!check_file(path, interpreter, message))
            return false;
        if (!interpreter[0])
            break;
        memcpy(path, interpreter, sizeof path);
    }
    return true;
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
              : "is not where it was installed, ../lib/fxt beside this program; FXT_HEAP_SHIM=PATH "
                "tells where it is");
    return false;
}

static bool set_number(const char *name, uint64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRIu64, value);
    return setenv(name, text, 1) == 0;
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
           set_number(HEAP_ENV_INTERVAL, settings->interval_bytes) &&
           set_number(HEAP_ENV_FILTERS, own_filters()) &&
           setenv(HEAP_ENV_UNWIND, settings->frame_pointers ? "fp" : "cfi", 1) == 0;
    free(list);
    return fine;
}
