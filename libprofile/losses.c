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
         "records, as a rule samples, that did not fit into the kernel's buffers",
         "record that the kernel's buffers overran, as a rule a sample: raise --buffer-size (of "
         "perf: -m) or lower -F",
         "records that the kernel's buffers overran, as a rule samples: raise --buffer-size (of "
         "perf: -m) or lower -F"),
    LOSS(sideband, "lost", "sideband",
         "names and mappings that did not fit into the kernel's buffers",
         "name or mapping, the kernel's buffers overran: code may lack names",
         "names and mappings, the kernel's buffers overran: code may lack names"),
    LOSS(region_full, "lost", "region_full",
         "samples that did not fit into the region of their CPU",
         "sample, the CPU's region was full: raise --buffer-size",
         "samples, the CPU's region was full: raise --buffer-size"),
    LOSS(stopped, "lost", "stopped", "CPUs that sampled no more once their region was full",
         "CPU sampled no more once a region was full (--mode oneshot), and nobody counted: raise "
         "--buffer-size",
         "CPUs sampled no more once a region was full (--mode oneshot), and nobody counted: raise "
         "--buffer-size"),
    LOSS(unreadable, "lost", "unreadable", "samples whose stack could not be read",
         "sample whose stack could not be read", "samples whose stack could not be read"),
    LOSS(exited, "lost", "exited", "samples of threads that were just ending",
         "sample of a thread that was just ending", "samples of threads that were just ending"),
    LOSS(throttled, "lost", "throttled", "times that the kernel throttled sampling",
         "time the kernel throttled sampling: lower -F",
         "times the kernel throttled sampling: lower -F"),
    LOSS(provider_events, NULL, NULL, "marks of providers that they lost records",
         "mark that a provider lost records: if nothing else says why, give it a larger buffer",
         "marks that providers lost records: if nothing else says why, give them larger buffers"),
    LOSS(trace_records, "provider_records_dropped", "dropped",
         "records that did not fit into the trace buffer of their program",
         "record that did not fit into the trace buffer of its program: raise --buffer-size, or "
         "use --mode streaming",
         "records that did not fit into the trace buffers of their programs: raise --buffer-size, "
         "or use --mode streaming"),
    LOSS(heap_allocations, "heap_lost", "allocations",
         "sampled allocations that the capture did not receive",
         "sampled allocation: too little memory is shown; raise --interval",
         "sampled allocations: too little memory is shown; raise --interval"),
    LOSS(heap_frees, "heap_lost", "frees",
         "releases that the capture did not receive: blocks look in use that are not",
         "release: a block looks in use that is not; raise --interval",
         "releases: blocks look in use that are not; raise --interval"),
    LOSS(heap_infos, "heap_lost", "infos",
         "messages about modules that the capture did not receive",
         "message of where modules are: code in them has no names; raise --interval",
         "messages of where modules are: code in them has no names; raise --interval"),
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
         "block whose release a process could not report, since it closed its connection: it may "
         "look in use",
         "blocks whose release a process could not report, since it closed its connection: they "
         "may look in use"),
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
