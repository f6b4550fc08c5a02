/* pack.h - gzip and zstd data, made on the spot.  */
#ifndef TESTS_PACK_H
#define TESTS_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Store bytes as one gzip member in out and return its length.  The running test fails where it
 * does not fit.  */
size_t pack_gzip(const void *bytes, size_t length, uint8_t *out, size_t size);

/* The same as one zstd frame, with or without the content's size in its header, always with a
 * checksum.  */
size_t pack_zstd(const void *bytes, size_t length, bool with_size, uint8_t *out, size_t size);

/* A skippable frame of length bytes, of kind 0..15.  */
size_t pack_skippable(size_t length, unsigned kind, uint8_t *out, size_t size);

#endif /* TESTS_PACK_H */
