/* store_text.h - texts of a trace as SQLite takes them.  Private to libstore.  */
#ifndef STORE_TEXT_H
#define STORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Copy length bytes to out, which has room for three times as many, with U+FFFD in place of every
 * byte that is in no UTF-8 character, and of NUL.  Returns the number of bytes written.  */
size_t store_utf8_clean(const char *bytes, size_t length, char *out);

/* Whether a copy would be the same.  */
bool store_utf8_is_clean(const char *bytes, size_t length);

/* The largest number of bytes up to limit that cuts no character.  bytes has more than limit.  */
size_t store_utf8_cut(const char *bytes, size_t limit);

#endif /* STORE_TEXT_H */
