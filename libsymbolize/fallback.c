/* fallback.c - when libdwarf is tried, whether what it read is better, and which units nobody
 * reads.  */
#include "libsymbolize/fallback.h"
#include "libsymbolize/symbolize_internal.h"

#include <stdio.h>

#include "base/fail.h"

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

static enum sym_fallback_end take_functions(struct sym_unit *unit, struct sym_fallback_parts *parts)
{
    struct sym_scopes ours = unit->scopes;

    if (!(parts->parts & SYM_PART_FUNCTIONS))
        return SYM_FALLBACK_REFUSED;
    if (!parts->scopes.function_count)
        return SYM_FALLBACK_EMPTY;
    if (!covers(&parts->scopes.segments, &ours.segments, parts->scopes.items, ours.items))
        return SYM_FALLBACK_DIFFERS;
    unit->scopes = parts->scopes;
    parts->scopes = ours;
    unit->by_libdwarf |= SYM_PART_FUNCTIONS;
    unit->lacks_calls = false;
    return SYM_FALLBACK_HELPS;
}

static enum sym_fallback_end take_lines(struct sym_unit *unit, struct sym_fallback_parts *parts)
{
    struct sym_lines ours = unit->lines;

    if (!(parts->parts & SYM_PART_LINES))
        return SYM_FALLBACK_REFUSED;
    if (!parts->lines.sequence_count)
        return SYM_FALLBACK_EMPTY;
    if (!covers(&parts->lines.segments, &ours.segments, NULL, NULL))
        return SYM_FALLBACK_DIFFERS;
    unit->lines = parts->lines;
    parts->lines = ours;
    if (!unit->comp_dir[0])
        unit->comp_dir = parts->comp_dir;
    unit->by_libdwarf |= SYM_PART_LINES;
    return SYM_FALLBACK_HELPS;
}

/* The decoder keeps what it read before the damage.  libdwarf's parts are complete, but where it
 * goes on after the damage it may take other bytes for entries.  If it has not the functions that
 * the decoder has, or no lines where the decoder has some, its part is not used.  */
static enum sym_fallback_end take_better(struct sym_unit *unit, struct sym_fallback_parts *parts)
{
    enum sym_fallback_end functions = SYM_FALLBACK_HELPS, lines = SYM_FALLBACK_HELPS;

    if (unit->refused & SYM_PART_FUNCTIONS)
        functions = take_functions(unit, parts);
    if (unit->refused & SYM_PART_LINES)
        lines = take_lines(unit, parts);
    return functions ? functions : lines;
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

/* Whether a child may be started for a unit.  */
static enum sym_fallback_end may_try(const struct sym_fallback *fallback)
{
    if (fallback->is_off)
        return SYM_FALLBACK_OFF;
    return fallback->tried_count < SYM_FALLBACK_UNITS_MAX &&
                   fallback->spent_ms < SYM_FALLBACK_CPU_MS_MAX
               ? SYM_FALLBACK_HELPS
               : SYM_FALLBACK_NO_BUDGET;
}

/* "damaged THING at OFFSET", in the file with the functions, which is another one for a
 * skeleton.  */
static void state_place(const struct sym_dwarf *dwarf, const struct sym_unit *unit,
                        const char *thing, uint64_t offset, char *reason, size_t size)
{
    const struct sym_unit *dies = sym_unit_dies(unit);
    const char *path = dies->info->object->path, *slash = strrchr(path, '/');
    unsigned long long place = sym_fallback_start(dwarf, dies) + offset;

    (void)snprintf(reason, size, "damaged %s at 0x%llx of .debug_info%s%s", thing, place,
                   unit->split ? ".dwo in " : "",
                   !unit->split ? ""
                   : slash      ? slash + 1
                                : path);
}

/* What the decoder could not read of parts of a unit.  */
static void state_reason(const struct sym_dwarf *dwarf, const struct sym_unit *unit, unsigned parts,
                         char *reason, size_t size)
{
    if (parts == SYM_PART_LINES && unit->line_offset != UINT64_MAX)
        (void)snprintf(reason, size, "damaged line table at 0x%llx of .debug_line",
                       (unsigned long long)unit->line_offset);
    else
        state_place(dwarf, unit, "unit", sym_unit_dies(unit)->offset, reason, size);
}

enum sym_status sym_fallback_use(struct sym_dwarf *dwarf, struct sym_unit *unit,
                                 struct sym_bytes answer, enum sym_fallback_end *end)
{
    struct sym_fallback_parts parts;
    enum sym_status status = sym_fallback_read(dwarf, unit, answer, &parts);

    *end = answer.size ? SYM_FALLBACK_UNUSABLE : SYM_FALLBACK_REFUSED;
    if (!status)
        *end = take_better(unit, &parts);
    sym_fallback_release(&parts);
    return status;
}

static enum sym_status ask(struct sym_dwarf *dwarf, struct sym_unit *unit,
                           enum sym_fallback_end *end)
{
    struct sym_fallback *fallback = &dwarf->fallback;
    struct sym_fallback_job job = { .dwarf = dwarf, .unit = unit, .parts = unit->refused };
    struct sym_fallback_limits limits = limits_of(fallback);
    struct sym_fallback_answer answer;
    enum sym_status status = sym_fallback_run(
        fallback->child ? fallback->child : sym_fallback_write, &job, &limits, &answer);

    fallback->spent_ms += answer.cost_ms;
    *end = answer.end;
    if (!status)
        status = sym_fallback_use(dwarf, unit, (struct sym_bytes){ answer.bytes, answer.size },
                                  end);
    base_free(answer.bytes);
    return status == SYM_NO_MEMORY ? status : SYM_OK;
}

/* ---- Units that nobody reads ---- */

void sym_fallback_miss(struct sym_dwarf *dwarf, struct sym_unit *unit, const char *format, ...)
{
    struct sym_fallback *fallback = &dwarf->fallback;

    if (unit && unit->is_missed)
        return;
    if (unit)
        unit->is_missed = true;
    if (fallback->missed_count++ == 0)
        BASE_FORMAT(fallback->missed, format);
}

void sym_fallback_check_calls(struct sym_dwarf *dwarf, struct sym_unit *unit)
{
    char reason[240];

    if (!unit->lacks_calls || unit->is_missed)
        return;
    state_place(dwarf, unit, "inlined calls", unit->calls_from, reason, sizeof reason);
    sym_fallback_miss(dwarf, unit, "%s", reason);
}

/* Counts a unit with refused parts that libdwarf did not complete.  end: why.  */
static void miss_parts(struct sym_dwarf *dwarf, struct sym_unit *unit, enum sym_fallback_end end)
{
    static const struct {
        const char *before, *after; /* the name of the part, if after is not NULL */
    } ends[SYM_FALLBACK_ENDS] = {
        [SYM_FALLBACK_REFUSED] = { "libdwarf cannot read its ", " either" },
        [SYM_FALLBACK_EMPTY] = { "libdwarf finds no ", " there" },
        [SYM_FALLBACK_DIFFERS] = { "libdwarf does not find the same ", " there" },
        [SYM_FALLBACK_UNUSABLE] = { "the answer of libdwarf is unusable", NULL },
        [SYM_FALLBACK_TOO_LONG] = { "the answer of libdwarf is too large", NULL },
        [SYM_FALLBACK_CRASHED] = { "libdwarf crashed", NULL },
        [SYM_FALLBACK_TIMED_OUT] = { "libdwarf took too long", NULL },
        [SYM_FALLBACK_NO_PROCESS] = { "no process could be started for libdwarf", NULL },
        [SYM_FALLBACK_NO_BUDGET] = { "libdwarf was not used, because earlier units took all that "
                                     "one object may take",
                                     NULL },
        [SYM_FALLBACK_OFF] = { "libdwarf was not used", NULL },
    };
    unsigned missed = unit->refused & ~(unsigned)unit->by_libdwarf;
    const char *part = missed & SYM_PART_FUNCTIONS ? "functions" : "lines";
    char reason[240];

    /* If the decoder does not know whether there is a table, libdwarf may have found none.  */
    if (missed == SYM_PART_LINES && unit->line_offset == UINT64_MAX && end == SYM_FALLBACK_REFUSED)
        end = SYM_FALLBACK_EMPTY;
    const char *after = ends[end].after;
    state_reason(dwarf, unit, missed, reason, sizeof reason);
    sym_fallback_miss(dwarf, unit, "%s; %s%s%s", reason, ends[end].before, after ? part : "",
                      after ? after : "");
}

/* ---- Deciding ---- */

enum sym_status sym_fallback_unit(struct sym_dwarf *dwarf, struct sym_unit *unit)
{
    struct sym_fallback *fallback = &dwarf->fallback;

    if (!unit->refused || unit->libdwarf_done)
        return SYM_OK;
    unit->libdwarf_done = true;
    enum sym_fallback_end end = may_try(fallback);
    enum sym_status status = SYM_OK;
    if (!end) {
        fallback->tried_count++;
        status = ask(dwarf, unit, &end);
    }
    if (unit->by_libdwarf && fallback->unit_count++ == 0)
        state_reason(dwarf, unit, unit->split ? unit->by_libdwarf : unit->refused, fallback->reason,
                     sizeof fallback->reason);
    if (!status && (unit->refused & ~unit->by_libdwarf))
        miss_parts(dwarf, unit, end);
    return status;
}

/* ---- Sentences ---- */

char *sym_fallback_sentence(const struct sym_fallback *fallback)
{
    return sym_format("%zu unit%s read by libdwarf, because ours could not: %s",
                      fallback->unit_count, fallback->unit_count == 1 ? "" : "s", fallback->reason);
}

char *sym_fallback_missed(const struct sym_fallback *fallback)
{
    bool one = fallback->missed_count == 1;

    return sym_format("%zu unit%s of the debug information %s not read completely%s: %s",
                      fallback->missed_count, one ? "" : "s", one ? "was" : "were",
                      one ? "" : "; the first", fallback->missed);
}
