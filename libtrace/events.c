/* Events (docs/formats/fxt.md, section 2.5), from call sites and by hand.  */
#include <string.h>

#include "libtrace/clock.h"
#include "libtrace/engine.h"
#include "libtrace/words.h"

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

    event->category = (uint16_t)(state >> 16);
    event->name = (uint16_t)state;
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

static inline bool type_has_payload(uint32_t type)
{
    return type == 1 || type >= 4;
}

void trace_internal_event(const trace_site_t *site, uint64_t state, uint32_t type,
                          trace_ticks_t time, uint64_t payload, const trace_arg_value_t *values)
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

void trace_internal_duration(const trace_site_t *site, uint64_t state, trace_ticks_t start_time,
                             const trace_arg_value_t *values)
{
    struct event event = {
        .type = 4,
        .has_payload = true,
        .time = start_time,
        .payload = trace_clock_now(),
    };

    if (event.payload < start_time) /* on another processor, by a few nanoseconds */
        event.payload = start_time;

    /* Where recording stopped meanwhile, what the site remembers is of no use.  */
    if (__atomic_load_n(&trace_internal_generation[0], __ATOMIC_RELAXED) ==
            (uint32_t)(state >> 32) &&
        find_self((uint32_t)(state >> 32), &event))
        write_site_event(site, state, &event, values);
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
