/* dwarf_lines.c - the line table of a unit: its program run, its rows by address. */
#include "libsymbolize/symbolize_internal.h"
#include <stdlib.h>

#include "base/grow.h"

enum {
    ROWS_MAX = 1 << 23,   /* of a unit: 40 MB of code and more */
    ROWS_SPARE = 1 << 12, /* as many more than bytes of code */
    SEQUENCES_MAX = 1 << 22,
};

/* The registers (6.2.2), as far as rows show them.  */
struct machine {
    uint64_t vaddr, slot;
    uint64_t file, line, column;
    uint64_t discriminator; /* of the next row alone */
};

struct program {
    struct sym_decoder *decoder;
    struct sym_lines *lines;
    const struct sym_line_header *header;
    struct machine machine;
    size_t rows_max;  /* an honest unit has at most one for a byte of code */
    size_t first;     /* row of the current sequence */
    uint64_t highest; /* address in it so far */
    bool backwards;   /* it went back: damaged, what follows is dropped */

    /* What each special opcode adds (6.2.5.1).  */
    uint8_t operations[256];
    int16_t line_steps[256];
};

static const struct machine start_of_sequence = { .file = 1, .line = 1 };

static uint32_t cut_u32(uint64_t value)
{
    return value <= UINT32_MAX ? (uint32_t)value : 0; /* 0 stands for unknown */
}

static bool same_position(const struct sym_row *a, const struct sym_row *b)
{
    return a->line == b->line && a->file == b->file && a->column == b->column &&
           a->discriminator == b->discriminator;
}

/* Line 0 is code of no line: it shows the last one that was named (section 5), unless the caller
 * wants all details.  Of several rows at one address the last counts.  */
static enum sym_status add_row(struct program *program)
{
    struct sym_lines *lines = program->lines;
    struct machine *machine = &program->machine;
    bool details = program->decoder->dwarf->details;
    struct sym_row row = { .vaddr = machine->vaddr,
                           .file = cut_u32(machine->file),
                           .line = cut_u32(machine->line),
                           .column = cut_u32(machine->column),
                           .discriminator = details ? cut_u32(machine->discriminator) : 0 };

    machine->discriminator = 0;
    if (lines->row_count > program->first) {
        struct sym_row *last = &lines->rows[lines->row_count - 1];
        program->backwards |= row.vaddr < program->highest;
        if (program->backwards)
            return SYM_OK;
        program->highest = row.vaddr;
        if ((row.line == 0 && !details) || same_position(&row, last))
            return SYM_OK;
        if (row.vaddr == last->vaddr) {
            *last = row;
            return SYM_OK;
        }
    }
    program->highest = row.vaddr;
    if (lines->row_count >= program->rows_max)
        return SYM_MALFORMED;
    if (!base_make_room(&lines->rows, &lines->row_capacity, lines->row_count + 1,
                        sizeof *lines->rows))
        return SYM_NO_MEMORY;
    lines->rows[lines->row_count++] = row;
    return SYM_OK;
}

static void begin_sequence(struct program *program)
{
    program->machine = start_of_sequence;
    program->first = program->lines->row_count;
    program->backwards = false;
}

/* Ends the current sequence at the machine's address.  Those of dropped functions (tombstones) go,
 * and those that cover nothing.  */
static enum sym_status end_sequence(struct program *program)
{
    struct sym_lines *lines = program->lines;
    size_t first = program->first, count = lines->row_count - first;
    uint64_t end = program->machine.vaddr > program->highest ? program->machine.vaddr
                                                             : program->highest;
    const struct sym_code *code = count ? sym_object_code(program->decoder->dwarf->object,
                                                          lines->rows[first].vaddr)
                                        : NULL;

    if (!code || end <= lines->rows[first].vaddr) {
        lines->row_count = first;
        begin_sequence(program);
        return SYM_OK;
    }
    if (lines->sequence_count >= SEQUENCES_MAX)
        return SYM_MALFORMED;
    if (!base_make_room(&lines->sequences, &lines->sequence_capacity, lines->sequence_count + 1,
                        sizeof *lines->sequences))
        return SYM_NO_MEMORY;
    lines->sequences[lines->sequence_count++] =
        (struct sym_sequence){ .low = lines->rows[first].vaddr,
                               .high = end < code->limit ? end : code->limit,
                               .first = first,
                               .count = count };
    begin_sequence(program);
    return SYM_OK;
}

/* ---- Opcodes (6.2.5) ---- */

static inline void advance(struct program *program, uint64_t operations)
{
    const struct sym_line_header *header = program->header;
    struct machine *machine = &program->machine;

    if (header->slots == 1) {
        machine->vaddr += header->step_bytes * operations;
        return;
    }
    machine->vaddr += header->step_bytes * ((machine->slot + operations) / header->slots);
    machine->slot = (machine->slot + operations) % header->slots;
}

static void prepare_special(struct program *program)
{
    const struct sym_line_header *header = program->header;
    uint64_t operations = 0, line = 0;

    if (header->line_range == 0)
        return;
    for (uint64_t opcode = header->opcode_base; opcode < 256; opcode++) {
        program->operations[opcode] = (uint8_t)operations;
        program->line_steps[opcode] = (int16_t)(header->line_base + (int)line);
        if (++line == header->line_range) {
            line = 0;
            operations++;
        }
    }
}

static enum sym_status run_special(struct program *program, uint8_t opcode)
{
    if (program->header->line_range == 0)
        return SYM_MALFORMED;
    advance(program, program->operations[opcode]);
    program->machine.line += (uint64_t)(int64_t)program->line_steps[opcode];
    return add_row(program);
}

static enum sym_status run_extended(struct program *program, struct sym_cursor *cursor)
{
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
    case DW_LNE_set_discriminator:
        program->machine.discriminator = sym_read_uleb(&operands);
        return operands.failed ? SYM_MALFORMED : SYM_OK;
    default: /* what vendors add, and files defined late, which nobody writes */
        return SYM_OK;
    }
}

/* A standard opcode that is not of this standard: skip as many numbers as the header says.  */
static void skip_operands(const struct program *program, uint8_t opcode, struct sym_cursor *cursor)
{
    for (uint8_t i = 0; i < program->header->operands[opcode]; i++)
        (void)sym_read_uleb(cursor);
}

static enum sym_status run_standard(struct program *program, uint8_t opcode,
                                    struct sym_cursor *cursor)
{
    struct machine *machine = &program->machine;

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
        if (program->header->line_range == 0)
            return SYM_MALFORMED;
        advance(program, (255 - program->header->opcode_base) / program->header->line_range);
        break;
    case DW_LNS_fixed_advance_pc:
        machine->vaddr += sym_read_number(cursor, 2);
        machine->slot = 0;
        break;
    case DW_LNS_negate_stmt:
    case DW_LNS_set_basic_block:
    case DW_LNS_set_prologue_end:
    case DW_LNS_set_epilogue_begin:
        break;
    default:
        skip_operands(program, opcode, cursor);
        break;
    }
    return SYM_OK;
}

static enum sym_status run(struct program *program)
{
    const uint64_t opcode_base = program->header->opcode_base;
    struct sym_cursor cursor = program->header->program;
    enum sym_status status = SYM_OK;

    while (cursor.left && !status) {
        uint8_t opcode = *cursor.next++;
        cursor.left--;
        if (opcode >= opcode_base)
            status = run_special(program, opcode);
        else if (opcode == 0)
            status = run_extended(program, &cursor);
        else
            status = run_standard(program, opcode, &cursor);
    }
    /* A sequence without an end says nothing about its last row.  */
    program->lines->row_count = program->first;
    return !status && cursor.failed ? SYM_MALFORMED : status;
}

/* ---- Table ---- */

enum sym_status sym_lines_sort(struct sym_decoder *decoder, struct sym_lines *lines)
{
    struct sym_ranges *ranges = &decoder->ranges;
    enum sym_status status = SYM_OK;

    ranges->count = 0;
    for (size_t i = 0; i < lines->sequence_count && !status; i++)
        status = sym_ranges_add(ranges, (struct sym_range){ .low = lines->sequences[i].low,
                                                            .high = lines->sequences[i].high,
                                                            .value = (uint32_t)i });
    if (status != SYM_NO_MEMORY)
        status = sym_segments_append(&lines->segments, ranges, &decoder->sweep);
    return status;
}

/* Gives back the room that growing took and rows did not need.  */
static enum sym_status trim(struct sym_lines *lines)
{
    if (lines->row_count == 0)
        return SYM_OK;
    struct sym_row *rows = base_realloc(lines->rows, lines->row_count * sizeof *rows);
    if (!rows)
        return SYM_NO_MEMORY;
    lines->rows = rows;
    lines->row_capacity = lines->row_count;
    return SYM_OK;
}

static size_t most_rows(const struct sym_object *object)
{
    uint64_t bytes = ROWS_SPARE;

    for (size_t i = 0; i < object->code_count && bytes < ROWS_MAX; i++)
        if (__builtin_add_overflow(bytes, object->code[i].limit - object->code[i].start, &bytes))
            return ROWS_MAX;
    return bytes < ROWS_MAX ? (size_t)bytes : ROWS_MAX;
}

static enum sym_status read_table(struct sym_decoder *decoder, struct sym_unit *unit)
{
    struct sym_line_header header;
    struct program program = { .decoder = decoder, .lines = &unit->lines, .header = &header };
    enum sym_status status = sym_line_header_read(unit, &header);

    if (status)
        return status;
    program.rows_max = most_rows(decoder->dwarf->object);
    begin_sequence(&program);
    prepare_special(&program);
    status = run(&program);
    if (status == SYM_NO_MEMORY)
        return status;
    return trim(&unit->lines) ? SYM_NO_MEMORY : status;
}

enum sym_status sym_lines_read(struct sym_decoder *decoder, struct sym_unit *unit)
{
    if (unit->line_offset == UINT64_MAX)
        return SYM_OK;
    enum sym_status status = read_table(decoder, unit);
    if (status == SYM_NO_MEMORY)
        return status;
    if (status)
        sym_decoder_damage(decoder, "damaged line table at 0x%llx of .debug_line",
                           (unsigned long long)unit->line_offset);
    return sym_lines_sort(decoder, &unit->lines);
}

void sym_lines_release(struct sym_lines *lines)
{
    base_free(lines->rows);
    base_free(lines->sequences);
    base_free(lines->files);
    base_free(lines->directories);
    sym_segments_release(&lines->segments);
    *lines = (struct sym_lines){ 0 };
}
