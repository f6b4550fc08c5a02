/* sample.c - what happens to the few allocations that are sampled.
 *
 * An allocation is told after the real one and before the program has the address, a free before
 * the real one.  So what is told of one address is in order, whichever threads it comes from: each
 * message is one send.  The lock of the live set is held for no system call.  */
#include "sampler-capture/heap/shim/shim.h"

#include <fxt/fidl_sampler.h>

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NEVER ((uint64_t)1 << 62) /* bytes to a sample that will not come */

__thread struct shim_thread shim_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* ---- The shim's own time ---- */

struct guard {
    uint64_t signals;
    int error;
};

#define SIGNAL_BIT(number) (UINT64_C(1) << ((number)-1))

/* No handler comes in between, but of faults, which would be fatal if they could not be handled.
 * Glibc's sigprocmask(3) keeps two signals of its own out, by which threads are cancelled.  */
static struct guard enter(void)
{
    static const uint64_t all = ~(SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGFPE) |
                                  SIGNAL_BIT(SIGILL) | SIGNAL_BIT(SIGTRAP) | SIGNAL_BIT(SIGSYS));
    struct guard guard = { .error = errno };

    if (shim_process)
        (void)atomic_fetch_add_explicit(&shim_process->recording, 1, memory_order_relaxed);
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &guard.signals, sizeof guard.signals);
    shim_thread.inside = true;
    return guard;
}

static void leave(struct guard guard)
{
    shim_thread.inside = false;
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &guard.signals, NULL, sizeof guard.signals);
    if (shim_process)
        (void)atomic_fetch_sub_explicit(&shim_process->recording, 1, memory_order_release);
    errno = guard.error;
}

/* Asleep rather than yielding: those who have them may run at a lower real-time priority.  */
static struct shim_scratch *take_scratch(void)
{
    const struct timespec moment = { 0, 20000 };

    for (;;) {
        for (size_t i = 0; i < SHIM_SCRATCHES; i++)
            if (!atomic_exchange_explicit(&shim_process->scratches[i].taken, true,
                                          memory_order_acquire))
                return &shim_process->scratches[i];
        (void)syscall(SYS_nanosleep, &moment, NULL);
    }
}

static void give_scratch(struct shim_scratch *scratch)
{
    atomic_store_explicit(&scratch->taken, false, memory_order_release);
}

/* ---- The connection ---- */

/* Connected, now at the latest: a forked child connects when it has something to tell.  */
static bool is_connected(void)
{
    struct shim_process *process = shim_process;

    if (atomic_load_explicit(&process->connected, memory_order_acquire))
        return true;
    shim_lock(&process->begin_lock);
    if (!atomic_load(&process->connected) && !atomic_load(&process->ended) && shim_modules_lock()) {
        process->modules_told = 0;
        if (shim_connect()) {
            shim_modules_tell();
            atomic_store_explicit(&process->connected, true, memory_order_release);
        } else {
            atomic_store(&process->ended, true);
            if (shim_settings.losses)
                (void)atomic_fetch_add(&shim_settings.losses->unconnected, 1);
        }
        shim_unlock(&process->module_lock);
    }
    shim_unlock(&process->begin_lock);
    return atomic_load(&process->connected);
}

static void count_forgotten(size_t blocks)
{
    if (shim_settings.losses)
        (void)atomic_fetch_add(&shim_settings.losses->others.forgotten, blocks);
}

/* The program closed our descriptor.  Another connection is another process to the server, so none
 * of the blocks that this one knows are told of there.  */
static void begin_again(void)
{
    struct shim_process *process = shim_process;

    shim_lock(&process->begin_lock);
    if (!shim_is_open()) { /* otherwise another thread has begun again */
        shim_lock(&process->live_lock);
        count_forgotten(process->live.count);
        shim_live_clear(&process->live);
        shim_unlock(&process->live_lock);
        if (shim_settings.losses && process->fd >= 0)
            (void)atomic_fetch_add(&shim_settings.losses->closed, 1);
        process->fd = -1;
        process->losses = NULL; /* the server gives them to others */
        atomic_store(&process->connected, false);
    }
    shim_unlock(&process->begin_lock);
}

static void begin_process(void)
{
    struct guard guard = enter();

    shim_modules_read();
    (void)is_connected();
    leave(guard);
}

/* ---- Which allocations ---- */

static uint64_t mix(uint64_t a, uint64_t b)
{
    struct poisson poisson = { .state = a ^ (b * UINT64_C(0xff51afd7ed558ccd)) };

    return poisson_random(&poisson);
}

/* A number for this process that its forebears did not have.  */
static uint64_t epoch_now(void)
{
    static _Atomic uint64_t forks; /* not wiped */
    uint64_t epoch = atomic_load(&shim_process->epoch);

    if (epoch == 0) {
        uint64_t next = atomic_fetch_add(&forks, 1) + 1;

        if (atomic_compare_exchange_strong(&shim_process->epoch, &epoch, next))
            epoch = next;
    }
    return epoch;
}

/* Each thread draws numbers of its own; with a seed given, those of the first process's threads are
 * the same each time.  */
static void seed_thread(uint64_t epoch)
{
    uint64_t seed = shim_settings.seed;

    if (epoch > 1)
        seed = mix(mix(seed, epoch), (uint64_t)getpid());
    seed = mix(seed, atomic_fetch_add(&shim_process->threads, 1) + 1);
    shim_thread.poisson = (struct poisson){ .state = seed, .mean = shim_settings.interval };
    shim_thread.left = poisson_interval(&shim_thread.poisson);
    shim_thread.epoch = epoch;
}

bool shim_decide(uint64_t size)
{
    uint64_t epoch;

    shim_thread.decisions++;
    if (shim_thread.inside)
        return false;
    if (!shim_process) { /* not yet begun, or never to be */
        shim_thread.left = shim_settings.idle ? NEVER : 0;
        return false;
    }
    if (atomic_load_explicit(&shim_process->ended, memory_order_relaxed) ||
        atomic_load_explicit(&shim_confined, memory_order_relaxed)) {
        shim_thread.left = NEVER;
        return false;
    }
    epoch = epoch_now();
    if (shim_thread.epoch != epoch)
        seed_thread(epoch);
    if (shim_thread.left > size) {
        shim_thread.left -= size;
        return false;
    }
    shim_thread.left = poisson_skip(&shim_thread.poisson, shim_thread.left, size);
    return true;
}

/* ---- What is told of them ---- */

static void drop(uint64_t address)
{
    struct shim_process *process = shim_process;
    struct shim_live_block *block;

    shim_lock(&process->live_lock);
    block = shim_live_remove(&process->live, address);
    if (block)
        shim_live_recycle(&process->live, block);
    shim_unlock(&process->live_lock);
}

static bool keep(uint64_t address, uint64_t size, const uint64_t *frames, size_t count)
{
    struct shim_process *process = shim_process;
    bool kept;

    shim_lock(&process->live_lock);
    kept = shim_live_insert(&process->live, address, size, frames, count);
    shim_unlock(&process->live_lock);
    if (!kept)
        shim_count(&shim_losses()->no_memory);
    return kept;
}

/* A block is in the set before the server hears of it, and not if it does not.  Where the program
 * has closed the connection it is the next one's first.  What a server does not hear that is no
 * more is no loss: it has told that the process goes on without it.  */
static void tell_allocation(struct shim_scratch *scratch, uint64_t address, uint64_t size,
                            const uint64_t *frames, size_t count)
{
    enum shim_sent sent = SHIM_CLOSED;
    size_t length;

    if (fidl_encode_allocation(FIDL_GENERATION_2, address, frames, count, size, scratch->message,
                               sizeof scratch->message, &length) != FIDL_OK)
        return; /* there is room for every stack */
    for (int attempt = 0; attempt < 2 && sent == SHIM_CLOSED && is_connected(); attempt++) {
        if (!keep(address, size, frames, count))
            return;
        sent = shim_send(scratch->message, length);
        if (sent != SHIM_SENT)
            drop(address);
        if (sent == SHIM_CLOSED)
            begin_again();
    }
    if (sent == SHIM_DROPPED)
        shim_count(&shim_losses()->allocations);
}

void shim_record_allocation(const void *address, uint64_t size)
{
    struct guard guard = enter();

    if (is_connected()) {
        struct shim_scratch *scratch = take_scratch();
        struct shim_stack *stack = &scratch->stack;

        shim_unwind(stack);
        shim_modules_check(stack);
        tell_allocation(scratch, (uint64_t)(uintptr_t)address, size, stack->frames, stack->count);
        give_scratch(scratch);
    }
    leave(guard);
}

static void tell_free(uint64_t address)
{
    struct shim_scratch *scratch = take_scratch();
    struct shim_stack *stack = &scratch->stack;
    enum shim_sent sent = SHIM_GONE;
    size_t length;

    shim_unwind(stack);
    shim_modules_check(stack);
    if (fidl_encode_deallocation(FIDL_GENERATION_2, address, stack->frames, stack->count,
                                 scratch->message, sizeof scratch->message, &length) == FIDL_OK)
        sent = shim_send(scratch->message, length);
    if (sent == SHIM_DROPPED)
        shim_count(&shim_losses()->frees);
    if (sent == SHIM_CLOSED || sent == SHIM_AWAY)
        count_forgotten(1); /* it was told of on that connection */
    if (sent == SHIM_CLOSED)
        begin_again();
    give_scratch(scratch);
}

static struct shim_live_block *take_out(uint64_t address)
{
    struct shim_process *process = shim_process;
    struct shim_live_block *block;

    shim_lock(&process->live_lock);
    block = shim_live_remove(&process->live, address);
    shim_unlock(&process->live_lock);
    if (block)
        tell_free(address);
    return block;
}

static void recycle(struct shim_live_block *block)
{
    shim_lock(&shim_process->live_lock);
    shim_live_recycle(&shim_process->live, block);
    shim_unlock(&shim_process->live_lock);
}

/* Those that only look like a sampled one cost no system call.  */
static bool is_sampled(const void *address)
{
    return shim_process && !shim_thread.inside &&
           !atomic_load_explicit(&shim_confined, memory_order_relaxed) &&
           shim_live_has(&shim_process->live, address);
}

void shim_record_free(const void *address)
{
    struct shim_live_block *block;
    struct guard guard;

    if (!is_sampled(address))
        return;
    guard = enter();
    block = take_out((uint64_t)(uintptr_t)address);
    if (block)
        recycle(block);
    leave(guard);
}

struct shim_live_block *shim_suspend(const void *address)
{
    struct shim_live_block *block;
    struct guard guard;

    if (!is_sampled(address))
        return NULL;
    guard = enter();
    block = take_out((uint64_t)(uintptr_t)address);
    leave(guard);
    return block;
}

void shim_forget(struct shim_live_block *block)
{
    struct guard guard = enter();

    recycle(block);
    leave(guard);
}

void shim_restore(struct shim_live_block *block)
{
    struct guard guard = enter();
    struct shim_scratch *scratch = take_scratch();

    tell_allocation(scratch, block->address, block->size, block->stack, block->stack_count);
    give_scratch(scratch);
    recycle(block);
    leave(guard);
}

/* ---- Mappings ---- */

bool shim_records_mappings(void)
{
    return shim_settings.mappings && shim_process && !shim_thread.inside &&
           !atomic_load_explicit(&shim_confined, memory_order_relaxed) &&
           !atomic_load_explicit(&shim_process->ended, memory_order_relaxed);
}

uint64_t shim_ticket(void)
{
    return atomic_fetch_add(&shim_process->tickets, 1) + 1;
}

/* Also for a call that the server does not hear of, the program goes on.  */
static void tell_mapping(struct shim_scratch *scratch, struct heap_mapping *call)
{
    const struct shim_stack *stack = &scratch->stack;
    size_t words = HEAP_MAPPING_WORDS + stack->count;
    enum shim_sent sent = SHIM_CLOSED;

    call->header = HEAP_MAPPING_HEADER;
    call->ordinal = HEAP_MAPPING_ORDINAL;
    call->frame_count = stack->count;
    memcpy(scratch->message, call, HEAP_MAPPING_WORDS * sizeof(uint64_t));
    memcpy(scratch->message + HEAP_MAPPING_WORDS * sizeof(uint64_t), stack->frames,
           stack->count * sizeof(uint64_t));
    for (int attempt = 0; attempt < 2 && sent == SHIM_CLOSED && is_connected(); attempt++) {
        sent = shim_send(scratch->message, words * sizeof(uint64_t));
        if (sent == SHIM_CLOSED)
            begin_again();
    }
    if (sent == SHIM_DROPPED)
        shim_count(call->kind == HEAP_UNMAPPED ? &shim_losses()->frees
                                               : &shim_losses()->allocations);
}

/* The function called is the innermost frame: one less than what is put there lies in it.  */
static void put_entry(struct shim_stack *stack, uintptr_t entry)
{
    size_t kept = stack->count < HEAP_MAX_FRAMES ? stack->count : HEAP_MAX_FRAMES - 1;

    memmove(stack->words + 1, stack->frames, kept * sizeof *stack->words);
    stack->words[0] = (uint64_t)entry + 1;
    stack->frames = stack->words;
    stack->count = kept + 1;
}

void shim_record_mapping(struct heap_mapping *call, uintptr_t entry)
{
    struct guard guard = enter();

    call->after = shim_ticket();
    if (is_connected()) {
        struct shim_scratch *scratch = take_scratch();

        shim_unwind(&scratch->stack);
        put_entry(&scratch->stack, entry);
        shim_modules_check(&scratch->stack);
        tell_mapping(scratch, call);
        give_scratch(scratch);
    }
    leave(guard);
}

/* ---- Start ---- */

struct shim_process *shim_process;
struct shim_settings shim_settings;

/* What pthread_atfork(3) calls; not there in other C libraries, where nothing begins.  */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
                             void *object) __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

/* The child has the numbers of its parent; those of a process made otherwise than by fork(3) get
 * along with the parent's until the next sample.  */
static void renew_thread(void)
{
    shim_thread.left = 0;
    shim_thread.inside = false;
    if (!atomic_load_explicit(&shim_confined, memory_order_relaxed))
        shim_leave_parent();
}

void shim_begin(void)
{
    struct shim_process *process = shim_live_map(sizeof *process);

    if (!process) { /* a kernel before Linux 4.14, or no memory */
        shim_settings.idle = true;
        return;
    }
    process->fd = -1;
    if (!shim_settings.seeded &&
        getrandom(&shim_settings.seed, sizeof shim_settings.seed, GRND_NONBLOCK) < 0)
        shim_settings.seed = (uint64_t)getpid() ^ (uint64_t)(uintptr_t)process;
    if (__register_atfork)
        (void)__register_atfork(NULL, NULL, renew_thread, __dso_handle);
    shim_process = process;
    begin_process();
}
