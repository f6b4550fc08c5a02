/* whole_input.h - all bytes of an input.  The running test fails if fxt_input_read() breaks its
 * promises.  */
#ifndef TESTS_WHOLE_INPUT_H
#define TESTS_WHOLE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <fxt/fxt.h>

/* What the last of the functions below got, and how it failed.  */
extern uint8_t unpacked[500000];
extern struct fxt_error unpack_error;

/* Read to the end in pieces of at most size.  Returns how it ended; *total bytes were unpacked.  */
enum fxt_status read_to_end(struct fxt_input *input, size_t size, size_t *total);

/* The same of bytes that come at most step at a time (0: all).  */
enum fxt_status read_bytes(const void *bytes, size_t length, size_t step, size_t *total, bool *cut);

/* How bytes may come, for tcase_add_loop_test().  */
enum { UNPACK_PIECES = 5 };
extern const struct unpack_pieces {
    size_t step; /* what the callback gives at most */
    size_t size; /* what is asked for at most */
} unpack_pieces[UNPACK_PIECES];

/* Whatever they come in, the bytes unpack to text; FXT_FATAL has that message, and is the data's
 * fault.  */
void check_unpacks_to(const void *bytes, size_t length, enum fxt_status status, const char *text,
                      const char *message);

/* The bytes are a packed magic record and something that does not fit it: the reader delivers the
 * record, counts damage, and fails with that message.  */
void check_corrupt_trace(const void *bytes, size_t length, enum fxt_compression compression,
                         const char *message);

#endif /* TESTS_WHOLE_INPUT_H */
