/* top.c - the hottest functions as a table, in the columns of `go tool pprof -top`.
 *
 * flat is time in the function itself, cum (cumulative) also in what it called; a function that
 * stands several times in one stack counts once.  */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libprofile/codec/codec.h"

struct row {
    uint64_t flat, cum;
    size_t last; /* the value that counted to cum last, plus 1 */
    bool inlined, physical;
    uint32_t spot; /* the hottest of its positions, id; 0: none */
};

/* A position in source of a row.  */
struct spot {
    uint32_t row;
    profile_id file; /* of the profile's strings */
    uint32_t line;
    uint64_t flat, cum;
    size_t last;
};

struct top {
    const struct profile *profile;
    const struct profile_values *values;
    struct profile_type type;
    size_t type_index;
    struct profile_top_options options;
    uint64_t total;

    struct profile_stacks *names; /* row i - 1 has the name with string id i */
    struct row *rows;
    size_t row_count, row_capacity;
    struct spot *spots;
    size_t spot_count, spot_capacity;
    struct profile_index spot_index;
    struct codec_text text; /* scratch */
};

/* ---- Adding up ---- */

static enum profile_status find_row(struct top *top, const struct profile_frame *frame,
                                    uint32_t index, profile_id *out, struct profile_error *error)
{
    struct row *bigger;
    enum profile_status status;

    top->text.length = 0;
    if (!codec_text_add_function(&top->text, top->profile, frame, index))
        return profile_no_memory(error);
    status = profile_stacks_string(top->names, top->text.bytes, top->text.length, out, error);
    if (status != PROFILE_OK || *out <= top->row_count)
        return status;
    bigger = profile_grow(top->rows, &top->row_capacity, *out, sizeof *bigger);
    if (!bigger)
        return profile_no_memory(error);
    top->rows = bigger;
    top->rows[top->row_count++] = (struct row){ .flat = 0 };
    return PROFILE_OK;
}

static enum profile_status find_spot(struct top *top, profile_id row, profile_id file,
                                     uint32_t line, uint32_t *out, struct profile_error *error)
{
    uint64_t hash = profile_hash((uint64_t)row << 32 | file, line);
    struct spot *bigger;
    size_t probe;

    for (*out = profile_index_first(&top->spot_index, hash, &probe); *out;
         *out = profile_index_next(&top->spot_index, hash, &probe)) {
        const struct spot *spot = &top->spots[*out - 1];

        if (spot->row == row && spot->file == file && spot->line == line)
            return PROFILE_OK;
    }
    bigger = profile_grow(top->spots, &top->spot_capacity, top->spot_count + 1, sizeof *bigger);
    if (!bigger)
        return profile_no_memory(error);
    top->spots = bigger;
    if (!profile_index_reserve(&top->spot_index))
        return profile_no_memory(error);
    top->spots[top->spot_count++] = (struct spot){ .row = row, .file = file, .line = line };
    *out = (uint32_t)top->spot_count;
    profile_index_add(&top->spot_index, hash, *out);
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

static enum profile_status make_targets(struct top *top, struct targets *targets, profile_id id,
                                        struct profile_error *error)
{
    struct profile_frame frame = profile_stacks_get_frame(top->profile->stacks, id);
    uint32_t count = frame.line_count ? frame.line_count : 1;
    struct target *bigger = profile_grow(targets->items, &targets->capacity, targets->count + count,
                                         sizeof *bigger);
    enum profile_status status = PROFILE_OK;

    if (!bigger)
        return profile_no_memory(error);
    targets->items = bigger;
    targets->first[id] = targets->count + 1;
    for (uint32_t i = 0; i < count && status == PROFILE_OK; i++) {
        struct target target = { .spot = 0 };

        status = find_row(top, &frame, i, &target.row, error);
        if (status == PROFILE_OK && i < frame.line_count && frame.lines[i].file)
            status = find_spot(top, target.row, frame.lines[i].file, frame.lines[i].line,
                               &target.spot, error);
        if (status != PROFILE_OK)
            return status;
        if (i + 1 < count)
            top->rows[target.row - 1].inlined = true;
        else
            top->rows[target.row - 1].physical = true;
        targets->items[targets->count++] = target;
    }
    return PROFILE_OK;
}

static void add_to_target(struct top *top, const struct target *target, uint64_t amount,
                          size_t value, bool leaf)
{
    struct row *row = &top->rows[target->row - 1];
    struct spot *spot = target->spot ? &top->spots[target->spot - 1] : NULL;

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
    const struct profile_value *value = &top->values->items[index];
    uint64_t amount = profile_value_of(value, top->type_index);
    profile_id at = value->callsite;
    bool leaf = true;

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
        const struct spot *spot = &top->spots[i];
        struct row *row = &top->rows[spot->row - 1];
        const struct spot *best = row->spot ? &top->spots[row->spot - 1] : NULL;

        if (!best || spot->flat > best->flat || (spot->flat == best->flat && spot->cum > best->cum))
            row->spot = (uint32_t)i + 1;
    }
}

/* ---- Printing ---- */

static size_t width_of(const char *bytes, size_t length)
{
    size_t width = 0;

    for (size_t i = 0; i < length; i++)
        width += ((unsigned char)bytes[i] & 0xc0) != 0x80;
    return width;
}

/* Bytes of the first width characters.  */
static size_t bytes_of(const char *bytes, size_t length, size_t width)
{
    size_t at = 0;

    while (at < length && width > 0) {
        at++;
        while (at < length && ((unsigned char)bytes[at] & 0xc0) == 0x80)
            at++;
        width--;
    }
    return at;
}

/* Text in at most width characters, the middle of a longer one left out: both ends of a C++ name or
 * a path say more than its middle.  */
static void put_cut(struct codec_output *output, const char *bytes, size_t length, size_t width)
{
    size_t whole = width_of(bytes, length);
    size_t head, tail, skip;

    if (whole <= width || width == 0) {
        codec_put(output, bytes, length);
        return;
    }
    head = width > 3 ? (width - 3) / 2 : 0;
    tail = width > 3 ? width - 3 - head : 0;
    skip = bytes_of(bytes, length, whole - tail);
    codec_put(output, bytes, bytes_of(bytes, length, head));
    codec_put(output, "...", width > 3 ? 3 : width);
    codec_put(output, bytes + skip, length - skip);
}

/* Nanoseconds in the largest unit that leaves at least 1 before the point; counts as they are.  */
static void format_amount(const struct top *top, uint64_t amount, char *text, size_t size)
{
    static const struct {
        uint64_t ns;
        const char *unit;
    } units[] = { { 1000000000, "s" }, { 1000000, "ms" }, { 1000, "us" } };

    for (size_t i = 0; top->type_index == 1 && i < sizeof units / sizeof *units; i++)
        if (amount >= units[i].ns) {
            (void)snprintf(text, size, "%.2f%s", (double)amount / (double)units[i].ns,
                           units[i].unit);
            return;
        }
    (void)snprintf(text, size, "%" PRIu64 "%s", amount,
                   top->type_index == 1 && amount > 0 ? "ns" : "");
}

static double percent(const struct top *top, uint64_t amount)
{
    return top->total > 0 ? 100.0 * (double)amount / (double)top->total : 0;
}

/* The limits at which perf report changes its colours.  */
static const char *colour_of(const struct top *top, const struct row *row)
{
    double part = percent(top, row->flat);

    if (!top->options.colour || part < 0.5)
        return "";
    return part >= 5 ? "\033[31m" : "\033[32m";
}

static void put_text(struct codec_output *output, const char *text)
{
    codec_put(output, text, strlen(text));
}

/* The position, in room characters at most; 0: as many as it takes.  */
static void put_place(struct top *top, size_t room, struct codec_output *output)
{
    const char *dim = top->options.colour ? "\033[2m" : "";

    put_text(output, "  ");
    put_text(output, dim);
    put_cut(output, top->text.bytes, top->text.length, room);
    put_text(output, *dim ? "\033[0m" : "");
}

/* "file:line" of the row's hottest spot to top->text; nothing when there is none.  */
static enum profile_status make_place(struct top *top, const struct row *row,
                                      struct profile_error *error)
{
    const struct spot *spot = row->spot ? &top->spots[row->spot - 1] : NULL;
    char number[16];
    size_t length;
    const char *file;
    bool ok;

    top->text.length = 0;
    if (!spot)
        return PROFILE_OK;
    file = profile_stacks_text(top->profile->stacks, spot->file, &length);
    ok = codec_text_add_utf8(&top->text, file, length);
    if (ok && spot->line) {
        int size = snprintf(number, sizeof number, ":%" PRIu32, spot->line);
        ok = codec_text_add(&top->text, number, (size_t)size);
    }
    return ok ? PROFILE_OK : profile_no_memory(error);
}

static enum profile_status put_row(struct top *top, profile_id id, struct codec_output *output,
                                   struct profile_error *error)
{
    const struct row *row = &top->rows[id - 1];
    const char *mark = !row->inlined ? "" : row->physical ? " (partial-inline)" : " (inline)";
    const char *colour = colour_of(top, row);
    char line[128], flat[32], cum[32];
    size_t length, place_width, room = 0, place_room = 0;
    const char *name = profile_stacks_text(top->names, id, &length);
    enum profile_status status = make_place(top, row, error);
    int prefix;

    if (status != PROFILE_OK)
        return status;
    format_amount(top, row->flat, flat, sizeof flat);
    format_amount(top, row->cum, cum, sizeof cum);
    prefix = snprintf(line, sizeof line, "%10s %6.2f%% %10s %6.2f%%", flat, percent(top, row->flat),
                      cum, percent(top, row->cum));
    place_width = width_of(top->text.bytes, top->text.length);
    if (top->options.columns > 0) {
        size_t used = (size_t)prefix + 2 + strlen(mark) + (place_width ? 2 : 0);
        size_t left = top->options.columns > used + 20 ? top->options.columns - used : 20;
        size_t name_width = width_of(name, length);

        /* The name first, but a position has at least a third.  */
        room = name_width + place_width <= left || place_width == 0 ? left : left - left / 3;
        if (name_width < room && place_width > 0)
            room = name_width;
        if (place_width > 0 && left - room > place_width)
            room = left - place_width;
        place_room = left - room;
    }
    put_text(output, colour);
    codec_put(output, line, (size_t)prefix);
    put_text(output, *colour ? "\033[0m" : "");
    put_text(output, "  ");
    put_cut(output, name, length, room);
    put_text(output, mark);
    if (place_width > 0)
        put_place(top, place_room, output);
    put_text(output, "\n");
    return PROFILE_OK;
}

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct top *top = context;
    profile_id left_id = *(const profile_id *)a, right_id = *(const profile_id *)b;
    const struct row *left = &top->rows[left_id - 1], *right = &top->rows[right_id - 1];

    if (left->flat != right->flat)
        return left->flat > right->flat ? -1 : 1;
    if (left->cum != right->cum)
        return left->cum > right->cum ? -1 : 1;
    return strcmp(profile_stacks_text(top->names, left_id, NULL),
                  profile_stacks_text(top->names, right_id, NULL));
}

static enum profile_status put_table(struct top *top, struct codec_output *output,
                                     struct profile_error *error)
{
    profile_id *order = calloc(top->row_count + 1, sizeof *order);
    size_t rows = top->options.rows > 0 && top->options.rows < top->row_count ? top->options.rows
                                                                              : top->row_count;
    enum profile_status status = PROFILE_OK;
    char line[128], total[32];

    if (!order)
        return profile_no_memory(error);
    for (size_t i = 0; i < top->row_count; i++)
        order[i] = (profile_id)i + 1;
    qsort_r(order, top->row_count, sizeof *order, compare_rows, top);
    format_amount(top, top->total, total, sizeof total);
    (void)snprintf(line, sizeof line, "Type: %s, total %s, %zu of %zu functions\n", top->type.type,
                   total, rows, top->row_count);
    put_text(output, line);
    put_text(output, "      flat   flat%        cum    cum%  function\n");
    for (size_t i = 0; i < rows && status == PROFILE_OK; i++)
        status = put_row(top, order[i], output, error);
    free(order);
    return status;
}

static enum profile_status write_top(struct top *top, profile_write_fn write, void *context,
                                     struct profile_error *error)
{
    struct codec_output output;
    enum profile_status status = profile_stacks_open(&top->names, error);

    if (status == PROFILE_OK)
        status = add_up(top, error);
    if (status != PROFILE_OK)
        return status;
    choose_spots(top);
    codec_output_init(&output, write, context);
    status = put_table(top, &output, error);
    return status == PROFILE_OK ? codec_output_finish(&output, error) : status;
}

enum profile_status profile_write_top(const struct profile *profile, enum profile_kind kind,
                                      const struct profile_top_options *options,
                                      profile_write_fn write, void *context,
                                      struct profile_error *error)
{
    struct top top = { .profile = profile };
    struct profile_type types[2];
    enum profile_status status;

    if ((unsigned)kind >= PROFILE_KINDS)
        return profile_fail(error, PROFILE_INVALID, "no profile of kind %d", (int)kind);
    if (options)
        memcpy(&top.options, options,
               options->size < sizeof top.options ? options->size : sizeof top.options);
    top.values = &profile->values[kind];
    top.type_index = profile_types(profile, kind, types) - 1;
    top.type = types[top.type_index];
    status = write_top(&top, write, context, error);
    profile_stacks_close(top.names);
    profile_index_release(&top.spot_index);
    free(top.rows);
    free(top.spots);
    free(top.text.bytes);
    return status;
}
