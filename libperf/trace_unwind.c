/* trace_unwind.c - the callers of samples with user registers and a copy of the user stack.  How
 * they are found is up to the caller of the library; here is where code was mapped.  */
#include "libperf/trace_parts.h"

#define ABI_64 2 /* PERF_SAMPLE_REGS_ABI_64 */

/* Whose sample it is.  */
struct finder {
    const struct perf_trace *trace;
    const struct trace_process *process;
};

static uint64_t end_of(const struct trace_mapping *mapping)
{
    return mapping->start + mapping->length; /* was checked when it came */
}

/* The newest mapping around an address, cut to where no newer one is.  */
static bool find_place(const void *context, uint64_t address, struct perf_trace_place *out)
{
    const struct finder *finder = context;
    const struct trace_process *process = finder->process;
    uint64_t start = 0, limit = UINT64_MAX;

    for (size_t i = process->mapping_count; i-- > 0;) {
        const struct trace_mapping *mapping = &process->mappings[i];
        const struct trace_module *module = &finder->trace->modules[mapping->module - 1];

        if (end_of(mapping) <= address) {
            start = end_of(mapping) > start ? end_of(mapping) : start;
        } else if (mapping->start > address) {
            limit = mapping->start < limit ? mapping->start : limit;
        } else {
            *out = (struct perf_trace_place){
                .start = mapping->start > start ? mapping->start : start,
                .limit = end_of(mapping) < limit ? end_of(mapping) : limit,
                .number = module->is_code ? 0 : mapping->module,
                .object = { module->name, module->build_id, module->build_id_length },
                .file_offset = mapping->file_offset + (address - mapping->start)
            };
            return true;
        }
    }
    return false;
}

/* What the unwinder of the options finds.  */
static void unwind(struct perf_trace *trace, const struct trace_process *process,
                   const struct perf_data_sample *sample, size_t *count, bool *is_whole)
{
    const struct perf_data_facts *facts = perf_data_facts(trace->data);
    const struct finder finder = { trace, process };
    uint64_t registers[64];
    const struct perf_trace_copy copy = { .arch = facts->arch,
                                          .mask = sample->user.mask,
                                          .registers = registers,
                                          .register_count = sample->user.values.count,
                                          .stack = sample->stack,
                                          .stack_size = sample->stack_size,
                                          .is_big_endian = facts->is_big_endian,
                                          .find = find_place,
                                          .finder = &finder };

    if (copy.register_count > sizeof registers / sizeof *registers)
        return;
    for (size_t i = 0; i < copy.register_count; i++)
        registers[i] = perf_data_word(trace->data, sample->user.values, i);
    *count = trace->options.unwind(trace->options.context, &copy, trace->unwound, TRACE_MOST_FRAMES,
                                   is_whole);
}

bool trace_unwind(struct perf_trace *trace, const struct perf_data_record *record,
                  const uint64_t **addresses, size_t *count, bool *is_whole)
{
    const struct perf_data_sample *sample = &record->sample;
    const struct trace_process *process;

    *count = 0;
    *is_whole = false;
    *addresses = trace->unwound;
    if (!trace->options.unwind || sample->stack_size == 0 || sample->user.abi != ABI_64)
        return true;
    process = trace_process_of(trace, record->pid);
    if (process)
        unwind(trace, process, sample, count, is_whole);
    return process != NULL;
}
