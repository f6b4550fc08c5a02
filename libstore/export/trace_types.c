#include "libstore/export/trace_types.h"

#include "libstore/functions/content_queries.h"

enum { CPU_TIME = 1 }; /* sample_type.id */

static void add_known(struct trace_types *types, enum profile_kind kind)
{
    size_t count;
    const struct profile_known_type *known = profile_known_types(kind, &count);

    for (size_t i = 0; i < count; i++)
        types->items[types->count++] = known[i];
}

size_t trace_types_place(const struct trace_types *types, int64_t id)
{
    for (size_t i = 1; i < types->count; i++)
        if (types->ids[i] == id)
            return i;
    return 0;
}

static enum store_status add_event(struct export *export, sqlite3_stmt *row,
                                   struct trace_types *types)
{
    int64_t id = sqlite3_column_int64(row, 0);
    const char **texts = &types->texts[types->text_count];
    enum store_status status;

    if (types->count == PROFILE_MAX_TYPES || trace_types_place(types, id) > 0)
        return STORE_OK;
    types->text_count += 2;
    status = export_copy_text(export, row, 1, &texts[0]);
    if (status == STORE_OK)
        status = export_copy_text(export, row, 2, &texts[1]);
    if (status != STORE_OK)
        return status;
    types->ids[types->count] = id;
    types->items[types->count++] = (struct profile_known_type){
        .type = texts[0], .unit = texts[1], .kind = PROFILE_CPU, .units = 1
    };
    return STORE_OK;
}

static enum store_status add_events(struct export *export, struct trace_types *types)
{
    enum store_status status = STORE_OK;
    sqlite3_stmt *row = export_prepare(
        export,
        "SELECT t.id, t.type, t.unit FROM main.sample_event AS e JOIN main.sample_type AS t "
        "ON t.id = e.sample_type_id WHERE ?1 IN (0, e.capture_id) ORDER BY e.capture_id, e.ordinal",
        &status);

    if (status == STORE_OK)
        (void)sqlite3_bind_int64(row, 1, export->filter.capture);
    while (export_step(export, row, &status))
        status = add_event(export, row, types);
    (void)sqlite3_finalize(row);
    return status;
}

/* CPU time has no place where no sample of it weighs anything, unless events show that there is
 * none.  */
static enum store_status load_cpu(struct export *export, struct trace_types *types)
{
    unsigned found = 0;
    int code = content_has(export->db, export->filter.capture,
                           STORE_HAS_CPU_TIME | STORE_HAS_CPU_SAMPLES, &found);

    if (code != SQLITE_OK)
        return store_fail_sqlite(export->error, export->db, code);
    add_known(types, PROFILE_CPU);
    types->ids[1] = CPU_TIME;
    if (found == STORE_HAS_CPU_SAMPLES) /* of events alone */
        types->count = 1;
    return add_events(export, types);
}

enum store_status trace_types_load(struct export *export, enum store_samples kind,
                                   struct trace_types *out)
{
    *out = (struct trace_types){ .count = 0 };
    if (kind == STORE_SAMPLES_CPU)
        return load_cpu(export, out);
    add_known(out, kind == STORE_SAMPLES_RELEASED ? PROFILE_HEAP_FREE : PROFILE_HEAP);
    return STORE_OK;
}

void trace_types_release(struct trace_types *types)
{
    for (size_t i = 0; i < types->text_count; i++)
        export_free_text(types->texts[i]);
}

size_t trace_types_default(const struct trace_types *types, const char *wanted)
{
    bool is_cpu = types->items[0].kind == PROFILE_CPU;

    for (size_t i = 0; wanted && i < types->count; i++)
        if (store_sample_type_is(wanted, types->items[i].type, types->items[i].unit))
            return i;
    return is_cpu && types->count > 1 ? 1 : types->count - 1;
}
