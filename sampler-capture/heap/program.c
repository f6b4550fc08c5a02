#include "sampler-capture/heap/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/capability.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_HEADERS 256
#define MAX_ENTRIES 1024 /* of the dynamic section */
#define MAX_SCRIPTS 5    /* as many interpreters as the kernel follows */

static bool read_at(int fd, void *bytes, size_t size, uint64_t offset)
{
    return offset <= INT64_MAX && syscall(SYS_pread64, fd, bytes, size, offset) == (long)size;
}

/* A string of at most size - 1 bytes; what is longer is cut.  */
static void read_text(int fd, char *text, size_t size, uint64_t offset)
{
    long length = offset <= INT64_MAX ? syscall(SYS_pread64, fd, text, size - 1, offset) : 0;

    text[length > 0 ? length : 0] = '\0';
}

/* A path by which a descriptor of O_PATH can be used.  */
#define LINK_SIZE 32
static void name_descriptor(char link[LINK_SIZE], int fd)
{
    static const char folder[] = "/proc/self/fd/";
    size_t at = LINK_SIZE - 1;

    link[at] = '\0';
    do
        link[--at] = (char)('0' + fd % 10);
    while ((fd /= 10) > 0);
    memmove(link + sizeof folder - 1, link + at, LINK_SIZE - at);
    memcpy(link, folder, sizeof folder - 1);
}

/* ---- Rights: the loader ignores LD_PRELOAD where the kernel sets AT_SECURE ---- */

struct capabilities { /* little-endian; the first version ends before permitted_high */
    uint32_t flags;
    uint32_t permitted, inheritable, permitted_high, inheritable_high;
    uint32_t root;
};

/* Of the file's, those that the process has already.  */
static void keep_permitted(struct capabilities *caps)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct own[2] = { { .permitted = 0 } };

    (void)syscall(SYS_capget, &header, own);
    caps->permitted &= own[0].permitted;
    caps->permitted_high &= own[1].permitted;
}

/* Capabilities of the file that count (capabilities(7)).  The kernel tells those of another user
 * namespace by a longer structure.  */
static bool gains_capabilities(int fd, bool keeps_privileges)
{
    struct capabilities caps = { .flags = 0 };
    long size = syscall(SYS_fgetxattr, fd, "security.capability", &caps, sizeof caps);
    char link[LINK_SIZE];

    if (size < 0 && errno == EBADF) {
        name_descriptor(link, fd);
        size = syscall(SYS_getxattr, link, "security.capability", &caps, sizeof caps);
    }
    if (size < (long)offsetof(struct capabilities, permitted_high) || size == (long)sizeof caps)
        return false;
    if (size == (long)offsetof(struct capabilities, permitted_high))
        caps.permitted_high = 0;
    if (keeps_privileges)
        keep_permitted(&caps);
    return (caps.flags & 1) || caps.permitted || caps.permitted_high;
}

/* As the kernel does: a user or group is another one after the exec than the real one now, however
 * that came, or (since Linux 6.16, and here always) than the effective one; or capabilities come
 * with the file, and the user is not root.  */
static bool gains_rights(int fd, const struct stat *status, const struct program_start *start)
{
    uid_t user = start->resets_ids ? getuid() : geteuid();
    gid_t group = start->resets_ids ? getgid() : getegid();
    bool keeps_privileges = syscall(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) > 0;
    struct statfs mount = { .f_flags = 0 };
    bool is_ignored = syscall(SYS_fstatfs, fd, &mount) == 0 && (mount.f_flags & ST_NOSUID);

    if (!is_ignored && !keeps_privileges) {
        if (status->st_mode & S_ISUID)
            user = status->st_uid;
        if ((status->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP))
            group = status->st_gid;
    }
    if (user != getuid() || group != getgid() || (!start->resets_ids && user != geteuid()))
        return true;
    return !is_ignored && getuid() != 0 && gains_capabilities(fd, keeps_privileges);
}

/* ---- The loader ---- */

void program_own_loader(struct program_loader *loader)
{
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    size_t count = getauxval(AT_PHNUM);
    const char *path = NULL;
    uint64_t bias = 0;
    struct stat status;

    *loader = (struct program_loader){ 0, 0 };
    for (size_t i = 0; headers && i < count; i++)
        if (headers[i].p_type == PT_PHDR)
            bias = (uint64_t)(uintptr_t)headers - headers[i].p_vaddr;
    for (size_t i = 0; headers && i < count; i++)
        if (headers[i].p_type == PT_INTERP) // NOLINTNEXTLINE(performance-no-int-to-ptr)
            path = (const char *)(uintptr_t)(headers[i].p_vaddr + bias);
    if (path && stat(path, &status) == 0)
        *loader = (struct program_loader){ status.st_dev, status.st_ino };
}

/* By its name where ours is not known, as when this program was started by calling the loader.  */
static bool is_our_loader(const char *path, const struct program_loader *own)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    struct stat status;

    if (own->inode != 0)
        return stat(path, &status) == 0 && status.st_dev == own->device &&
               status.st_ino == own->inode;
    return strncmp(name, "ld-linux", 8) == 0 || strncmp(name, "ld64", 4) == 0;
}

/* ---- Sanitizers ---- */

bool program_wants_to_be_first(const char *library, size_t length)
{
    static const char *const names[] = { "libasan.so", "libhwasan.so", "libclang_rt.asan",
                                         "libclang_rt.hwasan" };

    for (size_t i = length; i-- > 0;)
        if (library[i] == '/') {
            library += i + 1;
            length -= i + 1;
            break;
        }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (length >= strlen(names[i]) && memcmp(library, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

struct object {
    int fd;
    ElfW(Ehdr) header;
    size_t count; /* of segments */
};

static bool read_segment(const struct object *object, size_t index, ElfW(Phdr) * segment)
{
    return read_at(object->fd, segment, sizeof *segment,
                   object->header.e_phoff + index * sizeof *segment);
}

/* Where an address is in the file; UINT64_MAX: nowhere.  */
static uint64_t offset_of(const struct object *object, uint64_t vaddr)
{
    ElfW(Phdr) segment;

    for (size_t i = 0; i < object->count && read_segment(object, i, &segment); i++)
        if (segment.p_type == PT_LOAD && vaddr - segment.p_vaddr < segment.p_filesz)
            return segment.p_offset + (vaddr - segment.p_vaddr);
    return UINT64_MAX;
}

/* Calls each entry of the dynamic section with tag, until one returns true.  */
static bool each_dynamic(const struct object *object, const ElfW(Phdr) * dynamic, int64_t tag,
                         bool (*call)(void *context, uint64_t value), void *context)
{
    ElfW(Dyn) entries[16];
    size_t left = dynamic->p_filesz / sizeof *entries;
    uint64_t offset = dynamic->p_offset;

    if (left > MAX_ENTRIES)
        left = MAX_ENTRIES;
    while (left > 0) {
        size_t some = left < 16 ? left : 16;

        if (!read_at(object->fd, entries, some * sizeof *entries, offset))
            return false;
        for (size_t i = 0; i < some; i++) {
            if (entries[i].d_tag == DT_NULL)
                return false;
            if (entries[i].d_tag == tag && call(context, entries[i].d_un.d_val))
                return true;
        }
        left -= some;
        offset += some * sizeof *entries;
    }
    return false;
}

struct needed {
    const struct object *object;
    uint64_t strings; /* offset in the file */
    struct program *program;
};

static bool take_strings(void *context, uint64_t value)
{
    struct needed *needed = context;

    needed->strings = offset_of(needed->object, value);
    return true;
}

static bool take_library(void *context, uint64_t value)
{
    struct needed *needed = context;

    if (value > UINT32_MAX)
        return false;
    read_text(needed->object->fd, needed->program->detail, sizeof needed->program->detail,
              needed->strings + value);
    return program_wants_to_be_first(needed->program->detail, strlen(needed->program->detail));
}

static bool is_sanitized(const struct object *object, const ElfW(Phdr) * dynamic,
                         struct program *program)
{
    struct needed needed = { .object = object, .program = program };

    return each_dynamic(object, dynamic, DT_STRTAB, take_strings, &needed) &&
           needed.strings < INT64_MAX &&
           each_dynamic(object, dynamic, DT_NEEDED, take_library, &needed);
}

/* ---- Which ---- */

/* What this code itself is.  */
#if defined __x86_64__
#define OUR_MACHINE EM_X86_64
#elif defined __aarch64__
#define OUR_MACHINE EM_AARCH64
#elif defined __riscv
#define OUR_MACHINE EM_RISCV
#else
#define OUR_MACHINE object->header.e_machine
#endif

static enum program_kind kind_of_elf(struct program *program, struct object *object,
                                     const struct program_loader *own)
{
    ElfW(Phdr) segment, loader = { .p_type = PT_NULL }, dynamic = { .p_type = PT_NULL };

    if (object->header.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
        object->header.e_machine != OUR_MACHINE)
        return PROGRAM_MACHINE;
    if (object->header.e_phentsize != sizeof segment)
        return PROGRAM_FINE;
    object->count = object->header.e_phnum < MAX_HEADERS ? object->header.e_phnum : MAX_HEADERS;
    for (size_t i = 0; i < object->count; i++) {
        if (!read_segment(object, i, &segment))
            return PROGRAM_FINE;
        if (segment.p_type == PT_INTERP)
            loader = segment;
        else if (segment.p_type == PT_DYNAMIC)
            dynamic = segment;
    }
    if (loader.p_type == PT_NULL)
        return PROGRAM_STATIC;
    read_text(object->fd, program->detail, sizeof program->detail, loader.p_offset);
    if (!is_our_loader(program->detail, own))
        return PROGRAM_LOADER;
    return dynamic.p_type != PT_NULL && is_sanitized(object, &dynamic, program) ? PROGRAM_SANITIZED
                                                                                : PROGRAM_FINE;
}

/* The path after "#!".  */
static void take_interpreter(struct program *program, const char *line)
{
    size_t start = strspn(line, " \t"), length = strcspn(line + start, " \t\n");

    memcpy(program->interpreter, line + start, length); /* shorter than what was read */
    program->interpreter[length] = '\0';
}

/* Returns whether it is a script, with an interpreter to look at.  */
static bool read_file(struct program *program, int fd, const struct program_start *how)
{
    union {
        ElfW(Ehdr) header;
        char text[PROGRAM_INTERPRETER];
    } start = { .text = "" };
    long size = syscall(SYS_pread64, fd, &start, sizeof start - 1, 0);
    struct object object = { .fd = fd };
    struct stat status;

    if (size >= (long)sizeof start.header && memcmp(start.header.e_ident, ELFMAG, SELFMAG) == 0) {
        object.header = start.header;
        if (fstat(fd, &status) == 0 && gains_rights(fd, &status, how))
            program->kind = PROGRAM_PRIVILEGED;
        else
            program->kind = kind_of_elf(program, &object, how->own);
        return false;
    }
    if (size <= 2 || start.text[0] != '#' || start.text[1] != '!')
        return false;
    take_interpreter(program, start.text + 2);
    return program->interpreter[0] != '\0';
}

static void begin(struct program *program)
{
    program->kind = PROGRAM_FINE;
    program->detail[0] = program->interpreter[0] = '\0';
}

/* A file that can be read, and the interpreters that it leads to.  */
static void follow(struct program *program, int fd, const struct program_start *start)
{
    bool is_script = read_file(program, fd, start);

    for (int i = 1; i < MAX_SCRIPTS && is_script; i++) {
        long next = syscall(SYS_openat, start->folder_fd, program->interpreter,
                            O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

        if (next < 0)
            break;
        is_script = read_file(program, (int)next, start);
        (void)syscall(SYS_close, next);
    }
}

/* One that cannot be read, but perhaps be executed.  */
static void judge_rights(struct program *program, int fd, const struct program_start *start)
{
    struct stat status;

    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && gains_rights(fd, &status, start))
        program->kind = PROGRAM_PRIVILEGED;
}

void program_read(struct program *program, int fd, const struct program_start *start)
{
    char link[LINK_SIZE], byte;
    long again;

    begin(program);
    if (syscall(SYS_pread64, fd, &byte, 1, 0) >= 0 || errno != EBADF || fd < 0) {
        follow(program, fd, start);
        return;
    }
    name_descriptor(link, fd);
    again = syscall(SYS_openat, AT_FDCWD, link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (again < 0) {
        judge_rights(program, fd, start);
        return;
    }
    follow(program, (int)again, start);
    (void)syscall(SYS_close, again);
}

void program_read_at(struct program *program, int name_fd, const char *path,
                     const struct program_start *start)
{
    /* Not opened before its kind is known: a device or FIFO would do something, or wait.  */
    long fd = syscall(SYS_openat, name_fd, path, O_PATH | O_CLOEXEC);
    struct stat status;

    begin(program);
    if (fd < 0)
        return;
    if (fstat((int)fd, &status) == 0 && S_ISREG(status.st_mode)) {
        long readable = syscall(SYS_openat, name_fd, path,
                                O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

        if (readable < 0)
            judge_rights(program, (int)fd, start);
        else
            follow(program, (int)readable, start);
        if (readable >= 0)
            (void)syscall(SYS_close, readable);
    }
    (void)syscall(SYS_close, fd);
}

/* ---- Finding ---- */

static bool is_program(int folder_fd, const char *path)
{
    struct stat status;

    return fstatat(folder_fd, path, &status, 0) == 0 && S_ISREG(status.st_mode) &&
           syscall(SYS_faccessat, folder_fd, path, X_OK) == 0;
}

/* folder/name, or name alone where folder is empty; false if it does not fit.  */
static bool join(char *path, size_t size, const char *folder, size_t length, const char *name)
{
    size_t more = strlen(name) + 1, slash = length > 0;

    if (length > size || more + slash > size - length)
        return false;
    memcpy(path, folder, length);
    if (slash)
        path[length] = '/';
    memcpy(path + length + slash, name, more);
    return true;
}

bool program_find(int folder_fd, const char *name, char *path, size_t size)
{
    const char *folder = getenv("PATH");

    if (strchr(name, '/'))
        return join(path, size, "", 0, name) && is_program(folder_fd, path);
    if (!folder)
        folder = "/bin:/usr/bin";
    for (;;) {
        size_t length = strcspn(folder, ":");

        if (join(path, size, folder, length, name) && is_program(folder_fd, path))
            return true;
        if (folder[length] == '\0')
            return false;
        folder += length + 1;
    }
}
