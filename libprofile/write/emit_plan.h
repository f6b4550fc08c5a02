/* emit_plan.h - the tables of a profile that is emitted, in the shapes of pprof.
 *
 * emit_plan.c makes them, emit.c hands them to a sink.  All ids are dense from 1; the table entry
 * of id i is at [i - 1].  */
#ifndef PROFILE_WRITE_EMIT_PLAN_H
#define PROFILE_WRITE_EMIT_PLAN_H

#include "libprofile/write/writer_output.h"

/* A sample: all values of one call site and one set of labels.  */
struct pprof_sample {
    profile_id callsite;
    uint32_t labels; /* id */
    uint64_t values[PROFILE_MAX_TYPES];
};

/* Text of labels is a string id of the table, 0 when there is none.  */
struct pprof_labels {
    profile_id process, thread;
    uint32_t pid, tid;
    bool has_tid;
    uint8_t age; /* of struct profile_owner */
};

struct pprof_location {
    profile_id frame;
    size_t first_line; /* of lines[] */
};

struct pprof_function {
    profile_id name, system_name, file; /* of the string table */
    uint32_t start_line;
};

struct pprof_mapping {
    profile_id module;
    uint64_t bias; /* address - vaddr */
    uint64_t start, limit, file_offset;
    profile_id file, build_id; /* of the string table */
    bool has_functions, has_files, has_lines, has_inlines;
};

/* A sample type, as texts of the string table.  */
struct pprof_type {
    profile_id type, unit;
};

/* Texts that labels need, of the string table.  */
enum pprof_text {
    PPROF_PROCESS,
    PPROF_THREAD,
    PPROF_PID,
    PPROF_TID,
    PPROF_ID,    /* the unit of pid and tid */
    PPROF_SPACE, /* the heap's period type */
    PPROF_AGE,
    PPROF_NANOSECONDS, /* the unit of ages */
    PPROF_TEXTS,
};

struct pprof_plan {
    const struct profile *profile;
    const struct profile_values *values;
    enum profile_kind kind;
    struct pprof_type types[PROFILE_MAX_TYPES];
    const struct profile_known_type *own_types; /* type_count of them */
    size_t type_count;
    size_t default_type;
    profile_id texts[PPROF_TEXTS];

    struct profile_stacks *strings; /* its strings are the string table */
    profile_id *string_ids;         /* profile's string to table string; 0: not there yet */
    struct base_text text;          /* scratch */

    struct pprof_sample *samples;
    size_t sample_count;
    struct pprof_labels *labels;
    size_t label_count, label_capacity;
    struct base_index label_index;
    uint32_t *thread_labels; /* of the profile's thread id at [id - 1] */

    struct pprof_location *locations;
    size_t location_count, location_capacity;
    uint32_t *frame_locations; /* of frame id at [id]; 0: none */
    uint32_t *lines;           /* function ids of all lines of all locations */
    size_t line_count, line_capacity;
    struct pprof_function *functions;
    size_t function_count, function_capacity;
    struct base_index function_index;

    const struct profile_owner_process *heaviest; /* with the most samples; NULL: no process */
    struct pprof_mapping *mappings;
    size_t mapping_count;
    uint32_t *module_mappings; /* of module id at [id]; 0: none */
};

enum profile_status pprof_plan_make(struct pprof_plan *plan, const struct profile *profile,
                                    enum profile_kind kind, struct profile_error *error);
void pprof_plan_release(struct pprof_plan *plan);

#endif /* PROFILE_WRITE_EMIT_PLAN_H */
