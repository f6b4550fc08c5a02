/* internal.h - what the parts of libsymbolize share.
 *
 * From the bottom up: base.h (strings.c, bytes.c, segments.c: containers), object.h (object.c: ELF
 * files), symtab.h (symtab.c, demangle.c: symbol tables and names), dwarf.h (dwarf_*.c: debug
 * information), session.h (find.c: which files belong to a module; resolve.c and bulk.c: answers;
 * session.c: handles).
 */
#ifndef SYMBOLIZE_INTERNAL_H
#define SYMBOLIZE_INTERNAL_H

#include "libsymbolize/base.h"
#include "libsymbolize/dwarf.h"
#include "libsymbolize/object.h"
#include "libsymbolize/session.h"
#include "libsymbolize/symtab.h"

#endif /* SYMBOLIZE_INTERNAL_H */
