#include "base/output.h"

#include <string.h>

void base_output_init(struct base_output *output, base_write_fn write, void *context)
{
    output->write = write;
    output->context = context;
    output->system_errno = 0;
    output->used = 0;
}

int base_output_flush(struct base_output *output)
{
    if (output->used > 0 && output->system_errno == 0)
        output->system_errno = output->write(output->context, output->buffer, output->used);
    output->used = 0;
    return output->system_errno;
}

void base_output_put(struct base_output *output, const void *bytes, size_t size)
{
    const char *next = bytes;

    while (size > 0) {
        size_t room = sizeof output->buffer - output->used;
        size_t part = size < room ? size : room;

        memcpy(output->buffer + output->used, next, part);
        output->used += part;
        next += part;
        size -= part;
        if (output->used == sizeof output->buffer)
            (void)base_output_flush(output);
    }
}
