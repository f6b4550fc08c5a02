/* pprof_tables.h - what a pprof message says, but for its samples, while it is read.
 *
 * pprof_decode.c decodes one entry at a time into the tables, pprof_read.c finds the entries and
 * tells the sink.  String references that no table can have are UINT32_MAX until they are told.  */
#ifndef PROFILE_READ_PPROF_TABLES_H
#define PROFILE_READ_PPROF_TABLES_H

#include <fxt/profile_files.h>
#include "libprofile/profile_internal.h"

/* As struct profile_pprof_location, before its references are resolved.  */
struct raw_location {
    uint64_t id, mapping_id, address;
    uint32_t first_line, line_count; /* of lines[] */
    bool is_folded;
};

struct raw_line {
    uint64_t function_id;
    int64_t line, column;
};

struct raw_label {
    int64_t key, str, num, num_unit;
};

/* A growing list of numbers: of a sample, or comments.  */
struct numbers {
    uint64_t *items;
    size_t count, capacity;
};

struct pprof_tables {
    struct profile_read_notices *notices;
    struct profile_error *error;
    enum profile_status status;    /* of the first failure that ends the reading */
    size_t most_bytes, bytes_left; /* of what the tables may take */

    struct base_arena arena; /* bytes of strings */
    struct profile_text *strings;
    size_t string_count, string_capacity;

    /* Also scalars of the header; counts are filled in when all was read.  */
    struct profile_pprof_header header;
    struct profile_pprof_type *types;
    size_t type_count, type_capacity;
    struct numbers comments;

    struct profile_pprof_mapping *mappings;
    size_t mapping_count, mapping_capacity;
    struct base_index mapping_index; /* of ids */
    struct profile_pprof_function *functions;
    size_t function_count, function_capacity;
    struct base_index function_index;
    struct raw_location *locations;
    size_t location_count, location_capacity;
    struct base_index location_index;
    struct raw_line *lines;
    size_t line_count, line_capacity;

    /* The sample that was decoded last.  */
    struct numbers sample_locations, sample_values;
    struct raw_label *labels;
    size_t label_count, label_capacity;
};

void pprof_tables_release(struct pprof_tables *tables);

/* Take one entry of a repeated message or string field of Profile, and period_type.  False: its
 * bytes make no sense.  tables->status may have become a failure.  */
bool pprof_decode_entry(struct pprof_tables *tables, uint32_t field, const uint8_t *bytes,
                        size_t length);
/* A string that cannot be had keeps its place.  */
void pprof_lose_string(struct pprof_tables *tables);
void pprof_add_comment(struct pprof_tables *tables, uint64_t string);

/* Decode into sample_locations, sample_values and labels.  False: its bytes make no sense.  */
bool pprof_decode_sample(struct pprof_tables *tables, const uint8_t *bytes, size_t length);

/* A reference to a string, as the tables keep it until it is resolved.  */
uint32_t pprof_string(int64_t string);
static inline uint32_t pprof_resolve_string(struct pprof_tables *tables, uint32_t string)
{
    if (string < tables->string_count)
        return string;
    tables->notices->bad_strings++;
    return 0;
}

/* Numbers of ids; 0: not there.  */
uint32_t pprof_find_mapping(const struct pprof_tables *tables, uint64_t id);
uint32_t pprof_find_function(const struct pprof_tables *tables, uint64_t id);
uint32_t pprof_find_location(const struct pprof_tables *tables, uint64_t id);

#endif /* PROFILE_READ_PPROF_TABLES_H */
