/* report_rows.c - rows of reports as a table, in Markdown or as JSON.  */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/fxtq/format/row_format.h"
#include "cmd/fxtq/report/report_command.h"

#define COLUMNS_MAX 16u
#define DEEPEST     200 /* rows of trees are not indented further */

/* ---- Numbers for people ---- */

void report_add_duration(struct base_text *text, double ns)
{
    double size = fabs(ns);

    if (size >= 1e9)
        text_addf(text, "%.2fs", ns / 1e9);
    else if (size >= 1e6)
        text_addf(text, "%.2fms", ns / 1e6);
    else if (size >= 1e3)
        text_addf(text, "%.2fus", ns / 1e3);
    else
        text_addf(text, "%.0fns", ns);
}

static void add_bytes(struct base_text *text, double bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
    size_t unit = 0;

    while (fabs(bytes) >= 1024 && unit < 5) {
        bytes /= 1024;
        unit++;
    }
    text_addf(text, unit ? "%.2f %s" : "%.0f %s", bytes, units[unit]);
}

static double number_of(const struct store_report_cell *cell)
{
    return cell->type == STORE_REPORT_REAL ? cell->real : (double)cell->integer;
}

static void add_grouped(struct base_text *text, double number)
{
    if (number < 0 || number > 1e18)
        text_addf(text, "%.0f", number);
    else
        text_adds(text, cli_grouped((uint64_t)llround(number)));
}

/* Append a number with its unit.  False: it has none, and is printed as it is.  */
static bool add_number(struct base_text *text, enum store_report_kind kind, double number,
                       int64_t start_ts)
{
    switch (kind) {
    case STORE_REPORT_NS:
        report_add_duration(text, number);
        return true;
    case STORE_REPORT_BYTES:
        add_bytes(text, number);
        return true;
    case STORE_REPORT_PERCENT:
        text_addf(text, "%.2f%%", number);
        return true;
    case STORE_REPORT_COUNT:
        add_grouped(text, number);
        return true;
    case STORE_REPORT_TIME:
        text_addf(text, "%+.6fs", (number - (double)start_ts) / 1e9);
        return true;
    default:
        return false;
    }
}

/* ---- Columns ---- */

struct printer {
    const struct store_report_column *columns;
    bool json;
    int64_t start_ts;
    struct format *format;
    size_t count;                /* that are printed */
    size_t sources[COLUMNS_MAX]; /* which of the report's each one is */
    struct format_column format_columns[COLUMNS_MAX];
    struct base_text scratch[COLUMNS_MAX];
    bool has_depth;
    size_t depth_column;
};

/* "self_percent" would make the column too wide.  */
static const char *title_of(const char *name)
{
    if (strcmp(name, "self_percent") == 0)
        return "self%";
    return strcmp(name, "total_percent") == 0 ? "total%" : name;
}

static bool is_text(enum store_report_kind kind)
{
    return kind == STORE_REPORT_TEXT || kind == STORE_REPORT_FUNCTION;
}

static void choose_columns(struct printer *printer, size_t count)
{
    for (size_t i = 0; i < count && printer->count < COLUMNS_MAX; i++) {
        const struct store_report_column *from = &printer->columns[i];
        struct format_column *column = &printer->format_columns[printer->count];

        if (from->kind == STORE_REPORT_DEPTH) {
            printer->has_depth = true;
            printer->depth_column = i;
        }
        if (!printer->json &&
            (from->kind == STORE_REPORT_DEPTH || from->kind == STORE_REPORT_HIDDEN))
            continue;
        column->name = printer->json ? from->name : title_of(from->name);
        column->align = is_text(from->kind) || from->kind == STORE_REPORT_LABEL ? FORMAT_LEFT
                                                                                : FORMAT_RIGHT;
        column->whole = !is_text(from->kind);
        column->functions = from->kind == STORE_REPORT_FUNCTION;
        column->rank = from->rank;
        printer->sources[printer->count++] = i;
    }
}

/* ---- Rows ---- */

static struct format_cell to_format(const struct store_report_cell *cell)
{
    static const enum format_type types[] = { FORMAT_NULL, FORMAT_INTEGER, FORMAT_REAL,
                                              FORMAT_TEXT };

    return (struct format_cell){ .type = types[cell->type],
                                 .integer = cell->integer,
                                 .real = cell->real,
                                 .bytes = cell->text,
                                 .length = cell->length };
}

static void humanize(struct printer *printer, size_t i, const struct store_report_cell *from,
                     struct format_cell *cell)
{
    enum store_report_kind kind = printer->columns[printer->sources[i]].kind;
    struct base_text *text = &printer->scratch[i];

    if (from->type != STORE_REPORT_INTEGER && from->type != STORE_REPORT_REAL)
        return;
    base_text_clear(text);
    if (add_number(text, kind, number_of(from), printer->start_ts))
        *cell = (struct format_cell){ .type = FORMAT_TEXT,
                                      .bytes = text->bytes,
                                      .length = text->length };
}

static void print_row(struct printer *printer, const struct store_report_cell *from)
{
    struct format_cell cells[COLUMNS_MAX];

    for (size_t i = 0; i < printer->count; i++) {
        size_t source = printer->sources[i];

        cells[i] = to_format(&from[source]);
        if (printer->json)
            continue;
        humanize(printer, i, &from[source], &cells[i]);
        if (printer->has_depth && is_text(printer->columns[source].kind)) {
            int64_t depth = from[printer->depth_column].integer;

            cells[i].indent = 2 * (size_t)(depth < 0 ? 0 : depth > DEEPEST ? DEEPEST : depth);
        }
    }
    format_row(printer->format, cells);
}

enum store_status report_print_rows(struct store_report *report, enum report_output kind,
                                    int64_t start_ts, struct cli_output *output, uint64_t *shown,
                                    struct store_error *error)
{
    size_t count;
    struct printer printer = { .columns = store_report_columns(report, &count),
                               .json = kind == REPORT_AS_JSON,
                               .start_ts = start_ts };
    struct format_options options = { .kind = kind == REPORT_AS_JSON       ? FORMAT_JSONL
                                              : kind == REPORT_AS_MARKDOWN ? FORMAT_MARKDOWN
                                                                           : FORMAT_PLAIN,
                                      .columns = kind == REPORT_AS_TEXT ? cli_columns(stdout) : 0,
                                      .no_empty = true,
                                      .terminal = isatty(STDOUT_FILENO) };
    const struct store_report_cell *cells;
    enum store_status status = store_report_next(report, &cells, error);

    *shown = 0;
    if (status != STORE_OK && status != STORE_END)
        return status; /* what cannot be answered has no heading */
    choose_columns(&printer, count);
    printer.format = format_new(&options, output);
    format_begin(printer.format, printer.format_columns, printer.count);
    for (; status == STORE_OK && !output->failed; ++*shown) {
        print_row(&printer, cells);
        status = store_report_next(report, &cells, error);
    }
    format_end(printer.format);
    format_free(printer.format);
    for (size_t i = 0; i < printer.count; i++)
        base_text_release(&printer.scratch[i]);
    return status == STORE_END || output->failed ? STORE_OK : status;
}
