/* lock.c - a lock that is zero when it is free, so that a forked child finds it free.  */
#include "sampler-capture/heap/shim/shim.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

bool shim_trylock(struct shim_lock *lock)
{
    unsigned free_state = 0;

    return atomic_compare_exchange_strong_explicit(&lock->state, &free_state, 1,
                                                   memory_order_acquire, memory_order_relaxed);
}

void shim_lock(struct shim_lock *lock)
{
    if (shim_trylock(lock))
        return;
    while (atomic_exchange_explicit(&lock->state, 2, memory_order_acquire) != 0)
        (void)syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

void shim_unlock(struct shim_lock *lock)
{
    if (atomic_exchange_explicit(&lock->state, 0, memory_order_release) == 2)
        (void)syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
