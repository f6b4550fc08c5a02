/* writers.h - what the writers of formats share: the table of formats calls them by these
 * functions, and keeps in memory what their samples refer to.
 *
 *   write_formats.c  the table of formats; struct profile_writer
 *   writer_tables.c  strings, functions, locations, threads and stacks of a profile
 *   timed.c          its samples, by thread and time
 *   json_out.c       JSON
 *
 * speedscope.c, firefox.c, perfetto.c, pprof_writer.c and folded_write.c have one format each.  */
#ifndef PROFILE_WRITE_WRITERS_H
#define PROFILE_WRITE_WRITERS_H

#include <fxt/profile_formats.h>
#include "base/map.h"
#include "base/numbering.h"
#include "base/sorter.h"
#include "libprofile/write/writer_output.h"

/* ---- A writer of a format ---- */

/* What open returns is the context of all others and of the sink.  */
struct writer_functions {
    enum profile_status (*open)(const struct profile_writer_options *options,
                                profile_write_fn write, void *context, void **out,
                                struct profile_error *error);
    void (*sink)(void *writer, struct profile_pprof_sink *out);
    /* Where the functions of the sink are to describe a failure; NULL: nowhere.  */
    void (*errors_to)(void *writer, struct profile_error *error);
    enum profile_status (*finish)(void *writer, struct profile_error *error);
    void (*close)(void *writer); /* accepts NULL */
};

extern const struct writer_functions pprof_functions;      /* pprof_writer.c */
extern const struct writer_functions speedscope_functions; /* speedscope.c */
extern const struct writer_functions firefox_functions;    /* firefox.c */
extern const struct writer_functions perfetto_functions;   /* perfetto.c */
extern const struct writer_functions folded_functions;     /* folded_write.c */

/* ---- Tables (writer_tables.c) ---- */

struct writer_location {
    uint32_t mapping; /* number; 0 none */
    uint64_t address;
    size_t first_line;
    uint32_t line_count;
};

/* A function in a stack: a line of a location, or the location itself if it has none.  */
struct writer_frame {
    const struct writer_location *location;
    uint32_t location_number;
    const struct profile_pprof_line *line;         /* NULL: none */
    const struct profile_pprof_function *function; /* NULL: none */
    uint32_t depth; /* 0: not inlined, else how many functions it is inlined into */
};

/* All zero is empty, but for error.  The first member of a writer, so that functions of the sink
 * get either.  Numbers count from 1; the entry of number i is at [i - 1].  */
struct writer_tables {
    struct profile_error *error; /* where functions describe failures; may be NULL */
    struct base_arena arena;
    struct profile_text *strings; /* number i at [i]: string 0 is "" */
    size_t string_count, string_capacity;
    bool has_header;
    struct profile_pprof_header header; /* types are a copy; comments are not kept */
    size_t shown;                       /* index of the type that viewers show */
    struct profile_pprof_mapping *mappings;
    size_t mapping_count, mapping_capacity;
    struct profile_pprof_function *functions;
    size_t function_count, function_capacity;
    struct writer_location *locations;
    size_t location_count, location_capacity;
    struct profile_pprof_line *lines;
    size_t line_count, line_capacity;
    struct profile_pprof_thread *threads; /* number i at [i]; [0] is what is not known */
    size_t thread_count, thread_capacity;
    struct base_pairs frames;     /* number of the location, index of the line */
    struct base_pairs stacks;     /* stack of the caller, frame */
    struct base_map known_stacks; /* from the producer's numbers */
};

/* Fill in the functions of a sink that fill the tables: all but sample.  context is the tables.  */
void writer_tables_sink(struct writer_tables *tables, struct profile_pprof_sink *out);
void writer_tables_release(struct writer_tables *tables);

/* Fail with PROFILE_INVALID.  */
enum profile_status writer_refuse(const struct writer_tables *tables, const char *what);

/* The number of the sample's stack; 0: it has no locations.  Checks the sample against the tables.
 * Returns PROFILE_OK, PROFILE_NO_MEMORY or PROFILE_INVALID.  */
enum profile_status writer_tables_stack(struct writer_tables *tables,
                                        const struct profile_pprof_sample *sample, uint32_t *out);

/* A string; "" for 0.  */
struct profile_text writer_text(const struct writer_tables *tables, uint32_t string);
/* Whether the unit of the type that is shown is that one.  */
bool writer_unit_is(const struct writer_tables *tables, const char *unit);
struct writer_frame writer_frame_at(const struct writer_tables *tables, uint32_t frame);
/* Replace text by the name of a frame's function: what stands for it, "[file]", if it has none.
 * Returns false when memory is short.  */
bool writer_frame_name(const struct writer_tables *tables, const struct writer_frame *frame,
                       struct base_text *text);
/* Replace text by the file name of a mapping without its folders; "[BUILD-ID]" or "[unknown]" if it
 * has no name.  */
bool writer_mapping_name(const struct writer_tables *tables, uint32_t mapping,
                         struct base_text *text);
/* Replace text by the name of a thread's process, or "pid-N"; "" if neither is known.  */
bool writer_process_name(const struct writer_tables *tables, uint32_t thread,
                         struct base_text *text);
/* The same for its own, "tid-N".  */
bool writer_thread_name(const struct writer_tables *tables, uint32_t thread,
                        struct base_text *text);

/* ---- Samples by thread and time (timed.c) ---- */

struct writer_sample {
    int64_t thread;   /* number */
    uint64_t ordinal; /* see writer_sample_ns() */
    int64_t value;    /* of the type that is shown */
    uint32_t stack;
    uint32_t unused; /* 0 */
};

/* All zero is empty.  */
struct writer_samples {
    struct base_sorter *sorter;
    const char *directory; /* of its temporary file; borrowed */
    bool has_times;
    int64_t first_ns; /* of all samples */
    uint64_t count;
    bool any_negative;
};

enum profile_status writer_samples_open(struct writer_samples *samples,
                                        const struct profile_writer_options *options,
                                        struct profile_error *error);
void writer_samples_release(struct writer_samples *samples);

/* Add a sample.  One without a time and with value 0 is left out.  */
enum profile_status writer_samples_add(struct writer_samples *samples, struct writer_tables *tables,
                                       const struct profile_pprof_sample *sample);
enum profile_status writer_samples_finish(struct writer_samples *samples,
                                          struct profile_error *error);
/* The next one, by thread, then by time or else in the order in which they came.  *out is NULL
 * after the last one, else valid until the next call.  */
enum profile_status writer_samples_next(struct writer_samples *samples,
                                        const struct writer_sample **out,
                                        struct profile_error *error);
/* Nanoseconds since first_ns; 0 without times.  */
static inline int64_t writer_sample_ns(const struct writer_samples *samples,
                                       const struct writer_sample *sample)
{
    uint64_t first = (uint64_t)samples->first_ns ^ (UINT64_C(1) << 63);
    uint64_t since = samples->has_times ? sample->ordinal - first : 0;

    return since < INT64_MAX ? (int64_t)since : INT64_MAX;
}

/* Sums stop at the ends of their range.  */
static inline int64_t writer_sum(int64_t a, int64_t b)
{
    int64_t sum;

    return !__builtin_add_overflow(a, b, &sum) ? sum : a < 0 ? INT64_MIN : INT64_MAX;
}

/* ---- A column of numbers: they are written after others that come later (timed.c) ---- */

/* In memory, then in a temporary file.  */
struct writer_column {
    const char *directory; /* borrowed */
    int fd;                /* -1: no file */
    uint64_t file_count;
    size_t used;
    int64_t numbers[4096];
};

void writer_column_open(struct writer_column *column, const char *directory);
void writer_column_release(struct writer_column *column);
enum profile_status writer_column_add(struct writer_column *column, int64_t number,
                                      struct profile_error *error);
/* Call each for all numbers, in their order, then forget them.  */
enum profile_status writer_column_each(struct writer_column *column,
                                       void (*each)(void *context, uint64_t index, int64_t number),
                                       void *context, struct profile_error *error);

/* ---- JSON (json_out.c) ---- */

void json_put_text(struct base_output *output, const char *text);
/* In quotes.  */
void json_put_string(struct base_output *output, const char *bytes, size_t length);
void json_put_number(struct base_output *output, int64_t number);
/* Millionths as a decimal number, without zeros at its end.  */
void json_put_millionths(struct base_output *output, int64_t millionths);

#endif /* PROFILE_WRITE_WRITERS_H */
