#include "sampler-capture/cpu/unwound.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MAX_KEPT 1024U /* descriptors, and a quarter of those that we may have */
#define TRIES    8U

void unwound_release(struct unwound_modules *modules)
{
    for (size_t i = 0; i < modules->capacity; i++) {
        unwind_table_close(modules->items[i].table);
        if (modules->items[i].has_fd)
            (void)close(modules->items[i].fd);
        if (modules->items[i].has_code)
            (void)close(modules->items[i].code_fd);
    }
    free(modules->items);
    *modules = (struct unwound_modules){ .items = NULL };
}

static struct unwound *reserve(struct unwound_modules *modules, const struct module *module)
{
    uint32_t serial = module->serial;

    if (serial >= modules->capacity) {
        size_t capacity = modules->capacity;

        if (!base_make_room(&modules->items, &capacity, (size_t)serial + 1, sizeof *modules->items))
            return NULL;
        memset(modules->items + modules->capacity, 0,
               (capacity - modules->capacity) * sizeof *modules->items);
        modules->capacity = capacity;
    }
    return &modules->items[serial];
}

static bool may_keep(const struct unwound_modules *modules)
{
    struct rlimit limit;

    return modules->kept < MAX_KEPT && getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
           modules->kept < limit.rlim_cur / 4;
}

bool unwound_expect(struct unwound_modules *modules, const struct module *module, uint32_t pid,
                    uint64_t start, uint64_t limit)
{
    struct unwound *known = reserve(modules, module);

    if (!known)
        return false;
    if (known->module || known->has_fd || !may_keep(modules))
        return true;
    known->fd = modules_open(module, pid, start, limit);
    known->has_fd = known->fd >= 0;
    modules->kept += known->has_fd;
    return true;
}

/* The page of the vDSO is the same in every process: this one's is read.  */
static void open_table(struct unwound_modules *modules, struct unwound *known,
                       const struct mapping *mapping, uint32_t pid)
{
    struct unwind_object object = { .fd = -1, .debug_fd = -1 };

    object.bytes = modules_memory(known->module, mapping->limit - mapping->start, &object.size);
    if (!object.bytes)
        object.fd = known->has_fd
                        ? known->fd
                        : modules_open(known->module, pid, mapping->start, mapping->limit);
    modules->kept -= known->has_fd;
    known->has_fd = false;
    known->pid = pid;
    if (!object.bytes && object.fd < 0)
        return;
    known->left = 0; /* another process has no other file */
    (void)unwind_table_open(&object, &known->table, NULL);
    if (object.fd >= 0)
        (void)close(object.fd);
}

struct unwound *unwound_find(struct unwound_modules *modules, const struct mapping *mapping,
                             uint32_t pid)
{
    struct unwound *known = reserve(modules, mapping->module);

    if (!known)
        return NULL;
    if (!known->module) {
        known->module = mapping->module;
        known->left = TRIES;
        open_table(modules, known, mapping, pid);
    } else if (!known->table && known->left > 0 && known->pid != pid) {
        known->left--;
        open_table(modules, known, mapping, pid);
    }
    return known;
}

/* The file is looked for once.  */
static bool open_code(struct unwound_modules *modules, struct unwound *known,
                      const struct mapping *mapping, uint32_t pid)
{
    if (!known->code_was_tried && may_keep(modules)) {
        known->code_was_tried = true;
        known->code_fd = modules_open(mapping->module, pid, mapping->start, mapping->limit);
        known->has_code = known->code_fd >= 0;
        modules->kept += known->has_code;
    }
    return known->has_code;
}

size_t unwound_code(struct unwound_modules *modules, const struct mapping *mapping, uint32_t pid,
                    uint64_t address, uint8_t *bytes, size_t size)
{
    const struct elf_image *image = &mapping->module->image;
    uint64_t vaddr = mapping->vaddr + (address - mapping->start);
    struct unwound *known = reserve(modules, mapping->module);

    if (!known || !open_code(modules, known, mapping, pid))
        return 0;
    for (size_t i = 0; i < image->segment_count; i++) {
        uint64_t offset = vaddr - image->segments[i].vaddr;
        uint64_t left = image->segments[i].file_size - offset;
        ssize_t got;

        if (offset >= image->segments[i].file_size)
            continue;
        got = pread(known->code_fd, bytes, size < left ? size : (size_t)left,
                    (off_t)(image->segments[i].file_offset + offset));
        return got > 0 ? (size_t)got : 0;
    }
    return 0;
}
