#include "libtrace/engine.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libtrace/clock.h"

#define PAGE 4096

uint32_t trace_internal_generation[PAGE / sizeof(uint32_t)] __attribute__((aligned(PAGE)));

struct trace_host trace_host;
struct trace_buffer trace_buffer;
__thread struct trace_self trace_self;

static struct {
    bool is_set_up;
    bool has_buffer;
    bool recording;
    bool stuck;               /* a writer did not leave the buffer in time */
    uint32_t last_generation; /* given out */
    uint64_t stopping;        /* shared */
    struct trace_chunk *table;
    size_t table_bytes;
} engine = { .last_generation = TRACE_PENDING };

/* ---- The lock ---- */

/* Who has it; the lowest bit: somebody may wait.  Not a mutex of the C library: a child of fork()
 * has to know whether its thread, which a signal handler interrupted anywhere, is the holder.  */
static uint64_t holder;

bool trace_lock(void)
{
    uint64_t seen = 0, own = trace_self_token();

    if (trace_self.locked)
        return false;
    trace_self.locked = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    while (!shared_swap(&holder, &seen, own)) {
        if (seen != 0 && ((seen & 1) || shared_swap(&holder, &seen, seen | 1))) {
            shared_sleep(&holder, seen | 1);
            own |= 1; /* there may be others that wait */
        }
        seen = 0;
    }
    return true;
}

void trace_unlock(void)
{
    if (shared_exchange(&holder, 0) & 1)
        shared_wake(&holder, false);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    trace_self.locked = false;
}

/* In a child: a holder among threads that are not there any more has left the tables as they were;
 * what this one does goes on.  */
static void forget_holder(void)
{
    if ((shared_load(&holder) & ~UINT64_C(1)) != trace_self_token())
        shared_store(&holder, 0);
}

/* ---- Observers ---- */

#define MOST_OBSERVERS 16

static struct {
    int fd;
    uint64_t waiting; /* shared: it was told and has not answered */
} observers[MOST_OBSERVERS];
static unsigned observer_count;

int trace_register_observer(int event_fd)
{
    int result;

    if (!trace_lock())
        return EAGAIN;
    result = observer_count < MOST_OBSERVERS ? 0 : ENOSPC;
    for (unsigned i = 0; i < observer_count; i++)
        if (observers[i].fd == event_fd)
            result = EINVAL;
    if (result == 0) {
        observers[observer_count].fd = event_fd;
        observers[observer_count++].waiting = 0;
    }
    trace_unlock();
    return result;
}

int trace_unregister_observer(int event_fd)
{
    int result = ENOENT;

    if (!trace_lock())
        return EAGAIN;
    for (unsigned i = 0; i < observer_count && result != 0; i++)
        if (observers[i].fd == event_fd) {
            observers[i] = observers[--observer_count];
            shared_store(&observers[observer_count].waiting, 0); /* nobody waits for it */
            result = 0;
        }
    trace_unlock();
    return result;
}

void trace_notify_observer_updated(int event_fd)
{
    for (unsigned i = 0; i < MOST_OBSERVERS; i++)
        if (observers[i].fd == event_fd)
            shared_store(&observers[i].waiting, 0);
}

/* Where there is no room, it has been told already.  */
static void tell(int fd)
{
    struct pollfd room = { .fd = fd, .events = POLLOUT };

    if (poll(&room, 1, 0) == 1 && (room.revents & POLLOUT))
        (void)eventfd_write(fd, 1);
}

/* Under the lock: whoever has unregistered a descriptor may close it.  */
static void tell_observers(bool wait)
{
    if (!trace_lock())
        return;
    for (unsigned i = 0; i < observer_count; i++) {
        shared_store(&observers[i].waiting, wait);
        tell(observers[i].fd);
    }
    trace_unlock();
}

/* Up to half a second for all of them together.  */
static void wait_for_observers(void)
{
    unsigned rounds = 0;

    for (unsigned i = 0; i < MOST_OBSERVERS; i++)
        while (shared_load(&observers[i].waiting) && shared_wait(&observers[i].waiting, &rounds))
            continue;
}

/* ---- Life ---- */

/* A child that no handler of fork() prepares finds itself not recording.  */
static void empty_in_children(void)
{
#ifdef MADV_WIPEONFORK
    if ((uintptr_t)trace_internal_generation % PAGE == 0 && sysconf(_SC_PAGESIZE) == PAGE)
        (void)madvise(trace_internal_generation, PAGE, MADV_WIPEONFORK);
#endif
}

/* ThreadSanitizer does not know what the barrier orders.  */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_THREAD_SANITIZER true
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define UNDER_THREAD_SANITIZER true
#elif !defined(UNDER_THREAD_SANITIZER)
#define UNDER_THREAD_SANITIZER false
#endif

static bool register_membarrier(void)
{
    return !UNDER_THREAD_SANITIZER && trace_task_is_known() && !trace_is_confined() &&
           syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

void trace_engine_setup(void)
{
    if (engine.is_set_up)
        return;
    engine.is_set_up = true;
    trace_task_setup();
    empty_in_children();
    trace_pool_setup();
    trace_buffer.has_membarrier = register_membarrier();
    trace_clock_start();
}

static void wake(void *own)
{
    (void)own;
    if (trace_host.wake)
        trace_host.wake();
}

static bool make_table(size_t size, enum trace_mode mode, uint32_t chunk_words)
{
    size_t bytes = 2 * (size_t)trace_buffer_chunks(size, mode, chunk_words) *
                   sizeof(struct trace_chunk);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return false;
    engine.table = memory;
    engine.table_bytes = bytes;
    return true;
}

/* What each recording begins with.  */
static void write_beginning(void)
{
    const uint64_t initialization[2] = { 1 | 2 << 4, 1000000000 };

    trace_tables_clear();
    (void)trace_buffer_put_durable(&trace_buffer, initialization, 2);
    trace_tables_name_process();
}

bool trace_engine_initialize(void *memory, size_t size, enum trace_mode mode,
                             const struct trace_categories *categories)
{
    uint32_t chunk_words = trace_buffer_chunk_words(size, mode);
    bool done = false;

    trace_engine_setup();
    trace_internal_generation[TRACE_ALIVE] = 1;
    if (!trace_lock())
        return false;
    if (!engine.has_buffer && !engine.stuck && trace_tables_setup() &&
        trace_categories_set(categories, false) && make_table(size, mode, chunk_words)) {
        trace_buffer.wake = wake;
        trace_buffer_init(&trace_buffer, memory, size, mode, chunk_words, engine.table);
        trace_buffer_clear(&trace_buffer, true);
        write_beginning();
        engine.has_buffer = done = true;
    }
    trace_unlock();
    return done;
}

static uint32_t next_generation(void)
{
    if (++engine.last_generation <= TRACE_PENDING)
        engine.last_generation = TRACE_PENDING + 1;
    return engine.last_generation;
}

bool trace_engine_start(enum trace_disposition disposition,
                        const struct trace_categories *additional)
{
    bool done = false;

    if (!trace_lock())
        return false;
    if (engine.has_buffer && !engine.recording && trace_categories_set(additional, true)) {
        if (disposition != TRACE_RETAIN)
            trace_buffer_clear(&trace_buffer, disposition == TRACE_CLEAR_ENTIRE);
        if (disposition == TRACE_CLEAR_ENTIRE)
            write_beginning();
        trace_buffer_start(&trace_buffer);
        engine.recording = done = true;
        __atomic_store_n(&trace_internal_generation[0], next_generation(), __ATOMIC_SEQ_CST);
    }
    trace_unlock();
    if (done) {
        tell_observers(true);
        wait_for_observers();
    }
    return done;
}

bool trace_engine_stop(void)
{
    bool done = false;

    if (!trace_lock())
        return false;
    if (engine.recording) {
        shared_store(&engine.stopping, 1);
        __atomic_store_n(&trace_internal_generation[0], 0, __ATOMIC_SEQ_CST);
        trace_buffer_close(&trace_buffer);
        done = true;
    }
    trace_unlock();
    if (!done)
        return false;
    engine.stuck = !trace_buffer_wait(&trace_buffer);
    trace_buffer_finish(&trace_buffer);
    engine.recording = false;
    shared_store(&engine.stopping, 0);
    tell_observers(false);
    return true;
}

bool trace_engine_terminate(void)
{
    bool left;

    (void)trace_engine_stop();
    if (engine.has_buffer && engine.stuck)
        engine.stuck = !trace_buffer_wait(&trace_buffer);
    if (!trace_lock())
        return false;
    left = !engine.stuck;
    if (engine.has_buffer && left)
        (void)munmap(engine.table, engine.table_bytes);
    if (left)
        engine.has_buffer = false;
    trace_unlock();
    return left;
}

bool trace_engine_take_filled(struct trace_filled *filled)
{
    return engine.recording && trace_buffer.mode == TRACE_STREAMING &&
           trace_buffer_take_filled(&trace_buffer, filled);
}

bool trace_engine_saved(uint32_t wrapped_count)
{
    return engine.has_buffer && trace_buffer.mode == TRACE_STREAMING &&
           trace_buffer_saved(&trace_buffer, wrapped_count);
}

bool trace_engine_is_inside(void)
{
    return trace_self.locked || trace_pool_is_busy();
}

/* What a record in flight is written to is not freed: that record comes to nothing.  What the
 * thread has, it keeps: its lock, and its writers, whose chunks are closed.  */
void trace_engine_forget(bool pending)
{
    bool inside = trace_engine_is_inside();
    uint64_t wrap = trace_state_wrap(trace_buffer.state);

    __atomic_store_n(&trace_internal_generation[0], 0, __ATOMIC_SEQ_CST);
    trace_internal_generation[TRACE_ALIVE] = 1;
    forget_holder();
    trace_self.generation = trace_self.plain = 0;
    if (engine.has_buffer && !inside)
        (void)munmap(engine.table, engine.table_bytes);
    shared_store(&trace_buffer.state, trace_state_word(wrap, TRACE_CLOSED, 0));
    shared_store(&trace_buffer.closed, wrap);
    engine.has_buffer = engine.recording = engine.stuck = false;
    engine.stopping = 0;
    observer_count = 0;
    memset(observers, 0, sizeof observers);
    trace_pool_forget();
    trace_clock_forget();
    if (engine.is_set_up)
        trace_buffer.has_membarrier = register_membarrier();
    if (pending)
        __atomic_store_n(&trace_internal_generation[0], TRACE_PENDING, __ATOMIC_SEQ_CST);
}

/* ---- Writing ---- */

bool trace_self_enter(uint32_t generation)
{
    struct trace_self *self = &trace_self;
    char name[TRACE_TASK_NAME];
    bool fine = false;
    int error = errno;

    if (self->generation == generation)
        return true;
    if (!trace_lock())
        return false;
    if (__atomic_load_n(&trace_internal_generation[0], __ATOMIC_SEQ_CST) == generation &&
        trace_pool_join()) {
        if (self->table != trace_tables_number()) {
            self->table = trace_tables_number();
            self->pid = (uint32_t)getpid();
            self->tid = (uint32_t)gettid();
            self->thread_index = trace_tables_thread(self->pid, self->tid, NULL);
            trace_task_name(name);
            trace_tables_name_thread(self->pid, self->tid, name);
        }
        self->plain = self->thread_index != 0 ? generation : 0;
        self->plain_head = 4 | (uint64_t)self->thread_index << 24;
        self->generation = generation;
        fine = true;
    }
    trace_unlock();
    errno = error;
    return fine;
}

/* A signal handler's record inside another one.  */
static uint64_t *begin_nested(uint64_t words, struct trace_writer **writer)
{
    uint64_t *place = NULL;

    *writer = trace_pool_take();
    if (*writer) {
        place = trace_writer_begin(&trace_buffer, *writer, words);
        if (!place)
            trace_pool_give(*writer);
    }
    return place;
}

uint64_t *trace_begin_large(uint32_t generation, uint64_t words, struct trace_writer **writer)
{
    struct trace_self *self = &trace_self;
    uint64_t *place;

    if (__builtin_expect(self->generation != generation, 0) && !trace_self_enter(generation))
        return NULL;
    *writer = self->writer;
    if (__builtin_expect(shared_load(&self->writer->busy) != 0, 0))
        place = begin_nested(words, writer);
    else
        place = trace_writer_begin(&trace_buffer, *writer, words);
    if (!place)
        return NULL;
    if (__builtin_expect(
            __atomic_load_n(&trace_internal_generation[0], __ATOMIC_RELAXED) != generation, 0)) {
        trace_writer_cancel(*writer);
        if (*writer != self->writer)
            trace_pool_give(*writer);
        return NULL;
    }
    return place;
}

/* The child of a _Fork() in the middle of a record shares the buffer with its parent.  */
static void commit(struct trace_writer *writer, uint64_t words, uint64_t header)
{
    if (__builtin_expect(trace_internal_generation[TRACE_ALIVE] == 0, 0))
        trace_writer_cancel(writer);
    else
        trace_writer_commit(&trace_buffer, writer, words, header);
}

void trace_commit(struct trace_writer *writer, uint64_t words, uint64_t header)
{
    commit(writer, words, header);
    if (__builtin_expect(writer != trace_self.writer, 0))
        trace_pool_give(writer);
}

/* ---- Asking ---- */

/* The generation, 0 when there is no recording; a pending provider begins.  */
static uint32_t present(void)
{
    uint32_t generation = __atomic_load_n(&trace_internal_generation[0], __ATOMIC_ACQUIRE);

    if (generation == TRACE_PENDING) {
        if (trace_host.begin)
            trace_host.begin();
        generation = __atomic_load_n(&trace_internal_generation[0], __ATOMIC_ACQUIRE);
    }
    return generation == TRACE_PENDING ? 0 : generation;
}

trace_state_t trace_state(void)
{
    if (shared_load(&engine.stopping))
        return TRACE_STOPPING;
    return present() != 0 ? TRACE_STARTED : TRACE_STOPPED;
}

bool trace_is_category_enabled(const char *category)
{
    bool enabled;

    if (present() == 0 || !trace_lock())
        return false;
    enabled = trace_state() == TRACE_STARTED && trace_categories_match(category);
    trace_unlock();
    return enabled;
}

trace_ticks_t trace_get_ticks(void)
{
    return trace_clock_now();
}

uint64_t trace_generate_nonce(void)
{
    static uint64_t last;

    return shared_add(&last, 1) + 1;
}

trace_context_t *trace_acquire_context(void)
{
    uint32_t generation = present();

    return generation != 0 ? trace_context_number(generation, ++trace_self.contexts) : NULL;
}

/* A record that the caller writes itself into this context ends now.  */
void trace_release_context(trace_context_t *context)
{
    struct trace_self *self = &trace_self;
    struct trace_writer *blob = self->blob;

    if (!blob || self->blob_context != context)
        return;
    self->blob = NULL;
    commit(blob, self->blob_words, self->blob_header);
    trace_pool_give(blob);
}

trace_prolonged_context_t *trace_acquire_prolonged_context(void)
{
    return trace_acquire_context();
}

void trace_release_prolonged_context(trace_prolonged_context_t *context)
{
    trace_release_context(context);
}

void trace_engine_flush_category_cache(void)
{
}

/* ---- References ---- */

/* A string that the table has no room for.  */
static trace_string_ref_t reference(const char *text, size_t length, uint16_t index)
{
    return index != 0 ? trace_make_indexed_string_ref(index)
                      : trace_make_inline_string_ref(text, length);
}

/* Under the lock, in the generation of the tables.  */
static uint16_t encode(const char *text)
{
    size_t length = strlen(text);

    return reference(text, length, trace_tables_string(text, length)).encoded_value;
}

uint64_t trace_internal_resolve(trace_site_t *site)
{
    uint32_t generation = present();
    uint64_t state = (uint64_t)generation << 32;

    if (generation == 0 || !trace_lock())
        return 0;
    if (__atomic_load_n(&trace_internal_generation[0], __ATOMIC_SEQ_CST) != generation) {
        trace_unlock();
        return 0;
    }
    if (trace_categories_match(site->category)) {
        state |= encode(site->category);
        state |= site->name ? (uint64_t)encode(site->name) << 16 : 0;
        for (uint32_t i = 0; i < site->key_count; i++)
            __atomic_store_n(&site->key_refs[i], encode(site->keys[i]), __ATOMIC_RELAXED);
    }
    __atomic_store_n(&site->state, state, __ATOMIC_RELEASE);
    trace_unlock();
    return state;
}

trace_context_t *trace_acquire_context_for_category_cached(const char *category_literal,
                                                           trace_site_t *site,
                                                           trace_string_ref_t *category)
{
    uint64_t state = __atomic_load_n(&site->state, __ATOMIC_ACQUIRE);
    uint16_t encoded;

    if (__atomic_load_n(&trace_internal_generation[0], __ATOMIC_RELAXED) == 0)
        return NULL;
    if ((uint32_t)(state >> 32) != trace_internal_generation[0]) {
        site->category = category_literal;
        state = trace_internal_resolve(site);
    }
    encoded = (uint16_t)state;
    if (encoded == 0)
        return NULL;
    category->encoded_value = encoded;
    category->inline_string = category_literal;
    return trace_context_number((uint32_t)(state >> 32), ++trace_self.contexts);
}

trace_context_t *trace_acquire_context_for_category(const char *category_literal,
                                                    trace_string_ref_t *category)
{
    trace_context_t *context = trace_acquire_context();

    return context && trace_context_register_category_literal(context, category_literal, category)
               ? context
               : NULL;
}

/* Take the lock for a context whose run is not over.  */
static bool lock_for(const trace_context_t *context)
{
    if (!context || !trace_lock())
        return false;
    if (__atomic_load_n(&trace_internal_generation[0], __ATOMIC_SEQ_CST) ==
        trace_generation_of(context))
        return true;
    trace_unlock();
    return false;
}

void trace_context_register_string_copy(trace_context_t *context, const char *string, size_t length,
                                        trace_string_ref_t *out)
{
    *out = trace_make_inline_string_ref(string, length);
    if (out->encoded_value != 0 && lock_for(context)) {
        length = out->encoded_value & 0x7fff;
        *out = reference(string, length, trace_tables_string(string, length));
        trace_unlock();
    }
}

void trace_context_register_string_literal(trace_context_t *context, const char *literal,
                                           trace_string_ref_t *out)
{
    trace_context_register_string_copy(context, literal, literal ? strlen(literal) : 0, out);
}

bool trace_context_register_category_literal(trace_context_t *context, const char *literal,
                                             trace_string_ref_t *out)
{
    bool enabled = false;

    if (lock_for(context)) {
        enabled = trace_categories_match(literal);
        if (enabled)
            *out = reference(literal, strlen(literal),
                             trace_tables_string(literal, strlen(literal)));
        trace_unlock();
    }
    return enabled;
}

void trace_context_register_current_thread(trace_context_t *context, trace_thread_ref_t *out)
{
    if (context && trace_self_enter(trace_generation_of(context)) && trace_self.thread_index != 0)
        *out = trace_make_indexed_thread_ref(trace_self.thread_index);
    else
        *out = trace_make_inline_thread_ref((uint64_t)getpid(), (uint64_t)gettid());
}

void trace_context_register_thread(trace_context_t *context, trace_koid_t process_koid,
                                   trace_koid_t thread_koid, trace_thread_ref_t *out)
{
    uint32_t index = 0;

    if (lock_for(context)) {
        index = trace_tables_thread(process_koid, thread_koid, NULL);
        trace_unlock();
    }
    *out = index != 0 ? trace_make_indexed_thread_ref(index)
                      : trace_make_inline_thread_ref(process_koid, thread_koid);
}

void trace_context_register_vthread(trace_context_t *context, trace_koid_t process_koid,
                                    const char *vthread_literal, trace_vthread_id_t vthread_id,
                                    trace_thread_ref_t *out)
{
    trace_koid_t koid = vthread_id | UINT64_C(1) << 63;
    trace_koid_t process = process_koid ? process_koid : (trace_koid_t)getpid();
    uint32_t index = 0;

    if (lock_for(context)) {
        bool is_new;

        index = trace_tables_thread(process, koid, &is_new);
        if (is_new)
            trace_tables_name_thread(process, koid, vthread_literal);
        trace_unlock();
    }
    *out = index != 0 ? trace_make_indexed_thread_ref(index)
                      : trace_make_inline_thread_ref(process, koid);
}
