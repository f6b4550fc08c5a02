#include "sampler-capture/proc.h"

#include "base/grow.h"
#include "sampler-capture/host.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define NAME_SIZE  64
#define PF_KTHREAD 0x00200000U /* of the kernel */

/* ---- Lists of ids ---- */

bool proc_add_id(struct proc_ids *ids, pid_t id)
{
    if (!base_make_room(&ids->ids, &ids->capacity, ids->count + 1, sizeof *ids->ids))
        return false;
    ids->ids[ids->count++] = id;
    return true;
}

static int compare_ids(const void *left, const void *right)
{
    pid_t a = *(const pid_t *)left, b = *(const pid_t *)right;

    return (a > b) - (a < b);
}

/* The numbers among the names of a directory.  */
static bool add_numbers(const char *path, struct proc_ids *ids)
{
    DIR *directory = opendir(path);
    size_t first = ids->count;
    struct dirent *entry;
    bool fine = true;

    if (!directory)
        return true;
    while (fine && (entry = readdir(directory)))
        if (isdigit((unsigned char)entry->d_name[0]))
            fine = proc_add_id(ids, (pid_t)strtol(entry->d_name, NULL, 10));
    (void)closedir(directory);
    if (ids->count > first)
        qsort(ids->ids + first, ids->count - first, sizeof *ids->ids, compare_ids);
    return fine;
}

bool proc_threads(pid_t pid, struct proc_ids *ids)
{
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    return add_numbers(path, ids);
}

bool proc_processes(struct proc_ids *ids)
{
    return add_numbers("/proc", ids);
}

/* ---- One task ---- */

static bool read_line(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "re");
    bool read = file && fgets(text, (int)size, file);

    if (file)
        (void)fclose(file);
    if (read)
        text[strcspn(text, "\n")] = '\0';
    return read;
}

/* A number of /proc/ID/status, such as "Tgid:", or 0; 0 too for what has ended but was not waited
 * for yet.  */
static pid_t status_number(pid_t tid, const char *key)
{
    char path[64], line[256];
    size_t length = strlen(key);
    pid_t number = 0;
    bool dead = false;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
    file = fopen(path, "re");
    if (!file)
        return 0;
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, key, length) == 0)
            number = (pid_t)strtol(line + length, NULL, 10);
        if (strncmp(line, "State:", 6) == 0)
            dead = strchr("ZX", line[6 + strspn(line + 6, " \t")]) != NULL;
    }
    (void)fclose(file);
    return dead ? 0 : number;
}

pid_t proc_process_of(pid_t tid)
{
    return status_number(tid, "Tgid:");
}

static bool contains(const struct proc_ids *ids, size_t first, pid_t id)
{
    for (size_t i = first; i < ids->count; i++)
        if (ids->ids[i] == id)
            return true;
    return false;
}

/* Children usually have higher ids than their parents; where ids wrapped around, another pass finds
 * the rest.  */
bool proc_tree(pid_t pid, struct proc_ids *ids)
{
    struct proc_ids all = { .ids = NULL };
    size_t first = ids->count, before;
    bool fine = proc_processes(&all) && (proc_process_of(pid) != pid || proc_add_id(ids, pid));

    do {
        before = ids->count;
        for (size_t i = 0; fine && i < all.count; i++) {
            pid_t parent = status_number(all.ids[i], "PPid:");

            if (parent != 0 && contains(ids, first, parent) && !contains(ids, first, all.ids[i]))
                fine = proc_add_id(ids, all.ids[i]);
        }
    } while (fine && ids->count > before);
    free(all.ids);
    return fine;
}

bool proc_has_name(pid_t pid, const char *name)
{
    char path[64], comm[NAME_SIZE];

    (void)snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    return read_line(path, comm, sizeof comm) && strncmp(comm, name, 15) == 0 &&
           proc_process_of(pid) == pid;
}

/* proc(5): the flags are the seventh field behind the name, which ends at the last parenthesis.  */
bool proc_is_kernel_thread(pid_t tid)
{
    char path[64], text[512];
    unsigned flags = 0;
    const char *end;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)tid);
    if (!read_line(path, text, sizeof text))
        return false;
    end = strrchr(text, ')');
    for (int field = 0; end && field < 7; field++) {
        end = strchr(end, ' ');
        end = end ? end + 1 : NULL;
    }
    if (end)
        flags = (unsigned)strtoul(end, NULL, 10);
    return flags & PF_KTHREAD;
}

/* ---- Telling ---- */

/* One line of /proc/PID/maps: "START-LIMIT PERMS OFFSET MAJOR:MINOR INODE   NAME".  */
static bool parse_map(const char *line, struct perf_map *map, char *name, size_t name_size)
{
    uint64_t limit;
    unsigned device_major, device_minor;
    char permissions[5];
    int used = 0;

    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &map->start,
               &limit, permissions, &map->file_offset, &device_major, &device_minor, &map->inode,
               &used) < 7 ||
        used == 0 || limit <= map->start || !strchr(permissions, 'x'))
        return false;
    map->length = limit - map->start;
    map->device = (uint64_t)device_major << 32 | device_minor;
    map->protection = PROT_EXEC | (permissions[0] == 'r' ? PROT_READ : 0) |
                      (permissions[1] == 'w' ? PROT_WRITE : 0);
    (void)snprintf(name, name_size, "%s", line[used] ? line + used : "//anon");
    map->name = name;
    return true;
}

/* The next line.  Returns why there is none, or 0.  */
static int read_map(FILE *file, char **line, size_t *size)
{
    errno = 0;
    if (getline(line, size, file) > 0)
        return 0;
    return errno ? errno : ENODATA;
}

static bool tell_maps(pid_t pid, uint64_t now_ns, proc_tell_fn tell, void *context)
{
    char path[64], name[4200];
    char *line = NULL;
    size_t size = 0;
    bool fine = true;
    FILE *file;
    int cause = 0;

    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return true;
    while (fine && (cause = read_map(file, &line, &size)) == 0) {
        struct perf_record record = {
            .kind = PERF_KIND_MAP, .pid = (uint32_t)pid, .tid = (uint32_t)pid, .time_ns = now_ns
        };

        line[strcspn(line, "\n")] = '\0';
        /* No file, and since Linux 5.3 nothing runs there: calls are caught and done for it.  */
        if (parse_map(line, &record.value.map, name, sizeof name) &&
            strcmp(name, "[vsyscall]") != 0)
            fine = tell(context, &record);
    }
    free(line);
    (void)fclose(file);
    return fine && cause != ENOMEM; /* other reasons: the process is gone */
}

static bool tell_name(pid_t pid, pid_t tid, uint64_t now_ns, proc_tell_fn tell, void *context)
{
    char path[80], comm[NAME_SIZE];
    struct perf_record record = {
        .kind = PERF_KIND_NAME, .pid = (uint32_t)pid, .tid = (uint32_t)tid, .time_ns = now_ns
    };

    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/comm", (int)pid, (int)tid);
    if (!read_line(path, comm, sizeof comm))
        return true;
    record.value.name.text = comm;
    return tell(context, &record);
}

bool proc_describe(pid_t pid, proc_tell_fn tell, void *context)
{
    struct proc_ids threads = { .ids = NULL };
    uint64_t now_ns = host_clock_ns(CLOCK_MONOTONIC);
    bool fine = proc_threads(pid, &threads);

    for (size_t i = 0; fine && i < threads.count; i++)
        fine = tell_name(pid, threads.ids[i], now_ns, tell, context);
    free(threads.ids);
    return fine && tell_maps(pid, now_ns, tell, context);
}
