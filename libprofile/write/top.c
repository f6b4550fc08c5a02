/* top.c - the hottest functions as a table, in the columns of `go tool pprof -top`.
 *
 * flat is time in the function itself, cum (cumulative) also in what it called; a function that
 * stands several times in one stack counts once.  */
#include <stdlib.h>
#include <string.h>

#include "libprofile/write/top.h"

/* ---- Adding up ---- */

static enum profile_status find_row(struct top *top, const struct profile_frame *frame,
                                    uint32_t index, profile_id *out, struct profile_error *error)
{
    enum profile_status status;

    top->text.length = 0;
    if (!codec_text_add_function(&top->text, top->profile, frame, index))
        return profile_no_memory(error);
    status = profile_stacks_string(top->names, top->text.bytes, top->text.length, out, error);
    if (status != PROFILE_OK || *out <= top->row_count)
        return status;
    if (!base_make_room(&top->rows, &top->row_capacity, *out, sizeof *top->rows))
        return profile_no_memory(error);
    top->rows[top->row_count++] = (struct top_row){ .flat = 0 };
    return PROFILE_OK;
}

static enum profile_status find_spot(struct top *top, profile_id row, profile_id file,
                                     uint32_t line, uint32_t *out, struct profile_error *error)
{
    uint64_t hash = base_hash((uint64_t)row << 32 | file, line);
    size_t probe;

    for (*out = base_index_first(&top->spot_index, hash, &probe); *out;
         *out = base_index_next(&top->spot_index, hash, &probe)) {
        const struct top_spot *spot = &top->spots[*out - 1];

        if (spot->row == row && spot->file == file && spot->line == line)
            return PROFILE_OK;
    }
    if (!base_make_room(&top->spots, &top->spot_capacity, top->spot_count + 1, sizeof *top->spots))
        return profile_no_memory(error);
    if (!base_index_reserve(&top->spot_index))
        return profile_no_memory(error);
    top->spots[top->spot_count++] = (struct top_spot){ .row = row, .file = file, .line = line };
    *out = (uint32_t)top->spot_count;
    base_index_add(&top->spot_index, hash, *out);
    return PROFILE_OK;
}

/* Where what stands in a frame goes: one row and one spot for each of its lines.  */
struct target {
    profile_id row;
    uint32_t spot; /* 0: no file is known */
};

struct targets {
    struct target *items;
    size_t count, capacity;
    size_t *first; /* of frame id at [id] + 1; 0: not made yet */
};

/* What a row learns from line index of a frame.  */
static void note_line(struct top_row *row, const struct profile_stacks *stacks,
                      const struct profile_frame *frame, uint32_t index)
{
    const char *linkage = "", *name = "";

    if (index < frame->line_count && frame->has_address) {
        linkage = profile_stacks_text(stacks, frame->lines[index].system_name, NULL);
        name = profile_stacks_text(stacks, frame->lines[index].function, NULL);
    }
    row->mangled |= linkage[0] == '_' && (linkage[1] == 'Z' || linkage[1] == 'R');
    row->mangled |= strchr(name, '<') != NULL; /* inlined templates have no linkage name */
    if (index + 1 < frame->line_count)
        row->inlined = true;
    else
        row->physical = true;
}

static enum profile_status make_targets(struct top *top, struct targets *targets, profile_id id,
                                        struct profile_error *error)
{
    struct profile_frame frame = profile_stacks_get_frame(top->profile->stacks, id);
    uint32_t count = frame.line_count ? frame.line_count : 1;
    enum profile_status status = PROFILE_OK;

    if (!base_make_room(&targets->items, &targets->capacity, targets->count + count,
                        sizeof *targets->items))
        return profile_no_memory(error);
    targets->first[id] = targets->count + 1;
    for (uint32_t i = 0; i < count && status == PROFILE_OK; i++) {
        struct target target = { .spot = 0 };

        status = find_row(top, &frame, i, &target.row, error);
        if (status == PROFILE_OK && i < frame.line_count && frame.lines[i].file)
            status = find_spot(top, target.row, frame.lines[i].file, frame.lines[i].line,
                               &target.spot, error);
        if (status != PROFILE_OK)
            return status;
        note_line(&top->rows[target.row - 1], top->profile->stacks, &frame, i);
        targets->items[targets->count++] = target;
    }
    return PROFILE_OK;
}

static void add_to_target(struct top *top, const struct target *target, uint64_t amount,
                          size_t value, bool leaf)
{
    struct top_row *row = &top->rows[target->row - 1];
    struct top_spot *spot = target->spot ? &top->spots[target->spot - 1] : NULL;

    row->flat = profile_add(row->flat, leaf ? amount : 0);
    row->cum = profile_add(row->cum, row->last != value ? amount : 0);
    row->last = value;
    if (!spot)
        return;
    spot->flat = profile_add(spot->flat, leaf ? amount : 0);
    spot->cum = profile_add(spot->cum, spot->last != value ? amount : 0);
    spot->last = value;
}

static enum profile_status add_value(struct top *top, struct targets *targets, size_t index,
                                     struct profile_error *error)
{
    const struct profile_value *value = profile_value_at(top->values, index);
    uint64_t amount = value->amounts[top->type_index];
    profile_id at = value->callsite;
    bool leaf = true;

    if (amount == 0) /* of this type: what was allocated need not be in use */
        return PROFILE_OK;
    top->total = profile_add(top->total, amount);
    while (at) {
        struct profile_callsite callsite = profile_stacks_get_callsite(top->profile->stacks, at);
        struct profile_frame frame = profile_stacks_get_frame(top->profile->stacks, callsite.frame);
        uint32_t count = frame.line_count ? frame.line_count : 1;

        if (targets->first[callsite.frame] == 0) {
            enum profile_status status = make_targets(top, targets, callsite.frame, error);

            if (status != PROFILE_OK)
                return status;
        }
        for (uint32_t i = 0; i < count; i++) {
            add_to_target(top, &targets->items[targets->first[callsite.frame] - 1 + i], amount,
                          index + 1, leaf);
            leaf = false;
        }
        at = callsite.parent;
    }
    return PROFILE_OK;
}

static enum profile_status add_up(struct top *top, struct profile_error *error)
{
    struct targets targets = { .items = NULL };
    enum profile_status status = PROFILE_OK;

    targets.first = calloc((size_t)profile_stacks_frame_count(top->profile->stacks) + 1,
                           sizeof *targets.first);
    if (!targets.first)
        return profile_no_memory(error);
    for (size_t i = 0; i < top->values->count && status == PROFILE_OK; i++)
        status = add_value(top, &targets, i, error);
    free(targets.items);
    free(targets.first);
    return status;
}

/* The hottest spot of each row: by flat, then by cum, then the one met first.  */
static void choose_spots(struct top *top)
{
    for (size_t i = 0; i < top->spot_count; i++) {
        const struct top_spot *spot = &top->spots[i];
        struct top_row *row = &top->rows[spot->row - 1];
        const struct top_spot *best = row->spot ? &top->spots[row->spot - 1] : NULL;

        if (!best || spot->flat > best->flat || (spot->flat == best->flat && spot->cum > best->cum))
            row->spot = (uint32_t)i + 1;
    }
}

/* ---- The whole ---- */

static enum profile_status write_top(struct top *top, profile_write_fn write, void *context,
                                     struct profile_error *error)
{
    struct base_output output;
    enum profile_status status = profile_stacks_open(&top->names, error);

    if (status == PROFILE_OK)
        status = add_up(top, error);
    if (status != PROFILE_OK)
        return status;
    choose_spots(top);
    base_output_init(&output, write, context);
    status = top_put_table(top, &output, error);
    return status == PROFILE_OK ? codec_output_finish(&output, error) : status;
}

enum profile_status profile_write_top(const struct profile *profile, enum profile_kind kind,
                                      const struct profile_top_options *options,
                                      profile_write_fn write, void *context,
                                      struct profile_error *error)
{
    struct top top = { .profile = profile };
    const struct profile_known_type *types;
    enum profile_status status;
    size_t type_count;

    if ((unsigned)kind >= PROFILE_KINDS)
        return profile_fail(error, PROFILE_INVALID, "no profile of kind %d", (int)kind);
    if (options)
        memcpy(&top.options, options,
               options->size < sizeof top.options ? options->size : sizeof top.options);
    top.values = &profile->values[kind];
    types = profile_types(profile, kind, &type_count);
    if (top.options.sample_type > type_count)
        return profile_fail(error, PROFILE_INVALID, "no sample type %zu among %zu",
                            top.options.sample_type - 1, type_count);
    top.type_index = top.options.sample_type ? top.options.sample_type - 1
                                             : profile_default_type(profile, kind);
    top.type = &types[top.type_index];
    status = write_top(&top, write, context, error);
    profile_stacks_close(top.names);
    base_index_release(&top.spot_index);
    free(top.rows);
    free(top.spots);
    free(top.text.bytes);
    return status;
}
