/* fallback_parts.h - an answer of libdwarf's process that was accepted: the properties that the
 * rest of libsymbolize relies on.  */
#ifndef TESTS_FALLBACK_PARTS_H
#define TESTS_FALLBACK_PARTS_H

#include "libsymbolize/fallback.h"

/* Returns the first property that does not hold, a phrase; NULL: all hold.  */
const char *fallback_parts_fault(const struct sym_dwarf *dwarf,
                                 const struct sym_fallback_parts *parts);

#endif /* TESTS_FALLBACK_PARTS_H */
