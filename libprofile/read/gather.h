/* gather.h - a profile that is read line by line, in any order, until a sink takes it.
 *
 * Readers of formats without tables add strings, types, locations and samples as they meet them.
 * Tables stay in memory, within profile_read_options.table_bytes; samples go through a spool.
 * gather_emit() then makes the calls of a sink in its order.
 *
 * Numbers count from 1; 0 is none, or a failure, which gather->status has.  After a failure all
 * functions do nothing.  */
#ifndef PROFILE_READ_GATHER_H
#define PROFILE_READ_GATHER_H

#include "base/numbering.h"
#include "libprofile/read/byte_source.h"
#include "libprofile/read/spool.h"

#define GATHER_TYPES_MAX 64u

struct gather_location {
    uint64_t address;
    uint32_t mapping;                /* given by the format, or found by address in the end */
    uint32_t first_line, line_count; /* of lines[] */
};

struct gather {
    struct source source;
    struct profile_read_options options;
    struct profile_read_notices notices;
    struct profile_error *error;
    enum profile_status status; /* of the first failure */
    uint64_t line_offset;       /* of the last line */
    size_t bytes_left;          /* of what the tables may take */

    struct base_texts strings;
    struct profile_pprof_header header; /* but types and counts; strings by gather_string() */
    struct profile_pprof_type types[GATHER_TYPES_MAX];
    size_t type_count;
    struct profile_pprof_mapping *mappings;
    size_t mapping_count, mapping_capacity;
    struct base_pairs functions;     /* name, file */
    struct base_pairs places;        /* function and line, of locations with one line */
    struct base_pairs location_keys; /* address, place and mapping */
    struct gather_location *locations;
    size_t location_count, location_capacity;
    struct profile_pprof_line *lines;
    size_t line_count, line_capacity;
    struct spool spool;

    /* The sample that is being made.  */
    uint32_t *stack; /* locations, leaf first */
    size_t stack_count, stack_capacity;
    int64_t values[GATHER_TYPES_MAX];
    struct profile_pprof_label *labels;
    size_t label_count, label_capacity;
    /* Called with each sample before the sink gets it.  NULL: not called.  */
    void (*adjust)(struct gather *gather, struct profile_pprof_sample *sample, uint32_t *locations);
    uint64_t adjusting[4]; /* adjust's own */
};

void gather_open(struct gather *gather, struct fxt_input *input,
                 const struct profile_read_options *options, struct profile_error *error);
void gather_release(struct gather *gather);

/* The next line without blanks at its ends.  False at the end of the input, or after a failure.
 * Lines over options.entry_bytes count as too long.  */
bool gather_line(struct gather *gather, const char **line, size_t *length);
/* Count the last line as damage: it makes no sense, or it is too long.  */
void gather_bad_line(struct gather *gather);
void gather_long_line(struct gather *gather);

/* A string's index in the table: 0 is "".  */
uint32_t gather_string(struct gather *gather, const char *bytes, size_t length);
uint32_t gather_word(struct gather *gather, const char *word);

/* A sample type: its index, or SIZE_MAX if there are too many.  */
size_t gather_type(struct gather *gather, const char *type, size_t length, const char *unit);

uint32_t gather_mapping(struct gather *gather, const struct profile_pprof_mapping *mapping);

/* The function of that name and file, strings.  */
uint32_t gather_function(struct gather *gather, uint32_t name, uint32_t file);

/* The location at an address that nothing is known of.  */
uint32_t gather_address(struct gather *gather, uint64_t address);
/* Give such a location a line more, outside of those that it has.  */
void gather_name(struct gather *gather, uint32_t location, uint32_t function, int64_t line);
/* The location with one line, in a mapping or none.  */
uint32_t gather_place(struct gather *gather, uint32_t mapping, uint64_t address, uint32_t function,
                      int64_t line);

/* A sample: gather_begin(), then in any order values[], gather_push() from the leaf on and labels,
 * then gather_end().  */
void gather_begin(struct gather *gather);
void gather_push(struct gather *gather, uint32_t location);
void gather_label(struct gather *gather, const char *key, uint32_t string, int64_t number,
                  const char *unit);
void gather_end(struct gather *gather);

/* Everything to the sink.  */
enum profile_status gather_emit(struct gather *gather, const struct profile_pprof_sink *sink);

#endif /* PROFILE_READ_GATHER_H */
