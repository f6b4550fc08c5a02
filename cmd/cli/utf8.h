/* utf8.h - which bytes are text.  */
#ifndef CLI_UTF8_H
#define CLI_UTF8_H

#include <stddef.h>

/* How many bytes of the length at bytes form one well-formed UTF-8 character; 0 when the first
 * of them begins none.  length is at least 1.  */
size_t utf8_character(const char *bytes, size_t length);

#endif /* CLI_UTF8_H */
