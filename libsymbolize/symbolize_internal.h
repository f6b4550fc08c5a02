/* symbolize_internal.h - what the parts of libsymbolize share.
 *
 * From the bottom up: base.h (strings.c, bytes.c, segments.c: containers), mapped_file.h
 * (mapped_file.c: files), elf_object.h (elf_object.c, sections.c, relocate.c, unpack.c, dynamic.c:
 * ELF files), symtab.h (symtab.c, plt.c, kallsyms.c, demangle.c: symbols and names), dwarf.h
 * (dwarf_*.c: debug information), sym_session.h (find.c, sources.c, companions.c, debuginfod.c,
 * search_report.c: which files belong to a module, and what to say of it; resolve.c, bulk.c:
 * answers; sym_session.c: handles), symbol_cache.h (range_walk.c, cache_*.c: what was read, kept in
 * files).
 */
#ifndef SYMBOLIZE_INTERNAL_H
#define SYMBOLIZE_INTERNAL_H

#include "libsymbolize/base.h"
#include "libsymbolize/dwarf.h"
#include "libsymbolize/elf_object.h"
#include "libsymbolize/sym_session.h"
#include "libsymbolize/symbol_cache.h"
#include "libsymbolize/symtab.h"

#endif /* SYMBOLIZE_INTERNAL_H */
