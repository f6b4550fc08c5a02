/* fallback_read.c - the answer of a child process (fallback_write.c has the format) checked and
 * made into what the decoder would have made.
 *
 * The child may have been taken over by the file that it read, so every number is checked: counts
 * against the bytes that follow, numbers of entries and rows, addresses against the object's code,
 * parents before what was inlined into them, and how deeply entries are nested.  */
#include "libsymbolize/fallback.h"
#include "libsymbolize/symbolize_internal.h"

#include <stdlib.h>

enum {
    ENTRY_BYTES = 46, /* at least, */
    RANGE_BYTES = 20, /* exactly, */
    FILE_BYTES = 9,   /* at least, */
    ROW_BYTES = 20,   /* and exactly */
    SEQUENCE_BYTES = 24,

    DEPTH_MAX = 512, /* nesting of DIEs, as the other readers have it: bounds the frames of an
                      * address */
};

/* Offset of no DIE.  */
static const uint64_t NO_DIE = (UINT64_C(1) << SYM_KEY_BITS) - 1;

struct entry {
    struct sym_scope scope;
    uint32_t parent; /* another entry, or SYM_NO_VALUE */
    uint32_t depth;
    uint32_t number;   /* of its scope */
    uint32_t function; /* number of the scope that it is in at last */
    uint32_t pieces;
    uint64_t start;
};

struct stretch {
    uint32_t entry, function, order;
    uint64_t low, high;
};

struct parser {
    struct sym_dwarf *dwarf;
    const struct sym_unit *unit, *dies;
    struct sym_cursor cursor;
    struct sym_fallback_parts *out;
    struct entry *entries;
    size_t entry_count;
    struct stretch *stretches;
    size_t stretch_count;
};

static uint32_t read_u32(struct parser *parser)
{
    return (uint32_t)sym_read_number(&parser->cursor, 4);
}

static uint64_t read_u64(struct parser *parser)
{
    return sym_read_number(&parser->cursor, 8);
}

/* A count of things that take at least size bytes each.  */
static size_t read_count(struct parser *parser, size_t size)
{
    size_t count = read_u32(parser);

    if (count > parser->cursor.left / size)
        parser->cursor.failed = true;
    return parser->cursor.failed ? 0 : count;
}

/* Whether [low, high) is code of one section.  */
static bool is_code(const struct parser *parser, uint64_t low, uint64_t high)
{
    const struct sym_code *code = sym_object_code(parser->dwarf->object, low);

    return code && low < high && high <= code->limit;
}

/* ---- Functions ---- */

uint64_t sym_fallback_start(const struct sym_dwarf *dwarf, const struct sym_unit *dies)
{
    const struct sym_info *package = dwarf->package;

    if (!package || package->object != dies->info->object)
        return 0;
    return (uint64_t)(dies->info->sections[SYM_SECTION_INFO].data -
                      package->sections[SYM_SECTION_INFO].data);
}

/* The key of a DIE.  */
static uint64_t key_of(const struct parser *parser, uint64_t offset)
{
    const struct sym_info *info = parser->dies->info;
    uint64_t start = sym_fallback_start(parser->dwarf, parser->dies);
    bool is_known = offset >= start && offset - start < info->sections[SYM_SECTION_INFO].size;

    return info->key + (is_known ? offset - start : NO_DIE);
}

/* Where there is no name the decoder is asked for one.  */
static enum sym_status read_name(struct parser *parser, struct sym_scope *scope)
{
    struct sym_name like = { .start_line = read_u32(parser), .start_file = read_u32(parser) };

    like.die_key = scope->die_key;
    like.start_key = key_of(parser, read_u64(parser));
    const char *plain = sym_read_string(&parser->cursor);
    const char *linkage = sym_read_string(&parser->cursor);
    if (parser->cursor.failed)
        return SYM_MALFORMED;
    if (!plain[0] && !linkage[0])
        return SYM_OK;
    return sym_name_add(parser->dwarf, plain, linkage, &like, &scope->name);
}

static enum sym_status read_entry(struct parser *parser, size_t index)
{
    struct entry *entry = &parser->entries[index];
    struct sym_scope *scope = &entry->scope;

    entry->parent = read_u32(parser);
    entry->depth = read_u32(parser);
    scope->die_key = key_of(parser, read_u64(parser));
    scope->call_file = read_u32(parser);
    scope->call_line = read_u32(parser);
    scope->call_column = read_u32(parser);
    scope->parent = SYM_NO_VALUE;
    if (entry->depth > DEPTH_MAX ||
        (entry->parent != SYM_NO_VALUE &&
         (entry->parent >= index || entry->depth <= parser->entries[entry->parent].depth)))
        return SYM_MALFORMED;
    return read_name(parser, scope);
}

static enum sym_status read_stretch(struct parser *parser, size_t index)
{
    struct stretch *stretch = &parser->stretches[index];

    stretch->entry = read_u32(parser);
    stretch->low = read_u64(parser);
    stretch->high = read_u64(parser);
    stretch->order = (uint32_t)index;
    if (stretch->entry >= parser->entry_count || !is_code(parser, stretch->low, stretch->high))
        return SYM_MALFORMED;
    struct entry *entry = &parser->entries[stretch->entry];
    entry->start = stretch->low;
    entry->pieces++;
    return SYM_OK;
}

/* Functions come first among the scopes, then what was inlined, in order.  */
static void number_scopes(struct parser *parser)
{
    struct sym_scopes *scopes = &parser->out->scopes;
    uint32_t next = 0;

    for (size_t i = 0; i < parser->entry_count; i++)
        if (parser->entries[i].parent == SYM_NO_VALUE)
            parser->entries[i].number = parser->entries[i].function = next++;
    scopes->function_count = next;
    for (size_t i = 0; i < parser->entry_count; i++) {
        struct entry *entry = &parser->entries[i];
        if (entry->parent == SYM_NO_VALUE)
            continue;
        entry->number = next++;
        entry->function = parser->entries[entry->parent].function;
        entry->scope.parent = parser->entries[entry->parent].number;
    }
    scopes->count = next;
}

static void fill_detail(struct sym_scope_detail *detail, const struct entry *entry)
{
    *detail = (struct sym_scope_detail){ .start = entry->pieces == 1 ? entry->start : UINT64_MAX };
}

static enum sym_status fill_scopes(struct parser *parser)
{
    struct sym_scopes *scopes = &parser->out->scopes;
    size_t count = parser->entry_count + 1;

    scopes->items = base_calloc(count, sizeof *scopes->items);
    scopes->functions = base_calloc(count, sizeof *scopes->functions);
    if (parser->dwarf->details)
        scopes->details = base_calloc(count, sizeof *scopes->details);
    if (!scopes->items || !scopes->functions || (parser->dwarf->details && !scopes->details))
        return SYM_NO_MEMORY;
    scopes->capacity = scopes->function_capacity = count;
    scopes->detail_capacity = scopes->details ? count : 0;
    for (size_t i = 0; i < parser->entry_count; i++) {
        const struct entry *entry = &parser->entries[i];
        scopes->items[entry->number] = entry->scope;
        if (scopes->details)
            fill_detail(&scopes->details[entry->number], entry);
    }
    for (size_t i = 0; i < scopes->function_count; i++)
        scopes->functions[i] = (struct sym_function){ .around = SYM_NO_VALUE, .decoded = true };
    return SYM_OK;
}

static int compare_stretches(const void *a, const void *b)
{
    const struct stretch *left = a, *right = b;

    if (left->function != right->function)
        return left->function < right->function ? -1 : 1;
    return (left->order > right->order) - (left->order < right->order);
}

/* Ranges from *index on: those of what was inlined into function, or, with SYM_NO_VALUE, those of
 * all functions.  */
static enum sym_status lay_out(struct parser *parser, uint32_t function, size_t *index,
                               struct sym_segments *segments)
{
    struct sym_decoder *decoder = &parser->dwarf->decoder;
    enum sym_status status = SYM_OK;

    decoder->ranges.count = 0;
    for (; *index < parser->stretch_count && !status; (*index)++) {
        const struct stretch *stretch = &parser->stretches[*index];
        const struct entry *entry = &parser->entries[stretch->entry];
        if (stretch->function != function)
            break;
        status = sym_ranges_add(&decoder->ranges,
                                (struct sym_range){
                                    .low = stretch->low,
                                    .high = stretch->high,
                                    .rank = function == SYM_NO_VALUE ? 0 : entry->depth,
                                    .value = entry->number,
                                });
    }
    return status ? status : sym_segments_append(segments, &decoder->ranges, &decoder->sweep);
}

static enum sym_status lay_out_all(struct parser *parser)
{
    struct sym_scopes *scopes = &parser->out->scopes;
    enum sym_status status = SYM_OK;
    size_t index = 0;

    for (size_t i = 0; i < parser->stretch_count; i++) {
        const struct entry *entry = &parser->entries[parser->stretches[i].entry];
        parser->stretches[i].function = entry->parent == SYM_NO_VALUE ? SYM_NO_VALUE
                                                                      : entry->function;
    }
    if (parser->stretch_count)
        qsort(parser->stretches, parser->stretch_count, sizeof *parser->stretches,
              compare_stretches);
    for (uint32_t i = 0; i < scopes->function_count && !status; i++) {
        struct sym_function *function = &scopes->functions[i];
        function->first_segment = scopes->inlined.count;
        status = lay_out(parser, i, &index, &scopes->inlined);
        function->segment_count = (uint32_t)(scopes->inlined.count - function->first_segment);
    }
    return status ? status : lay_out(parser, SYM_NO_VALUE, &index, &scopes->segments);
}

static enum sym_status read_functions(struct parser *parser)
{
    enum sym_status status = SYM_OK;

    parser->entry_count = read_count(parser, ENTRY_BYTES);
    parser->stretch_count = read_count(parser, RANGE_BYTES);
    parser->entries = base_calloc(parser->entry_count + 1, sizeof *parser->entries);
    parser->stretches = base_calloc(parser->stretch_count + 1, sizeof *parser->stretches);
    if (!parser->entries || !parser->stretches)
        return SYM_NO_MEMORY;
    for (size_t i = 0; i < parser->entry_count && !status; i++)
        status = read_entry(parser, i);
    for (size_t i = 0; i < parser->stretch_count && !status; i++)
        status = read_stretch(parser, i);
    if (status || parser->cursor.failed)
        return status ? status : SYM_MALFORMED;
    number_scopes(parser);
    status = fill_scopes(parser);
    return status ? status : lay_out_all(parser);
}

/* ---- Lines ---- */

static const char *read_text(struct parser *parser)
{
    const char *text = sym_read_string(&parser->cursor);

    return sym_strings_intern(parser->dwarf->strings, text, strlen(text));
}

static enum sym_status make_tables(struct parser *parser, struct sym_lines *lines)
{
    lines->version = (uint16_t)read_u32(parser);
    lines->first_file = read_u32(parser);
    lines->directory_count = read_count(parser, 1);
    lines->file_count = read_count(parser, FILE_BYTES);
    lines->row_count = read_count(parser, ROW_BYTES);
    lines->sequence_count = read_count(parser, SEQUENCE_BYTES);
    if (parser->cursor.failed || lines->version < 2 || lines->first_file > 1)
        return SYM_MALFORMED;
    lines->has_files = true;
    lines->directory_capacity = lines->directory_count + 1;
    lines->file_capacity = lines->file_count + 1;
    lines->row_capacity = lines->row_count + 1;
    lines->sequence_capacity = lines->sequence_count + 1;
    lines->directories = base_calloc(lines->directory_capacity, sizeof(const char *));
    lines->files = base_calloc(lines->file_capacity, sizeof *lines->files);
    lines->rows = base_calloc(lines->row_capacity, sizeof *lines->rows);
    lines->sequences = base_calloc(lines->sequence_capacity, sizeof *lines->sequences);
    return lines->directories && lines->files && lines->rows && lines->sequences ? SYM_OK
                                                                                 : SYM_NO_MEMORY;
}

static enum sym_status read_files(struct parser *parser, struct sym_lines *lines)
{
    parser->out->comp_dir = read_text(parser);
    for (size_t i = 0; i < lines->directory_count && !parser->cursor.failed; i++) {
        lines->directories[i] = read_text(parser);
        if (!lines->directories[i])
            return SYM_NO_MEMORY;
    }
    for (size_t i = 0; i < lines->file_count && !parser->cursor.failed; i++) {
        lines->files[i].directory = read_u64(parser);
        lines->files[i].name = read_text(parser);
        if (!lines->files[i].name)
            return SYM_NO_MEMORY;
    }
    return parser->out->comp_dir ? SYM_OK : SYM_NO_MEMORY;
}

static void read_rows(struct parser *parser, struct sym_lines *lines)
{
    for (size_t i = 0; i < lines->row_count; i++) {
        struct sym_row *row = &lines->rows[i];
        row->vaddr = read_u64(parser);
        row->file = read_u32(parser);
        row->line = read_u32(parser);
        row->column = read_u32(parser);
    }
}

/* Whether the rows of a sequence are those of [low, high), in order.  */
static bool is_sound(const struct sym_lines *lines, const struct sym_sequence *sequence)
{
    const struct sym_row *rows = lines->rows + sequence->first;

    for (size_t i = 1; i < sequence->count; i++)
        if (rows[i].vaddr < rows[i - 1].vaddr)
            return false;
    return rows[0].vaddr == sequence->low;
}

/* Rows belong to one sequence at most, so that checking them takes a time that they bound.  */
static enum sym_status read_sequences(struct parser *parser, struct sym_lines *lines)
{
    size_t rows_left = lines->row_count;

    for (size_t i = 0; i < lines->sequence_count; i++) {
        struct sym_sequence *sequence = &lines->sequences[i];
        sequence->low = read_u64(parser);
        sequence->high = read_u64(parser);
        sequence->first = read_u32(parser);
        sequence->count = read_u32(parser);
        if (parser->cursor.failed || sequence->count == 0 || sequence->count > rows_left ||
            sequence->first > lines->row_count - sequence->count ||
            !is_code(parser, sequence->low, sequence->high) || !is_sound(lines, sequence))
            return SYM_MALFORMED;
        rows_left -= sequence->count;
    }
    return sym_lines_sort(&parser->dwarf->decoder, lines);
}

static enum sym_status read_lines(struct parser *parser)
{
    struct sym_lines *lines = &parser->out->lines;
    enum sym_status status = make_tables(parser, lines);

    if (!status)
        status = read_files(parser, lines);
    if (status)
        return status;
    read_rows(parser, lines);
    return read_sequences(parser, lines);
}

/* ---- All ---- */

static enum sym_status read_parts(struct parser *parser)
{
    struct sym_fallback_parts *out = parser->out;
    enum sym_status status = SYM_OK;

    if (read_u32(parser) != SYM_FALLBACK_MARK)
        return SYM_MALFORMED;
    out->parts = read_u32(parser);
    if (out->parts & ~(unsigned)(SYM_PART_FUNCTIONS | SYM_PART_LINES))
        return SYM_MALFORMED;
    if (out->parts & SYM_PART_FUNCTIONS)
        status = read_functions(parser);
    if (!status && (out->parts & SYM_PART_LINES))
        status = read_lines(parser);
    if (!status &&
        (read_u32(parser) != SYM_FALLBACK_MARK || parser->cursor.failed || parser->cursor.left))
        status = SYM_MALFORMED;
    return status;
}

enum sym_status sym_fallback_read(struct sym_dwarf *dwarf, struct sym_unit *unit,
                                  struct sym_bytes answer, struct sym_fallback_parts *out)
{
    struct parser parser = { .dwarf = dwarf,
                             .unit = unit,
                             .dies = sym_unit_dies(unit),
                             .cursor = sym_cursor_at(&answer, 0, false),
                             .out = out };

    *out = (struct sym_fallback_parts){ .comp_dir = "" };
    enum sym_status status = read_parts(&parser);
    base_free(parser.entries);
    base_free(parser.stretches);
    return status;
}

void sym_fallback_release(struct sym_fallback_parts *parts)
{
    sym_scopes_release(&parts->scopes);
    sym_lines_release(&parts->lines);
}
