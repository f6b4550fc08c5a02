/* write_profile.c - both sides as a profile, emitted into a writer (<fxt/profile_formats.h>).
 *
 * pprof: as `pprof -diff_base` makes them: samples of the base are negative and have the label
 * pprof::base=true, by which percentages become those of the base.  Folded stacks: as
 * difffolded.pl writes them, "stack base new", for flamegraph.pl.
 *
 * Numbers are those of an average run of each side, so that sides of different sizes compare.
 * Functions have their matched names, so that one that was renamed is one.  There are no addresses:
 * builds have different ones.  */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/profile_formats.h>
#include "cmd/fxtdiff/outputs.h"
#include "cmd/fxtdiff/print.h"

struct diff_profile {
    const struct compare_report *report;
    struct profile_writer *writer;
    struct profile_pprof_sink sink;
    bool both;           /* a sample has a value of each side; else each side has samples */
    uint32_t *locations; /* number of each function; 0: not written */
    const char **modules;
    size_t module_count;
    uint32_t *stack; /* scratch */
    size_t capacity;
};

/* As it is in the inputs: without the escapes of what is shown.  */
static enum profile_status add_text(struct diff_profile *profile, const char *text, uint32_t *out)
{
    size_t length;
    const char *bytes = compare_raw_text(profile->report->set, text, &length);

    return profile_writer_string(profile->writer, bytes, length, out);
}

/* ---- Functions ---- */

/* The number of the mapping of a module, which is written when it is new; 0 for none.  All is said
 * to be symbolized: nothing is to be looked up on the machine of the reader.  */
static enum profile_status add_module(struct diff_profile *profile, const char *module,
                                      uint32_t *out)
{
    struct profile_pprof_mapping mapping = { .has_functions = true,
                                             .has_filenames = true,
                                             .has_line_numbers = true,
                                             .has_inline_frames = true };
    enum profile_status status;

    *out = 0;
    if (!*module)
        return PROFILE_OK;
    for (size_t i = 0; i < profile->module_count; i++)
        if (strcmp(profile->modules[i], module) == 0) {
            *out = (uint32_t)i + 1;
            return PROFILE_OK;
        }
    status = add_text(profile, module, &mapping.filename);
    if (status == PROFILE_OK)
        status = profile->sink.mapping(profile->sink.context, &mapping);
    if (status == PROFILE_OK) {
        profile->modules[profile->module_count++] = module;
        *out = (uint32_t)profile->module_count;
    }
    return status;
}

/* One function, and one location in it: its number is the same as the function's.  */
static enum profile_status add_function(struct diff_profile *profile, size_t index, uint32_t number)
{
    const struct compare_function *from = &profile->report->set->functions[index];
    struct profile_pprof_function function = { .id = number };
    struct profile_pprof_line line = { .function = number };
    struct profile_pprof_location location = { .id = number, .lines = &line, .line_count = 1 };
    uint32_t at = 0;
    const char *file = compare_file_of(from, &at);
    enum profile_status status = add_text(profile, from->name, &function.name);

    line.line = at;
    function.start_line =
        from->places[from->places[COMPARE_NEW].name ? COMPARE_NEW : COMPARE_BASE].start_line;
    if (status == PROFILE_OK)
        status = add_text(profile, file, &function.filename);
    if (status == PROFILE_OK)
        status = add_module(profile, diff_module_of(from), &location.mapping);
    if (status == PROFILE_OK)
        status = profile->sink.function(profile->sink.context, &function);
    if (status == PROFILE_OK)
        status = profile->sink.location(profile->sink.context, &location);
    if (status == PROFILE_OK)
        profile->locations[index] = number;
    return status;
}

static enum profile_status add_functions(struct diff_profile *profile)
{
    const struct compare_set *set = profile->report->set;
    bool *used = cli_allocate(set->function_count + 1, sizeof *used);
    enum profile_status status = PROFILE_OK;
    uint32_t number = 0, none;

    for (size_t n = 1; n < set->node_count; n++)
        used[set->nodes[n].function] = true;
    for (size_t f = 0; f < set->function_count && status == PROFILE_OK; f++)
        if (used[f])
            status = add_function(profile, f, ++number);
    free(used);
    /* Without any mapping pprof looks for a binary, and says that there is none.  */
    return status == PROFILE_OK && profile->module_count == 0
               ? add_module(profile, "fxtdiff", &none)
               : status;
}

/* ---- Samples ---- */

/* The stack of a node, leaf first.  */
static size_t stack_of(struct diff_profile *profile, uint32_t node)
{
    const struct compare_set *set = profile->report->set;
    size_t count = 0;

    for (uint32_t n = node; n; n = set->nodes[n].parent) {
        profile->stack = cli_grow(profile->stack, &profile->capacity, count + 1,
                                  sizeof *profile->stack);
        profile->stack[count++] = profile->locations[set->nodes[n].function];
    }
    return count;
}

static int64_t whole(double value)
{
    return value < 9e18 ? (int64_t)llround(value) : INT64_MAX;
}

/* An average run has fractions.  Functions of equal clean names are added up, so they are finer
 * than what is shown.  */
enum { PARTS = 1000000, DECIMALS = 3 };

static struct profile_pprof_exact exact_of(double value)
{
    double floored = floor(value);

    if (!(value < 0x1p63))
        return (struct profile_pprof_exact){ .whole = UINT64_MAX };
    return (struct profile_pprof_exact){ .whole = (uint64_t)floored,
                                         .part = (uint32_t)lround((value - floored) * PARTS) };
}

/* A sample of both sides.  */
static enum profile_status add_both(struct diff_profile *profile, size_t count, const double *mean)
{
    const int64_t values[] = { whole(mean[COMPARE_BASE]), whole(mean[COMPARE_NEW]) };
    const struct profile_pprof_exact exact[] = { exact_of(mean[COMPARE_BASE]),
                                                 exact_of(mean[COMPARE_NEW]) };
    const struct profile_pprof_sample sample = { .locations = profile->stack,
                                                 .location_count = count,
                                                 .values = values,
                                                 .value_count = COMPARE_SIDES,
                                                 .exact = exact };

    return profile->sink.sample(profile->sink.context, &sample);
}

static enum profile_status add_side(struct diff_profile *profile, size_t count, int64_t value,
                                    const struct profile_pprof_label *label)
{
    const struct profile_pprof_sample sample = {
        .locations = profile->stack,
        .location_count = count,
        .values = &value,
        .value_count = 1,
        .labels = label,
        .label_count = label ? 1 : 0,
    };

    return value ? profile->sink.sample(profile->sink.context, &sample) : PROFILE_OK;
}

static enum profile_status add_sides(struct diff_profile *profile, size_t count, const double *mean)
{
    struct profile_pprof_label base = { .num = 0 };
    enum profile_status status = add_text(profile, "pprof::base", &base.key);

    if (status == PROFILE_OK)
        status = add_text(profile, "true", &base.str);
    if (status == PROFILE_OK)
        status = add_side(profile, count, -whole(mean[COMPARE_BASE]), &base);
    if (status == PROFILE_OK)
        status = add_side(profile, count, whole(mean[COMPARE_NEW]), NULL);
    return status;
}

static enum profile_status add_samples(struct diff_profile *profile)
{
    const struct compare_set *set = profile->report->set;
    double *means = diff_mean_stacks(set);
    enum profile_status status = PROFILE_OK;

    for (uint32_t n = 1; n < set->node_count && status == PROFILE_OK; n++) {
        const double *mean = &means[2 * (size_t)n];
        size_t count;

        if (mean[COMPARE_BASE] <= 0 && mean[COMPARE_NEW] <= 0)
            continue;
        count = stack_of(profile, n);
        status = profile->both ? add_both(profile, count, mean) : add_sides(profile, count, mean);
    }
    free(means);
    return status;
}

/* ---- The profile ---- */

static enum profile_status add_header(struct diff_profile *profile)
{
    const struct compare_set *set = profile->report->set;
    struct profile_pprof_type types[COMPARE_SIDES] = { { .type = 0 } };
    uint32_t comment;
    struct profile_pprof_header header = { .types = types,
                                           .type_count = profile->both ? COMPARE_SIDES : 1,
                                           .comments = &comment,
                                           .comment_count = 1,
                                           .parts = PARTS,
                                           .decimals = DECIMALS };
    char text[200];
    enum profile_status status = add_text(profile, set->type.type, &types[0].type);

    (void)snprintf(text, sizeof text,
                   "fxtdiff: an average run of %zu new less an average run of %zu base runs",
                   set->side_runs[COMPARE_NEW], set->side_runs[COMPARE_BASE]);
    if (status == PROFILE_OK)
        status = add_text(profile, set->type.unit, &types[0].unit);
    if (status == PROFILE_OK)
        status = add_text(profile, text, &comment);
    types[1] = types[0];
    header.default_sample_type = types[0].type;
    return status == PROFILE_OK ? profile->sink.header(profile->sink.context, &header) : status;
}

static enum profile_status put_profile(struct diff_profile *profile, const char *format,
                                       struct cli_output *output, struct profile_error *error)
{
    const struct profile_writer_options options = { .size = sizeof options,
                                                    .root = PROFILE_ROOT_NONE,
                                                    .all_types = profile->both };
    enum profile_status status = profile_writer_open(
        profile_format_named(format), &options, cli_output_write, output, &profile->writer, error);

    if (status != PROFILE_OK)
        return status;
    profile_writer_sink(profile->writer, &profile->sink);
    status = add_header(profile);
    if (status == PROFILE_OK)
        status = add_functions(profile);
    if (status == PROFILE_OK)
        status = add_samples(profile);
    if (status == PROFILE_OK)
        status = profile_writer_finish(profile->writer, error);
    else
        *error = *profile_writer_error(profile->writer);
    profile_writer_close(profile->writer);
    return status;
}

static enum cli_exit write_profile(struct diff_profile *profile, const char *format,
                                   struct cli_output *output)
{
    size_t functions = profile->report->set->function_count;
    struct profile_error error;
    enum profile_status status;

    profile->locations = cli_allocate(functions + 1, sizeof *profile->locations);
    profile->modules = cli_allocate(functions + 1, sizeof *profile->modules);
    status = put_profile(profile, format, output, &error);
    free(profile->locations);
    free(profile->modules);
    free(profile->stack);
    if (status == PROFILE_OK || output->failed) /* the output reports the failure */
        return cli_output_commit(output);
    cli_error("%s: %s", output->path, error.message);
    cli_output_abort(output);
    return CLI_ENVIRONMENT;
}

/* False after a message.  */
static bool has_stacks(const struct compare_report *report, const char *option)
{
    const struct compare_run *without = diff_run_without_stacks(report->set);

    if (without)
        cli_error("%s: no stacks, which %s needs", without->label, option);
    return !without;
}

enum cli_exit diff_write_folded(const struct compare_report *report,
                                const struct diff_settings *settings, const char *path)
{
    struct diff_profile profile = { .report = report, .both = true };
    struct cli_output output;
    enum cli_exit status = has_stacks(report, "--folded") ? CLI_OK : CLI_USAGE;

    (void)settings;
    if (status == CLI_OK)
        status = cli_output_open(&output, path);
    if (status != CLI_OK)
        return status;
    cli_output_visible(&output);
    return write_profile(&profile, "folded", &output);
}

enum cli_exit diff_write_pprof(const struct compare_report *report,
                               const struct diff_settings *settings, const char *path)
{
    struct diff_profile profile = { .report = report };
    struct cli_output output;
    enum cli_exit status = has_stacks(report, "--pprof") ? CLI_OK : CLI_USAGE;

    (void)settings;
    if (status == CLI_OK)
        status = cli_output_open(&output, path);
    return status == CLI_OK ? write_profile(&profile, "pprof", &output) : status;
}
