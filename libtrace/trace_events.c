/* Events (docs/formats/fxt.md, section 2.5), from call sites and by hand.  */
#include <string.h>

#include "libtrace/clock.h"
#include "libtrace/engine.h"
#include "libtrace/record_words.h"

/* What an event is made of; the arguments come from a site or from the caller.  */
struct event {
    uint32_t type;
    bool has_payload;
    uint64_t time;
    uint64_t payload;
    trace_thread_ref_t thread;
    uint16_t category, name;
    const char *category_text, *name_text;
};

static inline uint64_t head_words(const struct event *event)
{
    return 2 + (event->thread.encoded_value == 0 ? 2u : 0u) + trace_ref_words(event->category) +
           trace_ref_words(event->name) + (event->has_payload ? 1u : 0u);
}

static inline uint64_t head_bits(const struct event *event, uint64_t words, uint64_t arguments)
{
    return 4 | words << 4 | (uint64_t)event->type << 16 | arguments << 20 |
           (uint64_t)event->thread.encoded_value << 24 | (uint64_t)event->category << 32 |
           (uint64_t)event->name << 48;
}

/* Words 1 up to the arguments.  */
static inline uint64_t *put_head(uint64_t *words, const struct event *event)
{
    *words++ = event->time;
    if (event->thread.encoded_value == 0) {
        *words++ = event->thread.inline_process_koid;
        *words++ = event->thread.inline_thread_koid;
    }
    words = trace_put_text(words, event->category, event->category_text);
    return trace_put_text(words, event->name, event->name_text);
}

/* ---- From call sites ---- */

static inline uint32_t site_arguments(const trace_site_t *site)
{
    return site->key_count < TRACE_MAX_ARGS ? site->key_count : TRACE_MAX_ARGS;
}

static inline void write_site_event(const trace_site_t *site, uint64_t state, struct event *event,
                                    const trace_arg_value_t *values)
{
    uint32_t generation = (uint32_t)(state >> 32), count = site_arguments(site);
    uint64_t words, *record, *next;
    struct trace_writer *writer;

    event->category = (uint16_t)state;
    event->name = (uint16_t)(state >> 16);
    event->category_text = site->category;
    event->name_text = site->name;
    words = head_words(event);
    for (uint32_t i = 0; i < count; i++)
        words += trace_arg_words(site->key_refs[i], &values[i]);
    record = trace_begin(generation, words, &writer);
    if (!record)
        return;
    next = put_head(record + 1, event);
    for (uint32_t i = 0; i < count; i++)
        next = trace_put_arg(next, site->key_refs[i], site->keys[i], &values[i]);
    if (event->has_payload)
        *next = event->payload;
    trace_commit(writer, words, head_bits(event, words, count));
}

static inline bool type_has_payload(uint32_t type)
{
    return type == 1 || type >= 4;
}

/* ---- The usual event: what it refers to has indices, and values are numbers ---- */

/* By type: the lower half of an argument's header, without its name, and what of the upper half is
 * the value's.  Strings, blobs and what is no type are not plain: a bit that names with an index do
 * not have says so.  */
#define NOT_PLAIN         0x80000000u
#define WIDE_WORDS        (2u << 4)
#define SHORT(type, mask) [type] = { (type) | 1u << 4, mask }
#define WIDE(type)        [type] = { (type) | WIDE_WORDS, 0 }
#define OTHER(type)       [type] = { (type) | 1u << 4 | NOT_PLAIN, 0 }
static const struct {
    uint32_t head;
    uint32_t mask;
} plain_types[16] = {
    SHORT(TRACE_ARG_NULL, 0),
    SHORT(TRACE_ARG_INT32, UINT32_MAX),
    SHORT(TRACE_ARG_UINT32, UINT32_MAX),
    WIDE(TRACE_ARG_INT64),
    WIDE(TRACE_ARG_UINT64),
    WIDE(TRACE_ARG_DOUBLE),
    OTHER(TRACE_ARG_STRING),
    WIDE(TRACE_ARG_POINTER),
    WIDE(TRACE_ARG_KOID),
    SHORT(TRACE_ARG_BOOL, 1),
    OTHER(TRACE_ARG_BLOB),
    OTHER(11),
    OTHER(12),
    OTHER(13),
    OTHER(14),
    OTHER(15),
};

/* *all: bits of all headers.  A narrow value is read as narrow as it was stored, since processors
 * pass a store on to a load of the same size at once, but not to a wider one.  */
static inline __attribute__((always_inline)) uint64_t *put_plain(uint64_t *next, uint16_t key,
                                                                 const trace_arg_value_t *value,
                                                                 uint64_t *all)
{
    uint64_t type = (uint64_t)value->type & 15;
    uint64_t head = plain_types[type].head | (uint64_t)key << 16;

    *all |= head;
    *next++ = head | (uint64_t)(value->value.uint32_value & plain_types[type].mask) << 32;
    if (head & WIDE_WORDS)
        *next++ = value->value.uint64_value;
    return next;
}

/* Records are built where they stay, without counting their words before: there is room for the
 * longest of them.  False: to be done the long way; nothing was written.  */
static inline __attribute__((always_inline)) bool write_plain(const trace_site_t *site,
                                                              uint64_t state, uint32_t type,
                                                              uint64_t time, bool has_payload,
                                                              uint64_t payload,
                                                              const trace_arg_value_t *values)
{
    uint32_t generation = (uint32_t)(state >> 32);
    uint64_t count = site->key_count, all = 0, words;
    const trace_arg_value_t *end = values + count;
    const struct trace_self *self = &trace_self;
    struct trace_writer *writer = self->writer;
    const uint16_t *key = site->key_refs;
    uint64_t *record, *next;

    if (__builtin_expect(self->plain != generation || (state & 0x80008000) ||
                             shared_load(&writer->busy) ||
                             !trace_writer_try(&trace_buffer, writer, 3 + 2 * count),
                         0))
        return false;
    record = trace_writer_place(&trace_buffer, writer);
    record[1] = time;
    for (next = record + 2; values < end; values++, key++)
        next = put_plain(next, __atomic_load_n(key, __ATOMIC_RELAXED), values, &all);
    /* Late: in a child for which no handler of fork() ran, the buffer is the parent's.  */
    if (__builtin_expect((all & NOT_PLAIN) || __atomic_load_n(&trace_internal_generation[0],
                                                              __ATOMIC_RELAXED) != generation,
                         0)) {
        trace_writer_cancel(writer);
        return false;
    }
    if (has_payload)
        *next++ = payload;
    words = (uint64_t)(next - record);
    trace_writer_commit(&trace_buffer, writer, words,
                        self->plain_head | words << 4 | (uint64_t)type << 16 | count << 20 |
                            state << 32);
    return true;
}

/* ---- Others ---- */

/* The calling thread, as the record refers to it.  False: no event now.  */
static inline bool find_self(uint32_t generation, struct event *event)
{
    if (__builtin_expect(trace_self.generation != generation, 0) && !trace_self_enter(generation))
        return false;
    event->thread.encoded_value = trace_self.thread_index;
    if (__builtin_expect(trace_self.thread_index == 0, 0)) {
        event->thread.inline_process_koid = trace_self.pid;
        event->thread.inline_thread_koid = trace_self.tid;
    }
    return true;
}

/* time 0: now.  */
static __attribute__((noinline)) void write_any(const trace_site_t *site, uint64_t state,
                                                uint32_t type, uint64_t time, uint64_t payload,
                                                const trace_arg_value_t *values)
{
    struct event event = {
        .type = type,
        .has_payload = type_has_payload(type),
        .time = time ? time : trace_clock_now(),
        .payload = payload,
    };

    if (find_self((uint32_t)(state >> 32), &event))
        write_site_event(site, state, &event, values);
}

void trace_internal_event(const trace_site_t *site, uint64_t state, uint32_t type,
                          const trace_arg_value_t *values)
{
    uint64_t ns;

    if (__builtin_expect(
            !trace_clock_is_quick(&ns) || !write_plain(site, state, type, ns, false, 0, values), 0))
        write_any(site, state, type, 0, 0, values);
}

void trace_internal_event_with_id(const trace_site_t *site, uint64_t state, uint32_t type,
                                  uint64_t id, const trace_arg_value_t *values)
{
    uint64_t ns;

    if (__builtin_expect(
            !trace_clock_is_quick(&ns) || !write_plain(site, state, type, ns, true, id, values), 0))
        write_any(site, state, type, 0, id, values);
}

/* Where recording stopped meanwhile, what the site remembers is of no use.  */
static __attribute__((noinline)) void write_any_duration(const trace_site_t *site, uint64_t state,
                                                         uint64_t start_time,
                                                         const trace_arg_value_t *values)
{
    uint64_t now = trace_clock_now();

    if (__atomic_load_n(&trace_internal_generation[0], __ATOMIC_RELAXED) == (uint32_t)(state >> 32))
        write_any(site, state, 4, start_time, now < start_time ? start_time : now, values);
}

void trace_internal_duration(const trace_site_t *site, uint64_t state, trace_ticks_t start_time,
                             const trace_arg_value_t *values)
{
    uint64_t now;
    bool quick = trace_clock_is_quick(&now);

    if (now < start_time) /* on another processor, by a few nanoseconds */
        now = start_time;
    if (__builtin_expect(!quick || !write_plain(site, state, 4, start_time, true, now, values), 0))
        write_any_duration(site, state, start_time, values);
}

void trace_internal_vthread_event(const trace_site_t *site, uint64_t state, uint32_t type,
                                  const char *vthread_name, trace_vthread_id_t vthread_id,
                                  trace_ticks_t time, uint64_t payload,
                                  const trace_arg_value_t *values)
{
    trace_context_t *context = trace_context_of(state);
    struct event event = {
        .type = type,
        .has_payload = type_has_payload(type),
        .time = time,
        .payload = payload,
    };

    trace_context_register_vthread(context, 0, vthread_name, vthread_id, &event.thread);
    write_site_event(site, state, &event, values);
}

/* ---- By hand ---- */

static void write_event(trace_context_t *context, struct event *event,
                        const trace_thread_ref_t *thread, const trace_string_ref_t *category,
                        const trace_string_ref_t *name, const trace_arg_t *args, size_t count)
{
    uint64_t words, *record, *next;
    struct trace_writer *writer;

    if (!context)
        return;
    if (count > TRACE_MAX_ARGS)
        count = TRACE_MAX_ARGS;
    event->has_payload = type_has_payload(event->type);
    event->thread = *thread;
    event->category = category->encoded_value;
    event->category_text = category->inline_string;
    event->name = name->encoded_value;
    event->name_text = name->inline_string;
    words = head_words(event) + trace_args_words(args, count);
    record = trace_begin(trace_generation_of(context), words, &writer);
    if (!record)
        return;
    next = trace_put_args(put_head(record + 1, event), args, count);
    if (event->has_payload)
        *next = event->payload;
    trace_commit(writer, words, head_bits(event, words, count));
}

void trace_context_write_instant_event_record(trace_context_t *context, trace_ticks_t event_time,
                                              const trace_thread_ref_t *thread,
                                              const trace_string_ref_t *category,
                                              const trace_string_ref_t *name, trace_scope_t scope,
                                              const trace_arg_t *args, size_t num_args)
{
    struct event event = { .type = 0, .time = event_time };

    (void)scope;
    write_event(context, &event, thread, category, name, args, num_args);
}

void trace_context_write_duration_event_record(trace_context_t *context, trace_ticks_t start_time,
                                               trace_ticks_t end_time,
                                               const trace_thread_ref_t *thread,
                                               const trace_string_ref_t *category,
                                               const trace_string_ref_t *name,
                                               const trace_arg_t *args, size_t num_args)
{
    struct event event = { .type = 4, .time = start_time, .payload = end_time };

    write_event(context, &event, thread, category, name, args, num_args);
}

#define PLAIN_EVENT(function, number)                                                       \
    void function(trace_context_t *context, trace_ticks_t event_time,                       \
                  const trace_thread_ref_t *thread, const trace_string_ref_t *category,     \
                  const trace_string_ref_t *name, const trace_arg_t *args, size_t num_args) \
    {                                                                                       \
        struct event event = { .type = (number), .time = event_time };                      \
                                                                                            \
        write_event(context, &event, thread, category, name, args, num_args);               \
    }
#define PAYLOAD_EVENT(function, number)                                                 \
    void function(trace_context_t *context, trace_ticks_t event_time,                   \
                  const trace_thread_ref_t *thread, const trace_string_ref_t *category, \
                  const trace_string_ref_t *name, uint64_t id, const trace_arg_t *args, \
                  size_t num_args)                                                      \
    {                                                                                   \
        struct event event = { .type = (number), .time = event_time, .payload = id };   \
                                                                                        \
        write_event(context, &event, thread, category, name, args, num_args);           \
    }

PAYLOAD_EVENT(trace_context_write_counter_event_record, 1)
PLAIN_EVENT(trace_context_write_duration_begin_event_record, 2)
PLAIN_EVENT(trace_context_write_duration_end_event_record, 3)
PAYLOAD_EVENT(trace_context_write_async_begin_event_record, 5)
PAYLOAD_EVENT(trace_context_write_async_instant_event_record, 6)
PAYLOAD_EVENT(trace_context_write_async_end_event_record, 7)
PAYLOAD_EVENT(trace_context_write_flow_begin_event_record, 8)
PAYLOAD_EVENT(trace_context_write_flow_step_event_record, 9)
PAYLOAD_EVENT(trace_context_write_flow_end_event_record, 10)
