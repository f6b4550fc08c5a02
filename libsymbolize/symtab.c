/* symtab.c - function names from symbol tables, which also serve where debug information ends. */
#include "libsymbolize/symtab.h"
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

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

/* ARM marks code, data and Thumb stretches with $a, $d, $t, $x symbols: no functions.  Nor are the
 * labels that RISC-V and LoongArch need for relocations.  */
static bool is_mapping_symbol(const struct sym_object *object, const char *name)
{
    if ((object->machine == EM_RISCV || object->machine == EM_LOONGARCH) &&
        strncmp(name, ".L", 2) == 0)
        return true;
    return name[0] == '$' && (object->machine == EM_ARM || object->machine == EM_AARCH64 ||
                              object->machine == EM_RISCV);
}

/* Functions of 64-bit PowerPC's older ABI (ELFv1) begin where their descriptors in .opd say.  */
static uint64_t entry_of(const struct sym_object *object, const struct sym_elf_symbol *symbol,
                         uint64_t vaddr)
{
    struct sym_bytes bytes;

    if (object->machine != EM_PPC64 || object->relocatable ||
        symbol->section >= object->section_count ||
        strcmp(object->sections[symbol->section].name, ".opd") != 0)
        return vaddr;
    const struct sym_elf_section *section = &object->sections[symbol->section];
    bytes = sym_object_raw(object, section);
    if (vaddr < section->vaddr || bytes.size < 8 || vaddr - section->vaddr > bytes.size - 8)
        return vaddr;
    return sym_object_load(object, bytes.data + (vaddr - section->vaddr), 8);
}

/* The entry of a symbol that names code (section 4), but for its name; false: it does not.  */
static bool entry_from_symbol(const struct sym_object *object, const struct sym_elf_symbol *symbol,
                              struct sym_entry *out)
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
    start = entry_of(object, symbol, start);
    const struct sym_code *code = sym_object_code(object, start);
    if (!code)
        return false;
    *out = (struct sym_entry){
        .start = start,
        .size = symbol->size,
        .limit = code->limit,
        .preference = preference_of(symbol->binding),
        .sized_function = symbol->type != STT_NOTYPE && symbol->size != 0,
    };
    return true;
}

/* The entry of a symbol that names data of a known size, but for its name; false: it does not.  */
static bool entry_from_data(const struct sym_object *object, const struct sym_elf_symbol *symbol,
                            struct sym_entry *out)
{
    uint64_t start = symbol->value;

    if (symbol->type != STT_OBJECT || symbol->size == 0 || symbol->section == SHN_UNDEF ||
        symbol->section == SHN_ABS || symbol->section == SHN_COMMON)
        return false;
    if (object->relocatable && symbol->section < object->section_count)
        start += object->sections[symbol->section].vaddr;
    *out = (struct sym_entry){ .start = start,
                               .size = symbol->size,
                               .limit = UINT64_MAX,
                               .preference = preference_of(symbol->binding) };
    return true;
}

enum sym_status sym_entries_add(struct sym_entries *entries, const struct sym_entry *entry)
{
    if (!base_make_room(&entries->items, &entries->capacity, entries->count + 1,
                        sizeof *entries->items))
        return SYM_NO_MEMORY;
    entries->items[entries->count++] = *entry;
    return SYM_OK;
}

/* A symbol table and the strings of its names.  */
struct table {
    struct sym_bytes symbols, strings;
};

typedef bool (*entry_fn)(const struct sym_object *object, const struct sym_elf_symbol *symbol,
                         struct sym_entry *out);

static enum sym_status read_entries(const struct sym_object *object, const struct table *table,
                                    entry_fn fill, enum sym_quality source,
                                    struct sym_entries *entries)
{
    size_t size = sym_symbol_size(object);
    struct sym_bytes strings = table->strings;
    enum sym_status status = SYM_OK;
    struct sym_entry entry;

    for (size_t i = 1; i < table->symbols.size / size && !status; i++) {
        struct sym_elf_symbol symbol = sym_object_symbol(object, table->symbols.data + i * size);
        bool is_file = symbol.type == STT_FILE; /* without a name it ends the one before */
        if ((symbol.name == 0 && !is_file) || symbol.name >= strings.size ||
            !fill(object, &symbol, &entry))
            continue;
        entry.name = (const char *)strings.data + symbol.name;
        entry.source = (uint8_t)source;
        if (is_file || (entry.name[0] && !is_mapping_symbol(object, entry.name)))
            status = sym_entries_add(entries, &entry);
    }
    return status;
}

/* ---- Order ---- */

/* Names that do not end in NUL have a length.  */
static int compare_names(const struct sym_entry *left, const struct sym_entry *right)
{
    size_t left_length = left->length ? left->length : strlen(left->name);
    size_t right_length = right->length ? right->length : strlen(right->name);
    int order = memcmp(left->name, right->name,
                       left_length < right_length ? left_length : right_length);

    return order ? order : (left_length > right_length) - (left_length < right_length);
}

/* An entry's address and where the entry is: what is moved when entries are sorted.  */
struct place {
    uint64_t start;
    size_t index;
};

enum { RADIX = 256 };

/* Sorts by one byte of the address, keeping the order of equal ones; false: all are equal.  */
static bool sort_by_byte(const struct place *from, struct place *to, size_t count, unsigned shift)
{
    size_t counts[RADIX] = { 0 }, at = 0;

    for (size_t i = 0; i < count; i++)
        counts[from[i].start >> shift & 255]++;
    if (counts[from[0].start >> shift & 255] == count)
        return false;
    for (size_t i = 0; i < RADIX; i++) {
        size_t here = counts[i];
        counts[i] = at;
        at += here;
    }
    for (size_t i = 0; i < count; i++)
        to[counts[from[i].start >> shift & 255]++] = from[i];
    return true;
}

/* Global over weak over local, then the longer; sizes are cut to what a tie can hold.  */
static uint32_t tie_of(const struct sym_entry *entry)
{
    uint32_t size = entry->size < (1U << 28) ? (uint32_t)entry->size : 1U << 28;

    return (uint32_t)entry->preference << 29 | size;
}

/* Of two at one address whose ends are settled: as sym_segments_build() has its ranges, so that it
 * need not sort them again; then by name: the same answer whatever order the linker chose.  */
static int compare_aliases(const void *a, const void *b)
{
    const struct sym_entry *left = a, *right = b;

    if (left->limit != right->limit)
        return left->limit < right->limit ? -1 : 1;
    if (left->sized_function != right->sized_function)
        return left->sized_function < right->sized_function ? -1 : 1;
    if (tie_of(left) != tie_of(right))
        return tie_of(left) < tie_of(right) ? -1 : 1;
    return compare_names(left, right);
}

static void sort_aliases(struct sym_entries *entries)
{
    struct sym_entry *items = entries->items;

    for (size_t i = 0, next; i < entries->count; i = next) {
        for (next = i + 1; next < entries->count && items[next].start == items[i].start;)
            next++;
        if (next - i > 1)
            qsort(&items[i], next - i, sizeof *items, compare_aliases);
    }
}

/* By address.  */
static enum sym_status sort_entries(struct sym_entries *entries)
{
    size_t count = entries->count;
    struct place *places = base_calloc(count, 2 * sizeof *places);
    struct sym_entry *sorted = base_calloc(count, sizeof *sorted);

    if (!places || !sorted) {
        base_free(places);
        base_free(sorted);
        return SYM_NO_MEMORY;
    }
    struct place *from = places, *to = places + count;
    for (size_t i = 0; i < count; i++)
        places[i] = (struct place){ .start = entries->items[i].start, .index = i };
    for (unsigned shift = 0; shift < 64; shift += 8) {
        if (!sort_by_byte(from, to, count, shift))
            continue;
        struct place *swap = from;
        from = to;
        to = swap;
    }
    for (size_t i = 0; i < count; i++)
        sorted[i] = entries->items[from[i].index];
    base_free(places);
    base_free(entries->items);
    entries->items = sorted;
    entries->capacity = count;
    return SYM_OK;
}

/* Sets the limit of each entry to where it ends.  A symbol without a size reaches to the next one,
 * at most to the end of its section.  */
static void settle_ends(struct sym_entries *entries)
{
    uint64_t next_start = UINT64_MAX, end;

    for (size_t i = entries->count; i-- > 0;) {
        struct sym_entry *entry = &entries->items[i];
        if (i + 1 < entries->count && entry[1].start != entry->start)
            next_start = entry[1].start;
        if (!entry->size || __builtin_add_overflow(entry->start, entry->size, &end))
            end = next_start;
        if (end < entry->limit)
            entry->limit = end;
    }
}

static enum sym_status build_segments(struct sym_symbols *symbols, struct sym_entries *entries)
{
    struct sym_ranges ranges = { 0 };
    enum sym_status status = sort_entries(entries);

    if (!status)
        symbols->items = base_calloc(entries->count, sizeof *symbols->items);
    if (!symbols->items)
        return SYM_NO_MEMORY;
    settle_ends(entries);
    sort_aliases(entries);
    for (size_t i = 0; i < entries->count && !status; i++) {
        const struct sym_entry *entry = &entries->items[i];
        symbols->items[i] = (struct sym_symbol){ .name = entry->name,
                                                 .length = entry->length,
                                                 .source = entry->source };
        status = sym_ranges_add(&ranges, (struct sym_range){ .low = entry->start,
                                                             .high = entry->limit,
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
    struct sym_dynamic dynamic;

    if (object->section_prefix) {
        out->symbols = sym_object_part(object, SYM_SECTION_SYMTAB);
        out->strings = sym_object_part(object, SYM_SECTION_STRTAB);
        return type == SHT_SYMTAB && object->has_symtab;
    }
    if (section && section->link < object->section_count) {
        out->symbols = sym_object_raw(object, section);
        out->strings = sym_object_raw(object, &object->sections[section->link]);
        return true;
    }
    if (type != SHT_DYNSYM || object->section_count)
        return false;
    sym_object_dynamic(object, &dynamic);
    out->symbols = dynamic.symbols;
    out->strings = dynamic.strings;
    return out->symbols.size != 0;
}

/* .gnu_debugdata holds what .dynsym lacks.  A damaged one costs its names alone.  */
static enum sym_status read_debugdata(struct sym_symbols *symbols, const struct sym_object *object,
                                      struct sym_entries *entries)
{
    struct table table;
    enum sym_status status = sym_object_debugdata(object, &symbols->debugdata, NULL);

    if (status || !symbols->debugdata || !find_table(symbols->debugdata, SHT_SYMTAB, &table))
        return status == SYM_NO_MEMORY ? status : SYM_OK;
    return read_entries(symbols->debugdata, &table, entry_from_symbol, SYM_QUALITY_DEBUGDATA,
                        entries);
}

static enum sym_status read_tables(struct sym_symbols *symbols, const struct sym_object *object,
                                   struct sym_entries *entries)
{
    struct table table;

    if (object->kallsyms)
        return sym_kallsyms_read(object->image, object->kallsyms_module, entries);
    if (find_table(object, SHT_SYMTAB, &table))
        return read_entries(object, &table, entry_from_symbol, SYM_QUALITY_SYMTAB, entries);
    enum sym_status status = read_debugdata(symbols, object, entries);
    if (!status && find_table(object, SHT_DYNSYM, &table))
        status = read_entries(object, &table, entry_from_symbol, SYM_QUALITY_DYNSYM, entries);
    return status;
}

enum sym_status sym_symbols_read(struct sym_symbols *symbols, struct sym_object *object,
                                 struct sym_object *code, struct sym_error *error)
{
    struct sym_entries entries = { 0 };
    enum sym_status status = SYM_OK;

    if (object)
        status = read_tables(symbols, object, &entries);
    if (!status && code)
        status = sym_plt_read(code, &symbols->owned_names, &entries);
    if (!status && entries.count)
        status = build_segments(symbols, &entries);
    base_free(entries.items);
    if (status)
        return sym_fail(error, status, "%s: %s", object ? object->path : code->path,
                        status == SYM_NO_MEMORY ? "out of memory" : "damaged symbol table");
    return SYM_OK;
}

enum sym_status sym_data_read(struct sym_symbols *symbols, const struct sym_object *object)
{
    struct sym_entries entries = { 0 };
    enum sym_status status = SYM_OK;
    struct table table;

    if (object->kallsyms)
        return SYM_OK; /* tells no sizes */
    if (find_table(object, SHT_SYMTAB, &table))
        status = read_entries(object, &table, entry_from_data, SYM_QUALITY_SYMTAB, &entries);
    else if (find_table(object, SHT_DYNSYM, &table))
        status = read_entries(object, &table, entry_from_data, SYM_QUALITY_DYNSYM, &entries);
    if (!status && entries.count)
        status = build_segments(symbols, &entries);
    base_free(entries.items);
    return status == SYM_NO_MEMORY ? status : SYM_OK;
}

/* ---- By name ---- */

static bool entry_from_any(const struct sym_object *object, const struct sym_elf_symbol *symbol,
                           struct sym_entry *out)
{
    uint64_t start = symbol->value;

    if (symbol->type == STT_FILE) {
        *out = (struct sym_entry){ .is_file = true };
        return true;
    }
    bool is_place = symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC ||
                    symbol->type == STT_OBJECT || symbol->type == STT_NOTYPE;

    if (!is_place || symbol->section == SHN_UNDEF || symbol->section == SHN_COMMON)
        return false;
    if (object->relocatable && symbol->section < object->section_count)
        start += object->sections[symbol->section].vaddr;
    *out = (struct sym_entry){ .start = entry_of(object, symbol, start),
                               .size = symbol->size,
                               .preference = preference_of(symbol->binding) };
    return true;
}

enum sym_status sym_named_read(const struct sym_object *object, struct sym_strings *strings,
                               struct sym_named **out, size_t *count)
{
    struct sym_entries entries = { 0 };
    enum sym_status status = SYM_OK;
    struct table table;

    if (object->kallsyms)
        status = sym_kallsyms_read(object->image, object->kallsyms_module, &entries);
    else if (find_table(object, SHT_SYMTAB, &table) || find_table(object, SHT_DYNSYM, &table))
        status = read_entries(object, &table, entry_from_any, SYM_QUALITY_SYMTAB, &entries);
    const char *file = "";
    *count = 0;
    *out = base_calloc(entries.count + 1, sizeof **out);
    for (size_t i = 0; *out && !status && i < entries.count; i++) {
        const struct sym_entry *entry = &entries.items[i];
        struct sym_symbol symbol = { .name = entry->name, .length = entry->length };
        const char *name = sym_strings_intern(strings, entry->name, sym_symbol_length(&symbol));
        if (!name)
            status = SYM_NO_MEMORY;
        else if (entry->is_file)
            file = name;
        else if (name[0])
            (*out)[(*count)++] = (struct sym_named){
                .name = name,
                .file = entry->preference == preference_of(STB_LOCAL) ? file : "",
                .start = entry->start,
                .size = entry->size,
            };
    }
    base_free(entries.items);
    return *out && status != SYM_NO_MEMORY ? SYM_OK : SYM_NO_MEMORY;
}

/* ---- The end ---- */

enum sym_status sym_symbols_keep(struct sym_symbols *symbols, struct sym_strings *strings)
{
    for (size_t i = 0; i < symbols->count; i++) {
        struct sym_symbol *symbol = &symbols->items[i];
        size_t length = sym_symbol_length(symbol);

        if (!symbol->name)
            continue;
        symbol->name = sym_strings_intern(strings, symbol->name, length);
        symbol->length = 0;
        if (!symbol->name)
            return SYM_NO_MEMORY;
    }
    return SYM_OK;
}

void sym_symbols_release(struct sym_symbols *symbols)
{
    base_free(symbols->items);
    sym_segments_release(&symbols->segments);
    sym_object_free(symbols->debugdata);
    sym_strings_release(&symbols->owned_names);
    *symbols = (struct sym_symbols){ 0 };
}

/* ---- Looking up ---- */

const struct sym_symbol *sym_symbols_at(const struct sym_symbols *symbols, ptrdiff_t segment)
{
    uint32_t index = segment < 0 ? SYM_NO_VALUE : symbols->segments.items[segment].value;

    if (index == SYM_NO_VALUE || symbols->items[index].source == SYM_QUALITY_NONE)
        return NULL;
    return &symbols->items[index];
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
