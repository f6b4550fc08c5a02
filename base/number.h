/* number.h - numbers as people read them.  */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stdint.h>

#define BASE_GROUPED_BYTES 27 /* of the longest one and its NUL */

/* Write 1234567 as "1,234,567" into text and return a pointer to its first digit, which need not
 * be the first byte of text.  */
const char *base_grouped(uint64_t number, char text[BASE_GROUPED_BYTES]);

#endif /* BASE_NUMBER_H */
