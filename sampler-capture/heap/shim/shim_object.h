/* shim_object.h - what tells a loaded object from another one that took its place.  */
#ifndef SHIM_OBJECT_H
#define SHIM_OBJECT_H

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

/* The build ID among notes, size bytes of them aligned to align, or NULL.  *length is that of the
 * ID.  */
const uint8_t *shim_find_build_id(const uint8_t *notes, size_t size, size_t align, size_t *length);

#ifdef DLFO_STRUCT_HAS_EH_DBASE /* glibc 2.35 */

#define SHIM_LEAST_PAGE 4096 /* of an object, which is there if its first byte is */

/* The program headers, which follow the header of the file in the first page as linkers lay it out;
 * or NULL.  */
const ElfW(Phdr) * shim_object_headers(const struct dl_find_object *object, size_t *count);

/* A number of an object that is loaded; never 0.  Plugins of one size take turns at an address, as
 * does what the loader keeps of them: then it is their names that differ, or, where one was built
 * anew meanwhile, the build IDs.  */
uint64_t shim_object_mark(const struct dl_find_object *object);

#endif

#endif /* SHIM_OBJECT_H */
