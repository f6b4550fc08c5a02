/* Read a trace from standard input and write its records to standard output, each through the
 * writer.  Status 1 when a record cannot be written, 3 for damage.  */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <fxt/fxt.h>

static int write_out(void *context, const void *bytes, size_t size)
{
    (void)context;
    return fwrite(bytes, 1, size, stdout) == size ? 0 : EIO;
}

static int rewrite(struct fxt_reader *reader, struct fxt_writer *writer)
{
    const struct fxt_record *record;
    struct fxt_error error;
    enum fxt_status status;

    while ((status = fxt_reader_next(reader, &record, &error)) == FXT_OK) {
        if (fxt_writer_record(writer, record, &error) != FXT_OK) {
            (void)fprintf(stderr, "record at %llu: %s\n", (unsigned long long)record->offset,
                          error.message);
            return 1;
        }
    }
    return status == FXT_END && fxt_damage_total(fxt_reader_damage(reader), false) == 0 ? 0 : 3;
}

int main(void)
{
    struct fxt_input *input = NULL;
    struct fxt_reader *reader = NULL;
    struct fxt_writer *writer = NULL;
    int status = 4;

    if (fxt_input_open_fd(STDIN_FILENO, &input, NULL) == FXT_OK &&
        fxt_reader_open(input, NULL, &reader, NULL) == FXT_OK &&
        fxt_writer_open(write_out, NULL, &writer, NULL) == FXT_OK)
        status = rewrite(reader, writer);
    fxt_writer_close(writer);
    fxt_reader_close(reader);
    fxt_input_close(input);
    return fflush(stdout) == 0 ? status : 4;
}
