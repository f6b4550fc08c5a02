/* verify.c - debug information read twice, by the decoder and by libdwarf, and held against each
 * other.  */
#include "libsymbolize/oracle.h"
#include "libsymbolize/symbolize_internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bisect.h"
#include "base/grow.h"

enum { TEXT_BYTES = 600 };

/* ---- Known faults of libdwarf ---- */

enum { FAULT_FIRST_FILE, FAULT_FIRST_DIRECTORY, FAULTS };

/* By version: "20210528" and the like came before 0.2.  */
static const struct sym_known_fault faults[FAULTS] = {
    [FAULT_FIRST_FILE] = { "first-file",
                           "sequences of DWARF 5 begin with file 0 in place of file 1 (6.2.2)",
                           "0.5.0" },
    [FAULT_FIRST_DIRECTORY] = { "first-directory",
                                "directory 0 of DWARF 5, the one that the compiler ran in (6.2.4), "
                                "is appended to itself if it is relative",
                                "" },
};

/* A number that grows with versions.  */
static unsigned long version_number(const char *text)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);

    if (*end != '.')
        return 0; /* a date */
    for (int i = 0; i < 2; i++) {
        unsigned long part = *end == '.' ? strtoul(end + 1, &end, 10) : 0;
        number = number * 1000 + (part < 999 ? part : 999);
    }
    return number + 1;
}

static bool has_fault(size_t fault)
{
    const char *fixed = faults[fault].fixed;

    return !fixed[0] || version_number(sym_oracle_version()) < version_number(fixed);
}

const struct sym_known_fault *sym_known_fault(size_t index)
{
    for (size_t i = 0; i < FAULTS; i++)
        if (has_fault(i) && index-- == 0)
            return &faults[i];
    return NULL;
}

/* ---- What is compared ---- */

struct planned { /* an address that is to be compared, by unit */
    uint32_t unit;
    uint64_t vaddr;
};

struct listed { /* a unit that libdwarf finds */
    uint64_t die;
    uint8_t type;
};

struct verify {
    struct sym_dwarf *dwarf;
    struct sym_object *object; /* whose code counts */
    struct sym_oracle *main, *alt, *split;
    struct sym_oracle_unit theirs;
    struct planned *plan; /* sorted; NULL: all boundaries */
    size_t plan_count, plan_next;
    struct listed *units;
    size_t unit_count, unit_capacity;
    uint64_t *vaddrs; /* of one unit */
    size_t vaddr_count, vaddr_capacity;
    struct sym_verification *out;
    sym_difference_fn visit;
    void *context;
};

static enum sym_status report(struct verify *verify, const struct sym_difference *difference)
{
    if (difference->fault[0])
        verify->out->known_faults++;
    else
        verify->out->differences++;
    return verify->visit(verify->context, difference) ? SYM_OK : SYM_STOPPED;
}

static void skip(struct verify *verify, const char *reason)
{
    if (verify->out->skipped++ == 0)
        (void)snprintf(verify->out->reason, sizeof verify->out->reason, "%s", reason);
}

/* ---- One address ---- */

static enum sym_status compare_call(struct verify *verify, uint64_t vaddr,
                                    const struct sym_scope *ours,
                                    const struct sym_oracle_entry *theirs, bool *differs)
{
    char left[TEXT_BYTES], right[TEXT_BYTES];

    *differs = theirs->inlined &&
               (ours->call_file != theirs->call_file || ours->call_line != theirs->call_line ||
                ours->call_column != theirs->call_column);
    if (!*differs)
        return SYM_OK;
    (void)snprintf(left, sizeof left, "file %u, %u:%u", ours->call_file, ours->call_line,
                   ours->call_column);
    (void)snprintf(right, sizeof right, "file %llu, %llu:%llu",
                   (unsigned long long)theirs->call_file, (unsigned long long)theirs->call_line,
                   (unsigned long long)theirs->call_column);
    return report(verify, &(struct sym_difference){ vaddr, "call site", left, right, "" });
}

/* A name that both have in one form.  */
static enum sym_status compare_name(struct verify *verify, uint64_t vaddr,
                                    const struct sym_name *ours,
                                    const struct sym_oracle_entry *theirs, bool *differs)
{
    bool by_linkage = ours->linkage_name[0] || theirs->linkage[0];
    const char *left = by_linkage ? ours->linkage_name : ours->function;
    const char *right = by_linkage ? theirs->linkage : theirs->name;

    *differs = strcmp(left, right) != 0;
    if (!*differs)
        return SYM_OK;
    return report(verify, &(struct sym_difference){ vaddr, "function", left[0] ? left : "no name",
                                                    right[0] ? right : "no name", "" });
}

static size_t count_ours(const struct sym_unit *unit, uint32_t scope)
{
    size_t count = 0;

    for (; scope != SYM_NO_VALUE; scope = unit->scopes.items[scope].parent)
        count++;
    return count;
}

static size_t count_theirs(const struct sym_oracle_unit *unit, size_t entry)
{
    size_t count = 0;

    for (; entry != SIZE_MAX; entry = unit->entries[entry].parent)
        count++;
    return count;
}

/* Functions from the innermost one outwards; the first difference counts.  */
static enum sym_status compare_functions(struct verify *verify, struct sym_unit *unit,
                                         uint32_t scope, uint64_t vaddr, bool *differs)
{
    struct sym_oracle_unit *theirs = &verify->theirs;
    size_t entry = sym_oracle_innermost(theirs, vaddr);
    size_t left = count_ours(unit, scope), right = count_theirs(theirs, entry);
    enum sym_status status = SYM_OK;

    *differs = left != right;
    if (*differs) {
        char ours[64], other[64];
        (void)snprintf(ours, sizeof ours, "%zu frame%s", left, left == 1 ? "" : "s");
        (void)snprintf(other, sizeof other, "%zu frame%s", right, right == 1 ? "" : "s");
        return report(verify, &(struct sym_difference){ vaddr, "inlined calls", ours, other, "" });
    }
    while (!status && !*differs && scope != SYM_NO_VALUE) {
        struct sym_scope *ours = &unit->scopes.items[scope];
        status = sym_scope_name(verify->dwarf, ours);
        sym_oracle_name(theirs, &theirs->entries[entry]);
        if (!status)
            status = compare_name(verify, vaddr, ours->name, &theirs->entries[entry], differs);
        if (!status && !*differs)
            status = compare_call(verify, vaddr, ours, &theirs->entries[entry], differs);
        scope = ours->parent;
        entry = theirs->entries[entry].parent;
    }
    return status;
}

/* The known fault that explains another path; "" none does.  */
static const char *fault_of_path(const struct verify *verify, const struct sym_unit *unit,
                                 const struct sym_row *ours, const struct sym_oracle_row *theirs,
                                 const char *left, const char *right)
{
    size_t length = strlen(unit->comp_dir);

    if (verify->theirs.version < 5)
        return "";
    if (theirs->file == 0 && ours->file == 1 && has_fault(FAULT_FIRST_FILE))
        return faults[FAULT_FIRST_FILE].name;
    if (length && unit->comp_dir[0] != '/' && strncmp(right, unit->comp_dir, length) == 0 &&
        right[length] == '/' && strcmp(right + length + 1, left) == 0 &&
        has_fault(FAULT_FIRST_DIRECTORY))
        return faults[FAULT_FIRST_DIRECTORY].name;
    return "";
}

static enum sym_status compare_file(struct verify *verify, struct sym_unit *unit, uint64_t vaddr,
                                    const struct sym_row *ours, const struct sym_oracle_row *theirs)
{
    const char *left;
    enum sym_status status = sym_unit_file(verify->dwarf, unit, ours->file, &left);

    if (status)
        return status;
    char *right = sym_oracle_path(verify->main, theirs);
    if (right && strcmp(left, right) != 0)
        status = report(verify, &(struct sym_difference){
                                    vaddr, "file", left[0] ? left : "no file", right,
                                    fault_of_path(verify, unit, ours, theirs, left, right) });
    free(right);
    return status;
}

static void line_text(char *text, bool has_line, uint64_t line, uint64_t column)
{
    if (has_line)
        (void)snprintf(text, TEXT_BYTES, "%llu:%llu", (unsigned long long)line,
                       (unsigned long long)column);
    else
        (void)snprintf(text, TEXT_BYTES, "no line");
}

static enum sym_status compare_row(struct verify *verify, struct sym_unit *unit,
                                   const struct sym_row *ours, uint64_t vaddr)
{
    const struct sym_oracle_row *theirs = sym_oracle_row(&verify->theirs, vaddr);
    bool has_ours = ours && ours->line;
    char left[TEXT_BYTES], right[TEXT_BYTES];

    if (!has_ours && !theirs)
        return SYM_OK;
    if (has_ours && theirs && ours->line == theirs->line && ours->column == theirs->column)
        return compare_file(verify, unit, vaddr, ours, theirs);
    line_text(left, has_ours, ours ? ours->line : 0, ours ? ours->column : 0);
    line_text(right, theirs != NULL, theirs ? theirs->line : 0, theirs ? theirs->column : 0);
    return report(verify, &(struct sym_difference){ vaddr, "line", left, right, "" });
}

static enum sym_status compare_address(struct verify *verify, uint64_t vaddr)
{
    struct sym_place place = { .function_at = -1, .inlined_at = -1, .sequence_at = -1 };
    struct sym_unit *unit;
    bool differs;
    enum sym_status status = sym_dwarf_unit(verify->dwarf, vaddr, NULL, &unit);

    if (status || !unit)
        return status;
    status = sym_unit_place(&verify->dwarf->decoder, unit, vaddr, &place);
    if (status)
        return status;
    verify->out->addresses++;
    status = compare_functions(verify, unit, place.scope, vaddr, &differs);
    return status || differs ? status : compare_row(verify, unit, place.row, vaddr);
}

/* ---- The addresses of a unit ---- */

static uint32_t unit_at(const struct verify *verify, uint64_t vaddr)
{
    const struct sym_segments *segments = &verify->dwarf->segments;
    ptrdiff_t at = sym_segments_search(segments->items, segments->count, vaddr, -1);

    return at < 0 ? SYM_NO_VALUE : segments->items[at].value;
}

/* Only what the unit answers for.  */
static enum sym_status add_vaddr(struct verify *verify, uint32_t unit, uint64_t vaddr)
{
    if (unit_at(verify, vaddr) != unit)
        return SYM_OK;
    if (!base_make_room(&verify->vaddrs, &verify->vaddr_capacity, verify->vaddr_count + 1,
                        sizeof *verify->vaddrs))
        return SYM_NO_MEMORY;
    verify->vaddrs[verify->vaddr_count++] = vaddr;
    return SYM_OK;
}

static enum sym_status add_ends(struct verify *verify, uint32_t unit,
                                const struct sym_oracle_ranges *ranges)
{
    enum sym_status status = SYM_OK;

    for (size_t i = 0; i < ranges->count && !status; i++) {
        status = add_vaddr(verify, unit, ranges->items[i].low);
        if (!status)
            status = add_vaddr(verify, unit, ranges->items[i].high - 1);
    }
    return status;
}

static enum sym_status add_boundaries(struct verify *verify, uint32_t unit)
{
    const struct sym_oracle_unit *theirs = &verify->theirs;
    enum sym_status status = add_ends(verify, unit, &theirs->functions);

    if (!status)
        status = add_ends(verify, unit, &theirs->inlined);
    if (!status)
        status = add_ends(verify, unit, &theirs->sequences);
    for (size_t i = 0; i < theirs->row_count && !status; i++) {
        status = add_vaddr(verify, unit, theirs->rows[i].vaddr);
        if (!status && theirs->rows[i].vaddr > 0)
            status = add_vaddr(verify, unit, theirs->rows[i].vaddr - 1);
    }
    return status;
}

static int compare_vaddrs(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

static enum sym_status gather(struct verify *verify, uint32_t unit)
{
    size_t kept = 0;

    verify->vaddr_count = 0;
    for (size_t i = verify->plan_next; i < verify->plan_count; i++) {
        if (verify->plan[i].unit != unit)
            break;
        enum sym_status status = add_vaddr(verify, unit, verify->plan[i].vaddr);
        if (status)
            return status;
    }
    if (!verify->plan && add_boundaries(verify, unit))
        return SYM_NO_MEMORY;
    if (verify->vaddr_count)
        qsort(verify->vaddrs, verify->vaddr_count, sizeof *verify->vaddrs, compare_vaddrs);
    for (size_t i = 0; i < verify->vaddr_count; i++)
        if (i == 0 || verify->vaddrs[i] != verify->vaddrs[i - 1])
            verify->vaddrs[kept++] = verify->vaddrs[i];
    verify->vaddr_count = kept;
    return SYM_OK;
}

/* ---- Units ---- */

/* libdwarf's view of the file that holds the functions of a split unit, and where they are.  */
static enum sym_status open_split(struct verify *verify, const struct sym_unit *unit, uint64_t *die)
{
    struct sym_object *object = unit->split->info->object;

    if (!verify->split) {
        enum sym_status status = sym_oracle_open(object, &verify->split, NULL);
        if (status)
            return status;
        sym_oracle_tie(verify->split, verify->main);
    }
    *die = sym_oracle_find_split(verify->split, unit->dwo_id);
    return *die == UINT64_MAX ? SYM_MALFORMED : SYM_OK;
}

/* A package is for all units; the file of one unit may be gone with it.  */
static void close_split(struct verify *verify)
{
    if (verify->dwarf->package)
        return;
    sym_oracle_close(verify->split);
    verify->split = NULL;
}

static enum sym_status read_theirs(struct verify *verify, struct sym_unit *unit, uint64_t die)
{
    struct sym_oracle *oracle = verify->main;
    enum sym_status status = sym_unit_open_split(verify->dwarf, unit);

    (void)sym_oracle_problem(verify->main); /* of the units before */
    if (!status)
        status = sym_oracle_lines(verify->main, verify->object, die, &verify->theirs);
    if (!status && unit->split) {
        status = open_split(verify, unit, &die);
        oracle = verify->split;
    }
    if (!status)
        status = sym_oracle_functions(oracle, verify->object, die, unit->base, &verify->theirs);
    if (status != SYM_MALFORMED)
        return status;
    const char *problem = oracle ? sym_oracle_problem(oracle) : "";
    if (!problem[0])
        problem = sym_oracle_problem(verify->main);
    skip(verify, problem[0]                ? problem
                 : verify->theirs.too_deep ? "DIEs nest too deep"
                                           : "libdwarf cannot read it");
    return status;
}

static enum sym_status compare_unit(struct verify *verify, uint32_t number, uint64_t die)
{
    enum sym_status status = read_theirs(verify, &verify->dwarf->units[number], die);

    if (!status)
        status = gather(verify, number);
    for (size_t i = 0; i < verify->vaddr_count && !status; i++)
        status = compare_address(verify, verify->vaddrs[i]);
    if (!status && verify->vaddr_count)
        verify->out->units++;
    close_split(verify);
    return status == SYM_MALFORMED ? SYM_OK : status;
}

/* A unit with code that the decoder left out: at the start of each of its functions.  */
static enum sym_status report_missing(struct verify *verify, uint64_t die)
{
    enum sym_status status = sym_oracle_functions(verify->main, verify->object, die, 0,
                                                  &verify->theirs);
    const struct sym_oracle_ranges *functions = &verify->theirs.functions;

    (void)sym_oracle_problem(verify->main);
    for (size_t i = 0; i < functions->count && status != SYM_STOPPED; i++) {
        struct sym_oracle_entry *entry = &verify->theirs.entries[functions->items[i].value];
        if (status == SYM_NO_MEMORY)
            return status;
        sym_oracle_name(&verify->theirs, entry);
        status = report(verify, &(struct sym_difference){
                                    functions->items[i].low, "unit", "no unit",
                                    entry->linkage[0] ? entry->linkage : entry->name, "" });
    }
    return status == SYM_MALFORMED ? SYM_OK : status;
}

/* The number of the unit whose first DIE is at that offset.  */
static uint32_t find_unit(const struct sym_dwarf *dwarf, uint64_t die)
{
    size_t low = 0, high = dwarf->unit_count;

    BASE_BISECT(low, high, i, dwarf->units[i].die_offset < die);
    return low < dwarf->unit_count && dwarf->units[low].die_offset == die ? (uint32_t)low
                                                                          : SYM_NO_VALUE;
}

/* All of them first, because reading a split unit moves libdwarf's place in the list.  */
static enum sym_status list_units(struct verify *verify)
{
    struct listed unit;

    while (sym_oracle_next(verify->main, &unit.die, &unit.type)) {
        if (unit.die == UINT64_MAX) {
            skip(verify, sym_oracle_problem(verify->main));
            continue;
        }
        if (!base_make_room(&verify->units, &verify->unit_capacity, verify->unit_count + 1,
                            sizeof *verify->units))
            return SYM_NO_MEMORY;
        verify->units[verify->unit_count++] = unit;
    }
    const char *problem = sym_oracle_problem(verify->main);
    if (problem[0])
        skip(verify, problem);
    return SYM_OK;
}

/* Moves to the planned addresses of a unit.  Whether it has some, or all boundaries count.  */
static bool is_planned(struct verify *verify, uint32_t unit)
{
    if (!verify->plan)
        return true;
    while (verify->plan_next < verify->plan_count && verify->plan[verify->plan_next].unit < unit)
        verify->plan_next++;
    return verify->plan_next < verify->plan_count && verify->plan[verify->plan_next].unit == unit;
}

static enum sym_status compare_all(struct verify *verify)
{
    enum sym_status status = list_units(verify);

    for (size_t i = 0; i < verify->unit_count && !status; i++) {
        const struct listed *listed = &verify->units[i];
        uint32_t unit = find_unit(verify->dwarf, listed->die);

        if (unit == SYM_NO_VALUE)
            status = report_missing(verify, listed->die);
        else if ((listed->type == DW_UT_compile || listed->type == DW_UT_skeleton) &&
                 is_planned(verify, unit))
            status = compare_unit(verify, unit, listed->die);
        sym_oracle_release(&verify->theirs);
        verify->vaddr_count = 0;
    }
    return status;
}

/* ---- N addresses ---- */

static int compare_planned(const void *a, const void *b)
{
    const struct planned *left = a, *right = b;

    if (left->unit != right->unit)
        return left->unit < right->unit ? -1 : 1;
    return (left->vaddr > right->vaddr) - (left->vaddr < right->vaddr);
}

/* Spreads count addresses evenly over the bytes of code that units cover.  */
static enum sym_status make_plan(struct verify *verify, uint64_t count)
{
    const struct sym_segments *segments = &verify->dwarf->segments;
    uint64_t bytes = 0, before = 0;

    for (size_t i = 0; i + 1 < segments->count; i++)
        if (segments->items[i].value != SYM_NO_VALUE)
            bytes += segments->items[i + 1].start - segments->items[i].start;
    if (count > bytes)
        count = bytes;
    verify->plan = calloc(count + 1, sizeof *verify->plan);
    if (!verify->plan)
        return SYM_NO_MEMORY;
    for (size_t i = 0; i + 1 < segments->count; i++) {
        uint64_t size = segments->items[i + 1].start - segments->items[i].start;
        if (segments->items[i].value == SYM_NO_VALUE)
            continue;
        while (verify->plan_count < count) {
            uint64_t at = (uint64_t)((__uint128_t)bytes * verify->plan_count / count);
            if (at >= before + size)
                break;
            verify->plan[verify->plan_count++] = (struct planned){
                .unit = segments->items[i].value, .vaddr = segments->items[i].start + (at - before)
            };
        }
        before += size;
    }
    qsort(verify->plan, verify->plan_count, sizeof *verify->plan, compare_planned);
    return SYM_OK;
}

/* ---- All ---- */

static enum sym_status open_theirs(struct verify *verify, struct sym_error *error)
{
    struct sym_dwarf *dwarf = verify->dwarf;
    enum sym_status status = sym_oracle_open(dwarf->object, &verify->main, error);

    if (!status && dwarf->alt && sym_oracle_open(dwarf->alt->object, &verify->alt, NULL) == SYM_OK)
        sym_oracle_supplement(verify->main, verify->alt);
    return status;
}

static void close_theirs(struct verify *verify)
{
    sym_oracle_release(&verify->theirs);
    sym_oracle_close(verify->split);
    sym_oracle_close(verify->main);
    sym_oracle_close(verify->alt);
    free(verify->plan);
    free(verify->units);
    free(verify->vaddrs);
}

enum sym_status sym_module_verify(struct sym_module *module, uint64_t count,
                                  sym_difference_fn visit, void *context,
                                  struct sym_verification *out, struct sym_error *error)
{
    struct sym_dwarf *dwarf = &module->loaded.dwarf;
    struct verify verify = { .dwarf = dwarf, .out = out, .visit = visit, .context = context };

    dwarf->fallback.is_off = true; /* libdwarf is not compared with itself */
    enum sym_status status = sym_module_load(module);

    *out = (struct sym_verification){ .version = sym_oracle_version() };
    if (status)
        return sym_fail(error, status, "out of memory");
    if (!module->loaded.has_dwarf)
        return sym_fail(error, SYM_NOT_FOUND, "%s",
                        module->report.problem[0] ? module->report.problem
                                                  : "no debug information");
    verify.object = dwarf->object;
    status = open_theirs(&verify, error);
    if (!status && count)
        status = make_plan(&verify, count);
    if (!status)
        status = compare_all(&verify);
    else if (status == SYM_MALFORMED) {
        close_theirs(&verify);
        return status;
    }
    close_theirs(&verify);
    (void)snprintf(out->damage, sizeof out->damage, "%s", dwarf->decoder.damage);
    if (status == SYM_STOPPED)
        return sym_fail(error, status, "stopped by the caller");
    return status ? sym_fail(error, status, "out of memory") : SYM_OK;
}
