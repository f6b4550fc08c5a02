/* insn_code_map.c - code and address spaces.
 *
 * All code is in one memory file, so that libipt, which maps files, sees bytes that nobody can
 * change or cut.  libipt keeps a table as long as each section that was used, so code is handed to
 * it in slices: what never ran takes no memory.  */
#include "libinsn/insn_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/ranges.h"

#define SLICE_BYTES  (UINT64_C(256) << 10)
#define CACHE_BYTES  (UINT64_C(16) << 20) /* a thread: of slices and their tables in libipt */
#define MAX_SECTIONS (1U << 20)
#define PAGE         4096

struct section {
    uint64_t offset; /* in the file; a multiple of PAGE */
    uint64_t size;
};

struct insn_code {
    int fd;
    uint8_t *bytes; /* the whole file */
    uint64_t capacity;
    uint64_t used;
    struct section *sections; /* owned; number 1 first */
    uint32_t count;
    size_t room;
    struct pt_image_section_cache *caches[MAX_IMAGES]; /* owned; NULL before the first use */
    char path[32];                                     /* of the file, for libipt */
};

struct insn_space {
    struct insn_code *code; /* borrowed */
    struct base_ranges map; /* place: an offset in the file */
    uint64_t version;
};

/* ---- Code ---- */

/* A limit on the size of files holds for memory files too, and going over it ends the process.  */
static uint64_t file_capacity(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur > INSN_MAX_CODE_BYTES)
        return INSN_MAX_CODE_BYTES;
    return limit.rlim_cur / PAGE * PAGE;
}

static enum insn_status open_file(struct insn_code *code, struct insn_error *error)
{
    void *bytes;

    code->capacity = file_capacity();
    code->fd = memfd_create("insn-code", MFD_CLOEXEC);
    if (code->fd < 0 || ftruncate(code->fd, (off_t)code->capacity) != 0)
        return insn_fail_errno(error, "no memory file for code");
    bytes = mmap(NULL, code->capacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, code->fd,
                 0);
    if (bytes == MAP_FAILED)
        return insn_fail_errno(error, "no memory file for code");
    code->bytes = bytes;
    (void)snprintf(code->path, sizeof code->path, "/proc/self/fd/%d", code->fd);
    return INSN_OK;
}

enum insn_status insn_code_open(struct insn_code **out, struct insn_error *error)
{
    struct insn_code *code = calloc(1, sizeof *code);
    enum insn_status status;

    if (!code)
        return insn_fail(error, INSN_NO_MEMORY, "out of memory");
    status = open_file(code, error);
    if (status != INSN_OK) {
        insn_code_close(code);
        return status;
    }
    *out = code;
    return INSN_OK;
}

/* libipt refuses a file whose time of change is not what it was, which is right for files of
 * others.  */
static bool hide_change(const struct insn_code *code)
{
    static const struct timespec always[2] = { { 0, 0 }, { 0, 0 } };

    return futimens(code->fd, always) == 0;
}

enum insn_status insn_code_add(struct insn_code *code, const void *bytes, size_t size,
                               uint32_t *section, struct insn_error *error)
{
    if (size == 0)
        return insn_fail(error, INSN_INVALID, "a section without bytes");
    if (size > code->capacity - code->used || code->count == MAX_SECTIONS)
        return insn_fail(error, INSN_LIMIT, "more code than fits into %llu MiB",
                         (unsigned long long)(code->capacity >> 20));
    if (!base_make_room(&code->sections, &code->room, code->count + 1, sizeof *code->sections))
        return insn_fail(error, INSN_NO_MEMORY, "out of memory");
    memcpy(code->bytes + code->used, bytes, size);
    if (!hide_change(code))
        return insn_fail_errno(error, "no memory file for code");
    code->sections[code->count++] = (struct section){ code->used, size };
    code->used += (size + PAGE - 1) / PAGE * PAGE; /* capacity is whole pages */
    *section = code->count;
    return INSN_OK;
}

void insn_code_close(struct insn_code *code)
{
    if (!code)
        return;
    for (unsigned i = 0; i < MAX_IMAGES; i++)
        pt_iscache_free(code->caches[i]);
    if (code->bytes)
        (void)munmap(code->bytes, code->capacity);
    if (code->fd >= 0)
        (void)close(code->fd);
    free(code->sections);
    free(code);
}

/* ---- Spaces ---- */

enum insn_status insn_space_open(struct insn_code *code, struct insn_space **out,
                                 struct insn_error *error)
{
    struct insn_space *space = calloc(1, sizeof *space);

    if (!space)
        return insn_fail(error, INSN_NO_MEMORY, "out of memory");
    space->code = code;
    space->version = 1;
    *out = space;
    return INSN_OK;
}

void insn_space_close(struct insn_space *space)
{
    if (!space)
        return;
    base_ranges_release(&space->map);
    free(space);
}

enum insn_status insn_space_map(struct insn_space *space, uint64_t address, uint32_t section,
                                uint64_t offset, uint64_t size, struct insn_error *error)
{
    struct base_range new = { address, address + size - 1, 0, 0 };
    const struct section *from;

    if (section == 0 || section > space->code->count)
        return insn_fail(error, INSN_INVALID, "no section %u", section);
    from = &space->code->sections[section - 1];
    if (size == 0 || offset > from->size || size > from->size - offset || new.last < address)
        return insn_fail(error, INSN_INVALID, "a mapping that leaves its section");
    new.place = from->offset + offset;
    switch (base_ranges_add(&space->map, &new)) {
    case BASE_RANGES_NO_MEMORY:
        return insn_fail(error, INSN_NO_MEMORY, "out of memory");
    case BASE_RANGES_UNCHANGED:
        return INSN_OK;
    default:
        space->version++;
        return INSN_OK;
    }
}

size_t insn_space_read(const struct insn_space *space, uint64_t address, void *buffer, size_t size)
{
    size_t done = 0;

    for (size_t i = base_ranges_first(&space->map, address); i < space->map.count && done < size;
         i++) {
        const struct base_range *range = &space->map.items[i];
        uint64_t at = address + done, left;

        if (at < address || range->start > at)
            break;
        left = range->last - at;
        left = left < size - done - 1 ? left + 1 : size - done;
        memcpy((uint8_t *)buffer + done, space->code->bytes + range->place + (at - range->start),
               left);
        done += left;
    }
    return done;
}

uint64_t insn_space_version(const struct insn_space *space)
{
    return space->version;
}

/* ---- For libipt ---- */

/* Slices are cut at places of the file, so that spaces which map code at the same address share
 * them.  */
static bool add_range(const struct insn_space *space, struct pt_image_section_cache *cache,
                      struct pt_image *image, const struct base_range *range)
{
    uint64_t address = range->start, offset = range->place;
    uint64_t limit = range->place + (range->last - range->start) + 1;

    while (offset < limit) {
        uint64_t end = (offset / SLICE_BYTES + 1) * SLICE_BYTES;
        int isid;

        if (end > limit)
            end = limit;
        isid = pt_iscache_add_file(cache, space->code->path, offset, end - offset, address);
        if (isid < 0 || pt_image_add_cached(image, cache, isid, NULL) < 0)
            return false;
        address += end - offset;
        offset = end;
    }
    return true;
}

static struct pt_image_section_cache *cache_of(struct insn_code *code, unsigned thread)
{
    struct pt_image_section_cache *cache = code->caches[thread];

    if (cache)
        return cache;
    cache = pt_iscache_alloc(NULL);
    if (cache && pt_iscache_set_limit(cache, CACHE_BYTES) < 0) {
        pt_iscache_free(cache);
        return NULL;
    }
    code->caches[thread] = cache;
    return cache;
}

struct pt_image *insn_space_image(const struct insn_space *space, unsigned thread)
{
    struct pt_image_section_cache *cache = cache_of(space->code, thread);
    struct pt_image *image = cache ? pt_image_alloc(NULL) : NULL;

    for (size_t i = 0; image && i < space->map.count; i++) {
        if (!add_range(space, cache, image, &space->map.items[i])) {
            pt_image_free(image);
            return NULL;
        }
    }
    return image;
}
