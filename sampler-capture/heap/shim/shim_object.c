#include "sampler-capture/heap/shim/shim_object.h"

#include <elf.h>
#include <stdatomic.h>
#include <string.h>

const uint8_t *shim_find_build_id(const uint8_t *notes, size_t size, size_t align, size_t *length)
{
    while (size >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        size_t name, descriptor;

        memcpy(&note, notes, sizeof note);
        name = sizeof note + (((size_t)note.n_namesz + align - 1) & -align);
        descriptor = ((size_t)note.n_descsz + align - 1) & -align;
        if (name > size || descriptor > size - name)
            return NULL;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(notes + sizeof note, "GNU", 4) == 0) {
            *length = note.n_descsz;
            return notes + name;
        }
        notes += name + descriptor;
        size -= name + descriptor;
    }
    return NULL;
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE

/* The linker lets all calls of _dl_find_object(), the compiler's unwinder's too, come here: C
 * libraries that lack it could not load this one otherwise.  */
extern int __real__dl_find_object(void *address, struct dl_find_object *object)
    __attribute__((weak));
__attribute__((visibility("hidden"))) int __wrap__dl_find_object(void *address,
                                                                 struct dl_find_object *object);

int __wrap__dl_find_object(void *address, struct dl_find_object *object)
{
    return __real__dl_find_object ? __real__dl_find_object(address, object) : -1;
}

const ElfW(Phdr) * shim_object_headers(const struct dl_find_object *object, size_t *count)
{
    const char *start = object->dlfo_map_start;
    ElfW(Ehdr) header;

    if ((size_t)((const char *)object->dlfo_map_end - start) < sizeof header)
        return NULL;
    memcpy(&header, start, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(ElfW(Phdr)) ||
        header.e_phoff > SHIM_LEAST_PAGE ||
        header.e_phnum > (SHIM_LEAST_PAGE - header.e_phoff) / sizeof(ElfW(Phdr)))
        return NULL;
    *count = header.e_phnum;
    return (const ElfW(Phdr) *)(const void *)(start + header.e_phoff);
}

/* ---- Marks ---- */

/* What is looked at of a build ID.  */
#define ID_SIZE sizeof(uint64_t)

/* Where an object of some mark has its build ID: the offset in its first page, or 0, in the low 12
 * bits, below the mark.  */
static _Atomic uint64_t places[256];
#define OFFSET_MASK (SHIM_LEAST_PAGE - 1)

static uint64_t find_place(const struct dl_find_object *object)
{
    const uint8_t *start = object->dlfo_map_start;
    size_t count;
    const ElfW(Phdr) *headers = shim_object_headers(object, &count);

    for (size_t i = 0; headers && i < count; i++) {
        const ElfW(Phdr) *header = &headers[i];
        size_t offset = object->dlfo_link_map->l_addr + header->p_vaddr - (uintptr_t)start, length;
        const uint8_t *id;

        if (header->p_type != PT_NOTE || offset >= SHIM_LEAST_PAGE ||
            header->p_filesz > SHIM_LEAST_PAGE - offset)
            continue;
        id = shim_find_build_id(start + offset, header->p_filesz, header->p_align == 8 ? 8 : 4,
                                &length);
        if (id && length >= ID_SIZE)
            return (uint64_t)(id - start);
    }
    return 0;
}

/* Of what the loader keeps of it.  */
static uint64_t mark_of(const struct dl_find_object *object)
{
    const struct link_map *map = object->dlfo_link_map;
    uint64_t mark = (uint64_t)(uintptr_t)object->dlfo_map_start * UINT64_C(0x9e3779b97f4a7c15);

    for (const char *name = map->l_name; name && *name; name++)
        mark = (mark ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    mark ^= (uint64_t)(uintptr_t)map->l_ld * UINT64_C(0x87c37b91114253d5);
    mark ^= (uint64_t)(uintptr_t)object->dlfo_eh_frame * UINT64_C(0xff51afd7ed558ccd);
    mark ^= (uint64_t)(uintptr_t)object->dlfo_map_end * UINT64_C(0xc4ceb9fe1a85ec53);
    return mark | 1;
}

uint64_t shim_object_mark(const struct dl_find_object *object)
{
    uint64_t mark = mark_of(object), id;
    _Atomic uint64_t *place = &places[mark >> 56];
    uint64_t found = atomic_load_explicit(place, memory_order_relaxed);

    if ((found ^ mark) & ~(uint64_t)OFFSET_MASK) {
        found = (mark & ~(uint64_t)OFFSET_MASK) | find_place(object);
        atomic_store_explicit(place, found, memory_order_relaxed);
    }
    if ((found & OFFSET_MASK) == 0)
        return mark;
    memcpy(&id, (const uint8_t *)object->dlfo_map_start + (found & OFFSET_MASK), sizeof id);
    return (mark ^ id * UINT64_C(0xbf58476d1ce4e5b9)) | 1;
}

#endif
