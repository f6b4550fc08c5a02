/* dwarf_files.c - the header of a line table: how its program counts, and paths of its files.
 *
 * DWARF 2 to 4 and DWARF 5 write and number directories and files differently (section 6). */
#include "libsymbolize/symbolize_internal.h"
#include <stdlib.h>

#include "base/grow.h"

struct parser {
    struct sym_dwarf *dwarf;
    const struct sym_unit *unit;
    const struct sym_line_header *header;
    struct sym_cursor *cursor;
    struct sym_lines *lines;
};

static enum sym_status add_directory(struct parser *parser, const char *name)
{
    struct sym_lines *lines = parser->lines;

    if (!base_make_room(&lines->directories, &lines->directory_capacity, lines->directory_count + 1,
                        sizeof(const char *)))
        return SYM_NO_MEMORY;
    lines->directories[lines->directory_count++] = name;
    return SYM_OK;
}

static enum sym_status add_file(struct parser *parser, const char *name, uint64_t directory)
{
    struct sym_lines *lines = parser->lines;

    if (!base_make_room(&lines->files, &lines->file_capacity, lines->file_count + 1,
                        sizeof *lines->files))
        return SYM_NO_MEMORY;
    lines->files[lines->file_count++] = (struct sym_file){ .name = name, .directory = directory };
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

/* What an entry consists of.  */
struct formats {
    size_t count;
    uint64_t types[FORMATS_MAX];
    struct sym_attribute forms[FORMATS_MAX];
};

static void read_formats(struct sym_cursor *cursor, struct formats *formats)
{
    formats->count = (size_t)sym_read_number(cursor, 1);
    for (size_t i = 0; i < formats->count; i++) {
        formats->types[i] = sym_read_uleb(cursor);
        uint64_t form = sym_read_uleb(cursor);
        formats->forms[i] = (struct sym_attribute){ .form = (uint16_t)form };
        if (form > UINT16_MAX || form == DW_FORM_implicit_const)
            cursor->failed = true;
    }
}

static enum sym_status read_entry_5(struct parser *parser, const struct formats *formats,
                                    bool is_file)
{
    const char *name = "";
    uint64_t directory = 0;
    struct sym_value value;

    for (size_t i = 0; i < formats->count; i++) {
        sym_value_read(parser->unit, &formats->forms[i], parser->cursor, &value);
        if (formats->types[i] == DW_LNCT_path)
            name = sym_value_text(&parser->dwarf->decoder, parser->unit, &value);
        else if (formats->types[i] == DW_LNCT_directory_index)
            directory = value.number;
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

enum sym_status sym_line_header_read(const struct sym_unit *unit, struct sym_line_header *header)
{
    struct sym_cursor cursor = sym_cursor_at(&unit->info->sections[SYM_SECTION_LINE],
                                             unit->line_offset, unit->info->big_endian);

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
    header->tables = cursor;
    return SYM_OK;
}

static enum sym_status read_tables(struct sym_dwarf *dwarf, struct sym_unit *unit)
{
    struct sym_line_header header;
    struct sym_unit table = *unit; /* what forms in the table depend on */
    struct parser parser = { .dwarf = dwarf,
                             .unit = &table,
                             .header = &header,
                             .cursor = &header.tables,
                             .lines = &unit->lines };
    enum sym_status status = sym_line_header_read(unit, &header);

    if (status)
        return status;
    table.sizes.offset_size = (uint8_t)header.offset_size;
    unit->lines.version = (uint16_t)header.version;
    return header.version >= 5 ? read_tables_5(&parser) : read_tables_2(&parser);
}

/* ---- Paths ---- */

/* Interned path of a directory; NULL: no memory.  DWARF 5 repeats the compilation directory as its
 * entry 0, to which the others are relative (6.2.4): where it is relative itself
 * (-ffile-prefix-map) it must not be put before itself.  */
static const char *directory_path(const struct sym_dwarf *dwarf, const struct sym_unit *unit,
                                  uint64_t index)
{
    const struct sym_lines *lines = &unit->lines;
    struct sym_strings *strings = dwarf->strings;
    const char *base = dwarf->relative ? "" : unit->comp_dir;
    size_t count = lines->directory_count;

    if (lines->version < 5)
        return sym_strings_join(strings, base,
                                index == 0 || index > count ? "" : lines->directories[index - 1]);
    if (count && !dwarf->relative && strcmp(lines->directories[0], base) != 0)
        base = sym_strings_join(strings, base, lines->directories[0]);
    if (!base)
        return NULL;
    return sym_strings_join(strings, base,
                            index == 0 || index >= count ? "" : lines->directories[index]);
}

enum sym_status sym_unit_file(struct sym_dwarf *dwarf, struct sym_unit *unit, uint32_t file,
                              const char **path)
{
    struct sym_lines *lines = &unit->lines;

    *path = "";
    if (!lines->has_files && unit->line_offset != UINT64_MAX) {
        lines->has_files = true;
        if (read_tables(dwarf, unit) == SYM_NO_MEMORY) {
            lines->has_files = false;
            lines->file_count = lines->directory_count = 0;
            return SYM_NO_MEMORY;
        }
    }
    if (file < lines->first_file || file - lines->first_file >= lines->file_count)
        return SYM_OK;
    struct sym_file *entry = &lines->files[file - lines->first_file];
    if (!entry->path) {
        const char *directory = entry->name[0] == '/'
                                    ? ""
                                    : directory_path(dwarf, unit, entry->directory);
        entry->path = directory ? sym_strings_join(dwarf->strings, directory, entry->name) : NULL;
    }
    *path = entry->path;
    return *path ? SYM_OK : SYM_NO_MEMORY;
}

enum sym_status sym_unit_call_file(struct sym_dwarf *dwarf, struct sym_unit *unit, uint32_t file,
                                   const char **path)
{
    struct sym_unit *split = unit->split;

    return sym_unit_file(dwarf, split && split->line_offset != UINT64_MAX ? split : unit, file,
                         path);
}
