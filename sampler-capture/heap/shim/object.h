/* object.h - what tells a loaded object from another one that took its place.  */
#ifndef SHIM_OBJECT_H
#define SHIM_OBJECT_H

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>

#ifdef DLFO_STRUCT_HAS_EH_DBASE /* glibc 2.35 */

/* A number of an object that is loaded; never 0.  Plugins of one size take turns at an address, as
 * does what the loader keeps of them: then it is their names that differ.  */
static inline uint64_t shim_object_mark(const struct dl_find_object *object)
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

#endif

#endif /* SHIM_OBJECT_H */
