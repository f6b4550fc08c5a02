/* An imported pprof profile as it was.  Rows say what stood in the file (profile_pprof.c); what
 * contradicts itself is corrupt.  */
#include "libstore/export/profile.h"

#include <stdlib.h>
#include <string.h>

#include "libstore/keys.h"

struct telling {
    struct store *store;
    int64_t capture;
    struct profile_pprof_writer *writer;
    struct profile_pprof_sink sink;
    struct store_error *error;
    enum store_status status;

    uint32_t *strings; /* number of string.id at [id - 1]; UINT32_MAX: not written yet */
    size_t string_count;
    uint32_t *parents, *frames; /* of call sites, at [id] */
    size_t callsite_count;
    uint32_t *first_locations; /* of frames, at [id]: ordinal; 0 none */
    size_t frame_count;
    struct store_texts functions; /* struct profile_pprof_function without id */
    bool *symbolized;             /* of mappings, at [ordinal]: names were found since */
    size_t mapping_count, location_count, type_count;
    uint64_t samples; /* told */

    sqlite3_stmt *get_string, *get_lines, *get_values, *get_labels;

    /* Scratch.  */
    struct profile_pprof_line *lines;
    size_t line_capacity;
    uint32_t *stack;
    size_t stack_capacity;
    int64_t *values;
    size_t value_capacity;
    struct profile_pprof_label *labels;
    size_t label_capacity;
};

/* ---- Failure ---- */

static bool corrupt(struct telling *work, const char *what)
{
    work->status = store_fail(work->error, STORE_CORRUPT, "the store is corrupt: %s", what);
    return false;
}

static bool out_of_memory(struct telling *work)
{
    work->status = store_no_memory(work->error);
    return false;
}

/* What the writer said.  */
static bool put(struct telling *work, enum profile_status status)
{
    if (status == PROFILE_OK)
        return true;
    if (status == PROFILE_NO_MEMORY)
        return out_of_memory(work);
    work->status = store_fail(work->error, status == PROFILE_LIMIT ? STORE_LIMIT : STORE_IO,
                              "the profile cannot be written");
    return false;
}

static bool sqlite_failed(struct telling *work, int code)
{
    work->status = store_fail_sqlite(work->error, work->store->db, code);
    return false;
}

static sqlite3_stmt *prepare(struct telling *work, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(work->store->db, sql, -1, &statement, NULL);

    if (code != SQLITE_OK)
        (void)sqlite_failed(work, code);
    return statement;
}

/* Call take for each row of sql, whose ?1 is the capture where it has one.  */
static bool each(struct telling *work, const char *sql,
                 bool (*take)(struct telling *work, sqlite3_stmt *row))
{
    sqlite3_stmt *row = prepare(work, sql);
    int code = SQLITE_DONE;
    bool ok = row != NULL;

    if (ok && sqlite3_bind_parameter_count(row) > 0)
        (void)sqlite3_bind_int64(row, 1, work->capture);
    while (ok && (code = sqlite3_step(row)) == SQLITE_ROW)
        ok = take(work, row);
    if (ok && code != SQLITE_DONE)
        ok = sqlite_failed(work, code);
    (void)sqlite3_finalize(row);
    return ok;
}

/* Room for count items.  */
static bool reserve(struct telling *work, void **items, size_t *capacity, size_t count, size_t size)
{
    void *bigger;

    if (count <= *capacity)
        return true;
    count += count / 2;
    bigger = reallocarray(*items, count, size);
    if (!bigger)
        return out_of_memory(work);
    *items = bigger;
    *capacity = count;
    return true;
}

/* ---- Texts ---- */

static bool put_bytes(struct telling *work, sqlite3_stmt *row, int column, uint32_t *out)
{
    const char *bytes = sqlite3_column_blob(row, column);
    size_t length = (size_t)sqlite3_column_bytes(row, column);

    *out = 0;
    return length == 0 ||
           put(work, profile_pprof_writer_string(work->writer, bytes, length, out, NULL));
}

/* The number of the text whose string.id a column has; 0 for NULL.  */
static bool put_string(struct telling *work, sqlite3_stmt *row, int column, uint32_t *out)
{
    int64_t id = sqlite3_column_int64(row, column);
    bool ok;

    *out = 0;
    if (sqlite3_column_type(row, column) == SQLITE_NULL)
        return true;
    if (id < 1 || (uint64_t)id > work->string_count)
        return corrupt(work, "a row refers to a text that is not there");
    if (work->strings[id - 1] != UINT32_MAX) {
        *out = work->strings[id - 1];
        return true;
    }
    (void)sqlite3_bind_int64(work->get_string, 1, id);
    ok = sqlite3_step(work->get_string) == SQLITE_ROW
             ? put_bytes(work, work->get_string, 0, out)
             : corrupt(work, "a row refers to a text that is not there");
    (void)sqlite3_reset(work->get_string);
    work->strings[id - 1] = *out;
    return ok;
}

/* ---- The header ---- */

struct header {
    struct profile_pprof_header told;
    struct profile_pprof_type *types;
    uint32_t *comments;
    size_t type_capacity, comment_capacity;
};

/* One fact.  Keys of others' making are none of ours.  */
static bool take_fact(struct telling *work, struct header *header, sqlite3_stmt *row)
{
    const struct {
        const char *key;
        int64_t *number;
    } numbers[] = {
        { "time_ns", &header->told.time_ns },
        { "duration_ns", &header->told.duration_ns },
        { "period", &header->told.period },
    };
    const struct {
        const char *key;
        uint32_t *text;
    } texts[] = {
        { "period_type", &header->told.period_type.type },
        { "period_unit", &header->told.period_type.unit },
        { "default_sample_type", &header->told.default_sample_type },
        { "drop_frames", &header->told.drop_frames },
        { "keep_frames", &header->told.keep_frames },
        { "doc_url", &header->told.doc_url },
    };
    const char *key = (const char *)sqlite3_column_text(row, 0);

    if (!key)
        return out_of_memory(work);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(key, numbers[i].key) == 0)
            *numbers[i].number = sqlite3_column_int64(row, 1);
    header->told.has_period_type |= strcmp(key, "period_type") == 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(key, texts[i].key) == 0)
            return put_bytes(work, row, 1, texts[i].text);
    return true;
}

static bool take_facts(struct telling *work, struct header *header)
{
    sqlite3_stmt *row = prepare(work, "SELECT key, value FROM main.meta WHERE capture_id = ?");
    int code = SQLITE_DONE;
    bool ok = row != NULL;

    if (row)
        (void)sqlite3_bind_int64(row, 1, work->capture);
    while (ok && (code = sqlite3_step(row)) == SQLITE_ROW)
        ok = take_fact(work, header, row);
    if (ok && code != SQLITE_DONE)
        ok = sqlite_failed(work, code);
    (void)sqlite3_finalize(row);
    return ok;
}

/* Comments by their numbers, which keys sort by as texts.  */
static bool take_comments(struct telling *work, struct header *header)
{
    sqlite3_stmt *row = prepare(
        work, "SELECT value FROM main.meta WHERE capture_id = ? AND key GLOB 'comment.[0-9]*' "
              "ORDER BY CAST(substr(key, 9) AS INTEGER)");
    int code = SQLITE_DONE;
    bool ok = row != NULL;

    if (row)
        (void)sqlite3_bind_int64(row, 1, work->capture);
    while (ok && (code = sqlite3_step(row)) == SQLITE_ROW) {
        void *items = header->comments;

        ok = reserve(work, &items, &header->comment_capacity, header->told.comment_count + 1,
                     sizeof *header->comments);
        header->comments = items;
        ok = ok && put_bytes(work, row, 0, &header->comments[header->told.comment_count]);
        header->told.comment_count += ok;
    }
    if (ok && code != SQLITE_DONE)
        ok = sqlite_failed(work, code);
    (void)sqlite3_finalize(row);
    return ok;
}

static bool take_types(struct telling *work, struct header *header)
{
    sqlite3_stmt *row = prepare(work, "SELECT type, unit FROM main.profile_type "
                                      "WHERE capture_id = ? ORDER BY ordinal");
    int code = SQLITE_DONE;
    bool ok = row != NULL;

    if (row)
        (void)sqlite3_bind_int64(row, 1, work->capture);
    while (ok && (code = sqlite3_step(row)) == SQLITE_ROW) {
        void *items = header->types;
        struct profile_pprof_type *type;

        ok = reserve(work, &items, &header->type_capacity, header->told.type_count + 1,
                     sizeof *header->types);
        header->types = items;
        type = &header->types[header->told.type_count];
        ok = ok && put_string(work, row, 0, &type->type) && put_string(work, row, 1, &type->unit);
        header->told.type_count += ok;
    }
    if (ok && code != SQLITE_DONE)
        ok = sqlite_failed(work, code);
    (void)sqlite3_finalize(row);
    work->type_count = header->told.type_count;
    return ok;
}

static bool tell_header(struct telling *work)
{
    struct header header = { .types = NULL };
    bool ok = take_facts(work, &header) && take_comments(work, &header) &&
              take_types(work, &header);

    header.told.types = header.types;
    header.told.comments = header.comments;
    ok = ok && put(work, work->sink.header(work->sink.context, &header.told));
    free(header.types);
    free(header.comments);
    return ok;
}

/* ---- Mappings ---- */

static bool note_symbolized(struct telling *work, sqlite3_stmt *row)
{
    int64_t ordinal = sqlite3_column_int64(row, 0);

    if (ordinal < 1 || (uint64_t)ordinal > work->mapping_count)
        return corrupt(work, "a location's mapping is not there");
    work->symbolized[ordinal] = true;
    return true;
}

/* pprof looks up again, and replaces, what lies in mappings without these flags.  */
static bool tell_mapping(struct telling *work, sqlite3_stmt *row)
{
    int64_t ordinal = sqlite3_column_int64(row, 0), has = sqlite3_column_int64(row, 7);
    bool symbolized = ordinal >= 1 && (uint64_t)ordinal <= work->mapping_count &&
                      work->symbolized[ordinal];
    struct profile_pprof_mapping mapping = {
        .id = (uint64_t)sqlite3_column_int64(row, 1),
        .start = (uint64_t)sqlite3_column_int64(row, 2),
        .limit = (uint64_t)sqlite3_column_int64(row, 2) + (uint64_t)sqlite3_column_int64(row, 3),
        .file_offset = (uint64_t)sqlite3_column_int64(row, 4),
        .has_functions = symbolized || (has & 1),
        .has_filenames = symbolized || (has & 2),
        .has_line_numbers = symbolized || (has & 4),
        .has_inline_frames = symbolized || (has & 8),
    };

    return put_string(work, row, 5, &mapping.filename) &&
           put_string(work, row, 6, &mapping.build_id) &&
           put(work, work->sink.mapping(work->sink.context, &mapping));
}

static bool tell_mappings(struct telling *work)
{
    return each(work,
                "SELECT DISTINCT l.mapping FROM main.profile_location AS l "
                "JOIN main.symbol AS s ON s.frame_id = l.frame_id AND s.inline_depth = 0 "
                "WHERE l.capture_id = ? AND l.mapping IS NOT NULL AND s.quality <> 5",
                note_symbolized) &&
           each(work,
                "SELECT ordinal, number, address, size, file_offset, filename, build_id, has "
                "FROM main.profile_mapping WHERE capture_id = ? ORDER BY ordinal",
                tell_mapping);
}

/* ---- Locations and their functions ---- */

/* The number of a function, which is told when it is met first.  */
static bool put_function(struct telling *work, struct profile_pprof_function *function,
                         uint32_t *out)
{
    bool is_new;

    *out = store_texts_add(&work->functions, (const char *)function, sizeof *function, &is_new);
    if (!*out)
        return out_of_memory(work);
    return !is_new || put(work, work->sink.function(work->sink.context, function));
}

/* Readers take the linkage name for the identity of a function, so what we found has one always; a
 * profile keeps what it said.  */
static bool take_line(struct telling *work, sqlite3_stmt *row, struct profile_pprof_line *line)
{
    struct profile_pprof_function function;

    memset(&function, 0, sizeof function); /* it is told apart by its bytes */
    function.start_line = sqlite3_column_int64(row, 5);
    line->line = sqlite3_column_int64(row, 3);
    line->column = sqlite3_column_int64(row, 4);
    if (!put_string(work, row, 0, &function.name) ||
        !put_string(work, row, 1, &function.system_name) ||
        !put_string(work, row, 2, &function.filename))
        return false;
    if (function.system_name == 0 && sqlite3_column_int64(row, 6) != 5)
        function.system_name = function.name;
    return put_function(work, &function, &line->function);
}

static bool take_lines(struct telling *work, int64_t frame, size_t *count)
{
    sqlite3_stmt *row = work->get_lines;
    int code = SQLITE_DONE;
    bool ok = true;

    *count = 0;
    (void)sqlite3_bind_int64(row, 1, frame);
    while (ok && (code = sqlite3_step(row)) == SQLITE_ROW) {
        void *items = work->lines;

        ok = reserve(work, &items, &work->line_capacity, *count + 1, sizeof *work->lines);
        work->lines = items;
        ok = ok && take_line(work, row, &work->lines[*count]);
        *count += ok;
    }
    if (ok && code != SQLITE_DONE)
        ok = sqlite_failed(work, code);
    (void)sqlite3_reset(row);
    return ok;
}

static bool tell_location(struct telling *work, sqlite3_stmt *row)
{
    int64_t frame = sqlite3_column_int64(row, 5), mapping = sqlite3_column_int64(row, 2);
    struct profile_pprof_location location = {
        .id = (uint64_t)sqlite3_column_int64(row, 1),
        .mapping = (uint32_t)mapping,
        .address = (uint64_t)sqlite3_column_int64(row, 3),
        .is_folded = sqlite3_column_int64(row, 4) != 0,
    };

    work->location_count++;
    if (sqlite3_column_int64(row, 0) != (int64_t)work->location_count ||
        work->location_count > UINT32_MAX - 2)
        return corrupt(work, "a profile's locations have gaps");
    if (mapping < 0 || (uint64_t)mapping > work->mapping_count)
        return corrupt(work, "a location's mapping is not there");
    if (frame < 1 || (uint64_t)frame > work->frame_count)
        return corrupt(work, "a location's frame is not there");
    if (work->first_locations[frame] == 0)
        work->first_locations[frame] = (uint32_t)work->location_count;
    if (!take_lines(work, frame, &location.line_count))
        return false;
    location.lines = work->lines;
    return put(work, work->sink.location(work->sink.context, &location));
}

/* ---- Samples ---- */

static bool push(struct telling *work, size_t *count, uint32_t location)
{
    void *items = work->stack;

    if (!reserve(work, &items, &work->stack_capacity, *count + 1, sizeof *work->stack))
        return false;
    work->stack = items;
    work->stack[(*count)++] = location;
    return true;
}

/* The frames of a call site, each the first location that has it.  */
static bool walk_stack(struct telling *work, int64_t callsite, size_t *count)
{
    if (callsite < 0 || (uint64_t)callsite > work->callsite_count)
        return corrupt(work, "a sample's call site is not there");
    for (uint32_t at = (uint32_t)callsite; at; at = work->parents[at]) {
        uint32_t location = work->first_locations[work->frames[at]];

        if (!location)
            return corrupt(work, "a frame of a profile is no location of it");
        if (!push(work, count, location))
            return false;
    }
    return true;
}

static bool listed_stack(struct telling *work, sqlite3_stmt *row, int column, size_t *count)
{
    const unsigned char *bytes = sqlite3_column_blob(row, column);
    size_t length = (size_t)sqlite3_column_bytes(row, column);

    for (size_t i = 0; i + 4 <= length; i += 4) {
        uint32_t location = (uint32_t)bytes[i] | (uint32_t)bytes[i + 1] << 8 |
                            (uint32_t)bytes[i + 2] << 16 | (uint32_t)bytes[i + 3] << 24;

        if (location < 1 || location > work->location_count)
            return corrupt(work, "a sample's location is not there");
        if (!push(work, count, location))
            return false;
    }
    return length % 4 == 0 || corrupt(work, "a sample's locations are cut");
}

/* As many as there are types, whatever rows say.  */
static bool take_values(struct telling *work, int64_t sample)
{
    sqlite3_stmt *row = work->get_values;
    void *items = work->values;
    size_t count = 0;
    int code;

    if (!reserve(work, &items, &work->value_capacity, work->type_count + 1, sizeof *work->values))
        return false;
    work->values = items;
    (void)sqlite3_bind_int64(row, 1, sample);
    while ((code = sqlite3_step(row)) == SQLITE_ROW && count < work->type_count &&
           sqlite3_column_int64(row, 0) == (int64_t)count)
        work->values[count++] = sqlite3_column_int64(row, 1);
    (void)sqlite3_reset(row);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return sqlite_failed(work, code);
    return (code == SQLITE_DONE && count == work->type_count) ||
           corrupt(work, "a sample has not a value of each type");
}

/* The unit, or both text and number, stand in profile_label.  */
static bool take_label(struct telling *work, sqlite3_stmt *row, struct profile_pprof_label *label)
{
    *label = (struct profile_pprof_label){ .key = 0 };
    if (!put_string(work, row, 0, &label->key) || !put_string(work, row, 4, &label->num_unit))
        return false;
    if (sqlite3_column_int64(row, 1) != FXT_ARG_STRING) {
        label->num = sqlite3_column_int64(row, 2);
        return true;
    }
    label->num = sqlite3_column_int64(row, 3);
    return put_bytes(work, row, 2, &label->str);
}

static bool take_labels(struct telling *work, int64_t set, size_t *count)
{
    sqlite3_stmt *row = work->get_labels;
    int code = SQLITE_DONE;
    bool ok = true;

    *count = 0;
    if (set == 0)
        return true;
    (void)sqlite3_bind_int64(row, 1, set);
    while (ok && (code = sqlite3_step(row)) == SQLITE_ROW) {
        void *items = work->labels;

        ok = reserve(work, &items, &work->label_capacity, *count + 1, sizeof *work->labels);
        work->labels = items;
        ok = ok && take_label(work, row, &work->labels[*count]);
        *count += ok;
    }
    if (ok && code != SQLITE_DONE)
        ok = sqlite_failed(work, code);
    (void)sqlite3_reset(row);
    return ok;
}

static bool tell_sample(struct telling *work, sqlite3_stmt *row)
{
    struct profile_pprof_sample sample = { .value_count = work->type_count };
    bool listed = sqlite3_column_type(row, 3) != SQLITE_NULL;

    if (work->store->interrupted) {
        work->status = store_fail(work->error, STORE_STOPPED, "interrupted");
        return false;
    }
    if (!(listed ? listed_stack(work, row, 3, &sample.location_count)
                 : walk_stack(work, sqlite3_column_int64(row, 1), &sample.location_count)) ||
        !take_values(work, sqlite3_column_int64(row, 0)) ||
        !take_labels(work, sqlite3_column_int64(row, 2), &sample.label_count))
        return false;
    sample.locations = work->stack;
    sample.values = work->values;
    sample.labels = work->labels;
    work->samples++;
    return put(work, work->sink.sample(work->sink.context, &sample));
}

/* ---- What is loaded first ---- */

static bool load_callsite(struct telling *work, sqlite3_stmt *row)
{
    int64_t id = sqlite3_column_int64(row, 0), parent = sqlite3_column_int64(row, 1);
    int64_t frame = sqlite3_column_int64(row, 2);

    if (id < 1 || (uint64_t)id > work->callsite_count || parent < 0 || parent >= id)
        return corrupt(work, "its call sites have gaps");
    if (frame < 1 || (uint64_t)frame > work->frame_count)
        return corrupt(work, "a call site's frame is not there");
    work->parents[id] = (uint32_t)parent;
    work->frames[id] = (uint32_t)frame;
    return true;
}

/* Ids have no gaps: what is largest bounds what is allocated.  */
static bool count_rows(struct telling *work, const char *sql, size_t *out)
{
    int64_t number = 0;

    work->status = store_number(work->store, sql, &number, work->error);
    if (work->status != STORE_OK)
        return false;
    if (number < 0 || number > UINT32_MAX - 2)
        return corrupt(work, "its ids have gaps");
    *out = (size_t)number;
    return true;
}

static bool load(struct telling *work)
{
    int64_t mappings = 0;

    /* A row that is there once for each id up to the largest: no more memory than rows.  */
    if (!count_rows(work, "SELECT count(*) FROM main.string", &work->string_count) ||
        !count_rows(work, "SELECT count(*) FROM main.callsite", &work->callsite_count) ||
        !count_rows(work, "SELECT count(*) FROM main.frame", &work->frame_count))
        return false;
    work->get_lines = prepare(work, "SELECT coalesce(max(ordinal), 0) FROM main.profile_mapping "
                                    "WHERE capture_id = ?");
    if (!work->get_lines)
        return false;
    (void)sqlite3_bind_int64(work->get_lines, 1, work->capture);
    if (sqlite3_step(work->get_lines) == SQLITE_ROW)
        mappings = sqlite3_column_int64(work->get_lines, 0);
    (void)sqlite3_finalize(work->get_lines);
    work->get_lines = NULL;
    if (mappings < 0 || mappings > UINT32_MAX / 2)
        return corrupt(work, "a profile's mappings have gaps");
    work->mapping_count = (size_t)mappings;
    work->strings = malloc((work->string_count + 1) * sizeof *work->strings);
    work->parents = calloc(work->callsite_count + 1, sizeof *work->parents);
    work->frames = calloc(work->callsite_count + 1, sizeof *work->frames);
    work->first_locations = calloc(work->frame_count + 1, sizeof *work->first_locations);
    work->symbolized = calloc(work->mapping_count + 1, sizeof *work->symbolized);
    if (!work->strings || !work->parents || !work->frames || !work->first_locations ||
        !work->symbolized)
        return out_of_memory(work);
    memset(work->strings, 0xff, (work->string_count + 1) * sizeof *work->strings);
    return each(work, "SELECT id, parent_id, frame_id FROM main.callsite ORDER BY id",
                load_callsite);
}

static bool prepare_all(struct telling *work)
{
    work->get_string = prepare(work, "SELECT coalesce(b.bytes, s.text) FROM main.string AS s LEFT "
                                     "JOIN main.string_bytes AS b ON b.string_id = s.id "
                                     "WHERE s.id = ?");
    work->get_lines = prepare(work, "SELECT function, system_name, file, line, \"column\", "
                                    "start_line, quality FROM main.symbol WHERE frame_id = ? "
                                    "ORDER BY inline_depth");
    work->get_values = prepare(work, "SELECT ordinal, value FROM main.profile_value "
                                     "WHERE profile_sample_id = ? ORDER BY ordinal");
    work->get_labels = prepare(work, "SELECT a.key_id, a.type, a.value, l.number, l.unit "
                                     "FROM main.arg AS a LEFT JOIN main.profile_label AS l "
                                     "ON l.arg_set_id = a.arg_set_id AND l.ordinal = a.ordinal "
                                     "WHERE a.arg_set_id = ? ORDER BY a.ordinal");
    return work->get_string && work->get_lines && work->get_values && work->get_labels;
}

static void release(struct telling *work)
{
    (void)sqlite3_finalize(work->get_string);
    (void)sqlite3_finalize(work->get_lines);
    (void)sqlite3_finalize(work->get_values);
    (void)sqlite3_finalize(work->get_labels);
    store_texts_release(&work->functions);
    free(work->strings);
    free(work->parents);
    free(work->frames);
    free(work->first_locations);
    free(work->symbolized);
    free(work->lines);
    free(work->stack);
    free(work->values);
    free(work->labels);
}

enum store_status profile_tell(struct store *store, int64_t capture,
                               struct profile_pprof_writer *writer, uint64_t *samples,
                               struct store_error *error)
{
    struct telling work = { .store = store, .capture = capture, .writer = writer, .error = error };
    uint32_t empty;
    bool ok;

    profile_pprof_writer_sink(writer, &work.sink);
    ok = put(&work, profile_pprof_writer_string(writer, "", 0, &empty, NULL)) && load(&work) &&
         prepare_all(&work) && tell_header(&work) && tell_mappings(&work) &&
         each(&work,
              "SELECT ordinal, number, mapping, address, is_folded, frame_id "
              "FROM main.profile_location WHERE capture_id = ? ORDER BY ordinal",
              tell_location) &&
         each(&work,
              "SELECT id, callsite_id, arg_set_id, locations FROM main.profile_sample "
              "WHERE capture_id = ? ORDER BY id",
              tell_sample);
    release(&work);
    *samples = work.samples;
    return ok ? STORE_OK : work.status;
}
