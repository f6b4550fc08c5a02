/* visible.h - names from files, made safe to show to people.
 *
 * A name in a trace may hold bytes that drive a terminal, reverse the reading order of a line or
 * break it.  One policy holds for all programs:
 *
 *   text for people, HTML   what base_shown_as_is() refuses is escaped: \x9b, \u202e, \n
 *   JSON                    the same characters are escaped as \u009b, \u202e: the data are kept
 *   CSV, TSV, folded, SQL   names stay as they are in files and pipes; on a terminal they are
 *                           escaped as text is  */
#ifndef BASE_VISIBLE_H
#define BASE_VISIBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"

/* Whether the first character of length bytes, at least 1, may be shown as it is.  *size becomes
 * its bytes, or 1 for a byte that is not UTF-8.  Refused are C0 and C1 control characters, DEL,
 * bidirectional controls (U+200E, U+200F, U+202A..U+202E, U+2066..U+2069), line separators (U+2028,
 * U+2029) and bytes that are not UTF-8.  */
bool base_shown_as_is(const char *bytes, size_t length, size_t *size);

/* The code point of a character of size bytes; UINT32_MAX for a byte that is not UTF-8.  */
uint32_t base_code_point(const char *bytes, size_t size);

#define BASE_ESCAPE_BYTES 8 /* of the longest escape and its NUL */

/* Write the escape of a refused character, "\n", "\x9b" or "\u202e", and return its length.  */
size_t base_escape(char escape[BASE_ESCAPE_BYTES], const char *bytes, size_t size);

/* Add bytes with every refused character escaped.  */
void base_text_add_visible(struct base_text *text, const char *bytes, size_t length);

/* Whether a spreadsheet would take the text of a cell for a formula: it begins with =, +, -, @, a
 * tab or the end of a line.  */
static inline bool base_is_formula(const char *bytes, size_t length)
{
    return length > 0 && *bytes && strchr("=+-@\t\r\n", *bytes) != NULL;
}

#endif /* BASE_VISIBLE_H */
