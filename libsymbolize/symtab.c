/* symtab.c - function names from symbol tables, which also serve where debug information ends. */
#include "libsymbolize/symtab.h"
#include <stdlib.h>
#include <string.h>

/* What is known of a symbol before sizes are settled.  */
struct entry {
    uint64_t start, size;
    uint64_t limit; /* of its section */
    const char *name;
    uint32_t length;    /* as in struct sym_symbol */
    uint8_t preference; /* global over weak over local */
    uint8_t source;
    bool sized_function;
};

struct entries {
    struct entry *items;
    size_t count, capacity;
};

/* ---- Reading ---- */

static uint8_t preference_of(uint8_t binding)
{
    switch (binding) {
    case STB_GLOBAL:
    case STB_GNU_UNIQUE:
        return 2;
    case STB_WEAK:
        return 1;
    default:
        return 0;
    }
}

/* ARM marks code, data and Thumb stretches with $a, $d, $t, $x symbols: no functions.  */
static bool is_mapping_symbol(const struct sym_object *object, const char *name)
{
    return name[0] == '$' && (object->machine == EM_ARM || object->machine == EM_AARCH64 ||
                              object->machine == EM_RISCV);
}

/* The entry of a symbol that names code (section 4), but for its name; false: it does not.  */
static bool entry_from_symbol(const struct sym_object *object, const struct sym_elf_symbol *symbol,
                              struct entry *out)
{
    uint64_t start = symbol->value;

    if (symbol->type != STT_FUNC && symbol->type != STT_GNU_IFUNC && symbol->type != STT_NOTYPE)
        return false;
    if (symbol->section == SHN_UNDEF || symbol->section == SHN_ABS)
        return false;
    if (object->relocatable && symbol->section < object->section_count)
        start += object->sections[symbol->section].vaddr;
    if (object->machine == EM_ARM && symbol->type == STT_FUNC)
        start &= ~UINT64_C(1); /* bit 0 says that it is Thumb code */
    const struct sym_code *code = sym_object_code(object, start);
    if (!code)
        return false;
    *out = (struct entry){
        .start = start,
        .size = symbol->size,
        .limit = code->limit,
        .preference = preference_of(symbol->binding),
        .sized_function = symbol->type != STT_NOTYPE && symbol->size != 0,
    };
    return true;
}

static enum sym_status add_entry(struct entries *entries, const struct entry *entry)
{
    struct entry *items = sym_grow(entries->items, &entries->capacity, entries->count,
                                   sizeof *items);

    if (!items)
        return SYM_NO_MEMORY;
    entries->items = items;
    items[entries->count++] = *entry;
    return SYM_OK;
}

/* A symbol table and the strings of its names.  */
struct table {
    struct sym_bytes symbols, strings;
};

static enum sym_status read_entries(const struct sym_object *object, const struct table *table,
                                    enum sym_quality source, struct entries *entries)
{
    size_t size = sym_symbol_size(object);
    struct sym_bytes strings = table->strings;
    enum sym_status status = SYM_OK;
    struct entry entry;

    for (size_t i = 1; i < table->symbols.size / size && !status; i++) {
        struct sym_elf_symbol symbol = sym_object_symbol(object, table->symbols.data + i * size);
        if (symbol.name == 0 || symbol.name >= strings.size ||
            !entry_from_symbol(object, &symbol, &entry))
            continue;
        entry.name = (const char *)strings.data + symbol.name;
        entry.source = (uint8_t)source;
        if (entry.name[0] && !is_mapping_symbol(object, entry.name))
            status = add_entry(entries, &entry);
    }
    return status;
}

/* ---- Order ---- */

static int compare_entries(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;

    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    return strcmp(left->name, right->name); /* the same answer whatever order the linker chose */
}

/* A symbol without a size reaches to the next one, at most to the end of its section.  */
static uint64_t end_of(const struct entry *entry, uint64_t next_start)
{
    uint64_t end;

    if (!entry->size || __builtin_add_overflow(entry->start, entry->size, &end))
        end = next_start;
    return end < entry->limit ? end : entry->limit;
}

/* Global over weak over local, then the longer; sizes are cut to what a tie can hold.  */
static uint32_t tie_of(const struct entry *entry)
{
    uint32_t size = entry->size < (1U << 28) ? (uint32_t)entry->size : 1U << 28;

    return (uint32_t)entry->preference << 29 | size;
}

static enum sym_status build_segments(struct sym_symbols *symbols, const struct entries *entries)
{
    struct sym_ranges ranges = { 0 };
    enum sym_status status = SYM_OK;

    symbols->items = calloc(entries->count + 1, sizeof *symbols->items);
    if (!symbols->items)
        return SYM_NO_MEMORY;
    uint64_t next_start = UINT64_MAX;
    for (size_t i = entries->count; i-- > 0 && !status;) {
        const struct entry *entry = &entries->items[i];
        if (i + 1 < entries->count && entries->items[i + 1].start != entry->start)
            next_start = entries->items[i + 1].start;
        symbols->items[i] = (struct sym_symbol){ .name = entry->name,
                                                 .length = entry->length,
                                                 .source = entry->source };
        status = sym_ranges_add(&ranges, (struct sym_range){ .low = entry->start,
                                                             .high = end_of(entry, next_start),
                                                             .rank = entry->sized_function,
                                                             .tie = tie_of(entry),
                                                             .value = (uint32_t)i });
    }
    symbols->count = entries->count;
    if (status != SYM_NO_MEMORY) /* those before the limit are as good as ever */
        status = sym_segments_build(&symbols->segments, &ranges);
    sym_ranges_release(&ranges);
    return status;
}

/* ---- Tables ---- */

static bool find_table(const struct sym_object *object, uint32_t type, struct table *out)
{
    const struct sym_elf_section *section = sym_object_by_type(object, type);

    if (!section || section->link >= object->section_count)
        return false;
    out->symbols = sym_object_raw(object, section);
    out->strings = sym_object_raw(object, &object->sections[section->link]);
    return true;
}

enum sym_status sym_symbols_read(struct sym_symbols *symbols, struct sym_object *object,
                                 struct sym_error *error)
{
    struct entries entries = { 0 };
    struct table table;
    enum sym_status status = SYM_OK;

    if (find_table(object, SHT_SYMTAB, &table))
        status = read_entries(object, &table, SYM_QUALITY_SYMTAB, &entries);
    else if (find_table(object, SHT_DYNSYM, &table))
        status = read_entries(object, &table, SYM_QUALITY_DYNSYM, &entries);
    if (!status && entries.count) {
        qsort(entries.items, entries.count, sizeof *entries.items, compare_entries);
        status = build_segments(symbols, &entries);
    }
    free(entries.items);
    if (status)
        return sym_fail(error, status, "%s: %s", object->path,
                        status == SYM_NO_MEMORY ? "out of memory" : "damaged symbol table");
    return SYM_OK;
}

void sym_symbols_release(struct sym_symbols *symbols)
{
    free(symbols->items);
    sym_segments_release(&symbols->segments);
    *symbols = (struct sym_symbols){ 0 };
}

/* ---- Looking up ---- */

const struct sym_symbol *sym_symbols_find(const struct sym_symbols *symbols, uint64_t vaddr)
{
    uint32_t index = sym_segments_find(&symbols->segments, vaddr);

    return index == SYM_NO_VALUE ? NULL : &symbols->items[index];
}

size_t sym_symbol_length(const struct sym_symbol *symbol)
{
    const char *version;

    if (symbol->length)
        return symbol->length;
    version = strchr(symbol->name, '@'); /* "memcpy@@GLIBC_2.14" */
    return version && version != symbol->name ? (size_t)(version - symbol->name)
                                              : strlen(symbol->name);
}
