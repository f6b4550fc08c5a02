/* top.h - between adding the hottest functions up (top.c) and printing them (top_table.c).  */
#ifndef PROFILE_WRITE_TOP_H
#define PROFILE_WRITE_TOP_H

#include "libprofile/write/writer_output.h"

struct top_row {
    uint64_t flat, cum;
    size_t last; /* the value that counted to cum last, plus 1 */
    bool inlined, physical;
    bool mangled;  /* the name is one of C++ or Rust */
    uint32_t spot; /* the hottest of its positions, id; 0: none */
};

/* A position in source of a row.  */
struct top_spot {
    uint32_t row;
    profile_id file; /* of the profile's strings */
    uint32_t line;
    uint64_t flat, cum;
    size_t last;
};

struct top {
    const struct profile *profile;
    const struct profile_values *values;
    const struct profile_known_type *type;
    size_t type_index;
    struct profile_top_options options;
    uint64_t total;

    struct profile_stacks *names; /* row i - 1 has the name with string id i */
    struct top_row *rows;
    size_t row_count, row_capacity;
    struct top_spot *spots;
    size_t spot_count, spot_capacity;
    struct base_index spot_index;
    struct base_text text; /* scratch */
};

/* Print the table of what was added up.  PROFILE_OK, PROFILE_NO_MEMORY or PROFILE_LIMIT; whether
 * writing went well is output's to tell.  */
enum profile_status top_put_table(struct top *top, struct base_output *output,
                                  struct profile_error *error);

#endif /* PROFILE_WRITE_TOP_H */
