/* engine.h - the one recording of a process: who may write, and what the buffer knows of strings
 * and threads.
 *
 * A start has a number, its generation; trace_internal_generation[0] is it while recording, and 0
 * otherwise.  What a call site, a thread or a context remembers carries the generation it is of and
 * is worth nothing in another.  A writer looks at the generation once more when it is busy: from
 * then on a stop waits for it.  */
#ifndef TRACE_ENGINE_H
#define TRACE_ENGINE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <fxt/trace_engine.h>

#include "libtrace/buffer.h"

#define TRACE_PENDING    1u /* generation: the provider is to be made by the first event */
#define TRACE_ALIVE      1u /* the word after it: 0 in a child for which no handler of fork() ran */
#define TRACE_ALERT_SIZE 14u

/* As in fuchsia.tracing.provider.  */
enum trace_disposition {
    TRACE_CLEAR_ENTIRE = 1,
    TRACE_CLEAR_NONDURABLE = 2,
    TRACE_RETAIN = 3,
};

/* Category names, one after another, each with its NUL.  */
struct trace_categories {
    const char *text;
    size_t count;
};

/* What the provider does for the engine.  */
struct trace_host {
    void (*wake)(void);              /* look for filled halves; async-signal-safe */
    void (*alert)(const char *name); /* of TRACE_ALERT_SIZE bytes, padded with zeros */
    void (*begin)(void);             /* an event came while pending */
};
extern struct trace_host trace_host;

/* A thread, as it sees itself.  */
struct trace_self {
    uint32_t generation; /* what follows is of it */
    uint32_t plain;      /* the same if the thread has an index, else 0 */
    uint64_t plain_head; /* of an event's header: record type and thread */
    uint32_t table;      /* the string and thread table that thread_index is of */
    uint32_t thread_index;
    uint32_t pid, tid;
    bool locked;                 /* inside the engine's lock: events of signal handlers wait not */
    struct trace_writer *writer; /* NULL: none yet */
    uint32_t contexts;           /* that it acquired */
    struct trace_writer *blob;   /* of trace_context_begin_write_blob_record(); NULL: none */
    const trace_context_t *blob_context;
    uint64_t blob_words, blob_header;
};
extern __thread struct trace_self trace_self;

/* A number that other threads do not have, and that is the same in the child of a fork; even.  */
static inline uint64_t trace_self_token(void)
{
    return (uint64_t)(uintptr_t)&trace_self;
}

extern struct trace_buffer trace_buffer;

/* ---- Life ----
 *
 * provider.c and recorder.c call these, one at a time.  The engine's lock is held while tables
 * change, and never while a writer is waited for: who takes it for the first event of a site or of
 * a thread is not held up.  */

/* Once a process, before anything else.  */
void trace_engine_setup(void);

/* Take memory of a valid size for recordings.  False when there is not enough memory for what goes
 * with it, or an earlier buffer is still being written to.  categories: NULL is all.  */
bool trace_engine_initialize(void *memory, size_t size, enum trace_mode mode,
                             const struct trace_categories *categories);

/* False when it is recording already, or there is no buffer.  */
bool trace_engine_start(enum trace_disposition disposition,
                        const struct trace_categories *additional);

/* False when it is not recording.  */
bool trace_engine_stop(void);

/* Forget the buffer.  True: nobody writes to its memory any more.  */
bool trace_engine_terminate(void);

/* Halves to be handed over while recording (a stop leaves the rest to the receiver), and those
 * that were.  Nobody is held up meanwhile.  */
bool trace_engine_take_filled(struct trace_filled *filled);
bool trace_engine_saved(uint32_t wrapped_count);

/* Whether the calling thread, or what its signal handler interrupted, is in the midst of a record
 * or of tables.  */
bool trace_engine_is_inside(void);

/* In the child of a fork: no recording, no other thread.  pending: as TRACE_PENDING says.  */
void trace_engine_forget(bool pending);

/* ---- The lock ---- */

/* False in a signal handler that interrupted its holder.  */
bool trace_lock(void);
void trace_unlock(void);

/* ---- The calling thread (task.c) ---- */

#define TRACE_TASK_NAME 17

/* Once a process.  */
void trace_task_setup(void);
/* Whether it has other seccomp filters than the thread that set up: they may end the program at
 * system calls.  True also if this can no longer be found out.  Makes three calls to read a file.
 */
bool trace_is_confined(void);
/* The same; the program may have no descriptor left for that file.  */
enum trace_confinement { TRACE_IS_FREE, TRACE_IS_CONFINED, TRACE_ASK_LATER };
enum trace_confinement trace_confinement(void);
/* False if trace_is_confined() could never be found out, and is always false.  */
bool trace_task_is_known(void);
/* Its name; "" if that cannot be read.  */
void trace_task_name(char name[TRACE_TASK_NAME]);

/* ---- Writers (pool.c) ---- */

void trace_pool_setup(void);
/* Any that nobody has, or NULL.  Async-signal-safe.  */
struct trace_writer *trace_pool_take(void);
void trace_pool_give(struct trace_writer *writer);
/* Make it the calling thread's until that ends.  */
struct trace_writer *trace_pool_join(void);
/* Whether a writer of the calling thread is in the midst of a record.  */
bool trace_pool_is_busy(void);
/* In a child: other threads have none any more.  */
void trace_pool_forget(void);

/* ---- Tables (tables.c); all under the lock ---- */

bool trace_tables_setup(void);
/* The number changes whenever indices lose their meaning.  */
uint32_t trace_tables_number(void);
void trace_tables_clear(void);
/* Index of the string, or 0: the table or the durable buffer is full.  */
uint16_t trace_tables_string(const char *text, size_t length);
/* Index of the thread, or 0.  *is_new says whether it was given out now; may be NULL.  */
uint32_t trace_tables_thread(uint64_t process, uint64_t thread, bool *is_new);
/* Records that name this process, and a thread of it.  */
void trace_tables_name_process(void);
void trace_tables_name_thread(uint64_t process, uint64_t thread, const char *name);

bool trace_categories_set(const struct trace_categories *categories, bool additional);
bool trace_categories_match(const char *category);

/* ---- Writing ---- */

/* Prepare the calling thread for a generation: writer, thread record.  False: no event now.  */
bool trace_self_enter(uint32_t generation);

/* Room for a record of this generation, at most TRACE_LARGE_WORDS long, and the writer to commit it
 * with; NULL: dropped.  */
uint64_t *trace_begin_large(uint32_t generation, uint64_t words, struct trace_writer **writer);

/* The same for a record whose header has 12 bits for its size.  */
static inline uint64_t *trace_begin(uint32_t generation, uint64_t words,
                                    struct trace_writer **writer)
{
    return trace_begin_large(
        generation, __builtin_expect(words <= TRACE_WORDS, 1) ? words : TRACE_LARGE_WORDS + 1,
        writer);
}

void trace_commit(struct trace_writer *writer, uint64_t words, uint64_t header);

/* Contexts are numbers behind an opaque pointer.  The lower half is the generation, which is all
 * that a site's context has; the upper half tells apart those that a thread acquires, since an open
 * blob ends with its own.  */
static inline uint32_t trace_generation_of(const trace_context_t *context)
{
    return (uint32_t)(uintptr_t)context;
}

static inline trace_context_t *trace_context_number(uint32_t generation, uint32_t number)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
    return (trace_context_t *)(uintptr_t)((uint64_t)number << 32 | generation);
}

static inline trace_context_t *trace_context_of(uint64_t state)
{
    return (trace_context_t *)(uintptr_t)(state >> 32); /* NOLINT(performance-no-int-to-ptr) */
}

#endif /* TRACE_ENGINE_H */
