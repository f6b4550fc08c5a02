#include "sampler-capture/heap/heap_record.h"

#include "sampler-capture/clean_text.h"
#include "sampler-capture/proc.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool recorder_begin(struct recorder *recorder, const struct trace_session *session,
                    bool frame_pointers)
{
    const struct fxt_arg args[] = {
        stream_number("sampling_interval_bytes", recorder->interval_bytes),
        stream_text("unwind", frame_pointers ? "fp" : "cfi"),
        stream_text("clock", session->clock),
        stream_number("max_frames", session->max_frames),
        stream_text("layout", "heap"),
    };

    _Static_assert(sizeof args / sizeof *args <= STREAM_OWN_ARGS, "there is no room for more");
    return stream_session(recorder->stream, session, args, sizeof args / sizeof *args);
}

void recorder_release(struct recorder *recorder)
{
    modules_release(&recorder->modules);
}

/* ---- Processes and modules ---- */

static void name_now(struct process *process)
{
    char path[64];
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%u/comm", process->pid);
    file = fopen(path, "re");
    if (!file)
        return;
    if (!fgets(process->name, sizeof process->name, file))
        process->name[0] = '\0';
    process->name[strcspn(process->name, "\n")] = '\0';
    (void)fclose(file);
}

bool recorder_process(struct recorder *recorder, struct process *process)
{
    recorder->processes++;
    name_now(process);
    return process->name[0] == '\0' ||
           stream_process(recorder->stream, process->koid, process->name);
}

/* The name that the process tells is that of a moment later: after an exec both are the same.  */
static bool rename_process(struct recorder *recorder, struct process *process,
                           const struct fidl_message *message)
{
    if (!message->has_name || message->name_length == 0 ||
        (strlen(process->name) == message->name_length &&
         memcmp(process->name, message->name, message->name_length) == 0))
        return true;
    memcpy(process->name, message->name, message->name_length); /* at most 32 of 64 bytes */
    process->name[message->name_length] = '\0';
    return stream_process(recorder->stream, process->koid, process->name);
}

static struct module *module_of(const struct module_table *table, const struct fidl_module *wanted)
{
    for (size_t i = 0; i < table->count; i++) {
        struct module *module = table->items[i];

        if (wanted->build_id_length > 0 && module->image.build_id_size >= wanted->build_id_length &&
            memcmp(module->image.build_id, wanted->build_id, wanted->build_id_length) == 0)
            return module;
    }
    return NULL;
}

static bool know_file(void *context, const struct perf_record *record)
{
    struct recorder *recorder = context;

    return record->kind != PERF_KIND_MAP || perf_map_is_anonymous(&record->value.map) ||
           modules_find(&recorder->modules, &record->value.map, record->pid);
}

/* ---- Names that processes left, of which some have ended ---- */

#define LINE_SIZE 8192

static unsigned digit(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
}

/* A line of the file: "BUILD-ID PATH".  False when there is no memory.  */
static bool take_name(struct recorder *recorder, const char *line, uint32_t pid)
{
    struct perf_map map = { .name = strchr(line, ' ') };
    size_t size = map.name ? (size_t)(map.name - line) / 2 : 0;

    if (!map.name || size > sizeof map.build_id || *++map.name != '/')
        return true;
    for (size_t i = 0; i < size; i++) {
        unsigned high = digit(line[2 * i]), low = digit(line[2 * i + 1]);

        if (high > 15 || low > 15)
            return true;
        map.build_id[i] = (uint8_t)(high << 4 | low);
    }
    map.build_id_size = size;
    return modules_find(&recorder->modules, &map, pid) != NULL;
}

/* Take the whole lines that are new.  */
static bool read_names(struct recorder *recorder, uint32_t pid)
{
    static char text[LINE_SIZE + 1];
    ssize_t size;

    if (recorder->names_fd < 0)
        return true;
    if (recorder->fetch_names && !recorder->fetch_names(recorder->fetch_context))
        return false;
    while ((size = pread(recorder->names_fd, text, LINE_SIZE, recorder->names_read)) > 0) {
        char *line = text, *end;

        text[size] = '\0';
        while ((end = strchr(line, '\n'))) {
            *end = '\0';
            if (!take_name(recorder, line, pid))
                return false;
            line = end + 1;
        }
        if (line == text && size < LINE_SIZE) /* its end is still to come */
            return true;
        recorder->names_read += line == text ? size : line - text;
    }
    return true;
}

/* Whether all modules of a message are among the files we know.  */
static bool knows_all(const struct recorder *recorder, const struct fidl_message *message)
{
    struct fidl_cursor cursor = message->modules;
    struct fidl_module module;

    while (fidl_module_next(&cursor, &module))
        if (module.build_id_length > 0 && !module_of(&recorder->modules, &module))
            return false;
    return true;
}

static bool put_segments(struct recorder *recorder, struct process *process, uint64_t ticks,
                         struct fidl_cursor segments, uint16_t id)
{
    struct fidl_segment segment;

    while (fidl_segment_next(&segments, &segment)) {
        struct mapping mapping = { .start = segment.start_address,
                                   .vaddr = segment.relative_address,
                                   .time_ns = ticks,
                                   .flags = 1 | 4 };

        if (segment.size == 0 ||
            __builtin_add_overflow(segment.start_address, segment.size, &mapping.limit))
            continue;
        if (!stream_mapping(recorder->stream, process->koid, &mapping, id))
            return false;
    }
    return true;
}

/* What the message says, with names.  A module whose file we do not find is in the message
 * alone.  */
static bool put_modules(struct recorder *recorder, struct process *process, uint64_t ticks,
                        const struct fidl_message *message)
{
    struct fidl_cursor cursor = message->modules;
    struct fidl_module module;

    if (!knows_all(recorder, message) && !read_names(recorder, process->pid))
        return false;
    if (!knows_all(recorder, message) && !proc_describe((pid_t)process->pid, know_file, recorder))
        return false;
    while (fidl_module_next(&cursor, &module)) {
        const struct module *file = module_of(&recorder->modules, &module);
        bool is_new;
        uint16_t id;

        if (!file || !process_module_id(process, file, &id, &is_new))
            continue;
        if (is_new && !stream_module(recorder->stream, process->koid, file, id, ticks))
            return false;
        if (!put_segments(recorder, process, ticks, module.segments, id))
            return false;
    }
    return true;
}

/* ---- Messages ---- */

static bool put_blob(struct recorder *recorder, const struct process *process, uint64_t ticks,
                     uint64_t interval_bytes, const uint8_t *bytes, size_t length)
{
    const struct fxt_arg interval = stream_number("sampling_interval_bytes", interval_bytes);
    struct fxt_record blob = {
        .kind = FXT_RECORD_LARGE_BLOB,
        .ticks = ticks,
        .thread = { .process = process->koid },
        .category = fxt_inline("memory"),
        .name = fxt_inline("fuchsia.memory.sampler"),
        .args = &interval,
        .arg_count = 1,
    };

    blob.value.large_blob.payload.bytes = bytes;
    blob.value.large_blob.payload.length = length;
    return stream_put(recorder->stream, &blob);
}

bool recorder_message(struct recorder *recorder, struct process *process, uint64_t ticks,
                      const uint8_t *bytes, size_t length, const struct fidl_message *message)
{
    switch (message->method) {
    case FIDL_RECORD_ALLOCATION:
        recorder->allocations++;
        break;
    case FIDL_RECORD_DEALLOCATION:
        recorder->frees++;
        break;
    case FIDL_SET_PROCESS_INFO:
        recorder->infos++;
        if (!rename_process(recorder, process, message) ||
            (message->has_modules && !put_modules(recorder, process, ticks, message)))
            return false;
        break;
    }
    return put_blob(recorder, process, ticks, recorder->interval_bytes, bytes, length);
}

bool recorder_mapping(struct recorder *recorder, const struct process *process, uint64_t ticks,
                      bool is_release, uint64_t address, uint64_t size, const uint64_t *frames,
                      size_t count)
{
    uint8_t message[HEAP_MAX_FRAMES * 8 + 256];
    enum fidl_status status;
    size_t length;

    if (is_release)
        status = fidl_encode_deallocation(FIDL_GENERATION_2, address, frames, count, message,
                                          sizeof message, &length);
    else
        status = fidl_encode_allocation(FIDL_GENERATION_2, address, frames, count, size, message,
                                        sizeof message, &length);
    recorder->mappings += !is_release;
    return status != FIDL_OK || put_blob(recorder, process, ticks, 1, message, length);
}

bool recorder_loss(struct recorder *recorder, uint64_t koid, uint64_t ticks,
                   const struct record_loss *loss)
{
    const struct fxt_arg args[] = {
        stream_number("allocations", loss->allocations),
        stream_number("frees", loss->frees),
        stream_number("infos", loss->infos),
        stream_number("rejected", loss->rejected),
        stream_number("no_memory", loss->no_memory),
        stream_number("forgotten", loss->forgotten),
    };

    /* Readers that know nothing of our counter know the other.  */
    return stream_event(recorder->stream, FXT_EVENT_COUNTER, "heap_lost", ticks, koid, args,
                        sizeof args / sizeof *args) &&
           stream_provider_loss(recorder->stream, TRACE_TOOL_PROVIDER);
}

bool recorder_resident(struct recorder *recorder, uint64_t koid, uint64_t ticks, uint64_t bytes)
{
    const struct fxt_arg peak = stream_number("peak_bytes", bytes);
    struct fxt_record event = {
        .kind = FXT_RECORD_EVENT,
        .ticks = ticks,
        .thread = { .process = koid },
        .category = fxt_inline("memory"),
        .name = fxt_inline("resident"),
        .args = &peak,
        .arg_count = 1,
    };

    event.value.event.type = FXT_EVENT_COUNTER;
    event.value.event.id = koid;
    return stream_put(recorder->stream, &event);
}
