/* gopclntab.c - Go's table of functions, files and lines, which Go programs keep when they are
 * stripped (section "Go" of docs/symbolization.md).
 *
 * Read are the layouts of Go 1.18 and later: runtime/symtab.go, runtime/symtabinl.go and
 * cmd/link/internal/ld/pcln.go describe them.  */
#include "libsymbolize/gopclntab.h"
#include "base/bisect.h"
#include "libsymbolize/symbolize_internal.h"
#include <string.h>

#define MAGIC_1_18 UINT32_C(0xfffffff0)
#define MAGIC_1_20 UINT32_C(0xfffffff1)

enum {
    STEPS_MAX = 1 << 20,   /* of pc tables, for one look-up */
    DEPTH_MAX = 64,        /* of inlined frames */
    CANDIDATES_MAX = 16,   /* for the module data */
    INLINE_INDEX = 2,      /* PCDATA_InlTreeIndex */
    INLINE_TREE = 3,       /* FUNCDATA_InlTree */
    FUNCTION_NPCDATA = 28, /* offsets in a function's record */
    FUNCTION_UNIT = 32,
};

const struct sym_elf_section *sym_go_section(const struct sym_object *object)
{
    const struct sym_elf_section *section = sym_object_by_name(object, ".gopclntab");

    return section ? section : sym_object_by_name(object, ".data.rel.ro.gopclntab");
}

/* ---- The header ---- */

/* Magic, two zeros, bytes of an instruction and of a pointer; then words: functions, files, start
 * of the text, and offsets of names, units, files, pc tables, functions.  False: none, or
 * damaged.  */
static bool read_header(struct sym_go *go, const struct sym_object *object)
{
    const struct sym_elf_section *section = sym_go_section(object);
    size_t size = object->is_64 ? 8 : 4;
    uint64_t words[8], magic = 0;

    *go = (struct sym_go){ .object = object };
    if (section)
        go->table = sym_object_raw(object, section);
    if (go->table.size < 8 + 8 * size)
        return false;
    magic = sym_object_load(object, go->table.data, 4);
    if ((magic != MAGIC_1_18 && magic != MAGIC_1_20) || go->table.data[4] || go->table.data[5] ||
        go->table.data[7] != size)
        return false;
    go->is_newer = magic == MAGIC_1_20;
    go->quantum = go->table.data[6];
    for (size_t i = 0; i < 8; i++)
        words[i] = sym_object_load(object, go->table.data + 8 + i * size, size);
    go->function_count = words[0];
    go->text_start = words[2];
    go->names = words[3];
    go->units = words[4];
    go->files = words[5];
    go->pcs = words[6];
    go->functions = words[7];
    return (go->quantum == 1 || go->quantum == 2 || go->quantum == 4) &&
           go->names <= go->table.size && go->units <= go->table.size &&
           go->files <= go->table.size && go->pcs <= go->table.size &&
           go->functions <= go->table.size && go->function_count > 0 &&
           go->function_count < (go->table.size - go->functions) / 8;
}

bool sym_go_detect(const struct sym_object *object)
{
    struct sym_go go;

    return read_header(&go, object);
}

/* ---- Words of the program ---- */

/* The bytes of a section that is searched, none when those before it had as many as the file:
 * sections overlap then, and all of them together would take hours.  */
static struct sym_bytes section_to_search(const struct sym_object *object, size_t section,
                                          size_t *left)
{
    struct sym_bytes bytes = sym_object_raw(object, &object->sections[section]);

    if (bytes.size > *left)
        return (struct sym_bytes){ 0 };
    *left -= bytes.size;
    return bytes;
}

/* The word that the program finds at vaddr: a position-independent one has some of them in its
 * relocations alone.  */
static bool word_at(const struct sym_object *object, uint64_t vaddr, uint64_t *value)
{
    size_t size = object->is_64 ? 8 : 4, entry = sym_relocation_size(object, true);
    size_t left = object->image.size;
    struct sym_bytes bytes;

    for (size_t i = 1; i < object->section_count; i++) {
        if (object->sections[i].type != SHT_RELA)
            continue;
        struct sym_bytes table = section_to_search(object, i, &left);
        for (size_t k = 0; k < table.size / entry; k++) {
            struct sym_elf_relocation relocation = sym_object_relocation(
                object, table.data + k * entry, true);
            if (relocation.offset == vaddr && relocation.symbol == 0) {
                *value = (uint64_t)relocation.addend;
                return true;
            }
        }
    }
    if (!sym_object_at_vaddr(object, vaddr, &bytes) || bytes.size < size)
        return false;
    *value = sym_object_load(object, bytes.data, size);
    return true;
}

/* Whether the module data, which begin with the address of the table, are at vaddr; then where data
 * of functions are counted from.  */
static bool take_module_data(struct sym_go *go, uint64_t vaddr)
{
    enum { MIN_PC = 20, GOFUNC_1_18 = 38, GOFUNC_1_20 = 40 }; /* words */
    size_t size = go->object->is_64 ? 8 : 4;
    uint64_t first = 0, value;

    if (!word_at(go->object, vaddr + MIN_PC * size, &value) ||
        !sym_go_load(go, go->functions, 4, &first) || value != go->text_start + first)
        return false;
    return word_at(go->object, vaddr + (go->is_newer ? GOFUNC_1_20 : GOFUNC_1_18) * size,
                   &go->function_data);
}

/* Without them there are no inlined frames.  */
static void find_module_data(struct sym_go *go, uint64_t table_vaddr)
{
    const struct sym_object *object = go->object;
    size_t size = object->is_64 ? 8 : 4, entry = sym_relocation_size(object, true);
    size_t candidates = CANDIDATES_MAX, left = object->image.size;

    for (size_t i = 1; i < object->section_count; i++) {
        const struct sym_elf_section *section = &object->sections[i];
        bool relocations = section->type == SHT_RELA;
        if (!relocations && (section->type != SHT_PROGBITS || !(section->flags & SHF_WRITE)))
            continue;
        struct sym_bytes bytes = section_to_search(object, i, &left);
        for (size_t at = 0; bytes.size - at >= (relocations ? entry : size) && candidates;
             at += relocations ? entry : size) {
            uint64_t vaddr = section->vaddr + at, value;
            if (relocations) {
                struct sym_elf_relocation relocation = sym_object_relocation(object,
                                                                             bytes.data + at, true);
                vaddr = relocation.offset;
                value = (uint64_t)relocation.addend;
            } else {
                value = sym_object_load(object, bytes.data + at, size);
            }
            if (value != table_vaddr)
                continue;
            candidates--;
            if (take_module_data(go, vaddr))
                return;
        }
    }
}

/* ---- The table ---- */

bool sym_go_load(const struct sym_go *go, uint64_t offset, size_t size, uint64_t *value)
{
    if (offset > go->table.size || size > go->table.size - (size_t)offset)
        return false;
    *value = sym_object_load(go->object, go->table.data + offset, size);
    return true;
}

void sym_go_open(struct sym_go *go, const struct sym_object *code)
{
    const struct sym_elf_section *text = sym_object_by_name(code, ".text");
    size_t size = code->is_64 ? 8 : 4;

    if (!read_header(go, code))
        return;
    uint64_t vaddr = sym_go_section(code)->vaddr;
    if (!word_at(code, vaddr + 8 + 2 * size, &go->text_start) || !go->text_start)
        go->text_start = text ? text->vaddr : 0;
    go->ready = true;
    find_module_data(go, vaddr);
}

/* A string of a table that begins at table; "": none.  */
static const char *text_at(const struct sym_go *go, uint64_t table, uint64_t offset)
{
    uint64_t at;

    if (__builtin_add_overflow(table, offset, &at))
        return "";
    struct sym_cursor cursor = sym_cursor_at(&go->table, at, go->object->big_endian);
    return sym_read_string(&cursor);
}

/* ---- A function ---- */

struct function {
    uint64_t record; /* offset */
    uint64_t entry, limit;
    size_t *steps_left; /* of pc tables, for all of a look-up: hostile ones would take hours */
};

static uint64_t entry_of(const struct sym_go *go, uint64_t index)
{
    uint64_t offset = 0;

    (void)sym_go_load(go, go->functions + 8 * index, 4, &offset);
    return go->text_start + offset;
}

static bool find_function(const struct sym_go *go, uint64_t vaddr, struct function *out)
{
    uint64_t low = 0, high = go->function_count, offset;

    if (vaddr < entry_of(go, 0) || vaddr >= entry_of(go, high))
        return false;
    BASE_BISECT(low, high, i, entry_of(go, i) <= vaddr); /* low: the function after it */
    if (!sym_go_load(go, go->functions + 8 * (low - 1) + 4, 4, &offset))
        return false;
    *out = (struct function){ .record = go->functions + offset,
                              .entry = entry_of(go, low - 1),
                              .limit = entry_of(go, low) };
    return true;
}

static size_t record_size(const struct sym_go *go)
{
    return go->is_newer ? 44 : 40;
}

/* The value for vaddr of the pc table at offset: pairs of differences, of the value (zigzag) and of
 * the address.  Cuts span to where it holds.  */
static bool find_value(const struct sym_go *go, uint64_t offset, const struct function *function,
                       uint64_t vaddr, struct sym_span *span, int64_t *value)
{
    struct sym_cursor cursor = sym_cursor_at(&go->table, go->pcs + offset, go->object->big_endian);
    uint64_t limit = function->entry;

    *value = -1;
    for (bool is_first = true; *function->steps_left > 0; is_first = false) {
        uint64_t start = limit, difference = sym_read_uleb(&cursor);
        int64_t change = (int64_t)(difference >> 1) ^ -(int64_t)(difference & 1);

        --*function->steps_left;
        if (cursor.failed || (difference == 0 && !is_first) ||
            __builtin_add_overflow(*value, change, value))
            return false;
        limit += sym_read_uleb(&cursor) * go->quantum;
        if (cursor.failed || limit < start)
            return false;
        if (vaddr >= limit)
            continue;
        if (span && start > span->start)
            span->start = start;
        if (span && limit < span->limit)
            span->limit = limit;
        return true;
    }
    return false;
}

static bool find_table_value(const struct sym_go *go, const struct function *function, size_t at,
                             uint64_t vaddr, struct sym_span *span, int64_t *value)
{
    uint64_t offset;

    return sym_go_load(go, function->record + at, 4, &offset) && offset &&
           find_value(go, offset, function, vaddr, span, value);
}

static const char *file_at(const struct sym_go *go, const struct function *function, int64_t number)
{
    uint64_t unit, offset;

    if (number < 0 || number > INT32_MAX ||
        !sym_go_load(go, function->record + FUNCTION_UNIT, 4, &unit) ||
        !sym_go_load(go, go->units + 4 * ((uint32_t)unit + (uint64_t)number), 4, &offset) ||
        offset == UINT32_MAX)
        return "";
    return text_at(go, go->files, offset);
}

/* ---- Frames ---- */

enum { NAME_AT = 4, FILE_AT = 20, LINE_AT = 24 }; /* in a function's record */

static enum sym_status intern(struct sym_module *module, const char *text, const char **out)
{
    *out = sym_strings_intern(&module->strings, text, strlen(text));
    return *out ? SYM_OK : SYM_NO_MEMORY;
}

static enum sym_status add_frame(struct sym_module *module, const struct function *function,
                                 const char *name, uint64_t vaddr, struct sym_span *span,
                                 struct sym_frames *frames)
{
    const struct sym_go *go = &module->loaded.go;
    struct sym_frame frame = { .linkage_name = "", .file = "", .source = SYM_QUALITY_SYMTAB };
    int64_t file, line;
    enum sym_status status = intern(module, name, &frame.function);

    if (!status && find_table_value(go, function, FILE_AT, vaddr, span, &file))
        status = intern(module, file_at(go, function, file), &frame.file);
    if (find_table_value(go, function, LINE_AT, vaddr, span, &line) && line > 0 &&
        line <= INT32_MAX)
        frame.line = (uint32_t)line;
    return status ? status : sym_frames_add(frames, frame);
}

/* What was inlined at vaddr: its name, and the address in the function around it that stands for
 * the call.  False: nothing was.  */
static bool find_inlined(const struct sym_go *go, const struct function *function, uint64_t vaddr,
                         struct sym_span *span, const char **name, uint64_t *call)
{
    uint64_t count, data_count, offset;
    size_t size = go->is_newer ? 16 : 20, name_at = go->is_newer ? 4 : 12;
    uint64_t pcdata = record_size(go);
    struct sym_bytes bytes;
    int64_t index;

    if (!go->function_data || !sym_go_load(go, function->record + FUNCTION_NPCDATA, 4, &count) ||
        !sym_go_load(go, function->record + record_size(go) - 1, 1, &data_count) ||
        count <= INLINE_INDEX || data_count <= INLINE_TREE || count > UINT16_MAX ||
        !find_table_value(go, function, pcdata + (uint64_t)4 * INLINE_INDEX, vaddr, span, &index) ||
        index < 0 || index > UINT16_MAX ||
        !sym_go_load(go, function->record + pcdata + 4 * (count + INLINE_TREE), 4, &offset) ||
        offset == UINT32_MAX ||
        !sym_object_at_vaddr(go->object, go->function_data + offset + (uint64_t)index * size,
                             &bytes) ||
        bytes.size < size)
        return false;
    *name = text_at(go, go->names, sym_object_load(go->object, bytes.data + name_at, 4));
    *call = function->entry + sym_object_load(go->object, bytes.data + name_at + 4, 4);
    return *call < function->limit;
}

/* Code before the first function, or after the last, has no names: only so far does that hold.  */
static void cut_to_gap(const struct sym_go *go, uint64_t vaddr, struct sym_span *span)
{
    uint64_t first = entry_of(go, 0), limit = entry_of(go, go->function_count);

    if (vaddr < first && first < span->limit)
        span->limit = first;
    if (vaddr >= limit && limit > span->start)
        span->start = limit;
}

enum sym_status sym_go_frames(struct sym_module *module, uint64_t vaddr, struct sym_frames *frames)
{
    const struct sym_go *go = &module->loaded.go;
    struct function function;
    uint64_t name_offset = 0, call;
    const char *name;
    struct sym_span *span = &frames->span;
    enum sym_status status = SYM_OK;
    size_t steps_left = STEPS_MAX;

    if (!find_function(go, vaddr, &function)) {
        cut_to_gap(go, vaddr, span);
        return SYM_OK;
    }
    function.steps_left = &steps_left;
    if (function.entry > span->start)
        span->start = function.entry;
    if (function.limit < span->limit)
        span->limit = function.limit;
    for (size_t depth = 0; depth < DEPTH_MAX && !status; depth++) {
        if (!find_inlined(go, &function, vaddr, span, &name, &call))
            break;
        status = add_frame(module, &function, name, vaddr, span, frames);
        if (!status)
            frames->items[frames->count - 1].inlined = true;
        vaddr = call;
        span = NULL; /* calls are the same for all of it */
    }
    (void)sym_go_load(go, function.record + NAME_AT, 4, &name_offset);
    if (!status)
        status = add_frame(module, &function, text_at(go, go->names, name_offset), vaddr, span,
                           frames);
    return status;
}
