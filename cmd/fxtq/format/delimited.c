/* delimited.c - csv, tsv, html: rows that need no other row.  */
#include <string.h>

#include "base/visible.h"
#include "cmd/fxtq/format/row_grid.h"

static struct format_cell header_cell(const struct format_column *column)
{
    return (struct format_cell){ .type = FORMAT_TEXT,
                                 .bytes = column->name,
                                 .length = strlen(column->name) };
}

/* The cell's text in the scratch buffer.  */
static const struct base_text *cell_text(struct format *format, const struct format_cell *cell)
{
    format->scratch.length = 0;
    text_add(&format->scratch, "", 0);
    format_add_cell(format, &format->scratch, cell);
    return &format->scratch;
}

/* Texts alone: a number that begins with a minus is one to a spreadsheet, too.  */
static bool needs_quote(const struct format *format, const struct format_cell *cell,
                        const struct base_text *text)
{
    return format->options.csv_safe && cell->type == FORMAT_TEXT &&
           base_is_formula(text->bytes, text->length);
}

/* ---- csv (RFC 4180, lines end with \n as the sqlite3 shell's) ---- */

/* What the sqlite3 shell quotes for: anything but visible ASCII without quotes and commas.  */
static bool csv_is_plain(const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)bytes[i];

        if (byte <= ' ' || byte >= 0x7f || byte == '"' || byte == '\'' || byte == ',')
            return false;
    }
    return length > 0;
}

static void csv_cell(struct format *format, const struct format_cell *cell)
{
    const struct base_text *text = cell_text(format, cell);
    const char *next = text->bytes;
    const char *end = text->bytes + text->length;
    bool is_formula = needs_quote(format, cell, text);

    if (!is_formula && ((cell->type != FORMAT_TEXT && cell->type != FORMAT_BLOB) ||
                        csv_is_plain(text->bytes, text->length))) {
        format_put(format, text->bytes, text->length);
        return;
    }
    format_puts(format, is_formula ? "\"'" : "\"");
    for (const char *quote; (quote = memchr(next, '"', (size_t)(end - next))); next = quote + 1) {
        format_put(format, next, (size_t)(quote - next) + 1);
        format_put(format, "\"", 1);
    }
    format_put(format, next, (size_t)(end - next));
    format_put(format, "\"", 1);
}

void csv_begin(struct format *format)
{
    if (format->options.no_header)
        return;
    for (size_t i = 0; i < format->count; i++) {
        struct format_cell cell = header_cell(&format->columns[i]);

        format_puts(format, i ? "," : "");
        csv_cell(format, &cell);
    }
    format_put(format, "\n", 1);
}

void csv_row(struct format *format, const struct format_cell *cells)
{
    for (size_t i = 0; i < format->count; i++) {
        format_puts(format, i ? "," : "");
        csv_cell(format, &cells[i]);
    }
    format_put(format, "\n", 1);
}

/* ---- tsv ---- */

static void tsv_cell(struct format *format, const struct format_cell *cell)
{
    static const char special[] = "\t\n\r\\";
    static const char letters[] = "tnr\\";
    const struct base_text *text = cell_text(format, cell);
    size_t start = 0;

    format_puts(format, needs_quote(format, cell, text) ? "'" : "");
    for (size_t i = 0; i < text->length; i++) {
        char byte = text->bytes[i];
        const char *place = byte ? strchr(special, byte) : NULL;
        char pair[2] = { '\\', place ? letters[place - special] : ' ' };

        if (!place)
            continue;
        format_put(format, text->bytes + start, i - start);
        format_put(format, pair, 2);
        start = i + 1;
    }
    format_put(format, text->bytes + start, text->length - start);
}

void tsv_begin(struct format *format)
{
    if (format->options.no_header)
        return;
    for (size_t i = 0; i < format->count; i++) {
        struct format_cell cell = header_cell(&format->columns[i]);

        format_puts(format, i ? "\t" : "");
        tsv_cell(format, &cell);
    }
    format_put(format, "\n", 1);
}

void tsv_row(struct format *format, const struct format_cell *cells)
{
    for (size_t i = 0; i < format->count; i++) {
        format_puts(format, i ? "\t" : "");
        tsv_cell(format, &cells[i]);
    }
    format_put(format, "\n", 1);
}

/* ---- html ---- */

static const char *html_entity(char byte)
{
    switch (byte) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

/* Names in a page are shown to people, as base/visible.h says; lines stay lines.  */
static void put_html(struct format *format, const char *bytes, size_t length)
{
    size_t start = 0, size;

    for (size_t i = 0; i < length; i += size) {
        const char *entity = html_entity(bytes[i]);
        char escape[BASE_ESCAPE_BYTES];
        bool shown = base_shown_as_is(bytes + i, length - i, &size) || bytes[i] == '\n' ||
                     bytes[i] == '\t';

        if (shown && !entity)
            continue;
        format_put(format, bytes + start, i - start);
        if (entity)
            format_puts(format, entity);
        else
            format_put(format, escape, base_escape(escape, bytes + i, size));
        start = i + size;
    }
    format_put(format, bytes + start, length - start);
}

static void html_cell(struct format *format, const char *tag, const struct format_cell *cell)
{
    const struct base_text *text = cell_text(format, cell);

    format_puts(format, "<");
    format_puts(format, tag);
    format_puts(format, ">");
    put_html(format, text->bytes, text->length);
    format_puts(format, "</");
    format_puts(format, tag);
    format_puts(format, ">");
}

void html_begin(struct format *format)
{
    format_puts(format, "<table>\n");
    if (format->options.no_header)
        return;
    format_puts(format, "<tr>");
    for (size_t i = 0; i < format->count; i++) {
        struct format_cell cell = header_cell(&format->columns[i]);

        html_cell(format, "th", &cell);
    }
    format_puts(format, "</tr>\n");
}

void html_row(struct format *format, const struct format_cell *cells)
{
    format_puts(format, "<tr>");
    for (size_t i = 0; i < format->count; i++)
        html_cell(format, "td", &cells[i]);
    format_puts(format, "</tr>\n");
}

void html_end(struct format *format)
{
    format_puts(format, "</table>\n");
}
