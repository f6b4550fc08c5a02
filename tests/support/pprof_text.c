/* A pprof profile in memory, and its reader's calls as text.  */
#include "tests/support/pprof_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/profile_formats.h>

#include "tests/support/describe.h"

int pprof_bytes_write(void *context, const void *more, size_t size)
{
    struct pprof_bytes *bytes = context;
    uint8_t *items = realloc(bytes->items, bytes->count + size + 1);

    if (!items) {
        bytes->failed = true;
        return ENOMEM;
    }
    bytes->items = items;
    memcpy(items + bytes->count, more, size);
    bytes->count += size;
    items[bytes->count] = '\0';
    return 0;
}

/* ---- The example ---- */

enum {
    SAMPLES = 1,
    COUNT,
    CPU,
    NANOSECONDS,
    APP,
    BUILD_ID,
    LIBC,
    MAIN,
    MANGLED,
    FILE_C,
    INNER,
    WORK,
    KEY,
    VALUE,
    BYTES,
    UNIT,
    DROP,
    KEEP,
    COMMENT_1,
    COMMENT_2,
    URL,
    LAST_STRING
};

static const char *const example_strings[] = {
    "",
    "samples",
    "count",
    "cpu",
    "nanoseconds",
    "/bin/app",
    "0badcafe",
    "/lib/libc.so.6",
    "main",
    "_Z4mainv",
    "app.cc",
    "inner",
    "work()",
    "thread",
    "T 1",
    "bytes",
    "kilobytes",
    "malloc|free",
    "main",
    "taken on a Sunday",
    "by hand",
    "https://example.org/",
};

static enum profile_status tell_tables(const struct profile_pprof_sink *sink)
{
    static const struct profile_pprof_mapping mappings[] = {
        { 7, 0x400000, 0x500000, 0x1000, APP, BUILD_ID, true, true, true, true },
        { 9, 0x7f0000000000, 0x7f0000100000, 0, LIBC, 0, false, false, false, false },
    };
    static const struct profile_pprof_function functions[] = {
        { 1, MAIN, MANGLED, FILE_C, 10 },
        { 2, INNER, INNER, FILE_C, -1 },
        { UINT64_C(0xffffffffffffffff), WORK, 0, 0, 0 },
    };
    static const struct profile_pprof_line main_lines[] = { { 2, 3, 14 }, { 1, 12, 0 } };
    static const struct profile_pprof_line work_lines[] = { { 3, -5, 0 } };
    static const struct profile_pprof_location locations[] = {
        { 3, 1, 0x401000, main_lines, 2, false },
        { UINT64_C(0xffffffff80000000), 2, 0x7f0000000010, NULL, 0, true },
        { 5, 0, 0, work_lines, 1, false },
    };
    enum profile_status status = PROFILE_OK;

    for (size_t i = 0; i < 2 && status == PROFILE_OK; i++)
        status = sink->mapping(sink->context, &mappings[i]);
    for (size_t i = 0; i < 3 && status == PROFILE_OK; i++)
        status = sink->function(sink->context, &functions[i]);
    for (size_t i = 0; i < 3 && status == PROFILE_OK; i++)
        status = sink->location(sink->context, &locations[i]);
    return status;
}

static enum profile_status tell_samples(const struct profile_pprof_sink *sink)
{
    static const struct profile_pprof_label labels[] = {
        { KEY, VALUE, 0, 0 },
        { BYTES, 0, -512, UNIT },
        { BYTES, VALUE, 3, UNIT }, /* of both kinds, as Fuchsia has them */
        { KEY, 0, 0, 0 },
    };
    static const uint32_t stacks[] = { 2, 3, 1, 1 };
    static const int64_t values[] = { 1, 10000000, -3, INT64_MIN, 0, 0 };
    static const struct profile_pprof_sample samples[] = {
        { stacks, 3, values, 2, labels, 1 },
        { stacks + 1, 3, values + 2, 2, labels + 1, 3 },
        { NULL, 0, values + 4, 2, NULL, 0 },
    };
    enum profile_status status = PROFILE_OK;

    for (size_t i = 0; i < 3 && status == PROFILE_OK; i++)
        status = sink->sample(sink->context, &samples[i]);
    return status;
}

static enum profile_status tell_example(const struct profile_pprof_sink *sink)
{
    static const struct profile_pprof_type types[] = { { SAMPLES, COUNT }, { CPU, NANOSECONDS } };
    static const uint32_t comments[] = { COMMENT_1, COMMENT_2 };
    const struct profile_pprof_header header = {
        .types = types,
        .type_count = 2,
        .default_sample_type = SAMPLES,
        .has_period_type = true,
        .period_type = { CPU, NANOSECONDS },
        .period = 10000000,
        .time_ns = INT64_C(1700000000000000000),
        .duration_ns = 2500000000,
        .drop_frames = DROP,
        .keep_frames = KEEP,
        .doc_url = URL,
        .comments = comments,
        .comment_count = 2,
    };
    struct profile_text strings[LAST_STRING];
    enum profile_status status;

    for (size_t i = 0; i < LAST_STRING; i++)
        strings[i] = (struct profile_text){ example_strings[i], strlen(example_strings[i]) };
    status = sink->strings(sink->context, strings, LAST_STRING);
    if (status == PROFILE_OK)
        status = sink->header(sink->context, &header);
    if (status == PROFILE_OK)
        status = tell_tables(sink);
    return status == PROFILE_OK ? tell_samples(sink) : status;
}

enum profile_status pprof_example(bool raw, struct pprof_bytes *out)
{
    const struct profile_writer_options options = { .size = sizeof options, .raw = raw };
    struct profile_writer *writer = NULL;
    struct profile_pprof_sink sink;
    enum profile_status status;

    status = profile_writer_open(profile_format_named("pprof"), &options, pprof_bytes_write, out,
                                 &writer, NULL);
    if (status != PROFILE_OK)
        return status;
    profile_writer_sink(writer, &sink);
    status = tell_example(&sink);
    if (status == PROFILE_OK)
        status = profile_writer_finish(writer, NULL);
    profile_writer_close(writer);
    return status;
}

/* ---- Calls as text ---- */

static void say(struct pprof_bytes *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(struct pprof_bytes *text, const char *format, ...)
{
    char line[400];
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length > 0)
        (void)pprof_bytes_write(text, line,
                                (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);
}

static enum profile_status say_strings(void *context, const struct profile_text *strings,
                                       size_t count)
{
    for (size_t i = 0; i < count; i++)
        say(context, "%zu=%.*s ", i, (int)strings[i].length, strings[i].bytes);
    say(context, "\n");
    return PROFILE_OK;
}

static enum profile_status say_header(void *context, const struct profile_pprof_header *header)
{
    say(context, "types");
    for (size_t i = 0; i < header->type_count; i++)
        say(context, " %u/%u", header->types[i].type, header->types[i].unit);
    say(context, " default %u period %d %u/%u %" PRId64 " time %" PRId64 " duration %" PRId64,
        header->default_sample_type, header->has_period_type, header->period_type.type,
        header->period_type.unit, header->period, header->time_ns, header->duration_ns);
    say(context, " drop %u keep %u url %u comments", header->drop_frames, header->keep_frames,
        header->doc_url);
    for (size_t i = 0; i < header->comment_count; i++)
        say(context, " %u", header->comments[i]);
    say(context, " of %zu %zu %zu %" PRIu64 "\n", header->mapping_count, header->function_count,
        header->location_count, header->sample_count);
    return PROFILE_OK;
}

static enum profile_status say_mapping(void *context, const struct profile_pprof_mapping *mapping)
{
    say(context, "mapping %" PRIx64 " [%" PRIx64 ", %" PRIx64 ") %" PRIx64 " %u %u %d%d%d%d\n",
        mapping->id, mapping->start, mapping->limit, mapping->file_offset, mapping->filename,
        mapping->build_id, mapping->has_functions, mapping->has_filenames,
        mapping->has_line_numbers, mapping->has_inline_frames);
    return PROFILE_OK;
}

static enum profile_status say_function(void *context,
                                        const struct profile_pprof_function *function)
{
    say(context, "function %" PRIx64 " %u %u %u %" PRId64 "\n", function->id, function->name,
        function->system_name, function->filename, function->start_line);
    return PROFILE_OK;
}

static enum profile_status say_location(void *context,
                                        const struct profile_pprof_location *location)
{
    say(context, "location %" PRIx64 " %u %" PRIx64 " %d", location->id, location->mapping,
        location->address, location->is_folded);
    for (size_t i = 0; i < location->line_count; i++)
        say(context, " %u:%" PRId64 ":%" PRId64, location->lines[i].function,
            location->lines[i].line, location->lines[i].column);
    say(context, "\n");
    return PROFILE_OK;
}

static enum profile_status say_sample(void *context, const struct profile_pprof_sample *sample)
{
    say(context, "sample");
    for (size_t i = 0; i < sample->location_count; i++)
        say(context, " %u", sample->locations[i]);
    say(context, " =");
    for (size_t i = 0; i < sample->value_count; i++)
        say(context, " %" PRId64, sample->values[i]);
    for (size_t i = 0; i < sample->label_count; i++)
        say(context, " (%u %u %" PRId64 " %u)", sample->labels[i].key, sample->labels[i].str,
            sample->labels[i].num, sample->labels[i].num_unit);
    say(context, "\n");
    return PROFILE_OK;
}

void pprof_text_sink(struct pprof_bytes *text, struct profile_pprof_sink *out)
{
    *out = (struct profile_pprof_sink){
        .size = sizeof *out,
        .context = text,
        .strings = say_strings,
        .header = say_header,
        .mapping = say_mapping,
        .function = say_function,
        .location = say_location,
        .sample = say_sample,
    };
}

enum profile_status pprof_read_bytes(const void *bytes, size_t length, size_t step,
                                     const struct profile_pprof_sink *sink,
                                     const struct profile_read_options *options,
                                     struct profile_read_notices *notices,
                                     struct profile_error *error)
{
    struct source source = { .bytes = bytes, .left = length, .step = step };
    const struct fxt_input_options from = {
        .size = sizeof from, .read = read_source, .context = &source, .as_stream = true
    };
    struct fxt_input *input = NULL;
    enum profile_status status = PROFILE_NO_MEMORY;

    if (fxt_input_open(&from, &input, NULL) == FXT_OK)
        status = profile_read_pprof(input, sink, options, notices, error);
    fxt_input_close(input);
    return status;
}
