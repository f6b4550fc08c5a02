/* fxt_writer.h - the record being built, for the files of the writer.
 *
 * A record is built whole in one buffer and handed out only if every step succeeded.  The first
 * failure is kept in writer->failure; from then on every step does nothing, so that builders need
 * no checks of their own.  */
#ifndef FXT_WRITER_H
#define FXT_WRITER_H

#include <fxt/fxt.h>

/* Section 5 rule 8.  */
#define WRITER_MAX_TEXT 31999u

/* Set in a string reference whose text follows inline (section 1.2).  */
#define WRITER_INLINE 0x8000u

/* Record types (section 2).  */
enum writer_type {
    WRITER_METADATA = 0,
    WRITER_INIT = 1,
    WRITER_STRING = 2,
    WRITER_THREAD = 3,
    WRITER_EVENT = 4,
    WRITER_BLOB = 5,
    WRITER_USERSPACE_OBJECT = 6,
    WRITER_KERNEL_OBJECT = 7,
    WRITER_SCHEDULING = 8,
    WRITER_LOG = 9,
    WRITER_PROFILER = 10,
    WRITER_LARGE = 15,
};

struct fxt_writer {
    fxt_write_fn write;
    void *context;
    uint64_t written;         /* bytes handed to write */
    uint8_t *bytes;           /* the record being built; grows to the largest record, owned */
    size_t used;              /* bytes of it; a multiple of 8 */
    size_t capacity;          /* bytes */
    struct fxt_error failure; /* FXT_OK, what is wrong with this record, or FXT_IO for good */
};

/* Note that the record cannot be written.  The first failure of a record stays.  */
__attribute__((format(printf, 3, 4))) void writer_fail(struct fxt_writer *writer,
                                                       enum fxt_status status, const char *format,
                                                       ...);

/* value at bits first..last of a word, or a failure that names what does not fit.  */
uint64_t writer_field(struct fxt_writer *writer, uint64_t value, unsigned first, unsigned last,
                      const char *what);

/* Start a record with its header: all of it but the size.  */
void writer_begin(struct fxt_writer *writer, enum writer_type type, uint64_t header);

/* Append a word; raw words; a stream, padded with zeros to the next word.  */
void writer_word(struct fxt_writer *writer, uint64_t word);
void writer_words(struct fxt_writer *writer, struct fxt_words words);
void writer_stream(struct fxt_writer *writer, const void *bytes, uint64_t length);

/* Put the size into the header (section 1.1).  name is what the record is called in a failure.  */
void writer_end(struct fxt_writer *writer, const char *name);

/* How much of the text is written: all of it, or up to WRITER_MAX_TEXT bytes of whole
 * characters.  */
uint32_t writer_text_length(struct fxt_string string);

/* A string reference (section 1.2), and the words that follow inline because of it: none for an
 * index or the empty string.  */
uint64_t writer_string_ref(struct fxt_writer *writer, struct fxt_string string);
void writer_string_text(struct fxt_writer *writer, struct fxt_string string);

/* The same for a thread (section 1.3).  */
uint64_t writer_thread_ref(struct fxt_thread thread);
void writer_thread_words(struct fxt_writer *writer, struct fxt_thread thread);

/* The record's argument count as bits first..first + 3, and the arguments (section 2.6).  */
uint64_t writer_argument_count(struct fxt_writer *writer, const struct fxt_record *record,
                               unsigned first);
void writer_arguments(struct fxt_writer *writer, const struct fxt_record *record);

/* Build the record in the writer's buffer.  */
void writer_build(struct fxt_writer *writer, const struct fxt_record *record);

#endif /* FXT_WRITER_H */
