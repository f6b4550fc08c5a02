/* An imported pprof profile as it was: rows say what stood in the file (profile_pprof.c), in its
 * order.  Functions are numbered as locations come to need them, those of no location are gone;
 * names that store_symbolize() has found since are there.  */
#include <stdlib.h>
#include <string.h>

#include "libstore/export/export_entries.h"

struct telling {
    struct out *out;
    const uint8_t *kept;
    int64_t first_sample;
    uint32_t *first_locations; /* of frames, at [id]: ordinal; 0 none */
    bool *symbolized;          /* of mappings, at [ordinal]: names were found since */
    size_t mapping_count, location_count;
    uint64_t samples; /* told */
};

static bool note_symbolized(void *context, sqlite3_stmt *row)
{
    struct telling *telling = context;
    struct out *work = telling->out;
    int64_t ordinal = sqlite3_column_int64(row, 0);

    if (ordinal < 1 || (uint64_t)ordinal > telling->mapping_count)
        return out_corrupt(work, "a location's mapping is not there");
    telling->symbolized[ordinal] = true;
    return true;
}

/* pprof looks up again, and replaces, what lies in mappings without these flags.  */
static bool tell_mapping(void *context, sqlite3_stmt *row)
{
    struct telling *telling = context;
    struct out *work = telling->out;
    int64_t ordinal = sqlite3_column_int64(row, 0), has = sqlite3_column_int64(row, 7);
    bool symbolized = ordinal >= 1 && (uint64_t)ordinal <= telling->mapping_count &&
                      telling->symbolized[ordinal];
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

    return out_string(work, row, 5, &mapping.filename) &&
           out_string(work, row, 6, &mapping.build_id) &&
           out_put(work, work->sink.mapping(work->sink.context, &mapping));
}

static bool tell_mappings(struct telling *telling)
{
    return out_each(telling->out,
                    "SELECT DISTINCT l.mapping FROM main.profile_location AS l "
                    "JOIN main.symbol AS s ON s.frame_id = l.frame_id AND s.inline_depth = 0 "
                    "WHERE l.capture_id = ? AND l.mapping IS NOT NULL AND s.quality <> 5",
                    note_symbolized, telling) &&
           out_each(telling->out,
                    "SELECT ordinal, number, address, size, file_offset, filename, build_id, has "
                    "FROM main.profile_mapping WHERE capture_id = ? ORDER BY ordinal",
                    tell_mapping, telling);
}

static bool tell_location(void *context, sqlite3_stmt *row)
{
    struct telling *telling = context;
    struct out *work = telling->out;
    int64_t frame = sqlite3_column_int64(row, 5), mapping = sqlite3_column_int64(row, 2);
    struct profile_pprof_location location = {
        .id = (uint64_t)sqlite3_column_int64(row, 1),
        .mapping = (uint32_t)mapping,
        .address = (uint64_t)sqlite3_column_int64(row, 3),
        .is_folded = sqlite3_column_int64(row, 4) != 0,
    };

    telling->location_count++;
    if (sqlite3_column_int64(row, 0) != (int64_t)telling->location_count ||
        telling->location_count > UINT32_MAX - 2)
        return out_corrupt(work, "a profile's locations have gaps");
    if (mapping < 0 || (uint64_t)mapping > telling->mapping_count)
        return out_corrupt(work, "a location's mapping is not there");
    if (frame < 1 || (uint64_t)frame > work->export->stacks->frame_count)
        return out_corrupt(work, "a location's frame is not there");
    if (telling->first_locations[frame] == 0)
        telling->first_locations[frame] = (uint32_t)telling->location_count;
    if (!out_lines(work, frame, &location.line_count))
        return false;
    location.lines = work->lines;
    return out_put(work, work->sink.location(work->sink.context, &location));
}

static bool push(struct out *work, size_t *count, uint32_t location)
{
    void *items = work->stack;

    if (!out_reserve(work, &items, &work->stack_capacity, *count + 1, sizeof *work->stack))
        return false;
    work->stack = items;
    work->stack[(*count)++] = location;
    return true;
}

/* The frames of a call site, each the first location that has it.  */
static bool walk_stack(struct telling *telling, int64_t callsite, size_t *count)
{
    struct out *work = telling->out;
    const struct stacks *stacks = work->export->stacks;

    if (callsite < 0 || (uint64_t)callsite > stacks->callsite_count)
        return out_corrupt(work, "a sample's call site is not there");
    for (uint32_t at = (uint32_t)callsite; at; at = stacks->parents[at]) {
        uint32_t location = telling->first_locations[stacks->frames[at]];

        if (!location)
            return out_corrupt(work, "a frame of a profile is no location of it");
        if (!push(work, count, location))
            return false;
    }
    return true;
}

static bool listed_stack(struct telling *telling, sqlite3_stmt *row, int column, size_t *count)
{
    const unsigned char *bytes = sqlite3_column_blob(row, column);
    size_t length = (size_t)sqlite3_column_bytes(row, column);

    if (length > 0 && !bytes)
        return out_no_memory(telling->out);
    for (size_t i = 0; i + 4 <= length; i += 4) {
        uint32_t location = (uint32_t)bytes[i] | (uint32_t)bytes[i + 1] << 8 |
                            (uint32_t)bytes[i + 2] << 16 | (uint32_t)bytes[i + 3] << 24;

        if (location < 1 || location > telling->location_count)
            return out_corrupt(telling->out, "a sample's location is not there");
        if (!push(telling->out, count, location))
            return false;
    }
    return length % 4 == 0 || out_corrupt(telling->out, "a sample's locations are cut");
}

static bool tell_sample(void *context, sqlite3_stmt *row)
{
    struct telling *telling = context;
    struct out *work = telling->out;
    struct profile_pprof_sample sample = { .value_count = work->type_count };
    bool listed = sqlite3_column_type(row, 3) != SQLITE_NULL;

    int64_t number = sqlite3_column_int64(row, 0) - telling->first_sample;

    if (telling->kept && !(telling->kept[number >> 3] >> (number & 7) & 1))
        return true;
    work->status = export_progress(work->export);
    if (work->status != STORE_OK)
        return false;
    if (!(listed ? listed_stack(telling, row, 3, &sample.location_count)
                 : walk_stack(telling, sqlite3_column_int64(row, 1), &sample.location_count)) ||
        !out_values(work, sqlite3_column_int64(row, 0)) ||
        !out_labels(work, sqlite3_column_int64(row, 2), &sample.label_count))
        return false;
    sample.locations = work->stack;
    sample.values = work->values;
    sample.labels = work->labels;
    telling->samples++;
    return out_put(work, work->sink.sample(work->sink.context, &sample));
}

/* ---- The whole ---- */

static bool count_mappings(void *context, sqlite3_stmt *row)
{
    struct telling *telling = context;
    int64_t count = sqlite3_column_int64(row, 0);

    if (count < 0 || count > UINT32_MAX - 2 || count != sqlite3_column_int64(row, 1))
        return out_corrupt(telling->out, "a profile's mappings have gaps");
    telling->mapping_count = (size_t)count;
    return true;
}

static bool open(struct telling *telling)
{
    const struct stacks *stacks = telling->out->export->stacks;

    if (!out_each(telling->out,
                  "SELECT count(*), coalesce(max(ordinal), 0) FROM main.profile_mapping "
                  "WHERE capture_id = ?",
                  count_mappings, telling))
        return false;
    telling->first_locations = calloc((size_t)stacks->frame_count + 1,
                                      sizeof *telling->first_locations);
    telling->symbolized = calloc(telling->mapping_count + 1, sizeof *telling->symbolized);
    return (telling->first_locations && telling->symbolized) || out_no_memory(telling->out);
}

bool profile_tell(struct out *work, const uint8_t *kept, int64_t first, uint64_t *samples)
{
    struct telling telling = { .out = work, .kept = kept, .first_sample = first };
    bool ok = out_header(work, work->export->filter.sample_type) && open(&telling) &&
              tell_mappings(&telling) &&
              out_each(work,
                       "SELECT ordinal, number, mapping, address, is_folded, frame_id "
                       "FROM main.profile_location WHERE capture_id = ? ORDER BY ordinal",
                       tell_location, &telling) &&
              out_each(work,
                       "SELECT id, callsite_id, arg_set_id, locations FROM main.profile_sample "
                       "WHERE capture_id = ? ORDER BY id",
                       tell_sample, &telling);

    free(telling.first_locations);
    free(telling.symbolized);
    *samples = telling.samples;
    return ok;
}
