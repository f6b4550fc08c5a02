/* describe.h - a record as one line of text with every field, for comparing in tests.  */
#ifndef TESTS_DESCRIBE_H
#define TESTS_DESCRIBE_H

#include <stddef.h>

#include "libfxt/fxt.h"

/* Write the description, NUL-terminated, to text; at most size bytes.  */
void describe(const struct fxt_record *record, char *text, size_t size);

/* Read all of bytes (as trusted FXT) and write the descriptions, a line each, to text.  Returns
 * how reading ended; *damage may be NULL.  step bytes at most are given to the reader at a
 * time; 0: all.  */
enum fxt_status describe_all(const void *bytes, size_t length, size_t step, char *text, size_t size,
                             struct fxt_damage *damage);

/* "truncated_tail=1@24+12 ..." for what was counted: count, offset of the first, bytes.  */
void describe_damage(const struct fxt_damage *damage, char *text, size_t size);

#endif /* TESTS_DESCRIBE_H */
