/* pprof_read.c - a pprof message, entry by entry (docs/formats/pprof.md, sections 1, 2 and 4).
 *
 * The fields of Profile are walked here, one entry in memory at a time, because samples stand
 * before what they refer to, and because a bad entry must not take the rest of the file with it.
 * pprof_decode.c decodes the entries themselves.  */
#include <pb_decode.h>
#include <stdlib.h>
#include <string.h>

#include "libprofile/read/byte_source.h"
#include "libprofile/read/formats.h"
#include "libprofile/read/pprof_tables.h"
#include "libprofile/read/spool.h"
#include "schemas/profile.pb.h"

/* A tag and a length, or a number: two varints.  */
#define HEAD_BYTES 20u

struct reader {
    struct source source;
    struct spool spool;
    struct pprof_tables tables;
    struct profile_read_notices notices;
    struct profile_read_options options;
    const struct profile_pprof_sink *sink;
    struct profile_error *error;
    enum profile_status status;
    bool looks_right; /* the first bytes are those of a profile */
    bool again;       /* time_nanos came twice: a second profile */
    uint64_t again_offset;
    /* Scratch.  */
    struct profile_pprof_line *lines;
    size_t line_capacity;
    uint32_t *sample_locations;
    size_t sample_location_capacity;
    struct profile_pprof_label *labels;
    size_t label_capacity;
};

/* ---- Wire types ---- */

static pb_wire_type_t wire_type_of(uint32_t field)
{
    switch (field) {
    case perftools_profiles_Profile_drop_frames_tag:
    case perftools_profiles_Profile_keep_frames_tag:
    case perftools_profiles_Profile_time_nanos_tag:
    case perftools_profiles_Profile_duration_nanos_tag:
    case perftools_profiles_Profile_period_tag:
    case perftools_profiles_Profile_comment_tag: /* or packed */
    case perftools_profiles_Profile_default_sample_type_tag:
    case perftools_profiles_Profile_doc_url_tag:
        return PB_WT_VARINT;
    default:
        return PB_WT_STRING;
    }
}

static bool is_known(uint32_t field)
{
    return field >= perftools_profiles_Profile_sample_type_tag &&
           field <= perftools_profiles_Profile_doc_url_tag;
}

static bool is_fitting(uint32_t field, pb_wire_type_t type)
{
    return type == wire_type_of(field) ||
           (type == PB_WT_STRING && field == perftools_profiles_Profile_comment_tag);
}

bool profile_is_pprof(const void *start, size_t length)
{
    pb_istream_t stream = pb_istream_from_buffer(start, length);
    pb_wire_type_t type;
    uint64_t number;
    uint32_t field;
    bool end;
    size_t fields = 0;

    while (pb_decode_tag(&stream, &type, &field, &end)) {
        if (!is_known(field) || !is_fitting(field, type))
            return false;
        if (!pb_decode_varint(&stream, &number))
            return stream.bytes_left == 0 && fields > 0; /* the rest was not asked for */
        if (type == PB_WT_STRING) {
            /* What begins with a blank line looks like a sample type of a hundred bytes.  */
            if (field == perftools_profiles_Profile_sample_type_tag && number > 40)
                return false;
            if (number > stream.bytes_left)
                return length == PROFILE_SNIFF_BYTES || fields > 0;
            (void)pb_read(&stream, NULL, (size_t)number);
        }
        fields++;
    }
    return fields > 0 && (end || (stream.bytes_left == 0 && length == PROFILE_SNIFF_BYTES));
}

/* ---- Fields of Profile ---- */

/* The field is still at the source.  */
static void set_time(struct reader *reader, uint64_t number)
{
    struct profile_pprof_header *header = &reader->tables.header;

    if (header->time_ns != 0) {
        reader->again = true;
        reader->again_offset = reader->source.offset;
    }
    header->time_ns = (int64_t)number;
}

static void take_number(struct reader *reader, uint32_t field, uint64_t number)
{
    struct profile_pprof_header *header = &reader->tables.header;

    switch (field) {
    case perftools_profiles_Profile_drop_frames_tag:
        header->drop_frames = pprof_string((int64_t)number);
        break;
    case perftools_profiles_Profile_keep_frames_tag:
        header->keep_frames = pprof_string((int64_t)number);
        break;
    case perftools_profiles_Profile_time_nanos_tag:
        set_time(reader, number);
        break;
    case perftools_profiles_Profile_duration_nanos_tag:
        header->duration_ns = (int64_t)number;
        break;
    case perftools_profiles_Profile_period_tag:
        header->period = (int64_t)number;
        break;
    case perftools_profiles_Profile_comment_tag:
        pprof_add_comment(&reader->tables, number);
        break;
    case perftools_profiles_Profile_default_sample_type_tag:
        header->default_sample_type = pprof_string((int64_t)number);
        break;
    default: /* doc_url */
        header->doc_url = pprof_string((int64_t)number);
        break;
    }
}

static void note_long_entry(struct reader *reader, uint64_t offset)
{
    note_damage(&reader->notices, offset);
    reader->notices.long_entries++;
}

static void note_bad_entry(struct reader *reader, uint64_t offset)
{
    note_damage(&reader->notices, offset);
    reader->notices.bad_entries++;
}

static void note_cut(struct reader *reader, uint64_t offset)
{
    note_early_end(&reader->notices, &reader->notices.cut, offset);
}

/* At the end of the file an entry is cut.  Elsewhere nothing tells where the next one is.  */
static void note_end(struct reader *reader, bool at_end, uint64_t offset)
{
    if (at_end)
        note_cut(reader, offset);
    else
        note_early_end(&reader->notices, &reader->notices.stopped, offset);
}

/* An entry that is not decoded, because of what it is or of its size.  */
static bool pass_by(struct reader *reader, uint32_t field, uint64_t length, uint64_t offset)
{
    if (field == perftools_profiles_Profile_string_table_tag)
        pprof_lose_string(&reader->tables);
    if (source_skip(&reader->source, length))
        return true;
    note_cut(reader, offset);
    return false;
}

/* An entry of length bytes, whose head of head bytes is not taken yet.  */
static bool take_entry(struct reader *reader, uint32_t field, size_t head, uint64_t length,
                       uint64_t offset)
{
    struct source *source = &reader->source;
    const uint8_t *bytes;

    if (length > reader->options.entry_bytes) {
        source_take(source, head);
        if (!pass_by(reader, field, length, offset))
            return false; /* it is cut */
        note_long_entry(reader, offset);
        return true;
    }
    if (source_need(source, head + (size_t)length) < head + length) {
        note_cut(reader, offset);
        return false;
    }
    bytes = source_bytes(source) + head;
    if (field == perftools_profiles_Profile_sample_tag)
        reader->status = spool_add(&reader->spool, bytes, (size_t)length, reader->error);
    else if (!pprof_decode_entry(&reader->tables, field, bytes, (size_t)length))
        note_bad_entry(reader, offset);
    source_take(source, head + (size_t)length);
    return true;
}

/* A field that has no length, or that is not ours.  Its tag is in stream's past, the whole of it
 * stands at the source.  */
static bool take_other(struct reader *reader, pb_istream_t *stream, size_t there,
                       pb_wire_type_t type, uint32_t field, uint64_t offset)
{
    uint64_t number = 0;
    bool ours = is_known(field) && is_fitting(field, type);
    bool sound = type == PB_WT_VARINT ? pb_decode_varint(stream, &number)
                                      : pb_skip_field(stream, type);

    if (!sound) {
        note_end(reader, there < HEAD_BYTES, offset);
        return false;
    }
    if (ours)
        take_number(reader, field, number);
    else if (is_known(field))
        note_bad_entry(reader, offset);
    else
        reader->notices.unknown_fields++;
    source_take(&reader->source, there - stream->bytes_left);
    return true;
}

/* One field; false at the end, or where the bytes stop making sense.  */
static bool take_field(struct reader *reader)
{
    struct source *source = &reader->source;
    size_t there = source_need(source, HEAD_BYTES);
    uint64_t offset = source->offset;
    pb_istream_t stream;
    pb_wire_type_t type = PB_WT_VARINT;
    uint64_t length;
    uint32_t field = 0;
    bool end;

    if (there == 0)
        return false;
    if (there > HEAD_BYTES)
        there = HEAD_BYTES;
    stream = pb_istream_from_buffer(source_bytes(source), there);
    if (!pb_decode_tag(&stream, &type, &field, &end) || field == 0) {
        note_end(reader, there < HEAD_BYTES && field == 0 && stream.bytes_left == 0, offset);
        return false;
    }
    if (type != PB_WT_STRING)
        return take_other(reader, &stream, there, type, field, offset);
    if (!pb_decode_varint(&stream, &length)) {
        note_end(reader, there < HEAD_BYTES, offset);
        return false;
    }
    if (is_known(field) && is_fitting(field, type))
        return take_entry(reader, field, there - stream.bytes_left, length, offset);
    if (is_known(field))
        note_bad_entry(reader, offset);
    else
        reader->notices.unknown_fields++;
    source_take(source, there - stream.bytes_left);
    return pass_by(reader, 0, length, offset);
}

static enum profile_status first_failure(const struct reader *reader)
{
    if (reader->status != PROFILE_OK)
        return reader->status;
    return reader->source.status != PROFILE_OK ? reader->source.status : reader->tables.status;
}

/* No string was read, not even the first: why, as a phrase.  */
static enum profile_status fail_without_strings(const struct reader *reader)
{
    const struct profile_read_notices *notices = &reader->notices;
    /* Damage may come before what profile_is_pprof() looks at is over.  */
    bool is_profile = reader->looks_right ||
                      (reader->tables.type_count > 0 && reader->spool.count > 0);

    if (notices->stopped && is_profile)
        return profile_fail(reader->error, PROFILE_MALFORMED,
                            "a pprof profile that is unreadable from byte %llu on, before its "
                            "strings",
                            (unsigned long long)notices->end_offset);
    return profile_fail(reader->error, PROFILE_MALFORMED, "%s",
                        notices->corrupt ? "compressed data that cannot be unpacked"
                        : reader->source.offset == 0 && !notices->cut && !notices->stopped ? "empty"
                        : notices->cut && is_profile ? "cut short before its strings"
                        : notices->cut ? "not a pprof profile, or one that is cut short"
                        : is_profile   ? "a pprof profile without strings"
                                       : "not a pprof profile");
}

static enum profile_status read_message(struct reader *reader)
{
    struct pprof_tables *tables = &reader->tables;
    size_t there = source_need(&reader->source, PROFILE_SNIFF_BYTES);

    reader->looks_right = there > 0 && profile_is_pprof(source_bytes(&reader->source), there);
    while (first_failure(reader) == PROFILE_OK && take_field(reader) && !reader->again)
        ;
    if (first_failure(reader) != PROFILE_OK)
        return first_failure(reader);
    note_packed_end(&reader->notices, &reader->source);
    if (reader->again)
        return profile_fail(reader->error, PROFILE_MALFORMED,
                            "several pprof profiles in one file, a second time of recording at "
                            "byte %llu: pass them as files of their own",
                            (unsigned long long)reader->again_offset);
    if (tables->string_count == 0)
        return fail_without_strings(reader);
    if (tables->strings[0].length != 0)
        return profile_fail(reader->error, PROFILE_MALFORMED,
                            "a pprof profile whose string 0 is not \"\"");
    return PROFILE_OK;
}

/* ---- Telling ---- */

static enum profile_status tell_header(struct reader *reader)
{
    const struct profile_pprof_sink *sink = reader->sink;
    struct pprof_tables *tables = &reader->tables;
    struct profile_pprof_header *header = &tables->header;
    uint32_t *const strings[] = { &header->default_sample_type, &header->period_type.type,
                                  &header->period_type.unit,    &header->drop_frames,
                                  &header->keep_frames,         &header->doc_url };
    enum profile_status status;
    uint32_t *comments;

    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        *strings[i] = pprof_resolve_string(tables, *strings[i]);
    for (size_t i = 0; i < tables->type_count; i++) {
        tables->types[i].type = pprof_resolve_string(tables, tables->types[i].type);
        tables->types[i].unit = pprof_resolve_string(tables, tables->types[i].unit);
    }
    comments = calloc(tables->comments.count + 1, sizeof *comments);
    if (!comments)
        return profile_no_memory(reader->error);
    for (size_t i = 0; i < tables->comments.count; i++)
        comments[i] = pprof_resolve_string(tables, (uint32_t)tables->comments.items[i]);
    header->types = tables->types;
    header->type_count = tables->type_count;
    header->comments = comments;
    header->comment_count = tables->comments.count;
    header->mapping_count = tables->mapping_count;
    header->function_count = tables->function_count;
    header->location_count = tables->location_count;
    header->sample_count = reader->spool.count;
    status = sink->header ? sink->header(sink->context, header) : PROFILE_OK;
    header->comments = NULL;
    free(comments);
    return status;
}

static enum profile_status tell_mappings(struct reader *reader)
{
    const struct profile_pprof_sink *sink = reader->sink;
    struct pprof_tables *tables = &reader->tables;
    enum profile_status status = PROFILE_OK;

    for (size_t i = 0; i < tables->mapping_count && status == PROFILE_OK; i++) {
        struct profile_pprof_mapping *mapping = &tables->mappings[i];

        mapping->filename = pprof_resolve_string(tables, mapping->filename);
        mapping->build_id = pprof_resolve_string(tables, mapping->build_id);
        if (sink->mapping)
            status = sink->mapping(sink->context, mapping);
    }
    return status;
}

static enum profile_status tell_functions(struct reader *reader)
{
    const struct profile_pprof_sink *sink = reader->sink;
    struct pprof_tables *tables = &reader->tables;
    enum profile_status status = PROFILE_OK;

    for (size_t i = 0; i < tables->function_count && status == PROFILE_OK; i++) {
        struct profile_pprof_function *function = &tables->functions[i];

        function->name = pprof_resolve_string(tables, function->name);
        function->system_name = pprof_resolve_string(tables, function->system_name);
        function->filename = pprof_resolve_string(tables, function->filename);
        if (sink->function)
            status = sink->function(sink->context, function);
    }
    return status;
}

static enum profile_status tell_location(struct reader *reader, const struct raw_location *raw)
{
    const struct profile_pprof_sink *sink = reader->sink;
    struct pprof_tables *tables = &reader->tables;
    struct profile_pprof_location location = {
        .id = raw->id,
        .mapping = pprof_find_mapping(tables, raw->mapping_id),
        .address = raw->address,
        .line_count = raw->line_count,
        .is_folded = raw->is_folded,
    };

    if (!base_make_room(&reader->lines, &reader->line_capacity, raw->line_count,
                        sizeof *reader->lines))
        return profile_no_memory(reader->error);
    for (size_t i = 0; i < raw->line_count; i++) {
        const struct raw_line *line = &tables->lines[raw->first_line + i];

        reader->lines[i] = (struct profile_pprof_line){
            .function = pprof_find_function(tables, line->function_id),
            .line = line->line,
            .column = line->column,
        };
        reader->notices.bad_references += reader->lines[i].function == 0;
    }
    location.lines = reader->lines;
    reader->notices.lost_mappings += raw->mapping_id != 0 && location.mapping == 0;
    return sink->location ? sink->location(sink->context, &location) : PROFILE_OK;
}

static enum profile_status tell_locations(struct reader *reader)
{
    enum profile_status status = PROFILE_OK;

    for (size_t i = 0; i < reader->tables.location_count && status == PROFILE_OK; i++)
        status = tell_location(reader, &reader->tables.locations[i]);
    return status;
}

/* ---- Samples ---- */

static uint32_t label_string(struct reader *reader, int64_t string)
{
    return pprof_resolve_string(&reader->tables, pprof_string(string));
}

static enum profile_status resolve_sample(struct reader *reader)
{
    struct pprof_tables *tables = &reader->tables;
    const struct numbers *ids = &tables->sample_locations;

    if (!base_make_room(&reader->sample_locations, &reader->sample_location_capacity, ids->count,
                        sizeof *reader->sample_locations))
        return profile_no_memory(reader->error);
    for (size_t i = 0; i < ids->count; i++) {
        reader->sample_locations[i] = pprof_find_location(tables, ids->items[i]);
        reader->notices.bad_references += reader->sample_locations[i] == 0;
    }
    if (!base_make_room(&reader->labels, &reader->label_capacity, tables->label_count,
                        sizeof *reader->labels))
        return profile_no_memory(reader->error);
    for (size_t i = 0; i < tables->label_count; i++)
        reader->labels[i] = (struct profile_pprof_label){
            .key = label_string(reader, tables->labels[i].key),
            .str = label_string(reader, tables->labels[i].str),
            .num = tables->labels[i].num,
            .num_unit = label_string(reader, tables->labels[i].num_unit),
        };
    return PROFILE_OK;
}

static enum profile_status tell_sample(struct reader *reader)
{
    const struct profile_pprof_sink *sink = reader->sink;
    struct pprof_tables *tables = &reader->tables;
    enum profile_status status;
    struct profile_pprof_sample sample;

    if (tables->sample_values.count != tables->type_count) {
        reader->notices.bad_samples++;
        return PROFILE_OK;
    }
    status = resolve_sample(reader);
    if (status != PROFILE_OK || !sink->sample)
        return status;
    sample = (struct profile_pprof_sample){
        .locations = reader->sample_locations,
        .location_count = tables->sample_locations.count,
        .values = (const int64_t *)tables->sample_values.items,
        .value_count = tables->sample_values.count,
        .labels = reader->labels,
        .label_count = tables->label_count,
    };
    return sink->sample(sink->context, &sample);
}

static enum profile_status tell_samples(struct reader *reader)
{
    enum profile_status status;
    const uint8_t *bytes;
    size_t length;

    for (;;) {
        bool sound;

        status = spool_next(&reader->spool, &bytes, &length, reader->error);
        if (status != PROFILE_OK || !bytes)
            return status;
        sound = pprof_decode_sample(&reader->tables, bytes, length);
        if (reader->tables.status != PROFILE_OK)
            return reader->tables.status;
        if (!sound)
            reader->notices.bad_entries++;
        status = sound ? tell_sample(reader) : PROFILE_OK;
        if (status != PROFILE_OK)
            return status;
    }
}

static enum profile_status tell_all(struct reader *reader)
{
    const struct profile_pprof_sink *sink = reader->sink;
    enum profile_status status = PROFILE_OK;

    if (sink->strings)
        status = sink->strings(sink->context, reader->tables.strings, reader->tables.string_count);
    if (status == PROFILE_OK)
        status = tell_header(reader);
    if (status == PROFILE_OK)
        status = tell_mappings(reader);
    if (status == PROFILE_OK)
        status = tell_functions(reader);
    if (status == PROFILE_OK)
        status = tell_locations(reader);
    if (status == PROFILE_OK)
        status = tell_samples(reader);
    return status;
}

/* ---- Reading ---- */

static void release(struct reader *reader)
{
    source_release(&reader->source);
    spool_release(&reader->spool);
    pprof_tables_release(&reader->tables);
    free(reader->lines);
    free(reader->sample_locations);
    free(reader->labels);
}

enum profile_status pprof_read_source(struct source *source, const struct profile_pprof_sink *sink,
                                      const struct profile_read_options *options,
                                      struct profile_read_notices *notices,
                                      struct profile_error *error)
{
    struct profile_pprof_sink chosen = { .size = 0 };
    struct reader reader = {
        .source = *source, .options = read_options(options), .sink = &chosen, .error = error
    };
    enum profile_status status;

    *source = (struct source){ .input = source->input };
    memcpy(&chosen, sink, sink->size < sizeof chosen ? sink->size : sizeof chosen);
    spool_open(&reader.spool, reader.options.temporary_dir, reader.options.sample_bytes);
    reader.tables.notices = &reader.notices;
    reader.tables.error = error;
    reader.tables.most_bytes = reader.tables.bytes_left = reader.options.table_bytes;
    status = read_message(&reader);
    if (status == PROFILE_OK)
        status = tell_all(&reader);
    if (notices)
        *notices = reader.notices;
    release(&reader);
    return status;
}

enum profile_status profile_read_pprof(struct fxt_input *input,
                                       const struct profile_pprof_sink *sink,
                                       const struct profile_read_options *options,
                                       struct profile_read_notices *notices,
                                       struct profile_error *error)
{
    const struct profile_read_options chosen = read_options(options);
    struct source source;

    source_open(&source, input, &chosen, error);
    return pprof_read_source(&source, sink, &chosen, notices, error);
}
