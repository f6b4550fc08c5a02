/* support.h - what the fuzz targets share: inputs in pieces, records as bytes, properties.
 *
 * docs/testing.md tells how to run the targets and what each of them promises.  */
#ifndef FUZZ_SUPPORT_H
#define FUZZ_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <fxt/fxt.h>

/* What libFuzzer calls.  */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* End the process, as a finding, unless the property holds.  */
#define HOLD(property, ...)                                         \
    do {                                                            \
        if (!(property))                                            \
            fuzz_broken(__FILE__, __LINE__, #property __VA_ARGS__); \
    } while (0)

_Noreturn void fuzz_broken(const char *file, int line, const char *property);

/* Memory, or the end: an allocation that fails is not what these targets look for.  */
void *fuzz_allocate(size_t size);

/* ---- Bytes in pieces ---- */

/* How many bytes a read gives at most.  */
struct pieces {
    size_t least;
    size_t most;    /* lengths between the two follow each other at random; 0: all that is there */
    uint64_t state; /* of the generator */
};

struct fuzz_source {
    const uint8_t *bytes;
    size_t left;
    struct pieces pieces;
};

ptrdiff_t fuzz_read(void *source, void *buffer, size_t size); /* a fxt_read_fn */

/* Bytes as an input.  *source is filled in and must outlive it.  */
struct fxt_input *fuzz_open(struct fuzz_source *source, const void *bytes, size_t length,
                            struct pieces pieces);

/* ---- A growing buffer ---- */

struct fuzz_buffer { /* start with { 0 }, end with free(buffer.bytes) */
    uint8_t *bytes;
    size_t used;
    size_t capacity;
};

void fuzz_append(struct fuzz_buffer *buffer, const void *bytes, size_t length);
int fuzz_write(void *buffer, const void *bytes, size_t size); /* a fxt_write_fn */

/* ---- Records as bytes ---- */

enum digest_form {
    DIGEST_WHOLE,   /* every member */
    DIGEST_WRITTEN, /* what fxt_writer_record() promises to keep: see fxt.h */
};

/* Append the record's members, so that equal bytes are equal records.  */
void digest_record(struct fuzz_buffer *digest, const struct fxt_record *record,
                   enum digest_form form);

#endif /* FUZZ_SUPPORT_H */
