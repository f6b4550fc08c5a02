/* hex_text.h - bytes written as text, as the format notes show them.  */
#ifndef TESTS_HEX_TEXT_H
#define TESTS_HEX_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Store the bytes that the pairs of hex digits in text stand for, blanks ignored, and return how
 * many.  Fails the running test where they do not fit or are no digits.  */
size_t hex_bytes(const char *text, uint8_t *bytes, size_t capacity);

#endif /* TESTS_HEX_TEXT_H */
