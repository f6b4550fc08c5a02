/* read_formats.c - which format a profile has, and reading it whatever it is.  A format is a
 * row.  */
#include "libprofile/read/formats.h"

static const struct {
    const char *name;
    read_is_fn *is;
    read_into_fn *read;
} formats[] = {
    { "a CPU profile of gperftools", legacy_cpu_is, legacy_cpu_read },
    { "a heap profile as text", legacy_heap_is, legacy_heap_read },
    { "a profile of Java as text", legacy_java_is, legacy_java_read },
    { "a contention profile as text", legacy_contention_is, legacy_contention_read },
    { "a list of threads", legacy_threads_is, legacy_threads_read },
    { "a profile as text of Go", legacy_count_is, legacy_count_read },
    { "the text of perf script", perf_script_is, perf_script_read },
    { "the text of Austin", austin_is, austin_read },
};

#define FORMATS (sizeof formats / sizeof *formats)

struct text read_next_line(struct text *start)
{
    const char *end = memchr(start->at, '\n', start->length);
    struct text line = *start;

    if (end) {
        line.length = (size_t)(end - start->at);
        *start = text_of(end + 1, start->length - line.length - 1);
    } else {
        *start = text_of(start->at + start->length, 0);
    }
    return text_trim(line);
}

struct text read_first_line(struct text start)
{
    return read_next_line(&start);
}

static size_t find_format(const void *start, size_t length)
{
    size_t i = 0;

    while (i < FORMATS && !(length > 0 && formats[i].is(text_of(start, length))))
        i++;
    return i;
}

const char *profile_format_of(const void *start, size_t length)
{
    size_t format = find_format(start, length);

    if (format < FORMATS)
        return formats[format].name;
    return profile_is_pprof(start, length) ? "a pprof profile" : NULL;
}

static enum profile_status read_format(struct gather *gather, size_t format,
                                       const struct profile_pprof_sink *sink)
{
    struct profile_pprof_sink chosen = { .size = 0 };
    bool any = formats[format].read(gather);

    memcpy(&chosen, sink, sink->size < sizeof chosen ? sink->size : sizeof chosen);
    note_packed_end(&gather->notices, &gather->source);
    if (gather->status == PROFILE_OK && (!any || gather->type_count == 0))
        return profile_fail(gather->error, PROFILE_MALFORMED,
                            profile_read_is_damaged(&gather->notices)
                                ? "%s, but no sample of it can be read"
                                : "%s without samples",
                            formats[format].name);
    return gather_emit(gather, &chosen);
}

enum profile_status profile_read(struct fxt_input *input, const struct profile_pprof_sink *sink,
                                 const struct profile_read_options *options,
                                 struct profile_read_notices *notices, struct profile_error *error)
{
    struct gather gather;
    enum profile_status status;
    size_t format, length;

    gather_open(&gather, input, options, error);
    length = source_need(&gather.source, PROFILE_SNIFF_BYTES);
    format = find_format(source_bytes(&gather.source), length);
    if (gather.source.status != PROFILE_OK)
        status = gather.source.status;
    else if (format < FORMATS)
        status = read_format(&gather, format, sink);
    else
        status = pprof_read_source(&gather.source, sink, &gather.options, &gather.notices, error);
    if (notices)
        *notices = gather.notices;
    gather_release(&gather);
    return status;
}
