/* pack.h - gzip data, made on the spot.  */
#ifndef TESTS_PACK_H
#define TESTS_PACK_H

#include <stddef.h>
#include <stdint.h>

/* Store bytes as one gzip member in out and return its length.  The running test fails where it
 * does not fit.  */
size_t pack_gzip(const void *bytes, size_t length, uint8_t *out, size_t size);

#endif /* TESTS_PACK_H */
