/* parts.h - regions of the kernel sampler and trace-engine buffers, built by hand from the format
 * notes, and the archives that they amount to.  */
#ifndef TESTS_PARTS_H
#define TESTS_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include <fxt/fxt.h>

/* Bytes that grow at their end; no test needs more.  */
struct bytes {
    uint8_t data[65536];
    size_t length;
};

void put_word(struct bytes *bytes, uint64_t word);
void put_zeros(struct bytes *bytes, size_t length);
void put_bytes(struct bytes *bytes, const struct bytes *more);

/* A sample of that many frames, as the sampler writes it; tick and frames make it its own.  */
void put_sample(struct bytes *bytes, unsigned frames, uint64_t tick);

/* Records of an archive.  */
void put_magic(struct bytes *bytes);
void put_provider(struct bytes *bytes, uint32_t id, const char *name);
void put_loss(struct bytes *bytes, uint32_t id);
void put_init(struct bytes *bytes, uint64_t ticks_per_second);
void put_string(struct bytes *bytes, unsigned index, const char *text);
/* An instant of an inline thread whose name is a string of the table, of four words.  */
void put_event(struct bytes *bytes, unsigned name, uint64_t tick);

/* All that fxt_input_read() gives, in reads of at most size bytes.  Returns how it ended.  */
enum fxt_status read_trace(struct fxt_input *input, size_t size, struct bytes *out);

/* The running test fails, naming the case, unless the bytes are the same.  */
void same_bytes(const struct bytes *got, const struct bytes *wanted, const char *what);

#endif /* TESTS_PARTS_H */
