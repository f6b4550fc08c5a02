/* capture_output.h - the file that a capture writes in place.
 *
 * In place, because a capture that is killed must leave what it has; but a file that was there
 * before is only emptied once the command runs, so that a typing error costs nothing.  A new file
 * gets its name when its first records are in it, so that no capture that is killed leaves an empty
 * one:
 *
 *     output_open(&output, path)
 *     if (output_is_new(&output))
 *         write the first records; output_publish(&output)
 *     start the command
 *     output_keep(&output)
 *     if they are not written yet, do it now
 */
#ifndef CAPTURE_OUTPUT_H
#define CAPTURE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

struct output {
    int fd; /* -1: not open */
    const char *name;
    const char *path; /* to remove if nothing comes of it; NULL: it was there before */
    bool is_stdout;
    bool is_unnamed; /* path is still to become its name */
};

/* End the program with CLI_USAGE unless a capture can write its trace to the operand of -o, NULL if
 * there is none.  */
void output_check_operand(const char *path);

/* Open path, "-" for standard output, for writing.  False with errno.  */
bool output_open(struct output *output, const char *path);

/* Whether nothing is lost by writing to it before the command runs.  */
bool output_is_new(const struct output *output);

/* A new file gets its name, unless it has it.  False with errno.  */
bool output_publish(struct output *output);

/* There will be a trace: empty the file, unless it is new, and keep it.  */
void output_keep(struct output *output);

/* Close it.  False with errno when what was written did not arrive.  */
bool output_close(struct output *output);

/* Report that the trace ends before the capture does.  cause is an errno; 0 is lack of memory.
 * remainder follows: what goes on, or "".  */
void output_report_early_end(const char *name, int cause, const char *remainder);

/* Close it at the end of a capture.  Unless fine is false, which was reported, report a failure.
 * Returns whether both are fine.  */
bool output_finish(struct output *output, bool fine);

/* Close it if it is open, and remove it unless it was there before or is kept.  */
void output_abandon(struct output *output);

/* Write all size bytes to fd.  0 or errno; *done says how many went out.  */
int output_write(int fd, const void *bytes, size_t size, size_t *done);

#endif /* CAPTURE_OUTPUT_H */
