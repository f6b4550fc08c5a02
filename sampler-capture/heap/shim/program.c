#include "sampler-capture/heap/shim/program.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
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

/* ---- Rights ---- */

/* The loader ignores LD_PRELOAD in programs that get rights at their start.  */
static bool gains_rights(const struct stat *status)
{
    return ((status->st_mode & S_ISUID) && status->st_uid != geteuid()) ||
           ((status->st_mode & S_ISGID) && status->st_gid != getegid());
}

static bool gains_capabilities(int fd)
{
    return geteuid() != 0 && syscall(SYS_fgetxattr, fd, "security.capability", NULL, 0) > 0;
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
static bool read_file(struct program *program, int fd, const struct program_loader *own)
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
        if ((fstat(fd, &status) == 0 && gains_rights(&status)) || gains_capabilities(fd))
            program->kind = PROGRAM_PRIVILEGED;
        else
            program->kind = kind_of_elf(program, &object, own);
        return false;
    }
    if (size <= 2 || start.text[0] != '#' || start.text[1] != '!')
        return false;
    take_interpreter(program, start.text + 2);
    return program->interpreter[0] != '\0';
}

void program_read(struct program *program, int fd, const struct program_loader *own)
{
    bool is_script;

    program->kind = PROGRAM_FINE;
    program->detail[0] = program->interpreter[0] = '\0';
    is_script = read_file(program, fd, own);
    for (int i = 1; i < MAX_SCRIPTS && is_script; i++) {
        long next = syscall(SYS_openat, AT_FDCWD, program->interpreter, O_RDONLY | O_CLOEXEC);

        if (next < 0)
            break;
        is_script = read_file(program, (int)next, own);
        (void)syscall(SYS_close, next);
    }
}

void program_read_at(struct program *program, int folder_fd, const char *path,
                     const struct program_loader *own)
{
    /* Not a device or FIFO that would do something, or wait.  */
    long fd = syscall(SYS_openat, folder_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;

    program->kind = PROGRAM_FINE;
    program->detail[0] = program->interpreter[0] = '\0';
    if (fd < 0) { /* it may be one that can be executed but not read */
        if (fstatat(folder_fd, path, &status, 0) == 0 && gains_rights(&status))
            program->kind = PROGRAM_PRIVILEGED;
        return;
    }
    if (fstat((int)fd, &status) == 0 && S_ISREG(status.st_mode))
        program_read(program, (int)fd, own);
    (void)syscall(SYS_close, fd);
}

/* ---- Finding ---- */

static bool is_program(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
           syscall(SYS_faccessat, AT_FDCWD, path, X_OK) == 0;
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

bool program_find(const char *name, char *path, size_t size)
{
    const char *folder = getenv("PATH");

    if (strchr(name, '/'))
        return join(path, size, "", 0, name) && is_program(path);
    if (!folder)
        folder = "/bin:/usr/bin";
    for (;;) {
        size_t length = strcspn(folder, ":");

        if (join(path, size, folder, length, name) && is_program(path))
            return true;
        if (folder[length] == '\0')
            return false;
        folder += length + 1;
    }
}
