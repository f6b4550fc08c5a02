/* unwind_rows - the rows of an object at addresses that are read from stdin.
 *
 *   unwind_rows [--made] OBJECT < ADDRESSES
 *
 * Prints "ADDRESS CFA RULE...": the CFA as reg+offset or "exp", and for each register that has a
 * rule "NUMBER=RULE" as readelf -wF abbreviates them.  --made: of rows that were all made at once,
 * also where the table could be searched.  The last line is the report.  */
#include "libunwind/unwind_internal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_rule(unsigned number, enum unwind_rule_kind kind, int64_t offset)
{
    static const char *const forms[] = {
        [UNWIND_RULE_SAVED] = "c%+" PRId64,
        [UNWIND_RULE_VALUE] = "v%+" PRId64,
        [UNWIND_RULE_REGISTER] = "r%" PRId64,
    };

    if (kind == UNWIND_RULE_SAME || kind == UNWIND_RULE_UNDEFINED)
        return;
    printf(" %u=", number);
    if (kind == UNWIND_RULE_SAVED_AT || kind == UNWIND_RULE_VALUE_OF)
        printf(kind == UNWIND_RULE_SAVED_AT ? "exp" : "vexp");
    else
        printf(forms[kind], offset); // NOLINT: a table of formats
}

static void print_row(struct unwind_table *table, uint64_t vaddr)
{
    struct unwind_row row;
    enum unwind_status status = unwind_table_row(table, vaddr, &row);

    printf("%" PRIx64, vaddr);
    if (status != UNWIND_OK) {
        printf(status == UNWIND_NOT_FOUND ? " none\n" : " refused\n");
        return;
    }
    if (row.cfa_is_expression)
        printf(" exp");
    else
        printf(" %u%+" PRId64, row.cfa_register, row.cfa_offset);
    for (unsigned i = 0; i <= UNWIND_REGISTER_COUNT; i++)
        print_rule(i, row.rules[i].kind, row.rules[i].offset);
    printf(row.is_signal ? " S\n" : "\n");
}

/* As if .eh_frame_hdr had no table: rows are then made through libdwarf.  */
static void make(struct unwind_table *table)
{
    uint32_t rule;

    if (!table->report.is_searched)
        return;
    table->section.header = table->section.limit;
    (void)table_rule(table, 0, &rule);
    table->report.is_searched = false;
}

int main(int argc, char **argv)
{
    struct unwind_error error;
    struct unwind_table *table;
    const struct unwind_report *report;
    bool made = argc == 3 && strcmp(argv[1], "--made") == 0;
    struct unwind_object object = { .debug_fd = -1 };
    char line[64];

    if (argc != 2 + made)
        return 2;
    object.fd = open(argv[argc - 1], O_RDONLY | O_CLOEXEC);
    if (unwind_table_open(&object, &table, &error) != UNWIND_OK) {
        (void)fprintf(stderr, "unwind_rows: %s: %s\n", argv[argc - 1], error.message);
        return 4;
    }
    if (made)
        make(table);
    while (fgets(line, sizeof line, stdin))
        print_row(table, strtoull(line, NULL, 16));
    report = unwind_table_report(table);
    printf("# %s, source %d, %s, %" PRIu64 " entries, %" PRIu64 " rows, %" PRIu64 " rules, %" PRIu64
           " refused, %zu bytes, frame pointers %d; %s\n",
           unwind_machine_name(report->machine), report->source,
           report->is_searched ? "searched" : "made", report->entries, report->rows, report->rules,
           report->refused, report->memory_bytes, unwind_table_frame_pointers(table),
           report->problem);
    unwind_table_close(table);
    return 0;
}
