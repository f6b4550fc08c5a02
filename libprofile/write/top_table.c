/* top_table.c - the hottest functions in columns, as wide as the terminal.  */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/visible.h"
#include "base/width.h"
#include "libprofile/write/top.h"

/* Where nothing is cut, a longer name moves its own position only, not everybody's.  */
#define NAMES_ALIGNED 48
/* What a name keeps beside " (inline)".  */
#define NAME_MIN 8
/* Of the numbers before a name, the blanks behind them included.  */
#define NUMBERS_WIDTH 39

struct table_row {
    profile_id id;    /* row of the top, from 1 */
    profile_id name;  /* text of the table */
    profile_id place; /* text of the table: "file:line"; 0: not known */
};

struct table {
    struct top *top;
    struct profile_stacks *texts;
    struct table_row *rows;
    size_t count;
    size_t names, places;   /* widths of the columns */
    bool cut;               /* they are limits */
    struct base_text shown; /* scratch */
    bool no_memory;         /* some text could not be made */
};

/* ---- Widths ---- */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* ---- Texts ---- */

/* Put the scratch text into the table, as it may be shown.  */
static enum profile_status take_text(struct table *table, profile_id *out,
                                     struct profile_error *error)
{
    struct base_text *text = &table->top->text, *shown = &table->shown;

    base_text_clear(shown);
    base_text_add_visible(shown, text->bytes, text->length);
    if (shown->failed)
        return profile_no_memory(error);
    return profile_stacks_string(table->texts, shown->bytes, shown->length, out, error);
}

static enum profile_status take_name(struct table *table, struct table_row *row, bool whole,
                                     struct profile_error *error)
{
    struct base_text *text = &table->top->text;
    size_t length;
    const char *name = profile_stacks_text(table->top->names, row->id, &length);
    bool ok;

    text->length = 0;
    if (whole || !table->top->rows[row->id - 1].mangled)
        ok = base_text_append(text, name, length);
    else
        ok = codec_text_add_short_name(text, name, length);
    return ok ? take_text(table, &row->name, error) : profile_no_memory(error);
}

/* Short names, but whole ones where two rows would read the same: overloads.  */
static enum profile_status take_names(struct table *table, struct profile_error *error)
{
    size_t *uses = calloc(table->count + 1, sizeof *uses); /* of a text, by its id */
    enum profile_status status = uses ? PROFILE_OK : profile_no_memory(error);

    for (size_t i = 0; i < table->count && status == PROFILE_OK; i++) {
        status = take_name(table, &table->rows[i], false, error);
        if (status == PROFILE_OK)
            uses[table->rows[i].name]++;
    }
    for (size_t i = 0; i < table->count && status == PROFILE_OK; i++)
        if (uses[table->rows[i].name] > 1)
            status = take_name(table, &table->rows[i], true, error);
    free(uses);
    return status;
}

static enum profile_status take_place(struct table *table, struct table_row *row,
                                      struct profile_error *error)
{
    struct top *top = table->top;
    uint32_t id = top->rows[row->id - 1].spot;
    const struct top_spot *spot = id ? &top->spots[id - 1] : NULL;
    char number[16];
    size_t length;
    const char *file;
    bool ok;

    if (!spot)
        return PROFILE_OK;
    top->text.length = 0;
    file = profile_stacks_text(top->profile->stacks, spot->file, &length);
    ok = codec_text_add_utf8(&top->text, file, length);
    if (ok && spot->line) {
        int size = snprintf(number, sizeof number, ":%" PRIu32, spot->line);
        ok = base_text_append(&top->text, number, (size_t)size);
    }
    return ok ? take_text(table, &row->place, error) : profile_no_memory(error);
}

static const char *mark_of(const struct top_row *row)
{
    return !row->inlined ? "" : row->physical ? " (partial-inline)" : " (inline)";
}

/* The last parts of a path: "folder/file:line" for 2.  */
static const char *last_parts(const char *place, unsigned parts)
{
    const char *start = place;

    for (const char *c = place + strlen(place); c > place && parts > 0; c--)
        if (c[-1] == '/' && --parts == 0)
            start = c;
    return start;
}

/* ---- Layout ---- */

/* Names before positions, but a position has room for its last two parts, or a third.  */
static void lay_out(struct table *table)
{
    size_t columns = table->top->options.columns;
    size_t left = columns > NUMBERS_WIDTH + 20 ? columns - NUMBERS_WIDTH : 20;
    size_t names = strlen("function"), places = 0, short_places = 0;

    for (size_t i = 0; i < table->count; i++) {
        const struct table_row *row = &table->rows[i];
        const char *mark = mark_of(&table->top->rows[row->id - 1]);
        size_t length;
        const char *text = profile_stacks_text(table->texts, row->name, &length);
        const char *last;

        names = larger(names, base_width_text(text, length) + strlen(mark));
        text = profile_stacks_text(table->texts, row->place, &length);
        last = last_parts(text, 2);
        places = larger(places, base_width_text(text, length));
        short_places = larger(short_places, base_width_text(last, strlen(last)));
    }
    table->cut = columns > 0;
    table->names = table->cut ? names : smaller(names, NAMES_ALIGNED);
    table->places = places;
    if (!table->cut || names + (places ? 2 + places : 0) <= left)
        return;
    table->names = places ? smaller(names, left - 2 - smaller(short_places, left / 3)) : left;
    table->places = places ? left - 2 - table->names : 0;
}

/* ---- Printing ---- */

static void put_text(struct base_output *output, const char *text)
{
    base_output_put(output, text, strlen(text));
}

/* Quantities go in the largest unit that leaves at least 1 before the point, as pprof names them;
 * counts as they are.  */
struct unit {
    uint64_t size;
    const char *name;
};
static const struct unit time_units[] = {
    { 1000000000, "s" }, { 1000000, "ms" }, { 1000, "us" }, { 1, "ns" }, { 0, NULL },
};
static const struct unit size_units[] = {
    { UINT64_C(1) << 40, "TiB" }, { 1 << 30, "GiB" }, { 1 << 20, "MiB" },
    { 1 << 10, "KiB" },           { 1, "B" },         { 0, NULL },
};
static const struct unit no_units[] = { { 0, NULL } };

static void format_amount(const struct top *top, uint64_t amount, char *text, size_t size)
{
    const struct unit *unit = strcmp(top->type->unit, "nanoseconds") == 0 ? time_units
                              : strcmp(top->type->unit, "bytes") == 0     ? size_units
                                                                          : no_units;

    amount = profile_from_units(amount, top->type->units);
    while (unit->name && amount < unit->size)
        unit++;
    if (unit->name && unit->size > 1)
        (void)snprintf(text, size, "%.2f%s", (double)amount / (double)unit->size, unit->name);
    else
        (void)snprintf(text, size, "%" PRIu64 "%s", amount, unit->name ? unit->name : "");
}

static double percent(const struct top *top, uint64_t amount)
{
    return top->total > 0 ? 100.0 * (double)amount / (double)top->total : 0;
}

/* The limits at which perf report changes its colours.  */
static const char *colour_of(const struct top *top, const struct top_row *row)
{
    double part = percent(top, row->flat);

    if (!top->options.colour || part < 0.5)
        return "";
    return part >= 5 ? "\033[31m" : "\033[32m";
}

static void put_numbers(const struct top *top, const struct top_row *row,
                        struct base_output *output)
{
    const char *colour = colour_of(top, row);
    char line[128], flat[32], cum[32];

    format_amount(top, row->flat, flat, sizeof flat);
    format_amount(top, row->cum, cum, sizeof cum);
    (void)snprintf(line, sizeof line, "%10s %6.2f%% %10s %6.2f%%", flat, percent(top, row->flat),
                   cum, percent(top, row->cum));
    put_text(output, colour);
    put_text(output, line);
    put_text(output, *colour ? "\033[0m  " : "  ");
}

/* The scratch text, to which ok says whether all was added.  Returns its columns.  */
static size_t put_shown(struct table *table, bool ok, struct base_output *output)
{
    table->no_memory |= !ok;
    base_output_put(output, table->shown.bytes, ok ? table->shown.length : 0);
    return ok ? base_width_text(table->shown.bytes, table->shown.length) : 0;
}

/* The position, behind a name of used columns.  */
static void put_place(struct table *table, profile_id id, size_t used, struct base_output *output)
{
    const char *place = profile_stacks_text(table->texts, id, NULL);
    bool dim = table->top->options.colour;

    for (; used < table->names; used++)
        put_text(output, " ");
    for (unsigned parts = 2; parts > 0 && base_width_text(place, strlen(place)) > table->places;
         parts--)
        place = last_parts(place, parts);
    put_text(output, dim ? "  \033[2m" : "  ");
    base_text_clear(&table->shown);
    (void)put_shown(table, codec_text_add_cut(&table->shown, place, strlen(place), table->places),
                    output);
    put_text(output, dim ? "\033[0m" : "");
}

static void put_row(struct table *table, const struct table_row *row, struct base_output *output)
{
    const struct top_row *sums = &table->top->rows[row->id - 1];
    const char *mark = mark_of(sums);
    size_t columns = SIZE_MAX, used;
    size_t length;
    const char *name = profile_stacks_text(table->texts, row->name, &length);

    if (table->cut) {
        if (base_width_text(name, length) + strlen(mark) > table->names &&
            table->names < strlen(mark) + NAME_MIN)
            mark = ""; /* what it marks matters more */
        columns = table->names - strlen(mark);
    }
    put_numbers(table->top, sums, output);
    base_text_clear(&table->shown);
    used = put_shown(table, codec_text_add_fit_name(&table->shown, name, length, columns), output);
    put_text(output, mark);
    if (row->place)
        put_place(table, row->place, used + strlen(mark), output);
    put_text(output, "\n");
}

static void put_heading(const struct table *table, struct base_output *output)
{
    const struct top *top = table->top;
    char line[128], total[32];

    format_amount(top, top->total, total, sizeof total);
    (void)snprintf(line, sizeof line, "Type: %s, total %s, %zu of %zu function%s\n",
                   top->type->type, total, table->count, top->row_count,
                   top->row_count == 1 ? "" : "s");
    put_text(output, line);
    put_text(output, "      flat   flat%        cum    cum%  function\n");
}

/* ---- The whole ---- */

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct top *top = context;
    profile_id left_id = ((const struct table_row *)a)->id;
    profile_id right_id = ((const struct table_row *)b)->id;
    const struct top_row *left = &top->rows[left_id - 1], *right = &top->rows[right_id - 1];

    if (left->flat != right->flat)
        return left->flat > right->flat ? -1 : 1;
    if (left->cum != right->cum)
        return left->cum > right->cum ? -1 : 1;
    return strcmp(profile_stacks_text(top->names, left_id, NULL),
                  profile_stacks_text(top->names, right_id, NULL));
}

static enum profile_status open_table(struct table *table, struct profile_error *error)
{
    struct top *top = table->top;
    enum profile_status status = profile_stacks_open(&table->texts, error);

    if (status != PROFILE_OK)
        return status;
    table->rows = calloc(top->row_count + 1, sizeof *table->rows);
    if (!table->rows)
        return profile_no_memory(error);
    for (size_t i = 0; i < top->row_count; i++)
        table->rows[i].id = (profile_id)i + 1;
    qsort_r(table->rows, top->row_count, sizeof *table->rows, compare_rows, top);
    table->count = top->row_count;
    if (top->options.rows > 0)
        table->count = smaller(top->options.rows, top->row_count);
    return PROFILE_OK;
}

enum profile_status top_put_table(struct top *top, struct base_output *output,
                                  struct profile_error *error)
{
    struct table table = { .top = top };
    enum profile_status status = open_table(&table, error);

    if (status == PROFILE_OK)
        status = take_names(&table, error);
    for (size_t i = 0; i < table.count && status == PROFILE_OK; i++)
        status = take_place(&table, &table.rows[i], error);
    if (status == PROFILE_OK) {
        lay_out(&table);
        put_heading(&table, output);
        for (size_t i = 0; i < table.count; i++)
            put_row(&table, &table.rows[i], output);
        if (table.no_memory)
            status = profile_no_memory(error);
    }
    free(table.rows);
    base_text_release(&table.shown);
    profile_stacks_close(table.texts);
    return status;
}
