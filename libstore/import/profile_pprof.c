/* A pprof profile becomes rows from which export/profile.c makes the same profile again.  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libstore/import/import_profiles.h"

#define MOST_LOCATIONS ((size_t)1 << 20) /* of a stack; those of deeper ones are left out */

struct mapping {
    uint32_t module;
    uint64_t start, limit, file_offset;
};

struct function {
    uint32_t name, system_name, file; /* words; the last two 0 for "" */
    int64_t start_line;
};

struct location {
    uint32_t frame;
    bool is_first; /* of those with that frame */
};

struct reading {
    struct profiles *profiles;
    const struct profile_text *strings;
    uint32_t *words; /* of strings; 0: not asked for yet */
    struct mapping *mappings;
    size_t mapping_count, mapping_capacity;
    struct function *functions;
    size_t function_count, function_capacity;
    struct location *locations;
    size_t location_count, location_capacity;
    bool *frame_seen; /* of frame numbers: a location has it */
    size_t frame_capacity;
    uint64_t deep_stacks;

    /* Scratch.  */
    struct store_profile_line *lines;
    size_t line_capacity;
    struct store_profile_label *labels;
    size_t label_capacity;
    struct store_profile_value *values;
    size_t value_capacity;
    uint32_t *stack; /* locations that are there */
    size_t stack_capacity;
};

static bool out_of_memory(struct reading *reading)
{
    return store_import_fail(reading->profiles->import, STORE_NO_MEMORY, "out of memory");
}

static enum profile_status told(bool ok)
{
    return store_import_sink_status(ok);
}

/* Room for count items; false when memory is short.  */
static bool reserve(struct reading *reading, void **items, size_t *capacity, size_t count,
                    size_t size)
{
    return base_make_room(items, capacity, count, size) || out_of_memory(reading);
}

/* ---- Texts ---- */

static enum profile_status take_strings(void *context, const struct profile_text *strings,
                                        size_t count)
{
    struct reading *reading = context;

    reading->strings = strings;
    reading->words = calloc(count + 1, sizeof *reading->words);
    return told(reading->words || out_of_memory(reading));
}

/* The word of a string, which may be "".  0: failed.  */
static uint32_t word_of(struct reading *reading, uint32_t string)
{
    uint32_t *word = &reading->words[string];

    if (!*word)
        *word = store_profiles_word(reading->profiles, reading->strings[string].bytes,
                                    reading->strings[string].length);
    return *word;
}

/* Likewise, but 0 for "" and *ok for failure.  */
static uint32_t word_or_none(struct reading *reading, uint32_t string, bool *ok)
{
    uint32_t word;

    if (reading->strings[string].length == 0)
        return 0;
    word = word_of(reading, string);
    *ok &= word != 0;
    return word;
}

/* string.id of a string, 0 for "".  */
static int64_t string_id(struct reading *reading, uint32_t string, bool *ok)
{
    uint32_t word = word_or_none(reading, string, ok);
    int64_t id = word ? store_profiles_string(reading->profiles, word) : 0;

    *ok &= !word || id;
    return id;
}

/* ---- The header ---- */

static bool put_text(struct reading *reading, const char *key, uint32_t string, bool always)
{
    const struct profile_text *text = &reading->strings[string];

    return (text->length == 0 && !always) ||
           store_profiles_meta(reading->profiles, key, text->bytes, text->length);
}

static bool put_number(struct reading *reading, const char *key, int64_t number)
{
    return number == 0 || store_profiles_meta_number(reading->profiles, key, number);
}

static bool put_comments(struct reading *reading, const struct profile_pprof_header *header)
{
    char key[40];

    for (size_t i = 0; i < header->comment_count; i++) {
        (void)snprintf(key, sizeof key, "comment.%zu", i);
        if (!put_text(reading, key, header->comments[i], true))
            return false;
    }
    return true;
}

static bool same_text(const struct reading *reading, uint32_t a, uint32_t b)
{
    const struct profile_text *x = &reading->strings[a], *y = &reading->strings[b];

    return x->length == y->length && (x->length == 0 || memcmp(x->bytes, y->bytes, x->length) == 0);
}

/* The one that the profile names, else the last: what pprof shows.  */
static size_t default_type(const struct reading *reading, const struct profile_pprof_header *header)
{
    for (size_t i = 0; i < header->type_count; i++)
        if (header->default_sample_type &&
            same_text(reading, header->types[i].type, header->default_sample_type))
            return i;
    return header->type_count - 1;
}

static bool put_types(struct reading *reading, const struct profile_pprof_header *header)
{
    size_t first = default_type(reading, header);

    for (size_t i = 0; i < header->type_count; i++) {
        uint32_t type = word_of(reading, header->types[i].type);
        uint32_t unit = word_of(reading, header->types[i].unit);

        if (!type || !unit || !store_profiles_type(reading->profiles, type, unit, i == first))
            return false;
    }
    return true;
}

static bool text_is(const struct reading *reading, uint32_t string, const char *text)
{
    return reading->strings[string].length == strlen(text) &&
           strcmp(reading->strings[string].bytes, text) == 0;
}

static bool put_period(struct reading *reading, const struct profile_pprof_header *header)
{
    if (!put_number(reading, "period", header->period))
        return false;
    if (!header->has_period_type)
        return true;
    if (header->period > 0 && text_is(reading, header->period_type.type, "cpu") &&
        text_is(reading, header->period_type.unit, "nanoseconds"))
        reading->profiles->import->period_ns = (uint64_t)header->period;
    return put_text(reading, "period_type", header->period_type.type, true) &&
           put_text(reading, "period_unit", header->period_type.unit, true);
}

static enum profile_status take_header(void *context, const struct profile_pprof_header *header)
{
    struct reading *reading = context;

    return told(put_number(reading, "time_ns", header->time_ns) &&
                put_number(reading, "duration_ns", header->duration_ns) &&
                put_period(reading, header) &&
                put_text(reading, "default_sample_type", header->default_sample_type, false) &&
                put_text(reading, "drop_frames", header->drop_frames, false) &&
                put_text(reading, "keep_frames", header->keep_frames, false) &&
                put_text(reading, "doc_url", header->doc_url, false) &&
                put_comments(reading, header) && put_types(reading, header));
}

/* ---- Mappings and functions ---- */

static bool write_mapping(struct reading *reading, const struct profile_pprof_mapping *mapping,
                          uint32_t module)
{
    struct profiles *profiles = reading->profiles;
    bool ok = true;
    int64_t filename = string_id(reading, mapping->filename, &ok);
    int64_t build_id = string_id(reading, mapping->build_id, &ok);
    struct store_cell *cells = ok ? store_writer_row(profiles->import->writer,
                                                     STORE_PROFILE_MAPPING, NULL)
                                  : NULL;

    if (!cells)
        return false;
    store_int(&cells[0], profiles->import->capture_id);
    store_int(&cells[1], (int64_t)reading->mapping_count);
    store_unsigned(&cells[2], mapping->id);
    store_int(&cells[3], store_profiles_module_id(profiles, module));
    store_unsigned(&cells[4], mapping->start);
    store_unsigned(&cells[5], mapping->limit - mapping->start);
    store_unsigned(&cells[6], mapping->file_offset);
    store_id(&cells[7], filename);
    store_id(&cells[8], build_id);
    store_int(&cells[9], mapping->has_functions | mapping->has_filenames << 1 |
                             mapping->has_line_numbers << 2 | mapping->has_inline_frames << 3);
    return true;
}

static enum profile_status take_mapping(void *context, const struct profile_pprof_mapping *mapping)
{
    struct reading *reading = context;
    const struct profile_text *name = &reading->strings[mapping->filename];
    const struct profile_text *build_id = &reading->strings[mapping->build_id];
    uint32_t module = store_profiles_module(reading->profiles, name->bytes, name->length,
                                            build_id->bytes, build_id->length);
    void *items = reading->mappings;

    if (!module || !reserve(reading, &items, &reading->mapping_capacity, reading->mapping_count + 1,
                            sizeof *reading->mappings))
        return told(false);
    reading->mappings = items;
    reading->mappings[reading->mapping_count++] = (struct mapping){
        .module = module,
        .start = mapping->start,
        .limit = mapping->limit,
        .file_offset = mapping->file_offset,
    };
    return told(write_mapping(reading, mapping, module));
}

static enum profile_status take_function(void *context,
                                         const struct profile_pprof_function *function)
{
    struct reading *reading = context;
    void *items = reading->functions;
    bool ok = true;

    if (!reserve(reading, &items, &reading->function_capacity, reading->function_count + 1,
                 sizeof *reading->functions))
        return told(false);
    reading->functions = items;
    reading->functions[reading->function_count++] = (struct function){
        .name = word_of(reading, function->name),
        .system_name = word_or_none(reading, function->system_name, &ok),
        .file = word_or_none(reading, function->filename, &ok),
        .start_line = function->start_line,
    };
    return told(ok && reading->functions[reading->function_count - 1].name);
}

/* ---- Locations ---- */

/* Lines without a function, which are damage, have nothing to say.  */
static size_t take_lines(struct reading *reading, const struct profile_pprof_location *location)
{
    size_t count = 0;

    for (size_t i = 0; i < location->line_count; i++) {
        const struct profile_pprof_line *line = &location->lines[i];
        const struct function *function = line->function ? &reading->functions[line->function - 1]
                                                         : NULL;

        if (function)
            reading->lines[count++] = (struct store_profile_line){
                .function = function->name,
                .system_name = function->system_name,
                .file = function->file,
                .line = line->line,
                .column = line->column,
                .start_line = function->start_line,
            };
    }
    return count;
}

/* Where its code is: in the file of its mapping, or, without one, at an address of some process.
 * A location that lies outside of its mapping has its names alone.  */
static uint32_t find_frame(struct reading *reading, const struct profile_pprof_location *location)
{
    const struct mapping *mapping = location->mapping ? &reading->mappings[location->mapping - 1]
                                                      : NULL;
    struct store_profile_frame frame = { .lines = reading->lines,
                                         .line_count = take_lines(reading, location) };

    if (mapping)
        frame.module = mapping->module;
    if (mapping && location->address >= mapping->start && location->address < mapping->limit) {
        frame.has_file_offset = true;
        frame.file_offset = location->address - mapping->start + mapping->file_offset;
    } else if (location->address != 0 && (!mapping || frame.line_count == 0)) {
        frame.module = 0;
        frame.has_file_offset = true;
        frame.file_offset = location->address;
    }
    return store_profiles_frame(reading->profiles, &frame);
}

static bool write_location(struct reading *reading, const struct profile_pprof_location *location,
                           uint32_t frame)
{
    struct profiles *profiles = reading->profiles;
    struct store_cell *cells = store_writer_row(profiles->import->writer, STORE_PROFILE_LOCATION,
                                                NULL);

    if (!cells)
        return false;
    store_int(&cells[0], profiles->import->capture_id);
    store_int(&cells[1], (int64_t)reading->location_count);
    store_unsigned(&cells[2], location->id);
    store_id(&cells[3], location->mapping);
    store_unsigned(&cells[4], location->address);
    store_int(&cells[5], location->is_folded);
    store_int(&cells[6], store_profiles_frame_id(profiles, frame));
    return true;
}

/* Whether no location before has had that frame.  */
static bool see_frame(struct reading *reading, uint32_t frame, bool *is_first)
{
    size_t before = reading->frame_capacity;
    void *items = reading->frame_seen;

    if (!reserve(reading, &items, &reading->frame_capacity, (size_t)frame + 1, sizeof(bool)))
        return false;
    reading->frame_seen = items;
    if (reading->frame_capacity > before)
        memset(reading->frame_seen + before, 0, reading->frame_capacity - before);
    *is_first = !reading->frame_seen[frame];
    reading->frame_seen[frame] = true;
    return true;
}

static enum profile_status take_location(void *context,
                                         const struct profile_pprof_location *location)
{
    struct reading *reading = context;
    void *items = reading->locations, *lines = reading->lines;
    struct location *place;

    if (!reserve(reading, &items, &reading->location_capacity, reading->location_count + 1,
                 sizeof *reading->locations))
        return told(false);
    reading->locations = items;
    if (!reserve(reading, &lines, &reading->line_capacity, location->line_count,
                 sizeof *reading->lines))
        return told(false);
    reading->lines = lines;
    place = &reading->locations[reading->location_count++];
    place->frame = find_frame(reading, location);
    return told(place->frame && see_frame(reading, place->frame, &place->is_first) &&
                write_location(reading, location, place->frame));
}

/* ---- Samples ---- */

static bool take_labels(struct reading *reading, const struct profile_pprof_sample *sample,
                        struct profile_owner_ids *owner)
{
    void *items = reading->labels;
    bool ok = true;

    if (!reserve(reading, &items, &reading->label_capacity, sample->label_count,
                 sizeof *reading->labels))
        return false;
    reading->labels = items;
    for (size_t i = 0; i < sample->label_count; i++) {
        const struct profile_pprof_label *label = &sample->labels[i];

        reading->labels[i] = (struct store_profile_label){
            .key = word_or_none(reading, label->key, &ok),
            .text = word_or_none(reading, label->str, &ok),
            .unit = word_or_none(reading, label->num_unit, &ok),
            .number = label->num,
        };
    }
    return ok &&
           store_profiles_labels(reading->profiles, reading->labels, sample->label_count, owner);
}

/* The call site of a stack; *plain is whether its frames tell its locations.  Those that are not
 * there, which is damage, are left out.  */
static bool take_stack(struct reading *reading, const struct profile_pprof_sample *sample,
                       struct store_profile_sample *out, bool *plain)
{
    void *items = reading->stack;

    *plain = true;
    out->location_count = 0;
    if (!reserve(reading, &items, &reading->stack_capacity, sample->location_count,
                 sizeof *reading->stack))
        return false;
    reading->stack = items;
    for (size_t i = 0; i < sample->location_count; i++)
        if (sample->locations[i])
            reading->stack[out->location_count++] = sample->locations[i];
    for (size_t i = out->location_count; i-- > 0;) {
        const struct location *location = &reading->locations[reading->stack[i] - 1];

        *plain &= location->is_first;
        out->callsite = store_profiles_callsite(reading->profiles, out->callsite, location->frame);
        if (!out->callsite)
            return false;
    }
    return true;
}

static bool take_values(struct reading *reading, const struct profile_pprof_sample *sample)
{
    void *items = reading->values;

    if (!reserve(reading, &items, &reading->value_capacity, sample->value_count,
                 sizeof *reading->values))
        return false;
    reading->values = items;
    for (size_t i = 0; i < sample->value_count; i++)
        reading->values[i] = (struct store_profile_value){ .integer = sample->values[i] };
    return true;
}

static enum profile_status take_sample(void *context, const struct profile_pprof_sample *sample)
{
    struct reading *reading = context;
    struct store_profile_sample row = { .callsite = 0, .value_count = sample->value_count };
    bool plain;

    if (reading->profiles->import->store->interrupted)
        return told(store_import_fail(reading->profiles->import, STORE_STOPPED, "interrupted"));
    if (sample->location_count > MOST_LOCATIONS) {
        reading->deep_stacks++;
        return PROFILE_OK;
    }
    if (!take_labels(reading, sample, &row.owner) || !take_stack(reading, sample, &row, &plain) ||
        !take_values(reading, sample))
        return told(false);
    row.values = reading->values;
    row.locations = plain ? NULL : reading->stack;
    return told(store_profiles_sample(reading->profiles, &row));
}

/* ---- Damage ---- */

static bool write_notices(struct reading *reading, const struct profile_read_notices *notices)
{
    struct profiles *profiles = reading->profiles;

    return store_profiles_early_end(profiles, notices) &&
           store_profiles_damage(profiles, "bad_entries", notices->bad_entries,
                                 store_profiles_first_bad(notices), true,
                                 "entries that cannot be read") &&
           store_profiles_damage(profiles, "long_entries", notices->long_entries,
                                 notices->bad_entries ? UINT64_MAX
                                                      : store_profiles_first_bad(notices),
                                 true, "entries or lines that are too long to be read") &&
           store_profiles_damage(profiles, "bad_ids", notices->bad_ids, UINT64_MAX, true,
                                 "entries of id 0 or of one used before") &&
           store_profiles_damage(profiles, "bad_strings", notices->bad_strings, UINT64_MAX, true,
                                 "strings that are not in the table") &&
           store_profiles_damage(profiles, "bad_references", notices->bad_references, UINT64_MAX,
                                 true, "locations or functions that are not there") &&
           store_profiles_damage(profiles, "bad_samples", notices->bad_samples, UINT64_MAX, true,
                                 "samples with a wrong number of values") &&
           store_profiles_damage(profiles, "more_events", notices->more_events, UINT64_MAX, true,
                                 "samples of a 64th and further events, without their periods") &&
           store_profiles_damage(profiles, "deep_stacks", reading->deep_stacks, UINT64_MAX, true,
                                 "samples with more than 1,048,576 locations") &&
           store_profiles_damage(profiles, "lost_mappings", notices->lost_mappings, UINT64_MAX,
                                 false, "locations whose mapping is not there") &&
           store_profiles_damage(profiles, "unknown_fields", notices->unknown_fields, UINT64_MAX,
                                 false, "fields of no known meaning");
}

/* ---- Reading ---- */

static void release(struct reading *reading)
{
    free(reading->words);
    free(reading->mappings);
    free(reading->functions);
    free(reading->locations);
    free(reading->frame_seen);
    free(reading->lines);
    free(reading->labels);
    free(reading->values);
    free(reading->stack);
}

bool store_profiles_read_pprof(struct profiles *profiles, struct fxt_input *input)
{
    struct reading reading = { .profiles = profiles };
    struct profile_pprof_sink sink = { .size = sizeof sink,
                                       .context = &reading,
                                       .strings = take_strings,
                                       .header = take_header,
                                       .mapping = take_mapping,
                                       .function = take_function,
                                       .location = take_location,
                                       .sample = take_sample };
    struct profile_read_options options = { .size = sizeof options,
                                            .temporary_dir = profiles->import->store->temporary_dir,
                                            .table_bytes = store_profiles_most(profiles),
                                            .entry_bytes = store_profiles_most(profiles),
                                            .seen = store_profiles_seen,
                                            .seen_context = profiles };
    struct profile_read_notices notices;
    struct profile_error error;
    bool ok = store_profiles_fail(profiles, profile_read(input, &sink, &options, &notices, &error),
                                  &error);

    ok = ok && write_notices(&reading, &notices);
    if (ok)
        store_profiles_describe(profiles, &notices, reading.deep_stacks,
                                "sample with more than 1,048,576 locations",
                                "samples with more than 1,048,576 locations");
    release(&reading);
    return ok;
}
