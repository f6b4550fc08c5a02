/* dwarf_files.c - the header of a line table: how its program counts, and paths of its files.
 *
 * DWARF 2 to 4 and DWARF 5 write and number directories and files differently (section 6). */
#include "libsymbolize/internal.h"
#include <stdlib.h>
#include <string.h>

/* Directories and files as the table spells them; strings lie in sections.  */
struct names {
    const char **items;
    size_t count, capacity;
};

struct parser {
    struct sym_dwarf *dwarf;
    const struct sym_line_header *header;
    struct sym_cursor *cursor;
    struct sym_lines *lines;
    const char *comp_dir;
    struct names directories; /* [0] is entry 0 of DWARF 5, entry 1 before that */
};

/* ---- Paths ---- */

static enum sym_status add_directory(struct parser *parser, const char *name)
{
    struct names *directories = &parser->directories;
    const char **items = sym_grow(directories->items, &directories->capacity, directories->count,
                                  sizeof(const char *));

    if (!items)
        return SYM_NO_MEMORY;
    directories->items = items;
    items[directories->count++] = name;
    return SYM_OK;
}

/* Interned path of a directory.  DWARF 5 repeats the compilation directory as its entry 0, to which
 * the others are relative (6.2.4): where it is relative itself (-ffile-prefix-map) it must not be
 * put before itself.  */
static const char *directory_path(const struct parser *parser, uint64_t index)
{
    const struct names *directories = &parser->directories;
    struct sym_strings *strings = parser->dwarf->strings;
    const char *base = parser->comp_dir;

    if (parser->header->version < 5)
        return sym_strings_join(
            strings, base,
            index == 0 || index > directories->count ? "" : directories->items[index - 1]);
    if (directories->count && strcmp(directories->items[0], base) != 0)
        base = sym_strings_join(strings, base, directories->items[0]);
    if (!base)
        return NULL;
    return sym_strings_join(
        strings, base, index == 0 || index >= directories->count ? "" : directories->items[index]);
}

static enum sym_status add_file(struct parser *parser, const char *name, uint64_t directory)
{
    struct sym_lines *lines = parser->lines;
    const char **files = sym_grow(lines->files, &lines->file_capacity, lines->file_count,
                                  sizeof(const char *));
    const char *path = name[0] == '/' ? "" : directory_path(parser, directory);

    if (files)
        lines->files = files;
    if (path)
        path = sym_strings_join(parser->dwarf->strings, path, name);
    if (!files || !path)
        return SYM_NO_MEMORY;
    files[lines->file_count++] = path;
    return SYM_OK;
}

/* ---- DWARF 2 to 4 ---- */

static enum sym_status read_file_entry(struct parser *parser, const char *name)
{
    uint64_t directory = sym_read_uleb(parser->cursor);

    (void)sym_read_uleb(parser->cursor); /* time of change */
    (void)sym_read_uleb(parser->cursor); /* size */
    return parser->cursor->failed ? SYM_MALFORMED : add_file(parser, name, directory);
}

static enum sym_status read_tables_2(struct parser *parser)
{
    enum sym_status status = SYM_OK;

    parser->lines->first_file = 1;
    for (;;) {
        const char *name = sym_read_string(parser->cursor);
        if (!name[0] || status)
            break;
        status = add_directory(parser, name);
    }
    while (!status && !parser->cursor->failed) {
        const char *name = sym_read_string(parser->cursor);
        if (!name[0])
            break;
        status = read_file_entry(parser, name);
    }
    return status;
}

/* ---- DWARF 5 ---- */

enum { FORMATS_MAX = 255 };

/* What an entry consists of: pairs of content type and form.  */
struct formats {
    size_t count;
    uint64_t types[FORMATS_MAX], forms[FORMATS_MAX];
};

static void read_formats(struct sym_cursor *cursor, struct formats *formats)
{
    formats->count = (size_t)sym_read_number(cursor, 1);
    for (size_t i = 0; i < formats->count; i++) {
        formats->types[i] = sym_read_uleb(cursor);
        formats->forms[i] = sym_read_uleb(cursor);
    }
}

static const char *string_at(const struct parser *parser, enum sym_section which, uint64_t offset)
{
    struct sym_cursor cursor = sym_cursor_at(&parser->dwarf->sections[which], offset,
                                             parser->dwarf->big_endian);

    return sym_read_string(&cursor);
}

/* Reads one value: a string to *text or a number to *number, by its form.  */
static void read_form(struct parser *parser, uint64_t form, const char **text, uint64_t *number)
{
    struct sym_cursor *cursor = parser->cursor;
    size_t offset_size = parser->header->offset_size;

    switch (form) {
    case DW_FORM_string:
        *text = sym_read_string(cursor);
        break;
    case DW_FORM_line_strp:
        *text = string_at(parser, SYM_SECTION_LINE_STR, sym_read_number(cursor, offset_size));
        break;
    case DW_FORM_strp:
        *text = string_at(parser, SYM_SECTION_STR, sym_read_number(cursor, offset_size));
        break;
    case DW_FORM_udata:
        *number = sym_read_uleb(cursor);
        break;
    case DW_FORM_data1:
        *number = sym_read_number(cursor, 1);
        break;
    case DW_FORM_data2:
        *number = sym_read_number(cursor, 2);
        break;
    case DW_FORM_data4:
        *number = sym_read_number(cursor, 4);
        break;
    case DW_FORM_data8:
        *number = sym_read_number(cursor, 8);
        break;
    case DW_FORM_data16: /* a digest */
        sym_skip(cursor, 16);
        break;
    case DW_FORM_block:
        sym_skip(cursor, sym_read_uleb(cursor));
        break;
    default: /* its size is unknown, so nothing behind it can be read */
        cursor->failed = true;
        break;
    }
}

static enum sym_status read_entry_5(struct parser *parser, const struct formats *formats,
                                    bool is_file)
{
    const char *name = "", *ignored_text;
    uint64_t directory = 0, ignored_number;

    for (size_t i = 0; i < formats->count; i++) {
        if (formats->types[i] == DW_LNCT_path)
            read_form(parser, formats->forms[i], &name, &ignored_number);
        else if (formats->types[i] == DW_LNCT_directory_index)
            read_form(parser, formats->forms[i], &ignored_text, &directory);
        else
            read_form(parser, formats->forms[i], &ignored_text, &ignored_number);
    }
    if (parser->cursor->failed)
        return SYM_MALFORMED;
    return is_file ? add_file(parser, name, directory) : add_directory(parser, name);
}

static enum sym_status read_tables_5(struct parser *parser)
{
    struct sym_cursor *cursor = parser->cursor;
    struct formats formats;
    enum sym_status status = SYM_OK;

    for (int is_file = 0; is_file < 2 && !status; is_file++) {
        read_formats(cursor, &formats);
        uint64_t count = sym_read_uleb(cursor);
        if (cursor->failed || count > cursor->left || (count && !formats.count))
            return SYM_MALFORMED; /* an entry has at least a byte */
        for (uint64_t i = 0; i < count && !status; i++)
            status = read_entry_5(parser, &formats, is_file);
    }
    return status;
}

/* ---- Header ---- */

static bool read_counts(struct sym_cursor *cursor, struct sym_line_header *header)
{
    header->step_bytes = sym_read_number(cursor, 1);
    header->slots = header->version >= 4 ? sym_read_number(cursor, 1) : 1;
    (void)sym_read_number(cursor, 1); /* default of is_stmt */
    header->line_base = (int8_t)sym_read_number(cursor, 1);
    header->line_range = sym_read_number(cursor, 1);
    header->opcode_base = sym_read_number(cursor, 1);
    for (uint64_t i = 1; i < header->opcode_base; i++)
        header->operands[i] = (uint8_t)sym_read_number(cursor, 1);
    if (header->slots == 0)
        header->slots = 1;
    return !cursor->failed && header->opcode_base > 0;
}

enum sym_status sym_line_header_read(struct sym_dwarf *dwarf, uint64_t offset, const char *comp_dir,
                                     struct sym_lines *lines, struct sym_line_header *header)
{
    struct sym_cursor cursor = sym_cursor_at(&dwarf->sections[SYM_SECTION_LINE], offset,
                                             dwarf->big_endian);
    struct parser parser = {
        .dwarf = dwarf, .header = header, .cursor = &cursor, .lines = lines, .comp_dir = comp_dir
    };

    *header = (struct sym_line_header){ .offset_size = 4 };
    uint64_t length = sym_read_number(&cursor, 4);
    if (length == 0xffffffff) {
        header->offset_size = 8;
        length = sym_read_number(&cursor, 8);
    }
    if (cursor.failed || length > cursor.left)
        return SYM_MALFORMED;
    cursor.left = (size_t)length;
    header->version = sym_read_number(&cursor, 2);
    if (header->version < 2 || header->version > 5)
        return SYM_MALFORMED;
    if (header->version >= 5)
        sym_skip(&cursor, 2); /* sizes of addresses, which say their size, and of segments */
    uint64_t header_length = sym_read_number(&cursor, header->offset_size);
    header->program = cursor;
    sym_skip(&header->program, header_length);
    if (header->program.failed || !read_counts(&cursor, header) ||
        cursor.left < header->program.left) /* the header would reach into the program */
        return SYM_MALFORMED;
    cursor.left -= header->program.left; /* what is left of the header */
    enum sym_status status = header->version >= 5 ? read_tables_5(&parser) : read_tables_2(&parser);
    free(parser.directories.items);
    return status;
}

const char *sym_lines_file(const struct sym_lines *lines, uint64_t file)
{
    if (file < lines->first_file || file - lines->first_file >= lines->file_count)
        return "";
    return lines->files[file - lines->first_file];
}
