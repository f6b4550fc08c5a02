#include "sampler-capture/cpu/cpu_stats.h"

#include "cmd/cli/cli_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The causes of losses, in the order in which they are told.  */
static const struct {
    const char *key, *phrase;
    size_t offset;
} causes[] = {
    { "ring", "Samples lost, kernel buffers full", offsetof(struct loss, ring) },
    { "throttled", "Times throttled", offsetof(struct loss, throttled) },
    { "region_full", "Samples lost, regions full", offsetof(struct loss, region_full) },
    { "unreadable", "Samples without a readable stack", offsetof(struct loss, unreadable) },
    { "exited", "Samples of threads that were ending", offsetof(struct loss, exited) },
    { "sideband", "Names and mappings lost, kernel buffers full", offsetof(struct loss, sideband) },
    { "stopped", "CPUs that stopped sampling, regions full", offsetof(struct loss, stopped) },
};

static uint64_t of_cause(const struct loss *loss, size_t i)
{
    uint64_t number;

    memcpy(&number, (const char *)loss + causes[i].offset, sizeof number);
    return number;
}

/* "    Processes missing mappings: [12, 15]": as many as fit, and how many more there are.  */
static void print_missing(const struct session_result *result)
{
    char list[400] = "", more[80] = "";
    size_t used = 0, i;

    for (i = 0; i < result->missing_count && used + 24 < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%" PRIu64, i ? ", " : "",
                                 result->missing_process_mappings[i]);
    if (i < result->missing_count)
        (void)snprintf(more, sizeof more, " and %zu more (--stats-json lists all)",
                       result->missing_count - i);
    cli_note("    Processes missing mappings: [%s]%s", list, more);
}

void stats_print(const struct session_result *result)
{
    cli_note("Session Stats: ");
    cli_note("    Number of samples collected: %" PRIu64, result->samples_collected);
    print_missing(result);
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        cli_note("    %s: %" PRIu64, causes[i].phrase, of_cause(&result->loss, i));
    for (size_t i = 0; i < result->cpu_loss_count; i++)
        for (size_t k = 0; k < sizeof causes / sizeof *causes; k++)
            if (of_cause(&result->cpu_losses[i].loss, k) > 0)
                cli_note("    CPU %u: %s: %" PRIu64, result->cpu_losses[i].cpu, causes[k].key,
                         of_cause(&result->cpu_losses[i].loss, k));
}

static void json_loss(struct json *json, const struct loss *loss)
{
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        json_unsigned(json, causes[i].key, of_cause(loss, i));
}

/* Of stacks by unwind tables, or by frame pointers.  */
static void json_stacks(struct json *json, const struct session_result *result)
{
    static const char *const keys[UNWIND_END_COUNT] = {
        [UNWIND_END_NO_STACK] = "no_stack",       [UNWIND_END_NO_TABLE] = "no_table",
        [UNWIND_END_REFUSED] = "refused",         [UNWIND_END_LOOP] = "loop",
        [UNWIND_END_NOT_CODE] = "not_code",       [UNWIND_END_NO_ROOM] = "no_room",
        [UNWIND_END_NO_REGISTER] = "no_register",
    };

    if (result->stack_size == 0) {
        json_unsigned(json, "samples_without_frame_pointer", result->frameless.samples);
        return;
    }
    json_unsigned(json, "stack_bytes", result->stack_size);
    json_open(json, "stacks", '{');
    json_unsigned(json, "all", result->unwound.stacks);
    json_unsigned(json, "whole", result->unwound.whole);
    json_unsigned(json, "continued", result->unwound.continued);
    json_unsigned(json, "joined", result->unwound.joined);
    json_unsigned(json, "small", result->unwound.small);
    json_unsigned(json, "fitting", result->unwound.fitting);
    for (int end = 0; end < UNWIND_END_COUNT; end++)
        if (keys[end])
            json_unsigned(json, keys[end], result->unwound.ended[end]);
    json_unsigned(json, "other_stack", result->unwound.other_stack);
    json_unsigned(json, "outgrown", result->unwound.outgrown);
    json_unsigned(json, "without_registers", result->unwound.without_registers);
    json_close(json, '}');
}

enum cli_exit stats_write_json(const struct session_result *result, const char *path)
{
    struct cli_output output;
    struct json json = { .output = &output };
    enum cli_exit status = cli_output_open(&output, path);

    if (status != CLI_OK)
        return status;
    json_open(&json, NULL, '{');
    json_unsigned(&json, "samples_collected", result->samples_collected);
    json_open(&json, "missing_process_mappings", '[');
    for (size_t i = 0; i < result->missing_count; i++)
        json_unsigned(&json, NULL, result->missing_process_mappings[i]);
    json_close(&json, ']');
    json_open(&json, "lost", '{');
    json_loss(&json, &result->loss);
    json_close(&json, '}');
    json_open(&json, "lost_by_cpu", '[');
    for (size_t i = 0; i < result->cpu_loss_count; i++) {
        json_open(&json, NULL, '{');
        json_unsigned(&json, "cpu", result->cpu_losses[i].cpu);
        json_loss(&json, &result->cpu_losses[i].loss);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_unsigned(&json, "processes", result->totals.processes);
    json_unsigned(&json, "threads", result->totals.threads);
    json_unsigned(&json, "bytes", result->totals.bytes);
    if (result->counter) {
        json_text(&json, "event", result->counter->name);
        json_unsigned(&json, "period", result->counter_period);
    } else {
        json_unsigned(&json, "period_ns", result->period_ns);
    }
    json_unsigned(&json, "buffer_bytes", result->region_size);
    json_unsigned(&json, "max_frames", result->max_frames);
    json_stacks(&json, result);
    json_close(&json, '}');
    json_end_line(&json);
    return cli_output_commit(&output);
}
