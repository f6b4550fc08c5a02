/* trace_engine.h - make a program a trace provider: the functions.
 *
 * C and C++ programs use the macros of <fxt/trace.h>, which call these functions.  Other languages,
 * and macros of your own, use them directly.  Names, types and semantics are those of Fuchsia's
 * <lib/trace-engine/...>.  A record is written in three steps:
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
 * Functions never block on the receiver of the trace, never call malloc(), preserve errno, and may
 * be called from any thread and from signal handlers.  If a record cannot be written, it is dropped
 * and counted; the function does not report this.
 *
 * A context is a number, passed as a pointer, for one recording between a start and a stop.  It
 * needs no memory: releasing it only ends a blob of trace_context_begin_write_blob_record().  If
 * the recording of a context has ended, records written to it are dropped.
 *
 * Strings are at most 32,000 bytes; longer ones are cut.  A record is at most 32,760 bytes, large
 * blobs 256 KiB.  An event has up to 15 arguments; more are left out.
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

/* Casts that no warning of either language is about.  */
#ifdef __cplusplus
#define TRACE_INTERNAL_CAST(type, value) static_cast<type>(value)
#define TRACE_INTERNAL_ADDRESS(value)    reinterpret_cast<uintptr_t>(value)
#else
#define TRACE_INTERNAL_CAST(type, value) ((type)(value))
#define TRACE_INTERNAL_ADDRESS(value)    ((uintptr_t)(value))
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

/* ---- References from indices, texts and koids ---- */

static inline trace_string_ref_t trace_make_empty_string_ref(void)
{
    trace_string_ref_t ref = { 0, NULL };
    return ref;
}

static inline trace_string_ref_t trace_make_indexed_string_ref(trace_string_index_t index)
{
    trace_string_ref_t ref = { TRACE_INTERNAL_CAST(uint16_t, index & 0x7fff), NULL };
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
        ref.encoded_value = TRACE_INTERNAL_CAST(uint16_t, 0x8000u | length);
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

/* Make the program a provider with this name of at most 100 bytes, in which bytes that are not
 * UTF-8 become '?'; if it is NULL, the name is that of the program.  Returns NULL if the process
 * already has a provider, if tracing is switched off for this process (below), if the file of the
 * flight recorder cannot be made, or if there is no room for another thread or descriptor.
 *
 * The socket of the manager is $FXT_TRACE_SOCKET, else $XDG_RUNTIME_DIR/fxt/trace, else
 * /tmp/fxt-UID/trace.  If FXT_TRACE_SOCKET is empty, tracing is off.  The manager may start later:
 * a thread with all signals blocked waits for it.  If other users can write to the folder, it is
 * ignored.
 *
 * If FXT_TRACE_SOCKET is set, as in programs started by sampler-capture trace, this function waits
 * until recording has begun, like trace_provider_create_synchronously().  No event is missed.
 *
 * FXT_TRACE_FILE=app.%p.fxtb enables a flight recorder, without a manager.  All events of the
 * categories in $FXT_TRACE_CATEGORIES (with commas between; unset: all) go to a circular buffer in
 * that file, of $FXT_TRACE_BUFFER_SIZE bytes (default 4M), which fxtdump reads, also after the
 * program was killed.  %p is replaced by the process id.  If the name has no %p and a running
 * process records into the file, the process id is appended to the name.  A process that records
 * more than once, because it calls exec() or creates a provider again, keeps all its recordings:
 * the second one has the id 1234-2.  A recording of an earlier process of that id is replaced.
 *
 * The environment is only read by this function.
 *
 * fork(): a child becomes a new provider when it writes its first event or calls this function.
 * A signal handler must not call it.
 *
 * Seccomp: a filter that a program installs afterwards does not end it if it allows (or returns an
 * error for) openat, read, close, write, poll, futex, fstat, getpid, gettid, mmap, munmap,
 * rt_sigprocmask, restart_syscall and exit.  With a filter for all threads the program does not
 * look for a manager any more; a flight recorder, and a session that has begun, go on.  */
FXT_TRACE_API trace_provider_t *trace_provider_create_with_name(const char *name);

/* The same, but wait at most five seconds for the answer of the manager, if there is one.
 * *already_started (may be NULL) is set to whether it is recording; if so, the first events are not
 * missed.  */
FXT_TRACE_API trace_provider_t *trace_provider_create_synchronously(const char *name,
                                                                    bool *already_started);

/* Stop recording, hand over what there is and end the thread.  NULL is accepted.  A program that
 * simply exits need not call it.  */
FXT_TRACE_API void trace_provider_destroy(trace_provider_t *provider);

/* Add a category of at most 100 bytes, with a description of at most 400, to the list that "trace
 * categories" prints; both are UTF-8, or the entry is left out.  Both texts are borrowed for the
 * life of the process.  At most 1000, and 64 KiB in all.  Events may use categories that are not in
 * the list.  */
FXT_TRACE_API void trace_provider_add_known_category(const char *category, const char *description);

/* ---- Instrumentation ---- */

FXT_TRACE_API trace_state_t trace_state(void);
FXT_TRACE_API bool trace_is_category_enabled(const char *category);
FXT_TRACE_API trace_ticks_t trace_get_ticks(void);

/* Return a number that is unique in this process; never 0.  */
FXT_TRACE_API uint64_t trace_generate_nonce(void);

/* NULL unless recording.  */ FXT_TRACE_API trace_context_t *trace_acquire_context(void);
/* Return NULL unless recording and the category is enabled; otherwise set *category.  */
FXT_TRACE_API trace_context_t *trace_acquire_context_for_category(const char *category_literal,
                                                                  trace_string_ref_t *category);
FXT_TRACE_API void trace_release_context(trace_context_t *context);

/* The cache of a call site: static and initially zero.  It is valid for one start, so no pointer
 * into the memory of a program or library is used after dlclose().  */
typedef struct {
    uint64_t state; /* high half: number of the start; low half: name and category references */
    const char *category;
    const char *name;
    const char *const *keys; /* names of the arguments */
    uint16_t *key_refs;
    uint32_t key_count;
} trace_site_t;

/* The same, for the cost of a comparison after the first call.  */
FXT_TRACE_API trace_context_t *trace_acquire_context_for_category_cached(
    const char *category_literal, trace_site_t *site, trace_string_ref_t *category);

/* The same as trace_acquire_context(): in this library, no context delays a stop.  */
FXT_TRACE_API trace_prolonged_context_t *trace_acquire_prolonged_context(void);
FXT_TRACE_API void trace_release_prolonged_context(trace_prolonged_context_t *context);

/* A descriptor (eventfd) that is written to at each start and stop; a child of fork() has none.  A
 * start waits up to half a second for observers that have not called
 * trace_notify_observer_updated().  At most 16.
 * Return 0, EINVAL if it is registered already, ENOENT if it is not registered, ENOSPC if there are
 * 16, or EAGAIN in a signal handler that interrupts this library.  */
FXT_TRACE_API int trace_register_observer(int event_fd);
FXT_TRACE_API int trace_unregister_observer(int event_fd);
FXT_TRACE_API void trace_notify_observer_updated(int event_fd);

/* Does nothing, because call sites are not linked to each other.  For source compatibility with
 * programs that call it before dlclose() on Fuchsia.  */
FXT_TRACE_API void trace_engine_flush_category_cache(void);

/* ---- References ---- */

/* The literal must not change or be unloaded while recording; it is cached by content.  If the
 * string table is full, the reference is inline.  */
FXT_TRACE_API void trace_context_register_string_literal(trace_context_t *context,
                                                         const char *literal,
                                                         trace_string_ref_t *out);
FXT_TRACE_API void trace_context_register_string_copy(trace_context_t *context, const char *string,
                                                      size_t length, trace_string_ref_t *out);
/* Return false if the category is not enabled.  */
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

/* Names of processes and threads, and names and arguments of other kernel objects.  */
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
/* handle is a file descriptor: the koid is its inode number, the name that in /proc.  */
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
/* Reserve room for such a blob, initially zero.  The thread must fill it and then call
 * trace_release_context() with this context; until then a stop waits, up to half a second.
 * Another blob of the same context ends it, too; if the thread ends, it comes to nothing.  Returns
 * NULL if the blob is dropped, or while the thread is writing one to another context.  */
FXT_TRACE_API void *trace_context_begin_write_blob_record(trace_context_t *context,
                                                          trace_blob_type_t type,
                                                          const trace_string_ref_t *name,
                                                          size_t blob_size);
/* Large blobs, in records of up to 256 KiB; larger ones are dropped.  */
FXT_TRACE_API void trace_context_write_blob_event_record(
    trace_context_t *context, trace_ticks_t event_time, const trace_thread_ref_t *thread,
    const trace_string_ref_t *category, const trace_string_ref_t *name, const void *blob,
    size_t blob_size, const trace_arg_t *args, size_t num_args);
FXT_TRACE_API void trace_context_write_blob_attachment_record(trace_context_t *context,
                                                              const trace_string_ref_t *category,
                                                              const trace_string_ref_t *name,
                                                              const void *blob, size_t blob_size);

/* Records of a string or thread table that the caller maintains.  Do not combine them with
 * trace_context_register_*(), which use the same indices.  */
FXT_TRACE_API void trace_context_write_initialization_record(trace_context_t *context,
                                                             uint64_t ticks_per_second);
FXT_TRACE_API void trace_context_write_string_record(trace_context_t *context,
                                                     trace_string_index_t index, const char *string,
                                                     size_t length);
FXT_TRACE_API void trace_context_write_thread_record(trace_context_t *context,
                                                     trace_thread_index_t index,
                                                     trace_koid_t process_koid,
                                                     trace_koid_t thread_koid);

/* Send an alert to the manager, which may act on it (sampler-capture trace --trigger).  The name
 * has at most 14 bytes; more are cut.  */
FXT_TRACE_API void trace_context_send_alert(trace_context_t *context, const char *name);

/* ---- For <fxt/trace.h> ---- */

/* Element 0 is 0 if not recording, which is the only check of a call site; otherwise it is the
 * number of the start.  A page of its own, which the kernel clears in a child process.  */
FXT_TRACE_API extern uint32_t trace_internal_generation[1024];

FXT_TRACE_API uint64_t trace_internal_resolve(trace_site_t *site);
FXT_TRACE_API void trace_internal_event(const trace_site_t *site, uint64_t state, uint32_t type,
                                        const trace_arg_value_t *values);
FXT_TRACE_API void trace_internal_event_with_id(const trace_site_t *site, uint64_t state,
                                                uint32_t type, uint64_t id,
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
