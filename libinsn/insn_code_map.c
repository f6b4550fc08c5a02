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

struct placed {
    uint64_t start, last; /* addresses, both included */
    uint64_t offset;      /* of start in the file */
};

struct insn_space {
    struct insn_code *code; /* borrowed */
    struct placed *placed;  /* owned; by address, disjoint */
    size_t count, room;
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
    free(space->placed);
    free(space);
}

/* The first that ends at address or after.  */
static size_t first_at(const struct insn_space *space, uint64_t address)
{
    size_t low = 0, high = space->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (space->placed[middle].last < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Put what replaces the old ones of [first, limit): at most three.  There is room.  */
static void replace(struct insn_space *space, size_t first, size_t limit,
                    const struct placed *pieces, size_t count)
{
    memmove(space->placed + first + count, space->placed + limit,
            (space->count - limit) * sizeof *space->placed);
    memcpy(space->placed + first, pieces, count * sizeof *pieces);
    space->count = space->count - (limit - first) + count;
}

static bool same_code(const struct placed *a, const struct placed *b)
{
    return a->start <= b->start && a->last >= b->last &&
           b->start - a->start == b->offset - a->offset;
}

static void place(struct insn_space *space, const struct placed *new)
{
    size_t first = first_at(space, new->start), limit = first, count = 0;
    struct placed pieces[3];

    if (first < space->count && same_code(&space->placed[first], new))
        return;
    if (first < space->count && space->placed[first].start < new->start) {
        pieces[count] = space->placed[first];
        pieces[count++].last = new->start - 1;
    }
    while (limit < space->count && space->placed[limit].start <= new->last)
        limit++;
    pieces[count++] = *new;
    if (limit > first && space->placed[limit - 1].last > new->last) {
        struct placed *rest = &pieces[count++];

        *rest = space->placed[limit - 1];
        rest->offset += new->last + 1 - rest->start;
        rest->start = new->last + 1;
    }
    replace(space, first, limit, pieces, count);
    space->version++;
}

enum insn_status insn_space_map(struct insn_space *space, uint64_t address, uint32_t section,
                                uint64_t offset, uint64_t size, struct insn_error *error)
{
    struct placed new = { .start = address, .last = address + size - 1 };
    const struct section *from;

    if (section == 0 || section > space->code->count)
        return insn_fail(error, INSN_INVALID, "no section %u", section);
    from = &space->code->sections[section - 1];
    if (size == 0 || offset > from->size || size > from->size - offset || new.last < address)
        return insn_fail(error, INSN_INVALID, "a mapping that leaves its section");
    new.offset = from->offset + offset;
    if (!base_make_room(&space->placed, &space->room, space->count + 2, sizeof *space->placed))
        return insn_fail(error, INSN_NO_MEMORY, "out of memory");
    place(space, &new);
    return INSN_OK;
}

size_t insn_space_read(const struct insn_space *space, uint64_t address, void *buffer, size_t size)
{
    size_t done = 0;

    for (size_t i = first_at(space, address); i < space->count && done < size; i++) {
        const struct placed *placed = &space->placed[i];
        uint64_t at = address + done, left;

        if (at < address || placed->start > at)
            break;
        left = placed->last - at;
        left = left < size - done - 1 ? left + 1 : size - done;
        memcpy((uint8_t *)buffer + done, space->code->bytes + placed->offset + (at - placed->start),
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
static bool add_placed(const struct insn_space *space, struct pt_image_section_cache *cache,
                       struct pt_image *image, const struct placed *placed)
{
    uint64_t address = placed->start, offset = placed->offset;
    uint64_t limit = placed->offset + (placed->last - placed->start) + 1;

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

    for (size_t i = 0; image && i < space->count; i++) {
        if (!add_placed(space, cache, image, &space->placed[i])) {
            pt_image_free(image);
            return NULL;
        }
    }
    return image;
}
