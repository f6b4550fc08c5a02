/* profile_formats.h - the formats in which a profile can be written.
 *
 * Every format has a writer, and every writer is a struct profile_pprof_sink: whatever can be
 * emitted into such a sink - a struct profile, the captures of a store - can be written in every
 * format.
 *
 *     const struct profile_format *format = profile_format_named("speedscope");
 *     profile_writer_open(format, NULL, write, context, &writer, &error);
 *     profile_writer_sink(writer, &sink);
 *     status = profile_emit(profile, PROFILE_CPU, 0, &sink, &error);
 *     if (status == PROFILE_OK)
 *         status = profile_writer_finish(writer, &error);
 *     profile_writer_close(writer);
 *
 * Formats for viewers show one sample type, the default one of the header: time as time, bytes as
 * bytes, all others as numbers.  Memory follows what is different: functions, lines, stacks and
 * threads.  Samples with times are sorted in a temporary file.  */
#ifndef PROFILE_FORMATS_H
#define PROFILE_FORMATS_H

#include <fxt/profile_files.h>

#ifdef __cplusplus
extern "C" {
#endif

struct profile_format {
    const char *name;    /* "speedscope" */
    const char *suffix;  /* of files: ".speedscope.json" */
    const char *summary; /* a phrase: what reads it */
    bool for_programs;   /* nothing to read on a terminal */
    bool timed;          /* shows the time of each sample: see profile_keep_times() */
    bool needs_times;    /* cannot hold samples without a time */
    bool one_type;       /* adds up one sample type, whichever captures it is of */
    bool has_roots;      /* enum profile_root applies */
};

/* The format with that index, from 0; NULL after the last one.  */
PROFILE_API const struct profile_format *profile_format_at(size_t index);

/* The format of that name; NULL: there is none.  */
PROFILE_API const struct profile_format *profile_format_named(const char *name);

struct profile_writer_options {
    size_t size;               /* sizeof(struct profile_writer_options) */
    bool raw;                  /* pprof: the bare message, no gzip */
    enum profile_root root;    /* folded: the first frame of stacks */
    bool all_types;            /* folded: a column for each sample type, not only for one */
    const char *temporary_dir; /* for samples with times; NULL: $TMPDIR, else /tmp */
    size_t sort_bytes;         /* of samples in memory before the file is used; 0: 16 MiB */
};

struct profile_writer;

/* Write a profile: profile_emit() into a writer of the format.  sample_type is the index + 1 of the
 * type that viewers show first, or alone; 0: the main one.  options may be NULL.  Returns
 * PROFILE_OK, PROFILE_NO_MEMORY, PROFILE_IO, PROFILE_LIMIT or PROFILE_INVALID: the format cannot
 * hold this profile, and error has the reason.  */
PROFILE_API enum profile_status profile_write_format(const struct profile *profile,
                                                     enum profile_kind kind, size_t sample_type,
                                                     const struct profile_format *format,
                                                     const struct profile_writer_options *options,
                                                     profile_write_fn write, void *context,
                                                     struct profile_error *error);

/* Open a writer of a format.  options may be NULL.  Returns PROFILE_OK or PROFILE_NO_MEMORY.  */
PROFILE_API enum profile_status profile_writer_open(const struct profile_format *format,
                                                    const struct profile_writer_options *options,
                                                    profile_write_fn write, void *context,
                                                    struct profile_writer **out,
                                                    struct profile_error *error);

/* Fill in the sink that the writer is.  Strings may come in several calls, at any time before the
 * writer is finished, and their numbers continue; the first string of all must be "".  The other
 * calls may come in any order, too, as long as an entry is reported before it is referred to by
 * number; the header comes once, before the first sample.  In pprof, an entry with id 0 gets its
 * number as id, and locations and lines that refer to 0 are left out.
 *
 * Each call returns PROFILE_OK, PROFILE_NO_MEMORY, PROFILE_IO, PROFILE_LIMIT or PROFILE_INVALID: an
 * unknown number, a first string other than "", a second header, samples with and without times, or
 * contents that the format cannot hold.  profile_writer_error() then describes the failure.  */
PROFILE_API void profile_writer_sink(struct profile_writer *writer, struct profile_pprof_sink *out);

/* Return the number of the string among those written so far; a new string is written first.
 * Strings then must not be passed to the sink as well.  Returns what the sink does.  */
PROFILE_API enum profile_status profile_writer_string(struct profile_writer *writer,
                                                      const char *bytes, size_t length,
                                                      uint32_t *out);

/* Write the remaining output.  It must be called once, and only close may follow.  Returns
 * PROFILE_OK, PROFILE_NO_MEMORY or PROFILE_IO; error may be NULL.  */
PROFILE_API enum profile_status profile_writer_finish(struct profile_writer *writer,
                                                      struct profile_error *error);

/* The first failure of a call of the sink; its message is "" if there was none.  Valid as long as
 * the writer.  */
PROFILE_API const struct profile_error *profile_writer_error(const struct profile_writer *writer);

PROFILE_API void profile_writer_close(struct profile_writer *writer); /* accepts NULL */

#ifdef __cplusplus
}
#endif

#endif /* PROFILE_FORMATS_H */
