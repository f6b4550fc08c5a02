/* read_profile.c - pprof profiles and folded stacks as runs.
 *
 * Their frames go into the stacks of all runs by name and module: what has names needs no
 * addresses, and addresses of two runs say nothing about each other.  */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/compare_set.h>
#include <fxt/profile_files.h>
#include "base/file.h"
#include "base/hex.h"
#include "base/numbering.h"
#include "cmd/cli/cli_bounds.h"
#include "cmd/cli/cli_input.h"
#include "cmd/fxtdiff/readers.h"

/* A profile being read.  */
struct job {
    struct diff_runs *runs;
    struct compare_run *run;
    struct profile_stacks *stacks;
    const char *label;
    struct profile_error error;
    bool refused; /* a message was printed */

    const struct profile_text *strings;
    size_t string_count;
    profile_id *mappings; /* module of each, by number */
    size_t mapping_count, mapping_capacity;
    struct profile_line *functions; /* name, file, start line */
    size_t function_count, function_capacity;
    profile_id *locations; /* frame of each */
    size_t location_count, location_capacity;
    struct profile_line *lines; /* scratch */
    size_t line_capacity;
    /* Stacks as they stand in samples, which repeat them (other labels, other threads), and the
     * call site of each: one look-up, and not one for each of its frames.  */
    struct base_texts stacks_seen;
    profile_id *callsites;
    size_t callsite_count, callsite_capacity;

    size_t value;       /* index of the sample type */
    size_t count_value; /* index of samples/count; SIZE_MAX: none */
    int64_t period;     /* of values of the sample type; 0 unknown */
    double cost, samples;
    uint64_t divisor;      /* greatest common one of all folded counts; 0 without any */
    size_t counted_stacks; /* of folded stacks: those with a count above 0 */
};

/* ---- Opening ---- */

static enum cli_exit open_input(const char *path, const char *label, int *fd,
                                struct fxt_input **input)
{
    struct fxt_input_options options = { .size = sizeof options, .as_stream = true };

    *input = NULL;
    *fd = options.fd = cli_input_open(path);
    if (*fd < 0) {
        cli_error("%s: %s", label, strerror(errno));
        return CLI_ENVIRONMENT;
    }
    if (fxt_input_open(&options, input, NULL) == FXT_OK)
        return CLI_OK;
    cli_error("%s: out of memory", label);
    return CLI_ENVIRONMENT;
}

static struct profile_read_options limits_of_reading(void)
{
    size_t most = cli_bounds_are_lifted() ? SIZE_MAX : 0;

    return (struct profile_read_options){ .size = sizeof(struct profile_read_options),
                                          .table_bytes = most,
                                          .entry_bytes = most };
}

/* What to say and return of a reader's status.  */
static enum cli_exit finish(struct job *job, enum profile_status status,
                            const struct profile_read_notices *notices)
{
    char text[300];
    bool damaged = profile_read_describe(notices, text, sizeof text);

    if (damaged)
        cli_error("%s: %s", job->label, text);
    if (job->refused)
        return CLI_USAGE;
    if (status == PROFILE_OK)
        return damaged ? CLI_DAMAGED : CLI_OK;
    cli_error("%s: %s", job->label, job->error.message);
    compare_builder_add_unreadable(job->runs->builder);
    return status == PROFILE_MALFORMED ? CLI_DAMAGED : CLI_ENVIRONMENT;
}

/* Keep an error of the stacks: a sink returns but its status.  */
static enum profile_status intern(struct job *job, const char *bytes, size_t length,
                                  profile_id *out)
{
    return profile_stacks_string(job->stacks, bytes, length, out, &job->error);
}

/* ---- pprof ---- */

static enum profile_status take_strings(void *context, const struct profile_text *strings,
                                        size_t count)
{
    struct job *job = context;

    job->strings = strings;
    job->string_count = count;
    return PROFILE_OK;
}

static const char *text_at(const struct job *job, uint32_t index)
{
    return index < job->string_count ? job->strings[index].bytes : "";
}

static enum profile_status intern_at(struct job *job, uint32_t index, profile_id *out)
{
    if (index >= job->string_count) {
        *out = 0;
        return PROFILE_OK;
    }
    return intern(job, job->strings[index].bytes, job->strings[index].length, out);
}

static void list_types(const struct job *job, const struct profile_pprof_header *header,
                       char *names, size_t size)
{
    names[0] = '\0';
    for (size_t i = 0; i < header->type_count; i++) {
        size_t used = strlen(names);

        (void)snprintf(names + used, size - used, "%s%s", used ? ", " : "",
                       text_at(job, header->types[i].type));
    }
}

/* The type asked for, or that of the runs before, or the profile's default, or the last.  */
static bool choose_value(struct job *job, const struct profile_pprof_header *header)
{
    const char *wanted = job->runs->reading->sample_type;
    const char *known = compare_builder_type(job->runs->builder).type;
    const char *by_default = text_at(job, header->default_sample_type);
    const char *names[] = { wanted, known, *by_default ? by_default : NULL };
    char list[200];

    job->count_value = SIZE_MAX;
    for (size_t i = 0; i < header->type_count; i++)
        if (strcmp(text_at(job, header->types[i].type), "samples") == 0)
            job->count_value = i;
    for (size_t n = 0; n < 3; n++) {
        if (!names[n])
            continue;
        for (job->value = 0; job->value < header->type_count; job->value++)
            if (strcmp(text_at(job, header->types[job->value].type), names[n]) == 0)
                return true;
        if (n == 0) {
            list_types(job, header, list, sizeof list);
            cli_error("%s: no sample type %s, only %s", job->label, wanted, list);
            return false;
        }
    }
    job->value = header->type_count - 1;
    return header->type_count > 0;
}

static enum profile_status take_header(void *context, const struct profile_pprof_header *header)
{
    struct job *job = context;
    const char *unit;

    if (header->type_count == 0) {
        cli_error("%s: the profile has no sample types", job->label);
        job->refused = true;
        return PROFILE_STOPPED;
    }
    if (!choose_value(job, header)) {
        job->refused = true;
        return PROFILE_STOPPED;
    }
    unit = text_at(job, header->types[job->value].unit);
    if (!diff_set_type(job->runs, text_at(job, header->types[job->value].type), unit)) {
        job->refused = true;
        return PROFILE_STOPPED;
    }
    if (header->has_period_type && header->period > 0 &&
        strcmp(text_at(job, header->period_type.unit), unit) == 0)
        job->period = header->period;
    if (job->period > 0 && strcmp(unit, "nanoseconds") == 0)
        job->run->environment.period_ns = (uint64_t)job->period;
    return PROFILE_OK;
}

/* What is no build ID - Go has texts of its own there - is none.  */
static uint8_t take_build_id(const struct job *job, uint32_t index, struct profile_module *module)
{
    const struct profile_text *text = index < job->string_count ? &job->strings[index] : NULL;

    return text ? (uint8_t)base_unhex(text->bytes, text->length, module->build_id,
                                      sizeof module->build_id)
                : 0;
}

static enum profile_status take_mapping(void *context, const struct profile_pprof_mapping *mapping)
{
    struct job *job = context;
    struct profile_module module = { .name = 0 };
    enum profile_status status = intern_at(job, mapping->filename, &module.name);

    module.build_id_length = take_build_id(job, mapping->build_id, &module);
    if (module.build_id_length == 0)
        memset(module.build_id, 0, sizeof module.build_id);
    job->mappings = cli_grow(job->mappings, &job->mapping_capacity, job->mapping_count + 1,
                             sizeof *job->mappings);
    if (status == PROFILE_OK)
        status = profile_stacks_module(job->stacks, &module, &job->mappings[job->mapping_count],
                                       &job->error);
    job->mapping_count++;
    return status;
}

static uint32_t small(int64_t number)
{
    return number > 0 && number < UINT32_MAX ? (uint32_t)number : 0;
}

static enum profile_status take_function(void *context,
                                         const struct profile_pprof_function *function)
{
    struct job *job = context;
    struct profile_line line = { .start_line = small(function->start_line) };
    uint32_t name = *text_at(job, function->name) ? function->name : function->system_name;
    enum profile_status status = intern_at(job, name, &line.function);

    if (status == PROFILE_OK)
        status = intern_at(job, function->filename, &line.file);
    job->functions = cli_grow(job->functions, &job->function_capacity, job->function_count + 1,
                              sizeof *job->functions);
    job->functions[job->function_count++] = line;
    return status;
}

/* "[libc.so.6]" for a location without functions, as for addresses without names.  */
static enum profile_status unnamed_line(struct job *job, profile_id module,
                                        struct profile_line *out)
{
    profile_id name = profile_stacks_get_module(job->stacks, module).name;
    const char *base = base_name(profile_stacks_text(job->stacks, name, NULL));
    char text[300];

    (void)snprintf(text, sizeof text, *base == '[' ? "%s" : "[%s]", *base ? base : "unknown");
    *out = (struct profile_line){ .function = 0 };
    return intern(job, text, strlen(text), &out->function);
}

static enum profile_status take_location(void *context,
                                         const struct profile_pprof_location *location)
{
    struct job *job = context;
    size_t count = location->line_count;
    uint32_t mapping = location->mapping;
    profile_id module = mapping > 0 && mapping <= job->mapping_count ? job->mappings[mapping - 1]
                                                                     : 0;
    enum profile_status status = PROFILE_OK;

    job->locations = cli_grow(job->locations, &job->location_capacity, job->location_count + 1,
                              sizeof *job->locations);
    job->lines = cli_grow(job->lines, &job->line_capacity, count + 1, sizeof *job->lines);
    for (size_t i = 0; i < count; i++) {
        uint32_t number = location->lines[i].function;

        if (number > 0 && number <= job->function_count)
            job->lines[i] = job->functions[number - 1];
        else
            status = unnamed_line(job, module, &job->lines[i]);
        job->lines[i].line = small(location->lines[i].line);
        if (status != PROFILE_OK)
            return status;
    }
    if (count == 0) {
        status = unnamed_line(job, module, &job->lines[0]);
        count = 1;
    }
    if (status == PROFILE_OK)
        status = profile_stacks_named_frame_in(job->stacks, module, job->lines, count,
                                               &job->locations[job->location_count], &job->error);
    job->location_count++;
    return status;
}

static enum profile_status refuse_negative(struct job *job)
{
    if (!job->refused)
        cli_error("%s has negative values: it is already a difference", job->label);
    job->refused = true;
    return PROFILE_STOPPED;
}

static enum profile_status find_callsite(struct job *job, const struct profile_pprof_sample *sample,
                                         profile_id *out)
{
    uint32_t seen = base_texts_add(&job->stacks_seen, (const char *)sample->locations,
                                   sample->location_count * sizeof *sample->locations, NULL);
    enum profile_status status = PROFILE_OK;

    if (seen == 0)
        cli_out_of_memory();
    *out = 0;
    if (seen <= job->callsite_count) {
        *out = job->callsites[seen - 1];
        return PROFILE_OK;
    }
    for (size_t i = sample->location_count; i-- > 0 && status == PROFILE_OK;) {
        uint32_t number = sample->locations[i];

        if (number > 0 && number <= job->location_count)
            status = profile_stacks_callsite(job->stacks, *out, job->locations[number - 1], out,
                                             &job->error);
    }
    job->callsites = cli_grow(job->callsites, &job->callsite_capacity, job->callsite_count + 1,
                              sizeof *job->callsites);
    job->callsites[job->callsite_count++] = *out;
    return status;
}

static enum profile_status take_sample(void *context, const struct profile_pprof_sample *sample)
{
    struct job *job = context;
    enum profile_status status;
    profile_id callsite;
    int64_t value = sample->values[job->value];

    if (value < 0)
        return refuse_negative(job);
    if (value == 0)
        return PROFILE_OK;
    status = find_callsite(job, sample, &callsite);
    if (status != PROFILE_OK)
        return status;
    job->cost += (double)value;
    if (job->count_value != SIZE_MAX && sample->values[job->count_value] > 0)
        job->samples += (double)sample->values[job->count_value];
    compare_builder_add_stack(job->runs->builder, callsite, (double)value);
    return PROFILE_OK;
}

static void release(struct job *job)
{
    free(job->mappings);
    free(job->functions);
    free(job->locations);
    free(job->lines);
    free(job->callsites);
    base_texts_release(&job->stacks_seen);
}

/* From how many samples the cost was estimated: as the profile says, or by its period - bytes
 * between samples of a heap profile - or, lacking both, one a unit.  Too many does no harm: what
 * runs vary more than that shows as dispersion.  */
static double count_samples(const struct job *job)
{
    if (job->count_value != SIZE_MAX && job->samples > 0)
        return job->samples;
    return job->period > 0 ? job->cost / (double)job->period : job->cost;
}

enum cli_exit diff_read_pprof(struct diff_runs *runs, enum compare_side side, const char *path,
                              const char *label)
{
    struct job job = { .runs = runs,
                       .run = diff_begin_run(runs, side, label),
                       .stacks = profile_stacks_of(runs->profile),
                       .label = label };
    struct profile_pprof_sink sink = { .size = sizeof sink,
                                       .context = &job,
                                       .strings = take_strings,
                                       .header = take_header,
                                       .mapping = take_mapping,
                                       .function = take_function,
                                       .location = take_location,
                                       .sample = take_sample };
    const struct profile_read_options limits = limits_of_reading();
    struct profile_read_notices notices;
    struct fxt_input *input;
    int fd;
    enum cli_exit status = open_input(path, label, &fd, &input);

    if (status == CLI_OK) {
        status = finish(&job, profile_read(input, &sink, &limits, &notices, &job.error), &notices);
        job.run->cost = job.cost;
        job.run->samples = count_samples(&job);
    }
    release(&job);
    fxt_input_close(input);
    if (fd >= 0)
        cli_input_close(path, fd);
    return status;
}

/* ---- Folded stacks ---- */

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b > 0) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Nanoseconds of samples are multiples of the period: a large number that divides all of them is
 * what a sample stands for.  A small one, or one of few stacks, may be chance: one stack of 5,000
 * samples is divided by 5,000.  */
#define LEAST_PERIOD 1000
#define LEAST_STACKS 3

static void take_count(struct job *job, const struct profile_folded_count *count)
{
    job->counted_stacks += count->integer > 0;
    job->divisor = count->is_integer ? common_divisor(count->integer, job->divisor) : 1;
}

/* What a sample stands for in folded stacks.  */
static double sample_value(const struct job *job)
{
    return job->divisor >= LEAST_PERIOD && job->counted_stacks >= LEAST_STACKS
               ? (double)job->divisor
               : 1;
}

/* A frame of folded stacks: a name, in which a place may stand.  */
static enum profile_status intern_frame(struct job *job, const struct profile_text *text,
                                        struct profile_line *out)
{
    struct compare_placed_name placed;
    enum profile_status status;
    char *name;

    *out = (struct profile_line){ .function = 0 };
    if (!compare_name_place(text->bytes, text->length, &placed))
        return intern(job, text->bytes, text->length, &out->function);
    out->line = placed.line;
    name = cli_allocate(placed.length + 1, 1);
    memcpy(name, text->bytes, placed.length);
    name[placed.length] = ')';
    status = intern(job, name, placed.length + 1, &out->function);
    free(name);
    if (status == PROFILE_OK)
        status = intern(job, placed.file, placed.file_length, &out->file);
    return status;
}

static enum profile_status take_line(void *context, const struct profile_folded_line *line)
{
    struct job *job = context;
    enum profile_status status = PROFILE_OK;
    profile_id callsite = 0;

    if (line->count_count > 1) {
        cli_error("%s: line %llu has two columns of counts: it is already a difference", job->label,
                  (unsigned long long)line->number);
        job->refused = true;
        return PROFILE_STOPPED;
    }
    for (size_t i = 0; i < line->frame_count && status == PROFILE_OK; i++) {
        struct profile_line name;
        profile_id frame;

        status = intern_frame(job, &line->frames[i], &name);
        if (status == PROFILE_OK)
            status = profile_stacks_named_frame(job->stacks, &name, 1, &frame, &job->error);
        if (status == PROFILE_OK)
            status = profile_stacks_callsite(job->stacks, callsite, frame, &callsite, &job->error);
    }
    if (status == PROFILE_OK && line->counts[0].number > 0) {
        job->cost += line->counts[0].number;
        take_count(job, &line->counts[0]);
        compare_builder_add_stack(job->runs->builder, callsite, line->counts[0].number);
    }
    return status;
}

enum cli_exit diff_read_folded(struct diff_runs *runs, enum compare_side side, const char *path,
                               const char *label)
{
    struct job job = { .runs = runs,
                       .run = diff_begin_run(runs, side, label),
                       .stacks = profile_stacks_of(runs->profile),
                       .label = label };
    struct profile_folded_sink sink = { .size = sizeof sink, .context = &job, .line = take_line };
    const struct profile_read_options limits = limits_of_reading();
    struct profile_read_notices notices;
    struct fxt_input *input;
    int fd;
    enum cli_exit status = open_input(path, label, &fd, &input);

    job.run->type_assumed = true;
    if (status == CLI_OK) {
        status = finish(&job, profile_read_folded(input, &sink, &limits, &notices, &job.error),
                        &notices);
        job.run->cost = job.cost;
        job.run->samples = job.cost / sample_value(&job);
    }
    fxt_input_close(input);
    if (fd >= 0)
        cli_input_close(path, fd);
    return status;
}
