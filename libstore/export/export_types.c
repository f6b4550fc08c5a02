/* export_types.c - which samples a sample type means.  */
#include <string.h>

#include "libstore/export/export.h"
#include "libstore/functions/content_queries.h"

enum { CPU_TIME = 1 }; /* sample_type.id */

static enum store_status failed(const struct export *export, int code)
{
    return code == SQLITE_OK ? STORE_OK : store_fail_sqlite(export->error, export->db, code);
}

static enum store_status has(struct export *export, unsigned content, bool *out)
{
    unsigned found = 0;
    int code = content_has(export->db, export->filter.capture, content, &found);

    *out = found != 0;
    return failed(export, code);
}

/* Whether profiles have values of the type: out->id.  */
static enum store_status find_in_profiles(struct export *export, sqlite3_int64 id,
                                          struct export_type *out)
{
    int64_t found = 0;
    enum store_status status = export_number(
        export,
        "SELECT 1 FROM main.profile_value AS v JOIN main.profile_sample AS s "
        "ON s.id = v.profile_sample_id WHERE v.sample_type_id = ?1 "
        "AND (?2 = 0 OR s.capture_id = ?2) LIMIT 1",
        id, export->filter.capture, 0, &found);

    out->id = found ? id : 0;
    return status;
}

/* The rows of traces that count for the type.  */
static enum store_status find_in_traces(struct export *export, const struct store_sample_type *type,
                                        struct export_type *out)
{
    enum store_status status = STORE_OK;

    out->kind = type->kind;
    out->counts = type->counted_id != 0;
    out->sampled = out->kind == STORE_SAMPLES_CPU && !out->counts ? type->id : 0;
    if (out->kind == STORE_SAMPLES_CPU)
        status = has(export, out->sampled == CPU_TIME ? STORE_HAS_CPU_TIME : STORE_HAS_CPU_SAMPLES,
                     &out->from_trace);
    else if (out->kind != STORE_SAMPLES_PROFILED)
        status = has(export, STORE_HAS_ALLOCATIONS, &out->from_trace);
    if (!out->from_trace) {
        out->kind = STORE_SAMPLES_PROFILED;
        out->counts = false;
    }
    return status;
}

/* CPU time where any sample has it.  */
static enum store_status choose_counts(struct export *export, const struct store_sample_type *type,
                                       struct export_type *out)
{
    bool has_values = true;
    int code = SQLITE_OK;

    if (out->kind == STORE_SAMPLES_CPU && !out->counts)
        code = content_has_values(export->db, type, export->filter.capture, &has_values);
    out->counts |= !has_values;
    return failed(export, code);
}

/* There are no samples of what is asked for, which is an error only where something is.  */
static enum store_status choose_nothing(struct export *export, bool profiles,
                                        struct export_type *out)
{
    const char *wanted = export->filter.sample_type;

    if (wanted)
        return store_fail(export->error, STORE_INVALID,
                          "there are no samples of type '%s': see table sample_type", wanted);
    if (profiles)
        return store_fail(export->error, STORE_INVALID,
                          "there are no samples of imported profiles in it");
    out->kind = STORE_SAMPLES_CPU;
    out->from_trace = true;
    return STORE_OK;
}

/* *there: there are samples of it.  */
static enum store_status choose(struct export *export, bool profiles, struct export_type *out,
                                bool *there)
{
    const char *wanted = export->filter.sample_type;
    struct store_sample_type type;
    enum store_status status = failed(
        export, content_choose_type(export->db, wanted, export->filter.capture, &type));

    if (status == STORE_OK && !profiles)
        status = find_in_traces(export, &type, out);
    if (status == STORE_OK && profiles && !wanted)
        status = has(export, STORE_HAS_PROFILES, there);
    else if (status == STORE_OK)
        status = find_in_profiles(export, type.id, out);
    *there |= out->from_trace || out->id;
    if (status == STORE_OK && !*there)
        status = choose_nothing(export, profiles, out);
    if (status == STORE_OK)
        status = choose_counts(export, &type, out);
    store_sample_type_release(&type);
    return status;
}

/* Nothing can pass a filter that no sample has a column for.  */
static enum store_status check_filter(struct export *export, const struct export_type *type)
{
    const struct store_filter *filter = &export->filter;
    const struct store_sample_type asked_of = { .id = type->id, .kind = type->kind, .there = true };
    const char *untold;
    int code = content_missing(export->db, &asked_of, filter->capture, store_filter_given(filter),
                               &untold);

    if (code != SQLITE_OK || !untold)
        return failed(export, code);
    return store_fail(export->error, STORE_INVALID, "samples of %s have no %s",
                      type->kind == STORE_SAMPLES_PROFILED ? "profiles"
                      : type->kind == STORE_SAMPLES_CPU    ? "CPU time"
                                                           : "the heap",
                      untold);
}

enum store_status export_choose_type(struct export *export, bool profiles, struct export_type *out)
{
    bool there = false;
    enum store_status status;

    *out = (struct export_type){ .kind = STORE_SAMPLES_PROFILED };
    status = choose(export, profiles, out, &there);
    return status == STORE_OK && there ? check_filter(export, out) : status;
}
