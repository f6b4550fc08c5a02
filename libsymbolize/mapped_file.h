/* mapped_file.h - files mapped into memory, safe against files that shrink meanwhile.
 *
 * Sections are used where they lie in the file: an object of gigabytes costs page cache, not memory
 * of ours.  Reading a mapped page that the file no longer has raises SIGBUS.  A handler, installed
 * by the first mapping, puts a page of zeros there, notes that the file changed, and lets the
 * reader go on: decoders take zeros for damage, as they would any hostile byte.  A SIGBUS that is
 * not about a mapping of ours goes to the handler that was there before.
 */
#ifndef SYMBOLIZE_MAPPED_FILE_H
#define SYMBOLIZE_MAPPED_FILE_H

#include "libsymbolize/base.h"

struct sym_map; /* a file's bytes; belongs to who opened it */

/* The bytes of the regular file at path, as large as it is now.  A zero byte follows them, so that
 * strings end even in a file that is rewritten.  Files that cannot be mapped or whose size the
 * system does not tell (/proc/kallsyms) are read into memory, up to READ_BYTES_MAX.  Anything but
 * a regular file is refused without blocking.
 *
 * If kept is given, the file is opened once for several mappings: *kept is -1 at the first one and
 * becomes the descriptor, which the next one maps again, even if another file has that path by
 * then.  *kept stays -1 if the file is not mapped or the process keeps many already.
 *
 * SYM_OK, SYM_NOT_FOUND (no such file), SYM_IO or SYM_NO_MEMORY.  */
enum sym_status sym_map_open(const char *path, int *kept, struct sym_map **out,
                             struct sym_error *error);
void sym_map_forget(int *kept);          /* closes it; accepts -1 */
void sym_map_close(struct sym_map *map); /* accepts NULL */

struct sym_bytes sym_map_bytes(const struct sym_map *map);

/* Whether the file was cut, or written to, since it was mapped: what was read may be neither the
 * old nor the new.  Without ask only loss that was met counts; with it the file system is asked,
 * which takes a microsecond.  A file that another was renamed over is still the one that is
 * mapped.  */
bool sym_map_changed(const struct sym_map *map, bool ask);

#endif /* SYMBOLIZE_MAPPED_FILE_H */
