#include "sampler-capture/heap/shim/shim_live.h"

#include <string.h>
#include <sys/mman.h>

#define FIRST_BUCKETS 1024
#define MAX_BUCKETS   ((size_t)1 << 30)
#define ROOM_BYTES    ((size_t)1 << 18)
#define SMALLEST      64 /* bytes of a block of class 0 */
#define MAX_CHAIN     64 /* blocks of a bucket that are looked at without the lock */

/* The table of an empty set: two words are all that the largest shift can reach.  */
static _Atomic uint64_t no_words[2] __attribute__((aligned(64)));

const char *_Atomic shim_live_filter = (const char *)no_words + 63;

/* Where a table is, as the filter has it.  The heads lie behind the words in the same mapping.  */
struct table {
    _Atomic uint64_t *words;
    struct shim_live_block *_Atomic *heads;
    unsigned shift;
    size_t buckets; /* 0: the table of an empty set */
};

static struct table current_table(void)
{
    uintptr_t filter = (uintptr_t)atomic_load_explicit(&shim_live_filter, memory_order_acquire);
    struct table table = { .shift = (unsigned)(filter & 63) };

    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    table.words = (_Atomic uint64_t *)(filter & ~(uintptr_t)63);
    if (table.words == no_words)
        return table;
    table.buckets = (size_t)1 << (64 - table.shift);
    table.heads = (struct shim_live_block * _Atomic *)(void *)(table.words + table.buckets);
    return table;
}

static struct shim_live_block *follow(struct shim_live_block *const _Atomic *link)
{
    return atomic_load_explicit(link, memory_order_relaxed);
}

static void point(struct shim_live_block *_Atomic *link, struct shim_live_block *block)
{
    atomic_store_explicit(link, block, memory_order_relaxed);
}

static uint64_t address_of(const struct shim_live_block *block)
{
    return atomic_load_explicit(&block->address, memory_order_relaxed);
}

static uint64_t bits_of(uint64_t hash)
{
    return UINT64_C(1) << shim_live_bit(hash) | UINT64_C(1) << shim_live_other_bit(hash);
}

/* Between these two buckets change; who reads them without the lock sees that.  */
static void begin_change(struct shim_live_set *set)
{
    atomic_store_explicit(&set->changes,
                          atomic_load_explicit(&set->changes, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
}

static void end_change(struct shim_live_set *set)
{
    atomic_store_explicit(&set->changes,
                          atomic_load_explicit(&set->changes, memory_order_relaxed) + 1,
                          memory_order_release);
}

void *shim_live_map(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return NULL;
    if (madvise(memory, size, MADV_WIPEONFORK) == 0)
        return memory;
    (void)munmap(memory, size);
    return NULL;
}

/* ---- Memory of blocks ---- */

static struct shim_live_block *new_block(struct shim_live_set *set, size_t stack_count)
{
    size_t bytes = sizeof(struct shim_live_block) + stack_count * sizeof(uint64_t);
    uint32_t size_class = 0;
    struct shim_live_block *block;

    while (((size_t)SMALLEST << size_class) < bytes)
        if (++size_class == LIVE_CLASSES)
            return NULL;
    block = set->unused[size_class];
    if (block) {
        set->unused[size_class] = follow(&block->next);
    } else {
        bytes = (size_t)SMALLEST << size_class;
        if (set->room_left < bytes) { /* what is left of the room before is given up */
            set->room = shim_live_map(ROOM_BYTES);
            set->room_left = set->room ? ROOM_BYTES : 0;
            if (!set->room)
                return NULL;
        }
        block = (struct shim_live_block *)(void *)set->room;
        set->room += bytes;
        set->room_left -= bytes;
    }
    block->size_class = size_class;
    return block;
}

void shim_live_recycle(struct shim_live_set *set, struct shim_live_block *block)
{
    point(&block->next, set->unused[block->size_class]);
    set->unused[block->size_class] = block;
}

/* ---- Table ---- */

static void add(struct table table, struct shim_live_block *block)
{
    uint64_t hash = shim_live_hash(address_of(block));
    struct shim_live_block *_Atomic *head = &table.heads[hash >> table.shift];
    _Atomic uint64_t *word = &table.words[hash >> table.shift];

    point(&block->next, follow(head));
    point(head, block);
    atomic_store_explicit(word, atomic_load_explicit(word, memory_order_relaxed) | bits_of(hash),
                          memory_order_relaxed);
}

/* A larger table with the same blocks.  Readers that still look at the old one find there whatever
 * they may ask for: only blocks that were in use before now.  */
static bool grow(struct table *table)
{
    struct table larger = { .buckets = table->buckets ? 2 * table->buckets : FIRST_BUCKETS };

    if (larger.buckets > MAX_BUCKETS)
        return false;
    larger.words = shim_live_map(larger.buckets * (sizeof *larger.words + sizeof *larger.heads));
    if (!larger.words)
        return false;
    larger.heads = (struct shim_live_block * _Atomic *)(void *)(larger.words + larger.buckets);
    larger.shift = 64 - (unsigned)__builtin_ctzll(larger.buckets);
    for (size_t i = 0; i < table->buckets; i++) {
        for (struct shim_live_block *block = follow(&table->heads[i]), *next; block; block = next) {
            next = follow(&block->next);
            add(larger, block);
        }
    }
    atomic_store_explicit(&shim_live_filter, (const char *)larger.words + larger.shift,
                          memory_order_release);
    *table = larger;
    return true;
}

bool shim_live_insert(struct shim_live_set *set, uint64_t address, uint64_t size,
                      const uint64_t *stack, size_t stack_count)
{
    struct table table = current_table();
    struct shim_live_block *block = shim_live_remove(set, address);
    bool is_full = set->count >= table.buckets / 4 * 3;

    if (block)
        shim_live_recycle(set, block);
    block = new_block(set, stack_count);
    if (!block)
        return false;
    atomic_store_explicit(&block->address, address, memory_order_relaxed);
    block->size = size;
    block->stack_count = (uint32_t)stack_count;
    memcpy(block->stack, stack, stack_count * sizeof *stack);

    begin_change(set);
    if (is_full && !grow(&table) && table.buckets == 0) {
        end_change(set);
        shim_live_recycle(set, block);
        return false;
    }
    add(table, block);
    end_change(set);
    set->count++;
    return true;
}

struct shim_live_block *shim_live_remove(struct shim_live_set *set, uint64_t address)
{
    struct table table = current_table();
    uint64_t hash = shim_live_hash(address), bits = 0;
    struct shim_live_block *found = NULL;

    if (table.buckets == 0)
        return NULL;
    begin_change(set);
    for (struct shim_live_block *_Atomic *link = &table.heads[hash >> table.shift]; follow(link);) {
        struct shim_live_block *block = follow(link);

        if (!found && address_of(block) == address) {
            found = block;
            point(link, follow(&block->next));
        } else {
            bits |= bits_of(shim_live_hash(address_of(block)));
            link = &block->next;
        }
    }
    atomic_store_explicit(&table.words[hash >> table.shift], bits, memory_order_relaxed);
    end_change(set);
    set->count -= found != NULL;
    return found;
}

/* Memory of blocks is never unmapped, so whatever was read in between can be followed.  Whoever is
 * asked for here is not taken out by others: it is in use.  */
bool shim_live_has(const struct shim_live_set *set, const void *address)
{
    uint64_t changes = atomic_load_explicit(&set->changes, memory_order_acquire);
    uint64_t wanted = (uint64_t)(uintptr_t)address, hash = shim_live_hash(wanted);
    struct table table = current_table();
    const struct shim_live_block *block;
    unsigned count = 0;

    if (!(atomic_load_explicit(&table.words[hash >> table.shift], memory_order_relaxed) >>
              shim_live_other_bit(hash) &
          1))
        return false;
    for (block = follow(&table.heads[hash >> table.shift]); block; block = follow(&block->next))
        if (address_of(block) == wanted || ++count == MAX_CHAIN)
            return true;
    atomic_thread_fence(memory_order_acquire);
    return changes % 2 != 0 || atomic_load_explicit(&set->changes, memory_order_relaxed) != changes;
}

void shim_live_clear(struct shim_live_set *set)
{
    struct table table = current_table();

    begin_change(set);
    for (size_t i = 0; i < table.buckets && set->count > 0; i++) {
        atomic_store_explicit(&table.words[i], 0, memory_order_relaxed);
        for (struct shim_live_block *block = follow(&table.heads[i]), *next; block; block = next) {
            next = follow(&block->next);
            shim_live_recycle(set, block);
            set->count--;
        }
        point(&table.heads[i], NULL);
    }
    end_change(set);
}
