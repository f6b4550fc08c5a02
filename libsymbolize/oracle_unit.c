/* oracle_unit.c - the functions and the lines of a unit, as libdwarf reads them.  */
#include "libsymbolize/oracle_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/grow.h"

enum {
    DEPTH_MAX = 512, /* nesting of DIEs, as the decoder has it */
    HOPS_MAX = 16,   /* references from a DIE to the one that holds its name */
};

/* Reading a unit.  */
struct reader {
    struct sym_oracle *oracle;
    struct sym_oracle_unit *unit;
    const struct sym_object *object; /* whose code counts */
    enum sym_status status;
};

/* ---- Ranges ---- */

static enum sym_status add_range(struct sym_oracle_ranges *ranges, uint64_t low, uint64_t high,
                                 size_t value)
{
    if (!base_make_room(&ranges->items, &ranges->capacity, ranges->count + 1,
                        sizeof *ranges->items))
        return SYM_NO_MEMORY;
    ranges->items[ranges->count] = (struct sym_oracle_range){
        .low = low, .high = high, .value = value, .order = ranges->count
    };
    ranges->count++;
    return SYM_OK;
}

static int compare_ranges(const void *a, const void *b)
{
    const struct sym_oracle_range *left = a, *right = b;

    if (left->low != right->low)
        return left->low < right->low ? -1 : 1;
    return (left->order > right->order) - (left->order < right->order);
}

static void sort_ranges(struct sym_oracle_ranges *ranges)
{
    uint64_t reach = 0;

    if (ranges->count)
        qsort(ranges->items, ranges->count, sizeof *ranges->items, compare_ranges);
    for (size_t i = 0; i < ranges->count; i++) {
        if (ranges->items[i].high > reach)
            reach = ranges->items[i].high;
        ranges->items[i].reach = reach;
    }
}

/* Of those around vaddr the one that begins last; NULL: none.  */
static const struct sym_oracle_range *find_range(const struct sym_oracle_ranges *ranges,
                                                 uint64_t vaddr)
{
    size_t low = 0, high = ranges->count;

    /* The first that begins after vaddr.  */
    BASE_BISECT(low, high, i, ranges->items[i].low <= vaddr);
    while (low > 0 && ranges->items[low - 1].reach > vaddr) {
        if (ranges->items[--low].high > vaddr)
            return &ranges->items[low];
    }
    return NULL;
}

/* ---- Attributes ---- */

static bool number_of(Dwarf_Die die, Dwarf_Half name, uint64_t *out)
{
    Dwarf_Attribute value;
    Dwarf_Unsigned number = 0;
    Dwarf_Signed signed_number = 0;
    bool found = false;

    if (dwarf_attr(die, name, &value, NULL) != DW_DLV_OK)
        return false;
    if (dwarf_formudata(value, &number, NULL) == DW_DLV_OK) {
        *out = number;
        found = true;
    } else if (dwarf_formsdata(value, &signed_number, NULL) == DW_DLV_OK) {
        *out = (uint64_t)signed_number;
        found = true;
    }
    dwarf_dealloc_attribute(value);
    return found;
}

/* The DIE that an attribute refers to, and the file that it is in.  */
static bool refers(struct sym_oracle *from, Dwarf_Die die, Dwarf_Half name, Dwarf_Off *offset,
                   struct sym_oracle **to)
{
    Dwarf_Attribute value;
    Dwarf_Half form = 0;

    if (dwarf_attr(die, name, &value, NULL) != DW_DLV_OK)
        return false;
    bool found = dwarf_whatform(value, &form, NULL) == DW_DLV_OK &&
                 dwarf_global_formref(value, offset, NULL) == DW_DLV_OK;
    dwarf_dealloc_attribute(value);
    *to = from;
    if (form == DW_FORM_GNU_ref_alt || form == DW_FORM_ref_sup4 || form == DW_FORM_ref_sup8)
        *to = from->alt;
    return found && *to;
}

/* ---- Names ---- */

static const char *text_of(struct sym_oracle *oracle, Dwarf_Die die, Dwarf_Half name)
{
    char *text = NULL;

    return sym_oracle_works(oracle, dwarf_die_text(die, name, &text, &oracle->last)) && text ? text
                                                                                             : "";
}

/* Where the function is declared, by the first DIE that has a part of it; offset is that of the
 * DIE, UINT64_MAX in another file.  */
static void read_start(Dwarf_Die die, uint64_t offset, struct sym_oracle_entry *entry)
{
    if (!entry->start_line)
        (void)number_of(die, DW_AT_decl_line, &entry->start_line);
    if (entry->start_file == UINT32_MAX && offset != UINT64_MAX &&
        number_of(die, DW_AT_decl_file, &entry->start_file))
        entry->start_die = offset;
}

static void read_names(struct sym_oracle *oracle, uint64_t offset, struct sym_oracle_entry *entry)
{
    const struct sym_oracle *home = oracle;

    for (int hops = 0; hops < HOPS_MAX; hops++) {
        struct sym_oracle *next = NULL;
        Dwarf_Off to = 0;
        Dwarf_Die die;

        if (dwarf_offdie_b(oracle->dbg, offset, true, &die, NULL) != DW_DLV_OK)
            return;
        if (!entry->linkage[0])
            entry->linkage = text_of(oracle, die, DW_AT_linkage_name);
        if (!entry->linkage[0])
            entry->linkage = text_of(oracle, die, DW_AT_MIPS_linkage_name);
        if (!entry->name[0])
            entry->name = text_of(oracle, die, DW_AT_name);
        read_start(die, oracle == home ? offset : UINT64_MAX, entry);
        bool more = refers(oracle, die, DW_AT_abstract_origin, &to, &next) ||
                    refers(oracle, die, DW_AT_specification, &to, &next);
        dwarf_dealloc_die(die);
        if (!more)
            return;
        oracle = next;
        offset = to;
    }
}

void sym_oracle_name(struct sym_oracle_unit *unit, struct sym_oracle_entry *entry)
{
    if (!entry->is_named)
        read_names(unit->oracle, entry->die, entry);
    entry->is_named = true;
}

/* ---- Extents ---- */

/* Where a DIE's stretches of code go: value is its entry's number.  */
struct extent {
    struct reader *reader;
    struct sym_oracle_ranges *ranges;
    size_t value;
};

static void add_stretch(struct extent *extent, uint64_t low, uint64_t high)
{
    const struct sym_code *code = sym_object_code(extent->reader->object, low);

    if (code && low < high && !extent->reader->status)
        extent->reader->status = add_range(extent->ranges, low,
                                           high < code->limit ? high : code->limit, extent->value);
}

static void add_rnglist(struct extent *extent, Dwarf_Attribute attribute, Dwarf_Half form,
                        uint64_t value)
{
    Dwarf_Rnglists_Head head;
    Dwarf_Unsigned count = 0, raw[2], cooked[2];
    unsigned length, code;
    Dwarf_Bool missing;

    if (!sym_oracle_works(extent->reader->oracle,
                          dwarf_rnglists_get_rle_head(attribute, form, value, &head, &count, NULL,
                                                      &extent->reader->oracle->last)))
        return;
    for (Dwarf_Unsigned i = 0; i < count; i++) {
        if (!sym_oracle_works(extent->reader->oracle,
                              dwarf_get_rnglists_entry_fields_a(
                                  head, i, &length, &code, &raw[0], &raw[1], &missing, &cooked[0],
                                  &cooked[1], &extent->reader->oracle->last)))
            break;
        if (code != DW_RLE_end_of_list && code != DW_RLE_base_address &&
            code != DW_RLE_base_addressx)
            add_stretch(extent, cooked[0], cooked[1]);
    }
    dwarf_dealloc_rnglists_head(head);
}

static void add_ranges(struct extent *extent, Dwarf_Die die, uint64_t offset)
{
    struct sym_oracle *oracle = extent->reader->oracle;
    Dwarf_Ranges *ranges;
    Dwarf_Signed count;
    uint64_t base = extent->reader->unit->base;

    if (!sym_oracle_works(oracle, dwarf_get_ranges_b(oracle->dbg, offset, die, NULL, &ranges,
                                                     &count, NULL, &oracle->last)))
        return;
    for (Dwarf_Signed i = 0; i < count; i++) {
        if (ranges[i].dwr_type == DW_RANGES_ADDRESS_SELECTION)
            base = ranges[i].dwr_addr2;
        else if (ranges[i].dwr_type == DW_RANGES_ENTRY)
            add_stretch(extent, base + ranges[i].dwr_addr1, base + ranges[i].dwr_addr2);
    }
    dwarf_ranges_dealloc(oracle->dbg, ranges, count);
}

static void add_listed(struct extent *extent, Dwarf_Die die, Dwarf_Attribute attribute)
{
    Dwarf_Half form = 0, version = 0, offset_size = 0;
    Dwarf_Unsigned number = 0;
    Dwarf_Off offset = 0;

    if (dwarf_whatform(attribute, &form, NULL) != DW_DLV_OK ||
        dwarf_get_version_of_die(die, &version, &offset_size) != DW_DLV_OK)
        return;
    if (form == DW_FORM_sec_offset ? dwarf_global_formref(attribute, &offset, NULL) != DW_DLV_OK
                                   : dwarf_formudata(attribute, &number, NULL) != DW_DLV_OK)
        return;
    uint64_t value = form == DW_FORM_sec_offset ? offset : number;
    if (version >= 5)
        add_rnglist(extent, attribute, form, value);
    else
        add_ranges(extent, die, value);
}

static void add_extent(struct extent *extent, Dwarf_Die die)
{
    struct sym_oracle *oracle = extent->reader->oracle;
    Dwarf_Attribute attribute;
    Dwarf_Addr low = 0, high = 0;
    Dwarf_Half form = 0;
    enum Dwarf_Form_Class form_class = DW_FORM_CLASS_UNKNOWN;

    if (dwarf_attr(die, DW_AT_ranges, &attribute, NULL) == DW_DLV_OK) {
        add_listed(extent, die, attribute);
        dwarf_dealloc_attribute(attribute);
    } else if (sym_oracle_works(oracle, dwarf_lowpc(die, &low, &oracle->last)) &&
               sym_oracle_works(oracle,
                                dwarf_highpc_b(die, &high, &form, &form_class, &oracle->last))) {
        add_stretch(extent, low, form_class == DW_FORM_CLASS_CONSTANT ? low + high : high);
    }
}

/* ---- Functions ---- */

static size_t function_of(const struct sym_oracle_unit *unit, size_t entry)
{
    while (unit->entries[entry].parent != SIZE_MAX)
        entry = unit->entries[entry].parent;
    return entry;
}

/* Adds the entry of a DIE if it covers code.  Its number; around otherwise.  */
static size_t add_entry(struct reader *reader, Dwarf_Die die, bool inlined, size_t around,
                        unsigned depth)
{
    struct sym_oracle_unit *unit = reader->unit;
    struct sym_oracle_ranges *ranges = inlined ? &unit->inlined : &unit->functions;
    struct sym_oracle_entry entry = { .parent = around,
                                      .depth = depth,
                                      .inlined = inlined,
                                      .name = "",
                                      .linkage = "",
                                      .call_file = UINT32_MAX,
                                      .start_file = UINT32_MAX };
    size_t before = ranges->count;
    Dwarf_Off offset = 0;

    if (inlined && around == SIZE_MAX) /* in no function that covers code */
        return around;
    add_extent(&(struct extent){ reader, ranges, unit->entry_count }, die);
    if (reader->status || ranges->count == before)
        return around;
    if (inlined) {
        (void)number_of(die, DW_AT_call_file, &entry.call_file);
        (void)number_of(die, DW_AT_call_line, &entry.call_line);
        (void)number_of(die, DW_AT_call_column, &entry.call_column);
    }
    if (dwarf_dieoffset(die, &offset, NULL) == DW_DLV_OK)
        entry.die = offset;
    if (!base_make_room(&unit->entries, &unit->entry_capacity, unit->entry_count + 1,
                        sizeof *unit->entries)) {
        reader->status = SYM_NO_MEMORY;
        return around;
    }
    unit->entries[unit->entry_count] = entry;
    return unit->entry_count++;
}

static void walk_children(struct reader *reader, Dwarf_Die die, size_t around, unsigned depth);

// NOLINTNEXTLINE(misc-no-recursion): DEPTH_MAX bounds it
static void walk_die(struct reader *reader, Dwarf_Die die, size_t around, unsigned depth)
{
    Dwarf_Half tag = 0;

    if (!sym_oracle_works(reader->oracle, dwarf_tag(die, &tag, &reader->oracle->last)))
        return;
    bool inlined = tag == DW_TAG_inlined_subroutine;
    if (inlined || tag == DW_TAG_subprogram || tag == DW_TAG_entry_point)
        around = add_entry(reader, die, inlined, inlined ? around : SIZE_MAX, depth);
    walk_children(reader, die, around, depth + 1);
}

// NOLINTNEXTLINE(misc-no-recursion): DEPTH_MAX bounds it
static void walk_children(struct reader *reader, Dwarf_Die die, size_t around, unsigned depth)
{
    Dwarf_Die child, next;

    if (!sym_oracle_works(reader->oracle, dwarf_child(die, &child, &reader->oracle->last)))
        return;
    reader->unit->too_deep |= depth > DEPTH_MAX;
    while (!reader->unit->too_deep && !reader->status) {
        walk_die(reader, child, around, depth);
        int result = dwarf_siblingof_b(reader->oracle->dbg, child, true, &next,
                                       &reader->oracle->last);
        if (!sym_oracle_works(reader->oracle, result))
            break;
        dwarf_dealloc_die(child);
        child = next;
    }
    dwarf_dealloc_die(child);
}

/* Inlined copies by the function that they are in.  */
static int compare_inlined(const void *a, const void *b)
{
    const struct sym_oracle_range *left = a, *right = b;

    if (left->function != right->function)
        return left->function < right->function ? -1 : 1;
    return (left->order > right->order) - (left->order < right->order);
}

enum sym_status sym_oracle_functions(struct sym_oracle *oracle, const struct sym_object *object,
                                     uint64_t die, uint64_t base, struct sym_oracle_unit *unit)
{
    struct reader reader = { .oracle = oracle, .unit = unit, .object = object };
    Dwarf_Addr low;
    Dwarf_Die first;

    unit->oracle = oracle;
    if (!sym_oracle_works(oracle, dwarf_offdie_b(oracle->dbg, die, true, &first, &oracle->last)))
        return SYM_MALFORMED;
    unit->base = dwarf_lowpc(first, &low, NULL) == DW_DLV_OK ? low : base;
    walk_children(&reader, first, SIZE_MAX, 1);
    dwarf_dealloc_die(first);
    sort_ranges(&unit->functions);
    for (size_t i = 0; i < unit->inlined.count; i++)
        unit->inlined.items[i].function = function_of(unit, unit->inlined.items[i].value);
    if (unit->inlined.count)
        qsort(unit->inlined.items, unit->inlined.count, sizeof *unit->inlined.items,
              compare_inlined);
    if (!reader.status && (oracle->problem[0] || unit->too_deep))
        return SYM_MALFORMED;
    return reader.status;
}

/* The first range of what was inlined into a function.  */
static size_t first_inlined(const struct sym_oracle_unit *unit, size_t function)
{
    size_t low = 0, high = unit->inlined.count;

    BASE_BISECT(low, high, i, unit->inlined.items[i].function < function);
    return low;
}

size_t sym_oracle_innermost(struct sym_oracle_unit *unit, uint64_t vaddr)
{
    const struct sym_oracle_range *function = find_range(&unit->functions, vaddr), *best;

    if (!function)
        return SIZE_MAX;
    best = function;
    for (size_t i = first_inlined(unit, function->value); i < unit->inlined.count; i++) {
        const struct sym_oracle_range *range = &unit->inlined.items[i];
        unsigned depth = unit->entries[range->value].depth;
        unsigned deepest = unit->entries[best->value].depth;

        if (range->function != function->value)
            break;
        if (vaddr >= range->low && vaddr < range->high &&
            (depth > deepest || (depth == deepest && range->low >= best->low)))
            best = range;
    }
    return best->value;
}

/* ---- Lines ---- */

struct line {
    Dwarf_Addr vaddr;
    Dwarf_Unsigned number, file, column;
    Dwarf_Bool ends;
};

static bool read_line(Dwarf_Line source, struct line *line)
{
    *line = (struct line){ .vaddr = 0 };
    return dwarf_lineaddr(source, &line->vaddr, NULL) == DW_DLV_OK &&
           dwarf_lineno(source, &line->number, NULL) == DW_DLV_OK &&
           dwarf_line_srcfileno(source, &line->file, NULL) == DW_DLV_OK &&
           dwarf_lineoff_b(source, &line->column, NULL) == DW_DLV_OK &&
           dwarf_lineendsequence(source, &line->ends, NULL) == DW_DLV_OK;
}

/* Code of no line shows the last one that was named in its sequence, and of several rows at one
 * address the last counts.  */
static enum sym_status add_row(struct sym_oracle_unit *unit, size_t first, const struct line *line,
                               Dwarf_Line source)
{
    struct sym_oracle_row row = { .vaddr = line->vaddr,
                                  .line = line->number,
                                  .column = line->column,
                                  .file = line->file,
                                  .is_named = line->number != 0,
                                  .source = source };
    struct sym_oracle_row *last = unit->row_count > first ? &unit->rows[unit->row_count - 1] : NULL;

    if (last && last->is_named && !row.is_named) {
        row = *last;
        row.vaddr = line->vaddr;
    }
    if (last && last->vaddr == row.vaddr) {
        *last = row;
        return SYM_OK;
    }
    if (!base_make_room(&unit->rows, &unit->row_capacity, unit->row_count + 1,
                        sizeof *unit->rows) ||
        !unit->rows)
        return SYM_NO_MEMORY;
    unit->rows[unit->row_count++] = row;
    return SYM_OK;
}

/* Rows [first, row_count) up to end are a sequence, unless they are of a dropped function.  */
static enum sym_status end_sequence(struct reader *reader, size_t first, uint64_t end)
{
    struct sym_oracle_unit *unit = reader->unit;
    bool is_empty = !unit->rows || unit->row_count == first;
    uint64_t low = is_empty ? 0 : unit->rows[first].vaddr;
    const struct sym_code *code = is_empty ? NULL : sym_object_code(reader->object, low);

    if (!code || end <= low) {
        unit->row_count = first;
        return SYM_OK;
    }
    enum sym_status status = add_range(&unit->sequences, low, end < code->limit ? end : code->limit,
                                       first);
    if (!status)
        unit->sequences.items[unit->sequences.count - 1].limit = unit->row_count;
    return status;
}

static enum sym_status add_lines(struct reader *reader, Dwarf_Line *sources, Dwarf_Signed count)
{
    struct sym_oracle_unit *unit = reader->unit;
    enum sym_status status = SYM_OK;
    uint64_t highest = 0;
    size_t first = 0;
    struct line line;

    for (Dwarf_Signed i = 0; i < count && !status; i++) {
        if (!read_line(sources[i], &line))
            return SYM_MALFORMED;
        if (unit->row_count > first && line.vaddr < highest) {
            if (!line.ends)
                return SYM_MALFORMED; /* it goes back: what is meant is anybody's guess */
            line.vaddr = highest;
        }
        highest = line.vaddr;
        if (line.ends) {
            status = end_sequence(reader, first, highest);
            first = unit->row_count;
            highest = 0;
        } else {
            status = add_row(unit, first, &line, sources[i]);
        }
    }
    unit->row_count = first; /* a sequence without an end says nothing about its last row */
    return status;
}

enum sym_status sym_oracle_lines(struct sym_oracle *oracle, const struct sym_object *object,
                                 uint64_t die, struct sym_oracle_unit *unit)
{
    struct reader reader = { .oracle = oracle, .unit = unit, .object = object };
    Dwarf_Unsigned version = 0;
    Dwarf_Small tables;
    Dwarf_Line_Context context;
    Dwarf_Line *sources;
    Dwarf_Signed count = 0;
    enum sym_status status = SYM_OK;
    Dwarf_Die first;

    if (!sym_oracle_works(oracle, dwarf_offdie_b(oracle->dbg, die, true, &first, &oracle->last)))
        return SYM_MALFORMED;
    if (sym_oracle_works(oracle,
                         dwarf_srclines_b(first, &version, &tables, &context, &oracle->last))) {
        unit->context = context;
        unit->version = (uint16_t)version;
        if (sym_oracle_works(
                oracle, dwarf_srclines_from_linecontext(context, &sources, &count, &oracle->last)))
            status = add_lines(&reader, sources, count);
    }
    dwarf_dealloc_die(first);
    sort_ranges(&unit->sequences);
    return !status && oracle->problem[0] ? SYM_MALFORMED : status;
}

const struct sym_oracle_row *sym_oracle_row(const struct sym_oracle_unit *unit, uint64_t vaddr)
{
    const struct sym_oracle_range *sequence = find_range(&unit->sequences, vaddr);

    if (!sequence)
        return NULL;
    size_t low = sequence->value, high = unit->row_count;
    /* The first row after vaddr, or of another sequence.  */
    BASE_BISECT(low, high, i, i < sequence->limit && unit->rows[i].vaddr <= vaddr);
    const struct sym_oracle_row *row = &unit->rows[low - 1];
    return row->is_named ? row : NULL;
}

char *sym_oracle_path(struct sym_oracle *oracle, const struct sym_oracle_row *row)
{
    char *path = NULL, *copy;

    if (dwarf_linesrc(row->source, &path, NULL) != DW_DLV_OK || !path)
        return NULL;
    copy = strdup(path);
    dwarf_dealloc(oracle->dbg, path, DW_DLA_STRING);
    return copy;
}

void sym_oracle_release(struct sym_oracle_unit *unit)
{
    free(unit->entries);
    free(unit->functions.items);
    free(unit->inlined.items);
    free(unit->rows);
    free(unit->sequences.items);
    if (unit->context)
        dwarf_srclines_dealloc_b(unit->context);
    *unit = (struct sym_oracle_unit){ .oracle = NULL };
}
