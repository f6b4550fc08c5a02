/* Pieces of a pprof profile, from rows.  What contradicts itself is corrupt.  */
#include "libstore/export/export_entries.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool out_corrupt(struct out *work, const char *what)
{
    work->status = store_fail(work->export->error, STORE_CORRUPT, "the store is corrupt: %s", what);
    return false;
}

bool out_no_memory(struct out *work)
{
    work->status = store_no_memory(work->export->error);
    return false;
}

/* What the writer said.  */
bool out_put(struct out *work, enum profile_status status)
{
    if (status == PROFILE_OK)
        return true;
    if (status == PROFILE_NO_MEMORY)
        return out_no_memory(work);
    if (status == PROFILE_INVALID) {
        work->status = store_fail(work->export->error, STORE_INVALID, "%s",
                                  profile_writer_error(work->writer)->message);
        return false;
    }
    work->status = store_fail(work->export->error, status == PROFILE_LIMIT ? STORE_LIMIT : STORE_IO,
                              "the profile cannot be written");
    return false;
}

bool out_failed(struct out *work, int code)
{
    work->status = store_fail_sqlite(work->export->error, work->export->db, code);
    return false;
}

sqlite3_stmt *out_prepare(struct out *work, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(work->export->db, sql, -1, &statement, NULL);

    if (code != SQLITE_OK)
        (void)out_failed(work, code);
    return statement;
}

bool out_row(struct out *work, sqlite3_stmt *statement, const char *missing)
{
    int code = sqlite3_step(statement);

    if (code == SQLITE_ROW)
        return true;
    return code == SQLITE_DONE ? out_corrupt(work, missing) : out_failed(work, code);
}

bool out_each(struct out *work, const char *sql, bool (*take)(void *context, sqlite3_stmt *row),
              void *context)
{
    sqlite3_stmt *row = out_prepare(work, sql);
    int code = SQLITE_DONE;
    bool ok = row != NULL;

    if (ok && sqlite3_bind_parameter_count(row) > 0)
        (void)sqlite3_bind_int64(row, 1, work->capture);
    while (ok && (code = sqlite3_step(row)) == SQLITE_ROW)
        ok = take(context, row);
    if (ok && code != SQLITE_DONE)
        ok = out_failed(work, code);
    (void)sqlite3_finalize(row);
    return ok;
}

bool out_reserve(struct out *work, void **items, size_t *capacity, size_t count, size_t size)
{
    return base_make_room(items, capacity, count, size) || out_no_memory(work);
}

bool out_bytes(struct out *work, sqlite3_stmt *row, int column, uint32_t *out)
{
    const char *bytes = sqlite3_column_blob(row, column);
    size_t length = (size_t)sqlite3_column_bytes(row, column);

    *out = 0;
    if (length == 0)
        return true;
    return bytes ? out_put(work, profile_writer_string(work->writer, bytes, length, out))
                 : out_no_memory(work);
}

bool out_text(struct out *work, const char *text, uint32_t *out)
{
    return out_put(work, profile_writer_string(work->writer, text, strlen(text), out));
}

/* The number of the text whose string.id a column has; 0 for NULL.  */
bool out_string(struct out *work, sqlite3_stmt *row, int column, uint32_t *out)
{
    int64_t id = sqlite3_column_int64(row, column);
    bool ok;

    *out = 0;
    if (sqlite3_column_type(row, column) == SQLITE_NULL)
        return true;
    if (id < 1 || (uint64_t)id > work->export->stacks->string_count)
        return out_corrupt(work, "a row refers to a text that is not there");
    if (work->strings[id - 1] != UINT32_MAX) {
        *out = work->strings[id - 1];
        return true;
    }
    (void)sqlite3_bind_int64(work->get_string, 1, id);
    ok = out_row(work, work->get_string, "a row refers to a text that is not there") &&
         out_bytes(work, work->get_string, 0, out);
    (void)sqlite3_reset(work->get_string);
    if (ok)
        work->strings[id - 1] = *out;
    return ok;
}

/* The number of a function, which is passed on when it is met first.  */
bool out_function(struct out *work, struct profile_pprof_function *function, uint32_t *out)
{
    /* Members only: what lies between them may be anything.  */
    const int64_t key[] = { (int64_t)function->id, function->name, function->system_name,
                            function->filename, function->start_line };
    bool is_new;

    *out = base_texts_add(&work->functions, (const char *)key, sizeof key, &is_new);
    if (!*out)
        return out_no_memory(work);
    return !is_new || out_put(work, work->sink.function(work->sink.context, function));
}

bool out_thread(struct out *work, uint32_t process_id, uint32_t thread_id, uint32_t *out)
{
    const struct export_process *process = &work->export->processes[process_id];
    const struct export_thread *thread = &work->export->threads[thread_id];
    struct profile_pprof_thread found = { .has_pid = process_id != 0,
                                          .pid = (uint32_t)process->koid,
                                          .has_tid = thread_id != 0,
                                          .tid = (uint32_t)thread->koid };
    bool is_new;

    *out = 0;
    if (!work->sink.thread || (process_id == 0 && thread_id == 0))
        return true;
    *out = base_pairs_add(&work->threads, (uint64_t)thread_id << 32 | process_id, 0, &is_new);
    if (!*out)
        return out_no_memory(work);
    if (!is_new)
        return true;
    return out_text(work, process_id && process->name ? process->name : "", &found.process_name) &&
           out_text(work, thread_id && thread->name ? thread->name : "", &found.name) &&
           out_put(work, work->sink.thread(work->sink.context, &found));
}

/* Readers take the linkage name for the identity of a function, so what we found has one always; a
 * profile keeps what it said.  */
static bool take_line(struct out *work, sqlite3_stmt *row, struct profile_pprof_line *line)
{
    struct profile_pprof_function function;

    memset(&function, 0, sizeof function); /* it is told apart by its bytes */
    function.start_line = sqlite3_column_int64(row, 5);
    line->line = sqlite3_column_int64(row, 3);
    line->column = sqlite3_column_int64(row, 4);
    if (!out_string(work, row, 0, &function.name) ||
        !out_string(work, row, 1, &function.system_name) ||
        !out_string(work, row, 2, &function.filename))
        return false;
    if (function.system_name == 0 && sqlite3_column_int64(row, 6) != 5)
        function.system_name = function.name;
    return out_function(work, &function, &line->function);
}

bool out_lines(struct out *work, int64_t frame, size_t *count)
{
    sqlite3_stmt *row = work->get_lines;
    int code = SQLITE_DONE;
    bool ok = true;

    *count = 0;
    (void)sqlite3_bind_int64(row, 1, frame);
    while (ok && (code = sqlite3_step(row)) == SQLITE_ROW) {
        void *items = work->lines;

        ok = out_reserve(work, &items, &work->line_capacity, *count + 1, sizeof *work->lines);
        work->lines = items;
        ok = ok && take_line(work, row, &work->lines[*count]);
        *count += ok;
    }
    if (ok && code != SQLITE_DONE)
        ok = out_failed(work, code);
    (void)sqlite3_reset(row);
    return ok;
}

/* Folded stacks may have fractions, which pprof has not.  */
static int64_t value_of(sqlite3_stmt *row, int column)
{
    double real = sqlite3_column_double(row, column);

    if (sqlite3_column_type(row, column) != SQLITE_FLOAT)
        return sqlite3_column_int64(row, column);
    return real >= 0x1p63 ? INT64_MAX : real < -0x1p63 ? INT64_MIN : (int64_t)llround(real);
}

/* As many as there are types, whatever rows say.  */
bool out_values(struct out *work, int64_t sample)
{
    sqlite3_stmt *row = work->get_values;
    void *items = work->values;
    size_t count = 0;
    int code;

    if (!out_reserve(work, &items, &work->value_capacity, work->type_count + 1,
                     sizeof *work->values))
        return false;
    work->values = items;
    (void)sqlite3_bind_int64(row, 1, sample);
    while ((code = sqlite3_step(row)) == SQLITE_ROW && count < work->type_count &&
           sqlite3_column_int64(row, 0) == (int64_t)count)
        work->values[count++] = value_of(row, 1);
    (void)sqlite3_reset(row);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return out_failed(work, code);
    return (code == SQLITE_DONE && count == work->type_count) ||
           out_corrupt(work, "a sample has not a value of each type");
}

/* The unit, or both text and number, stand in profile_label.  */
static bool take_label(struct out *work, sqlite3_stmt *row, struct profile_pprof_label *label)
{
    *label = (struct profile_pprof_label){ .key = 0 };
    if (!out_string(work, row, 0, &label->key) || !out_string(work, row, 4, &label->num_unit))
        return false;
    if (sqlite3_column_int64(row, 1) != FXT_ARG_STRING) {
        label->num = sqlite3_column_int64(row, 2);
        return true;
    }
    label->num = sqlite3_column_int64(row, 3);
    return out_bytes(work, row, 2, &label->str);
}

bool out_labels(struct out *work, int64_t set, size_t *count)
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

        ok = out_reserve(work, &items, &work->label_capacity, *count + 1, sizeof *work->labels);
        work->labels = items;
        ok = ok && take_label(work, row, &work->labels[*count]);
        *count += ok;
    }
    if (ok && code != SQLITE_DONE)
        ok = out_failed(work, code);
    (void)sqlite3_reset(row);
    return ok;
}

/* ---- The header ---- */

struct header {
    struct out *out;
    struct profile_pprof_header told;
    struct profile_pprof_type *types;
    uint32_t *comments;
    size_t type_capacity, comment_capacity;
    const char *first; /* the type that is to be the default; NULL: as it was */
    bool found;
};

/* One fact.  Keys of others' making are none of ours.  */
static bool take_fact(void *context, sqlite3_stmt *row)
{
    struct header *header = context;
    struct out *work = header->out;
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
        return out_no_memory(work);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(key, numbers[i].key) == 0)
            *numbers[i].number = sqlite3_column_int64(row, 1);
    header->told.has_period_type |= strcmp(key, "period_type") == 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(key, texts[i].key) == 0)
            return out_bytes(work, row, 1, texts[i].text);
    return true;
}

/* Comments come by their numbers, which keys sort by as texts.  */
static bool take_comment(void *context, sqlite3_stmt *row)
{
    struct header *header = context;
    void *items = header->comments;

    if (!out_reserve(header->out, &items, &header->comment_capacity, header->told.comment_count + 1,
                     sizeof *header->comments))
        return false;
    header->comments = items;
    return out_bytes(header->out, row, 0, &header->comments[header->told.comment_count++]);
}

static bool take_type(void *context, sqlite3_stmt *row)
{
    struct header *header = context;
    void *items = header->types;
    struct profile_pprof_type *type;
    const char *names[2] = { (const char *)sqlite3_column_text(row, 2),
                             (const char *)sqlite3_column_text(row, 3) };

    if (!out_reserve(header->out, &items, &header->type_capacity, header->told.type_count + 1,
                     sizeof *header->types))
        return false;
    header->types = items;
    type = &header->types[header->told.type_count++];
    if (!out_string(header->out, row, 0, &type->type) ||
        !out_string(header->out, row, 1, &type->unit))
        return false;
    if (header->first && !header->found && names[0] && names[1] &&
        store_sample_type_is(header->first, names[0], names[1])) {
        header->told.default_sample_type = type->type;
        header->found = true;
    }
    return true;
}

bool out_header(struct out *work, const char *first)
{
    struct header header = { .out = work, .first = first };
    bool ok = out_each(work, "SELECT key, value FROM main.meta WHERE capture_id = ?", take_fact,
                       &header) &&
              out_each(
                  work,
                  "SELECT value FROM main.meta WHERE capture_id = ? AND key GLOB 'comment.[0-9]*' "
                  "ORDER BY CAST(substr(key, 9) AS INTEGER)",
                  take_comment, &header) &&
              out_each(work,
                       "SELECT p.type, p.unit, t.type, t.unit FROM main.profile_type AS p "
                       "LEFT JOIN main.sample_type AS t ON t.id = p.sample_type_id "
                       "WHERE p.capture_id = ? ORDER BY p.ordinal",
                       take_type, &header);

    if (ok && first && !header.found) {
        work->status = store_fail(work->export->error, STORE_INVALID,
                                  "there are no samples of type '%s': see table profile_type",
                                  first);
        ok = false;
    }
    header.told.types = header.types;
    header.told.comments = header.comments;
    work->type_count = header.told.type_count;
    ok = ok && out_put(work, work->sink.header(work->sink.context, &header.told));
    free(header.types);
    free(header.comments);
    return ok;
}

/* ---- Opening and closing ---- */

static bool prepare_all(struct out *work)
{
    work->get_string = out_prepare(work,
                                   "SELECT coalesce(b.bytes, s.text) FROM main.string AS s LEFT "
                                   "JOIN main.string_bytes AS b ON b.string_id = s.id "
                                   "WHERE s.id = ?");
    work->get_lines = out_prepare(work, "SELECT function, system_name, file, line, \"column\", "
                                        "start_line, quality FROM main.symbol WHERE frame_id = ? "
                                        "ORDER BY inline_depth");
    work->get_values = out_prepare(work, "SELECT ordinal, value FROM main.profile_value "
                                         "WHERE profile_sample_id = ? ORDER BY ordinal");
    work->get_labels = out_prepare(work, "SELECT a.key_id, a.type, a.value, l.number, l.unit "
                                         "FROM main.arg AS a LEFT JOIN main.profile_label AS l "
                                         "ON l.arg_set_id = a.arg_set_id AND l.ordinal = a.ordinal "
                                         "WHERE a.arg_set_id = ? ORDER BY a.ordinal");
    return work->get_string && work->get_lines && work->get_values && work->get_labels;
}

bool out_open(struct out *work, struct export *export, const struct profile_format *format,
              store_write_fn write)
{
    struct profile_writer_options options = { .size = sizeof options,
                                              .raw = export->options.raw,
                                              .root = export->options.root };
    size_t count = export->stacks->string_count;
    uint32_t empty;

    *work = (struct out){ .export = export, .format = format };
    work->strings = malloc((count + 1) * sizeof *work->strings);
    if (!work->strings)
        return out_no_memory(work);
    memset(work->strings, 0xff, (count + 1) * sizeof *work->strings);
    if (profile_writer_open(format, &options, write, export, &work->writer, NULL) != PROFILE_OK)
        return out_no_memory(work);
    profile_writer_sink(work->writer, &work->sink);
    return out_text(work, "", &empty) && prepare_all(work);
}

void out_release(struct out *work)
{
    (void)sqlite3_finalize(work->get_string);
    (void)sqlite3_finalize(work->get_lines);
    (void)sqlite3_finalize(work->get_values);
    (void)sqlite3_finalize(work->get_labels);
    profile_writer_close(work->writer);
    base_pairs_release(&work->threads);
    base_texts_release(&work->functions);
    free(work->strings);
    free(work->lines);
    free(work->stack);
    free(work->values);
    free(work->labels);
}
