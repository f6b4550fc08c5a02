/* output.h - bytes on their way to a function that writes them, gathered into pieces.  */
#ifndef BASE_OUTPUT_H
#define BASE_OUTPUT_H

#include <stddef.h>

/* Take all size bytes.  Returns 0 or an errno value.  */
typedef int (*base_write_fn)(void *context, const void *bytes, size_t size);

struct base_output {
    base_write_fn write;
    void *context;
    int system_errno; /* of the first failure; nothing is written after it */
    size_t used;
    char buffer[32768];
};

void base_output_init(struct base_output *output, base_write_fn write, void *context);
void base_output_put(struct base_output *output, const void *bytes, size_t size);
/* Write the remaining bytes.  Returns system_errno.  */
int base_output_flush(struct base_output *output);

#endif /* BASE_OUTPUT_H */
