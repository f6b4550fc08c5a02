/* pprof_text.h - a pprof profile in memory, and what a reader tells of it as text.  */
#ifndef TESTS_PPROF_TEXT_H
#define TESTS_PPROF_TEXT_H

#include <fxt/profile_files.h>

/* Bytes that grow.  Start with { 0 }, end with free(bytes.items).  */
struct pprof_bytes {
    uint8_t *items;
    size_t count;
    bool failed; /* memory was short */
};

int pprof_bytes_write(void *bytes, const void *more, size_t size); /* a profile_write_fn */

/* A profile that uses every field: two sample types, mappings, inlined functions, labels of all
 * kinds, comments.  Compressed unless raw.  No assertions inside.  */
enum profile_status pprof_example(bool raw, struct pprof_bytes *out);

/* A sink that writes a line for each call to context, a struct pprof_bytes.  */
void pprof_text_sink(struct pprof_bytes *text, struct profile_pprof_sink *out);

/* Read bytes, at most step at a time (0: all), into the sink.  */
enum profile_status pprof_read_bytes(const void *bytes, size_t length, size_t step,
                                     const struct profile_pprof_sink *sink,
                                     const struct profile_read_options *options,
                                     struct profile_read_notices *notices,
                                     struct profile_error *error);

#endif /* TESTS_PPROF_TEXT_H */
