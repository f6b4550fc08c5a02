#include "sampler-capture/capture_modules.h"

#include "base/grow.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define DELETED " (deleted)"
#define VDSO    "[vdso]"

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* "//anon" is the kernel's word; "[heap]" and "[stack]" are anonymous memory made executable.
 * "[uprobes]" and the like have no file either, but a name worth showing, as "[vdso]" has.  */
bool perf_map_is_anonymous(const struct perf_map *map)
{
    return map->name[0] == '\0' || starts_with(map->name, "//anon") ||
           starts_with(map->name, "[heap]") || starts_with(map->name, "[stack") ||
           starts_with(map->name, "/dev/zero") || starts_with(map->name, "/anon_hugepage");
}

static size_t name_length(const char *name)
{
    size_t length = strlen(name);
    size_t suffix = strlen(DELETED);

    if (length > suffix && strcmp(name + length - suffix, DELETED) == 0)
        length -= suffix;
    return length;
}

static uint64_t hash_of(const struct perf_map *map)
{
    uint64_t name = base_hash_bytes(map->name, name_length(map->name));

    return base_hash(base_hash(name, base_hash_bytes(map->build_id, map->build_id_size)),
                     map->inode);
}

/* /proc/PID/maps has no generation: 0.  A module that was read from there is the same one in a
 * record of the kernel, and the other way round.  */
static bool is_same_inode(const struct module *module, const struct perf_map *map)
{
    return module->device == map->device && module->inode == map->inode &&
           (module->inode_generation == map->inode_generation || !module->inode_generation ||
            !map->inode_generation);
}

static bool is_module_of(const struct module *module, const struct perf_map *map)
{
    size_t length = name_length(map->name);

    return strncmp(module->name, map->name, length) == 0 && module->name[length] == '\0' &&
           module->kernel_build_id_size == map->build_id_size &&
           memcmp(module->kernel_build_id, map->build_id, map->build_id_size) == 0 &&
           is_same_inode(module, map);
}

/* Whose idea of a path is followed.  */
enum view { VIEW_OF_PROCESS, VIEW_OF_OURS };

/* Whether an open file is the one that was mapped.  The build ID decides where there is one.
 * Otherwise, as the process sees it, only another inode of the same device is surely another file:
 * on overlay file systems device and inode of the mapping are those of the layer below.  What we
 * see under the name that a process in a container gave is most likely another file.  */
static bool is_same_file(int fd, const struct module *module, const struct elf_image *image,
                         enum view view)
{
    struct stat status;

    if (module->kernel_build_id_size != 0)
        return image->build_id_size == module->kernel_build_id_size &&
               memcmp(image->build_id, module->kernel_build_id, image->build_id_size) == 0;
    if (fstat(fd, &status) != 0)
        return false;
    uint64_t device = (uint64_t)major(status.st_dev) << 32 | minor(status.st_dev);
    return device == module->device ? status.st_ino == module->inode : view == VIEW_OF_PROCESS;
}

/* The file at path, if it is the module's, or -1.  Only regular files are opened: opening a device
 * can have effects.  */
static int open_image(const char *path, const struct module *module, enum view view,
                      struct elf_image *image)
{
    struct stat status;
    int fd;

    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return -1;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || (elf_image_read_fd(fd, image) && is_same_file(fd, module, image, view)))
        return fd;
    close(fd);
    return -1;
}

/* The path as the process sees it, then what the kernel still holds of a deleted file, then the
 * path as we see it, for a process that has ended meanwhile.  */
static int open_image_of_process(const struct module *module, uint32_t pid, uint64_t start,
                                 uint64_t limit, struct elf_image *image)
{
    char path[PATH_MAX];
    int fd = -1;

    if (snprintf(path, sizeof path, "/proc/%" PRIu32 "/root%s", pid, module->name) <
        (int)sizeof path)
        fd = open_image(path, module, VIEW_OF_PROCESS, image);
    if (fd < 0 && snprintf(path, sizeof path, "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64,
                           pid, start, limit) < (int)sizeof path)
        fd = open_image(path, module, VIEW_OF_PROCESS, image);
    return fd < 0 ? open_image(module->name, module, VIEW_OF_OURS, image) : fd;
}

static void read_image_of_process(struct module *module, const struct perf_map *map, uint32_t pid,
                                  struct keeper *keeper)
{
    struct elf_image image;
    int fd = open_image_of_process(module, pid, map->start, map->start + map->length, &image);

    if (fd < 0) {
        if (keeper)
            keeper_miss(keeper);
        return;
    }
    module->image = image;
    if (keeper)
        keeper_take(keeper, fd, &image);
    close(fd);
}

int modules_open(const struct module *module, uint32_t pid, uint64_t start, uint64_t limit)
{
    struct elf_image image;

    return module->name[0] == '/' ? open_image_of_process(module, pid, start, limit, &image) : -1;
}

const void *modules_memory(const struct module *module, uint64_t size, size_t *available)
{
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    const void *own = (const void *)getauxval(AT_SYSINFO_EHDR);

    if (strcmp(module->name, VDSO) != 0 || module->image.segment_count == 0)
        return NULL;
    *available = (size_t)size; /* the kernel has one vDSO for all 64-bit processes */
    return own;
}

/* The vdso is no file, but every 64-bit process has the same one, and so have we.  Its headers and
 * notes lie in its first page.  */
static void read_vdso(struct module *module, const struct perf_map *map)
{
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    const void *own = (const void *)getauxval(AT_SYSINFO_EHDR);

    if (own && (sizeof own == 4 || map->start > UINT32_MAX) &&
        !elf_image_read_memory(own, (size_t)sysconf(_SC_PAGESIZE), &module->image))
        memset(&module->image, 0, sizeof module->image);
}

static struct module *make_module(const struct perf_map *map, uint32_t pid, struct keeper *keeper)
{
    struct module *module = calloc(1, sizeof *module);

    if (!module)
        return NULL;
    module->name = strndup(map->name, name_length(map->name));
    if (!module->name) {
        free(module);
        return NULL;
    }
    memcpy(module->kernel_build_id, map->build_id, map->build_id_size);
    module->kernel_build_id_size = map->build_id_size;
    module->device = map->device;
    module->inode = map->inode;
    module->inode_generation = map->inode_generation;
    if (module->name[0] == '/')
        read_image_of_process(module, map, pid, keeper);
    else if (strcmp(module->name, VDSO) == 0)
        read_vdso(module, map);
    if (module->kernel_build_id_size != 0) { /* also when the file is gone */
        memcpy(module->image.build_id, map->build_id, map->build_id_size);
        module->image.build_id_size = map->build_id_size;
    }
    return module;
}

struct module *modules_find(struct module_table *table, const struct perf_map *map, uint32_t pid)
{
    uint64_t hash = hash_of(map);
    struct module *module;
    size_t probe;

    for (uint32_t serial = base_index_first(&table->index, hash, &probe); serial;
         serial = base_index_next(&table->index, hash, &probe))
        if (is_module_of(table->items[serial - 1], map)) {
            module = table->items[serial - 1];
            if (map->inode_generation)
                module->inode_generation = map->inode_generation;
            return module;
        }
    if (!base_make_room(&table->items, &table->capacity, table->count + 1, sizeof(void *)) ||
        !base_index_reserve(&table->index))
        return NULL;
    module = make_module(map, pid, table->keeper);
    if (!module)
        return NULL;
    table->items[table->count++] = module;
    module->serial = (uint32_t)table->count;
    base_index_add(&table->index, hash, module->serial);
    return module;
}

bool modules_vaddr(const struct module *module, uint64_t file_offset, uint64_t *out)
{
    *out = file_offset;
    return elf_image_vaddr(&module->image, file_offset, out);
}

void modules_release(struct module_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        free(table->items[i]->name);
        free(table->items[i]);
    }
    base_index_release(&table->index);
    free(table->items);
    memset(table, 0, sizeof *table);
}
