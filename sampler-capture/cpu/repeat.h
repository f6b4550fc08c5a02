/* repeat.h - one capture after another, each into a file of its own: what fxtdiff compares.  */
#ifndef CPU_REPEAT_H
#define CPU_REPEAT_H

#include "sampler-capture/cpu/cpu_options.h"

/* OUT.fxt becomes OUT.3.fxt, with at least as many digits as most has.  */
void repeat_name(const char *path, unsigned number, unsigned most, char *name, size_t size);

/* Call capture options->repeat times, each in a process of its own, with output the file of its
 * number.  What goes wrong ends the series.  Returns the exit status of the last one.  */
int repeat_captures(const struct cpu_options *options,
                    int (*capture)(const struct cpu_options *options));

#endif /* CPU_REPEAT_H */
