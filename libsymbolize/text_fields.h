/* text_fields.h - lines, words and numbers of symbol files that are text (kallsyms.c,
 * breakpad.c).  */
#ifndef SYMBOLIZE_TEXT_FIELDS_H
#define SYMBOLIZE_TEXT_FIELDS_H

#include "libsymbolize/base.h"

/* Take the next line from text, without its end ("\n" or "\r\n").  False: none is left.  */
bool sym_take_line(struct sym_bytes *text, struct sym_bytes *line);

/* Take the bytes of line up to a blank or its end, without the blanks before them; none: size 0.
 */
struct sym_bytes sym_take_word(struct sym_bytes *line);

/* Take all blanks from the front of line.  */
void sym_skip_blanks(struct sym_bytes *line);

/* The value of a hexadecimal digit, or -1.  */
int sym_hex_digit(uint8_t byte);

/* A word as a number without sign or prefix.  False: it is none, or too large.  */
bool sym_word_hex(struct sym_bytes word, uint64_t *value);
bool sym_word_decimal(struct sym_bytes word, uint32_t *value);

/* Whether line begins with text.  */
bool sym_begins_with(struct sym_bytes line, const char *text);

#endif /* SYMBOLIZE_TEXT_FIELDS_H */
