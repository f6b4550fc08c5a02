/* internal.h - what the parts of libsymbolize share.
 *
 * From the bottom up: base.h (strings.c, bytes.c, segments.c: containers), map.h (map.c: files),
 * object.h (object.c, sections.c, relocate.c, unpack.c, dynamic.c: ELF files), symtab.h (symtab.c,
 * plt.c, kallsyms.c, demangle.c: symbols and names), dwarf.h (dwarf_*.c: debug information),
 * session.h (find.c, sources.c, companions.c, debuginfod.c, report.c: which files belong to a
 * module, and what to say of it; resolve.c, bulk.c: answers; session.c: handles), cache.h
 * (walk.c, cache_*.c: what was read, kept in files).
 */
#ifndef SYMBOLIZE_INTERNAL_H
#define SYMBOLIZE_INTERNAL_H

#include "libsymbolize/base.h"
#include "libsymbolize/cache.h"
#include "libsymbolize/dwarf.h"
#include "libsymbolize/object.h"
#include "libsymbolize/session.h"
#include "libsymbolize/symtab.h"

#endif /* SYMBOLIZE_INTERNAL_H */
