/* types.c - which samples a sample type means.  */
#include <string.h>

#include "libstore/export/export.h"

/* What fxt2pprof calls them, which all exports take.  */
static const struct {
    const char *type, *unit;
    enum export_source source;
    bool counts;
} known[] = {
    { "cpu", "nanoseconds", EXPORT_CPU, false },
    { "samples", "count", EXPORT_CPU, true },
    { "inuse_space", "bytes", EXPORT_IN_USE, false },
    { "inuse_objects", "count", EXPORT_IN_USE, true },
    { "alloc_space", "bytes", EXPORT_ALLOCATED, false },
    { "alloc_objects", "count", EXPORT_ALLOCATED, true },
    { "free_space", "bytes", EXPORT_RELEASED, false },
    { "free_objects", "count", EXPORT_RELEASED, true },
};

#define KNOWN (sizeof known / sizeof *known)

/* Whether wanted is "type" or "type/unit".  */
static bool type_is(const char *wanted, const char *type, const char *unit)
{
    size_t length = strlen(type);

    return strcmp(wanted, type) == 0 ||
           (strncmp(wanted, type, length) == 0 && wanted[length] == '/' &&
            strcmp(wanted + length + 1, unit) == 0);
}

/* ---- What there is ---- */

static enum store_status exists(struct export *export, const char *sql, bool *out)
{
    int64_t found;
    enum store_status status = export_number(export, sql, export->filter.capture, 0, 0, &found);

    *out = found != 0;
    return status;
}

static enum store_status has_source(struct export *export, enum export_source source, bool *out)
{
    switch (source) {
    case EXPORT_CPU:
        return exists(
            export,
            "SELECT 1 FROM main.capture WHERE sample_count > 0 AND (?1 = 0 OR id = ?1) LIMIT 1",
            out);
    case EXPORT_IN_USE:
    case EXPORT_ALLOCATED:
    case EXPORT_RELEASED:
        return exists(
            export,
            "SELECT 1 FROM main.heap_event WHERE ?1 = 0 OR upid IN (SELECT id FROM main.process "
            "WHERE capture_id = ?1) LIMIT 1",
            out);
    case EXPORT_PROFILE:
        return exists(export,
                      "SELECT 1 FROM main.profile_sample WHERE ?1 = 0 OR capture_id = ?1 LIMIT 1",
                      out);
    }
    *out = false;
    return STORE_OK;
}

/* The id in sample_type of a type by name; 0: there is none.  */
static enum store_status find_id(struct export *export, const char *wanted, struct export_type *out)
{
    enum store_status status = STORE_OK;
    sqlite3_stmt *row = export_prepare(
        export, "SELECT id, type, unit FROM main.sample_type ORDER BY id", &status);

    while (out->id == 0 && export_step(export, row, &status)) {
        const char *type = (const char *)sqlite3_column_text(row, 1);
        const char *unit = (const char *)sqlite3_column_text(row, 2);

        if (type && unit && type_is(wanted, type, unit))
            out->id = sqlite3_column_int64(row, 0);
    }
    (void)sqlite3_finalize(row);
    return status;
}

/* Profiles may have values of that type too.  */
static enum store_status in_profiles(struct export *export, const char *wanted,
                                     struct export_type *out)
{
    enum store_status status = find_id(export, wanted, out);
    int64_t found = 0;

    if (status == STORE_OK && out->id)
        status = export_number(
            export,
            "SELECT 1 FROM main.profile_value AS v JOIN main.profile_sample AS s "
            "ON s.id = v.profile_sample_id WHERE v.sample_type_id = ?1 "
            "AND (?2 = 0 OR s.capture_id = ?2) LIMIT 1",
            out->id, export->filter.capture, 0, &found);
    if (!found)
        out->id = 0;
    return status;
}

/* CPU time where any sample has it.  */
static enum store_status has_weights(struct export *export, bool *out)
{
    return exists(export,
                  "SELECT 1 FROM main.callsite_sum WHERE sample_type_id = 1 AND value IS NOT NULL "
                  "AND (?1 = 0 OR capture_id = ?1) LIMIT 1",
                  out);
}

/* ---- Choosing ---- */

static enum store_status choose_named(struct export *export, bool profiles, struct export_type *out)
{
    const char *wanted = export->filter.sample_type;
    bool there = false;
    enum store_status status = STORE_OK;

    for (size_t i = 0; i < KNOWN && status == STORE_OK && !there && !profiles; i++) {
        if (!type_is(wanted, known[i].type, known[i].unit))
            continue;
        status = has_source(export, known[i].source, &there);
        out->source = known[i].source;
        out->counts = known[i].counts;
        out->from_trace = there;
    }
    if (status == STORE_OK)
        status = in_profiles(export, wanted, out);
    if (status == STORE_OK && !there && !out->id)
        status = store_fail(export->error, STORE_INVALID,
                            "there are no samples of type '%s': see table sample_type", wanted);
    if (!there)
        out->source = EXPORT_PROFILE;
    return status;
}

/* The type of imported profiles that reports show.  */
static enum store_status choose_of_profile(struct export *export, struct export_type *out)
{
    out->source = EXPORT_PROFILE;
    return export_number(
        export,
        "SELECT p.sample_type_id FROM main.profile_type AS p JOIN main.sample_type AS t "
        "ON t.id = p.sample_type_id WHERE ?1 = 0 OR p.capture_id = ?1 ORDER BY CASE t.type "
        "WHEN 'cpu' THEN 0 WHEN 'inuse_space' THEN 1 WHEN 'alloc_space' THEN 2 "
        "WHEN 'free_space' THEN 3 WHEN 'wall' THEN 4 ELSE 5 END, t.id > 4, p.is_default DESC, t.id "
        "LIMIT 1",
        export->filter.capture, 0, 0, &out->id);
}

static enum store_status choose_first(struct export *export, bool profiles, struct export_type *out)
{
    static const enum export_source order[] = { EXPORT_CPU, EXPORT_IN_USE, EXPORT_PROFILE };
    enum store_status status = STORE_OK;
    bool there = false;

    for (size_t i = profiles ? 2 : 0;
         i < sizeof order / sizeof *order && status == STORE_OK && !there; i++) {
        status = has_source(export, order[i], &there);
        out->source = order[i];
    }
    out->from_trace = out->source != EXPORT_PROFILE;
    if (status == STORE_OK && !there)
        return store_fail(export->error, STORE_INVALID, "there are no samples%s in it",
                          profiles ? " of imported profiles" : "");
    return status == STORE_OK && !out->from_trace ? choose_of_profile(export, out) : status;
}

/* Whether any sample of the profiles that are looked at has a thread.  */
static enum store_status find_threads(struct export *export, const struct export_type *type,
                                      bool *out)
{
    int64_t found = 0;
    enum store_status status = export_number(
        export,
        "SELECT 1 FROM main.profile_sample AS s WHERE s.utid IS NOT NULL "
        "AND (?2 = 0 OR s.capture_id = ?2) AND (?1 = 0 OR EXISTS (SELECT 1 FROM "
        "main.profile_value AS v WHERE v.profile_sample_id = s.id AND v.sample_type_id = ?1)) "
        "LIMIT 1",
        type->id, export->filter.capture, 0, &found);

    *out = found == 1;
    return status;
}

static enum store_status tells_cpu(struct export *export, const struct export_type *type, bool *out)
{
    *out = false;
    if (type->source != EXPORT_CPU)
        return STORE_OK;
    return exists(export,
                  "SELECT 1 FROM main.capture AS c WHERE sample_count > 0 AND (?1 = 0 OR id = ?1) "
                  "AND EXISTS (SELECT 1 FROM main.cpu_sample AS s WHERE s.id >= c.first_sample_id "
                  "AND s.id < c.first_sample_id + c.sample_count AND s.cpu IS NOT NULL) LIMIT 1",
                  out);
}

static enum store_status tells_time(struct export *export, const struct export_type *type,
                                    bool *out)
{
    *out = type->source == EXPORT_CPU;
    if (type->source == EXPORT_CPU || type->source == EXPORT_PROFILE)
        return STORE_OK;
    return exists(export,
                  "SELECT 1 FROM main.heap_event AS h JOIN main.process AS p ON p.id = h.upid "
                  "WHERE h.ts IS NOT NULL AND (?1 = 0 OR p.capture_id = ?1) LIMIT 1",
                  out);
}

static enum store_status tells_thread(struct export *export, const struct export_type *type,
                                      bool *out)
{
    *out = type->source == EXPORT_CPU;
    if (*out || (type->source != EXPORT_PROFILE && !type->id))
        return STORE_OK;
    return find_threads(export, type, out);
}

/* Nothing can pass a filter that no sample has a column for.  */
static enum store_status check_filter(struct export *export, const struct export_type *type)
{
    const struct store_filter *filter = &export->filter;
    const struct {
        bool asked;
        enum store_status (*tells)(struct export *export, const struct export_type *type,
                                   bool *out);
        const char *what;
    } filters[] = {
        { filter->cpus != NULL, tells_cpu, "a CPU" },
        { filter->has_from || filter->has_limit, tells_time, "a time" },
        { filter->tids != NULL, tells_thread, "a thread" },
    };

    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        bool told = true;
        enum store_status status = filters[i].asked ? filters[i].tells(export, type, &told)
                                                    : STORE_OK;

        if (status != STORE_OK)
            return status;
        if (!told)
            return store_fail(export->error, STORE_INVALID, "samples of %s do not tell %s",
                              type->source == EXPORT_PROFILE ? "profiles"
                              : type->source == EXPORT_CPU   ? "CPU time"
                                                             : "the heap",
                              filters[i].what);
    }
    return STORE_OK;
}

enum store_status export_choose_type(struct export *export, bool profiles, struct export_type *out)
{
    enum store_status status;
    bool weights = true;

    *out = (struct export_type){ .id = 0 };
    status = export->filter.sample_type ? choose_named(export, profiles, out)
                                        : choose_first(export, profiles, out);
    if (status == STORE_OK && out->source == EXPORT_CPU && !out->counts) {
        status = has_weights(export, &weights);
        out->counts = !weights;
    }
    return status == STORE_OK ? check_filter(export, out) : status;
}
