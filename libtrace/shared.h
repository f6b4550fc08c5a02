/* shared.h - how threads of one process reach what they share: every load and store that another
 * thread may see goes through these functions.
 *
 * tests/test_trace_model.c defines TRACE_SHARED_MODEL and functions of its own, which put each
 * store into a store buffer and let the model choose which thread runs next.  */
#ifndef TRACE_SHARED_H
#define TRACE_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#ifndef TRACE_SHARED_MODEL

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static inline uint64_t shared_load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* What only the calling thread stores.  */
static inline uint64_t shared_own(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

/* What was stored before is seen by whoever sees this.  */
static inline void shared_store(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* Compare and exchange; *expected is what was there if it fails.  */
static inline bool shared_swap(uint64_t *word, uint64_t *expected, uint64_t value)
{
    return __atomic_compare_exchange_n(word, expected, value, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_ACQUIRE);
}

static inline uint64_t shared_exchange(uint64_t *word, uint64_t value)
{
    return __atomic_exchange_n(word, value, __ATOMIC_SEQ_CST);
}

static inline uint64_t shared_add(uint64_t *word, uint64_t value)
{
    return __atomic_fetch_add(word, value, __ATOMIC_SEQ_CST);
}

static inline uint64_t shared_clear_bits(uint64_t *word, uint64_t bits)
{
    return __atomic_fetch_and(word, ~bits, __ATOMIC_SEQ_CST);
}

/* A store that shared_barrier() of another thread orders before the loads that follow.  Without
 * membarrier(2) it has to be a full barrier itself.  */
static inline void shared_announce(uint64_t *word, uint64_t value, bool has_membarrier)
{
    if (__builtin_expect(has_membarrier, 1)) {
        __atomic_store_n(word, value, __ATOMIC_RELAXED);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    } else {
        (void)__atomic_exchange_n(word, value, __ATOMIC_SEQ_CST);
    }
}

bool trace_is_confined(void); /* engine.h */

/* After it each thread either has made its announcement visible, or sees what this thread stored
 * before.  Where membarrier(2) fails or may have become forbidden, *has_membarrier becomes false,
 * and that holds only of threads whose announcements are barriers from then on.  */
static inline void shared_barrier(bool *has_membarrier)
{
    int error = errno;

    if (__atomic_load_n(has_membarrier, __ATOMIC_RELAXED) &&
        (trace_is_confined() ||
         syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0)) {
        __atomic_store_n(has_membarrier, false, __ATOMIC_SEQ_CST);
        errno = error;
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* The kernel looks at 32 bits: the lower ones.  */
static inline const void *shared_futex(const uint64_t *word)
{
    return (const char *)word + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0);
}

/* Sleep while *word is value, up to a shared_wake() or, with a limit, for that time.  May return
 * early.  */
static inline void shared_sleep_for(const uint64_t *word, uint64_t value,
                                    const struct timespec *limit)
{
    int error = errno;

    (void)syscall(SYS_futex, shared_futex(word), FUTEX_WAIT_PRIVATE, (uint32_t)value, limit, NULL,
                  0);
    errno = error;
}

static inline void shared_sleep(const uint64_t *word, uint64_t value)
{
    shared_sleep_for(word, value, NULL);
}

static inline void shared_wake(const uint64_t *word, bool all)
{
    int error = errno;

    (void)syscall(SYS_futex, shared_futex(word), FUTEX_WAKE_PRIVATE, all ? INT_MAX : 1, NULL, NULL,
                  0);
    errno = error;
}

/* Give others time to change *word, first in short moments, since it mostly takes none.  False once
 * that took half a second.  */
static inline bool shared_wait(const uint64_t *word, unsigned *rounds)
{
    const struct timespec moment = { 0, *rounds < 250 ? 20000 : 1000000 };
    static const uint64_t nothing;

    (void)word;
    shared_sleep_for(&nothing, 0, &moment);
    return ++*rounds < 700; /* a moment is 50 microseconds longer than it should be */
}

#endif /* TRACE_SHARED_MODEL */

#endif /* TRACE_SHARED_H */
