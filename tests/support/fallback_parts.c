#include "tests/support/fallback_parts.h"

#include <string.h>

enum { NESTING_MAX = 512 };

/* ---- Ranges ---- */

/* Whether segments begin in ascending order, end with one of no value, and have values below
 * limit.  */
static bool are_ordered(const struct sym_segment *items, size_t count, size_t limit)
{
    for (size_t i = 0; i < count; i++)
        if ((i > 0 && items[i].start <= items[i - 1].start) ||
            (items[i].value != SYM_NO_VALUE && items[i].value >= limit))
            return false;
    return count == 0 || items[count - 1].value == SYM_NO_VALUE;
}

static bool is_code(const struct sym_dwarf *dwarf, uint64_t low, uint64_t high)
{
    const struct sym_code *code = sym_object_code(dwarf->object, low);

    return code && low < high && high <= code->limit;
}

/* Whether segments with a value are code.  */
static bool are_code(const struct sym_dwarf *dwarf, const struct sym_segment *items, size_t count)
{
    for (size_t i = 0; i + 1 < count; i++)
        if (items[i].value != SYM_NO_VALUE && !is_code(dwarf, items[i].start, items[i + 1].start))
            return false;
    return true;
}

/* ---- Functions ---- */

/* The function that a scope is in at last; SYM_NO_VALUE: too far.  */
static uint32_t function_of(const struct sym_scopes *scopes, uint32_t scope)
{
    for (int nesting = 0; nesting <= NESTING_MAX; nesting++) {
        if (scopes->items[scope].parent == SYM_NO_VALUE)
            return scope;
        scope = scopes->items[scope].parent;
    }
    return SYM_NO_VALUE;
}

static bool are_terminated(const struct sym_name *name)
{
    return !name || (name->function && name->linkage_name &&
                     strlen(name->function) + strlen(name->linkage_name) < SIZE_MAX);
}

static const char *scopes_fault(const struct sym_scopes *scopes)
{
    if (scopes->function_count > scopes->count)
        return "more functions than scopes";
    for (uint32_t i = 0; i < scopes->count; i++) {
        uint32_t parent = scopes->items[i].parent;

        if (i < scopes->function_count ? parent != SYM_NO_VALUE : parent >= i)
            return "a scope's parent is not an earlier scope";
        if (function_of(scopes, i) >= scopes->function_count)
            return "scopes are nested too deeply";
        if (!are_terminated(scopes->items[i].name))
            return "a name is not there";
    }
    return NULL;
}

static const char *function_fault(const struct sym_dwarf *dwarf, const struct sym_scopes *scopes,
                                  uint32_t index)
{
    const struct sym_function *function = &scopes->functions[index];

    if (!function->decoded || function->first_segment > scopes->inlined.count ||
        function->segment_count > scopes->inlined.count - function->first_segment)
        return "a function's segments are not there";
    const struct sym_segment *items = scopes->inlined.items + function->first_segment;
    if (!are_ordered(items, function->segment_count, scopes->count) ||
        !are_code(dwarf, items, function->segment_count))
        return "segments of inlined copies";
    for (size_t i = 0; i < function->segment_count; i++)
        if (items[i].value != SYM_NO_VALUE && function_of(scopes, items[i].value) != index)
            return "an inlined copy of another function";
    return NULL;
}

static const char *functions_fault(const struct sym_dwarf *dwarf, const struct sym_scopes *scopes)
{
    const char *fault = scopes_fault(scopes);

    if (!fault &&
        (!are_ordered(scopes->segments.items, scopes->segments.count, scopes->function_count) ||
         !are_code(dwarf, scopes->segments.items, scopes->segments.count)))
        fault = "segments of functions";
    for (uint32_t i = 0; i < scopes->function_count && !fault; i++)
        fault = function_fault(dwarf, scopes, i);
    if (!fault && scopes->count && dwarf->details != (scopes->details != NULL))
        fault = "details are not as asked for";
    return fault;
}

/* ---- Lines ---- */

static bool is_sound(const struct sym_dwarf *dwarf, const struct sym_lines *lines,
                     const struct sym_sequence *sequence)
{
    if (sequence->count == 0 || sequence->first > lines->row_count ||
        sequence->count > lines->row_count - sequence->first ||
        !is_code(dwarf, sequence->low, sequence->high))
        return false;
    const struct sym_row *rows = lines->rows + sequence->first;
    for (size_t i = 1; i < sequence->count; i++)
        if (rows[i].vaddr < rows[i - 1].vaddr)
            return false;
    return rows[0].vaddr == sequence->low;
}

static const char *lines_fault(const struct sym_dwarf *dwarf, const struct sym_lines *lines)
{
    if (!lines->has_files || lines->version < 2 || lines->first_file > 1)
        return "header of a line table";
    for (size_t i = 0; i < lines->directory_count; i++)
        if (!lines->directories[i])
            return "a directory has no name";
    for (size_t i = 0; i < lines->file_count; i++)
        if (!lines->files[i].name)
            return "a file has no name";
    for (size_t i = 0; i < lines->sequence_count; i++)
        if (!is_sound(dwarf, lines, &lines->sequences[i]))
            return "a sequence";
    if (!are_ordered(lines->segments.items, lines->segments.count, lines->sequence_count) ||
        !are_code(dwarf, lines->segments.items, lines->segments.count))
        return "segments of sequences";
    return NULL;
}

const char *fallback_parts_fault(const struct sym_dwarf *dwarf,
                                 const struct sym_fallback_parts *parts)
{
    const char *fault = NULL;

    if (!parts->comp_dir)
        return "no compilation directory";
    if (parts->parts & SYM_PART_FUNCTIONS)
        fault = functions_fault(dwarf, &parts->scopes);
    if (!fault && (parts->parts & SYM_PART_LINES))
        fault = lines_fault(dwarf, &parts->lines);
    return fault;
}
