#include "tests/support/pass_on.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

struct source {
    const uint8_t *bytes;
    size_t left;
};

static ptrdiff_t source_read(void *context, void *bytes, size_t size)
{
    struct source *source = context;
    size_t part = size < source->left ? size : source->left;

    memcpy(bytes, source->bytes, part);
    source->bytes += part;
    source->left -= part;
    return (ptrdiff_t)part;
}

size_t pass_on(struct fxt_input *input, struct fxt_writer *writer)
{
    /* Single records do not look like the start of a trace.  */
    const struct fxt_reader_options options = { .size = sizeof options, .trust_start = true };
    const struct fxt_record *record;
    struct fxt_reader *reader;
    struct fxt_error error;
    enum fxt_status status;
    size_t count = 0;

    ck_assert_int_eq(fxt_reader_open(input, &options, &reader, &error), FXT_OK);
    while ((status = fxt_reader_next(reader, &record, &error)) == FXT_OK) {
        ck_assert_msg(fxt_writer_record(writer, record, &error) == FXT_OK, "record %zu (%s): %s",
                      count, fxt_record_kind_name(record->kind), error.message);
        count++;
    }
    ck_assert_int_eq(status, FXT_END);
    fxt_reader_close(reader);
    fxt_input_close(input);
    return count;
}

size_t pass_on_bytes(const uint8_t *bytes, size_t length, struct fxt_writer *writer)
{
    struct source source = { bytes, length };
    struct fxt_input *input;

    ck_assert_int_eq(fxt_input_open_callback(source_read, &source, &input, NULL), FXT_OK);
    return pass_on(input, writer);
}

int copy_write(void *context, const void *bytes, size_t size)
{
    struct copy *copy = context;

    if (size > copy->capacity - copy->used) {
        copy->capacity = 2 * (copy->capacity + size);
        copy->bytes = realloc(copy->bytes, copy->capacity);
        ck_assert_ptr_nonnull(copy->bytes);
    }
    memcpy(copy->bytes + copy->used, bytes, size);
    copy->used += size;
    return 0;
}
