/* formats.h - the formats of other tools that become the contents of a pprof profile.  */
#ifndef PROFILE_READ_FORMATS_H
#define PROFILE_READ_FORMATS_H

#include "libprofile/read/line_text.h"

/* The first bytes of a file: whether it is of the format.  At least a whole line is there, unless
 * the file or the window is shorter.  */
typedef bool read_is_fn(struct text start);
/* Read all of gather->source into gather.  The first line is not taken yet.  False: nothing of the
 * profile can be read.  */
typedef bool read_into_fn(struct gather *gather);

read_is_fn legacy_cpu_is, legacy_heap_is, legacy_contention_is, legacy_count_is, legacy_threads_is,
    legacy_java_is, perf_script_is, austin_is;
read_into_fn legacy_cpu_read, legacy_heap_read, legacy_contention_read, legacy_count_read,
    legacy_threads_read, legacy_java_read, perf_script_read, austin_read;

/* profile_read_pprof() of what a source has; takes the source over.  */
enum profile_status pprof_read_source(struct source *source, const struct profile_pprof_sink *sink,
                                      const struct profile_read_options *options,
                                      struct profile_read_notices *notices,
                                      struct profile_error *error);

/* The first line of start, and what follows it.  */
struct text read_first_line(struct text start);
struct text read_next_line(struct text *start);

#endif /* PROFILE_READ_FORMATS_H */
