/* cli_bounds.h - what a program may take for its inputs: memory while it reads them, and bytes that
 * it writes.
 *
 * A small file can be made to unpack, or to stand for, any amount of data.  The bounds grow with
 * the files of the command line and are far above what real traces and profiles need:
 *
 *   memory of the process while it reads    512 MiB + 128 times the input
 *   each file, and each output              256 MiB + 1024 times the input
 *
 * The size of a pipe is not known: it counts as 1 GiB.  The kernel holds the bounds (RLIMIT_DATA,
 * RLIMIT_FSIZE), so that they hold for all memory and for temporary files, too; pipes are counted
 * by cli_output_write().  cli_error() names --no-limit where a bound was the reason.
 *
 *     while ((key = cli_next(&parser)) != CLI_END)
 *         if (!cli_bounds_take(key)) ...
 *     cli_bounds_begin(&inputs);
 */
#ifndef CLI_BOUNDS_H
#define CLI_BOUNDS_H

#include "cmd/cli/cli.h"

extern const struct cli_option cli_bounds_options[]; /* --no-limit */

/* Take the option.  False: key is another one.  */
bool cli_bounds_take(int key);

bool cli_bounds_are_lifted(void); /* by the option */

/* Whether a message is about the bounds that readers of profiles have of their own, which
 * --no-limit lifts, too.  */
bool cli_bounds_are_of_readers(const char *message);

/* Set the bounds for these files and folders, unless --no-limit was given; "-" is standard input.
 * Again for more inputs: their sizes are added.  */
void cli_bounds_begin(const struct cli_texts *inputs);

/* Only the output follows these inputs, not the memory of the program: call it before
 * cli_bounds_begin().  */
void cli_bounds_count_output(const struct cli_texts *inputs);

/* All is read: what comes now, such as debug information, does not follow the inputs.  The bound on
 * files stays.  Harmless without bounds.  */
void cli_bounds_lift_memory(void);

#endif /* CLI_BOUNDS_H */
