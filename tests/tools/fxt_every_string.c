/* Write the trace of tests/support/every_string.h to standard output.  */
#include <stdio.h>

#include "tests/support/every_string.h"

static int write_out(void *context, const void *bytes, size_t size)
{
    (void)context;
    return fwrite(bytes, 1, size, stdout) == size ? 0 : 1;
}

int main(void)
{
    struct fxt_writer *writer;
    enum fxt_status status;

    if (fxt_writer_open(write_out, NULL, &writer, NULL) != FXT_OK)
        return 4;
    status = every_string_write(writer);
    fxt_writer_close(writer);
    return status == FXT_OK && fflush(stdout) == 0 ? 0 : 4;
}
