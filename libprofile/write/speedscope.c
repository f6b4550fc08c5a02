/* speedscope.c - the JSON of speedscope.app.
 *
 * A profile of type "sampled" for each thread; frames are shared.  A frame is a function, because
 * the viewer adds up by frame; its line is the one where the function begins.  The viewer draws
 * samples one after another, each as wide as its weight, so with times a pause between samples is
 * an empty stack of its width.  */
#include <stdlib.h>

#include "libprofile/write/writers.h"

struct speedscope {
    struct writer_tables tables; /* first: the sink's context is both */
    struct base_output output;
    struct writer_samples samples;
    struct writer_column weights; /* of the thread that is being written */
    struct base_pairs functions;  /* function; or UINT32_MAX, mapping: what has no name */
    uint32_t *frame_names;        /* of frame number i at [i - 1]: of functions, plus 1 */
    uint32_t *path;               /* scratch: frames of a stack */
    size_t path_capacity;
    struct base_text text; /* scratch */

    /* Of the thread that is being written.  */
    bool is_open;
    uint64_t written;          /* samples */
    int64_t start, end;        /* in the unit of weights */
    struct writer_sample last; /* not written yet: samples like it may follow */
    bool has_last;
    uint64_t profiles;
    int64_t heaviest; /* weight of the profile shown first */
    uint64_t heaviest_index;
};

/* ---- Frames ---- */

/* All frames of a function have one name; frames without a function have that of their module.  */
static uint32_t name_of_frame(struct speedscope *writer, uint32_t number)
{
    struct writer_frame frame = writer_frame_at(&writer->tables, number);

    if (frame.function)
        return base_pairs_add(&writer->functions,
                              (uint64_t)(frame.function - writer->tables.functions), 0, NULL);
    return base_pairs_add(&writer->functions, UINT32_MAX, frame.location->mapping, NULL);
}

static enum profile_status name_frames(struct speedscope *writer, struct profile_error *error)
{
    size_t count = writer->tables.frames.count;

    writer->frame_names = calloc(count + 1, sizeof *writer->frame_names);
    if (!writer->frame_names)
        return profile_no_memory(error);
    for (size_t i = 0; i < count; i++)
        if (!(writer->frame_names[i] = name_of_frame(writer, (uint32_t)i + 1)))
            return profile_no_memory(error);
    return PROFILE_OK;
}

static void put_function(struct speedscope *writer, const struct profile_pprof_function *function)
{
    struct profile_text name = writer_text(&writer->tables, function->name);
    struct profile_text file = writer_text(&writer->tables, function->filename);

    json_put_string(&writer->output, name.bytes, name.length);
    if (file.length > 0) {
        json_put_text(&writer->output, ",\"file\":");
        json_put_string(&writer->output, file.bytes, file.length);
    }
    if (function->start_line > 0) {
        json_put_text(&writer->output, ",\"line\":");
        json_put_number(&writer->output, function->start_line);
    }
}

static enum profile_status put_frames(struct speedscope *writer, struct profile_error *error)
{
    for (size_t i = 0; i < writer->functions.count; i++) {
        const struct base_pair *pair = &writer->functions.items[i];
        const struct writer_location nowhere = { .mapping = (uint32_t)pair->b };
        const struct writer_frame unnamed = { .location = &nowhere };

        json_put_text(&writer->output, i > 0 ? ",\n{\"name\":" : "\n{\"name\":");
        if (pair->a != UINT32_MAX && writer->tables.functions[pair->a].name) {
            put_function(writer, &writer->tables.functions[pair->a]);
        } else {
            if (!writer_frame_name(&writer->tables, &unnamed, &writer->text))
                return profile_no_memory(error);
            json_put_string(&writer->output, writer->text.bytes, writer->text.length);
        }
        json_put_text(&writer->output, "}");
    }
    return PROFILE_OK;
}

/* ---- Profiles ---- */

static enum profile_status put_name(struct speedscope *writer, uint32_t thread,
                                    struct profile_error *error)
{
    const struct profile_pprof_thread *from = thread ? &writer->tables.threads[thread] : NULL;
    struct base_text name = { .bytes = NULL };
    bool ok = writer_process_name(&writer->tables, thread, &name);

    if (ok && from && from->process_name && from->has_pid)
        base_text_addf(&name, " (%u)", from->pid);
    ok = ok && writer_thread_name(&writer->tables, thread, &writer->text);
    if (ok && writer->text.length > 0) {
        base_text_adds(&name, name.length > 0 ? " / " : "");
        base_text_add(&name, writer->text.bytes, writer->text.length);
        if (from && from->name && from->has_tid)
            base_text_addf(&name, " (%u)", from->tid);
    }
    if (ok && name.length == 0)
        base_text_adds(&name, "all samples");
    ok = ok && !name.failed;
    if (ok)
        json_put_string(&writer->output, name.bytes, name.length);
    free(name.bytes);
    return ok ? PROFILE_OK : profile_no_memory(error);
}

static const char *unit_of(const struct writer_tables *tables)
{
    return writer_unit_is(tables, "nanoseconds") ? "nanoseconds"
           : writer_unit_is(tables, "bytes")     ? "bytes"
                                                 : "none";
}

static enum profile_status put_stack(struct speedscope *writer, uint32_t stack,
                                     struct profile_error *error)
{
    size_t depth = 0;

    for (; stack; stack = (uint32_t)writer->tables.stacks.items[stack - 1].a) {
        if (!base_make_room(&writer->path, &writer->path_capacity, depth + 1, sizeof *writer->path))
            return profile_no_memory(error);
        writer->path[depth++] = writer->frame_names[writer->tables.stacks.items[stack - 1].b - 1] -
                                1;
    }
    json_put_text(&writer->output, writer->written++ > 0 ? ",\n[" : "\n[");
    while (depth-- > 0) {
        json_put_number(&writer->output, writer->path[depth]);
        if (depth > 0)
            json_put_text(&writer->output, ",");
    }
    json_put_text(&writer->output, "]");
    return PROFILE_OK;
}

static enum profile_status put_last(struct speedscope *writer, struct profile_error *error)
{
    enum profile_status status = PROFILE_OK;

    if (writer->has_last)
        status = put_stack(writer, writer->last.stack, error);
    if (writer->has_last && status == PROFILE_OK)
        status = writer_column_add(&writer->weights, writer->last.value, error);
    writer->has_last = false;
    return status;
}

static void put_weight(void *context, uint64_t index, int64_t number)
{
    struct base_output *output = context;

    if (index > 0)
        json_put_text(output, ",");
    json_put_number(output, number);
}

static enum profile_status end_profile(struct speedscope *writer, struct profile_error *error)
{
    enum profile_status status = put_last(writer, error);

    json_put_text(&writer->output, "],\"weights\":[");
    if (status == PROFILE_OK)
        status = writer_column_each(&writer->weights, put_weight, &writer->output, error);
    json_put_text(&writer->output, "],\"startValue\":");
    json_put_number(&writer->output, writer->start);
    json_put_text(&writer->output, ",\"endValue\":");
    json_put_number(&writer->output, writer->end);
    json_put_text(&writer->output, "}");
    return status;
}

static enum profile_status begin_profile(struct speedscope *writer,
                                         const struct writer_sample *sample, int64_t start,
                                         struct profile_error *error)
{
    enum profile_status status;

    json_put_text(&writer->output, writer->profiles++ > 0 ? ",\n{" : "\n{");
    json_put_text(&writer->output, "\"type\":\"sampled\",\"name\":");
    status = put_name(writer, (uint32_t)sample->thread, error);
    json_put_text(&writer->output, ",\"unit\":\"");
    json_put_text(&writer->output, unit_of(&writer->tables));
    json_put_text(&writer->output, "\",\"samples\":[");
    writer->is_open = true;
    writer->written = 0;
    writer->start = writer->end = start;
    return status;
}

/* A sample ends at its time; less than half of its width is no pause, but jitter.  */
static enum profile_status put_pause(struct speedscope *writer, const struct writer_sample *sample,
                                     struct profile_error *error)
{
    int64_t now = writer_sample_ns(&writer->samples, sample);
    int64_t width = sample->value, from = now > width ? now - width : 0;
    enum profile_status status;

    if (!writer->samples.has_times || !writer_unit_is(&writer->tables, "nanoseconds") ||
        from <= writer->end || from - writer->end < width / 2)
        return PROFILE_OK;
    status = put_last(writer, error);
    if (status == PROFILE_OK)
        status = put_stack(writer, 0, error);
    if (status == PROFILE_OK)
        status = writer_column_add(&writer->weights, from - writer->end, error);
    writer->end = from;
    return status;
}

static enum profile_status put_sample(struct speedscope *writer, const struct writer_sample *sample,
                                      struct profile_error *error)
{
    enum profile_status status = put_pause(writer, sample, error);

    if (writer->has_last && writer->last.stack != sample->stack && status == PROFILE_OK)
        status = put_last(writer, error);
    if (status != PROFILE_OK)
        return status;
    if (writer->has_last)
        writer->last.value = writer_sum(writer->last.value, sample->value);
    else
        writer->last = *sample;
    writer->has_last = true;
    writer->end = writer_sum(writer->end, sample->value);
    return PROFILE_OK;
}

static int64_t start_of(const struct speedscope *writer, const struct writer_sample *sample)
{
    int64_t now = writer_sample_ns(&writer->samples, sample);

    if (!writer->samples.has_times || !writer_unit_is(&writer->tables, "nanoseconds"))
        return 0;
    return now > sample->value ? now - sample->value : 0;
}

static enum profile_status put_profiles(struct speedscope *writer, struct profile_error *error)
{
    const struct writer_sample *sample = NULL;
    enum profile_status status = writer_samples_next(&writer->samples, &sample, error);
    int64_t thread = -1;
    int64_t weight = 0;

    while (status == PROFILE_OK && sample) {
        if (sample->thread != thread) {
            if (writer->is_open)
                status = end_profile(writer, error);
            if (status == PROFILE_OK)
                status = begin_profile(writer, sample, start_of(writer, sample), error);
            thread = sample->thread;
            weight = 0;
        }
        if (status == PROFILE_OK)
            status = put_sample(writer, sample, error);
        weight = writer_sum(weight, sample->value);
        if (weight > writer->heaviest) {
            writer->heaviest = weight;
            writer->heaviest_index = writer->profiles - 1;
        }
        if (status == PROFILE_OK)
            status = writer_samples_next(&writer->samples, &sample, error);
    }
    if (writer->is_open && status == PROFILE_OK)
        status = end_profile(writer, error);
    return status;
}

/* The viewer takes no file without a profile.  */
static enum profile_status put_empty(struct speedscope *writer, struct profile_error *error)
{
    const struct writer_sample nothing = { .thread = 0 };
    enum profile_status status = begin_profile(writer, &nothing, 0, error);

    return status == PROFILE_OK ? end_profile(writer, error) : status;
}

/* ---- The writer ---- */

static enum profile_status put_all(struct speedscope *writer, struct profile_error *error)
{
    enum profile_status status;

    json_put_text(&writer->output,
                  "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                  "\"exporter\":\"fxt\",\n\"shared\":{\"frames\":[");
    status = name_frames(writer, error);
    if (status == PROFILE_OK)
        status = put_frames(writer, error);
    json_put_text(&writer->output, "]},\n\"profiles\":[");
    if (status == PROFILE_OK)
        status = put_profiles(writer, error);
    if (status == PROFILE_OK && writer->profiles == 0)
        status = put_empty(writer, error);
    json_put_text(&writer->output, "],\n\"activeProfileIndex\":");
    json_put_number(&writer->output, (int64_t)writer->heaviest_index);
    json_put_text(&writer->output, "}\n");
    return status;
}

static enum profile_status speedscope_finish(void *context, struct profile_error *error)
{
    struct speedscope *writer = context;
    enum profile_status status = PROFILE_OK;

    if (!writer->tables.has_header)
        return profile_fail(error, PROFILE_INVALID, "the profile has no header");
    if (writer->samples.any_negative)
        return profile_fail(error, PROFILE_INVALID,
                            "speedscope has no negative values: write this profile as pprof");
    status = writer_samples_finish(&writer->samples, error);
    if (status == PROFILE_OK)
        status = put_all(writer, error);
    return status == PROFILE_OK ? codec_output_finish(&writer->output, error) : status;
}

static enum profile_status take_sample(void *context, const struct profile_pprof_sample *sample)
{
    struct speedscope *writer = context;

    return writer_samples_add(&writer->samples, &writer->tables, sample);
}

static void speedscope_sink(void *context, struct profile_pprof_sink *out)
{
    struct speedscope *writer = context;

    writer_tables_sink(&writer->tables, out);
    out->sample = take_sample;
}

static void speedscope_errors_to(void *context, struct profile_error *error)
{
    struct speedscope *writer = context;

    writer->tables.error = error;
}

static void speedscope_close(void *context)
{
    struct speedscope *writer = context;

    if (!writer)
        return;
    writer_tables_release(&writer->tables);
    writer_samples_release(&writer->samples);
    writer_column_release(&writer->weights);
    base_pairs_release(&writer->functions);
    free(writer->frame_names);
    free(writer->path);
    free(writer->text.bytes);
    free(writer);
}

static enum profile_status speedscope_open(const struct profile_writer_options *options,
                                           profile_write_fn write, void *context, void **out,
                                           struct profile_error *error)
{
    struct speedscope *writer = calloc(1, sizeof *writer);
    enum profile_status status;

    if (!writer)
        return profile_no_memory(error);
    base_output_init(&writer->output, write, context);
    writer_column_open(&writer->weights, options->temporary_dir);
    status = writer_samples_open(&writer->samples, options, error);
    if (status != PROFILE_OK)
        speedscope_close(writer);
    else
        *out = writer;
    return status;
}

const struct writer_functions speedscope_functions = {
    .open = speedscope_open,
    .sink = speedscope_sink,
    .errors_to = speedscope_errors_to,
    .finish = speedscope_finish,
    .close = speedscope_close,
};
