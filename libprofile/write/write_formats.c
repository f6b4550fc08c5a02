/* write_formats.c - the formats in which a profile can be written, and what calls their
 * writers.  */
#include <stdlib.h>
#include <string.h>

#include "libprofile/write/writers.h"

/* ---- The table ---- */

static const struct known_format {
    struct profile_format format;
    const struct writer_functions *functions;
} known_formats[] = {
    { { "pprof", ".pb.gz", "profile.proto, for go tool pprof and related tools",
        .for_programs = true },
      &pprof_functions },
    { { "speedscope", ".speedscope.json", "for speedscope.app: threads, times, files",
        .for_programs = true, .timed = true },
      &speedscope_functions },
    { { "firefox", ".firefox.json", "for profiler.firefox.com: threads, times, files and lines",
        .for_programs = true, .timed = true },
      &firefox_functions },
    { { "perfetto", ".pftrace", "for ui.perfetto.dev: CPU samples on their timeline",
        .for_programs = true, .timed = true, .needs_times = true },
      &perfetto_functions },
    { { "folded", ".folded", "one line per stack, for flamegraph.pl", .one_type = true,
        .has_roots = true },
      &folded_functions },
};

#define FORMATS (sizeof known_formats / sizeof *known_formats)

const struct profile_format *profile_format_at(size_t index)
{
    return index < FORMATS ? &known_formats[index].format : NULL;
}

const struct profile_format *profile_format_named(const char *name)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (strcmp(known_formats[i].format.name, name) == 0)
            return &known_formats[i].format;
    return NULL;
}

/* ---- Writers ---- */

struct profile_writer {
    const struct writer_functions *functions;
    void *own;                      /* of the format */
    struct profile_pprof_sink sink; /* of the format */
    struct profile_error error;
    struct base_texts texts; /* of profile_writer_string(); number i is string i */
    bool has_strings;
};

enum profile_status profile_writer_open(const struct profile_format *format,
                                        const struct profile_writer_options *options,
                                        profile_write_fn write, void *context,
                                        struct profile_writer **out, struct profile_error *error)
{
    struct profile_writer_options chosen = { .raw = false };
    struct profile_writer *writer = calloc(1, sizeof *writer);
    enum profile_status status;

    if (!writer)
        return profile_no_memory(error);
    if (options)
        memcpy(&chosen, options, options->size < sizeof chosen ? options->size : sizeof chosen);
    /* format is the first member of its line.  */
    writer->functions = ((const struct known_format *)(const void *)format)->functions;
    status = writer->functions->open(&chosen, write, context, &writer->own, error);
    if (status != PROFILE_OK) {
        profile_writer_close(writer);
        return status;
    }
    writer->functions->errors_to(writer->own, &writer->error);
    writer->functions->sink(writer->own, &writer->sink);
    *out = writer;
    return PROFILE_OK;
}

void profile_writer_sink(struct profile_writer *writer, struct profile_pprof_sink *out)
{
    *out = writer->sink;
}

static enum profile_status write_string(struct profile_writer *writer, const char *bytes,
                                        size_t length)
{
    const struct profile_text text = { bytes, length };

    return writer->sink.strings(writer->sink.context, &text, 1);
}

enum profile_status profile_writer_string(struct profile_writer *writer, const char *bytes,
                                          size_t length, uint32_t *out)
{
    enum profile_status status = PROFILE_OK;
    bool is_new;

    *out = 0;
    if (!writer->has_strings)
        status = write_string(writer, "", 0);
    writer->has_strings = true;
    if (length == 0 || status != PROFILE_OK)
        return status;
    *out = base_texts_add(&writer->texts, bytes, length, &is_new);
    if (!*out)
        return profile_no_memory(&writer->error);
    return is_new ? write_string(writer, bytes, length) : PROFILE_OK;
}

enum profile_status profile_writer_finish(struct profile_writer *writer,
                                          struct profile_error *error)
{
    return writer->functions->finish(writer->own, error);
}

const struct profile_error *profile_writer_error(const struct profile_writer *writer)
{
    return &writer->error;
}

void profile_writer_close(struct profile_writer *writer)
{
    if (!writer)
        return;
    writer->functions->close(writer->own);
    base_texts_release(&writer->texts);
    free(writer);
}

enum profile_status profile_write_format(const struct profile *profile, enum profile_kind kind,
                                         size_t sample_type, const struct profile_format *format,
                                         const struct profile_writer_options *options,
                                         profile_write_fn write, void *context,
                                         struct profile_error *error)
{
    struct profile_writer *writer;
    struct profile_pprof_sink sink;
    enum profile_status status = profile_writer_open(format, options, write, context, &writer,
                                                     error);

    if (status != PROFILE_OK)
        return status;
    profile_writer_sink(writer, &sink);
    status = profile_emit(profile, kind, sample_type, &sink, error);
    if (status == PROFILE_OK)
        status = profile_writer_finish(writer, error);
    else if (error && *writer->error.message)
        *error = writer->error;
    profile_writer_close(writer);
    return status;
}
