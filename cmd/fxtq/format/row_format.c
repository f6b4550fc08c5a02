/* row_format.c - which format does what.  */
#include "cmd/fxtq/format/row_format.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/visible.h"
#include "cmd/fxtq/format/row_grid.h"

const char *const format_names[] = { "table", "box",      "csv",  "tsv", "json",
                                     "jsonl", "markdown", "html", NULL };

static const struct {
    void (*begin)(struct format *format);
    void (*row)(struct format *format, const struct format_cell *cells);
    void (*end)(struct format *format);
} methods[] = {
    [FORMAT_TABLE] = { columns_begin, columns_row, columns_end },
    [FORMAT_BOX] = { columns_begin, columns_row, columns_end },
    [FORMAT_MARKDOWN] = { columns_begin, columns_row, columns_end },
    [FORMAT_PLAIN] = { columns_begin, columns_row, columns_end },
    [FORMAT_CSV] = { csv_begin, csv_row, NULL },
    [FORMAT_TSV] = { tsv_begin, tsv_row, NULL },
    [FORMAT_JSON] = { json_begin, json_row, json_finish },
    [FORMAT_JSONL] = { NULL, jsonl_row, NULL },
    [FORMAT_HTML] = { html_begin, html_row, html_end },
};

struct format *format_new(const struct format_options *options, struct cli_output *output)
{
    struct format *format = cli_allocate(1, sizeof *format);

    format->options = *options;
    format->output = output;
    return format;
}

void format_begin(struct format *format, const struct format_column *columns, size_t count)
{
    format->columns = columns;
    format->count = count;
    format->rows = 0;
    if (methods[format->options.kind].begin)
        methods[format->options.kind].begin(format);
}

void format_row(struct format *format, const struct format_cell *cells)
{
    methods[format->options.kind].row(format, cells);
    format->rows++;
}

void format_end(struct format *format)
{
    if (methods[format->options.kind].end)
        methods[format->options.kind].end(format);
}

void format_free(struct format *format)
{
    if (!format)
        return;
    columns_free(format);
    free(format->scratch.bytes);
    free(format->shown.bytes);
    free(format);
}

void format_put(struct format *format, const char *bytes, size_t length)
{
    size_t start = 0, size;

    for (size_t i = 0; format->options.terminal && i < length; i += size) {
        char escape[BASE_ESCAPE_BYTES];

        if (base_shown_as_is(bytes + i, length - i, &size) || bytes[i] == '\n' ||
            bytes[i] == '\t' || bytes[i] == '\r')
            continue;
        (void)cli_output_write(format->output, bytes + start, i - start);
        (void)cli_output_write(format->output, escape, base_escape(escape, bytes + i, size));
        start = i + size;
    }
    (void)cli_output_write(format->output, bytes + start, length - start);
}

void format_puts(struct format *format, const char *text)
{
    format_put(format, text, strlen(text));
}

static void add_blob(struct base_text *text, const char *bytes, size_t length)
{
    char pair[2];

    text_adds(text, "X'");
    for (size_t i = 0; i < length; i++)
        text_add(text, pair, base_hex(pair, &bytes[i], 1));
    text_adds(text, "'");
}

void format_add_cell(const struct format *format, struct base_text *text,
                     const struct format_cell *cell)
{
    char number[64];

    switch (cell->type) {
    case FORMAT_NULL:
        text_adds(text, format->options.null ? format->options.null : "");
        break;
    case FORMAT_INTEGER:
        (void)sqlite3_snprintf((int)sizeof number, number, "%lld", (sqlite3_int64)cell->integer);
        text_adds(text, number);
        break;
    case FORMAT_REAL: /* as SQLite converts to text: 15 digits, and always a point */
        (void)sqlite3_snprintf((int)sizeof number, number, "%!.15g", cell->real);
        text_adds(text, number);
        break;
    case FORMAT_TEXT:
        text_add(text, cell->bytes, cell->length);
        break;
    case FORMAT_BLOB:
        add_blob(text, cell->bytes, cell->length);
        break;
    }
}
