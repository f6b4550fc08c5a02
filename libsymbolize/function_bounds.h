/* function_bounds.h - where functions begin and end that nothing names, by the tables for
 * unwinding.  */
#ifndef SYMBOLIZE_FUNCTION_BOUNDS_H
#define SYMBOLIZE_FUNCTION_BOUNDS_H

#include "libsymbolize/elf_object.h"

/* All zero is empty.  */
struct sym_bounds {
    uint64_t *starts; /* of the functions */
    size_t count, capacity;
    struct sym_segments segments; /* value: index into starts */
};

/* The functions with code in object, open, that its .eh_frame and .debug_frame tell: LSB "Exception
 * Frames", DWARF 5 section 6.4.  What is damaged costs the entries behind it; so do encodings of
 * addresses that only a running program can read, their own entries.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_bounds_read(struct sym_bounds *bounds, const struct sym_object *object);

/* The same for one section, whose first byte is loaded at vaddr.  */
enum sym_status sym_bounds_add(struct sym_bounds *bounds, struct sym_ranges *ranges,
                               const struct sym_object *object, struct sym_bytes section,
                               uint64_t vaddr, bool is_eh_frame);

/* Whether a function is around vaddr; its first byte to *start.  Cuts span to where the answer
 * holds.  */
bool sym_bounds_find(const struct sym_bounds *bounds, uint64_t vaddr, struct sym_span *span,
                     uint64_t *start);

void sym_bounds_release(struct sym_bounds *bounds);

#endif /* SYMBOLIZE_FUNCTION_BOUNDS_H */
