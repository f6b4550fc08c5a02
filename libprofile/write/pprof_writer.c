/* pprof_writer.c - a pprof message, written in the order in which it is told.
 *
 * Repeated fields of a message may stand in any order, so nothing waits for anything else.  nanopb
 * encodes one entry at a time.  */
#include <pb_encode.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/profile_files.h>
#include "libprofile/write/gzip.h"
#include "libprofile/write/writers.h"
#include "schemas/profile.pb.h"

/* Ids of what was written, by number - 1.  */
struct id_list {
    uint64_t *items;
    size_t count, capacity;
};

struct pprof_writer {
    struct codec_gzip gzip;
    pb_ostream_t stream;
    struct profile_error *error; /* of the call in progress, if it has one */
    uint32_t string_count;
    struct id_list mappings, functions, locations;
    uint8_t *sample; /* scratch: one that is encoded */
    size_t sample_capacity;
    bool has_header;
};

/* ---- Errors ---- */

static enum profile_status refuse(struct pprof_writer *writer, const char *what)
{
    return profile_fail(writer->error, PROFILE_INVALID, "%s", what);
}

/* Encoding fails with the output alone: messages have no bounds to exceed.  */
static enum profile_status outcome(struct pprof_writer *writer, bool ok)
{
    if (ok)
        return PROFILE_OK;
    if (writer->gzip.output.system_errno != 0)
        return profile_fail_errno(writer->error, writer->gzip.output.system_errno, "writing");
    return profile_fail(writer->error, PROFILE_INVALID, "encoding: %s",
                        PB_GET_ERROR(&writer->stream));
}

static bool encode(struct pprof_writer *writer, uint32_t field, const pb_msgdesc_t *description,
                   const void *message)
{
    return pb_encode_tag(&writer->stream, PB_WT_STRING, field) &&
           pb_encode_submessage(&writer->stream, description, message);
}

/* The id that an entry gets, entered under its number.  */
static enum profile_status enter(struct pprof_writer *writer, struct id_list *list, uint64_t *id)
{
    if (list->count >= UINT32_MAX)
        return profile_fail(writer->error, PROFILE_LIMIT, "more than 2^32 - 1 entries");
    if (!base_make_room(&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return profile_no_memory(writer->error);
    if (*id == 0)
        *id = list->count + 1;
    list->items[list->count++] = *id;
    return PROFILE_OK;
}

/* ---- Strings ---- */

static enum profile_status put_string(struct pprof_writer *writer, const char *bytes, size_t length)
{
    if (writer->string_count == UINT32_MAX)
        return profile_fail(writer->error, PROFILE_LIMIT, "more than 2^32 - 1 strings");
    writer->string_count++;
    return outcome(writer, pb_encode_tag(&writer->stream, PB_WT_STRING,
                                         perftools_profiles_Profile_string_table_tag) &&
                               pb_encode_string(&writer->stream, (const pb_byte_t *)bytes, length));
}

static enum profile_status put_strings(void *context, const struct profile_text *strings,
                                       size_t count)
{
    struct pprof_writer *writer = context;
    enum profile_status status = PROFILE_OK;

    if (count > 0 && writer->string_count == 0 && strings[0].length != 0)
        return refuse(writer, "string 0 is not \"\"");
    for (size_t i = 0; i < count && status == PROFILE_OK; i++)
        status = put_string(writer, strings[i].bytes, strings[i].length);
    return status;
}

/* ---- The header ---- */

static bool encode_types(pb_ostream_t *stream, const pb_field_t *field, void *const *arg)
{
    const struct profile_pprof_header *header = *arg;
    bool ok = true;

    for (size_t i = 0; i < header->type_count && ok; i++) {
        perftools_profiles_ValueType type = { header->types[i].type, header->types[i].unit };

        ok = pb_encode_tag_for_field(stream, field) &&
             pb_encode_submessage(stream, perftools_profiles_ValueType_fields, &type);
    }
    return ok;
}

static bool encode_comments(pb_ostream_t *stream, const pb_field_t *field, void *const *arg)
{
    const struct profile_pprof_header *header = *arg;
    bool ok = true;

    for (size_t i = 0; i < header->comment_count && ok; i++)
        ok = pb_encode_tag_for_field(stream, field) &&
             pb_encode_varint(stream, header->comments[i]);
    return ok;
}

static pb_callback_t callback(bool (*function)(pb_ostream_t *, const pb_field_t *, void *const *),
                              const void *arg)
{
    return (pb_callback_t){ .funcs.encode = function, .arg = (void *)arg };
}

static enum profile_status put_header(void *context, const struct profile_pprof_header *header)
{
    struct pprof_writer *writer = context;
    perftools_profiles_Profile message = {
        .sample_type = callback(encode_types, header),
        .drop_frames = header->drop_frames,
        .keep_frames = header->keep_frames,
        .time_nanos = header->time_ns,
        .duration_nanos = header->duration_ns,
        .has_period_type = header->has_period_type,
        .period_type = { header->period_type.type, header->period_type.unit },
        .period = header->period,
        .comment = callback(encode_comments, header),
        .default_sample_type = header->default_sample_type,
        .doc_url = header->doc_url,
    };

    if (writer->has_header)
        return refuse(writer, "a second header");
    writer->has_header = true;
    return outcome(writer, pb_encode(&writer->stream, perftools_profiles_Profile_fields, &message));
}

/* ---- Mappings, functions, locations ---- */

static enum profile_status put_mapping(void *context, const struct profile_pprof_mapping *from)
{
    struct pprof_writer *writer = context;
    perftools_profiles_Mapping mapping = {
        .id = from->id,
        .memory_start = from->start,
        .memory_limit = from->limit,
        .file_offset = from->file_offset,
        .filename = from->filename,
        .build_id = from->build_id,
        .has_functions = from->has_functions,
        .has_filenames = from->has_filenames,
        .has_line_numbers = from->has_line_numbers,
        .has_inline_frames = from->has_inline_frames,
    };
    enum profile_status status = enter(writer, &writer->mappings, &mapping.id);

    if (status != PROFILE_OK)
        return status;
    return outcome(writer, encode(writer, perftools_profiles_Profile_mapping_tag,
                                  perftools_profiles_Mapping_fields, &mapping));
}

static enum profile_status put_function(void *context, const struct profile_pprof_function *from)
{
    struct pprof_writer *writer = context;
    perftools_profiles_Function function = {
        .id = from->id,
        .name = from->name,
        .system_name = from->system_name,
        .filename = from->filename,
        .start_line = from->start_line,
    };
    enum profile_status status = enter(writer, &writer->functions, &function.id);

    if (status != PROFILE_OK)
        return status;
    return outcome(writer, encode(writer, perftools_profiles_Profile_function_tag,
                                  perftools_profiles_Function_fields, &function));
}

/* The writer and one location.  */
struct told {
    const struct pprof_writer *writer;
    const struct profile_pprof_location *location;
};

static bool encode_lines(pb_ostream_t *stream, const pb_field_t *field, void *const *arg)
{
    const struct told *told = *arg;
    bool ok = true;

    for (size_t i = 0; i < told->location->line_count && ok; i++) {
        const struct profile_pprof_line *from = &told->location->lines[i];
        perftools_profiles_Line line = { .line = from->line, .column = from->column };

        if (from->function == 0)
            continue;
        line.function_id = told->writer->functions.items[from->function - 1];
        ok = pb_encode_tag_for_field(stream, field) &&
             pb_encode_submessage(stream, perftools_profiles_Line_fields, &line);
    }
    return ok;
}

static enum profile_status put_location(void *context, const struct profile_pprof_location *from)
{
    struct pprof_writer *writer = context;
    struct told told = { .writer = writer, .location = from };
    perftools_profiles_Location location = {
        .id = from->id,
        .address = from->address,
        .line = callback(encode_lines, &told),
        .is_folded = from->is_folded,
    };
    enum profile_status status;

    if (from->mapping > writer->mappings.count)
        return refuse(writer, "a location of a mapping that was not written");
    for (size_t i = 0; i < from->line_count; i++)
        if (from->lines[i].function > writer->functions.count)
            return refuse(writer, "a location of a function that was not written");
    if (from->mapping)
        location.mapping_id = writer->mappings.items[from->mapping - 1];
    status = enter(writer, &writer->locations, &location.id);
    if (status != PROFILE_OK)
        return status;
    return outcome(writer, encode(writer, perftools_profiles_Profile_location_tag,
                                  perftools_profiles_Location_fields, &location));
}

/* ---- Samples ----
 *
 * By hand, as they are read (pprof_decode.c): nanopb encodes each message twice.  */

enum {
    VARINT_BYTES = 10,              /* at most */
    FIELD_BYTES = 1 + VARINT_BYTES, /* a tag of one byte, and a number */
    LABEL_BYTES = 5 * FIELD_BYTES,  /* with its head */
};

static uint8_t *put_varint(uint8_t *to, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        *to++ = (uint8_t)(number | 0x80);
    *to++ = (uint8_t)number;
    return to;
}

/* Zeros are left out, as everywhere in proto3.  */
static uint8_t *put_number(uint8_t *to, uint32_t field, uint64_t number)
{
    if (number == 0)
        return to;
    *to++ = (uint8_t)(field << 3 | PB_WT_VARINT);
    return put_varint(to, number);
}

/* The head of length bytes that stand behind room for it at start; they move up to it.  Returns
 * their new end.  */
static uint8_t *put_head(uint8_t *start, uint32_t field, uint8_t *bytes, size_t length)
{
    uint8_t *to = start;

    *to++ = (uint8_t)(field << 3 | PB_WT_STRING);
    to = put_varint(to, length);
    memmove(to, bytes, length);
    return to + length;
}

static uint8_t *put_stack(const struct pprof_writer *writer, uint8_t *to,
                          const struct profile_pprof_sample *sample)
{
    uint8_t *ids = to + FIELD_BYTES, *end = ids;

    for (size_t i = 0; i < sample->location_count; i++)
        if (sample->locations[i] != 0)
            end = put_varint(end, writer->locations.items[sample->locations[i] - 1]);
    if (end == ids)
        return to;
    return put_head(to, perftools_profiles_Sample_location_id_tag, ids, (size_t)(end - ids));
}

static uint8_t *put_label(uint8_t *to, const struct profile_pprof_label *label)
{
    uint8_t *fields = to + FIELD_BYTES, *end = fields;

    end = put_number(end, perftools_profiles_Label_key_tag, label->key);
    end = put_number(end, perftools_profiles_Label_str_tag, label->str);
    end = put_number(end, perftools_profiles_Label_num_tag, (uint64_t)label->num);
    end = put_number(end, perftools_profiles_Label_num_unit_tag, label->num_unit);
    return put_head(to, perftools_profiles_Sample_label_tag, fields, (size_t)(end - fields));
}

/* Room for a sample of that shape, or NULL after filling in the error.  */
static uint8_t *make_sample_room(struct pprof_writer *writer,
                                 const struct profile_pprof_sample *sample)
{
    size_t numbers, labels, size;
    uint8_t *bigger = NULL;

    if (!__builtin_add_overflow(sample->location_count, sample->value_count, &numbers) &&
        !__builtin_mul_overflow(numbers, (size_t)FIELD_BYTES, &numbers) &&
        !__builtin_mul_overflow(sample->label_count, (size_t)LABEL_BYTES, &labels) &&
        !__builtin_add_overflow(numbers, labels, &size) &&
        size < SIZE_MAX - 2 * (size_t)FIELD_BYTES)
        bigger = base_grow(writer->sample, &writer->sample_capacity, size + 2 * (size_t)FIELD_BYTES,
                           1);
    if (bigger)
        writer->sample = bigger;
    else
        (void)profile_no_memory(writer->error);
    return bigger;
}

static enum profile_status put_sample(void *context, const struct profile_pprof_sample *from)
{
    struct pprof_writer *writer = context;
    uint8_t *bytes, *start, *end;

    for (size_t i = 0; i < from->location_count; i++)
        if (from->locations[i] > writer->locations.count)
            return refuse(writer, "a sample of a location that was not written");
    bytes = make_sample_room(writer, from);
    if (!bytes)
        return PROFILE_NO_MEMORY;
    start = bytes + FIELD_BYTES;
    end = put_stack(writer, start, from);
    for (size_t i = 0; i < from->value_count; i++) { /* zeros count here */
        *end++ = perftools_profiles_Sample_value_tag << 3 | PB_WT_VARINT;
        end = put_varint(end, (uint64_t)from->values[i]);
    }
    for (size_t i = 0; i < from->label_count; i++)
        end = put_label(end, &from->labels[i]);
    end = put_head(bytes, perftools_profiles_Profile_sample_tag, start, (size_t)(end - start));
    return outcome(writer, pb_write(&writer->stream, bytes, (size_t)(end - bytes)));
}

/* ---- From first to last ---- */

static bool write_bytes(pb_ostream_t *stream, const pb_byte_t *bytes, size_t size)
{
    return codec_gzip_put(stream->state, bytes, size);
}

static void close_writer(void *context)
{
    struct pprof_writer *writer = context;

    if (!writer)
        return;
    if (writer->gzip.open)
        (void)deflateEnd(&writer->gzip.stream);
    free(writer->mappings.items);
    free(writer->functions.items);
    free(writer->locations.items);
    free(writer->sample);
    free(writer);
}

static enum profile_status open_writer(const struct profile_writer_options *options,
                                       profile_write_fn write, void *context, void **out,
                                       struct profile_error *error)
{
    struct pprof_writer *writer = calloc(1, sizeof *writer);
    enum profile_status status;

    if (!writer)
        return profile_no_memory(error);
    status = codec_gzip_open(&writer->gzip, options->raw, write, context, error);
    if (status != PROFILE_OK) {
        close_writer(writer);
        return status;
    }
    writer->stream =
        (pb_ostream_t){ .callback = write_bytes, .state = &writer->gzip, .max_size = SIZE_MAX };
    *out = writer;
    return PROFILE_OK;
}

static void fill_sink(void *writer, struct profile_pprof_sink *out)
{
    *out = (struct profile_pprof_sink){
        .size = sizeof *out,
        .context = writer,
        .strings = put_strings,
        .header = put_header,
        .mapping = put_mapping,
        .function = put_function,
        .location = put_location,
        .sample = put_sample,
    };
}

static void errors_to(void *context, struct profile_error *error)
{
    struct pprof_writer *writer = context;

    writer->error = error;
}

static enum profile_status finish(void *context, struct profile_error *error)
{
    struct pprof_writer *writer = context;
    enum profile_status status = PROFILE_OK;

    writer->error = error;
    if (writer->string_count == 0) /* no profile is without */
        status = put_string(writer, "", 0);
    if (status == PROFILE_OK)
        status = codec_gzip_finish(&writer->gzip, error);
    writer->error = NULL;
    return status;
}

const struct writer_functions pprof_functions = {
    .open = open_writer,
    .sink = fill_sink,
    .errors_to = errors_to,
    .finish = finish,
    .close = close_writer,
};

enum profile_status profile_write_pprof(const struct profile *profile, enum profile_kind kind,
                                        const struct profile_pprof_options *options,
                                        profile_write_fn write, void *context,
                                        struct profile_error *error)
{
    struct profile_pprof_options chosen = { .raw = false };
    struct profile_writer_options same = { .size = sizeof same };

    if (options)
        memcpy(&chosen, options, options->size < sizeof chosen ? options->size : sizeof chosen);
    same.raw = chosen.raw;
    return profile_write_format(profile, kind, chosen.sample_type, profile_format_named("pprof"),
                                &same, write, context, error);
}
