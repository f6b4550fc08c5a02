/* object_resolve.h - properties of names in any object, for fuzz targets of libsymbolize.  */
#ifndef FUZZ_OBJECT_RESOLVE_H
#define FUZZ_OBJECT_RESOLVE_H

#include <stddef.h>

/* Look addresses up in the object at path in every way there is: there is an answer or a sentence;
 * in bulk, alone, in another order and in a batch that tells each answer once, an address has the
 * same answer; the last frame is the real function, and there are no more frames than the bytes of
 * all files, size of them, allow.  */
void resolve_all_ways(const char *path, size_t size);

#endif /* FUZZ_OBJECT_RESOLVE_H */
