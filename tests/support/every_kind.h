/* every_kind.h - a small trace in which everything occurs that the format has: each kind of record,
 * each type of event and argument, indexed and inline references, text that is no text, and numbers
 * at their limits.  */
#ifndef TESTS_EVERY_KIND_H
#define TESTS_EVERY_KIND_H

#include <fxt/fxt.h>

/* Write the trace.  The first status that is not FXT_OK, or FXT_OK.  */
enum fxt_status every_kind_write(struct fxt_writer *writer);

#endif /* TESTS_EVERY_KIND_H */
