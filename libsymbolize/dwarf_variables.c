/* dwarf_variables.c - where static variables are declared: an index of those of all units, made
 * when the first one is asked for. */
#include "libsymbolize/symbolize_internal.h"
#include <stdlib.h>

#include "base/bisect.h"
#include "base/grow.h"

/* A variable at [start, limit), described by the DIE of that key.  */
struct sym_variable {
    uint64_t start, limit, key;
    uint32_t unit;  /* index of the unit that it is in */
    uint32_t order; /* in which they were found */
};

struct sym_variables {
    struct sym_variable *items; /* by start */
    size_t count, capacity;
};

static enum sym_status add_variable(struct sym_variables *variables, struct sym_variable variable)
{
    if (variables->count == UINT32_MAX)
        return SYM_OK;
    if (!base_make_room(&variables->items, &variables->capacity, variables->count + 1,
                        sizeof *variables->items))
        return SYM_NO_MEMORY;
    variable.order = (uint32_t)variables->count;
    variables->items[variables->count++] = variable;
    return SYM_OK;
}

/* Whether a variable's DIE says that it has an address of its own.  */
static bool read_address(struct sym_die die, uint64_t *vaddr)
{
    const struct sym_attribute *attribute = &die.abbrevs->attributes[die.abbrev->first_attribute];
    const struct sym_attribute *end = attribute + die.abbrev->attribute_count;

    for (; attribute < end && !die.cursor.failed; attribute++) {
        if (attribute->name == DW_AT_location)
            return sym_expression_address(
                die.unit, sym_block_read(die.unit, attribute->form, &die.cursor), vaddr);
        sym_form_skip(&die.unit->sizes, attribute->form, &die.cursor);
    }
    return false;
}

/* One without a known size is one byte long: it is found by its very address.  */
static enum sym_status index_variable(struct sym_decoder *decoder, struct sym_variables *variables,
                                      const struct sym_die *die, uint32_t unit)
{
    struct sym_variable variable = { .key = die->key, .unit = unit };
    struct sym_texts texts;
    uint64_t size = 1;

    if (!read_address(*die, &variable.start))
        return SYM_OK;
    enum sym_status status = sym_die_texts(decoder, die->key, &texts);
    if (status)
        return status;
    if (texts.has_type && sym_type_size(decoder, texts.type, &size) == SYM_NO_MEMORY)
        return SYM_NO_MEMORY;
    if (__builtin_add_overflow(variable.start, size ? size : 1, &variable.limit))
        return SYM_OK;
    return add_variable(variables, variable);
}

static enum sym_status index_unit(struct sym_dwarf *dwarf, struct sym_variables *variables,
                                  uint32_t number)
{
    struct sym_unit *unit = &dwarf->units[number];
    struct sym_die die = { .abbrev = NULL };
    uint32_t depth = 0;
    enum sym_status status = sym_unit_open_split(dwarf, unit);
    const struct sym_unit *dies = sym_unit_dies(unit);

    if (!status)
        status = sym_die_open(&dwarf->decoder, dies->info->key + dies->die_offset, &die);
    if (status || !die.abbrev)
        return status;
    while (!status && sym_die_next(&die, &depth))
        if (die.abbrev->tag == DW_TAG_variable)
            status = index_variable(&dwarf->decoder, variables, &die, number);
    return status;
}

static int compare_variables(const void *a, const void *b)
{
    const struct sym_variable *left = a, *right = b;

    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    return (left->order > right->order) - (left->order < right->order);
}

static enum sym_status make_index(struct sym_dwarf *dwarf)
{
    struct sym_variables *variables = base_calloc(1, sizeof *variables);
    enum sym_status status = variables ? SYM_OK : SYM_NO_MEMORY;

    for (size_t i = 0; i < dwarf->unit_count && !status; i++)
        status = index_unit(dwarf, variables, (uint32_t)i);
    if (!status && variables->count)
        qsort(variables->items, variables->count, sizeof *variables->items, compare_variables);
    dwarf->variables = variables;
    if (status)
        sym_variables_release(dwarf);
    return status;
}

void sym_variables_release(struct sym_dwarf *dwarf)
{
    if (dwarf->variables)
        base_free(dwarf->variables->items);
    base_free(dwarf->variables);
    dwarf->variables = NULL;
}

/* The first of the last ones that begin at or before vaddr, if it holds vaddr.  */
static const struct sym_variable *find_variable(const struct sym_variables *variables,
                                                uint64_t vaddr)
{
    size_t low = 0, high = variables->count;

    /* The first after vaddr.  */
    BASE_BISECT(low, high, i, variables->items[i].start <= vaddr);
    while (low > 1 && variables->items[low - 2].start == variables->items[low - 1].start)
        low--;
    return low && vaddr < variables->items[low - 1].limit ? &variables->items[low - 1] : NULL;
}

enum sym_status sym_module_declaration(struct sym_module *module, uint64_t vaddr, const char **file,
                                       uint32_t *line, struct sym_error *error)
{
    struct sym_dwarf *dwarf = &module->loaded.dwarf;
    const struct sym_variable *variable = NULL;
    struct sym_texts texts = { .start_line = 0 };
    const char *path = "";
    struct base_account *before = base_account_enter(&module->account);
    enum sym_status status = sym_module_load(module);

    if (!status && module->loaded.has_dwarf && !dwarf->variables)
        status = make_index(dwarf);
    if (!status && dwarf->variables)
        variable = find_variable(dwarf->variables, vaddr);
    if (!status && variable)
        status = sym_die_texts(&dwarf->decoder, variable->key, &texts);
    if (!status && variable)
        status = sym_decl_file(dwarf, &dwarf->units[variable->unit], (uint32_t)texts.start_file,
                               texts.start_key, &path);
    (void)base_account_enter(before);
    if (status)
        return sym_module_fail(module, status, error);
    if (!variable || !texts.start_line)
        return sym_fail(error, SYM_NOT_FOUND, "no variable with a declaration");
    *file = path;
    *line = (uint32_t)texts.start_line;
    return SYM_OK;
}
