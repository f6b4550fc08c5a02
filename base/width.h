/* width.h - how many columns of a terminal a text takes, and cutting it to fewer.
 *
 * Text is UTF-8; a byte that is none counts one column.  Nothing depends on the locale.  */
#ifndef CLI_WIDTH_H
#define CLI_WIDTH_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the first character, and the columns it takes: 0, 1 or 2.  length is at least 1.  */
size_t base_width_character(const char *bytes, size_t length, size_t *columns);

size_t base_width_text(const char *bytes, size_t length);

/* Cut a text in its middle: print the first *head bytes, one character of one column that stands
 * for what is gone, and the last *tail bytes.  *head is length where the text fits: then nothing
 * is gone.  Beginning and ending are what tells long names apart.  */
void base_width_cut(const char *bytes, size_t length, size_t columns, size_t *head, size_t *tail);

#endif /* CLI_WIDTH_H */
