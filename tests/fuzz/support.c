#include "tests/fuzz/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fuzz_broken(const char *file, int line, const char *property)
{
    (void)fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, property);
    abort();
}

void *fuzz_allocate(size_t size)
{
    void *memory = malloc(size ? size : 1);

    if (!memory)
        abort();
    return memory;
}

/* ---- Bytes in pieces ---- */

static size_t next_length(struct pieces *pieces)
{
    if (pieces->most == 0)
        return SIZE_MAX;
    pieces->state = pieces->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return pieces->least + (size_t)(pieces->state >> 33) % (pieces->most - pieces->least + 1);
}

ptrdiff_t fuzz_read(void *context, void *buffer, size_t size)
{
    struct fuzz_source *source = context;
    size_t length = next_length(&source->pieces);

    if (length > size)
        length = size;
    if (length > source->left)
        length = source->left;
    if (length == 0)
        return 0;
    memcpy(buffer, source->bytes, length);
    source->bytes += length;
    source->left -= length;
    return (ptrdiff_t)length;
}

struct fxt_input *fuzz_open(struct fuzz_source *source, const void *bytes, size_t length,
                            struct pieces pieces)
{
    struct fxt_input *input;

    *source = (struct fuzz_source){ bytes, length, pieces };
    HOLD(fxt_input_open_callback(fuzz_read, source, &input, NULL) == FXT_OK);
    return input;
}

/* ---- A growing buffer ---- */

void fuzz_append(struct fuzz_buffer *buffer, const void *bytes, size_t length)
{
    if (length > buffer->capacity - buffer->used) {
        buffer->capacity = 2 * (buffer->capacity + length);
        buffer->bytes = realloc(buffer->bytes, buffer->capacity);
        if (!buffer->bytes)
            abort();
    }
    if (length > 0)
        memcpy(buffer->bytes + buffer->used, bytes, length);
    buffer->used += length;
}

int fuzz_write(void *context, const void *bytes, size_t size)
{
    fuzz_append(context, bytes, size);
    return 0;
}

/* ---- Records as bytes ---- */

static void put(struct fuzz_buffer *digest, uint64_t number)
{
    fuzz_append(digest, &number, sizeof number);
}

/* Text over 31,999 bytes is cut there by the writer, before a whole character: the reader of its
 * copy must see no more and at most 3 bytes less.  */
static void put_string(struct fuzz_buffer *digest, const struct fxt_string *string,
                       enum digest_form form)
{
    uint32_t length = string->length;

    if (form == DIGEST_WRITTEN && length > 31996)
        length = 31996;
    put(digest, (uint64_t)string->index << 1 | string->missing);
    put(digest, length);
    fuzz_append(digest, string->bytes, length);
}

static void put_thread(struct fuzz_buffer *digest, const struct fxt_thread *thread)
{
    put(digest, (uint64_t)thread->index << 1 | thread->missing);
    put(digest, thread->process);
    put(digest, thread->thread);
}

static void put_bytes(struct fuzz_buffer *digest, struct fxt_bytes bytes)
{
    put(digest, bytes.length);
    fuzz_append(digest, bytes.bytes, (size_t)bytes.length);
}

static void put_words(struct fuzz_buffer *digest, struct fxt_words words)
{
    put(digest, words.count);
    fuzz_append(digest, words.bytes, 8 * words.count);
}

static void put_arg(struct fuzz_buffer *digest, const struct fxt_arg *arg, enum digest_form form)
{
    put(digest, arg->type);
    put_string(digest, &arg->name, form);
    switch (arg->type) {
    case FXT_ARG_NULL:
        break;
    case FXT_ARG_INT32:
    case FXT_ARG_UINT32:
        put(digest, arg->value.uint32);
        break;
    case FXT_ARG_INT64:
    case FXT_ARG_UINT64:
    case FXT_ARG_DOUBLE: /* the bits: NaN is not equal to itself */
    case FXT_ARG_POINTER:
    case FXT_ARG_KOID:
        put(digest, arg->value.uint64);
        break;
    case FXT_ARG_STRING:
        put_string(digest, &arg->value.string, form);
        break;
    case FXT_ARG_BOOL:
        put(digest, arg->value.boolean);
        break;
    case FXT_ARG_BLOB:
        put_bytes(digest, arg->value.blob);
        break;
    case FXT_ARG_UNKNOWN:
        put(digest, arg->value.unknown_type);
        break;
    }
}

static void put_event(struct fuzz_buffer *digest, const struct fxt_record *record)
{
    put(digest, record->value.event.type);
    put(digest, record->value.event.has_scope);
    put(digest, record->value.event.scope);
    put(digest, record->value.event.id);
    put(digest, record->value.event.end_ticks);
    put(digest, (uint64_t)record->value.event.end_ns);
    put_words(digest, record->value.event.rest);
}

static void put_sched(struct fuzz_buffer *digest, const struct fxt_record *record)
{
    put(digest, record->value.sched.cpu);
    put(digest, record->value.sched.outgoing_state);
    put(digest, record->value.sched.outgoing_tid);
    put(digest, record->value.sched.incoming_tid);
    put_thread(digest, &record->value.sched.outgoing);
    put_thread(digest, &record->value.sched.incoming);
    put(digest, record->value.sched.outgoing_priority);
    put(digest, record->value.sched.incoming_priority);
}

static void put_init(struct fuzz_buffer *digest, const struct fxt_record *record)
{
    put(digest, record->value.init.ticks_per_second);
    put(digest, record->value.init.base_ticks);
    put(digest, (uint64_t)record->value.init.base_time_ns);
    put(digest, record->value.init.extended);
}

static void put_mapping(struct fuzz_buffer *digest, const struct fxt_record *record)
{
    put(digest, record->value.mapping.module_id);
    put(digest, record->value.mapping.flags);
    put(digest, record->value.mapping.start);
    put(digest, record->value.mapping.length);
    put(digest, record->value.mapping.vaddr);
}

static void put_value(struct fuzz_buffer *digest, const struct fxt_record *record,
                      enum digest_form form)
{
    switch (record->kind) {
    case FXT_RECORD_UNKNOWN:
        put(digest, record->value.unknown.type);
        put(digest, record->value.unknown.subtype);
        put_words(digest, record->value.unknown.words);
        break;
    case FXT_RECORD_MAGIC:
        put(digest, record->value.magic.number);
        break;
    case FXT_RECORD_PROVIDER_INFO:
    case FXT_RECORD_PROVIDER_SECTION:
    case FXT_RECORD_PROVIDER_EVENT:
        put(digest, record->value.provider.id);
        put(digest, record->value.provider.event);
        break;
    case FXT_RECORD_INIT:
        put_init(digest, record);
        break;
    case FXT_RECORD_STRING:
    case FXT_RECORD_THREAD:
        put(digest, record->value.table.index);
        break;
    case FXT_RECORD_EVENT:
        put_event(digest, record);
        break;
    case FXT_RECORD_BLOB:
        put(digest, record->value.blob.type);
        put_bytes(digest, record->value.blob.payload);
        break;
    case FXT_RECORD_USERSPACE_OBJECT:
    case FXT_RECORD_KERNEL_OBJECT:
        put(digest, record->value.object.type);
        put(digest, record->value.object.koid);
        put(digest, record->value.object.pointer);
        break;
    case FXT_RECORD_CONTEXT_SWITCH:
    case FXT_RECORD_LEGACY_CONTEXT_SWITCH:
    case FXT_RECORD_THREAD_WAKEUP:
        put_sched(digest, record);
        break;
    case FXT_RECORD_LOG:
        put_string(digest, &record->value.log.message, form);
        break;
    case FXT_RECORD_MODULE:
        put(digest, record->value.module.id);
        put_bytes(digest, record->value.module.build_id);
        break;
    case FXT_RECORD_MAPPING:
        put_mapping(digest, record);
        break;
    case FXT_RECORD_BACKTRACE:
        put_words(digest, record->value.backtrace.frames);
        break;
    case FXT_RECORD_LARGE_BLOB:
        put(digest, record->value.large_blob.format);
        put_bytes(digest, record->value.large_blob.payload);
        break;
    case FXT_RECORD_KINDS:
        break;
    }
}

/* The process alone: the writer leaves the thread of a userspace object out, as documented.  */
static struct fxt_thread written_thread(const struct fxt_record *record)
{
    struct fxt_thread thread = record->thread;

    if (record->kind == FXT_RECORD_USERSPACE_OBJECT && thread.index == 0)
        thread.thread = 0;
    return thread;
}

void digest_record(struct fuzz_buffer *digest, const struct fxt_record *record,
                   enum digest_form form)
{
    struct fxt_thread thread = form == DIGEST_WRITTEN ? written_thread(record) : record->thread;

    put(digest, record->kind);
    put(digest, (uint64_t)record->has_time << 1 | record->has_thread);
    if (form == DIGEST_WHOLE) {
        put(digest, record->offset);
        put(digest, record->size);
    }
    put(digest, (uint64_t)record->provider->id << 1 | record->provider->initialized);
    put(digest, record->provider->ticks_per_second);
    put(digest, record->provider->base_ticks);
    put(digest, (uint64_t)record->provider->base_time_ns);
    put_string(digest, &record->provider->name, form);
    put(digest, record->ticks);
    put(digest, (uint64_t)record->ts_ns);
    put_thread(digest, &thread);
    put_string(digest, &record->category, form);
    put_string(digest, &record->name, form);
    put_value(digest, record, form);
    put(digest, record->arg_count);
    for (size_t i = 0; i < record->arg_count; i++)
        put_arg(digest, &record->args[i], form);
}
