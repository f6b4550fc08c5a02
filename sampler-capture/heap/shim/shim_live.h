/* shim_live.h - the sampled blocks that are in use, and a filter that tells which addresses are
 * none.
 *
 * Every free() asks the filter, so that is one load of a word that lies in the cache, and one bit
 * of it: a hash table whose buckets each have a word with two bits set for each of their blocks.
 * It has 4/3 to 8/3 times as many buckets as there are blocks.  One other address in fifty has the
 * first bit, and one in a thousand the second one too; that one is looked for among the blocks,
 * still without a lock.
 *
 * All memory is mapped, marked to be zero in a forked child: there the set is empty, as it should
 * be, since the child's connection has not told of these blocks.  Nothing is ever unmapped: a
 * reader may still look at a table that another thread has just replaced.  */
#ifndef SHIM_LIVE_H
#define SHIM_LIVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One sampled block, with the stack that allocated it.  */
struct shim_live_block {
    struct shim_live_block *_Atomic next; /* in its bucket, or of free memory */
    _Atomic uint64_t address;
    uint64_t size;
    uint32_t size_class; /* the memory of the block has 64 << size_class bytes */
    uint32_t stack_count;
    uint64_t stack[];
};

#define LIVE_CLASSES 8 /* 64 bytes to 8 KiB: 512 frames and the members above */

/* What of the set is zero in a child; lies in memory of shim_live_map().  */
struct shim_live_set {
    _Atomic uint64_t changes; /* of buckets: odd while one is under way */
    size_t count;
    struct shim_live_block *unused[LIVE_CLASSES];
    uint8_t *room; /* to make blocks of */
    size_t room_left;
};

/* The words of the current table and, in the low six bits, how far a hash is shifted to give the
 * index of one.  */
extern const char *_Atomic shim_live_filter __attribute__((visibility("hidden")));

/* Its highest bits say which word; those of the next two which bits of it.  */
static inline uint64_t shim_live_hash(uint64_t address)
{
    return address * UINT64_C(0x9e3779b97f4a7c15);
}

static inline unsigned shim_live_bit(uint64_t hash)
{
    return hash >> 28 & 63;
}

static inline unsigned shim_live_other_bit(uint64_t hash)
{
    return hash >> 22 & 63;
}

/* Whether the block at address may be a sampled one.  False is certain.  */
static inline bool shim_live_maybe(const void *address)
{
    uintptr_t filter = (uintptr_t)atomic_load_explicit(&shim_live_filter, memory_order_acquire);
    uint64_t hash = shim_live_hash((uint64_t)(uintptr_t)address);
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    const _Atomic uint64_t *words = (const _Atomic uint64_t *)(filter & ~(uintptr_t)63);

    return atomic_load_explicit(&words[hash >> (filter & 63)], memory_order_relaxed) >>
               shim_live_bit(hash) &
           1;
}

/* The same for whom that was true, and nearly certain: true is wrong only where another thread
 * changes the set meanwhile.  Any number of threads.  */
bool shim_live_has(const struct shim_live_set *set, const void *address);

/* Zeroed memory of size bytes that is zero in a forked child.  NULL: there is none.  */
void *shim_live_map(size_t size);

/* The functions below are called by one thread at a time.  */

/* Add a block; one that was there at its address is replaced.  False when there is no memory.  */
bool shim_live_insert(struct shim_live_set *set, uint64_t address, uint64_t size,
                      const uint64_t *stack, size_t stack_count);

/* Take the block at address out.  The caller hands it to shim_live_recycle() afterwards.  NULL:
 * there is none.  */
struct shim_live_block *shim_live_remove(struct shim_live_set *set, uint64_t address);

void shim_live_recycle(struct shim_live_set *set, struct shim_live_block *block);

/* Forget all blocks.  */
void shim_live_clear(struct shim_live_set *set);

#endif /* SHIM_LIVE_H */
