/* pprof_encode.c - profile.proto, written as a stream through nanopb.
 *
 * nanopb calls the callbacks below for each repeated field of Profile, in the order of their
 * numbers.  Messages inside are encoded twice, once for their size.  */
#include <pb_encode.h>
#include <stdlib.h>

#include "libprofile/write/gzip.h"
#include "libprofile/write/pprof_plan.h"
#include "schemas/profile.pb.h"

typedef bool encode_fn(pb_ostream_t *stream, const pb_field_t *field, void *const *arg);

static pb_callback_t callback(encode_fn *encode, const void *arg)
{
    /* nanopb hands arg back and nothing else.  */
    return (pb_callback_t){ .funcs.encode = encode, .arg = (void *)arg };
}

static bool encode_message(pb_ostream_t *stream, const pb_field_t *field,
                           const pb_msgdesc_t *description, const void *message)
{
    return pb_encode_tag_for_field(stream, field) &&
           pb_encode_submessage(stream, description, message);
}

/* pprof's values are signed.  */
static int64_t to_int64(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static perftools_profiles_ValueType value_type(const struct pprof_type *type)
{
    return (perftools_profiles_ValueType){ .type = type->type, .unit = type->unit };
}

static bool encode_sample_types(pb_ostream_t *stream, const pb_field_t *field, void *const *arg)
{
    const struct pprof_plan *plan = *arg;
    bool ok = true;

    for (size_t i = 0; i < plan->type_count && ok; i++) {
        perftools_profiles_ValueType type = value_type(&plan->types[i]);

        ok = encode_message(stream, field, perftools_profiles_ValueType_fields, &type);
    }
    return ok;
}

/* ---- Samples ---- */

/* The plan and one of its entries.  */
struct entry {
    const struct pprof_plan *plan;
    size_t index;
};

/* Numbers of a packed field: the locations of a stack.  */
static bool encode_stack(pb_ostream_t *stream, const struct pprof_plan *plan, profile_id callsite)
{
    bool ok = true;

    while (callsite && ok) {
        struct profile_callsite at = profile_stacks_get_callsite(plan->profile->stacks, callsite);

        ok = pb_encode_varint(stream, plan->frame_locations[at.frame]);
        callsite = at.parent;
    }
    return ok;
}

static bool encode_location_ids(pb_ostream_t *stream, const pb_field_t *field, void *const *arg)
{
    const struct entry *entry = *arg;
    profile_id callsite = entry->plan->samples[entry->index].callsite;
    pb_ostream_t sizing = PB_OSTREAM_SIZING;

    return encode_stack(&sizing, entry->plan, callsite) &&
           pb_encode_tag(stream, PB_WT_STRING, field->tag) &&
           pb_encode_varint(stream, sizing.bytes_written) &&
           encode_stack(stream, entry->plan, callsite);
}

static bool encode_values(pb_ostream_t *stream, const pb_field_t *field, void *const *arg)
{
    const struct entry *entry = *arg;
    const struct pprof_sample *sample = &entry->plan->samples[entry->index];
    bool ok = true;

    for (size_t i = 0; i < entry->plan->type_count && ok; i++) {
        uint64_t value = profile_rounded(&entry->plan->own_types[i], sample->values[i]);

        ok = pb_encode_tag(stream, PB_WT_VARINT, field->tag) &&
             pb_encode_varint(stream, (uint64_t)to_int64(value));
    }
    return ok;
}

static bool encode_text_label(pb_ostream_t *stream, const pb_field_t *field,
                              const struct pprof_plan *plan, enum pprof_text key, profile_id text)
{
    perftools_profiles_Label label = { .key = plan->texts[key], .str = text };

    return text == 0 || encode_message(stream, field, perftools_profiles_Label_fields, &label);
}

/* The unit keeps viewers from guessing one, and a 0 from vanishing (section 3).  */
static bool encode_number_label(pb_ostream_t *stream, const pb_field_t *field,
                                const struct pprof_plan *plan, enum pprof_text key, uint32_t number)
{
    perftools_profiles_Label label = { .key = plan->texts[key],
                                       .num = number,
                                       .num_unit = plan->texts[PPROF_ID] };

    return encode_message(stream, field, perftools_profiles_Label_fields, &label);
}

static bool encode_age(pb_ostream_t *stream, const pb_field_t *field, const struct pprof_plan *plan,
                       uint8_t age)
{
    perftools_profiles_Label label = { .key = plan->texts[PPROF_AGE],
                                       .num = to_int64(profile_age_ns(age)),
                                       .num_unit = plan->texts[PPROF_NANOSECONDS] };

    return age == 0 || encode_message(stream, field, perftools_profiles_Label_fields, &label);
}

static bool encode_labels(pb_ostream_t *stream, const pb_field_t *field, void *const *arg)
{
    const struct entry *entry = *arg;
    const struct pprof_plan *plan = entry->plan;
    const struct pprof_labels *labels = &plan->labels[plan->samples[entry->index].labels - 1];

    return encode_text_label(stream, field, plan, PPROF_PROCESS, labels->process) &&
           encode_text_label(stream, field, plan, PPROF_THREAD, labels->thread) &&
           encode_age(stream, field, plan, labels->age) &&
           encode_number_label(stream, field, plan, PPROF_PID, labels->pid) &&
           (!labels->has_tid || encode_number_label(stream, field, plan, PPROF_TID, labels->tid));
}

static bool encode_samples(pb_ostream_t *stream, const pb_field_t *field, void *const *arg)
{
    struct entry entry = { .plan = *arg };
    bool ok = true;

    for (; entry.index < entry.plan->sample_count && ok; entry.index++) {
        perftools_profiles_Sample sample = {
            .location_id = callback(encode_location_ids, &entry),
            .value = callback(encode_values, &entry),
            .label = callback(encode_labels, &entry),
        };

        ok = encode_message(stream, field, perftools_profiles_Sample_fields, &sample);
    }
    return ok;
}

/* ---- Mappings, locations, functions, strings ---- */

static bool encode_mappings(pb_ostream_t *stream, const pb_field_t *field, void *const *arg)
{
    const struct pprof_plan *plan = *arg;
    bool ok = true;

    for (size_t i = 0; i < plan->mapping_count && ok; i++) {
        const struct pprof_mapping *from = &plan->mappings[i];
        perftools_profiles_Mapping mapping = {
            .id = i + 1,
            .memory_start = from->start,
            .memory_limit = from->limit,
            .file_offset = from->file_offset,
            .filename = from->file,
            .build_id = from->build_id,
            .has_functions = from->has_functions,
            .has_filenames = from->has_files,
            .has_line_numbers = from->has_lines,
            .has_inline_frames = from->has_inlines,
        };

        ok = encode_message(stream, field, perftools_profiles_Mapping_fields, &mapping);
    }
    return ok;
}

static bool encode_lines(pb_ostream_t *stream, const pb_field_t *field, void *const *arg)
{
    const struct entry *entry = *arg;
    const struct pprof_location *location = &entry->plan->locations[entry->index];
    struct profile_frame frame = profile_stacks_get_frame(entry->plan->profile->stacks,
                                                          location->frame);
    bool ok = true;

    for (uint32_t i = 0; i < frame.line_count && ok; i++) {
        perftools_profiles_Line line = {
            .function_id = entry->plan->lines[location->first_line + i],
            .line = frame.lines[i].line,
            .column = frame.lines[i].column,
        };

        ok = encode_message(stream, field, perftools_profiles_Line_fields, &line);
    }
    return ok;
}

static bool encode_locations(pb_ostream_t *stream, const pb_field_t *field, void *const *arg)
{
    struct entry entry = { .plan = *arg };
    bool ok = true;

    for (; entry.index < entry.plan->location_count && ok; entry.index++) {
        struct profile_frame frame = profile_stacks_get_frame(
            entry.plan->profile->stacks, entry.plan->locations[entry.index].frame);
        perftools_profiles_Location location = {
            .id = entry.index + 1,
            .line = callback(encode_lines, &entry),
        };

        if (frame.module) {
            location.mapping_id = entry.plan->module_mappings[frame.module];
            location.address = frame.vaddr + entry.plan->mappings[location.mapping_id - 1].bias;
        }
        ok = encode_message(stream, field, perftools_profiles_Location_fields, &location);
    }
    return ok;
}

static bool encode_functions(pb_ostream_t *stream, const pb_field_t *field, void *const *arg)
{
    const struct pprof_plan *plan = *arg;
    bool ok = true;

    for (size_t i = 0; i < plan->function_count && ok; i++) {
        const struct pprof_function *from = &plan->functions[i];
        perftools_profiles_Function function = {
            .id = i + 1,
            .name = from->name,
            .system_name = from->system_name,
            .filename = from->file,
            .start_line = from->start_line,
        };

        ok = encode_message(stream, field, perftools_profiles_Function_fields, &function);
    }
    return ok;
}

static bool encode_strings(pb_ostream_t *stream, const pb_field_t *field, void *const *arg)
{
    const struct pprof_plan *plan = *arg;
    bool ok = true;

    for (profile_id id = 0; id <= profile_stacks_string_count(plan->strings) && ok; id++) {
        size_t length;
        const char *bytes = profile_stacks_text(plan->strings, id, &length);

        ok = pb_encode_tag_for_field(stream, field) &&
             pb_encode_string(stream, (const pb_byte_t *)bytes, length);
    }
    return ok;
}

/* ---- The profile ---- */

static bool write_bytes(pb_ostream_t *stream, const pb_byte_t *bytes, size_t size)
{
    return codec_gzip_put(stream->state, bytes, size);
}

static perftools_profiles_Profile make_message(const struct pprof_plan *plan)
{
    const struct profile_values *values = plan->values;
    const struct pprof_type *cpu_type = &plan->types[plan->type_count - 1];
    perftools_profiles_Profile message = {
        .sample_type = callback(encode_sample_types, plan),
        .sample = callback(encode_samples, plan),
        .mapping = callback(encode_mappings, plan),
        .location = callback(encode_locations, plan),
        .function = callback(encode_functions, plan),
        .string_table = callback(encode_strings, plan),
        .time_nanos = values->time_ns,
        .duration_nanos = to_int64(values->duration_ns),
        .default_sample_type = plan->types[plan->default_type].type,
    };

    /* Samples that weigh nanoseconds were taken every period of them; blocks, one in the interval's
     * bytes on average; spans were not sampled.  */
    if (plan->kind == PROFILE_HEAP || plan->kind == PROFILE_HEAP_FREE) {
        message.has_period_type = true;
        message.period_type = (perftools_profiles_ValueType){ .type = plan->texts[PPROF_SPACE],
                                                              .unit = plan->types[1].unit };
        message.period = to_int64(plan->profile->heap.interval_bytes);
    } else if (plan->kind == PROFILE_CPU && plan->type_count == 2) {
        message.has_period_type = true;
        message.period_type = value_type(cpu_type);
        message.period = to_int64(plan->profile->period_ns);
    }
    return message;
}

static enum profile_status write_plan(const struct pprof_plan *plan, struct codec_gzip *gzip,
                                      struct profile_error *error)
{
    perftools_profiles_Profile message = make_message(plan);
    pb_ostream_t stream = { .callback = write_bytes, .state = gzip, .max_size = SIZE_MAX };

    /* The callbacks fail only with the output, and the messages have no bounds to exceed.  */
    if (pb_encode(&stream, perftools_profiles_Profile_fields, &message) ||
        gzip->output.system_errno != 0)
        return PROFILE_OK;
    return profile_fail(error, PROFILE_INVALID, "encoding: %s", PB_GET_ERROR(&stream));
}

enum profile_status profile_write_pprof(const struct profile *profile, enum profile_kind kind,
                                        const struct profile_pprof_options *options,
                                        profile_write_fn write, void *context,
                                        struct profile_error *error)
{
    struct profile_pprof_options chosen = { .raw = false };
    struct pprof_plan plan;
    struct codec_gzip *gzip;
    enum profile_status status, finished;

    if ((unsigned)kind >= PROFILE_KINDS)
        return profile_fail(error, PROFILE_INVALID, "no profile of kind %d", (int)kind);
    if (options)
        memcpy(&chosen, options, options->size < sizeof chosen ? options->size : sizeof chosen);
    gzip = calloc(1, sizeof *gzip);
    if (!gzip)
        return profile_no_memory(error);
    status = pprof_plan_make(&plan, profile, kind, error);
    if (status == PROFILE_OK && chosen.sample_type > plan.type_count)
        status = profile_fail(error, PROFILE_INVALID, "no sample type %zu among %zu",
                              chosen.sample_type - 1, plan.type_count);
    if (chosen.sample_type > 0)
        plan.default_type = chosen.sample_type - 1;
    if (status == PROFILE_OK)
        status = codec_gzip_open(gzip, chosen.raw, write, context, error);
    if (status == PROFILE_OK) {
        status = write_plan(&plan, gzip, error);
        finished = codec_gzip_finish(gzip, status == PROFILE_OK ? error : NULL);
        if (status == PROFILE_OK)
            status = finished;
    }
    pprof_plan_release(&plan);
    free(gzip);
    return status;
}
