/* row_format.h - rows of a result as text, while they come.
 *
 *     struct format *format = format_new(&options, &output);
 *     format_begin(format, columns, count);
 *     while (...)
 *         format_row(format, cells);
 *     format_end(format);                  again from format_begin() for the next result
 *     format_free(format);
 *
 * csv, tsv, html, json and jsonl pass rows on as they come.  Those with columns under each other
 * look at the first rows (FORMAT_ROWS_MAX, FORMAT_BYTES_MAX) before they settle the widths; what
 * comes later and is wider is cut where the terminal is narrow, else it sticks out: nothing is lost
 * in a file.
 *
 * The same as the sqlite3 shell prints, but for: numbers stand on the right; a blob is X'...' (in
 * JSON a string of hexadecimal digits), never raw bytes; control characters print as "\n", "\x1b"
 * where columns stand under each other; tsv escapes tabs, newlines and backslashes; numbers in JSON
 * are as in all programs (cmd/cli/cli_json.h), and doubles the shortest that read back equal, with
 * a point or an exponent; JSON of no rows is []; html is a whole table.  */
#ifndef FXTQ_ROW_FORMAT_H
#define FXTQ_ROW_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/cli/cli.h"

enum format_kind {
    FORMAT_TABLE,
    FORMAT_BOX,
    FORMAT_CSV,
    FORMAT_TSV,
    FORMAT_JSON,  /* one array a result */
    FORMAT_JSONL, /* one object a row */
    FORMAT_MARKDOWN,
    FORMAT_HTML,
    FORMAT_PLAIN, /* blanks between the columns: reports */
};
extern const char *const format_names[]; /* but for FORMAT_PLAIN; NULL at the end */

#define FORMAT_ROWS_MAX  10000u
#define FORMAT_BYTES_MAX (8u << 20)

enum format_type { FORMAT_NULL, FORMAT_INTEGER, FORMAT_REAL, FORMAT_TEXT, FORMAT_BLOB };

struct format_cell {
    enum format_type type;
    int64_t integer;
    double real;
    const char *bytes; /* of text and blobs; borrowed for the call */
    size_t length;
    size_t indent; /* blanks before a text of FORMAT_PLAIN: fewer where the column is cut */
};

enum format_align {
    FORMAT_AUTO, /* right if the values are numbers */
    FORMAT_LEFT,
    FORMAT_RIGHT,
};

struct format_column {
    const char *name; /* borrowed until format_end() */
    enum format_align align;
    bool whole; /* never cut, however narrow the terminal */
    /* Names of functions: FORMAT_PLAIN shows their short names (profile_short_name()), but whole
     * ones where two of the first rows would read the same.  */
    bool functions;
    /* Where the terminal is too narrow for all columns, those with the highest rank are left out
     * first; 0: never.  FORMAT_PLAIN alone.  */
    unsigned rank;
};

struct format_options {
    enum format_kind kind;
    bool no_header;
    size_t columns;   /* of the terminal; 0: nothing is cut */
    bool no_empty;    /* leave out columns in which nothing stands: FORMAT_PLAIN alone */
    const char *null; /* what stands for NULL but in JSON; NULL: nothing */
    bool terminal;    /* control characters are kept from it in all formats */
    bool csv_safe;    /* csv, tsv: ' before texts that would be taken for formulas */
};

struct format;

/* options are copied, output is borrowed; what it could not write is in output->failed.  */
struct format *format_new(const struct format_options *options, struct cli_output *output);
void format_begin(struct format *format, const struct format_column *columns, size_t count);
void format_row(struct format *format, const struct format_cell *cells);
void format_end(struct format *format);
void format_free(struct format *format); /* accepts NULL */

#endif /* FXTQ_ROW_FORMAT_H */
