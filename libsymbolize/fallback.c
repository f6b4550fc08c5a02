/* fallback.c - when libdwarf is tried, and whether what it read is better.  */
#include "libsymbolize/fallback.h"
#include "libsymbolize/symbolize_internal.h"

#include <stdio.h>

enum {
    WALL_MS = 120 * 1000, /* a busy machine gives a child its CPU time late */
    ANSWER_BYTES_MAX = 64 << 20,
};

/* What a child may take; an ordinary unit takes a hundredth of it.  */
static const uint64_t MEMORY_BYTES = UINT64_C(512) << 20;

/* ---- Which of two is better ---- */

/* Whether more has a value wherever less has one, and, if these are functions, the same one.  */
static bool covers(const struct sym_segments *more, const struct sym_segments *less,
                   const struct sym_scope *more_functions, const struct sym_scope *less_functions)
{
    ptrdiff_t at = -1;

    for (size_t i = 0; i + 1 < less->count; i++) {
        uint64_t vaddr = less->items[i].start, limit = less->items[i + 1].start;
        while (less->items[i].value != SYM_NO_VALUE && vaddr < limit) {
            at = sym_segments_search(more->items, more->count, vaddr, at);
            if (at < 0 || more->items[at].value == SYM_NO_VALUE || (size_t)at + 1 >= more->count)
                return false;
            if (less_functions && more_functions[more->items[at].value].die_key !=
                                      less_functions[less->items[i].value].die_key)
                return false;
            vaddr = more->items[at + 1].start;
        }
    }
    return true;
}

static void take_functions(struct sym_unit *unit, struct sym_fallback_parts *parts)
{
    struct sym_scopes ours = unit->scopes;

    unit->scopes = parts->scopes;
    parts->scopes = ours;
    unit->by_libdwarf |= SYM_PART_FUNCTIONS;
}

static void take_lines(struct sym_unit *unit, struct sym_fallback_parts *parts)
{
    struct sym_lines ours = unit->lines;

    unit->lines = parts->lines;
    parts->lines = ours;
    if (!unit->comp_dir[0])
        unit->comp_dir = parts->comp_dir;
    unit->by_libdwarf |= SYM_PART_LINES;
}

/* The decoder keeps what it read before the damage.  libdwarf's parts are complete, but where it
 * goes on after the damage it may take other bytes for entries.  If it has not the functions that
 * the decoder has, or no lines where the decoder has some, its part is not used.  */
static void take_better(struct sym_unit *unit, struct sym_fallback_parts *parts)
{
    unsigned wanted = parts->parts & unit->refused;

    if ((wanted & SYM_PART_FUNCTIONS) && parts->scopes.function_count &&
        covers(&parts->scopes.segments, &unit->scopes.segments, parts->scopes.items,
               unit->scopes.items))
        take_functions(unit, parts);
    if ((wanted & SYM_PART_LINES) && parts->lines.sequence_count &&
        covers(&parts->lines.segments, &unit->lines.segments, NULL, NULL))
        take_lines(unit, parts);
}

/* ---- One unit ---- */

static struct sym_fallback_limits limits_of(const struct sym_fallback *fallback)
{
    uint64_t left_ms = (uint64_t)SYM_FALLBACK_CPU_MS_MAX - fallback->spent_ms;
    uint64_t seconds = (left_ms + 999) / 1000;

    if (seconds > SYM_FALLBACK_UNIT_CPU_SECONDS)
        seconds = SYM_FALLBACK_UNIT_CPU_SECONDS;
    return (struct sym_fallback_limits){ .cpu_seconds = (unsigned)seconds,
                                         .wall_ms = WALL_MS,
                                         .memory_bytes = MEMORY_BYTES,
                                         .answer_bytes = ANSWER_BYTES_MAX };
}

/* Whether a child may be started for the unit.  */
static bool may_try(const struct sym_fallback *fallback, const struct sym_unit *unit)
{
    return unit->refused && !unit->tried_libdwarf && !fallback->is_off &&
           fallback->tried_count < SYM_FALLBACK_UNITS_MAX &&
           fallback->spent_ms < SYM_FALLBACK_CPU_MS_MAX;
}

/* What the decoder could not read of a unit.  The functions of a skeleton are in another file.  */
static void state_reason(const struct sym_dwarf *dwarf, const struct sym_unit *unit, char *reason,
                         size_t size)
{
    const struct sym_unit *dies = sym_unit_dies(unit);
    const char *path = dies->info->object->path, *slash = strrchr(path, '/');
    uint64_t offset = sym_fallback_start(dwarf, dies) + dies->offset;

    if (unit->refused == SYM_PART_LINES || (unit->split && unit->by_libdwarf == SYM_PART_LINES))
        (void)snprintf(reason, size, "damaged line table at 0x%llx of .debug_line",
                       (unsigned long long)unit->line_offset);
    else if (unit->split)
        (void)snprintf(reason, size, "damaged unit at 0x%llx of .debug_info.dwo in %s",
                       (unsigned long long)offset, slash ? slash + 1 : path);
    else
        (void)snprintf(reason, size, "damaged unit at 0x%llx of .debug_info",
                       (unsigned long long)offset);
}

enum sym_status sym_fallback_use(struct sym_dwarf *dwarf, struct sym_unit *unit,
                                 struct sym_bytes answer)
{
    struct sym_fallback_parts parts;
    enum sym_status status = sym_fallback_read(dwarf, unit, answer, &parts);

    if (!status)
        take_better(unit, &parts);
    sym_fallback_release(&parts);
    return status;
}

static enum sym_status ask(struct sym_dwarf *dwarf, struct sym_unit *unit)
{
    struct sym_fallback *fallback = &dwarf->fallback;
    struct sym_fallback_job job = { .dwarf = dwarf, .unit = unit, .parts = unit->refused };
    struct sym_fallback_limits limits = limits_of(fallback);
    struct sym_fallback_answer answer;
    enum sym_status status = sym_fallback_run(
        fallback->child ? fallback->child : sym_fallback_write, &job, &limits, &answer);

    fallback->spent_ms += answer.cost_ms;
    if (!status)
        status = sym_fallback_use(dwarf, unit, (struct sym_bytes){ answer.bytes, answer.size });
    base_free(answer.bytes);
    return status == SYM_NO_MEMORY ? status : SYM_OK;
}

enum sym_status sym_fallback_unit(struct sym_dwarf *dwarf, struct sym_unit *unit)
{
    struct sym_fallback *fallback = &dwarf->fallback;

    if (!may_try(fallback, unit))
        return SYM_OK;
    unit->tried_libdwarf = true;
    fallback->tried_count++;
    enum sym_status status = ask(dwarf, unit);
    if (unit->by_libdwarf && fallback->unit_count++ == 0)
        state_reason(dwarf, unit, fallback->reason, sizeof fallback->reason);
    return status;
}

char *sym_fallback_sentence(const struct sym_fallback *fallback)
{
    return sym_format("%zu unit%s read by libdwarf, because ours could not: %s",
                      fallback->unit_count, fallback->unit_count == 1 ? "" : "s", fallback->reason);
}
