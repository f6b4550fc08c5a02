/* clean_text.h - names of files and tasks are any bytes; text in a trace is UTF-8.  */
#ifndef CAPTURE_CLEAN_TEXT_H
#define CAPTURE_CLEAN_TEXT_H

#include <stddef.h>

/* Copy text to buffer (size > 0 bytes, NUL included) with '?' for each byte that is not part of a
 * valid character.  What does not fit is cut before a whole character.  */
void utf8_copy(char *buffer, size_t size, const char *text);

/* As utf8_copy(), but it is the front that is cut: the end of a path says more than its start.  */
void utf8_copy_tail(char *buffer, size_t size, const char *text);

#endif /* CAPTURE_CLEAN_TEXT_H */
