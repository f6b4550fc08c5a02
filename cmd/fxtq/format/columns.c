/* columns.c - table, box, markdown and plain: columns under each other.  */
#include <stdlib.h>
#include <string.h>

#include <fxt/profile.h>
#include "base/width.h"
#include "cmd/fxtq/format/row_grid.h"

#define CUT        "\xe2\x80\xa6" /* U+2026, one column */
#define NARROWEST  6u             /* columns are not cut below that */
#define TEXT_LEAST 16u            /* of a text behind an indent */
#define READABLE   30u            /* a text that is cut to less may cost another column its place */
#define BLANKS     "                                                                "
#define DASHES     "----------------------------------------------------------------"

/* The lines around and between; empty strings where a format has none.  */
struct frame {
    const char *left, *between, *right; /* of a row */
    const char *dash;                   /* of a line */
    const char *top[3], *middle[3], *bottom[3];
    bool pads_last; /* blanks behind the last column too */
    bool centred;   /* names of columns stand in the middle, as in the sqlite3 shell */
};

static const struct frame frames[] = {
    [FORMAT_TABLE] = { "| ",
                       " | ",
                       " |",
                       "-",
                       { "+-", "-+-", "-+" },
                       { "+-", "-+-", "-+" },
                       { "+-", "-+-", "-+" },
                       true,
                       true },
    [FORMAT_BOX] = { "│ ",
                     " │ ",
                     " │",
                     "─",
                     { "┌─", "─┬─", "─┐" },
                     { "├─", "─┼─", "─┤" },
                     { "└─", "─┴─", "─┘" },
                     true,
                     true },
    [FORMAT_MARKDOWN] = { "| ",
                          " | ",
                          " |",
                          "-",
                          { NULL, NULL, NULL },
                          { "|-", "-|-", "-|" },
                          { NULL, NULL, NULL },
                          true,
                          true },
    [FORMAT_PLAIN] = { "",
                       "  ",
                       "",
                       "-",
                       { NULL, NULL, NULL },
                       { NULL, NULL, NULL },
                       { NULL, NULL, NULL },
                       false,
                       false },
};

static const struct frame *frame_of(const struct format *format)
{
    return &frames[format->options.kind];
}

static void *grown(void *items, size_t count, size_t size)
{
    size_t capacity = 0; /* unknown */

    return cli_grow(items, &capacity, count, size);
}

static void put_repeated(struct format *format, const char *many, size_t one, size_t times)
{
    while (times > 0) {
        size_t part = times < 64 ? times : 64;

        format_put(format, many, part * one);
        times -= part;
    }
}

/* ---- Cells ---- */

/* A bar would end the cell of a Markdown table, and "<" begin a tag in it.  */
static void add_markdown(struct base_text *text, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '|')
            text_adds(text, "\\|");
        else if (bytes[i] == '<')
            text_adds(text, "&lt;");
        else
            text_add(text, &bytes[i], 1);
    }
}

/* A function's short name before its whole name, unless they are the same.  */
static void add_function(struct format *format, struct format_place *place)
{
    struct base_text *text = &format->grid.text;
    const char *whole = format->scratch.bytes;
    size_t length = format->scratch.length;
    char *name = cli_checked(profile_short_name(whole, length));

    text_adds(text, name);
    if (strlen(name) != length) {
        text_add(text, whole, length);
        place->whole_length = length;
    }
    free(name);
}

/* Append the cell as it will stand there.  */
static struct format_place add_place(struct format *format, size_t column,
                                     const struct format_cell *cell)
{
    struct format_grid *grid = &format->grid;
    struct format_place place = { .start = grid->text.length, .indent = cell->indent };

    text_add(&grid->text, "", 0);
    format->scratch.length = 0;
    text_add(&format->scratch, "", 0);
    if (cell->type == FORMAT_TEXT)
        text_add_visible(&format->scratch, cell->bytes, cell->length);
    else
        format_add_cell(format, &format->scratch, cell);
    if (format->options.kind == FORMAT_MARKDOWN)
        add_markdown(&grid->text, format->scratch.bytes, format->scratch.length);
    else if (format->options.kind == FORMAT_PLAIN && format->columns[column].functions)
        add_function(format, &place);
    else
        text_add(&grid->text, format->scratch.bytes, format->scratch.length);
    place.length = grid->text.length - place.start - place.whole_length;
    place.width = base_width_text(grid->text.bytes + place.start, place.length);
    return place;
}

/* The blanks before a text in a column that is too narrow: half of them where the deepest would
 * take more than half of the column.  The text keeps TEXT_LEAST columns, whatever that costs.  */
static size_t fit_indent(const struct format *format, const struct format_place *place,
                         size_t width)
{
    size_t least = width / 2 < TEXT_LEAST ? width / 2 : TEXT_LEAST;
    size_t indent = place->indent;

    if (!format->grid.narrowed)
        return indent;
    if (format->grid.deepest > width / 2)
        indent /= 2;
    return indent < width - least ? indent : width - least;
}

/* Leave in format->shown what of a cell's text fits behind *indent blanks, and return the columns
 * that both take.  */
static size_t fit(struct format *format, size_t column, const struct format_place *place,
                  size_t *indent)
{
    const char *bytes = format->grid.text.bytes + place->start;
    size_t width = format->grid.widths[column], head = place->length, tail = 0;
    bool is_wide = false;

    *indent = place->indent;
    format->shown.length = 0;
    if (format->options.columns > 0 && !format->columns[column].whole) {
        if (place->indent > 0)
            *indent = fit_indent(format, place, width);
        width -= *indent;
        is_wide = place->width > width;
    }
    if (is_wide && format->columns[column].functions && format->options.kind == FORMAT_PLAIN) {
        char *name = profile_fit_name(bytes, place->length, width);

        if (!name)
            cli_out_of_memory();
        text_adds(&format->shown, name);
        free(name);
    } else {
        if (is_wide)
            base_width_cut(bytes, place->length, width, &head, &tail);
        text_add(&format->shown, bytes, head);
        text_adds(&format->shown, head < place->length ? CUT : "");
        text_add(&format->shown, bytes + place->length - tail, tail);
    }
    return *indent +
           (is_wide ? base_width_text(format->shown.bytes, format->shown.length) : place->width);
}

/* The last that is not left out.  */
static size_t last_column(const struct format *format)
{
    size_t last = format->count - 1;

    while (last > 0 && format->grid.hidden[last])
        last--;
    return last;
}

enum stand { STAND_LEFT, STAND_MIDDLE, STAND_RIGHT };

/* The last that a row shows: blanks at the end of a line say nothing.  */
static size_t end_of_row(const struct format *format, const struct format_place *places)
{
    size_t last = last_column(format);

    while (last > 0 && !frame_of(format)->pads_last &&
           (format->grid.hidden[last] || places[last].length == 0))
        last--;
    return last;
}

static void put_place(struct format *format, size_t column, const struct format_place *place,
                      enum stand stand, bool pads)
{
    size_t width = format->grid.widths[column];
    size_t indent;
    size_t shown = fit(format, column, place, &indent);
    size_t blanks = width > shown ? width - shown : 0;
    size_t before = stand == STAND_LEFT ? 0 : stand == STAND_RIGHT ? blanks : blanks / 2;

    put_repeated(format, BLANKS, 1, before + indent);
    format_put(format, format->shown.bytes, format->shown.length);
    if (pads)
        put_repeated(format, BLANKS, 1, blanks - before);
}

static void put_row(struct format *format, const struct format_place *places, bool names)
{
    const struct frame *frame = frame_of(format);
    const char *between = "";
    size_t last = end_of_row(format, places);

    format_puts(format, frame->left);
    for (size_t i = 0; i <= last; i++) {
        enum stand stand = format->grid.right[i] ? STAND_RIGHT : STAND_LEFT;

        if (format->grid.hidden[i])
            continue;
        format_puts(format, between);
        between = frame->between;
        put_place(format, i, &places[i], names && frame->centred ? STAND_MIDDLE : stand,
                  i < last || frame->pads_last);
    }
    format_puts(format, frame->right);
    format_put(format, "\n", 1);
}

/* ---- Header and lines ---- */

static void put_line(struct format *format, const char *const ends[3])
{
    const struct frame *frame = frame_of(format);
    size_t one = strlen(frame->dash);

    if (!ends[0])
        return;
    format_puts(format, ends[0]);
    for (size_t i = 0; i < format->count; i++) {
        format_puts(format, i ? ends[1] : "");
        for (size_t k = 0; one > 1 && k < format->grid.widths[i]; k++)
            format_put(format, frame->dash, one);
        if (one == 1)
            put_repeated(format, DASHES, 1, format->grid.widths[i]);
    }
    format_puts(format, ends[2]);
    format_put(format, "\n", 1);
}

/* The colon is what Markdown aligns by.  */
static void put_markdown_line(struct format *format)
{
    for (size_t i = 0; i < format->count; i++) {
        format_puts(format, i ? "-" : "|-");
        put_repeated(format, DASHES, 1, format->grid.widths[i]);
        format_puts(format, format->grid.right[i] ? ":|" : "-|");
    }
    format_puts(format, "\n");
}

/* ---- Widths ---- */

static size_t overhead(const struct format *format)
{
    const struct frame *frame = frame_of(format);
    size_t shown = 0;

    for (size_t i = 0; i < format->count; i++)
        shown += !format->grid.hidden[i];
    return base_width_text(frame->left, strlen(frame->left)) +
           base_width_text(frame->right, strlen(frame->right)) +
           (shown > 0 ? shown - 1 : 0) * base_width_text(frame->between, strlen(frame->between));
}

static bool is_cut(const struct format *format, size_t column)
{
    return !format->columns[column].whole && !format->grid.right[column];
}

static size_t capped_total(const struct format *format, size_t cap)
{
    size_t total = overhead(format);

    for (size_t i = 0; i < format->count; i++) {
        size_t width = format->grid.widths[i];

        if (!format->grid.hidden[i])
            total += is_cut(format, i) && width > cap ? cap : width;
    }
    return total;
}

/* Leave out what has a rank as long as texts would be cut to less than what can be read.  */
static void drop_columns(struct format *format)
{
    while (capped_total(format, READABLE) > format->options.columns) {
        size_t dropped = format->count;

        for (size_t i = 0; i < format->count; i++)
            if (!format->grid.hidden[i] && format->columns[i].rank > 0 &&
                (dropped == format->count ||
                 format->columns[i].rank >= format->columns[dropped].rank))
                dropped = i;
        if (dropped == format->count)
            return;
        format->grid.hidden[dropped] = true;
    }
}

/* The widest are cut first, down to the same width, as far as it takes.  */
static void fit_terminal(struct format *format)
{
    size_t cap = format->options.columns;
    size_t left;

    if (format->options.columns == 0 || capped_total(format, SIZE_MAX) <= format->options.columns)
        return;
    if (format->options.kind == FORMAT_PLAIN)
        drop_columns(format);
    while (cap > NARROWEST && capped_total(format, cap) > format->options.columns)
        cap--;
    left = capped_total(format, cap);
    left = left < format->options.columns ? format->options.columns - left : 0;
    for (size_t i = 0; i < format->count; i++) {
        size_t *width = &format->grid.widths[i];

        if (!is_cut(format, i) || format->grid.hidden[i] || *width <= cap)
            continue;
        *width = cap + (left > 0); /* what a whole step left over goes to the first of them */
        left -= left > 0;
        format->grid.narrowed = true;
    }
}

/* A column without a text, but for its name, tells nothing.  */
static void hide_empty(struct format *format)
{
    const struct format_grid *grid = &format->grid;

    for (size_t i = 0; i < format->count; i++)
        grid->hidden[i] = grid->cell_count > format->count;
    for (size_t i = format->count, column = 0; i < grid->cell_count; i++) {
        if (grid->cells[i].length > 0)
            grid->hidden[column] = false;
        column = column + 1 < format->count ? column + 1 : 0;
    }
}

static void measure(struct format *format)
{
    struct format_grid *grid = &format->grid;
    size_t first = format->options.no_header ? format->count : 0;

    for (size_t i = 0; i < format->count; i++) {
        enum format_align align = format->columns[i].align;

        grid->right[i] = align == FORMAT_RIGHT || (align == FORMAT_AUTO && grid->numbers[i] &&
                                                   grid->cell_count > format->count);
        grid->widths[i] = 1;
        grid->hidden[i] = false;
    }
    grid->deepest = 0;
    grid->narrowed = false;
    for (size_t i = first, column = 0; i < grid->cell_count; i++) {
        size_t width = grid->cells[i].width + grid->cells[i].indent;

        if (width > grid->widths[column])
            grid->widths[column] = width;
        if (grid->cells[i].indent > grid->deepest)
            grid->deepest = grid->cells[i].indent;
        column = column + 1 < format->count ? column + 1 : 0;
    }
    if (format->options.no_empty && format->options.kind == FORMAT_PLAIN)
        hide_empty(format);
    fit_terminal(format);
}

static int compare_bytes(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t common = a_length < b_length ? a_length : b_length;
    int order = common ? memcmp(a, b, common) : 0;

    return order ? order : (a_length > b_length) - (a_length < b_length);
}

static int compare_short(const struct format_grid *grid, size_t a, size_t b)
{
    const struct format_place *left = &grid->cells[a], *right = &grid->cells[b];
    const char *text = grid->text.bytes;

    return compare_bytes(text + left->start, left->length, text + right->start, right->length);
}

/* What is its own short name has no whole one beside it.  */
static int compare_whole(const struct format_grid *grid, size_t a, size_t b)
{
    const struct format_place *left = &grid->cells[a], *right = &grid->cells[b];
    const char *text = grid->text.bytes;
    size_t left_skip = left->whole_length ? left->length : 0;
    size_t right_skip = right->whole_length ? right->length : 0;

    return compare_bytes(
        text + left->start + left_skip, left_skip ? left->whole_length : left->length,
        text + right->start + right_skip, right_skip ? right->whole_length : right->length);
}

static int compare_names(const void *a, const void *b, void *context)
{
    const struct format_grid *grid = context;
    size_t left = *(const size_t *)a, right = *(const size_t *)b;
    int order = compare_short(grid, left, right);

    return order ? order : compare_whole(grid, left, right);
}

static void show_whole(struct format_grid *grid, struct format_place *place)
{
    if (place->whole_length == 0)
        return;
    place->start += place->length;
    place->length = place->whole_length;
    place->whole_length = 0;
    place->width = base_width_text(grid->text.bytes + place->start, place->length);
}

/* Whole names of functions in a column where short ones are the same.  */
static void tell_overloads_apart(struct format *format, size_t column)
{
    struct format_grid *grid = &format->grid;
    size_t rows = grid->cell_count / format->count, limit;
    size_t *sorted = cli_allocate(rows, sizeof *sorted);

    for (size_t i = 0; i < rows; i++)
        sorted[i] = i * format->count + column;
    qsort_r(sorted, rows, sizeof *sorted, compare_names, grid);
    for (size_t first = 0; first < rows; first = limit) {
        bool differ = false;

        for (limit = first + 1;
             limit < rows && compare_short(grid, sorted[first], sorted[limit]) == 0; limit++)
            differ |= compare_whole(grid, sorted[first], sorted[limit]) != 0;
        for (size_t i = first; differ && i < limit; i++)
            show_whole(grid, &grid->cells[sorted[i]]);
    }
    free(sorted);
}

/* Settle the widths and print what waited.  */
static void settle(struct format *format)
{
    struct format_grid *grid = &format->grid;

    for (size_t i = 0; format->options.kind == FORMAT_PLAIN && i < format->count; i++)
        if (format->columns[i].functions)
            tell_overloads_apart(format, i);
    measure(format);
    grid->settled = true;
    put_line(format, frame_of(format)->top);
    if (!format->options.no_header) {
        put_row(format, grid->cells, true);
        if (format->options.kind == FORMAT_MARKDOWN)
            put_markdown_line(format);
        else
            put_line(format, frame_of(format)->middle);
    }
    for (size_t i = format->count; i < grid->cell_count; i += format->count)
        put_row(format, grid->cells + i, false);
}

/* ---- The method ---- */

static void push(struct format *format, const struct format_cell *cell)
{
    struct format_grid *grid = &format->grid;

    grid->cells = cli_grow(grid->cells, &grid->cell_capacity, grid->cell_count + 1,
                           sizeof *grid->cells);
    grid->cells[grid->cell_count] = add_place(format, grid->cell_count % format->count, cell);
    grid->cell_count++;
}

void columns_begin(struct format *format)
{
    struct format_grid *grid = &format->grid;

    grid->text.length = 0;
    grid->cell_count = 0;
    grid->settled = false;
    grid->widths = grown(grid->widths, format->count, sizeof *grid->widths);
    grid->right = grown(grid->right, format->count, sizeof *grid->right);
    grid->hidden = grown(grid->hidden, format->count, sizeof *grid->hidden);
    grid->numbers = grown(grid->numbers, format->count, sizeof *grid->numbers);
    for (size_t i = 0; i < format->count; i++) {
        struct format_cell name = { .type = FORMAT_TEXT,
                                    .bytes = format->columns[i].name,
                                    .length = strlen(format->columns[i].name) };

        grid->numbers[i] = true;
        push(format, &name);
    }
}

void columns_row(struct format *format, const struct format_cell *cells)
{
    struct format_grid *grid = &format->grid;

    for (size_t i = 0; !grid->settled && i < format->count; i++)
        grid->numbers[i] &= cells[i].type != FORMAT_TEXT && cells[i].type != FORMAT_BLOB;
    if (grid->settled) { /* one row at a time from now on */
        grid->text.length = 0;
        grid->cell_count = 0;
    }
    for (size_t i = 0; i < format->count; i++)
        push(format, &cells[i]);
    if (grid->settled)
        put_row(format, grid->cells, false);
    else if (grid->text.length > FORMAT_BYTES_MAX || format->rows >= FORMAT_ROWS_MAX)
        settle(format);
}

void columns_end(struct format *format)
{
    if (!format->grid.settled)
        settle(format);
    put_line(format, frame_of(format)->bottom);
}

void columns_free(struct format *format)
{
    free(format->grid.text.bytes);
    free(format->grid.cells);
    free(format->grid.widths);
    free(format->grid.right);
    free(format->grid.hidden);
    free(format->grid.numbers);
}
