#include "sampler-capture/cpu/jit.h"

#include "base/file.h"
#include "base/grow.h"
#include "libperf/jit_files.h"
#include "sampler-capture/capture_modules.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_PROCESSES 1024U
#define MAX_ADDRESSES 1000000U /* of all processes */

struct jit_process {
    uint64_t koid; /* if is_known */
    bool is_known;
    uint32_t pid, inner_pid; /* as we and as it calls it */
    uid_t user;
    int tmp, dump; /* descriptors, owned; -1: none */
    struct jit_seen seen;
};

static void close_fd(int fd)
{
    if (fd >= 0)
        (void)close(fd);
}

void jit_release(struct jit *jit)
{
    for (size_t i = 0; i < jit->count; i++) {
        struct jit_process *process = &jit->processes[i];

        close_fd(process->tmp);
        close_fd(process->dump);
        jit_seen_release(&process->seen);
    }
    free(jit->processes);
    *jit = (struct jit){ .processes = NULL };
}

/* ---- Where the files are ---- */

/* The last number of "NSpid:": the id in the innermost namespace.  */
static uint32_t inner_pid(uint32_t pid)
{
    char path[64], line[256];
    uint32_t inner = pid;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%u/status", pid);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        const char *last = strrchr(line, '\t');

        if (strncmp(line, "NSpid:", 6) == 0 && last)
            inner = (uint32_t)strtoul(last, NULL, 10);
    }
    if (file)
        (void)fclose(file);
    return inner;
}

static int root_of(uint32_t pid)
{
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%u/root", pid);
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Links lead to nowhere outside of the directory.  */
static int open_in(int directory, const char *path, uint64_t flags)
{
    const struct open_how how = { .flags = flags | O_CLOEXEC,
                                  .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };

    return directory < 0 ? -1 : (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
}

/* Its /tmp is held open: when the last process of a container ends, its mounts go.  */
static struct jit_process *add_process(struct jit *jit, uint32_t pid)
{
    struct jit_process *process;
    struct stat about;
    char path[64];
    int root;

    if (!base_make_room(&jit->processes, &jit->capacity, jit->count + 1, sizeof *jit->processes))
        return NULL;
    process = &jit->processes[jit->count++];
    *process = (struct jit_process){ .pid = pid, .inner_pid = inner_pid(pid), .dump = -1 };
    root = root_of(pid);
    process->tmp = open_in(root, "tmp", O_PATH | O_DIRECTORY);
    close_fd(root);
    (void)snprintf(path, sizeof path, "/proc/%u", pid);
    if (stat(path, &about) == 0)
        process->user = about.st_uid;
    return process;
}

/* A file of the process, in a directory that it sees.  */
static int open_file(const struct jit_process *process, int directory, const char *path)
{
    int fd = open_in(directory, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    struct stat about;

    if (fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
        (about.st_uid == process->user || about.st_uid == 0))
        return fd;
    close_fd(fd);
    return -1;
}

/* A process maps a page of its dump, so that others see where it is.  */
static bool is_dump(const char *path)
{
    const char *name = base_name(path);
    size_t length = strlen(path);

    return name != path && strncmp(name, "jit-", 4) == 0 && length > 5 &&
           strcmp(path + length - 5, ".dump") == 0;
}

/* The last one of that pid whose koid is not known yet, or which has it.  */
static struct jit_process *find(const struct jit *jit, uint32_t pid, uint64_t koid)
{
    for (size_t i = jit->count; i > 0; i--) {
        struct jit_process *process = &jit->processes[i - 1];

        if (process->pid == pid && (!process->is_known || process->koid == koid))
            return process;
    }
    return NULL;
}

bool jit_expect(struct jit *jit, uint32_t pid, const struct perf_map *map)
{
    bool has_dump = is_dump(map->name);
    struct jit_process *process;

    if (!has_dump && !perf_map_is_anonymous(map))
        return true;
    process = find(jit, pid, UINT64_MAX);
    if (!process && jit->count >= MAX_PROCESSES)
        return true;
    if (!process)
        process = add_process(jit, pid);
    if (!process)
        return false;
    if (has_dump && process->dump < 0) {
        int root = root_of(pid);

        process->dump = open_file(process, root, map->name);
        close_fd(root);
    }
    return true;
}

/* ---- What was seen ---- */

bool jit_saw(struct jit *jit, uint64_t koid, uint32_t pid, uint64_t address)
{
    struct jit_process *process = find(jit, pid, koid);
    size_t before;

    if (!process && jit->count >= MAX_PROCESSES)
        return true;
    if (!process)
        process = add_process(jit, pid);
    if (!process)
        return false;
    process->is_known = true;
    process->koid = koid;
    if (jit->address_count == MAX_ADDRESSES)
        return true;
    before = process->seen.count;
    if (!jit_seen_add(&process->seen, address))
        return false;
    jit->address_count += process->seen.count - before;
    return true;
}

/* ---- Telling ---- */

static bool tell_one(const struct jit_process *process, struct base_text *text, jit_tell_fn tell,
                     void *context)
{
    const struct jit_addresses addresses = { process->seen.items, process->seen.count };
    char path[64];
    bool fine = true;
    int map;

    (void)snprintf(path, sizeof path, "perf-%u.map", process->inner_pid);
    map = open_file(process, process->tmp, path);
    base_text_clear(text);
    if (map >= 0)
        fine = jit_read_map(map, &addresses, text);
    if (fine && process->dump >= 0)
        fine = jit_read_dump(process->dump, &addresses, text);
    close_fd(map);
    return fine && (text->length == 0 || tell(context, process->koid, text->bytes, text->length));
}

/* A flight recorder goes on after this, and sees addresses anew.  */
bool jit_tell(struct jit *jit, jit_tell_fn tell, void *context)
{
    struct base_text text = { .bytes = NULL };
    bool fine = true;

    for (size_t i = 0; i < jit->count && fine; i++) {
        struct jit_process *process = &jit->processes[i];

        if (process->seen.count == 0)
            continue;
        jit_seen_sort(&process->seen);
        fine = tell_one(process, &text, tell, context);
        jit->address_count -= process->seen.count;
        jit_seen_release(&process->seen);
    }
    base_text_release(&text);
    return fine;
}
