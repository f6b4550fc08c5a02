/* row_table.c - the rows of one object: made all at once, or read when they are asked for.  */
#include "libunwind/unwind_internal.h"

#include "base/grow.h"
#include <stdlib.h>
#include <string.h>

/* ---- Rows to rules ---- */

static bool fits(int64_t offset)
{
    return offset >= INT32_MIN && offset <= INT32_MAX;
}

/* Where the one copy of an expression, which begins with its length, is; 0: no memory, or too
 * long.  */
static uint32_t keep_expression(struct unwind_table *table, const uint8_t *expression)
{
    struct cfi_bytes bytes = { .next = expression, .end = expression + 10 }; /* of a LEB128 */
    uint64_t size = cfi_take_uleb(&bytes); /* machine.c has looked whether it is there */

    if (size > UINT16_MAX - 10)
        return 0;
    return pool_intern(&table->expressions, expression, (size_t)(bytes.next - expression) + size);
}

/* One register's rule as two words.  False: no memory, or nothing that we keep.  */
static bool pack_rule(struct unwind_table *table, const struct cfi_row *row, unsigned column,
                      uint32_t words[2])
{
    uint8_t kind = row->kinds[column];

    words[0] = column << 8 | kind;
    if (kind == CFI_SAVED_AT || kind == CFI_VALUE_OF) {
        words[1] = keep_expression(table, row->values[column].expression);
        return words[1] != 0;
    }
    words[1] = (uint32_t)row->values[column].offset;
    return fits(row->values[column].offset);
}

/* Where the rule of a row is, or RULE_REFUSED.  */
static uint32_t keep_rule(struct unwind_table *table, const struct cfi_row *row)
{
    uint32_t words[RULE_MAX_WORDS], count = 0, place;

    words[1] = (uint32_t)row->cfa_offset;
    if (row->cfa_expression)
        words[1] = keep_expression(table, row->cfa_expression);
    if (row->cfa_expression ? words[1] == 0
                            : row->cfa_register >= CFI_COLUMNS || !fits(row->cfa_offset))
        return RULE_REFUSED;
    for (unsigned column = 0; column < CFI_COLUMNS; column++) {
        if (row->kinds[column] == CFI_SAME)
            continue;
        if (!pack_rule(table, row, column, words + 2 + (size_t)2 * count))
            return RULE_REFUSED;
        count++;
    }
    words[0] = (row->is_signal ? RULE_SIGNAL : 0) | (row->cfa_expression ? RULE_EXPRESSION : 0) |
               count << 8 | (row->cfa_expression ? 0 : (uint32_t)row->cfa_register << 16) |
               (uint32_t)row->return_column << 24;
    place = pool_intern(&table->rules, words, (size_t)(2 + 2 * count) * sizeof *words);
    return place ? place : RULE_REFUSED;
}

/* Whether memory was out since this was asked last.  */
static bool was_out_of_memory(struct unwind_table *table)
{
    bool failed = table->rules.failed || table->expressions.failed;

    table->rules.failed = table->expressions.failed = false;
    return failed;
}

/* ---- Frame pointers ---- */

struct judgement {
    uint32_t seen, with;
};

#define LEAST_FUNCTION 32 /* bytes: smaller ones may need no frame */

/* Whether a function makes itself a frame pointer; x86-64.  Entries of a procedure linkage table,
 * whose frame addresses are expressions, are no functions, and the outermost one is written by
 * hand.  */
static void judge(struct judgement *judgement, const struct cfi_program *program)
{
    struct cfi_machine machine;
    bool with = false;

    if (program->is_signal || program->limit - program->start < LEAST_FUNCTION)
        return;
    (void)cfi_begin(&machine, program);
    while (!with && cfi_next(&machine)) {
        const struct cfi_row *row = &machine.now;

        if (row->cfa_expression || row->kinds[row->return_column] == CFI_UNDEFINED)
            return;
        with = row->cfa_register == CFI_X86_RBP && row->cfa_offset == 16;
    }
    judgement->seen++;
    judgement->with += with;
}

static enum unwind_frame_pointers verdict(const struct judgement *judgement)
{
    if (judgement->seen == 0)
        return UNWIND_FRAME_POINTERS_UNKNOWN;
    return judgement->with >= judgement->seen - judgement->seen / 5 ? UNWIND_FRAME_POINTERS_YES
                                                                    : UNWIND_FRAME_POINTERS_NO;
}

#define MOST_JUDGED 512U

static void judge_by_table(struct unwind_table *table)
{
    struct judgement judgement = { .seen = 0 };
    struct cfi_program program;
    uint32_t count;

    if (!cfi_has_table(&table->section, &count))
        return;
    for (uint32_t i = 0; i < count; i += 1 + count / MOST_JUDGED)
        if (cfi_entry(&table->section, i, &program))
            judge(&judgement, &program);
    table->frame_pointers = verdict(&judgement);
}

enum unwind_frame_pointers unwind_table_frame_pointers(struct unwind_table *table)
{
    if (!table->is_judged && table->report.is_searched)
        judge_by_table(table);
    table->is_judged = true;
    return table->frame_pointers;
}

/* ---- Making rows ---- */

/* What an entry's program is executed for.  */
struct making {
    struct unwind_table *table;
    struct cfi_program *programs;
    size_t count, capacity;
    uint64_t executed; /* bytes of instructions */
    struct judgement judgement;
};

static bool take_program(void *context, const struct cfi_program *program)
{
    struct making *making = context;

    if (program->limit == program->start) { /* unreadable, or it covers nothing */
        making->table->report.refused += program->instructions == NULL;
        return true;
    }
    if (!base_make_room(&making->programs, &making->capacity, making->count + 1,
                        sizeof *making->programs))
        return false;
    making->programs[making->count++] = *program;
    return true;
}

static bool add_row(struct made_rows *rows, uint64_t start, uint32_t rule)
{
    if (rows->count > 0 && rows->rules[rows->count - 1] == rule)
        return true;
    if (rows->count == rows->capacity) {
        size_t capacity = rows->capacity; /* of both */

        if (!base_make_room(&rows->starts, &capacity, rows->count + 1, sizeof *rows->starts) ||
            !base_make_room(&rows->rules, &rows->capacity, rows->count + 1, sizeof *rows->rules))
            return false;
    }
    rows->starts[rows->count] = (uint32_t)(start - rows->base);
    rows->rules[rows->count++] = rule;
    return true;
}

/* The rows of one entry, and where it ends.  */
static bool add_program(struct unwind_table *table, const struct cfi_program *program)
{
    struct cfi_machine machine;
    uint64_t end = program->start;

    (void)cfi_begin(&machine, program);
    while (cfi_next(&machine)) {
        if (!add_row(&table->rows, machine.now.start, keep_rule(table, &machine.now)))
            return false;
        end = machine.now.limit;
    }
    if (was_out_of_memory(table))
        return false;
    table->report.refused += machine.odd;
    return (!machine.odd || add_row(&table->rows, end, RULE_REFUSED)) &&
           add_row(&table->rows, program->limit, RULE_NONE);
}

static int compare_programs(const void *left, const void *right)
{
    const struct cfi_program *a = left, *b = right;

    return (a->start > b->start) - (a->start < b->start);
}

/* What is executed and made at most of a section: damaged and hostile ones cost no more than the
 * largest that are none.  */
#define MAX_EXECUTED (UINT64_C(256) << 20) /* bytes of instructions */
#define MAX_ROWS     ((size_t)1 << 25)     /* a power of two */

/* Whether an entry can be executed; each byte of it makes at most one row.  */
static bool is_affordable(struct making *making, const struct cfi_program *program)
{
    uint64_t size = (uint64_t)program->initial_size + program->instructions_size;

    if (program->initial_size > CFI_MAX_INITIAL ||
        program->instructions_size > CFI_MAX_INSTRUCTIONS ||
        size > MAX_EXECUTED - making->executed ||
        making->table->rows.count + program->instructions_size + 3 > MAX_ROWS)
        return false;
    making->executed += size;
    return true;
}

/* Where entries overlap the first one counts.  */
static bool add_programs(struct making *making)
{
    struct unwind_table *table = making->table;
    uint64_t limit = 0;

    if (making->count == 0)
        return true;
    qsort(making->programs, making->count, sizeof *making->programs, compare_programs);
    for (size_t i = 0; i < making->count; i++) {
        const struct cfi_program *program = &making->programs[i];
        uint64_t base = table->rows.count > 0 ? table->rows.base : program->start;

        if (program->start < limit || program->limit < program->start ||
            program->limit - base > UINT32_MAX || !is_affordable(making, program)) {
            table->report.refused++;
            continue;
        }
        table->rows.base = base;
        if (table->rows.count > 0 && program->start == limit)
            table->rows.count--; /* the gap is none */
        if (!add_program(table, program))
            return false;
        limit = program->limit;
        if (table->report.machine == UNWIND_X86_64 && i % (1 + making->count / MOST_JUDGED) == 0)
            judge(&making->judgement, program);
    }
    return true;
}

/* All rows of a section at once.  */
static enum unwind_status make_rows(struct unwind_table *table, const uint8_t *bytes, size_t size,
                                    uint64_t vaddr, bool is_eh_frame)
{
    struct making making = { .table = table };
    enum unwind_status status = entries_each(table->report.machine, bytes, size, vaddr, is_eh_frame,
                                             take_program, &making, &table->report.problem);

    table->is_made = true;
    if (status == UNWIND_OK && !add_programs(&making))
        status = UNWIND_NO_MEMORY;
    if (!table->report.is_searched)
        table->report.entries = making.count;
    table->frame_pointers = verdict(&making.judgement);
    free(making.programs);
    return status;
}

/* Of .eh_frame, which is in memory.  */
static enum unwind_status make_from_frames(struct unwind_table *table)
{
    const struct object *object = &table->object;

    return make_rows(table, object->frames.bytes + object->eh_frame_offset, object->eh_frame_size,
                     object->frames.vaddr + object->eh_frame_offset, true);
}

/* ---- Where rows are ---- */

static uint32_t find_made(const struct made_rows *rows, uint64_t vaddr, size_t *index)
{
    uint64_t wanted = vaddr - rows->base;
    size_t low = 0;

    if (rows->count == 0 || vaddr < rows->base || wanted > UINT32_MAX)
        return RULE_NONE;
    for (size_t high = rows->count; low < high;) { /* rows before low begin at or before it */
        size_t middle = low + (high - low) / 2;

        if (rows->starts[middle] <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return RULE_NONE;
    *index = low - 1;
    return rows->rules[low - 1];
}

/* The address in memory that is to the table's bytes as vaddr is to where they are loaded.  */
static uint64_t in_memory(const struct unwind_table *table, uint64_t vaddr)
{
    return vaddr - table->object.frames.vaddr + (uint64_t)(uintptr_t)table->object.frames.bytes;
}

static uint64_t from_memory(const struct unwind_table *table, uint64_t address)
{
    return address + table->object.frames.vaddr - (uint64_t)(uintptr_t)table->object.frames.bytes;
}

/* ---- Opening ---- */

static void drop_section(struct section *section)
{
    free(section->bytes);
    *section = (struct section){ .bytes = NULL };
}

static bool start_search(struct unwind_table *table)
{
    const struct object *object = &table->object;
    uint32_t count;

    if (!object->has_header)
        return false;
    table->section = (struct cfi_section){
        .start = object->frames.bytes,
        .limit = object->frames.bytes + object->frames.size,
        .header = object->frames.bytes + object->header_offset,
    };
    if (!cfi_has_table(&table->section, &count) || count == 0 ||
        !cfi_is_sorted(&table->section, count))
        return false;
    table->report.is_searched = true;
    table->report.entries = count;
    return true;
}

/* A damaged section leaves a table without rows, and the report says so.  */
static enum unwind_status forgive(enum unwind_status status)
{
    return status == UNWIND_MALFORMED ? UNWIND_OK : status;
}

/* Of the object or its debug file, where there is one that can be read.  */
static enum unwind_status use_debug_frame(struct unwind_table *table,
                                          const struct unwind_object *from, enum object_part part)
{
    struct object object;
    enum unwind_status status = object_read(from, part, &object, NULL);

    if (status != UNWIND_OK)
        return status == UNWIND_NO_MEMORY ? status : UNWIND_OK;
    if (object.debug_frame.bytes && object.machine == table->report.machine) {
        table->report.source = part == OBJECT_DEBUG_FILE ? UNWIND_SOURCE_DEBUG_FILE
                                                         : UNWIND_SOURCE_DEBUG_FRAME;
        status = forgive(make_rows(table, object.debug_frame.bytes, object.debug_frame.size,
                                   object.debug_frame.vaddr, false));
    }
    object_release(&object);
    return status;
}

static bool has_row(const struct unwind_table *table, uint64_t vaddr)
{
    struct cfi_program program;
    size_t index;

    return table->report.is_searched
               ? cfi_search(&table->section, in_memory(table, vaddr), &program) != CFI_NOTHING
               : find_made(&table->rows, vaddr, &index) != RULE_NONE;
}

/* The code at the entry point, written by hand, often has no rows.  It ends where there are some at
 * the latest.  */
static enum unwind_status find_entry(struct unwind_table *table, const struct unwind_object *from)
{
    struct object *object = &table->object, symbols;
    enum unwind_status status;
    uint64_t limit = object->entry;

    object->entry_limit = limit;
    if (object->entry == 0 || has_row(table, object->entry))
        return UNWIND_OK;
    status = object_read(from, OBJECT_ENTRY, &symbols, NULL);
    if (status != UNWIND_OK)
        return status == UNWIND_NO_MEMORY ? status : UNWIND_OK;
    while (limit < symbols.entry_limit && !has_row(table, limit))
        limit++;
    object->entry_limit = limit;
    return UNWIND_OK;
}

static enum unwind_status use_object(struct unwind_table *table, const struct unwind_object *from)
{
    struct object *object = &table->object;
    enum unwind_status status = UNWIND_OK;

    if (object->frames.bytes) {
        table->report.source = UNWIND_SOURCE_EH_FRAME;
        if (start_search(table))
            return UNWIND_OK;
        status = forgive(make_from_frames(table));
        drop_section(&object->frames);
    }
    if (status == UNWIND_OK && table->rows.count == 0)
        status = use_debug_frame(table, from, OBJECT_DEBUG_FRAME);
    if (status == UNWIND_OK && table->rows.count == 0 && from->debug_fd >= 0)
        status = use_debug_frame(table, from, OBJECT_DEBUG_FILE);
    if (status == UNWIND_OK && table->report.source == UNWIND_SOURCE_NONE)
        table->report.problem = object->is_damaged ? "its .eh_frame is not in the file"
                                                   : "it has no unwind tables";
    return status;
}

enum unwind_status unwind_table_open(const struct unwind_object *object, struct unwind_table **out,
                                     struct unwind_error *error)
{
    struct unwind_table *table = calloc(1, sizeof *table);
    enum unwind_status status;

    if (!table)
        return unwind_fail(error, UNWIND_NO_MEMORY, "out of memory");
    table->report.problem = "";
    status = object_read(object, OBJECT_FRAMES, &table->object, error);
    if (status == UNWIND_OK) {
        table->report.machine = table->object.machine;
        memcpy(table->report.build_id, table->object.build_id, sizeof table->report.build_id);
        table->report.build_id_length = table->object.build_id_length;
        status = use_object(table, object);
        if (status == UNWIND_OK)
            status = find_entry(table, object);
        if (status != UNWIND_OK)
            (void)unwind_fail(error, status, "out of memory");
    }
    if (status != UNWIND_OK) {
        unwind_table_close(table);
        return status;
    }
    *out = table;
    return UNWIND_OK;
}

void unwind_table_close(struct unwind_table *table)
{
    if (!table)
        return;
    object_release(&table->object);
    free(table->rows.starts);
    free(table->rows.rules);
    pool_release(&table->rules);
    pool_release(&table->expressions);
    free(table);
}

const struct unwind_report *unwind_table_report(struct unwind_table *table)
{
    struct unwind_report *report = &table->report;

    report->rules = table->rules.index.used;
    report->memory_bytes = sizeof *table + table->object.frames.size +
                           table->rows.capacity * 2 * sizeof(uint32_t) +
                           pool_memory(&table->rules) + pool_memory(&table->expressions);
    if (table->is_made)
        report->rows = table->rows.count;
    return report;
}

/* ---- Looking up ---- */

static uint32_t plt_rule(const struct plt *plt, uint64_t offset)
{
    if (offset < plt->first_size)
        return offset >= plt->first_push ? RULE_PLT_FIRST_PUSHED : RULE_PLT_FIRST;
    return offset % 16 >= plt->push ? RULE_PLT_PUSHED : RULE_PLT;
}

/* Of code without rows.  */
static uint32_t uncovered_rule(const struct unwind_table *table, uint64_t vaddr)
{
    const struct object *object = &table->object;

    if (object->entry != 0 && vaddr - object->entry < object->entry_limit - object->entry)
        return RULE_ENTRY;
    for (size_t i = 0; i < object->plt_count; i++) {
        const struct plt *plt = &object->plts[i];

        if (vaddr >= plt->start && vaddr < plt->limit)
            return plt_rule(plt, vaddr - plt->start);
    }
    return RULE_NONE;
}

/* What the search does not understand, libdwarf may: all rows are made, once.  */
static bool ask_made(struct unwind_table *table, uint64_t vaddr, uint32_t *rule)
{
    size_t index;

    if (!table->is_made && make_from_frames(table) == UNWIND_NO_MEMORY)
        return false;
    *rule = find_made(&table->rows, vaddr, &index);
    if (*rule == RULE_NONE)
        *rule = RULE_REFUSED;
    return true;
}

/* A table whose rows cost more to find than so many executed bytes each, once so many have been
 * executed at all, has all its rows made instead.  */
#define SEARCH_BYTES 4096U
#define SEARCH_FREE  (UINT64_C(16) << 20)

/* False: no memory.  */
static bool stop_searching(struct unwind_table *table)
{
    if (!table->report.is_searched ||
        table->executed <= SEARCH_FREE + SEARCH_BYTES * table->searches)
        return true;
    if (!table->is_made && make_from_frames(table) == UNWIND_NO_MEMORY)
        return false;
    table->report.is_searched = false;
    drop_section(&table->object.frames);
    return true;
}

/* Find the row in the section.  */
static enum cfi_found search_row(struct unwind_table *table, uint64_t vaddr, struct cfi_row *row)
{
    struct cfi_program program;
    enum cfi_found found = cfi_search(&table->section, in_memory(table, vaddr), &program);
    if (found != CFI_FOUND)
        return found;
    table->searches++;
    table->executed += (uint64_t)program.initial_size + program.instructions_size;
    return cfi_row_at(&program, in_memory(table, vaddr), row) ? CFI_FOUND : CFI_ODD;
}

bool table_rule(struct unwind_table *table, uint64_t vaddr, uint32_t *rule)
{
    struct cfi_row row;
    size_t index;

    if (!stop_searching(table))
        return false;
    if (!table->report.is_searched) {
        *rule = find_made(&table->rows, vaddr, &index);
    } else {
        enum cfi_found found = search_row(table, vaddr, &row);

        if (found == CFI_ODD)
            return ask_made(table, vaddr, rule);
        *rule = RULE_NONE;
        if (found == CFI_FOUND) {
            *rule = keep_rule(table, &row);
            table->report.rows += !table->is_made;
            if (was_out_of_memory(table))
                return false;
        }
    }
    if (*rule == RULE_NONE)
        *rule = uncovered_rule(table, vaddr);
    return true;
}

bool unwind_table_is_outermost(struct unwind_table *table, uint64_t vaddr)
{
    const uint32_t *words;
    uint32_t rule = RULE_NONE;

    if (!table_rule(table, vaddr, &rule) || rule < RULE_FIRST)
        return rule == RULE_ENTRY;
    words = (const uint32_t *)(const void *)(table->rules.bytes + rule);
    for (uint32_t i = 0; i < RULE_COUNT(words[0]); i++)
        if (RULE_COLUMN(words[2 + 2 * i]) == RULE_RETURN(words[0]))
            return RULE_KIND(words[2 + 2 * i]) == CFI_UNDEFINED;
    return false;
}

/* ---- For people ---- */

static void describe_rule(const struct unwind_table *table, uint32_t rule, struct unwind_row *out)
{
    uint32_t words[RULE_MAX_WORDS], size;

    memcpy(&size, table->rules.bytes + rule - sizeof size, sizeof size);
    memcpy(words, table->rules.bytes + rule, size);
    out->cfa_is_expression = words[0] & RULE_EXPRESSION;
    out->is_signal = words[0] & RULE_SIGNAL;
    out->return_column = RULE_RETURN(words[0]);
    out->cfa_register = RULE_CFA(words[0]);
    out->cfa_offset = out->cfa_is_expression ? 0 : (int32_t)words[1];
    for (size_t i = 2; i < size / sizeof *words; i += 2) {
        unsigned column = RULE_COLUMN(words[i]), kind = RULE_KIND(words[i]);

        out->rules[column].kind = (enum unwind_rule_kind)kind;
        if (kind != CFI_SAVED_AT && kind != CFI_VALUE_OF)
            out->rules[column].offset = (int32_t)words[i + 1];
    }
}

enum unwind_status unwind_table_row(struct unwind_table *table, uint64_t vaddr,
                                    struct unwind_row *out)
{
    struct unwind_row answer = { .start = vaddr, .limit = vaddr + 1 };
    struct cfi_row row;
    size_t index = 0;
    uint32_t rule;

    if (!table_rule(table, vaddr, &rule))
        return UNWIND_NO_MEMORY;
    if (rule == RULE_REFUSED)
        return UNWIND_MALFORMED;
    if (rule < RULE_FIRST)
        return UNWIND_NOT_FOUND;
    describe_rule(table, rule, &answer);
    if (table->report.is_searched && search_row(table, vaddr, &row) == CFI_FOUND) {
        answer.start = from_memory(table, row.start);
        answer.limit = from_memory(table, row.limit);
    } else {
        (void)find_made(&table->rows, vaddr, &index);
        answer.start = table->rows.base + table->rows.starts[index];
        if (index + 1 < table->rows.count)
            answer.limit = table->rows.base + table->rows.starts[index + 1];
    }
    *out = answer;
    return UNWIND_OK;
}
