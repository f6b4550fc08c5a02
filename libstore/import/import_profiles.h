/* import_profiles.h - imports of profiles: samples without times.  Private to libstore.
 *
 *   import_profiles.c  store_import_profile(): transaction, what is written at the end, damage
 *   profile_frames.c   texts, modules, frames, call sites: those the store has, and new ones
 *   profile_samples.c  sample types, labels, processes and threads, samples, callsite_sum
 *   profile_pprof.c    pprof
 *   profile_folded.c   folded stacks
 *   profile_markup.c   logs with symbolizer markup
 *
 * A format is one function that reads an input to its end, adds its uncompressed bytes to the
 * capture's identity, and calls what is below; import_profiles.c has a table of them.
 *
 * Things are told by number, counted from 1; 0 stands for none, or from a function for failure:
 * store_import_fail() or the writer has the reason then, and the format's function returns false.
 * Rows are written when something is met first, so memory follows what is different.  */
#ifndef STORE_IMPORT_PROFILES_H
#define STORE_IMPORT_PROFILES_H

#include <fxt/profile_files.h>
#include "libstore/import/import.h"

/* What frames and call sites are looked up by.  */
struct profile_numbers {
    int64_t *items; /* the store's id of number n is at [n - 1]; of words 0 until there is a row */
    size_t count, capacity;
};

/* A sample type of the profile.  */
struct store_profile_type {
    uint32_t type, unit; /* words */
    bool is_default;
    int64_t sample_type_id;
    size_t counted_by; /* index of the type that counts; SIZE_MAX: none */
    struct store_sums sums;
    bool is_real;  /* sums have doubles: a value had a fraction */
    bool is_again; /* an earlier type is the same; its values are in no sum */
};

/* Who a sample belongs to, as its labels say.  */
struct profile_owner_ids {
    int64_t arg_set_id;
    int64_t upid, utid;
};

struct profiles {
    struct store_import *import;
    struct store_profile_result *result;

    /* profile_frames.c */
    struct base_texts words;
    struct profile_numbers strings; /* string.id of words */
    struct base_texts module_keys, frame_keys;
    struct profile_numbers modules, frames, callsites;
    struct base_pairs callsite_keys; /* parent and frame, numbers */
    uint32_t *depths;                /* of call sites */
    size_t depth_capacity;

    /* profile_samples.c */
    struct store_profile_type *types;
    size_t type_count, type_capacity;
    bool types_written;
    struct base_pairs type_keys; /* of sample_type: words */
    struct profile_numbers type_ids;
    struct base_texts label_sets;     /* struct store_profile_label, as bytes */
    struct profile_owner_ids *owners; /* of label sets */
    size_t owner_capacity;
    struct base_pairs process_keys, place_keys, thread_keys;
    int64_t last_arg_set;
    int64_t period_ns;
};

/* ---- Texts, frames, call sites (profile_frames.c) ---- */

bool store_profiles_load(struct profiles *profiles);
void store_profiles_frames_release(struct profiles *profiles);

/* Whether SQLite's texts can have these bytes as they are; what cannot goes into blobs.  */
bool store_profiles_is_text(const char *bytes, size_t length);

/* A number for a text, which may be any bytes; "" has one, too.  */
uint32_t store_profiles_word(struct profiles *profiles, const char *bytes, size_t length);
/* string.id of a word; a row is written when it has none.  */
int64_t store_profiles_string(struct profiles *profiles, uint32_t word);

/* A module; build_id is hexadecimal (what is not is as good as ""), may be "".  */
uint32_t store_profiles_module(struct profiles *profiles, const char *name, size_t name_length,
                               const char *build_id, size_t build_id_length);

/* A line of a frame: all 0 but function, where nothing else is known.  */
struct store_profile_line {
    uint32_t function, system_name, file; /* words; 0 for "" of the last two */
    int64_t line, column, start_line;
};

struct store_profile_frame {
    uint32_t module; /* 0: none */
    bool has_vaddr;  /* as frames of traces have */
    bool has_file_offset;
    uint64_t vaddr, file_offset;
    const struct store_profile_line *lines; /* innermost first; what the capture itself says */
    size_t line_count;
};

uint32_t store_profiles_frame(struct profiles *profiles, const struct store_profile_frame *frame);

/* The call site of frame, called from parent (0: a root).  */
uint32_t store_profiles_callsite(struct profiles *profiles, uint32_t parent, uint32_t frame);

static inline int64_t store_profiles_module_id(const struct profiles *profiles, uint32_t number)
{
    return number ? profiles->modules.items[number - 1] : 0;
}

static inline int64_t store_profiles_frame_id(const struct profiles *profiles, uint32_t number)
{
    return number ? profiles->frames.items[number - 1] : 0;
}

/* ---- Samples (profile_samples.c) ---- */

bool store_profiles_open_samples(struct profiles *profiles);
void store_profiles_samples_release(struct profiles *profiles);

/* The next sample type; all of them come before the first sample.  */
bool store_profiles_type(struct profiles *profiles, uint32_t type, uint32_t unit, bool is_default);

/* A label: words, 0 for "".  */
struct store_profile_label {
    uint32_t key, text, unit;
    uint32_t unused; /* 0: labels are told apart by their bytes */
    int64_t number;
};

/* A set of labels: rows where it is met first, and whose samples have it: *upid and *utid are 0 and
 * stay what they are when labels do not say.  *out is its arg_set_id, 0 for none.  */
bool store_profiles_labels(struct profiles *profiles, const struct store_profile_label *labels,
                           size_t count, struct profile_owner_ids *out);

/* process.id of a process with that pid (koid) and name (word, 0 unknown), thread.id of one of its
 * threads; 0: failed.  */
int64_t store_profiles_process(struct profiles *profiles, uint64_t koid, uint32_t name);
int64_t store_profiles_thread(struct profiles *profiles, int64_t upid, uint64_t koid,
                              uint32_t name);

struct store_profile_value {
    bool is_real;
    int64_t integer;
    double real;
};

struct store_profile_sample {
    uint32_t callsite; /* 0: an empty stack */
    struct profile_owner_ids owner;
    const struct store_profile_value *values; /* as many as there are types, or fewer */
    size_t value_count;
    const uint32_t *locations; /* for profile_sample.locations; NULL: frames tell */
    size_t location_count;     /* at most 2^20 */
};

bool store_profiles_sample(struct profiles *profiles, const struct store_profile_sample *sample);

/* callsite_sum, when all samples were told.  */
bool store_profiles_write_sums(struct profiles *profiles);

/* ---- Facts (import_profiles.c) ---- */

/* A row of meta: a text, or a number.  */
bool store_profiles_meta(struct profiles *profiles, const char *key, const char *bytes,
                         size_t length);
bool store_profiles_meta_number(struct profiles *profiles, const char *key, int64_t number);

/* A row of damage, unless count is 0; first_offset in uncompressed bytes, UINT64_MAX if it is not
 * known.  Also makes the result damaged when it is a loss; what is said of it is the format's.  */
bool store_profiles_damage(struct profiles *profiles, const char *kind, uint64_t count,
                           uint64_t first_offset, bool is_loss, const char *description);

/* Where the first unreadable entry or line is; UINT64_MAX: not known.  */
uint64_t store_profiles_first_bad(const struct profile_read_notices *notices);

/* The row of damage if reading ended before the file did.  */
bool store_profiles_early_end(struct profiles *profiles,
                              const struct profile_read_notices *notices);

/* ---- Formats ---- */

/* Why reading ended, for *error: what libprofile says.  Returns false.  */
bool store_profiles_fail(struct profiles *profiles, enum profile_status status,
                         const struct profile_error *error);

/* What profile_read_options.table_bytes and entry_bytes are: without a limit on the store there is
 * none on them.  */
static inline size_t store_profiles_most(const struct profiles *profiles)
{
    return profiles->import->store->most_bytes == 0 ? SIZE_MAX : 0;
}

/* Bytes that were read, for the capture's identity: what profile_read_options.seen takes.  */
void store_profiles_seen(void *context, const void *bytes, size_t length);

/* Say in result->damage what was wrong: the reader's notices, and count things of the format's
 * own.  */
void store_profiles_describe(struct profiles *profiles, const struct profile_read_notices *notices,
                             uint64_t count, const char *one, const char *many);

bool store_profiles_read_pprof(struct profiles *profiles, struct fxt_input *input);
bool store_profiles_read_folded(struct profiles *profiles, struct fxt_input *input);
bool store_profiles_read_markup(struct profiles *profiles, struct fxt_input *input);

#endif /* STORE_IMPORT_PROFILES_H */
