/* Writers: a thread takes one at its first event and gives it back when it ends, with what is left
 * of its chunk.  Signal handlers that interrupt an event borrow one for a record.  */
#include <errno.h>
#include <sys/mman.h>

#include "libtrace/engine.h"

static pthread_key_t ended;
static bool has_key;

/* A blob that the thread began and did not end would be waited for at each stop, and keep the
 * buffer for good: it comes to nothing.  */
static void leave(void *writer)
{
    struct trace_writer *blob = trace_self.blob;

    if (blob) {
        trace_self.blob = NULL;
        trace_writer_cancel(blob);
        trace_pool_give(blob);
    }
    trace_self.writer = NULL;
    trace_self.generation = trace_self.plain = 0;
    trace_pool_give(writer);
}

static struct trace_writer *at(uint64_t number)
{
    return &trace_buffer
                .slabs[(number - 1) / TRACE_SLAB_WRITERS][(number - 1) % TRACE_SLAB_WRITERS];
}

static bool try_take(struct trace_writer *writer)
{
    uint64_t nobody = 0;

    return shared_load(&writer->taken) == 0 &&
           shared_swap(&writer->taken, &nobody, trace_self_token());
}

/* The slab of that number, made if need be.  */
static bool make_slab(uint64_t slab)
{
    struct trace_writer *none = NULL;
    struct trace_writer *made;

    if (__atomic_load_n(&trace_buffer.slabs[slab], __ATOMIC_ACQUIRE))
        return true;
    made = mmap(NULL, TRACE_SLAB_WRITERS * sizeof *made, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return false;
    for (uint32_t i = 0; i < TRACE_SLAB_WRITERS; i++)
        made[i].number = (uint32_t)slab * TRACE_SLAB_WRITERS + i + 1;
    if (!__atomic_compare_exchange_n(&trace_buffer.slabs[slab], &none, made, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        (void)munmap(made, TRACE_SLAB_WRITERS * sizeof *made);
    return true;
}

/* Most programs need one slab; events then make no system call.  */
void trace_pool_setup(void)
{
    if (!has_key)
        has_key = pthread_key_create(&ended, leave) == 0;
    (void)make_slab(0);
}

struct trace_writer *trace_pool_take(void)
{
    int error = errno;
    uint64_t count = shared_load(&trace_buffer.writer_count);

    for (uint64_t i = 1; i <= count; i++)
        if (try_take(at(i)))
            return at(i);
    for (; count < (uint64_t)TRACE_SLABS * TRACE_SLAB_WRITERS; count++) {
        uint64_t number = count + 1;

        if (!make_slab(count / TRACE_SLAB_WRITERS))
            break;
        while (count < number && !shared_swap(&trace_buffer.writer_count, &count, number))
            continue;
        count = number - 1;
        errno = error;
        if (try_take(at(number)))
            return at(number);
    }
    errno = error;
    return NULL;
}

void trace_pool_give(struct trace_writer *writer)
{
    shared_store(&writer->taken, 0);
}

struct trace_writer *trace_pool_join(void)
{
    if (!trace_self.writer) {
        trace_self.writer = trace_pool_take();
        if (trace_self.writer && has_key)
            (void)pthread_setspecific(ended, trace_self.writer);
    }
    return trace_self.writer;
}

bool trace_pool_is_busy(void)
{
    uint64_t count = shared_load(&trace_buffer.writer_count);

    for (uint64_t i = 1; i <= count; i++)
        if (shared_load(&at(i)->taken) == trace_self_token() && shared_load(&at(i)->busy))
            return true;
    return false;
}

/* The one thread of a child goes on with what it was at when a signal handler forked: its writers
 * stay its own, and a record that is being written goes on.  The chunks of others are none.  */
void trace_pool_forget(void)
{
    uint64_t count = shared_load(&trace_buffer.writer_count);

    for (uint64_t i = 1; i <= count; i++) {
        struct trace_writer *writer = at(i);
        bool is_own = shared_load(&writer->taken) == trace_self_token();

        if (is_own && shared_load(&writer->busy))
            continue;
        *writer = (struct trace_writer){ .number = writer->number,
                                         .taken = is_own ? trace_self_token() : 0 };
    }
}
