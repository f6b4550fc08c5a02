/* trace_engine.h - make a program a trace provider: the functions.
 *
 * C and C++ programs use the macros of <fxt/trace.h>, which call these functions.  Other languages,
 * and macros of your own, use them directly.  The names, the types and their meaning are those of
 * Fuchsia's <lib/trace-engine/...>; a record is written by three steps:
 *
 *     trace_context_t *context = trace_acquire_context_for_category("net", &category);
 *     if (context) {
 *         trace_thread_ref_t thread;
 *         trace_string_ref_t name;
 *
 *         trace_context_register_current_thread(context, &thread);
 *         trace_context_register_string_literal(context, "connect", &name);
 *         trace_context_write_instant_event_record(context, trace_get_ticks(), &thread, &category,
 *                                                  &name, TRACE_SCOPE_THREAD, NULL, 0);
 *         trace_release_context(context);
 *     }
 *
 * Functions never block on the receiver of the trace, never allocate with malloc(), leave errno
 * alone and may be called from any thread and from signal handlers.  A record that cannot be
 * written is dropped and counted; a function that writes one reports nothing.
 *
 * A context is a number in the shape of a pointer: it names one run between a start and a stop.
 * It needs no memory, so releasing it ends what trace_context_begin_write_blob_record() began with
 * it and does nothing else, and a record that is written to a context whose run is over is dropped.
 *
 * Strings are at most 32,000 bytes; longer ones are cut.  A record is at most 32,760 bytes, large
 * blobs 256 KiB.  Up to 15 arguments an event; more are left out.
 *
 * Time: ticks are nanoseconds of CLOCK_MONOTONIC, the clock of CPU and heap captures.  */
#ifndef FXT_TRACE_ENGINE_H
#define FXT_TRACE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The library exports these functions.  */
#ifndef FXT_TRACE_API
#define FXT_TRACE_API __attribute__((visibility("default")))
#endif

/* ---- Types ---- */

typedef uint64_t trace_ticks_t;
typedef uint64_t trace_koid_t; /* a process id, a thread id or the number of another object */
typedef uint64_t trace_async_id_t;
typedef uint64_t trace_flow_id_t;
typedef uint64_t trace_counter_id_t;
typedef uint64_t trace_vthread_id_t;
typedef uint32_t trace_string_index_t; /* 1 to 0x7fff */
typedef uint32_t trace_thread_index_t; /* 1 to 0xff */
typedef uint32_t trace_cpu_number_t;
typedef uint8_t trace_thread_priority_t;

typedef struct trace_context trace_context_t;
typedef struct trace_context trace_prolonged_context_t;
typedef struct trace_provider trace_provider_t;

typedef enum {
    TRACE_STOPPED = 0,
    TRACE_STARTED = 1,
    TRACE_STOPPING = 2,
} trace_state_t;

/* Values of the trace format are part of it and never change.  The scope of an instant event is
 * accepted and, as the format has no field for it, not written.  */
typedef enum {
    TRACE_SCOPE_THREAD = 0,
    TRACE_SCOPE_PROCESS = 1,
    TRACE_SCOPE_GLOBAL = 2,
} trace_scope_t;

typedef enum {
    TRACE_BLOB_TYPE_DATA = 1,
    TRACE_BLOB_TYPE_LAST_BRANCH = 2,
    TRACE_BLOB_TYPE_PERFETTO = 3,
} trace_blob_type_t;

typedef enum {
    TRACE_THREAD_STATE_NEW = 0,
    TRACE_THREAD_STATE_RUNNING = 1,
    TRACE_THREAD_STATE_SUSPENDED = 2,
    TRACE_THREAD_STATE_BLOCKED = 3,
    TRACE_THREAD_STATE_DYING = 4,
    TRACE_THREAD_STATE_DEAD = 5,
} trace_thread_state_t;

/* Kernel objects, numbered as Zircon does.  */
enum {
    TRACE_OBJECT_NONE = 0,
    TRACE_OBJECT_PROCESS = 1,
    TRACE_OBJECT_THREAD = 2,
    TRACE_OBJECT_VMO = 3, /* files and shared memory */
    TRACE_OBJECT_SOCKET = 14,
    TRACE_OBJECT_FIFO = 19, /* pipes */
};

/* A string in a record: 0 is the empty string, 1 to 0x7fff an index in the string table, 0x8000
 * with a length the bytes at inline_string.  Valid for the context it was made with.  */
typedef struct {
    uint16_t encoded_value;
    const char *inline_string;
} trace_string_ref_t;

/* A thread in a record: 1 to 0xff is an index in the thread table, 0 the two koids.  */
typedef struct {
    uint32_t encoded_value;
    trace_koid_t inline_process_koid;
    trace_koid_t inline_thread_koid;
} trace_thread_ref_t;

typedef enum {
    TRACE_ARG_NULL = 0,
    TRACE_ARG_INT32 = 1,
    TRACE_ARG_UINT32 = 2,
    TRACE_ARG_INT64 = 3,
    TRACE_ARG_UINT64 = 4,
    TRACE_ARG_DOUBLE = 5,
    TRACE_ARG_STRING = 6,
    TRACE_ARG_POINTER = 7,
    TRACE_ARG_KOID = 8,
    TRACE_ARG_BOOL = 9,
    TRACE_ARG_BLOB = 10,
} trace_arg_type_t;

/* Bytes of a blob argument, borrowed until the record is written.  At most 32,000.  */
typedef struct {
    const void *bytes;
    size_t length;
} trace_arg_blob_t;

typedef struct {
    trace_arg_type_t type;
    union {
        int32_t int32_value;
        uint32_t uint32_value;
        int64_t int64_value;
        uint64_t uint64_value;
        double double_value;
        trace_string_ref_t string_value_ref;
        uint64_t pointer_value;
        trace_koid_t koid_value;
        bool bool_value;
        trace_arg_blob_t blob_value;
    } value;
} trace_arg_value_t;

typedef struct {
    trace_string_ref_t name_ref;
    trace_arg_value_t value;
} trace_arg_t;

/* The most arguments an event can have.  */
#define TRACE_MAX_ARGS 15

/* ---- References made by hand ---- */

static inline trace_string_ref_t trace_make_empty_string_ref(void)
{
    trace_string_ref_t ref = { 0, NULL };
    return ref;
}

static inline trace_string_ref_t trace_make_indexed_string_ref(trace_string_index_t index)
{
    trace_string_ref_t ref = { (uint16_t)(index & 0x7fff), NULL };
    return ref;
}

/* The bytes are borrowed until the record is written and need no NUL.  */
static inline trace_string_ref_t trace_make_inline_string_ref(const char *string, size_t length)
{
    trace_string_ref_t ref = { 0, NULL };

    if (string && length > 32000) /* whole characters of UTF-8 */
        for (length = 32000; length > 31997 && (string[length] & 0xc0) == 0x80; length--)
            continue;
    if (string && length > 0) {
        ref.encoded_value = (uint16_t)(0x8000u | length);
        ref.inline_string = string;
    }
    return ref;
}

static inline trace_string_ref_t trace_make_inline_c_string_ref(const char *string)
{
    return trace_make_inline_string_ref(string, string ? __builtin_strlen(string) : 0);
}

static inline trace_thread_ref_t trace_make_unknown_thread_ref(void)
{
    trace_thread_ref_t ref = { 0, 0, 0 };
    return ref;
}

static inline trace_thread_ref_t trace_make_indexed_thread_ref(trace_thread_index_t index)
{
    trace_thread_ref_t ref = { index & 0xff, 0, 0 };
    return ref;
}

static inline trace_thread_ref_t trace_make_inline_thread_ref(trace_koid_t process_koid,
                                                              trace_koid_t thread_koid)
{
    trace_thread_ref_t ref = { 0, process_koid, thread_koid };
    return ref;
}

static inline trace_arg_t trace_make_arg(trace_string_ref_t name_ref, trace_arg_value_t value)
{
    trace_arg_t arg = { name_ref, value };
    return arg;
}

/* ---- Providers ---- */

/* Make the program a provider of that name, at most 100 bytes; NULL stands for the program's name.
 * One provider a process: NULL is returned when there is one already, and when tracing is switched
 * off for this process (below).
 *
 * Where a manager is found: the socket $FXT_TRACE_SOCKET, else $XDG_RUNTIME_DIR/fxt/trace, else
 * /tmp/fxt-UID/trace.  FXT_TRACE_SOCKET= (empty) switches it off.  A thread with all signals
 * blocked waits for a manager to appear, so the manager may start later.  A folder that others can
 * write to is ignored.
 *
 * Where FXT_TRACE_SOCKET is set, as it is in what sampler-capture trace starts, this waits until
 * recording has begun, as trace_provider_create_synchronously() does: nothing is missed.
 *
 * Without a manager: FXT_TRACE_FILE=app.%p.fxtb makes a flight recorder.  All events of the
 * categories in $FXT_TRACE_CATEGORIES (with commas between; unset: all) go to a circular buffer in
 * that file, of $FXT_TRACE_BUFFER_SIZE bytes (default 4M), which fxtdump reads, also after the
 * program was killed.  %p stands for the process id; without it, a file into which a process that
 * runs records is left alone, and the name gets the process id at its end.
 *
 * The environment is read here and not again.
 *
 * fork(): a child is a new provider once it has written its first event, or has called this.  */
FXT_TRACE_API trace_provider_t *trace_provider_create_with_name(const char *name);

/* The same, and wait until the manager, if one is there, has answered.  *already_started (may be
 * NULL) says whether it is recording; the first events are then not missed.  Waits at most five
 * seconds.  */
FXT_TRACE_API trace_provider_t *trace_provider_create_synchronously(const char *name,
                                                                    bool *already_started);

/* Stop recording, hand over what there is and end the thread.  NULL is accepted.  A program that
 * simply exits need not call it.  */
FXT_TRACE_API void trace_provider_destroy(trace_provider_t *provider);

/* A category that a manager's "trace categories" shall list, with a description of at most 400
 * bytes; both are borrowed for the life of the process.  At most 1000.  Not needed for use.  */
FXT_TRACE_API void trace_provider_add_known_category(const char *category, const char *description);

/* ---- Instrumentation ---- */

FXT_TRACE_API trace_state_t trace_state(void);
FXT_TRACE_API bool trace_is_category_enabled(const char *category);
FXT_TRACE_API trace_ticks_t trace_get_ticks(void);

/* A number that this process has not got before; never 0.  */
FXT_TRACE_API uint64_t trace_generate_nonce(void);

/* NULL unless recording.  */
FXT_TRACE_API trace_context_t *trace_acquire_context(void);
/* NULL unless recording, and the category is enabled.  *category is set then.  */
FXT_TRACE_API trace_context_t *trace_acquire_context_for_category(const char *category_literal,
                                                                  trace_string_ref_t *category);
FXT_TRACE_API void trace_release_context(trace_context_t *context);

/* A call site remembers what it found out; zero at first, static.  What it remembers is valid for
 * one start, so nothing points into a program's or library's memory after dlclose().  */
typedef struct {
    uint64_t state; /* high half: the start it is of; low half: category and name references */
    const char *category;
    const char *name;
    const char *const *keys; /* names of the arguments */
    uint16_t *key_refs;
    uint32_t key_count;
} trace_site_t;

/* The same at the cost of a comparison once the site knows.  */
FXT_TRACE_API trace_context_t *trace_acquire_context_for_category_cached(
    const char *category_literal, trace_site_t *site, trace_string_ref_t *category);

/* As trace_acquire_context(); here a context keeps nobody waiting, so the two are the same.  */
FXT_TRACE_API trace_prolonged_context_t *trace_acquire_prolonged_context(void);
FXT_TRACE_API void trace_release_prolonged_context(trace_prolonged_context_t *context);

/* A descriptor (eventfd) that is written to at each start and stop.  A start waits up to a second
 * for observers that have not called trace_notify_observer_updated().  At most 16.
 * Return 0 or an errno value.  */
FXT_TRACE_API int trace_register_observer(int event_fd);
FXT_TRACE_API int trace_unregister_observer(int event_fd);
FXT_TRACE_API void trace_notify_observer_updated(int event_fd);

/* Nothing to do here: call sites are not linked to each other.  For programs that call it before
 * dlclose() on Fuchsia.  */
FXT_TRACE_API void trace_engine_flush_category_cache(void);

/* ---- References ---- */

/* The literal must not change nor go away while recording; it is remembered by its content.  Where
 * the string table is full the reference is inline.  */
FXT_TRACE_API void trace_context_register_string_literal(trace_context_t *context,
                                                         const char *literal,
                                                         trace_string_ref_t *out);
FXT_TRACE_API void trace_context_register_string_copy(trace_context_t *context, const char *string,
                                                      size_t length, trace_string_ref_t *out);
/* False when the category is not enabled.  */
FXT_TRACE_API bool trace_context_register_category_literal(trace_context_t *context,
                                                           const char *literal,
                                                           trace_string_ref_t *out);
FXT_TRACE_API void trace_context_register_current_thread(trace_context_t *context,
                                                         trace_thread_ref_t *out);
FXT_TRACE_API void trace_context_register_thread(trace_context_t *context,
                                                 trace_koid_t process_koid,
                                                 trace_koid_t thread_koid, trace_thread_ref_t *out);
/* A virtual thread: its koid is id with bit 63 set.  process_koid 0 is this process.  */
FXT_TRACE_API void trace_context_register_vthread(trace_context_t *context,
                                                  trace_koid_t process_koid,
                                                  const char *vthread_literal,
                                                  trace_vthread_id_t vthread_id,
                                                  trace_thread_ref_t *out);

/* ---- Records ---- */

FXT_TRACE_API void trace_context_write_instant_event_record(
    trace_context_t *context, trace_ticks_t event_time, const trace_thread_ref_t *thread,
    const trace_string_ref_t *category, const trace_string_ref_t *name, trace_scope_t scope,
    const trace_arg_t *args, size_t num_args);
FXT_TRACE_API void trace_context_write_counter_event_record(
    trace_context_t *context, trace_ticks_t event_time, const trace_thread_ref_t *thread,
    const trace_string_ref_t *category, const trace_string_ref_t *name,
    trace_counter_id_t counter_id, const trace_arg_t *args, size_t num_args);
/* A complete duration.  */
FXT_TRACE_API void trace_context_write_duration_event_record(
    trace_context_t *context, trace_ticks_t start_time, trace_ticks_t end_time,
    const trace_thread_ref_t *thread, const trace_string_ref_t *category,
    const trace_string_ref_t *name, const trace_arg_t *args, size_t num_args);
FXT_TRACE_API void trace_context_write_duration_begin_event_record(
    trace_context_t *context, trace_ticks_t event_time, const trace_thread_ref_t *thread,
    const trace_string_ref_t *category, const trace_string_ref_t *name, const trace_arg_t *args,
    size_t num_args);
FXT_TRACE_API void trace_context_write_duration_end_event_record(
    trace_context_t *context, trace_ticks_t event_time, const trace_thread_ref_t *thread,
    const trace_string_ref_t *category, const trace_string_ref_t *name, const trace_arg_t *args,
    size_t num_args);
FXT_TRACE_API void trace_context_write_async_begin_event_record(
    trace_context_t *context, trace_ticks_t event_time, const trace_thread_ref_t *thread,
    const trace_string_ref_t *category, const trace_string_ref_t *name, trace_async_id_t async_id,
    const trace_arg_t *args, size_t num_args);
FXT_TRACE_API void trace_context_write_async_instant_event_record(
    trace_context_t *context, trace_ticks_t event_time, const trace_thread_ref_t *thread,
    const trace_string_ref_t *category, const trace_string_ref_t *name, trace_async_id_t async_id,
    const trace_arg_t *args, size_t num_args);
FXT_TRACE_API void trace_context_write_async_end_event_record(
    trace_context_t *context, trace_ticks_t event_time, const trace_thread_ref_t *thread,
    const trace_string_ref_t *category, const trace_string_ref_t *name, trace_async_id_t async_id,
    const trace_arg_t *args, size_t num_args);
FXT_TRACE_API void trace_context_write_flow_begin_event_record(
    trace_context_t *context, trace_ticks_t event_time, const trace_thread_ref_t *thread,
    const trace_string_ref_t *category, const trace_string_ref_t *name, trace_flow_id_t flow_id,
    const trace_arg_t *args, size_t num_args);
FXT_TRACE_API void trace_context_write_flow_step_event_record(
    trace_context_t *context, trace_ticks_t event_time, const trace_thread_ref_t *thread,
    const trace_string_ref_t *category, const trace_string_ref_t *name, trace_flow_id_t flow_id,
    const trace_arg_t *args, size_t num_args);
FXT_TRACE_API void trace_context_write_flow_end_event_record(
    trace_context_t *context, trace_ticks_t event_time, const trace_thread_ref_t *thread,
    const trace_string_ref_t *category, const trace_string_ref_t *name, trace_flow_id_t flow_id,
    const trace_arg_t *args, size_t num_args);

/* Names of processes and threads, and what else there is to say of a kernel object.  */
FXT_TRACE_API void trace_context_write_process_info_record(trace_context_t *context,
                                                           trace_koid_t process_koid,
                                                           const trace_string_ref_t *name);
FXT_TRACE_API void trace_context_write_thread_info_record(trace_context_t *context,
                                                          trace_koid_t process_koid,
                                                          trace_koid_t thread_koid,
                                                          const trace_string_ref_t *name);
FXT_TRACE_API void trace_context_write_kernel_object_record(trace_context_t *context,
                                                            trace_koid_t koid, uint32_t object_type,
                                                            const trace_string_ref_t *name,
                                                            const trace_arg_t *args,
                                                            size_t num_args);
/* handle is a file descriptor: the koid is its inode number, the name what /proc calls it.  */
FXT_TRACE_API void trace_context_write_kernel_object_record_for_handle(trace_context_t *context,
                                                                       int handle,
                                                                       const trace_arg_t *args,
                                                                       size_t num_args);

FXT_TRACE_API void trace_context_write_context_switch_record(
    trace_context_t *context, trace_ticks_t event_time, trace_cpu_number_t cpu_number,
    trace_thread_state_t outgoing_thread_state, const trace_thread_ref_t *outgoing_thread,
    const trace_thread_ref_t *incoming_thread, trace_thread_priority_t outgoing_thread_priority,
    trace_thread_priority_t incoming_thread_priority);
FXT_TRACE_API void trace_context_write_log_record(trace_context_t *context,
                                                  trace_ticks_t event_time,
                                                  const trace_thread_ref_t *thread,
                                                  const char *log_message,
                                                  size_t log_message_length);

/* Blobs of at most 32,000 bytes; larger ones are dropped.  */
FXT_TRACE_API void trace_context_write_blob_record(trace_context_t *context, trace_blob_type_t type,
                                                   const trace_string_ref_t *name, const void *blob,
                                                   size_t blob_size);
/* Room for such a blob, zeros at first, to be filled before trace_release_context() of this
 * context, which this thread has to call: until then a stop waits, at most half a second.  Another
 * one of the same context ends it, too.  NULL when it is dropped, and while the thread writes one
 * to another context.  */
FXT_TRACE_API void *trace_context_begin_write_blob_record(trace_context_t *context,
                                                          trace_blob_type_t type,
                                                          const trace_string_ref_t *name,
                                                          size_t blob_size);
/* Large blobs, up to what a record of 256 KiB holds; larger ones are dropped.  */
FXT_TRACE_API void trace_context_write_blob_event_record(
    trace_context_t *context, trace_ticks_t event_time, const trace_thread_ref_t *thread,
    const trace_string_ref_t *category, const trace_string_ref_t *name, const void *blob,
    size_t blob_size, const trace_arg_t *args, size_t num_args);
FXT_TRACE_API void trace_context_write_blob_attachment_record(trace_context_t *context,
                                                              const trace_string_ref_t *category,
                                                              const trace_string_ref_t *name,
                                                              const void *blob, size_t blob_size);

/* Of a string or thread table that the caller keeps.  Indices clash with those that
 * trace_context_register_*() give out: use one or the other.  */
FXT_TRACE_API void trace_context_write_initialization_record(trace_context_t *context,
                                                             uint64_t ticks_per_second);
FXT_TRACE_API void trace_context_write_string_record(trace_context_t *context,
                                                     trace_string_index_t index, const char *string,
                                                     size_t length);
FXT_TRACE_API void trace_context_write_thread_record(trace_context_t *context,
                                                     trace_thread_index_t index,
                                                     trace_koid_t process_koid,
                                                     trace_koid_t thread_koid);

/* Tell the manager, which may act on it (sampler-capture trace --trigger).  At most 14 bytes; more
 * are cut.  */
FXT_TRACE_API void trace_context_send_alert(trace_context_t *context, const char *name);

/* ---- For <fxt/trace.h> ---- */

/* [0] is 0: not recording, which is all that a call site looks at.  Otherwise the number of the
 * start.  A page of its own, which the kernel empties in a child that fork() does not know of.  */
FXT_TRACE_API extern uint32_t trace_internal_generation[1024];

FXT_TRACE_API uint64_t trace_internal_resolve(trace_site_t *site);
FXT_TRACE_API void trace_internal_event(const trace_site_t *site, uint64_t state, uint32_t type,
                                        trace_ticks_t time, uint64_t payload,
                                        const trace_arg_value_t *values);
FXT_TRACE_API void trace_internal_duration(const trace_site_t *site, uint64_t state,
                                           trace_ticks_t start_time,
                                           const trace_arg_value_t *values);
FXT_TRACE_API void trace_internal_vthread_event(const trace_site_t *site, uint64_t state,
                                                uint32_t type, const char *vthread_name,
                                                trace_vthread_id_t vthread_id, trace_ticks_t time,
                                                uint64_t payload, const trace_arg_value_t *values);
FXT_TRACE_API void trace_internal_blob_event(const trace_site_t *site, uint64_t state,
                                             const void *blob, size_t blob_size,
                                             const trace_arg_value_t *values);
FXT_TRACE_API void trace_internal_blob_attachment(const trace_site_t *site, uint64_t state,
                                                  const void *blob, size_t blob_size);
FXT_TRACE_API void trace_internal_kernel_object(const char *const *keys, int handle,
                                                const trace_arg_value_t *values, size_t count);

#ifdef __cplusplus
}
#endif

#endif /* FXT_TRACE_ENGINE_H */
