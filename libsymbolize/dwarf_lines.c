/* dwarf_lines.c - the line table of a unit: its program run, its rows by address.
 *
 * Not by libdwarf: its line programs start DWARF 5 sequences at file 0 where the standard (6.2.2)
 * says 1, which gives wrong files where the two differ.  "6.2" below is DWARF 5. */
#include "libsymbolize/internal.h"
#include <stdlib.h>
#include <string.h>

/* The registers of 6.2.2, as far as rows show them.  */
struct machine {
    uint64_t vaddr, slot;
    uint64_t file, column;
    uint64_t line;
};

struct program {
    struct sym_dwarf *dwarf;
    struct sym_lines *lines;
    const struct sym_line_header *header;
    struct sym_cursor cursor;
    struct machine machine;
    size_t first; /* row of the current sequence */
};

static const struct machine start_of_sequence = { .file = 1, .line = 1 };

static uint32_t cut_u32(uint64_t value)
{
    return value <= UINT32_MAX ? (uint32_t)value : 0; /* 0 stands for unknown */
}

static enum sym_status add_row(struct program *program)
{
    struct sym_lines *lines = program->lines;
    struct sym_row *rows = sym_grow(lines->rows, &lines->row_capacity, lines->row_count,
                                    sizeof *rows);

    if (!rows)
        return SYM_NO_MEMORY;
    lines->rows = rows;
    rows[lines->row_count++] = (struct sym_row){ .vaddr = program->machine.vaddr,
                                                 .file = cut_u32(program->machine.file),
                                                 .line = cut_u32(program->machine.line),
                                                 .column = cut_u32(program->machine.column) };
    return SYM_OK;
}

/* ---- Sequences ---- */

/* Rows of a sequence ascend; where they do not, the table is damaged and what lies behind the step
 * back is dropped.  */
static size_t ascending_rows(const struct sym_row *rows, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (rows[i].vaddr < rows[i - 1].vaddr)
            return i;
    return count;
}

/* Line 0 is code of no line: it shows the last one that was named (section 5).  */
static void fill_line_0(struct sym_row *rows, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (rows[i].line != 0)
            continue;
        rows[i].file = rows[i - 1].file;
        rows[i].line = rows[i - 1].line;
        rows[i].column = rows[i - 1].column;
    }
}

/* Ends the current sequence at the machine's address.  Those of dropped functions (tombstones) go,
 * and those that cover nothing.  */
static enum sym_status end_sequence(struct program *program)
{
    struct sym_lines *lines = program->lines;
    size_t first = program->first, count = lines->row_count - first;
    uint64_t end = program->machine.vaddr;
    const struct sym_code *code = count ? sym_object_code(program->dwarf->object,
                                                          lines->rows[first].vaddr)
                                        : NULL;

    program->machine = start_of_sequence;
    lines->row_count = first;
    if (!code)
        return SYM_OK;
    struct sym_row *rows = lines->rows + first;
    count = ascending_rows(rows, count);
    if (rows[count - 1].vaddr > end)
        end = rows[count - 1].vaddr;
    if (end <= rows[0].vaddr)
        return SYM_OK;
    fill_line_0(rows, count);
    struct sym_sequence *sequences = sym_grow(lines->sequences, &lines->sequence_capacity,
                                              lines->sequence_count, sizeof *sequences);
    if (!sequences)
        return SYM_NO_MEMORY;
    lines->sequences = sequences;
    sequences[lines->sequence_count++] =
        (struct sym_sequence){ .low = rows[0].vaddr,
                               .high = end < code->limit ? end : code->limit,
                               .first = first,
                               .count = count };
    lines->row_count = program->first = first + count;
    return SYM_OK;
}

/* ---- Opcodes (6.2.5) ---- */

static void advance(struct program *program, uint64_t operations)
{
    const struct sym_line_header *header = program->header;
    struct machine *machine = &program->machine;

    machine->vaddr += header->step_bytes * ((machine->slot + operations) / header->slots);
    machine->slot = (machine->slot + operations) % header->slots;
}

static enum sym_status run_special(struct program *program, uint64_t opcode)
{
    const struct sym_line_header *header = program->header;
    uint64_t adjusted = opcode - header->opcode_base;

    if (header->line_range == 0)
        return SYM_MALFORMED;
    advance(program, adjusted / header->line_range);
    program->machine.line += (uint64_t)(int64_t)header->line_base + adjusted % header->line_range;
    return add_row(program);
}

static enum sym_status run_extended(struct program *program)
{
    struct sym_cursor *cursor = &program->cursor;
    uint64_t length = sym_read_uleb(cursor);

    if (cursor->failed || length == 0 || length > cursor->left)
        return SYM_MALFORMED;
    struct sym_cursor operands = *cursor;
    operands.left = (size_t)length;
    sym_skip(cursor, length);
    switch (sym_read_number(&operands, 1)) {
    case DW_LNE_end_sequence:
        return end_sequence(program);
    case DW_LNE_set_address:
        if (operands.left > 8)
            return SYM_MALFORMED;
        program->machine.vaddr = sym_read_number(&operands, operands.left);
        program->machine.slot = 0;
        return SYM_OK;
    default: /* discriminators, what vendors add, and files defined late, which nobody writes */
        return SYM_OK;
    }
}

/* A standard opcode that is not of this standard: skip as many numbers as the header says.  */
static void skip_operands(struct program *program, uint64_t opcode)
{
    for (uint8_t i = 0; i < program->header->operands[opcode]; i++)
        (void)sym_read_uleb(&program->cursor);
}

static enum sym_status run_standard(struct program *program, uint64_t opcode)
{
    const struct sym_line_header *header = program->header;
    struct machine *machine = &program->machine;
    struct sym_cursor *cursor = &program->cursor;

    switch (opcode) {
    case DW_LNS_copy:
        return add_row(program);
    case DW_LNS_advance_pc:
        advance(program, sym_read_uleb(cursor));
        break;
    case DW_LNS_advance_line:
        machine->line += (uint64_t)sym_read_sleb(cursor);
        break;
    case DW_LNS_set_file:
        machine->file = sym_read_uleb(cursor);
        break;
    case DW_LNS_set_column:
        machine->column = sym_read_uleb(cursor);
        break;
    case DW_LNS_const_add_pc:
        if (header->line_range == 0)
            return SYM_MALFORMED;
        advance(program, (255 - header->opcode_base) / header->line_range);
        break;
    case DW_LNS_fixed_advance_pc:
        machine->vaddr += sym_read_number(cursor, 2);
        machine->slot = 0;
        break;
    default:
        skip_operands(program, opcode);
        break;
    }
    return SYM_OK;
}

static enum sym_status run(struct program *program)
{
    enum sym_status status = SYM_OK;

    while (program->cursor.left && !status) {
        uint64_t opcode = sym_read_number(&program->cursor, 1);
        if (opcode >= program->header->opcode_base)
            status = run_special(program, opcode);
        else if (opcode == 0)
            status = run_extended(program);
        else
            status = run_standard(program, opcode);
    }
    /* A sequence without an end says nothing about its last row.  */
    program->lines->row_count = program->first;
    return !status && program->cursor.failed ? SYM_MALFORMED : status;
}

/* ---- Table ---- */

static enum sym_status sort_sequences(struct sym_lines *lines)
{
    struct sym_ranges ranges = { 0 };
    enum sym_status status = SYM_OK;

    for (size_t i = 0; i < lines->sequence_count && !status; i++)
        status = sym_ranges_add(&ranges, (struct sym_range){ .low = lines->sequences[i].low,
                                                             .high = lines->sequences[i].high,
                                                             .value = (uint32_t)i });
    if (status != SYM_NO_MEMORY)
        status = sym_segments_build(&lines->segments, &ranges);
    sym_ranges_release(&ranges);
    return status;
}

static enum sym_status read_table(struct sym_dwarf *dwarf, struct sym_lines *lines, uint64_t offset,
                                  const char *comp_dir)
{
    struct sym_line_header header;
    enum sym_status status = sym_line_header_read(dwarf, offset, comp_dir, lines, &header);

    if (status)
        return status;
    /* Units may share a table; more than a few would make a small file run long.  */
    if (header.program.left > dwarf->line_budget)
        return SYM_MALFORMED;
    dwarf->line_budget -= header.program.left;
    struct program program = { .dwarf = dwarf,
                               .lines = lines,
                               .header = &header,
                               .cursor = header.program,
                               .machine = start_of_sequence };
    return run(&program);
}

enum sym_status sym_lines_read(struct sym_dwarf *dwarf, struct sym_unit *unit, Dwarf_Die die)
{
    char *comp_dir = NULL;
    Dwarf_Error error = NULL;
    uint64_t offset = UINT64_MAX;
    enum sym_status status = sym_dwarf_unsigned(dwarf, die, DW_AT_stmt_list, UINT64_MAX, &offset);

    if (status || offset == UINT64_MAX)
        return status;
    status = sym_dwarf_status(dwarf, dwarf_die_text(die, DW_AT_comp_dir, &comp_dir, &error),
                              &error);
    if (status == SYM_NO_MEMORY)
        return status;
    status = read_table(dwarf, &unit->lines, offset, !status && comp_dir ? comp_dir : "");
    if (status == SYM_NO_MEMORY)
        return status;
    if (status)
        sym_dwarf_damage(dwarf, "damaged line table at 0x%llx of .debug_line",
                         (unsigned long long)offset);
    return sort_sequences(&unit->lines);
}

const struct sym_row *sym_lines_find(const struct sym_lines *lines, uint64_t vaddr)
{
    uint32_t index = sym_segments_find(&lines->segments, vaddr);

    if (index == SYM_NO_VALUE)
        return NULL;
    const struct sym_sequence *sequence = &lines->sequences[index];
    const struct sym_row *rows = lines->rows + sequence->first;
    size_t low = 0, high = sequence->count;
    while (low < high) { /* the first row behind vaddr */
        size_t middle = low + (high - low) / 2;
        if (rows[middle].vaddr <= vaddr)
            low = middle + 1;
        else
            high = middle;
    }
    return low && rows[low - 1].line ? &rows[low - 1] : NULL;
}

void sym_lines_release(struct sym_lines *lines)
{
    free(lines->rows);
    free(lines->sequences);
    free(lines->files);
    sym_segments_release(&lines->segments);
    *lines = (struct sym_lines){ 0 };
}
