/* describe.h - a record as one line of text with every field, for comparing in tests.  */
#ifndef TESTS_DESCRIBE_H
#define TESTS_DESCRIBE_H

#include <stddef.h>

#include <fxt/fxt.h>

/* Write the description, NUL-terminated, to text; at most size bytes.  */
void describe(const struct fxt_record *record, char *text, size_t size);

/* Bytes in memory as an input that gives at most step of them at a time; step 0: all.  */
struct source {
    const uint8_t *bytes;
    size_t left;
    size_t step;
};

ptrdiff_t read_source(void *source, void *buffer, size_t size); /* a fxt_read_fn */

/* *source is filled in and must outlive the input.  */
struct fxt_input *open_bytes(struct source *source, const void *bytes, size_t length, size_t step);

/* What is left when reading has ended.  */
struct reading {
    struct fxt_damage damage;
    struct fxt_error error; /* of FXT_FATAL */
    uint64_t offset;        /* fxt_reader_offset() */
    size_t records;
    enum fxt_compression compression;
};

/* Read all of the input, which is closed, and write the descriptions, a line each, to text.
 * Returns how reading ended.  The running test fails unless every byte up to the reader's offset is
 * in a delivered record or in the damage.  */
enum fxt_status describe_input(struct fxt_input *input, const struct fxt_reader_options *options,
                               char *text, size_t size, struct reading *reading);

/* The same for bytes, as trusted FXT.  *damage may be NULL.  The running test also fails unless
 * plain bytes that were read to FXT_END are all accounted for.  */
enum fxt_status describe_all(const void *bytes, size_t length, size_t step, char *text, size_t size,
                             struct fxt_damage *damage);

/* "truncated_tail=1@24+12 ..." for what was counted: count, offset of the first, bytes.  */
void describe_damage(const struct fxt_damage *damage, char *text, size_t size);

#endif /* TESTS_DESCRIBE_H */
