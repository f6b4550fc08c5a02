/* notices.c - the counters of an ingest, by name and as phrases.  */
#include <stddef.h>

#include "libprofile/profile_internal.h"

#define NOTICE(member, one, many)                                          \
    {                                                                      \
#member, NULL, one, many, offsetof(struct profile_notices, member) \
    }

static const struct profile_tally notices[] = {
    NOTICE(truncated_stacks, "stack cut at the depth of the capture: root [truncated]",
           "stacks cut at the depth of the capture: root [truncated]"),
    NOTICE(anonymous_frames,
           "frame in no module (such as JIT, or stacks misread without frame pointers): [anon]",
           "frames in no module (such as JIT, or stacks misread without frame pointers): [anon]"),
    NOTICE(unmapped_processes, "process with samples and no mappings: no symbols there",
           "processes with samples and no mappings: no symbols there"),
    NOTICE(odd_code_symbols, "line of a list of functions that cannot be read, ignored",
           "lines of lists of functions that cannot be read, ignored"),
    NOTICE(odd_payloads, "sampler stack that is not whole words, ignored",
           "sampler stacks that are not whole words, ignored"),
    NOTICE(stray_ends, "end of a duration that nothing began, ignored",
           "ends of durations that nothing began, ignored"),
    NOTICE(crossing_slices, "duration closed because one around it ended",
           "durations closed because one around them ended"),
    NOTICE(unfinished_slices, "duration without an end", "durations without an end"),
    NOTICE(deep_slices, "duration too deeply nested, ignored",
           "durations too deeply nested, ignored"),
    NOTICE(unknown_modules, "mapping of a module that the trace does not have",
           "mappings of modules that the trace does not have"),
    NOTICE(bad_mappings, "impossible mapping, ignored", "impossible mappings, ignored"),
    NOTICE(stack_captures, "captured raw stack, not unwound", "captured raw stacks, not unwound"),
    NOTICE(unhandled_records, "record of a kind that is not used, ignored",
           "records of kinds that are not used, ignored"),
    NOTICE(untimed_messages, "allocation or release without a time",
           "allocations and releases without a time"),
    NOTICE(bad_messages, "message of the memory sampler that cannot be read, ignored",
           "messages of the memory sampler that cannot be read, ignored"),
    NOTICE(repeated_blocks, "block at an address in use: no release of the one before precedes it",
           "blocks at addresses in use: no releases of those before precede them"),
    NOTICE(
        unknown_frees,
        "release of an unknown block (allocated before, lost, or recorded out of order), ignored",
        "releases of unknown blocks (allocated before, lost, or recorded out of order), ignored"),
    NOTICE(blocks_left_out, "allocation left out: too many sampled blocks in use",
           "allocations left out: too many sampled blocks in use"),
    NOTICE(stray_flows, "step or end of a flow that did not begin, ignored",
           "steps and ends of flows that did not begin, ignored"),
    NOTICE(unfinished_flows, "flow without an end", "flows without an end"),
    NOTICE(unbound_flows, "arrow of a flow that begins or ends in no slice",
           "arrows of flows that begin or end in no slice"),
    NOTICE(non_numeric_counters, "argument of a counter that is no number, ignored",
           "arguments of counters that are no numbers, ignored"),
    NOTICE(event_samples, "sample of an event other than the CPU's clock, not taken",
           "samples of events other than the CPU's clock, not taken"),
    NOTICE(perfetto_packets,
           "packet of Perfetto's own format, not read: fxtdump names it, ui.perfetto.dev shows it",
           "packets of Perfetto's own format, not read: fxtdump names them, ui.perfetto.dev shows "
           "them"),
    NOTICE(insn_overflows, "place in an instruction trace where the processor lost packets",
           "places in instruction traces where the processor lost packets"),
    NOTICE(insn_gaps, "stretch of an instruction trace that could not be decoded",
           "stretches of instruction traces that could not be decoded"),
    NOTICE(insn_uncoded, "of these because the code that ran was not found",
           "of these because the code that ran was not found"),
    NOTICE(bad_copies, "raw stack without registers of a known machine, or too large, ignored",
           "raw stacks without registers of a known machine, or too large, ignored"),
    NOTICE(copies_of_32_bit, "raw stack of 32-bit code, not unwound",
           "raw stacks of 32-bit code, not unwound"),
    NOTICE(cut_copies, "raw stack that is shorter than it claims, or has more than 16 pieces",
           "raw stacks that are shorter than they claim, or have more than 16 pieces"),
    NOTICE(short_copies, "raw stack that goes on beyond the copied memory",
           "raw stacks that go on beyond the copied memory"),
    NOTICE(untabled_copies,
           "raw stack that ends in code without unwind table: --symbols PATH adds objects",
           "raw stacks that end in code without unwind table: --symbols PATH adds objects"),
    NOTICE(stray_copies, "raw stack that ends at a return address in no module",
           "raw stacks that end at return addresses in no module"),
    NOTICE(refused_copies, "raw stack that ends at an unwind table that makes no sense",
           "raw stacks that end at unwind tables that make no sense"),
};

#define NOTICES (sizeof notices / sizeof *notices)

bool profile_notice_at(const struct profile_notices *counted, size_t index,
                       struct profile_notice *out)
{
    _Static_assert(NOTICES == sizeof(struct profile_notices) / sizeof(uint64_t),
                   "a counter without a phrase");
    if (index >= NOTICES)
        return false;
    out->name = notices[index].name;
    out->count = profile_tally_read(&notices[index], counted, &out->phrase);
    out->many = notices[index].many;
    return true;
}
