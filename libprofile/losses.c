/* losses.c - what captures lost, by cause: the one place of the sentences about losses in traces.
 *
 * A capture says the same while it ends (sampler-capture/), with what it alone knows. */
#include <stddef.h>

#include "libprofile/profile_internal.h"

#define REFUSED "messages of captured processes that were refused: invalid, or one mapping too many"

#define LOSS(member, counter, argument, description, one, many)                              \
    {                                                                                        \
        { #member, description, one, many, offsetof(struct profile_loss, member) }, counter, \
            argument                                                                         \
    }

static const struct loss {
    struct profile_tally tally;
    const char *counter, *argument; /* in a trace; NULL: provider events */
} losses[] = {
    LOSS(ring, "lost", "ring",
         "records, mostly samples, that did not fit into the kernel's buffers",
         "record, mostly a sample, that did not fit into the kernel's buffers: raise --buffer-size "
         "(perf: -m) or lower -F",
         "records, mostly samples, that did not fit into the kernel's buffers: raise --buffer-size "
         "(perf: -m) or lower -F"),
    LOSS(sideband, "lost", "sideband",
         "names and mappings that did not fit into the kernel's buffers",
         "name or mapping that did not fit into the kernel's buffers: some code may have no names",
         "names and mappings that did not fit into the kernel's buffers: some code may have no "
         "names"),
    LOSS(region_full, "lost", "region_full",
         "samples that did not fit into the region of their CPU",
         "sample that did not fit into the region of its CPU: raise --buffer-size",
         "samples that did not fit into the regions of their CPUs: raise --buffer-size"),
    LOSS(stopped, "lost", "stopped", "CPUs that stopped sampling when their region was full",
         "CPU that stopped sampling when its region was full (--mode oneshot), so later samples "
         "are not counted: raise --buffer-size",
         "CPUs that stopped sampling when their regions were full (--mode oneshot), so later "
         "samples are not counted: raise --buffer-size"),
    LOSS(unreadable, "lost", "unreadable", "samples whose stack could not be read",
         "sample whose stack could not be read", "samples whose stack could not be read"),
    LOSS(exited, "lost", "exited", "samples of threads that were just ending",
         "sample of a thread that was just ending", "samples of threads that were just ending"),
    LOSS(throttled, "lost", "throttled", "times that the kernel throttled sampling",
         "time that the kernel throttled sampling: lower -F",
         "times that the kernel throttled sampling: lower -F"),
    LOSS(provider_events, NULL, NULL, "marks of providers that lost records",
         "mark of a provider that lost records: unless another line explains it, give the provider "
         "a larger buffer",
         "marks of providers that lost records: unless another line explains them, give the "
         "providers larger buffers"),
    LOSS(trace_records, "provider_records_dropped", "dropped",
         "records that did not fit into the trace buffer of their program",
         "record that did not fit into the trace buffer of its program: raise --buffer-size, or "
         "use --mode streaming",
         "records that did not fit into the trace buffers of their programs: raise --buffer-size, "
         "or use --mode streaming"),
    LOSS(heap_allocations, "heap_lost", "allocations",
         "sampled allocations that the capture did not receive",
         "sampled allocation that the capture did not receive: too little memory is shown; raise "
         "--interval",
         "sampled allocations that the capture did not receive: too little memory is shown; raise "
         "--interval"),
    LOSS(heap_frees, "heap_lost", "frees",
         "releases that the capture did not receive: their blocks still appear to be in use",
         "release that the capture did not receive: its block still appears to be in use; raise "
         "--interval",
         "releases that the capture did not receive: their blocks still appear to be in use; raise "
         "--interval"),
    LOSS(heap_infos, "heap_lost", "infos",
         "messages about modules that the capture did not receive",
         "message about modules that the capture did not receive: code in them has no names; raise "
         "--interval",
         "messages about modules that the capture did not receive: code in them has no names; "
         "raise --interval"),
    LOSS(heap_rejected, "heap_lost", "rejected", REFUSED,
         "refused message of a captured process (invalid, or one mapping too many), which was not "
         "captured from then on",
         "refused messages of captured processes (invalid, or one mapping too many), which were "
         "not captured from then on"),
    LOSS(heap_no_memory, "heap_lost", "no_memory",
         "sampled allocations that a process had no memory left to record",
         "sampled allocation that a process had no memory left to record: too little is shown",
         "sampled allocations that a process had no memory left to record: too little is shown"),
    LOSS(heap_forgotten, "heap_lost", "forgotten",
         "blocks whose release a process could not report",
         "block whose release a process could not report, because it had closed its connection: it "
         "may appear to be in use",
         "blocks whose release a process could not report, because it had closed its connection: "
         "they may appear to be in use"),
};

#define LOSSES (sizeof losses / sizeof *losses)

uint64_t *profile_loss_counter(struct profile_loss *loss, size_t index)
{
    return (uint64_t *)((char *)loss + losses[index].tally.offset);
}

void profile_loss_add(struct profile_loss *sum, const struct profile_loss *more)
{
    const char *phrase;

    for (size_t i = 0; i < LOSSES; i++) {
        uint64_t *counter = profile_loss_counter(sum, i);

        *counter = profile_add(*counter, profile_tally_read(&losses[i].tally, more, &phrase));
    }
}

bool profile_loss_at(const struct profile_loss *counted, size_t index,
                     struct profile_loss_cause *out)
{
    _Static_assert(LOSSES == sizeof(struct profile_loss) / sizeof(uint64_t),
                   "a counter without a sentence");
    if (index >= LOSSES)
        return false;
    *out = (struct profile_loss_cause){ .name = losses[index].tally.name,
                                        .description = losses[index].tally.description,
                                        .counter = losses[index].counter,
                                        .argument = losses[index].argument };
    out->count = profile_tally_read(&losses[index].tally, counted, &out->phrase);
    return true;
}
