/* What was converted, in a few lines on stderr.  */
#include <string.h>

#include "base/file.h"
#include "cmd/fxt2pprof/convert.h"

/* How many poor modules are explained, and what they must matter for that.  */
#define SHOWN         10
#define SHOWN_PERCENT 0.1

static void print_losses(const struct profile_loss *loss)
{
    struct profile_loss_cause cause;

    for (size_t i = 0; profile_loss_at(loss, i, &cause); i++)
        if (cause.count)
            cli_note("  lost: %s %s", cli_grouped(cause.count), cause.phrase);
}

static void print_notices(const struct profile_notices *notices)
{
    struct profile_notices shown = *notices;
    struct profile_notice notice;

    shown.unhandled_records = 0; /* what other profiles are made of */
    shown.untimed_messages = 0;  /* matters for --at alone, which refuses them */
    for (size_t i = 0; profile_notice_at(&shown, i, &notice); i++)
        if (notice.count)
            cli_note("  note: %s %s", cli_grouped(notice.count), notice.phrase);
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* Whether two remedies differ in their last word alone: the file that is wanted.  */
static bool alike(const char *remedy, const char *before)
{
    const char *last = strrchr(remedy, ' ');
    const char *last_before = strrchr(before, ' ');

    return last && last_before && last - remedy == last_before - before &&
           strncmp(remedy, before, (size_t)(last - remedy)) == 0;
}

/* A module whose frames lack names or lines, why, and what would mend it; what the line before said
 * about that is not said again.  */
static void print_module(const struct profile_stacks *stacks, const struct profile_coverage *row,
                         const struct profile_coverage *all, const char *of, const char **said)
{
    struct profile_module module = profile_stacks_get_module(stacks, row->module);
    const char *name = profile_stacks_text(stacks, module.name, NULL);
    const char *remedy = profile_stacks_text(stacks, row->remedy, NULL);
    bool again = alike(remedy, *said);

    cli_note("  %5.1f %% of %s, %.1f %% of frames%s%s: %s%s%s%s", percent(row->self, all->self), of,
             percent(row->frames, all->frames), *name ? " in " : "", base_name(name),
             profile_stacks_text(stacks, row->problem, NULL), *remedy ? "; " : "",
             again ? "likewise" : "", again ? strrchr(remedy, ' ') : remedy);
    *said = remedy;
}

/* Modules with debug information that only libdwarf can read, or nobody.  */
static void print_damage(const struct profile_stacks *stacks,
                         const struct profile_coverage *coverage, size_t count)
{
    size_t shown = 0;

    for (size_t i = 0; i < count && shown < SHOWN; i++) {
        const struct profile_coverage *row = &coverage[i];
        const char *fallback = profile_stacks_text(stacks, row->fallback, NULL);
        const char *unread = profile_stacks_text(stacks, row->unread, NULL);
        struct profile_module module = profile_stacks_get_module(stacks, row->module);
        const char *name = base_name(profile_stacks_text(stacks, module.name, NULL));

        if (row->module == 0 || (!fallback[0] && !unread[0]))
            continue;
        if (fallback[0])
            cli_note("  %s: %s", name, fallback);
        if (unread[0])
            cli_note("  %s: %s", name, unread);
        shown++;
    }
}

/* of: what samples weigh by.  */
static void print_coverage(const struct profile *profile, const struct profile_stacks *stacks,
                           const char *of)
{
    size_t count, shown = 0, others = 0;
    const struct profile_coverage *coverage = profile_coverage_of(profile, &count);
    struct profile_coverage all = { .frames = 0 };
    const char *said = "";

    for (size_t i = 0; i < count; i++) {
        all.frames += coverage[i].frames;
        all.named += coverage[i].named;
        all.lined += coverage[i].lined;
        all.self += coverage[i].self;
        all.self_named += coverage[i].self_named;
        all.self_lined += coverage[i].self_lined;
    }
    if (all.frames) {
        cli_note("  symbols: %.1f %% of %s are in named functions, %.1f %% in known lines",
                 percent(all.self_named, all.self), of, percent(all.self_lined, all.self));
        cli_note("  of all frames on their stacks, %.1f %% have a name, %.1f %% a line",
                 percent(all.named, all.frames), percent(all.lined, all.frames));
    }
    for (size_t i = 0; i < count; i++) {
        const struct profile_coverage *row = &coverage[i];

        if (row->module == 0 || row->lined == row->frames || row->problem == 0)
            continue;
        if (shown < SHOWN && percent(row->frames, all.frames) >= SHOWN_PERCENT) {
            print_module(stacks, row, &all, of, &said);
            shown++;
        } else {
            others++;
        }
    }
    if (others)
        cli_note("  %s%s without full symbols%s", shown ? "... and " : "",
                 cli_counted(others, shown ? "more module" : "module",
                             shown ? "more modules" : "modules"),
                 shown         ? ""
                 : others == 1 ? ", with less than 0.1 % of frames"
                               : ", each with less than 0.1 % of frames");
    print_damage(stacks, coverage, count);
}

void print_summary(const struct settings *settings, struct profile *profile, enum profile_kind kind,
                   const struct totals *totals)
{
    static const char *const samples[PROFILE_KINDS][2] = {
        [PROFILE_CPU] = { "sample", "samples" },
        [PROFILE_HEAP] = { "sampled allocation", "sampled allocations" },
        [PROFILE_HEAP_FREE] = { "sampled release", "sampled releases" },
        [PROFILE_INSN] = { "instruction", "instructions" },
        [PROFILE_SPAN] = { "span", "spans" },
        [PROFILE_OFF_CPU] = { "wait", "waits" },
    };

    cli_note("%s: %s, %s, from %s", profile_kind_name(kind),
             cli_counted(profile_sample_count(profile, kind), samples[kind][0], samples[kind][1]),
             cli_counted(profile_stack_count(profile, kind), "distinct stack", "distinct stacks"),
             cli_counted(totals->records, "record", "records"));
    if (totals->damage)
        cli_note("  damage: %s of the input not understood",
                 cli_counted(totals->damage, "place", "places"));
    print_losses(profile_loss_of(profile));
    print_notices(&totals->notices);
    if (kind == PROFILE_HEAP || kind == PROFILE_HEAP_FREE)
        print_heap(settings, profile, totals);
    if (!settings->profiles.symbols.no_symbolize && kind != PROFILE_SPAN && kind != PROFILE_OFF_CPU)
        print_coverage(profile, profile_stacks_of(profile),
                       kind == PROFILE_HEAP        ? "bytes allocated"
                       : kind == PROFILE_HEAP_FREE ? "bytes released"
                                                   : "samples");
}
