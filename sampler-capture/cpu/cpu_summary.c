#include "sampler-capture/cpu/cpu_summary.h"

#include "cmd/cli/cli.h"
#include "sampler-capture/cpu/cpu_options.h"
#include "sampler-capture/cpu/unwinding.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print_contents(const struct summary *summary)
{
    const struct trace_totals *totals = &summary->result->totals;
    char size[64];

    if (totals->bytes < 1U << 20)
        (void)snprintf(size, sizeof size, "%.1f KiB", (double)totals->bytes / 1024);
    else
        (void)snprintf(size, sizeof size, "%.1f MiB", (double)totals->bytes / (1 << 20));
    cli_note("%s: %s of %s, %s in %.2f s; %s", summary->output,
             cli_counted(totals->samples, "sample", "samples"),
             cli_counted(totals->processes, "process", "processes"),
             cli_counted(totals->threads, "thread", "threads"), summary->seconds, size);
}

static void print_losses(const struct summary *summary)
{
    const struct loss *loss = &summary->result->loss;

    if (loss->ring)
        cli_note("lost: %s, because the kernel's buffers were full: use a longer period, %s",
                 cli_counted(loss->ring, "sample", "samples"),
                 summary->result->stack_size ? "a smaller --stack-size or a higher 'ulimit -l'"
                                             : "a larger --buffer-size or a faster disk");
    if (loss->sideband)
        cli_note("lost: %s of names and mappings, because the kernel's buffers were full; %s",
                 cli_counted(loss->sideband, "record", "records"),
                 summary->result->looks
                     ? "mappings were read again from /proc, so only what was gone by then is "
                       "missing"
                     : "code in them has no names");
    if (loss->throttled)
        cli_note("lost: the kernel throttled sampling %s: use a longer period or raise "
                 "kernel.perf_event_max_sample_rate",
                 cli_counted(loss->throttled, "time", "times"));
    if (loss->stopped)
        cli_note("%s sampling, because their buffers of %s bytes were full (--mode oneshot); use a "
                 "larger --buffer-size to sample longer",
                 cli_counted(loss->stopped, "CPU stopped", "CPUs stopped"),
                 cli_grouped(summary->result->region_size));
    else if (loss->region_full)
        cli_note("lost: %s, because buffers of %s bytes were full: use a larger --buffer-size",
                 cli_counted(loss->region_full, "sample", "samples"),
                 cli_grouped(summary->result->region_size));
    if (loss->unreadable)
        cli_note("lost: %s without a readable user stack",
                 cli_counted(loss->unreadable, "sample", "samples"));
    if (loss->exited)
        cli_note("lost: %s of threads that were just ending",
                 cli_counted(loss->exited, "sample", "samples"));
}

/* Stacks that are not whole, by the reason.  */
static void print_cut(const struct session_result *result)
{
    const struct unwinding_counts *counts = &result->unwound;

    uint64_t deep = counts->ended[UNWIND_END_NO_STACK] - counts->other_stack - counts->outgrown;

    if (deep > 0)
        cli_note("  cut: %s: %s%s", cli_counted(deep, "stack", "stacks"),
                 unwind_end_name(UNWIND_END_NO_STACK),
                 result->stack_size < result->wanted_stack_size
                     ? ", since the kernel's buffers hold no larger one; raise 'ulimit -l'"
                 : result->stack_size < MAX_STACK ? "; raise --stack-size"
                                                  : "");
    if (counts->outgrown > 0)
        cli_note("  cut: %s: deeper than the copy that --unwind auto chose; --unwind dwarf copies "
                 "%s bytes of each",
                 cli_counted(counts->outgrown, "stack", "stacks"), cli_grouped(result->stack_size));
    if (counts->other_stack > 0)
        cli_note("  cut: %s: the callers are on another stack, such as the one that a signal "
                 "handler interrupted, and only the running one is copied",
                 cli_counted(counts->other_stack, "stack", "stacks"));
    for (int end = UNWIND_END_NO_STACK + 1; end < UNWIND_END_COUNT; end++)
        if (counts->ended[end] > 0)
            cli_note("  cut: %s: %s", cli_counted(counts->ended[end], "stack", "stacks"),
                     unwind_end_name((enum unwind_end)end));
    if (counts->without_registers > 0)
        cli_note("  cut: %s: the kernel gave no 64-bit registers",
                 cli_counted(counts->without_registers, "stack", "stacks"));
    cli_cuts_print(&result->cuts, "  ", "");
}

static void print_stacks(const struct summary *summary)
{
    const struct unwinding_counts *counts = &summary->result->unwound;
    uint64_t whole = unwinding_complete(counts);

    if (counts->stacks == 0)
        return;
    cli_note("%.1f %% of %s reach the thread's start", 100 * (double)whole / (double)counts->stacks,
             cli_counted(counts->stacks, "stack", "stacks"));
    if (whole < counts->stacks)
        print_cut(summary->result);
}

/* A task's first sample comes a whole period after its start.  */
static void print_missed(const struct summary *summary)
{
    double sampled = (double)summary->result->totals.samples * (double)summary->result->period_ns /
                     1e9;

    if (summary->result->totals.samples > 0 && loss_total(&summary->result->loss) == 0 &&
        sampled < summary->user_seconds / 2 &&
        summary->user_seconds > 20 * (double)summary->result->period_ns / 1e9)
        cli_note("samples cover %.2f s of %.2f s CPU time outside the kernel: threads that use "
                 "less CPU time than a period have no samples; use a higher -F",
                 sampled, summary->user_seconds);
}

/* Nothing in a stack shows that a function in its middle is missing.  */
static void print_frameless(const struct session_result *result)
{
    const struct leaf_result *frameless = &result->frameless;
    char list[1024] = "";
    size_t used = 0;

    if (frameless->samples == 0 || frameless->samples < result->totals.samples / 100)
        return;
    for (size_t i = 0; i < frameless->count && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s (%.1f %%)", i ? ", " : "",
                                 frameless->most[i].module,
                                 100 * (double)frameless->most[i].samples /
                                     (double)result->totals.samples);
    cli_note(
        "%.1f %% of samples are in functions without a frame pointer, whose direct callers are "
        "therefore missing%s: %s",
        100 * (double)frameless->samples / (double)result->totals.samples,
        unwinding_is_possible() ? "; --unwind auto finds them" : "", list);
}

static void print_doubts(const struct summary *summary)
{
    const struct trace_totals *totals = &summary->result->totals;

    if (totals->samples == 0 && loss_total(&summary->result->loss) == 0 && summary->result->counter)
        cli_note("no samples: no thread had %s %s%s; use a smaller --period",
                 cli_grouped(summary->result->counter_period), summary->result->counter->name,
                 summary->kernel ? "" : " outside the kernel");
    else if (totals->samples == 0 && loss_total(&summary->result->loss) == 0)
        cli_note("no samples: no thread used a CPU for %s ns%s; use a higher -F",
                 cli_grouped(summary->result->period_ns),
                 summary->kernel ? "" : " outside the kernel");
    if (totals->samples >= 20 && summary->result->broken > totals->samples / 2 &&
        summary->result->unwound.stacks == 0)
        cli_note("most stacks end after one or two functions, in code compiled without frame "
                 "pointers: to see callers, %scompile it with -fno-omit-frame-pointer "
                 "-mno-omit-leaf-frame-pointer",
                 unwinding_is_possible() ? "use --unwind auto, or " : "");
    print_frameless(summary->result);
    if (summary->result->kernel_hidden)
        cli_note("kernel functions have no names, because kernel.kptr_restrict or "
                 "kernel.perf_event_paranoid hides their addresses; as root, 'sysctl "
                 "kernel.kptr_restrict=0 kernel.perf_event_paranoid=1' shows them");
    if (!summary->result->counter)
        print_missed(summary);
    if (!summary->kernel && !summary->result->counter &&
        summary->kernel_seconds > 20 * (double)summary->result->period_ns / 1e9 &&
        summary->kernel_seconds > summary->user_seconds / 9) /* a tenth of the whole */
        cli_note(
            "%.2f s of %.2f s CPU time were in the kernel, which is only sampled with --kernel",
            summary->kernel_seconds, summary->user_seconds + summary->kernel_seconds);
    if (summary->result->unplaced)
        cli_note("%s not code of a readable ELF file: their addresses are file offsets",
                 cli_counted(summary->result->unplaced, "mapping is", "mappings are"));
    if (summary->result->mappings_dropped + totals->unmapped)
        cli_note("left out: %s of processes that have too many",
                 cli_counted(summary->result->mappings_dropped + totals->unmapped, "mapping",
                             "mappings"));
}

void summary_print(const struct summary *summary)
{
    if (!summary->quiet)
        print_contents(summary);
    print_losses(summary);
    if (summary->quiet)
        return;
    print_stacks(summary);
    if (summary->fine)
        print_doubts(summary);
    if (summary->result->totals.samples > 0 && strcmp(summary->output, "standard output") != 0)
        cli_note("next: fxt2pprof %s%s%s -o profile.pb.gz", summary->output,
                 summary->kept ? " --symbols " : "", summary->kept ? summary->kept : "");
}
