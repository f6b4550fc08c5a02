/* rows_json.c - json and jsonl.  */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cmd/cli/cli_json.h"
#include "cmd/fxtq/format/row_grid.h"

/* Always with a point or an exponent, as SQLite prints: a reader keeps it apart from an integer. */
static void put_real(struct format *format, struct json *json, double real)
{
    char text[40];

    if (!isfinite(real)) {
        json_double(json, NULL, real);
        return;
    }
    cli_shortest_double(text, real);
    format_puts(format, text);
    if (!strpbrk(text, ".e"))
        format_puts(format, ".0");
}

static void put_value(struct format *format, struct json *json, const struct format_cell *cell)
{
    switch (cell->type) {
    case FORMAT_NULL:
        json_null(json, NULL);
        break;
    case FORMAT_INTEGER:
        json_number(json, NULL, cell->integer);
        break;
    case FORMAT_REAL:
        put_real(format, json, cell->real);
        break;
    case FORMAT_TEXT:
        json_string(json, NULL, cell->bytes, cell->length);
        break;
    case FORMAT_BLOB:
        json_hex(json, NULL, (const uint8_t *)cell->bytes, cell->length);
        break;
    }
}

/* Names of columns are anything: they need the escapes that keys of the writer do without.  */
static void put_object(struct format *format, const struct format_cell *cells)
{
    struct json json = { .output = format->output };

    json_open(&json, NULL, '{');
    for (size_t i = 0; i < format->count; i++) {
        json_text(&json, NULL, format->columns[i].name);
        format_puts(format, ":");
        json.comma = false;
        put_value(format, &json, &cells[i]);
        json.comma = true;
    }
    json_close(&json, '}');
}

void json_begin(struct format *format)
{
    format_put(format, "[", 1);
}

void json_row(struct format *format, const struct format_cell *cells)
{
    if (format->rows > 0)
        format_put(format, ",\n", 2);
    put_object(format, cells);
}

void json_finish(struct format *format)
{
    format_put(format, "]\n", 2);
}

void jsonl_row(struct format *format, const struct format_cell *cells)
{
    put_object(format, cells);
    format_put(format, "\n", 1);
}
