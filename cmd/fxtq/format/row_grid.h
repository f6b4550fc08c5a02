/* row_grid.h - between the files of format*.c only.  */
#ifndef FXTQ_FORMAT_ROW_GRID_H
#define FXTQ_FORMAT_ROW_GRID_H

#include "cmd/fxtq/format/fxtq_text.h"
#include "cmd/fxtq/format/row_format.h"

/* Rows that wait for the widths of their columns (columns.c).  */
struct format_grid {
    struct base_text text; /* of all cells */
    struct format_place {
        size_t start, length; /* in text */
        size_t whole_length;  /* of a short name's whole name, which follows it; 0: none */
        size_t width;         /* columns of the terminal, without the indent */
        size_t indent;
    } * cells;
    size_t cell_count, cell_capacity;
    size_t *widths;
    bool *right;    /* stands on the right */
    bool *hidden;   /* left out */
    size_t deepest; /* of the indents */
    bool *numbers;  /* of each column: only numbers so far */
    bool narrowed;  /* some column is narrower than what stands in it */
    bool settled;   /* widths are known, the header is printed */
};

struct format {
    struct format_options options;
    struct cli_output *output;
    const struct format_column *columns;
    size_t count;
    uint64_t rows;
    struct base_text scratch;
    struct base_text shown; /* of one cell: what fits */
    struct format_grid grid;
};

void format_put(struct format *format, const char *bytes, size_t length);
void format_puts(struct format *format, const char *text);

/* The cell as plain text, added to text: numbers as SQLite writes them.  */
void format_add_cell(const struct format *format, struct base_text *text,
                     const struct format_cell *cell);

void columns_begin(struct format *format);
void columns_row(struct format *format, const struct format_cell *cells);
void columns_end(struct format *format);
void columns_free(struct format *format);

void csv_begin(struct format *format);
void csv_row(struct format *format, const struct format_cell *cells);

void tsv_begin(struct format *format);
void tsv_row(struct format *format, const struct format_cell *cells);

void html_begin(struct format *format);
void html_row(struct format *format, const struct format_cell *cells);
void html_end(struct format *format);

void json_begin(struct format *format);
void json_row(struct format *format, const struct format_cell *cells);
void json_finish(struct format *format);
void jsonl_row(struct format *format, const struct format_cell *cells);

#endif /* FXTQ_FORMAT_ROW_GRID_H */
