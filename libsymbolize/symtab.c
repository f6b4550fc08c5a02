/* symtab.c - function names from symbol tables, which also serve where debug information ends. */
#include "libsymbolize/internal.h"
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

/* More symbols than any object has; the table is bounded by the file's size anyway.  */
static const int SYMBOLS_MAX = 1 << 26;

/* What is known of a symbol before sizes are settled.  */
struct entry {
    uint64_t start, size;
    uint64_t limit; /* of its section */
    const char *name;
    uint32_t preference; /* global over weak over local */
    bool sized_function;
};

struct entries {
    struct entry *items;
    size_t count, capacity;
};

static Elf_Scn *find_table(struct sym_object *object, GElf_Word type, GElf_Shdr *header)
{
    Elf_Scn *section = NULL;

    while ((section = elf_nextscn(object->elf, section)))
        if (gelf_getshdr(section, header) && header->sh_type == type)
            return section;
    return NULL;
}

static uint32_t preference_of(int binding)
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

/* The entry of a symbol that names code (section 4); false: it does not.  */
static bool entry_from_symbol(const struct sym_object *object, const GElf_Sym *symbol,
                              const char *name, struct entry *out)
{
    int type = GELF_ST_TYPE(symbol->st_info);
    uint64_t start = symbol->st_value;

    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || !name || !name[0] ||
        is_mapping_symbol(object, name))
        return false;
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
        return false;
    if (object->machine == EM_ARM && type == STT_FUNC)
        start &= ~UINT64_C(1); /* bit 0 says that it is Thumb code */
    const struct sym_code *code = sym_object_code(object, start);
    if (!code)
        return false;
    *out = (struct entry){
        .start = start,
        .size = symbol->st_size,
        .limit = code->limit,
        .name = name,
        .preference = preference_of(GELF_ST_BIND(symbol->st_info)),
        .sized_function = type != STT_NOTYPE && symbol->st_size != 0,
    };
    return true;
}

static enum sym_status read_entries(struct sym_object *object, Elf_Scn *section,
                                    const GElf_Shdr *header, struct entries *entries)
{
    Elf_Data *data = elf_getdata(section, NULL);
    GElf_Sym symbol;
    struct entry entry;

    if (!data)
        return sym_elf_status(SYM_MALFORMED);
    if (header->sh_entsize == 0 || data->d_size / header->sh_entsize > (size_t)SYMBOLS_MAX)
        return SYM_MALFORMED;
    int count = (int)(data->d_size / header->sh_entsize);
    for (int i = 1; i < count && gelf_getsym(data, i, &symbol); i++) {
        const char *name = elf_strptr(object->elf, header->sh_link, symbol.st_name);
        if (!entry_from_symbol(object, &symbol, name, &entry))
            continue;
        struct entry *items = sym_grow(entries->items, &entries->capacity, entries->count,
                                       sizeof *items);
        if (!items)
            return SYM_NO_MEMORY;
        entries->items = items;
        items[entries->count++] = entry;
    }
    return SYM_OK;
}

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

    return entry->preference << 29 | size;
}

static enum sym_status build_segments(struct sym_symbols *symbols, const struct entries *entries)
{
    struct sym_ranges ranges = { 0 };
    enum sym_status status = SYM_OK;

    symbols->names = calloc(entries->count + 1, sizeof *symbols->names);
    if (!symbols->names)
        return SYM_NO_MEMORY;
    uint64_t next_start = UINT64_MAX;
    for (size_t i = entries->count; i-- > 0 && !status;) {
        const struct entry *entry = &entries->items[i];
        if (i + 1 < entries->count && entries->items[i + 1].start != entry->start)
            next_start = entries->items[i + 1].start;
        symbols->names[i] = entry->name;
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

enum sym_status sym_symbols_read(struct sym_symbols *symbols, struct sym_object *object,
                                 struct sym_error *error)
{
    struct entries entries = { 0 };
    GElf_Shdr header;
    enum sym_status status;

    symbols->source = SYM_QUALITY_SYMTAB;
    Elf_Scn *section = find_table(object, SHT_SYMTAB, &header);
    if (!section) {
        symbols->source = SYM_QUALITY_DYNSYM;
        section = find_table(object, SHT_DYNSYM, &header);
    }
    if (!section)
        return SYM_OK;
    status = read_entries(object, section, &header, &entries);
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
    free(symbols->names);
    sym_segments_release(&symbols->segments);
    *symbols = (struct sym_symbols){ 0 };
}

const char *sym_symbols_find(const struct sym_symbols *symbols, uint64_t vaddr, size_t *length)
{
    uint32_t index = sym_segments_find(&symbols->segments, vaddr);

    if (index == SYM_NO_VALUE)
        return NULL;
    const char *name = symbols->names[index];
    const char *version = strchr(name, '@'); /* "memcpy@@GLIBC_2.14" */
    *length = version && version != name ? (size_t)(version - name) : strlen(name);
    return name;
}
