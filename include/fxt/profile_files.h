/* profile_files.h - profiles as other tools write them: pprof messages entry by entry, folded
 * stacks line by line.
 *
 * profile_read_pprof() passes all contents of a pprof profile to a sink, in terms of the file; it
 * does not interpret, merge or omit anything.  A writer of <fxt/profile_formats.h> can itself be
 * the sink.  The output of the format "pprof" then decodes to the same message, but for the order
 * of fields (docs/formats/pprof.md, section 1).
 *
 *     struct fxt_input_options from = { .size = sizeof from, .fd = fd, .as_stream = true };
 *     fxt_input_open(&from, &input, NULL);
 *     status = profile_read_pprof(input, &sink, NULL, &notices, &error);
 *     if (profile_read_describe(&notices, text, sizeof text))
 *         complain(text);
 *
 * profile_read_folded() reads lines of folded stacks (section 5), with one or two columns of
 * numbers.
 *
 * Input is hostile.  Damage is counted in struct profile_read_notices and is never a status;
 * readable contents are delivered.  All arguments of a sink are borrowed for the call unless stated
 * otherwise.  If a sink returns a status other than PROFILE_OK, reading ends with that status.
 * NULL members of sinks are not called.  */
#ifndef PROFILE_FILES_H
#define PROFILE_FILES_H

#include <fxt/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes as in the file, in UTF-8 if its writer followed the rules, followed by a NUL that is not
 * counted.  */
struct profile_text {
    const char *bytes;
    size_t length;
};

/* ---- Format detection ---- */

enum {
    /* Number of bytes at the start that suffice for detection, or fewer if the file is shorter.  */
    PROFILE_SNIFF_BYTES = 4096,
};

/* Whether the first bytes of a file, uncompressed, are those of a pprof message: its first fields
 * have numbers and wire types of Profile.  */
PROFILE_API bool profile_is_pprof(const void *start, size_t length);

/* The format of a file that profile_read() reads, by its first bytes, as a phrase: "a pprof
 * profile", "a CPU profile of gperftools", "the text of perf script", ...  NULL: none of them.  */
PROFILE_API const char *profile_format_of(const void *start, size_t length);

/* Whether the bytes are folded stacks: text whose first line that is not blank ends in a number.
 * Text that profile_format_of() or profile_foreign_text() recognize is not folded stacks, although
 * "goroutine profile: total 1" has that form.  */
PROFILE_API bool profile_is_folded(const void *start, size_t length);

/* If the bytes are the text of a profile in a format that is not supported, return a phrase that
 * names the format and a remedy; otherwise NULL.  */
PROFILE_API const char *profile_foreign_text(const void *start, size_t length);

/* ---- Notices ---- */

/* Filled in on every status.  */
struct profile_read_notices {
    /* Damage: the file violates its format.  */
    bool cut;                /* the file ends inside an entry, or its compressed data end early */
    bool corrupt;            /* its compressed data cannot be unpacked any further */
    bool stopped;            /* at a bad entry whose length is unknown: nothing more is read */
    uint64_t bad_entries;    /* entries and lines that cannot be decoded: left out */
    uint64_t long_entries;   /* entries and lines over options.entry_bytes: left out */
    uint64_t bad_ids;        /* entries with id 0 or an id that was used before: left out */
    uint64_t bad_strings;    /* references past the string table: read as "" */
    uint64_t bad_references; /* to locations and functions that do not exist: reported as 0 */
    uint64_t bad_samples;    /* with more or fewer values than sample types: left out */
    uint64_t bad_lines;      /* folded: lines without a number at the end: left out */
    uint64_t more_events;    /* text of perf script: samples of further events than a file can have
                              * (63): they count as samples, without the event's period */
    uint64_t first_offset;   /* uncompressed bytes before the first of cut, bad_entries,
                              * long_entries, bad_lines; 0 if there is none.  Bad samples and
                              * references are found after the end */
    uint64_t end_offset;     /* where reading ended early: cut, corrupt or stopped; else 0 */
    /* Not damage.  */
    uint64_t lost_mappings;  /* mapping ids of locations that do not exist: read as 0, none */
    uint64_t unknown_fields; /* of Profile: skipped */
    uint64_t wide_lines;     /* folded: lines with two numbers */
    uint64_t lines;          /* folded: lines delivered */
};

PROFILE_API bool profile_read_is_damaged(const struct profile_read_notices *notices);

/* Describe the damage as a phrase, NUL-terminated: "cut short at byte 120; 3 samples with a
 * wrong number of values".  Without damage the text is "" and the function returns false.  */
PROFILE_API bool profile_read_describe(const struct profile_read_notices *notices, char *text,
                                       size_t size);

/* Limits.  If a member is 0, the value in brackets is used; SIZE_MAX: none but 2 GiB for an
 * entry.  */
struct profile_read_options {
    size_t size;               /* sizeof(struct profile_read_options) */
    const char *temporary_dir; /* for samples read before the tables; NULL: $TMPDIR, else /tmp */
    size_t sample_bytes;       /* bytes of samples before they are written to an unlinked file there
                                * [32 MiB] */
    size_t table_bytes;        /* strings, locations, functions, mappings in memory [1 GiB] */
    size_t entry_bytes;        /* one entry of a message; one line of folded stacks [16 MiB] */
    /* Called with all uncompressed bytes in order, as they are read.  [NULL: not called] */
    void (*seen)(void *context, const void *bytes, size_t length);
    void *seen_context;
};

/* Strings are indexes into the string table; 0 is "".  Mappings, functions and locations are
 * numbered from 1 in the order of the file, in which they are also reported; so are threads.  Other
 * entries refer to them by that number, whatever their id is.  0 is none.  */

struct profile_pprof_type {
    uint32_t type;
    uint32_t unit;
};

struct profile_pprof_header {
    const struct profile_pprof_type *types; /* sample types: meaning and order of values */
    size_t type_count;
    uint32_t default_sample_type;
    bool has_period_type;
    struct profile_pprof_type period_type;
    int64_t period;
    int64_t time_ns; /* Unix time */
    int64_t duration_ns;
    uint32_t drop_frames; /* regular expressions */
    uint32_t keep_frames;
    uint32_t doc_url;
    const uint32_t *comments;
    size_t comment_count;
    /* Samples may have exact values, in units of 1/parts, which is below 2^32; 0: they have none.
     * People read them rounded to so many decimals, 9 at most.  */
    uint32_t parts;
    unsigned decimals;
    /* Numbers of entries that will be reported; ignored by the writer.  For samples it is an upper
     * bound.  */
    size_t mapping_count;
    size_t function_count;
    size_t location_count;
    uint64_t sample_count;
};

struct profile_pprof_mapping {
    uint64_t id;
    uint64_t start; /* process addresses [start, limit) */
    uint64_t limit;
    uint64_t file_offset;
    uint32_t filename;
    uint32_t build_id;
    bool has_functions, has_filenames, has_line_numbers, has_inline_frames;
};

struct profile_pprof_function {
    uint64_t id;
    uint32_t name;
    uint32_t system_name;
    uint32_t filename;
    int64_t start_line;
};

struct profile_pprof_line {
    uint32_t function; /* number */
    int64_t line;
    int64_t column;
};

struct profile_pprof_location {
    uint64_t id;
    uint32_t mapping; /* number */
    uint64_t address;
    const struct profile_pprof_line *lines; /* innermost first */
    size_t line_count;
    bool is_folded;
};

/* Either str or num is meant, though some writers fill in both (section 4).  */
struct profile_pprof_label {
    uint32_t key;
    uint32_t str;
    int64_t num;
    uint32_t num_unit;
};

/* A thread that samples belong to, or a process if nothing is known of the thread.  A pprof message
 * has labels instead, so its reader reports no threads; other producers report both.  */
struct profile_pprof_thread {
    uint32_t process_name; /* strings */
    uint32_t name;
    bool has_pid, has_tid;
    uint32_t pid, tid;
};

/* whole + part / profile_pprof_header.parts, which is not negative.  */
struct profile_pprof_exact {
    uint64_t whole;
    uint32_t part;
};

struct profile_pprof_sample {
    const uint32_t *locations; /* numbers, leaf first */
    size_t location_count;
    const int64_t *values; /* as many as there are sample types; rounded if there are exact ones */
    size_t value_count;
    const struct profile_pprof_label *labels;
    size_t label_count;
    uint32_t thread; /* number; 0: not known */
    /* A number of the locations: samples with the same one have the same locations, so a receiver
     * need not compare them.  0: no such number.  */
    uint32_t stack;
    /* When it was taken.  In one profile either all samples have a time, and then they come one by
     * one and in any order, or none has one, and then samples of a stack may be added up.  */
    bool has_time;
    int64_t ts_ns; /* time of the trace, not Unix time */
    bool has_cpu;
    uint32_t cpu; /* on which it was taken */
    /* The values for receivers that add up: sums of rounded values would be off.  NULL: values are
     * exact.  */
    const struct profile_pprof_exact *exact;
};

/* Calls come in this order: all strings in one call, the header once, then each mapping, function,
 * location, thread and sample.  Strings are valid until profile_read_pprof()
 * returns.  */
struct profile_pprof_sink {
    size_t size; /* sizeof(struct profile_pprof_sink) */
    void *context;
    enum profile_status (*strings)(void *context, const struct profile_text *strings, size_t count);
    enum profile_status (*header)(void *context, const struct profile_pprof_header *header);
    enum profile_status (*mapping)(void *context, const struct profile_pprof_mapping *mapping);
    enum profile_status (*function)(void *context, const struct profile_pprof_function *function);
    enum profile_status (*location)(void *context, const struct profile_pprof_location *location);
    enum profile_status (*sample)(void *context, const struct profile_pprof_sample *sample);
    enum profile_status (*thread)(void *context, const struct profile_pprof_thread *thread);
};

/* Pass a profile to a sink, in the order above: the same contents that profile_write_pprof()
 * writes.  sample_type is the index + 1 of the type that viewers show first; 0: the main one.  If
 * the profile has kept the times of these samples (profile_keep_times()), they are passed one by
 * one, in the order of the traces.
 *
 * Returns PROFILE_OK, a status of the sink, PROFILE_NO_MEMORY, PROFILE_LIMIT, or PROFILE_INVALID if
 * there is no such kind or sample type.  error may be NULL; a sink that fails should fill in an
 * error of its own.  */
PROFILE_API enum profile_status profile_emit(const struct profile *profile, enum profile_kind kind,
                                             size_t sample_type,
                                             const struct profile_pprof_sink *sink,
                                             struct profile_error *error);

/* Read a profile, gzip, zstd or the bare message, to the end of the input, in one pass.  The tables
 * are held in memory.  In most files the samples come before the tables; if there are many, they
 * are kept in a temporary file.
 *
 * Returns PROFILE_OK, a status of the sink, PROFILE_NO_MEMORY, PROFILE_IO (reading, or the
 * temporary file), PROFILE_LIMIT (options->table_bytes) or PROFILE_MALFORMED.  The last means that
 * nothing of a profile can be read, or that several profiles were written one after another; error
 * has the reason.  options, notices and error may be NULL.  The caller keeps ownership of the
 * input.  */
PROFILE_API enum profile_status profile_read_pprof(struct fxt_input *input,
                                                   const struct profile_pprof_sink *sink,
                                                   const struct profile_read_options *options,
                                                   struct profile_read_notices *notices,
                                                   struct profile_error *error);

/* Read a profile of any format of profile_format_of(), as if it had been converted to pprof:
 *
 * - CPU profiles of gperftools, of 32-bit and 64-bit machines of either byte order, and of Java;
 *   frames of the signal handler are removed, as pprof does
 * - heap, growth, contention and thread profiles as text, of gperftools, Java and Go (debug=1),
 *   with the names that Go prints; allocations that were sampled are scaled up
 * - other profiles as text of Go: goroutines, threads that were created, a program's own
 * - the text of perf script: labels pid, tid, thread, cpu and timestamp; sample types samples, and
 *   one for each event
 * - the text of Austin: labels pid and tid; sample types by its mode
 *
 * Lines that make no sense are counted in bad_entries and left out.  Addresses of callers are those
 * of the call, as in every pprof profile.  Parameters and results are those of
 * profile_read_pprof().  */
PROFILE_API enum profile_status profile_read(struct fxt_input *input,
                                             const struct profile_pprof_sink *sink,
                                             const struct profile_read_options *options,
                                             struct profile_read_notices *notices,
                                             struct profile_error *error);

/* ---- Folded stacks ---- */

/* A number as in the file: digits, optionally followed by a dot and digits.  */
struct profile_folded_count {
    double number;    /* always set */
    uint64_t integer; /* if is_integer: the exact number */
    bool is_integer;  /* no fraction, at most 2^64 - 1 */
};

/* A line.  The last number separated by a blank is the count.  If the remaining text ends in a
 * number again, that number is the first of two, as difffolded.pl writes them: base, new.  */
struct profile_folded_line {
    uint64_t number;                   /* of the line in the file, from 1 */
    const struct profile_text *frames; /* root first; never empty: empty names become "[unknown]" */
    size_t frame_count;                /* 0: only a count */
    struct profile_folded_count counts[2];
    size_t count_count; /* 1 or 2 */
};

struct profile_folded_sink {
    size_t size; /* sizeof(struct profile_folded_sink) */
    void *context;
    enum profile_status (*line)(void *context, const struct profile_folded_line *line);
};

/* Read lines to the end of the input.  Blank lines are skipped; "\r" before "\n" belongs to the end
 * of the line.  Frames are bytes as in the file, without blanks at both ends.
 *
 * Returns PROFILE_OK, a status of the sink, PROFILE_NO_MEMORY, PROFILE_IO or PROFILE_MALFORMED:
 * there are lines, but none has a stack.  */
PROFILE_API enum profile_status profile_read_folded(struct fxt_input *input,
                                                    const struct profile_folded_sink *sink,
                                                    const struct profile_read_options *options,
                                                    struct profile_read_notices *notices,
                                                    struct profile_error *error);

#ifdef __cplusplus
}
#endif

#endif /* PROFILE_FILES_H */
