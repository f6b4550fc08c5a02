/* export_entries.h - pieces of a profile, in any of its formats, from rows of a store.  Private to
 * libstore.
 *
 *   pprof.c             store_export_profile(): which way; traces, and what is no pprof profile
 *   one_type.c          samples of one type, added up
 *   export_unchanged.c  a capture that was a pprof profile, as that profile again
 *   locations.c         mappings and locations of frames
 *   export_entries.c    texts, functions, values, labels: what both need
 *
 * Functions return false after setting status and the export's error.  */
#ifndef STORE_EXPORT_ENTRIES_H
#define STORE_EXPORT_ENTRIES_H

#include <fxt/profile_formats.h>
#include "base/grow.h"
#include "base/numbering.h"
#include "libstore/export/export.h"

struct out {
    struct export *export;
    int64_t capture; /* that was a profile; 0: traces */
    const struct profile_format *format;
    struct profile_writer *writer;
    struct profile_pprof_sink sink; /* of the writer */
    enum store_status status;

    uint32_t *strings; /* the writer's number of string.id at [id - 1]; UINT32_MAX: none yet */
    struct base_texts functions; /* struct profile_pprof_function without id */
    size_t type_count;           /* of out_header() */
    struct base_pairs threads;   /* thread << 32 | process, 0: those that were reported */

    sqlite3_stmt *get_string, *get_lines, *get_values, *get_labels;

    /* Scratch.  */
    struct profile_pprof_line *lines;
    size_t line_capacity;
    uint32_t *stack;
    size_t stack_capacity;
    int64_t *values;
    size_t value_capacity;
    struct profile_pprof_label *labels;
    size_t label_capacity;
};

/* write takes the profile's bytes; its context is the export.  */
bool out_open(struct out *work, struct export *export, const struct profile_format *format,
              store_write_fn write);
void out_release(struct out *work); /* of what is zeroed, too */

/* ---- Failure ---- */

bool out_corrupt(struct out *work, const char *what);
bool out_no_memory(struct out *work);
bool out_failed(struct out *work, int code);                /* SQLite's */
bool out_put(struct out *work, enum profile_status status); /* what the writer said */

/* ---- Reading ---- */

sqlite3_stmt *out_prepare(struct out *work, const char *sql);
/* The row that statement must have; missing says what is wrong with the store if there is none.  */
bool out_row(struct out *work, sqlite3_stmt *statement, const char *missing);
/* Call take for each row of sql, whose ?1 is the capture where it has one.  */
bool out_each(struct out *work, const char *sql, bool (*take)(void *context, sqlite3_stmt *row),
              void *context);
/* Room for count items.  */
bool out_reserve(struct out *work, void **items, size_t *capacity, size_t count, size_t size);

/* ---- Texts: the writer's numbers ---- */

bool out_text(struct out *work, const char *text, uint32_t *out);
bool out_bytes(struct out *work, sqlite3_stmt *row, int column, uint32_t *out);
/* Of the text whose string.id a column has; 0 for NULL.  */
bool out_string(struct out *work, sqlite3_stmt *row, int column, uint32_t *out);

/* ---- Entries ---- */

/* The header of an imported profile, as it said it; first (may be NULL) is the sample type that is
 * to be the default.  */
bool out_header(struct out *work, const char *first);

/* The number of a function, which is told when it is met first; all of its bytes count.  */
bool out_function(struct out *work, struct profile_pprof_function *function, uint32_t *out);

/* The number of a thread, or of a process if thread is 0, which is reported when it is first
 * needed; 0: the format has none, or neither is known.  */
bool out_thread(struct out *work, uint32_t process, uint32_t thread, uint32_t *out);

/* The lines of a frame, into work->lines.  */
bool out_lines(struct out *work, int64_t frame, size_t *count);

/* The values of a sample of an imported profile, into work->values: type_count of them.  */
bool out_values(struct out *work, int64_t sample);

/* Its labels, into work->labels.  */
bool out_labels(struct out *work, int64_t set, size_t *count);

/* ---- Places (locations.c) ---- */

/* Locations for frames, with mappings for their modules, told when they are needed first.  */
struct places {
    struct out *out;
    struct module_place *modules; /* [module.id] */
    size_t module_count;
    uint32_t mapping_count;
    struct base_pairs keys; /* frame, functions that are kept */
    uint32_t *locations;    /* of keys, at [number - 1]; 0: nothing of it is shown */
    size_t location_capacity;
    uint32_t location_count;
    sqlite3_stmt *get_frame, *get_module;

    struct frame_place *frames; /* of a pprof profile: as its locations say, at [frame.id] */
};

bool places_open(struct places *places, struct out *out);
void places_release(struct places *places);

/* Tell the module's mapping now: the first is taken for the program.  */
bool places_mapping(struct places *places, uint32_t module, uint32_t *number);

/* The module that looks like a process's program; 0: none does.  command may be NULL.  */
uint32_t places_program(const struct places *places, uint32_t process, const char *command);

/* The locations of a stack, leaf first, into work->stack, as hide and show_from leave them.  */
bool places_stack(struct places *places, uint32_t callsite, size_t *count);

/* ---- One type (one_type.c) ---- */

/* Write the samples of the filter's type, or of the default one, of all captures together.  */
bool one_type_tell(struct out *work);

/* ---- Profiles (export_unchanged.c) ---- */

/* Write the profile as it was.  kept: bits of the samples of profile_sample that count, by id -
 * first; NULL: all.  */
bool profile_tell(struct out *work, const uint8_t *kept, int64_t first, uint64_t *samples);

#endif /* STORE_EXPORT_ENTRIES_H */
