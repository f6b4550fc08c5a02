/* every_string.h - a trace in which the same bytes, which are no text, stand in every place where a
 * record holds a string (docs/formats/fxt.md section 6, case 30).  */
#ifndef TESTS_EVERY_STRING_H
#define TESTS_EVERY_STRING_H

#include <fxt/fxt.h>

/* Bytes that are not UTF-8, an embedded NUL, quotes, a backslash, control bytes.  */
extern const struct fxt_string every_string_text;

/* Write the trace.  The first status that is not FXT_OK, or FXT_OK.  */
enum fxt_status every_string_write(struct fxt_writer *writer);

#endif /* TESTS_EVERY_STRING_H */
