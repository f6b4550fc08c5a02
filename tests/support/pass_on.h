/* pass_on.h - read records and write them again.  */
#ifndef TESTS_PASS_ON_H
#define TESTS_PASS_ON_H

#include <stddef.h>
#include <stdint.h>

#include <fxt/fxt.h>

/* Pass every record of the input, or of the bytes, to the writer and return how many there were.
 * The running test fails if reading ends early or a record is refused.  The input is closed.  */
size_t pass_on(struct fxt_input *input, struct fxt_writer *writer);
size_t pass_on_bytes(const uint8_t *bytes, size_t length, struct fxt_writer *writer);

/* A growing buffer to write to: start with { 0 }, end with free(copy.bytes).  */
struct copy {
    uint8_t *bytes;
    size_t used;
    size_t capacity;
};

int copy_write(void *copy, const void *bytes, size_t size); /* a fxt_write_fn */

#endif /* TESTS_PASS_ON_H */
