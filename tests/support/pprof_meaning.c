/* A pprof profile as text in which nothing depends on how it is numbered.  */
#include "tests/support/pprof_meaning.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct meaning {
    FILE *out;
    const struct profile_text *strings;
    struct profile_pprof_function *functions;
    size_t function_count;
};

static void text(const struct meaning *meaning, uint32_t string)
{
    const struct profile_text *found = &meaning->strings[string];

    (void)putc('"', meaning->out);
    for (size_t i = 0; i < found->length; i++) {
        unsigned char c = (unsigned char)found->bytes[i];

        if (c < ' ' || c >= 0x7f || c == '"')
            (void)fprintf(meaning->out, "\\x%02x", c);
        else
            (void)putc(c, meaning->out);
    }
    (void)fputs("\" ", meaning->out);
}

static enum profile_status take_strings(void *context, const struct profile_text *strings,
                                        size_t count)
{
    (void)count;
    ((struct meaning *)context)->strings = strings;
    return PROFILE_OK;
}

static enum profile_status take_header(void *context, const struct profile_pprof_header *header)
{
    struct meaning *meaning = context;

    for (size_t i = 0; i < header->type_count; i++) {
        (void)fprintf(meaning->out, "type ");
        text(meaning, header->types[i].type);
        text(meaning, header->types[i].unit);
    }
    (void)fprintf(meaning->out, "\ndefault ");
    text(meaning, header->default_sample_type);
    (void)fprintf(meaning->out, "\nperiod %d %" PRId64 " ", header->has_period_type,
                  header->period);
    text(meaning, header->period_type.type);
    text(meaning, header->period_type.unit);
    (void)fprintf(meaning->out, "\ntime %" PRId64 " duration %" PRId64 "\n", header->time_ns,
                  header->duration_ns);
    text(meaning, header->drop_frames);
    text(meaning, header->keep_frames);
    text(meaning, header->doc_url);
    for (size_t i = 0; i < header->comment_count; i++) {
        (void)fprintf(meaning->out, "\ncomment ");
        text(meaning, header->comments[i]);
    }
    (void)putc('\n', meaning->out);
    return PROFILE_OK;
}

static enum profile_status take_mapping(void *context, const struct profile_pprof_mapping *mapping)
{
    struct meaning *meaning = context;

    (void)fprintf(meaning->out, "mapping %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 " %d%d%d%d ",
                  mapping->id, mapping->start, mapping->limit, mapping->file_offset,
                  mapping->has_functions, mapping->has_filenames, mapping->has_line_numbers,
                  mapping->has_inline_frames);
    text(meaning, mapping->filename);
    text(meaning, mapping->build_id);
    (void)putc('\n', meaning->out);
    return PROFILE_OK;
}

static enum profile_status take_function(void *context,
                                         const struct profile_pprof_function *function)
{
    struct meaning *meaning = context;
    struct profile_pprof_function *bigger = realloc(meaning->functions,
                                                    (meaning->function_count + 1) * sizeof *bigger);

    if (!bigger)
        return PROFILE_NO_MEMORY;
    meaning->functions = bigger;
    bigger[meaning->function_count++] = *function;
    return PROFILE_OK;
}

static enum profile_status take_location(void *context,
                                         const struct profile_pprof_location *location)
{
    struct meaning *meaning = context;

    (void)fprintf(meaning->out, "location %" PRIx64 " in %" PRIu32 " at %" PRIx64 " %d\n",
                  location->id, location->mapping, location->address, location->is_folded);
    for (size_t i = 0; i < location->line_count; i++) {
        const struct profile_pprof_line *line = &location->lines[i];
        const struct profile_pprof_function *function;

        if (line->function == 0)
            continue;
        function = &meaning->functions[line->function - 1];
        (void)fprintf(meaning->out, "  %" PRId64 ":%" PRId64 " from %" PRId64 " ", line->line,
                      line->column, function->start_line);
        text(meaning, function->name);
        text(meaning, function->system_name);
        text(meaning, function->filename);
        (void)putc('\n', meaning->out);
    }
    return PROFILE_OK;
}

static enum profile_status take_sample(void *context, const struct profile_pprof_sample *sample)
{
    struct meaning *meaning = context;

    (void)fprintf(meaning->out, "sample");
    for (size_t i = 0; i < sample->location_count; i++)
        if (sample->locations[i])
            (void)fprintf(meaning->out, " %" PRIu32, sample->locations[i]);
    (void)fprintf(meaning->out, " =");
    for (size_t i = 0; i < sample->value_count; i++)
        (void)fprintf(meaning->out, " %" PRId64, sample->values[i]);
    (void)putc('\n', meaning->out);
    for (size_t i = 0; i < sample->label_count; i++) {
        const struct profile_pprof_label *label = &sample->labels[i];

        (void)fprintf(meaning->out, "  label %" PRId64 " ", label->num);
        text(meaning, label->key);
        text(meaning, label->str);
        text(meaning, label->num_unit);
        (void)putc('\n', meaning->out);
    }
    return PROFILE_OK;
}

enum profile_status pprof_meaning(const void *bytes, size_t length, char **out,
                                  struct profile_read_notices *notices, struct profile_error *error)
{
    struct meaning meaning = { .function_count = 0 };
    struct profile_pprof_sink sink = { .size = sizeof sink,
                                       .context = &meaning,
                                       .strings = take_strings,
                                       .header = take_header,
                                       .mapping = take_mapping,
                                       .function = take_function,
                                       .location = take_location,
                                       .sample = take_sample };
    enum profile_status status;
    size_t size;

    *out = NULL;
    meaning.out = open_memstream(out, &size);
    if (!meaning.out)
        return PROFILE_NO_MEMORY;
    status = pprof_read_bytes(bytes, length, 0, &sink, NULL, notices, error);
    (void)fclose(meaning.out);
    free(meaning.functions);
    return status;
}
