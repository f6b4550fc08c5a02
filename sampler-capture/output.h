/* output.h - the file that a capture writes in place.
 *
 * In place, because a capture that is killed must leave what it has; but a file that was there
 * before is only emptied once the command runs, so that a typing error costs nothing.  */
#ifndef CAPTURE_OUTPUT_H
#define CAPTURE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

struct output {
    int fd; /* -1: not open */
    const char *name;
    const char *path; /* to remove if nothing comes of it; NULL: it was there before */
    bool is_stdout;
};

/* Open path, "-" for standard output, for writing.  False with errno.  */
bool output_open(struct output *output, const char *path);

/* There will be a trace: empty the file and keep it.  */
void output_keep(struct output *output);

/* Close it.  False with errno when what was written did not arrive.  */
bool output_close(struct output *output);

/* Close it if it is open, and remove it unless it was there before or is kept.  */
void output_abandon(struct output *output);

/* Write all size bytes to fd.  0 or errno; *done says how many went out.  */
int output_write(int fd, const void *bytes, size_t size, size_t *done);

#endif /* CAPTURE_OUTPUT_H */
