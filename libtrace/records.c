/* All records but events.  */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libtrace/clock.h"
#include "libtrace/engine.h"
#include "libtrace/record_words.h"

/* Room for a record of the context's run.  */
static uint64_t *begin(trace_context_t *context, uint64_t words, struct trace_writer **writer)
{
    return context ? trace_begin(trace_generation_of(context), words, writer) : NULL;
}

static uint64_t thread_words(const trace_thread_ref_t *thread)
{
    return thread->encoded_value == 0 ? 2 : 0;
}

static uint64_t *put_thread(uint64_t *words, const trace_thread_ref_t *thread)
{
    if (thread->encoded_value == 0) {
        *words++ = thread->inline_process_koid;
        *words++ = thread->inline_thread_koid;
    }
    return words;
}

/* ---- Kernel objects ---- */

void trace_context_write_kernel_object_record(trace_context_t *context, trace_koid_t koid,
                                              uint32_t object_type, const trace_string_ref_t *name,
                                              const trace_arg_t *args, size_t num_args)
{
    size_t count = num_args < TRACE_MAX_ARGS ? num_args : TRACE_MAX_ARGS;
    uint64_t words = 2 + trace_ref_words(name->encoded_value) + trace_args_words(args, count);
    struct trace_writer *writer;
    uint64_t *record = begin(context, words, &writer);

    if (!record)
        return;
    record[1] = koid;
    (void)trace_put_args(trace_put_text(record + 2, name->encoded_value, name->inline_string), args,
                         count);
    trace_commit(writer, words,
                 7 | words << 4 | (uint64_t)(object_type & 0xff) << 16 |
                     (uint64_t)name->encoded_value << 24 | (uint64_t)count << 40);
}

void trace_context_write_process_info_record(trace_context_t *context, trace_koid_t process_koid,
                                             const trace_string_ref_t *name)
{
    trace_context_write_kernel_object_record(context, process_koid, TRACE_OBJECT_PROCESS, name,
                                             NULL, 0);
}

void trace_context_write_thread_info_record(trace_context_t *context, trace_koid_t process_koid,
                                            trace_koid_t thread_koid,
                                            const trace_string_ref_t *name)
{
    trace_arg_t arg = { .value = { .type = TRACE_ARG_KOID } };

    trace_context_register_string_literal(context, "process", &arg.name_ref);
    arg.value.value.koid_value = process_koid;
    trace_context_write_kernel_object_record(context, thread_koid, TRACE_OBJECT_THREAD, name, &arg,
                                             1);
}

static uint32_t type_of_file(mode_t mode)
{
    if (S_ISSOCK(mode))
        return TRACE_OBJECT_SOCKET;
    if (S_ISFIFO(mode))
        return TRACE_OBJECT_FIFO;
    return S_ISREG(mode) ? TRACE_OBJECT_VMO : TRACE_OBJECT_NONE;
}

void trace_context_write_kernel_object_record_for_handle(trace_context_t *context, int handle,
                                                         const trace_arg_t *args, size_t num_args)
{
    char path[40], name[256];
    trace_string_ref_t ref;
    struct stat status;
    int error = errno;
    ssize_t length;

    if (fstat(handle, &status) == 0) {
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", handle);
        length = readlink(path, name, sizeof name);
        ref = trace_make_inline_string_ref(
            name, length > 0 && length <= (ssize_t)sizeof name ? (size_t)length : 0);
        trace_context_write_kernel_object_record(
            context, status.st_ino, type_of_file(status.st_mode), &ref, args, num_args);
    }
    errno = error;
}

void trace_internal_kernel_object(const char *const *keys, int handle,
                                  const trace_arg_value_t *values, size_t count)
{
    trace_context_t *context = trace_acquire_context();
    trace_arg_t args[TRACE_MAX_ARGS];

    if (count > TRACE_MAX_ARGS)
        count = TRACE_MAX_ARGS;
    for (size_t i = 0; context && i < count; i++) {
        trace_context_register_string_literal(context, keys[i], &args[i].name_ref);
        args[i].value = values[i];
    }
    if (context)
        trace_context_write_kernel_object_record_for_handle(context, handle, args, count);
}

/* ---- Scheduling, logs ---- */

void trace_context_write_context_switch_record(trace_context_t *context, trace_ticks_t event_time,
                                               trace_cpu_number_t cpu_number,
                                               trace_thread_state_t outgoing_thread_state,
                                               const trace_thread_ref_t *outgoing_thread,
                                               const trace_thread_ref_t *incoming_thread,
                                               trace_thread_priority_t outgoing_thread_priority,
                                               trace_thread_priority_t incoming_thread_priority)
{
    uint64_t words = 2 + thread_words(outgoing_thread) + thread_words(incoming_thread);
    struct trace_writer *writer;
    uint64_t *record = begin(context, words, &writer);

    if (!record)
        return;
    record[1] = event_time;
    (void)put_thread(put_thread(record + 2, outgoing_thread), incoming_thread);
    trace_commit(writer, words,
                 8 | words << 4 | (uint64_t)(cpu_number & 0xff) << 16 |
                     (uint64_t)(outgoing_thread_state & 0xf) << 24 |
                     (uint64_t)outgoing_thread->encoded_value << 28 |
                     (uint64_t)incoming_thread->encoded_value << 36 |
                     (uint64_t)outgoing_thread_priority << 44 |
                     (uint64_t)incoming_thread_priority << 52);
}

void trace_context_write_log_record(trace_context_t *context, trace_ticks_t event_time,
                                    const trace_thread_ref_t *thread, const char *log_message,
                                    size_t log_message_length)
{
    trace_string_ref_t text = trace_make_inline_string_ref(log_message, log_message_length);
    uint64_t length = text.encoded_value & 0x7fff;
    uint64_t words = 2 + thread_words(thread) + trace_bytes_words(length);
    struct trace_writer *writer;
    uint64_t *record = begin(context, words, &writer);

    if (!record)
        return;
    record[1] = event_time;
    (void)trace_put_bytes(put_thread(record + 2, thread), log_message, length);
    trace_commit(writer, words,
                 9 | words << 4 | length << 16 | (uint64_t)thread->encoded_value << 32);
}

/* ---- Blobs ---- */

static uint64_t blob_header(uint64_t words, trace_blob_type_t type, uint16_t name, uint64_t size)
{
    return 5 | words << 4 | (uint64_t)name << 16 | size << 32 | (uint64_t)(type & 0xff) << 48;
}

/* A blob that is too large has more than any record: it is dropped, and counted, as they are.  */
static uint64_t blob_words(const trace_string_ref_t *name, size_t size)
{
    if (size > TRACE_MAX_STRING)
        return TRACE_LARGE_WORDS + 1;
    return 1 + trace_ref_words(name->encoded_value) + trace_bytes_words(size);
}

void trace_context_write_blob_record(trace_context_t *context, trace_blob_type_t type,
                                     const trace_string_ref_t *name, const void *blob,
                                     size_t blob_size)
{
    uint64_t words = blob_words(name, blob_size), *record;
    struct trace_writer *writer;

    record = begin(context, words, &writer);
    if (!record)
        return;
    (void)trace_put_bytes(trace_put_text(record + 1, name->encoded_value, name->inline_string),
                          blob, blob_size);
    trace_commit(writer, words, blob_header(words, type, name->encoded_value, blob_size));
}

void *trace_context_begin_write_blob_record(trace_context_t *context, trace_blob_type_t type,
                                            const trace_string_ref_t *name, size_t blob_size)
{
    uint64_t words = blob_words(name, blob_size), *record, *bytes;
    struct trace_writer *writer;

    trace_release_context(context); /* of another such record */
    if (trace_self.blob || !context || !trace_self_enter(trace_generation_of(context)))
        return NULL;
    writer = trace_pool_take();
    if (!writer)
        return NULL;
    record = trace_writer_begin(&trace_buffer, writer,
                                words <= TRACE_WORDS ? words : TRACE_LARGE_WORDS + 1);
    if (!record || trace_internal_generation[0] != trace_generation_of(context)) {
        if (record)
            trace_writer_cancel(writer);
        trace_pool_give(writer);
        return NULL;
    }
    bytes = trace_put_text(record + 1, name->encoded_value, name->inline_string);
    memset(bytes, 0, trace_bytes_words(blob_size) * 8);
    trace_self.blob_context = context;
    trace_self.blob = writer;
    trace_self.blob_words = words;
    trace_self.blob_header = blob_header(words, type, name->encoded_value, blob_size);
    return bytes;
}

/* Words of a large blob from the strings to the blob itself.  */
struct large {
    bool has_metadata;
    uint64_t time;
    trace_thread_ref_t thread;
    trace_string_ref_t category, name;
    const void *blob;
    uint64_t blob_size;
    const trace_arg_t *args;
    size_t count;
};

static void write_large(trace_context_t *context, const struct large *large)
{
    uint64_t words = 3 + trace_ref_words(large->category.encoded_value) +
                     trace_ref_words(large->name.encoded_value);
    uint64_t *record, *next;
    struct trace_writer *writer;

    if (large->has_metadata)
        words += 1 + thread_words(&large->thread) + trace_args_words(large->args, large->count);
    words += large->blob_size <= (size_t)8 * TRACE_LARGE_WORDS ? trace_bytes_words(large->blob_size)
                                                               : TRACE_LARGE_WORDS;
    record = context ? trace_begin_large(trace_generation_of(context), words, &writer) : NULL;
    if (!record)
        return;
    record[1] = large->category.encoded_value | (uint64_t)large->name.encoded_value << 16;
    next = trace_put_text(record + 2, large->category.encoded_value, large->category.inline_string);
    next = trace_put_text(next, large->name.encoded_value, large->name.inline_string);
    if (large->has_metadata) {
        record[1] |= (uint64_t)large->count << 32 | (uint64_t)large->thread.encoded_value << 36;
        *next++ = large->time;
        next = trace_put_args(put_thread(next, &large->thread), large->args, large->count);
    }
    *next++ = large->blob_size;
    (void)trace_put_bytes(next, large->blob, large->blob_size);
    trace_commit(writer, words, 15 | words << 4 | (large->has_metadata ? 0 : UINT64_C(1) << 40));
}

void trace_context_write_blob_event_record(trace_context_t *context, trace_ticks_t event_time,
                                           const trace_thread_ref_t *thread,
                                           const trace_string_ref_t *category,
                                           const trace_string_ref_t *name, const void *blob,
                                           size_t blob_size, const trace_arg_t *args,
                                           size_t num_args)
{
    const struct large large = {
        .has_metadata = true,
        .time = event_time,
        .thread = *thread,
        .category = *category,
        .name = *name,
        .blob = blob,
        .blob_size = blob_size,
        .args = args,
        .count = num_args < TRACE_MAX_ARGS ? num_args : TRACE_MAX_ARGS,
    };

    write_large(context, &large);
}

void trace_context_write_blob_attachment_record(trace_context_t *context,
                                                const trace_string_ref_t *category,
                                                const trace_string_ref_t *name, const void *blob,
                                                size_t blob_size)
{
    const struct large large = {
        .category = *category,
        .name = *name,
        .blob = blob,
        .blob_size = blob_size,
    };

    write_large(context, &large);
}

/* A site's references, for what is written by hand.  */
static void take_site(const trace_site_t *site, uint64_t state, trace_string_ref_t *category,
                      trace_string_ref_t *name)
{
    *category = (trace_string_ref_t){ (uint16_t)state, site->category };
    *name = (trace_string_ref_t){ (uint16_t)(state >> 16), site->name };
}

void trace_internal_blob_event(const trace_site_t *site, uint64_t state, const void *blob,
                               size_t blob_size, const trace_arg_value_t *values)
{
    trace_context_t *context = trace_context_of(state);
    trace_arg_t args[TRACE_MAX_ARGS];
    trace_string_ref_t category, name;
    trace_thread_ref_t thread;
    size_t count = site->key_count < TRACE_MAX_ARGS ? site->key_count : TRACE_MAX_ARGS;

    take_site(site, state, &category, &name);
    for (size_t i = 0; i < count; i++)
        args[i] = (trace_arg_t){ { site->key_refs[i], site->keys[i] }, values[i] };
    trace_context_register_current_thread(context, &thread);
    trace_context_write_blob_event_record(context, trace_clock_now(), &thread, &category, &name,
                                          blob, blob_size, args, count);
}

void trace_internal_blob_attachment(const trace_site_t *site, uint64_t state, const void *blob,
                                    size_t blob_size)
{
    trace_string_ref_t category, name;

    take_site(site, state, &category, &name);
    trace_context_write_blob_attachment_record(trace_context_of(state), &category, &name, blob,
                                               blob_size);
}

/* ---- Tables that a caller keeps ---- */

/* In the durable buffer, as others of the kind.  */
static void put_durable(trace_context_t *context, const uint64_t *record, uint64_t words)
{
    if (!context || !trace_lock())
        return;
    if (__atomic_load_n(&trace_internal_generation[0], __ATOMIC_SEQ_CST) ==
        trace_generation_of(context))
        (void)trace_buffer_put_durable(&trace_buffer, record, words);
    trace_unlock();
}

void trace_context_write_initialization_record(trace_context_t *context, uint64_t ticks_per_second)
{
    const uint64_t record[2] = { 1 | 2 << 4, ticks_per_second };

    put_durable(context, record, 2);
}

void trace_context_write_string_record(trace_context_t *context, trace_string_index_t index,
                                       const char *string, size_t length)
{
    trace_string_ref_t text = trace_make_inline_string_ref(string, length);
    uint64_t size = text.encoded_value & 0x7fff, words = 1 + trace_bytes_words(size);
    uint64_t record[1 + TRACE_MAX_STRING / 8];

    if (index == 0 || index > 0x7fff)
        return;
    record[0] = 2 | words << 4 | (uint64_t)index << 16 | size << 32;
    (void)trace_put_bytes(record + 1, string, size);
    put_durable(context, record, words);
}

void trace_context_write_thread_record(trace_context_t *context, trace_thread_index_t index,
                                       trace_koid_t process_koid, trace_koid_t thread_koid)
{
    const uint64_t record[3] = { 3 | 3 << 4 | (uint64_t)index << 16, process_koid, thread_koid };

    if (index > 0 && index <= 0xff)
        put_durable(context, record, 3);
}

/* ---- Alerts ---- */

void trace_context_send_alert(trace_context_t *context, const char *name)
{
    char text[TRACE_ALERT_SIZE] = { 0 };

    if (!context || !trace_host.alert ||
        trace_internal_generation[0] != trace_generation_of(context))
        return;
    memcpy(text, name, strnlen(name, sizeof text));
    trace_host.alert(text);
}
