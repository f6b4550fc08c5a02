/* The page: a template whose @WORDS@ are replaced; the tree as deflated columns in base64.  */
#include <fxt/profile.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/visible.h"
#include "cmd/cli/template.h"
#include "cmd/flame/page_tree.h"

/* ---- Columns ---- */

/* Bytes on their way through deflate and base64 to the output.  */
struct column {
    struct cli_output *output;
    z_stream stream;
    unsigned char plain[16384];
    size_t used;                    /* of plain */
    unsigned char packed[3 * 4096]; /* whole groups of three: base64 pads at the very end only */
};

static void put(struct cli_output *output, const char *text)
{
    (void)cli_output_write(output, text, strlen(text)); /* keeps the first failure */
}

static void put_base64(struct cli_output *output, const unsigned char *bytes, size_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[4];

    for (size_t i = 0; i < count; i += 3) {
        size_t left = count - i;
        uint32_t group = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                         (left > 2 ? (uint32_t)bytes[i + 2] : 0);

        text[0] = digits[group >> 18];
        text[1] = digits[group >> 12 & 63];
        text[2] = left > 1 ? digits[group >> 6 & 63] : '=';
        text[3] = left > 2 ? digits[group & 63] : '=';
        (void)cli_output_write(output, text, sizeof text);
    }
}

static void column_open(struct column *column, struct cli_output *output)
{
    memset(column, 0, sizeof *column);
    column->output = output;
    if (deflateInit(&column->stream, 6) != Z_OK) {
        cli_error("out of memory");
        exit(CLI_ENVIRONMENT);
    }
    column->stream.next_out = column->packed;
    column->stream.avail_out = sizeof column->packed;
    put(output, "\"");
}

static void column_pump(struct column *column, int flush)
{
    int status;

    do {
        status = deflate(&column->stream, flush);
        if (column->stream.avail_out == 0) {
            put_base64(column->output, column->packed, sizeof column->packed);
            column->stream.next_out = column->packed;
            column->stream.avail_out = sizeof column->packed;
        }
    } while (column->stream.avail_in > 0 || (flush == Z_FINISH && status == Z_OK));
}

static void column_flush(struct column *column, int flush)
{
    column->stream.next_in = column->plain;
    column->stream.avail_in = (uInt)column->used;
    column->used = 0;
    column_pump(column, flush);
}

static void column_byte(struct column *column, unsigned char byte)
{
    if (column->used == sizeof column->plain)
        column_flush(column, Z_NO_FLUSH);
    column->plain[column->used++] = byte;
}

/* Numbers in the page are little-endian, as browsers have them.  */
static void column_number(struct column *column, uint64_t number, size_t size)
{
    for (size_t i = 0; i < size; i++)
        column_byte(column, (unsigned char)(number >> (8 * i)));
}

static void column_close(struct column *column)
{
    column_flush(column, Z_FINISH);
    put_base64(column->output, column->packed, sizeof column->packed - column->stream.avail_out);
    put(column->output, "\"");
    (void)deflateEnd(&column->stream);
}

static void put_key(struct cli_output *output, const char *key)
{
    put(output, ",\"");
    put(output, key);
    put(output, "\":");
}

static void write_shape(const struct flame_page *page, const struct flame_walk *walk,
                        struct cli_output *output)
{
    struct column column;

    put_key(output, "depth");
    column_open(&column, output);
    for (size_t i = 0; i < walk->count; i++)
        column_number(&column, walk->depths[i], 2);
    column_close(&column);
    put_key(output, "name");
    column_open(&column, output);
    for (size_t i = 0; i < walk->count; i++)
        column_number(&column, flame_name(page, walk->nodes[i]), 4);
    column_close(&column);
}

static void write_name_column(const struct flame_page *page, const char *key, size_t member,
                              struct cli_output *output)
{
    struct column column;

    put_key(output, key);
    column_open(&column, output);
    for (size_t i = 0; i < page->name_keys.count; i++) {
        uint32_t text;

        memcpy(&text, (const char *)&page->names[i] + member, sizeof text);
        column_number(&column, text, 4);
    }
    column_close(&column);
}

static void write_names(const struct flame_page *page, struct cli_output *output)
{
    struct column column;

    write_name_column(page, "functions", offsetof(struct name, function), output);
    write_name_column(page, "modules", offsetof(struct name, module), output);
    write_name_column(page, "places", offsetof(struct name, place), output);
    write_name_column(page, "shorts", offsetof(struct name, shown), output);
    put_key(output, "strings");
    column_open(&column, output);
    for (size_t i = 0; i < page->texts.count; i++) {
        if (i > 0)
            column_byte(&column, '\n');
        for (const char *at = flame_text(page, i); *at; at++)
            column_byte(&column, *at == '\n' ? ' ' : (unsigned char)*at); /* lines separate texts */
    }
    column_close(&column);
}

static void write_values(const struct flame_page *page, const struct flame_walk *walk,
                         struct cli_output *output)
{
    struct column column;
    uint64_t bits;

    put_key(output, "self");
    for (size_t i = 0; i < page->columns; i++) {
        put(output, i == 0 ? "[" : ",");
        column_open(&column, output);
        for (size_t j = 0; j < walk->count; j++) {
            memcpy(&bits, &page->values[walk->nodes[j] * page->columns + i], sizeof bits);
            column_number(&column, bits, 8);
        }
        column_close(&column);
    }
    put(output, "]");
}

/* ---- The data ---- */

/* A JSON string inside HTML: no tag can begin in it.  Names are shown by the page's script, so they
 * are escaped for people (base/visible.h) here already.  */
static void put_string(struct cli_output *output, const char *text)
{
    static const char hex[] = "0123456789abcdef";
    size_t length = strlen(text), size;

    put(output, "\"");
    for (size_t i = 0; i < length; i += size) {
        char visible[BASE_ESCAPE_BYTES], escape[] = "\\u0000";

        if (!base_shown_as_is(text + i, length - i, &size)) {
            put(output, "\\"); /* the backslash of the escape itself */
            (void)cli_output_write(output, visible, base_escape(visible, text + i, size));
        } else if (strchr("\"\\<&", text[i])) {
            escape[4] = hex[(unsigned char)text[i] >> 4];
            escape[5] = hex[(unsigned char)text[i] & 15];
            put(output, escape);
        } else {
            (void)cli_output_write(output, text + i, size);
        }
    }
    put(output, "\"");
}

static void put_count(struct cli_output *output, const char *key, size_t number)
{
    char text[32];

    put_key(output, key);
    (void)snprintf(text, sizeof text, "%zu", number);
    put(output, text);
}

static void write_data(const struct flame_page *page, const struct flame_page_head *head,
                       struct cli_output *output)
{
    struct flame_walk walk = flame_walk_make(page);
    char scale[32];

    put(output, "{\"title\":");
    put_string(output, head->title);
    put_count(output, "nodes", walk.count);
    put_count(output, "chosen", head->chosen);
    put_key(output, "diff");
    put(output, head->diff ? "true" : "false");
    put_key(output, "scale");
    cli_shortest_double(scale, head->scale > 0 ? head->scale : 1);
    put(output, scale);
    put_key(output, "types");
    for (size_t i = 0; i < head->type_count; i++) {
        put(output, i == 0 ? "[{\"name\":" : ",{\"name\":");
        put_string(output, head->types[i].name);
        put_key(output, "unit");
        put_string(output, head->types[i].unit);
        put(output, "}");
    }
    put(output, "]");
    write_shape(page, &walk, output);
    write_names(page, output);
    write_values(page, &walk, output);
    put(output, "}");
    flame_walk_release(&walk);
}

/* ---- The templates ---- */

struct filling {
    struct flame_page *page;
    const struct flame_page_head *head;
};

static void fill_chart(void *context, const char *word, size_t length, struct cli_output *output)
{
    const struct filling *filling = context;

    (void)word; /* @DATA@ */
    (void)length;
    write_data(filling->page, filling->head, output);
}

/* Names as frames have room for them.  */
static void shorten_names(struct flame_page *page)
{
    for (size_t i = 0; i < page->name_keys.count; i++) {
        const char *text = flame_text(page, page->names[i].function);
        char *shown = profile_short_name(text, strlen(text));

        if (!shown)
            cli_out_of_memory();
        page->names[i].shown = flame_page_text(page, shown);
        free(shown);
    }
}

void flame_page_put_style(struct cli_output *output)
{
    put(output, page_flamegraph_css);
}

void flame_page_put_chart(struct flame_page *page, const struct flame_page_head *head,
                          struct cli_output *output)
{
    struct filling filling = { page, head };

    shorten_names(page);
    cli_template_write(output, page_chart_html, fill_chart, &filling);
}

void flame_page_put_script(struct cli_output *output)
{
    put(output, page_flamegraph_js);
}

/* Of a page of its own.  */
static void fill(void *context, const char *word, size_t length, struct cli_output *output)
{
    const struct filling *filling = context;

    if (cli_template_is(word, length, "TITLE"))
        cli_template_text(output, filling->head->title);
    else if (cli_template_is(word, length, "STYLE"))
        flame_page_put_style(output);
    else if (cli_template_is(word, length, "SCRIPT"))
        flame_page_put_script(output);
    else
        flame_page_put_chart(filling->page, filling->head, output);
}

int flame_page_write(struct flame_page *page, const struct flame_page_head *head,
                     struct cli_output *output)
{
    struct filling filling = { page, head };

    cli_template_write(output, page_flamegraph_html, fill, &filling);
    return output->failed;
}
