/* firefox.c - the processed profile of profiler.firefox.com, version 61.
 *
 * The viewer upgrades older versions when it opens a file, so this one need not follow it.  Tables
 * are columns: an array for each member.  Threads come first, with times and weights from temporary
 * files; the tables that they share come last.  Samples without times lie one after another, each
 * as far from the next as it weighs, and the file says that these times are made up.  */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libprofile/write/writers.h"

#define FORMAT_VERSION 61
#define GECKO_VERSION  29

struct firefox {
    struct writer_tables tables; /* first: the sink's context is both */
    struct base_output output;
    struct writer_samples samples;
    /* Of the thread that is being written; CPU time is the weight once more, for the graph.  */
    struct writer_column times, weights, cpu_times;
    struct base_pairs functions; /* function or UINT32_MAX, mapping */
    struct base_pairs sources;   /* string of the file name, 0 */
    struct base_texts strings;   /* number i is string i - 1 */
    struct base_text text;       /* scratch */
    bool failed;                 /* memory was short */

    bool is_open;
    uint64_t written; /* samples of the thread */
    int64_t end;      /* of the last sample without a time */
};

enum { CATEGORY_OTHER = 0, CATEGORY_USER = 1, CATEGORY_KERNEL = 2 };

/* ---- Strings ---- */

static int64_t string_of(struct firefox *writer, const char *bytes, size_t length)
{
    uint32_t number = base_texts_add(&writer->strings, bytes, length, NULL);

    writer->failed |= !number;
    return (int64_t)number - 1;
}

static int64_t text_of(struct firefox *writer, struct profile_text text)
{
    return string_of(writer, text.bytes, text.length);
}

/* ---- Meta ---- */

static bool is_time(const struct firefox *writer)
{
    return writer_unit_is(&writer->tables, "nanoseconds");
}

/* The viewer has three kinds of weights.  */
static const char *weight_type(const struct firefox *writer)
{
    return is_time(writer)                            ? "tracing-ms"
           : writer_unit_is(&writer->tables, "bytes") ? "bytes"
                                                      : "samples";
}

static void put_entry(struct firefox *writer, const char *label, struct profile_text value)
{
    json_put_text(&writer->output, "{\"label\":\"");
    json_put_text(&writer->output, label);
    json_put_text(&writer->output, "\",\"format\":\"string\",\"value\":");
    json_put_string(&writer->output, value.bytes, value.length);
    json_put_text(&writer->output, "}");
}

/* What the viewer shows beside the profile.  */
static void put_extra(struct firefox *writer)
{
    static const char recorded[] = "of the samples";
    static const char made_up[] = "made up: the profile has none, so samples lie one after another";
    const struct profile_pprof_type *type = &writer->tables.header.types[writer->tables.shown];
    struct profile_text times = { recorded, strlen(recorded) };

    if (!writer->samples.has_times)
        times = (struct profile_text){ made_up, strlen(made_up) };
    json_put_text(&writer->output, ",\"extra\":[{\"label\":\"Samples\",\"entries\":[");
    put_entry(writer, "Times", times);
    json_put_text(&writer->output, ",");
    put_entry(writer, "Sample type", writer_text(&writer->tables, type->type));
    json_put_text(&writer->output, ",");
    put_entry(writer, "Unit", writer_text(&writer->tables, type->unit));
    json_put_text(&writer->output, "]}]");
}

static void put_meta(struct firefox *writer)
{
    const struct profile_pprof_header *header = &writer->tables.header;
    bool has_period = header->has_period_type && header->period > 0 && is_time(writer);

    json_put_text(&writer->output, "{\"meta\":{\"version\":");
    json_put_number(&writer->output, GECKO_VERSION);
    json_put_text(&writer->output, ",\"preprocessedProfileVersion\":");
    json_put_number(&writer->output, FORMAT_VERSION);
    json_put_text(&writer->output, ",\"interval\":");
    json_put_millionths(&writer->output, has_period ? header->period : 1000000);
    json_put_text(&writer->output, ",\"startTime\":");
    json_put_millionths(&writer->output, header->time_ns > 0 ? header->time_ns : 0);
    json_put_text(
        &writer->output,
        ",\"processType\":0,\"product\":\"fxt\",\"importedFrom\":\"fxt\",\"stackwalk\":1,"
        "\"symbolicated\":true,\"markerSchema\":[],"
        "\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},"
        "\"usesOnlyOneStackType\":true,"
        "\"sourceCodeIsNotOnSearchfox\":true,\"categories\":["
        "{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
        "{\"name\":\"User\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]},"
        "{\"name\":\"Kernel\",\"color\":\"orange\",\"subcategories\":[\"Other\"]}]");
    put_extra(writer);
    json_put_text(&writer->output, "}");
}

/* ---- Columns of tables ---- */

typedef int64_t (*column_fn)(struct firefox *writer, size_t index);

/* Prints null where it stands for nothing.  */
#define NOTHING INT64_MIN

static void put_cell(struct firefox *writer, int64_t cell)
{
    if (cell == NOTHING)
        json_put_text(&writer->output, "null");
    else
        json_put_number(&writer->output, cell);
}

/* "name":[...] of count cells.  */
static void put_column(struct firefox *writer, const char *name, size_t count, column_fn cell)
{
    json_put_text(&writer->output, ",\n\"");
    json_put_text(&writer->output, name);
    json_put_text(&writer->output, "\":[");
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            json_put_text(&writer->output, ",");
        put_cell(writer, cell(writer, i));
    }
    json_put_text(&writer->output, "]");
}

static void begin_table(struct firefox *writer, const char *name, size_t count)
{
    json_put_text(&writer->output, ",\n\"");
    json_put_text(&writer->output, name);
    json_put_text(&writer->output, "\":{\"length\":");
    json_put_number(&writer->output, (int64_t)count);
}

static void end_table(struct firefox *writer)
{
    json_put_text(&writer->output, "}");
}

static int64_t cell_nothing(struct firefox *writer, size_t index)
{
    (void)writer;
    (void)index;
    return NOTHING;
}

static int64_t cell_zero(struct firefox *writer, size_t index)
{
    (void)writer;
    (void)index;
    return 0;
}

static int64_t cell_one(struct firefox *writer, size_t index)
{
    (void)writer;
    (void)index;
    return 1;
}

/* ---- Stacks and frames ---- */

static int64_t stack_frame(struct firefox *writer, size_t index)
{
    return (int64_t)writer->tables.stacks.items[index].b - 1;
}

static int64_t stack_prefix(struct firefox *writer, size_t index)
{
    uint64_t prefix = writer->tables.stacks.items[index].a;

    return prefix ? (int64_t)prefix - 1 : NOTHING;
}

static void put_stacks(struct firefox *writer)
{
    size_t count = writer->tables.stacks.count;

    begin_table(writer, "stackTable", count);
    put_column(writer, "frame", count, stack_frame);
    put_column(writer, "prefix", count, stack_prefix);
    end_table(writer);
}

static struct writer_frame frame_at(const struct firefox *writer, size_t index)
{
    return writer_frame_at(&writer->tables, (uint32_t)index + 1);
}

/* Relative to the module; the viewer keeps numbers as doubles.  */
static int64_t frame_address(struct firefox *writer, size_t index)
{
    struct writer_frame frame = frame_at(writer, index);
    const struct profile_pprof_mapping *mapping;
    uint64_t address;

    if (!frame.location->mapping)
        return -1;
    mapping = &writer->tables.mappings[frame.location->mapping - 1];
    if (frame.location->address < mapping->start)
        return -1;
    address = frame.location->address - mapping->start + mapping->file_offset;
    return address < UINT64_C(1) << 53 ? (int64_t)address : -1;
}

static int64_t frame_depth(struct firefox *writer, size_t index)
{
    return frame_at(writer, index).depth;
}

static int64_t frame_category(struct firefox *writer, size_t index)
{
    static const char kernel[] = "[kernel";
    struct writer_frame frame = frame_at(writer, index);
    uint32_t name = 0;

    if (!frame.location->mapping)
        return CATEGORY_OTHER;
    name = writer->tables.mappings[frame.location->mapping - 1].filename;
    return strncmp(writer_text(&writer->tables, name).bytes, kernel, strlen(kernel)) == 0
               ? CATEGORY_KERNEL
               : CATEGORY_USER;
}

static uint32_t function_number(struct firefox *writer, const struct writer_frame *frame)
{
    uint64_t function = frame->function ? (uint64_t)(frame->function - writer->tables.functions)
                                        : UINT32_MAX;
    uint32_t number = base_pairs_add(&writer->functions, function, frame->location->mapping, NULL);

    writer->failed |= !number;
    return number;
}

static int64_t frame_function(struct firefox *writer, size_t index)
{
    struct writer_frame frame = frame_at(writer, index);

    return (int64_t)function_number(writer, &frame) - 1;
}

static int64_t positive(int64_t number)
{
    return number > 0 ? number : NOTHING;
}

static int64_t frame_line(struct firefox *writer, size_t index)
{
    struct writer_frame frame = frame_at(writer, index);

    return frame.line ? positive(frame.line->line) : NOTHING;
}

static int64_t frame_column(struct firefox *writer, size_t index)
{
    struct writer_frame frame = frame_at(writer, index);

    return frame.line ? positive(frame.line->column) : NOTHING;
}

static void put_frames(struct firefox *writer)
{
    size_t count = writer->tables.frames.count;

    begin_table(writer, "frameTable", count);
    put_column(writer, "address", count, frame_address);
    put_column(writer, "inlineDepth", count, frame_depth);
    put_column(writer, "category", count, frame_category);
    put_column(writer, "subcategory", count, cell_zero);
    put_column(writer, "func", count, frame_function);
    put_column(writer, "nativeSymbol", count, cell_nothing);
    put_column(writer, "innerWindowID", count, cell_nothing);
    put_column(writer, "line", count, frame_line);
    put_column(writer, "column", count, frame_column);
    end_table(writer);
}

/* ---- Functions, sources, modules ---- */

static const struct profile_pprof_function *function_at(const struct firefox *writer, size_t index)
{
    uint64_t function = writer->functions.items[index].a;

    return function == UINT32_MAX ? NULL : &writer->tables.functions[function];
}

static int64_t function_name(struct firefox *writer, size_t index)
{
    const struct writer_location place = {
        .mapping = (uint32_t)writer->functions.items[index].b,
    };
    const struct writer_frame frame = { .location = &place,
                                        .function = function_at(writer, index) };

    if (!writer_frame_name(&writer->tables, &frame, &writer->text)) {
        writer->failed = true;
        return 0;
    }
    return string_of(writer, writer->text.bytes, writer->text.length);
}

static int64_t function_resource(struct firefox *writer, size_t index)
{
    return (int64_t)writer->functions.items[index].b - 1;
}

static int64_t function_source(struct firefox *writer, size_t index)
{
    const struct profile_pprof_function *function = function_at(writer, index);
    uint32_t source;

    if (!function || !function->filename)
        return NOTHING;
    source = base_pairs_add(&writer->sources, function->filename, 0, NULL);
    writer->failed |= !source;
    return (int64_t)source - 1;
}

static int64_t function_line(struct firefox *writer, size_t index)
{
    const struct profile_pprof_function *function = function_at(writer, index);

    return function ? positive(function->start_line) : NOTHING;
}

static void put_falses(struct firefox *writer, const char *name, size_t count)
{
    json_put_text(&writer->output, ",\n\"");
    json_put_text(&writer->output, name);
    json_put_text(&writer->output, "\":[");
    for (size_t i = 0; i < count; i++)
        json_put_text(&writer->output, i > 0 ? ",false" : "false");
    json_put_text(&writer->output, "]");
}

static void put_functions(struct firefox *writer)
{
    size_t count = writer->functions.count;

    begin_table(writer, "funcTable", count);
    put_column(writer, "name", count, function_name);
    put_falses(writer, "isJS", count);
    put_falses(writer, "relevantForJS", count);
    put_column(writer, "resource", count, function_resource);
    put_column(writer, "source", count, function_source);
    put_column(writer, "lineNumber", count, function_line);
    put_column(writer, "columnNumber", count, cell_nothing);
    end_table(writer);
}

static int64_t source_name(struct firefox *writer, size_t index)
{
    uint32_t name = (uint32_t)writer->sources.items[index].a;

    return text_of(writer, writer_text(&writer->tables, name));
}

static void put_sources(struct firefox *writer)
{
    size_t count = writer->sources.count;

    begin_table(writer, "sources", count);
    put_column(writer, "id", count, cell_nothing);
    put_column(writer, "filename", count, source_name);
    put_column(writer, "startLine", count, cell_one);
    put_column(writer, "startColumn", count, cell_one);
    put_column(writer, "sourceMapURL", count, cell_nothing);
    end_table(writer);
}

static int64_t resource_lib(struct firefox *writer, size_t index)
{
    (void)writer;
    return (int64_t)index;
}

static int64_t resource_name(struct firefox *writer, size_t index)
{
    if (!writer_mapping_name(&writer->tables, (uint32_t)index + 1, &writer->text)) {
        writer->failed = true;
        return 0;
    }
    return string_of(writer, writer->text.bytes, writer->text.length);
}

static void put_resources(struct firefox *writer)
{
    size_t count = writer->tables.mapping_count;

    begin_table(writer, "resourceTable", count);
    put_column(writer, "type", count, cell_one); /* a library */
    put_column(writer, "lib", count, resource_lib);
    put_column(writer, "name", count, resource_name);
    put_column(writer, "host", count, cell_nothing);
    end_table(writer);
}

static bool is_hex(struct profile_text text)
{
    for (size_t i = 0; i < text.length; i++)
        if (!isxdigit((unsigned char)text.bytes[i]))
            return false;
    return true;
}

/* The first 16 bytes of a build ID as a GUID, of which the first three parts are little-endian, and
 * an age of 0.  */
static void breakpad_id(struct profile_text build_id, char id[34])
{
    static const unsigned char order[16] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };

    memset(id, '0', 33);
    id[33] = '\0';
    for (size_t i = 0; i < 16 && is_hex(build_id); i++)
        for (size_t digit = 0; digit < 2; digit++) {
            size_t from = 2 * (size_t)order[i] + digit;

            if (from < build_id.length)
                id[2 * i + digit] = (char)toupper((unsigned char)build_id.bytes[from]);
        }
}

static void put_member(struct firefox *writer, const char *name, struct profile_text value)
{
    json_put_text(&writer->output, ",\"");
    json_put_text(&writer->output, name);
    json_put_text(&writer->output, "\":");
    json_put_string(&writer->output, value.bytes, value.length);
}

static void put_lib(struct firefox *writer, size_t index)
{
    const struct profile_pprof_mapping *mapping = &writer->tables.mappings[index];
    struct profile_text path = writer_text(&writer->tables, mapping->filename);
    struct profile_text build_id = writer_text(&writer->tables, mapping->build_id);
    struct profile_text name;
    char id[34];

    if (!writer_mapping_name(&writer->tables, (uint32_t)index + 1, &writer->text)) {
        writer->failed = true;
        return;
    }
    name = (struct profile_text){ writer->text.bytes, writer->text.length };
    breakpad_id(build_id, id);
    json_put_text(&writer->output, index > 0 ? ",\n{\"arch\":\"\"" : "\n{\"arch\":\"\"");
    put_member(writer, "name", name);
    put_member(writer, "path", path);
    put_member(writer, "debugName", name);
    put_member(writer, "debugPath", path);
    put_member(writer, "breakpadId", (struct profile_text){ id, 33 });
    if (build_id.length > 0)
        put_member(writer, "codeId", build_id);
    else
        json_put_text(&writer->output, ",\"codeId\":null");
    json_put_text(&writer->output, "}");
}

static void put_libs(struct firefox *writer)
{
    json_put_text(&writer->output, ",\n\"libs\":[");
    for (size_t i = 0; i < writer->tables.mapping_count; i++)
        put_lib(writer, i);
    json_put_text(&writer->output, "]");
}

/* Last: the other tables add to them.  */
static void put_strings(struct firefox *writer)
{
    json_put_text(&writer->output, ",\n\"stringArray\":[");
    for (uint32_t i = 1; i <= writer->strings.count; i++) {
        size_t length;
        const char *bytes = base_texts_get(&writer->strings, i, &length);

        if (i > 1)
            json_put_text(&writer->output, ",\n");
        json_put_string(&writer->output, bytes, length);
    }
    json_put_text(&writer->output, "]");
}

static void put_shared(struct firefox *writer)
{
    json_put_text(&writer->output, ",\n\"shared\":{\"nativeSymbols\":{\"length\":0,\"libIndex\":[],"
                                   "\"address\":[],\"name\":[],\"functionSize\":[]}");
    put_stacks(writer);
    put_frames(writer); /* numbers the functions */
    put_functions(writer);
    put_resources(writer);
    put_sources(writer);
    put_strings(writer);
    json_put_text(&writer->output, "}");
}

/* ---- Threads ---- */

static void put_name(struct firefox *writer, const char *member, bool ok)
{
    if (!ok) {
        writer->failed = true;
        return;
    }
    if (writer->text.length == 0)
        ok = base_text_append(&writer->text, "all samples", strlen("all samples"));
    writer->failed |= !ok;
    put_member(writer, member,
               (struct profile_text){ writer->text.bytes, ok ? writer->text.length : 0 });
}

static void put_number_member(struct firefox *writer, const char *name, uint32_t number,
                              bool quoted)
{
    char text[24];

    json_put_text(&writer->output, ",\"");
    json_put_text(&writer->output, name);
    json_put_text(&writer->output, quoted ? "\":\"" : "\":");
    (void)snprintf(text, sizeof text, "%" PRIu32 "%s", number, quoted ? "\"" : "");
    json_put_text(&writer->output, text);
}

static void begin_thread(struct firefox *writer, uint32_t number)
{
    const struct profile_pprof_thread nobody = { .has_pid = false };
    const struct profile_pprof_thread *thread = number ? &writer->tables.threads[number] : &nobody;
    bool is_main = !thread->has_tid || thread->pid == thread->tid;

    json_put_text(&writer->output, writer->is_open ? "]}},\n{" : "\n{");
    json_put_text(
        &writer->output,
        "\"processType\":\"default\",\"processStartupTime\":0,\"processShutdownTime\":null,"
        "\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],\"isMainThread\":");
    json_put_text(&writer->output, is_main ? "true" : "false");
    put_name(writer, "processName", writer_process_name(&writer->tables, number, &writer->text));
    if (thread->has_tid || thread->name)
        put_name(writer, "name", writer_thread_name(&writer->tables, number, &writer->text));
    else
        put_name(writer, "name", writer_process_name(&writer->tables, number, &writer->text));
    put_number_member(writer, "pid", thread->pid, true);
    put_number_member(writer, "tid", thread->has_tid ? thread->tid : thread->pid, false);
    json_put_text(&writer->output,
                  ",\"markers\":{\"length\":0,\"data\":[],\"name\":[],\"startTime\":[],"
                  "\"endTime\":[],\"phase\":[],\"category\":[]},\n"
                  "\"samples\":{\"weightType\":\"");
    json_put_text(&writer->output, weight_type(writer));
    json_put_text(&writer->output, "\",\"stack\":[");
    writer->is_open = true;
    writer->written = 0;
    writer->end = 0;
}

static void put_time(void *context, uint64_t index, int64_t number)
{
    struct base_output *output = context;

    if (index > 0)
        json_put_text(output, ",");
    json_put_millionths(output, number);
}

static void put_weight(void *context, uint64_t index, int64_t number)
{
    struct firefox *writer = context;

    if (is_time(writer)) {
        put_time(&writer->output, index, number);
        return;
    }
    if (index > 0)
        json_put_text(&writer->output, ",");
    json_put_number(&writer->output, number);
}

static void put_nanoseconds(void *context, uint64_t index, int64_t number)
{
    struct base_output *output = context;

    if (index > 0)
        json_put_text(output, ",");
    json_put_number(output, number);
}

/* Whether samples weigh the CPU time before them.  */
static bool has_cpu_times(const struct firefox *writer)
{
    return writer->samples.has_times && is_time(writer);
}

/* The columns that waited.  */
static enum profile_status end_thread(struct firefox *writer, struct profile_error *error)
{
    enum profile_status status;

    json_put_text(&writer->output, "],\n\"length\":");
    json_put_number(&writer->output, (int64_t)writer->written);
    json_put_text(&writer->output, ",\n\"time\":[");
    status = writer_column_each(&writer->times, put_time, &writer->output, error);
    json_put_text(&writer->output, "],\n\"weight\":[");
    if (status == PROFILE_OK)
        status = writer_column_each(&writer->weights, put_weight, writer, error);
    if (has_cpu_times(writer)) {
        json_put_text(&writer->output, "],\n\"threadCPUDelta\":[");
        if (status == PROFILE_OK)
            status = writer_column_each(&writer->cpu_times, put_nanoseconds, &writer->output,
                                        error);
    }
    return status;
}

/* Made up times go on by what samples weigh: nanoseconds of time, microseconds of all else.  */
static int64_t time_of(struct firefox *writer, const struct writer_sample *sample)
{
    int64_t width = sample->value < 0 ? 0 : sample->value, now = writer->end;

    if (writer->samples.has_times)
        return writer_sample_ns(&writer->samples, sample);
    if (!is_time(writer))
        width = width < INT64_MAX / 1000 ? width * 1000 : INT64_MAX;
    writer->end = writer_sum(now, width);
    return now;
}

static enum profile_status put_sample(struct firefox *writer, const struct writer_sample *sample,
                                      struct profile_error *error)
{
    enum profile_status status = writer_column_add(&writer->times, time_of(writer, sample), error);

    if (status == PROFILE_OK)
        status = writer_column_add(&writer->weights, sample->value, error);
    if (status == PROFILE_OK && has_cpu_times(writer))
        status = writer_column_add(&writer->cpu_times, sample->value, error);
    if (writer->written++ > 0)
        json_put_text(&writer->output, ",");
    put_cell(writer, sample->stack ? (int64_t)sample->stack - 1 : NOTHING);
    return status;
}

static enum profile_status put_threads(struct firefox *writer, struct profile_error *error)
{
    const struct writer_sample *sample = NULL;
    enum profile_status status = writer_samples_next(&writer->samples, &sample, error);
    int64_t thread = -1;

    json_put_text(&writer->output, ",\n\"threads\":[");
    while (status == PROFILE_OK && sample) {
        if (sample->thread != thread) {
            if (writer->is_open)
                status = end_thread(writer, error);
            begin_thread(writer, (uint32_t)sample->thread);
            thread = sample->thread;
        }
        if (status == PROFILE_OK)
            status = put_sample(writer, sample, error);
        if (status == PROFILE_OK)
            status = writer_samples_next(&writer->samples, &sample, error);
    }
    if (!writer->is_open && status == PROFILE_OK) /* the viewer takes no file without a thread */
        begin_thread(writer, 0);
    if (status == PROFILE_OK)
        status = end_thread(writer, error);
    json_put_text(&writer->output, "]}}]");
    return status;
}

/* ---- The writer ---- */

static enum profile_status firefox_finish(void *context, struct profile_error *error)
{
    struct firefox *writer = context;
    enum profile_status status;

    if (!writer->tables.has_header)
        return profile_fail(error, PROFILE_INVALID, "the profile has no header");
    status = writer_samples_finish(&writer->samples, error);
    if (status != PROFILE_OK)
        return status;
    put_meta(writer);
    put_libs(writer);
    status = put_threads(writer, error);
    if (status != PROFILE_OK)
        return status;
    put_shared(writer);
    json_put_text(&writer->output, "}\n");
    return writer->failed ? profile_no_memory(error) : codec_output_finish(&writer->output, error);
}

static enum profile_status take_sample(void *context, const struct profile_pprof_sample *sample)
{
    struct firefox *writer = context;

    return writer_samples_add(&writer->samples, &writer->tables, sample);
}

static void firefox_sink(void *context, struct profile_pprof_sink *out)
{
    struct firefox *writer = context;

    writer_tables_sink(&writer->tables, out);
    out->sample = take_sample;
}

static void firefox_errors_to(void *context, struct profile_error *error)
{
    struct firefox *writer = context;

    writer->tables.error = error;
}

static void firefox_close(void *context)
{
    struct firefox *writer = context;

    if (!writer)
        return;
    writer_tables_release(&writer->tables);
    writer_samples_release(&writer->samples);
    writer_column_release(&writer->times);
    writer_column_release(&writer->weights);
    writer_column_release(&writer->cpu_times);
    base_pairs_release(&writer->functions);
    base_pairs_release(&writer->sources);
    base_texts_release(&writer->strings);
    free(writer->text.bytes);
    free(writer);
}

static enum profile_status firefox_open(const struct profile_writer_options *options,
                                        profile_write_fn write, void *context, void **out,
                                        struct profile_error *error)
{
    struct firefox *writer = calloc(1, sizeof *writer);
    enum profile_status status;

    if (!writer)
        return profile_no_memory(error);
    base_output_init(&writer->output, write, context);
    writer_column_open(&writer->times, options->temporary_dir);
    writer_column_open(&writer->weights, options->temporary_dir);
    writer_column_open(&writer->cpu_times, options->temporary_dir);
    status = writer_samples_open(&writer->samples, options, error);
    if (status != PROFILE_OK)
        firefox_close(writer);
    else
        *out = writer;
    return status;
}

const struct writer_functions firefox_functions = {
    .open = firefox_open,
    .sink = firefox_sink,
    .errors_to = firefox_errors_to,
    .finish = firefox_finish,
    .close = firefox_close,
};
