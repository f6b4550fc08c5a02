/* write_pprof.c - both sides as one pprof profile that pprof shows as a difference.
 *
 * As `pprof -diff_base` makes them: samples of the base are negative and have the label
 * pprof::base=true, by which percentages become those of the base.  Numbers are those of an average
 * run of each side.  Functions are told by their matched names, so that one that was renamed is
 * one.  There are no addresses: builds have different ones.  */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/profile_files.h>
#include "cmd/fxtdiff/outputs.h"
#include "cmd/fxtdiff/print.h"

struct diff_pprof {
    const struct compare_report *report;
    struct profile_pprof_writer *writer;
    struct profile_pprof_sink sink;
    struct profile_error error;
    uint32_t *locations; /* number of each function; 0: not written */
    const char **modules;
    size_t module_count;
    uint32_t *stack; /* scratch */
    size_t capacity;
};

static enum profile_status add_text(struct diff_pprof *pprof, const char *text, uint32_t *out)
{
    return profile_pprof_writer_string(pprof->writer, text, strlen(text), out, &pprof->error);
}

/* ---- Functions ---- */

static const char *module_of(const struct compare_function *function)
{
    const struct compare_place *place = &function->places[COMPARE_NEW];

    if (!place->name || !place->module || !*place->module)
        place = &function->places[COMPARE_BASE];
    return place->name && place->module ? place->module : "";
}

/* The number of the mapping of a module, which is written when it is new; 0 for none.  All is said
 * to be symbolized: nothing is to be looked up on the machine of the reader.  */
static enum profile_status add_module(struct diff_pprof *pprof, const char *module, uint32_t *out)
{
    struct profile_pprof_mapping mapping = { .has_functions = true,
                                             .has_filenames = true,
                                             .has_line_numbers = true,
                                             .has_inline_frames = true };
    enum profile_status status;

    *out = 0;
    if (!*module)
        return PROFILE_OK;
    for (size_t i = 0; i < pprof->module_count; i++)
        if (strcmp(pprof->modules[i], module) == 0) {
            *out = (uint32_t)i + 1;
            return PROFILE_OK;
        }
    status = add_text(pprof, module, &mapping.filename);
    if (status == PROFILE_OK)
        status = pprof->sink.mapping(pprof->sink.context, &mapping);
    if (status == PROFILE_OK) {
        pprof->modules[pprof->module_count++] = module;
        *out = (uint32_t)pprof->module_count;
    }
    return status;
}

/* One function, and one location in it: its number is the same as the function's.  */
static enum profile_status add_function(struct diff_pprof *pprof, size_t index, uint32_t number)
{
    const struct compare_function *from = &pprof->report->set->functions[index];
    struct profile_pprof_function function = { .id = number };
    struct profile_pprof_line line = { .function = number };
    struct profile_pprof_location location = { .id = number, .lines = &line, .line_count = 1 };
    uint32_t at = 0;
    const char *file = compare_file_of(from, &at);
    enum profile_status status = add_text(pprof, from->name, &function.name);

    line.line = at;
    function.start_line =
        from->places[from->places[COMPARE_NEW].name ? COMPARE_NEW : COMPARE_BASE].start_line;
    if (status == PROFILE_OK)
        status = add_text(pprof, file, &function.filename);
    if (status == PROFILE_OK)
        status = add_module(pprof, module_of(from), &location.mapping);
    if (status == PROFILE_OK)
        status = pprof->sink.function(pprof->sink.context, &function);
    if (status == PROFILE_OK)
        status = pprof->sink.location(pprof->sink.context, &location);
    if (status == PROFILE_OK)
        pprof->locations[index] = number;
    return status;
}

static enum profile_status add_functions(struct diff_pprof *pprof)
{
    const struct compare_set *set = pprof->report->set;
    bool *used = cli_allocate(set->function_count + 1, sizeof *used);
    enum profile_status status = PROFILE_OK;
    uint32_t number = 0, none;

    for (size_t n = 1; n < set->node_count; n++)
        used[set->nodes[n].function] = true;
    for (size_t f = 0; f < set->function_count && status == PROFILE_OK; f++)
        if (used[f])
            status = add_function(pprof, f, ++number);
    free(used);
    /* Without any mapping pprof looks for a binary, and says that there is none.  */
    return status == PROFILE_OK && pprof->module_count == 0 ? add_module(pprof, "fxtdiff", &none)
                                                            : status;
}

/* ---- Samples ---- */

/* The stack of a node, leaf first.  */
static size_t stack_of(struct diff_pprof *pprof, uint32_t node)
{
    const struct compare_set *set = pprof->report->set;
    size_t count = 0;

    for (uint32_t n = node; n; n = set->nodes[n].parent) {
        pprof->stack = cli_grow(pprof->stack, &pprof->capacity, count + 1, sizeof *pprof->stack);
        pprof->stack[count++] = pprof->locations[set->nodes[n].function];
    }
    return count;
}

static int64_t whole(double value)
{
    return value < 9e18 ? (int64_t)llround(value) : INT64_MAX;
}

static enum profile_status add_sample(struct diff_pprof *pprof, size_t count, int64_t value,
                                      const struct profile_pprof_label *label)
{
    const struct profile_pprof_sample sample = {
        .locations = pprof->stack,
        .location_count = count,
        .values = &value,
        .value_count = 1,
        .labels = label,
        .label_count = label ? 1 : 0,
    };

    return value ? pprof->sink.sample(pprof->sink.context, &sample) : PROFILE_OK;
}

static enum profile_status add_samples(struct diff_pprof *pprof)
{
    const struct compare_set *set = pprof->report->set;
    double *means = diff_mean_stacks(set);
    struct profile_pprof_label base = { .num = 0 };
    enum profile_status status = add_text(pprof, "pprof::base", &base.key);

    if (status == PROFILE_OK)
        status = add_text(pprof, "true", &base.str);
    for (uint32_t n = 1; n < set->node_count && status == PROFILE_OK; n++) {
        const double *mean = &means[2 * (size_t)n];
        size_t count;

        if (mean[COMPARE_BASE] <= 0 && mean[COMPARE_NEW] <= 0)
            continue;
        count = stack_of(pprof, n);
        status = add_sample(pprof, count, -whole(mean[COMPARE_BASE]), &base);
        if (status == PROFILE_OK)
            status = add_sample(pprof, count, whole(mean[COMPARE_NEW]), NULL);
    }
    free(means);
    return status;
}

/* ---- The profile ---- */

static enum profile_status add_header(struct diff_pprof *pprof)
{
    const struct compare_set *set = pprof->report->set;
    struct profile_pprof_type type;
    uint32_t comment;
    struct profile_pprof_header header = {
        .types = &type, .type_count = 1, .comments = &comment, .comment_count = 1
    };
    char text[200];
    enum profile_status status = add_text(pprof, set->type.type, &type.type);

    (void)snprintf(text, sizeof text,
                   "fxtdiff: an average run of %zu new less an average run of %zu base runs",
                   set->side_runs[COMPARE_NEW], set->side_runs[COMPARE_BASE]);
    if (status == PROFILE_OK)
        status = add_text(pprof, set->type.unit, &type.unit);
    if (status == PROFILE_OK)
        status = add_text(pprof, text, &comment);
    header.default_sample_type = type.type;
    return status == PROFILE_OK ? pprof->sink.header(pprof->sink.context, &header) : status;
}

static enum profile_status put_profile(struct diff_pprof *pprof, struct cli_output *output)
{
    enum profile_status status = profile_pprof_writer_open(NULL, cli_output_write, output,
                                                           &pprof->writer, &pprof->error);

    if (status != PROFILE_OK)
        return status;
    profile_pprof_writer_sink(pprof->writer, &pprof->sink);
    status = add_header(pprof);
    if (status == PROFILE_OK)
        status = add_functions(pprof);
    if (status == PROFILE_OK)
        status = add_samples(pprof);
    if (status == PROFILE_OK)
        status = profile_pprof_writer_finish(pprof->writer, &pprof->error);
    profile_pprof_writer_close(pprof->writer);
    return status;
}

enum cli_exit diff_write_pprof(const struct compare_report *report,
                               const struct diff_settings *settings, const char *path)
{
    struct diff_pprof pprof = { .report = report };
    struct cli_output output;
    enum cli_exit status = diff_has_stacks(report, "--pprof") ? CLI_OK : CLI_USAGE;
    enum profile_status written;

    (void)settings;
    if (status == CLI_OK)
        status = cli_output_open(&output, path);
    if (status != CLI_OK)
        return status;
    pprof.locations = cli_allocate(report->set->function_count + 1, sizeof *pprof.locations);
    pprof.modules = cli_allocate(report->set->function_count + 1, sizeof *pprof.modules);
    written = put_profile(&pprof, &output);
    free(pprof.locations);
    free(pprof.modules);
    free(pprof.stack);
    if (written == PROFILE_OK || output.failed) /* what failed is told there */
        return cli_output_commit(&output);
    cli_error("%s: %s", path, pprof.error.message);
    cli_output_abort(&output);
    return CLI_ENVIRONMENT;
}
