/* perfetto.c - samples as packets of Perfetto, for ui.perfetto.dev and trace_processor.
 *
 * A file is a sequence of TracePacket messages (trace_packet.proto), each with one StackSample
 * (stack_sample.proto).  Strings, mappings, frames and stacks are interned: they come in the packet
 * that needs them first.  The packets are complete when they are written, so a file that is cut is
 * readable up to there.  Encoded by hand: each message is a few numbers.  */
#include <stdlib.h>
#include <string.h>

#include "libprofile/write/writers.h"

/* Of all packets: any number but 0.  */
#define SEQUENCE 4242

enum {
    FIELD_PACKET = 1, /* of Trace */

    /* TracePacket */
    PACKET_PROCESS_TREE = 2,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_DEFAULTS = 59,
    PACKET_STACK_SAMPLE = 135,
    FLAG_CLEARED = 1, /* nothing was interned before */
    FLAG_NEEDS = 2,   /* what was interned before is needed */

    /* ProcessTree */
    TREE_PROCESS = 1,
    TREE_THREAD = 2,
    PROCESS_PID = 1,
    PROCESS_CMDLINE = 3,
    THREAD_TID = 1,
    THREAD_NAME = 2,
    THREAD_TGID = 3,

    /* InternedData, and what it holds; each has its number in field 1 */
    INTERNED_FUNCTION_NAME = 5,
    INTERNED_FRAME = 6,
    INTERNED_CALLSTACK = 7,
    INTERNED_BUILD_ID = 16,
    INTERNED_MAPPING_PATH = 17,
    INTERNED_SOURCE_PATH = 18,
    INTERNED_MAPPING = 19,
    IID = 1,
    STRING_BYTES = 2,
    FRAME_NAME = 2,
    FRAME_MAPPING = 3,
    FRAME_ADDRESS = 4,
    FRAME_SOURCE = 5,
    FRAME_LINE = 6,
    CALLSTACK_FRAME = 2,
    MAPPING_BUILD_ID = 2,
    MAPPING_START = 4,
    MAPPING_END = 5,
    MAPPING_PATH = 7,
    MAPPING_OFFSET = 8,

    /* TracePacketDefaults, StackSampleDefaults, CounterDescriptor */
    DEFAULTS_STACK_SAMPLE = 100,
    DEFAULT_SOURCE = 1,
    DEFAULT_COUNTER = 2,
    COUNTER_NAME = 2,
    COUNTER_UNIT = 3,
    UNIT_NANOSECONDS = 1,
    UNIT_BYTES = 4,
    UNIT_COUNT = 9,

    /* StackSample, TaskContext, ExecutionContext */
    SAMPLE_TASK = 1,
    SAMPLE_EXECUTION = 3,
    SAMPLE_CALLSTACK = 6,
    SAMPLE_WEIGHT = 11,
    TASK_PID = 2,
    TASK_TID = 3,
    EXECUTION_CPU = 2,
};

/* Names that are interned, each kind with numbers of its own.  */
struct names {
    struct base_texts texts;
    unsigned field; /* of InternedData */
};

struct perfetto {
    struct writer_tables tables; /* first: the sink's context is both */
    struct base_output output;
    bool began;
    bool *frames_done, *stacks_done, *mappings_done, *threads_done; /* of number i at [i] */
    size_t frame_room, stack_room, mapping_room, thread_room;
    struct names functions, sources, build_ids, paths;
    uint32_t *path; /* scratch: frames of a stack */
    size_t path_capacity;
    struct base_text packet, interned, message, inner, text; /* scratch */
};

/* ---- Encoding ---- */

static void put_varint(struct base_text *to, uint64_t number)
{
    char bytes[10];
    size_t length = 0;

    for (; number >= 0x80; number >>= 7)
        bytes[length++] = (char)(number | 0x80);
    bytes[length++] = (char)number;
    base_text_add(to, bytes, length);
}

static void put_number(struct base_text *to, unsigned field, uint64_t number)
{
    put_varint(to, (uint64_t)field << 3);
    put_varint(to, number);
}

static void put_bytes(struct base_text *to, unsigned field, const char *bytes, size_t length)
{
    put_varint(to, (uint64_t)field << 3 | 2);
    put_varint(to, length);
    base_text_add(to, bytes, length);
}

/* A message that was gathered in from, which is then empty.  */
static void put_message(struct base_text *to, unsigned field, struct base_text *from)
{
    to->failed |= from->failed;
    put_bytes(to, field, from->bytes ? from->bytes : "", from->length);
    base_text_clear(from);
}

/* ---- Interned data ---- */

/* The number of a name, which comes with the packet if it is new; 0: no memory.  */
static uint32_t intern(struct perfetto *writer, struct names *names, const char *bytes,
                       size_t length)
{
    bool is_new;
    uint32_t number = base_texts_add(&names->texts, bytes, length, &is_new);

    if (number && is_new) {
        put_number(&writer->inner, IID, number);
        put_bytes(&writer->inner, STRING_BYTES, bytes, length);
        put_message(&writer->interned, names->field, &writer->inner);
    }
    writer->interned.failed |= !number;
    return number;
}

/* Whether number was there before; it is from now on.  */
static bool was_done(struct perfetto *writer, bool **done, size_t *room, uint32_t number)
{
    size_t before = *room;

    if (number >= before) {
        if (!base_make_room(&*done, room, (size_t)number + 1, sizeof **done)) {
            writer->interned.failed = true;
            return true;
        }
        memset(*done + before, 0, *room - before);
    }
    if ((*done)[number])
        return true;
    (*done)[number] = true;
    return false;
}

/* From hexadecimal digits, as others write it; anything else stays as it is.  */
static void intern_build_id(struct perfetto *writer, struct profile_text hex)
{
    char bytes[64];
    size_t length = 0;
    unsigned value;

    for (; 2 * length + 1 < hex.length && length < sizeof bytes; length++) {
        const char pair[3] = { hex.bytes[2 * length], hex.bytes[2 * length + 1], '\0' };

        if (strspn(pair, "0123456789abcdefABCDEF") != 2)
            break;
        value = (unsigned)strtoul(pair, NULL, 16);
        bytes[length] = (char)value;
    }
    if (2 * length == hex.length)
        put_number(&writer->message, MAPPING_BUILD_ID,
                   intern(writer, &writer->build_ids, bytes, length));
    else
        put_number(&writer->message, MAPPING_BUILD_ID,
                   intern(writer, &writer->build_ids, hex.bytes, hex.length));
}

/* A path is its parts.  */
static void put_path(struct perfetto *writer, struct profile_text path)
{
    const char *next = path.bytes, *end = path.bytes + path.length;

    while (next < end) {
        const char *slash = memchr(next, '/', (size_t)(end - next));
        const char *limit = slash ? slash : end;

        if (limit > next)
            put_number(&writer->message, MAPPING_PATH,
                       intern(writer, &writer->paths, next, (size_t)(limit - next)));
        next = limit + 1;
    }
}

static void intern_mapping(struct perfetto *writer, uint32_t number)
{
    const struct profile_pprof_mapping *mapping = &writer->tables.mappings[number - 1];
    struct profile_text build_id = writer_text(&writer->tables, mapping->build_id);

    if (was_done(writer, &writer->mappings_done, &writer->mapping_room, number))
        return;
    put_number(&writer->message, IID, number);
    if (build_id.length > 0)
        intern_build_id(writer, build_id);
    put_number(&writer->message, MAPPING_OFFSET, mapping->file_offset);
    put_number(&writer->message, MAPPING_START, mapping->start);
    put_number(&writer->message, MAPPING_END, mapping->limit);
    put_path(writer, writer_text(&writer->tables, mapping->filename));
    put_message(&writer->interned, INTERNED_MAPPING, &writer->message);
}

static void put_place(struct perfetto *writer, const struct writer_location *location)
{
    const struct profile_pprof_mapping *mapping;

    if (!location->mapping)
        return;
    mapping = &writer->tables.mappings[location->mapping - 1];
    put_number(&writer->message, FRAME_MAPPING, location->mapping);
    put_number(&writer->message, FRAME_ADDRESS,
               location->address - mapping->start + mapping->file_offset);
}

static void intern_frame(struct perfetto *writer, uint32_t number)
{
    struct writer_frame frame = writer_frame_at(&writer->tables, number);
    struct profile_text file = { "", 0 };

    if (was_done(writer, &writer->frames_done, &writer->frame_room, number))
        return;
    if (frame.location->mapping)
        intern_mapping(writer, frame.location->mapping);
    writer->interned.failed |= !writer_frame_name(&writer->tables, &frame, &writer->text);
    if (writer->interned.failed)
        return;
    if (frame.function)
        file = writer_text(&writer->tables, frame.function->filename);
    put_number(&writer->message, IID, number);
    put_number(&writer->message, FRAME_NAME,
               intern(writer, &writer->functions, writer->text.bytes, writer->text.length));
    put_place(writer, frame.location);
    if (file.length > 0)
        put_number(&writer->message, FRAME_SOURCE,
                   intern(writer, &writer->sources, file.bytes, file.length));
    if (frame.line && frame.line->line > 0 && frame.line->line <= UINT32_MAX)
        put_number(&writer->message, FRAME_LINE, (uint64_t)frame.line->line);
    put_message(&writer->interned, INTERNED_FRAME, &writer->message);
}

/* Outermost frame first.  */
static void intern_stack(struct perfetto *writer, uint32_t number)
{
    size_t depth = 0;

    if (was_done(writer, &writer->stacks_done, &writer->stack_room, number))
        return;
    for (uint32_t at = number; at; at = (uint32_t)writer->tables.stacks.items[at - 1].a) {
        if (!base_make_room(&writer->path, &writer->path_capacity, depth + 1,
                            sizeof *writer->path)) {
            writer->interned.failed = true;
            return;
        }
        writer->path[depth++] = (uint32_t)writer->tables.stacks.items[at - 1].b;
    }
    for (size_t i = 0; i < depth; i++)
        intern_frame(writer, writer->path[i]);
    put_number(&writer->message, IID, number);
    while (depth-- > 0)
        put_number(&writer->message, CALLSTACK_FRAME, writer->path[depth]);
    put_message(&writer->interned, INTERNED_CALLSTACK, &writer->message);
}

/* ---- Packets ---- */

static enum profile_status put_packet(struct perfetto *writer)
{
    enum profile_status status = PROFILE_OK;

    put_message(&writer->message, FIELD_PACKET, &writer->packet);
    if (writer->message.failed)
        status = profile_no_memory(writer->tables.error);
    else
        base_output_put(&writer->output, writer->message.bytes, writer->message.length);
    base_text_clear(&writer->message);
    if (status == PROFILE_OK && writer->output.system_errno)
        status = codec_output_finish(&writer->output, writer->tables.error);
    return status;
}

/* The process and the thread of the samples that follow.  */
static enum profile_status put_thread(struct perfetto *writer, uint32_t number, int64_t ts_ns)
{
    const struct profile_pprof_thread *thread = &writer->tables.threads[number];
    struct profile_text process_name = writer_text(&writer->tables, thread->process_name);
    struct profile_text name = writer_text(&writer->tables, thread->name);

    if (was_done(writer, &writer->threads_done, &writer->thread_room, number))
        return PROFILE_OK;
    if (thread->has_pid) {
        put_number(&writer->message, PROCESS_PID, thread->pid);
        if (process_name.length > 0)
            put_bytes(&writer->message, PROCESS_CMDLINE, process_name.bytes, process_name.length);
        put_message(&writer->inner, TREE_PROCESS, &writer->message);
    }
    if (thread->has_tid) {
        put_number(&writer->message, THREAD_TID, thread->tid);
        if (name.length > 0)
            put_bytes(&writer->message, THREAD_NAME, name.bytes, name.length);
        put_number(&writer->message, THREAD_TGID, thread->pid);
        put_message(&writer->inner, TREE_THREAD, &writer->message);
    }
    put_number(&writer->packet, PACKET_TIMESTAMP, (uint64_t)ts_ns);
    put_number(&writer->packet, PACKET_SEQUENCE, SEQUENCE);
    put_message(&writer->packet, PACKET_PROCESS_TREE, &writer->inner);
    return put_packet(writer);
}

/* What the weights of samples are.  */
static void put_defaults(struct perfetto *writer)
{
    const struct profile_pprof_type *type = &writer->tables.header.types[writer->tables.shown];
    struct profile_text name = writer_text(&writer->tables, type->type);

    put_bytes(&writer->message, COUNTER_NAME, name.bytes, name.length);
    put_number(&writer->message, COUNTER_UNIT,
               writer_unit_is(&writer->tables, "nanoseconds") ? UNIT_NANOSECONDS
               : writer_unit_is(&writer->tables, "bytes")     ? UNIT_BYTES
                                                              : UNIT_COUNT);
    put_bytes(&writer->inner, DEFAULT_SOURCE, "fxt", strlen("fxt"));
    put_message(&writer->inner, DEFAULT_COUNTER, &writer->message);
    put_message(&writer->message, DEFAULTS_STACK_SAMPLE, &writer->inner);
    put_message(&writer->packet, PACKET_DEFAULTS, &writer->message);
}

static void put_stack_sample(struct perfetto *writer, const struct profile_pprof_sample *sample,
                             uint32_t stack)
{
    const struct profile_pprof_thread *thread = sample->thread
                                                    ? &writer->tables.threads[sample->thread]
                                                    : NULL;

    if (thread) {
        if (thread->has_pid)
            put_number(&writer->inner, TASK_PID, thread->pid);
        if (thread->has_tid)
            put_number(&writer->inner, TASK_TID, thread->tid);
        put_message(&writer->message, SAMPLE_TASK, &writer->inner);
    }
    if (sample->has_cpu) {
        put_number(&writer->inner, EXECUTION_CPU, sample->cpu);
        put_message(&writer->message, SAMPLE_EXECUTION, &writer->inner);
    }
    if (stack)
        put_number(&writer->message, SAMPLE_CALLSTACK, stack);
    put_number(&writer->message, SAMPLE_WEIGHT, (uint64_t)sample->values[writer->tables.shown]);
    put_message(&writer->packet, PACKET_STACK_SAMPLE, &writer->message);
}

static enum profile_status put_sample(struct perfetto *writer,
                                      const struct profile_pprof_sample *sample, uint32_t stack)
{
    if (stack)
        intern_stack(writer, stack);
    put_number(&writer->packet, PACKET_TIMESTAMP, (uint64_t)sample->ts_ns);
    put_number(&writer->packet, PACKET_SEQUENCE, SEQUENCE);
    put_number(&writer->packet, PACKET_FLAGS,
               writer->began ? FLAG_NEEDS : FLAG_CLEARED | FLAG_NEEDS);
    if (!writer->began)
        put_defaults(writer);
    writer->began = true;
    if (writer->interned.length > 0 || writer->interned.failed)
        put_message(&writer->packet, PACKET_INTERNED, &writer->interned);
    put_stack_sample(writer, sample, stack);
    return put_packet(writer);
}

static enum profile_status take_sample(void *context, const struct profile_pprof_sample *sample)
{
    struct perfetto *writer = context;
    uint32_t stack;
    enum profile_status status = writer_tables_stack(&writer->tables, sample, &stack);

    if (status != PROFILE_OK)
        return status;
    if (!sample->has_time)
        return writer_refuse(&writer->tables, "these samples have no times, which perfetto needs: "
                                              "write them as pprof, which ui.perfetto.dev opens");
    if (sample->ts_ns < 0)
        return writer_refuse(&writer->tables, "perfetto has no times before 0");
    if (sample->values[writer->tables.shown] < 0)
        return writer_refuse(&writer->tables, "perfetto has no negative values");
    if (sample->thread)
        status = put_thread(writer, sample->thread, sample->ts_ns);
    return status == PROFILE_OK ? put_sample(writer, sample, stack) : status;
}

/* ---- The writer ---- */

static enum profile_status perfetto_finish(void *context, struct profile_error *error)
{
    struct perfetto *writer = context;

    return codec_output_finish(&writer->output, error);
}

static void perfetto_sink(void *context, struct profile_pprof_sink *out)
{
    struct perfetto *writer = context;

    writer_tables_sink(&writer->tables, out);
    out->sample = take_sample;
}

static void perfetto_errors_to(void *context, struct profile_error *error)
{
    struct perfetto *writer = context;

    writer->tables.error = error;
}

static void perfetto_close(void *context)
{
    struct perfetto *writer = context;

    if (!writer)
        return;
    writer_tables_release(&writer->tables);
    base_text_release(&writer->packet);
    base_text_release(&writer->interned);
    base_text_release(&writer->message);
    base_text_release(&writer->inner);
    base_text_release(&writer->text);
    base_texts_release(&writer->functions.texts);
    base_texts_release(&writer->sources.texts);
    base_texts_release(&writer->build_ids.texts);
    base_texts_release(&writer->paths.texts);
    free(writer->frames_done);
    free(writer->stacks_done);
    free(writer->mappings_done);
    free(writer->threads_done);
    free(writer->path);
    free(writer);
}

static enum profile_status perfetto_open(const struct profile_writer_options *options,
                                         profile_write_fn write, void *context, void **out,
                                         struct profile_error *error)
{
    struct perfetto *writer = calloc(1, sizeof *writer);

    (void)options;
    if (!writer)
        return profile_no_memory(error);
    base_output_init(&writer->output, write, context);
    writer->functions.field = INTERNED_FUNCTION_NAME;
    writer->sources.field = INTERNED_SOURCE_PATH;
    writer->build_ids.field = INTERNED_BUILD_ID;
    writer->paths.field = INTERNED_MAPPING_PATH;
    *out = writer;
    return PROFILE_OK;
}

const struct writer_functions perfetto_functions = {
    .open = perfetto_open,
    .sink = perfetto_sink,
    .errors_to = perfetto_errors_to,
    .finish = perfetto_finish,
    .close = perfetto_close,
};
