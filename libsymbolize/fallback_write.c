/* fallback_write.c - a unit as libdwarf reads it, written as bytes: what the child process does.
 *
 * Numbers are little-endian, strings end with a zero byte:
 *
 *   answer     mark (4), parts (4), functions, lines, mark (4); of the two, those in parts
 *   functions  count (4) of entries, count (4) of ranges, entries, ranges
 *   entry      parent (4, UINT32_MAX none), depth (4), DIE (8), call file, line, column (4 each),
 *              declared: line, file (4 each), DIE (8); name, linkage name
 *   range      entry (4), low, high (8 each)
 *   lines      version, first file (4 each), counts (4 each) of directories, files, rows and
 *              sequences, compilation directory, directories, files, rows, sequences
 *   directory  name
 *   file       directory (8), name
 *   row        vaddr (8), file, line, column (4 each)
 *   sequence   low, high (8 each), first row, count of rows (4 each)  */
#include "libsymbolize/fallback.h"
#include "libsymbolize/oracle.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/grow.h"

struct output {
    uint8_t *bytes;
    size_t size, capacity;
    bool failed;
};

/* What the parts are read from.  */
struct reading {
    const struct sym_fallback_job *job;
    struct sym_oracle *main, *alt, *split;
    struct sym_oracle_unit unit;
    struct output out;
};

/* ---- Bytes ---- */

static void put_bytes(struct output *out, const void *bytes, size_t size)
{
    if (out->failed || !base_make_room(&out->bytes, &out->capacity, out->size + size, 1)) {
        out->failed = true;
        return;
    }
    memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
}

static void put_number(struct output *out, uint64_t number, size_t size)
{
    uint8_t bytes[8];

    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(number >> 8 * i);
    put_bytes(out, bytes, size);
}

/* A number that does not fit is otherwise.  */
static void put_u32(struct output *out, uint64_t number, uint32_t otherwise)
{
    put_number(out, number <= UINT32_MAX ? number : otherwise, 4);
}

static void put_string(struct output *out, const char *string)
{
    put_bytes(out, string, strlen(string) + 1);
}

static void put_count(struct output *out, size_t count)
{
    out->failed |= count >= SYM_NO_VALUE;
    put_number(out, count, 4);
}

/* ---- Functions ---- */

static void put_entry(struct output *out, const struct sym_oracle_entry *entry)
{
    put_number(out, entry->parent == SIZE_MAX ? SYM_NO_VALUE : entry->parent, 4);
    put_number(out, entry->depth, 4);
    put_number(out, entry->die, 8);
    put_u32(out, entry->call_file, UINT32_MAX);
    put_u32(out, entry->call_line, 0);
    put_u32(out, entry->call_column, 0);
    put_u32(out, entry->start_line, 0);
    put_u32(out, entry->start_file, UINT32_MAX);
    put_number(out, entry->start_die, 8);
    put_string(out, entry->name);
    put_string(out, entry->linkage);
}

static void put_ranges(struct output *out, const struct sym_oracle_ranges *ranges)
{
    for (size_t i = 0; i < ranges->count; i++) {
        put_number(out, ranges->items[i].value, 4);
        put_number(out, ranges->items[i].low, 8);
        put_number(out, ranges->items[i].high, 8);
    }
}

static void put_functions(struct reading *reading)
{
    struct sym_oracle_unit *unit = &reading->unit;
    struct output *out = &reading->out;

    put_count(out, unit->entry_count);
    put_count(out, unit->functions.count + unit->inlined.count);
    for (size_t i = 0; i < unit->entry_count; i++) {
        sym_oracle_name(unit, &unit->entries[i]);
        put_entry(out, &unit->entries[i]);
    }
    put_ranges(out, &unit->functions);
    put_ranges(out, &unit->inlined);
}

/* The functions of a skeleton are in the file of its split unit.  */
static bool open_split(struct reading *reading, uint64_t *die)
{
    const struct sym_unit *unit = reading->job->unit;

    if (sym_oracle_open(unit->split->info->object, &reading->split, NULL) != SYM_OK)
        return false;
    sym_oracle_tie(reading->split, reading->main);
    *die = sym_oracle_find_split(reading->split, unit->dwo_id);
    (void)sym_oracle_problem(reading->split); /* of other units */
    return *die != UINT64_MAX;
}

static bool read_functions(struct reading *reading)
{
    const struct sym_unit *unit = reading->job->unit;
    uint64_t die = unit->die_offset;

    if (unit->split && !open_split(reading, &die))
        return false;
    struct sym_oracle *oracle = unit->split ? reading->split : reading->main;
    return sym_oracle_functions(oracle, reading->job->dwarf->object, die, unit->base,
                                &reading->unit) == SYM_OK;
}

/* ---- Lines ---- */

static void put_files(struct reading *reading, const struct sym_oracle_tables *tables)
{
    struct output *out = &reading->out;

    put_string(out, tables->comp_dir);
    for (size_t i = 0; i < tables->directory_count; i++) {
        const char *name = sym_oracle_directory(&reading->unit, i);
        put_string(out, name ? name : "");
    }
    for (size_t i = 0; i < tables->file_count; i++) {
        uint64_t directory = 0;
        const char *name = sym_oracle_file(&reading->unit, i, &directory);
        put_number(out, directory, 8);
        put_string(out, name ? name : "");
    }
}

static void put_lines(struct reading *reading, const struct sym_oracle_tables *tables)
{
    const struct sym_oracle_unit *unit = &reading->unit;
    struct output *out = &reading->out;

    put_number(out, unit->version, 4);
    put_number(out, tables->first_file, 4);
    put_count(out, tables->directory_count);
    put_count(out, tables->file_count);
    put_count(out, unit->row_count);
    put_count(out, unit->sequences.count);
    put_files(reading, tables);
    for (size_t i = 0; i < unit->row_count; i++) {
        const struct sym_oracle_row *row = &unit->rows[i];
        put_number(out, row->vaddr, 8);
        put_u32(out, row->file, 0);
        put_u32(out, row->is_named ? row->line : 0, 0);
        put_u32(out, row->column, 0);
    }
    for (size_t i = 0; i < unit->sequences.count; i++) {
        const struct sym_oracle_range *sequence = &unit->sequences.items[i];
        put_number(out, sequence->low, 8);
        put_number(out, sequence->high, 8);
        put_number(out, sequence->value, 4);
        put_number(out, sequence->limit - sequence->value, 4);
    }
}

/* ---- All ---- */

static bool open_files(struct reading *reading)
{
    const struct sym_info *alt = reading->job->dwarf->alt;

    if (sym_oracle_open_shared(reading->job->dwarf->object, &reading->main, NULL) != SYM_OK)
        return false;
    if (alt && sym_oracle_open_shared(alt->object, &reading->alt, NULL) == SYM_OK)
        sym_oracle_supplement(reading->main, reading->alt);
    (void)sym_oracle_problem(reading->main); /* of sections that may not matter */
    return true;
}

static void send(const struct output *out, int fd)
{
    for (size_t done = 0; done < out->size;) {
        ssize_t size = write(fd, out->bytes + done, out->size - done);
        if (size < 0 && errno != EINTR)
            return;
        done += size > 0 ? (size_t)size : 0;
    }
}

/* The process ends when it has written, and nothing is freed before.  */
void sym_fallback_write(void *context, int fd)
{
    struct reading reading = { .job = context };
    unsigned wanted = reading.job->parts, parts = 0;
    struct sym_oracle_tables tables = { .comp_dir = "" };

    if (!open_files(&reading))
        return;
    if ((wanted & SYM_PART_LINES) &&
        sym_oracle_lines(reading.main, reading.job->dwarf->object, reading.job->unit->die_offset,
                         &reading.unit) == SYM_OK &&
        sym_oracle_tables(&reading.unit, &tables))
        parts |= SYM_PART_LINES;
    (void)sym_oracle_problem(reading.main); /* of the lines */
    if ((wanted & SYM_PART_FUNCTIONS) && read_functions(&reading))
        parts |= SYM_PART_FUNCTIONS;
    put_number(&reading.out, SYM_FALLBACK_MARK, 4);
    put_number(&reading.out, parts, 4);
    if (parts & SYM_PART_FUNCTIONS)
        put_functions(&reading);
    if (parts & SYM_PART_LINES)
        put_lines(&reading, &tables);
    put_number(&reading.out, SYM_FALLBACK_MARK, 4);
    if (!reading.out.failed)
        send(&reading.out, fd);
}
