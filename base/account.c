#include "base/account.h"
#include <malloc.h>
#include <stdlib.h>

static _Thread_local struct base_account *current;
static _Thread_local bool is_forced;

struct base_account *base_account_enter(struct base_account *account)
{
    struct base_account *before = current;

    current = account;
    return before;
}

struct base_account *base_account_current(void)
{
    return current;
}

bool base_account_force(bool forced)
{
    bool before = is_forced;

    is_forced = forced;
    return before;
}

void base_account_widen(int64_t bytes)
{
    if (current && atomic_load(&current->limit) != INT64_MAX)
        atomic_fetch_add(&current->limit, bytes);
}

/* Whether so many more bytes are within the limit.  Threads that ask at once may exceed it by what
 * each of them takes in one block.  */
static bool has_room(size_t bytes)
{
    if (!current || is_forced)
        return true;
    int64_t limit = atomic_load(&current->limit), used = atomic_load(&current->bytes);
    if (limit == INT64_MAX || (used <= limit && bytes <= (uint64_t)limit - (uint64_t)used))
        return true;
    atomic_store(&current->exceeded, true);
    return false;
}

static void count(void *block, size_t before)
{
    if (current)
        atomic_fetch_add(&current->bytes, (int64_t)malloc_usable_size(block) - (int64_t)before);
}

void base_account_adopt(void *block)
{
    if (block)
        count(block, 0);
}

void *base_malloc(size_t size)
{
    void *block = has_room(size) ? malloc(size) : NULL;

    base_account_adopt(block);
    return block;
}

void *base_calloc(size_t items, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(items, size, &bytes) || !has_room(bytes))
        return NULL;
    void *block = calloc(items, size);
    base_account_adopt(block);
    return block;
}

void *base_realloc(void *block, size_t size)
{
    size_t before = current && block ? malloc_usable_size(block) : 0;

    if (size > before && !has_room(size - before))
        return NULL;
    void *grown = realloc(block, size ? size : 1);
    if (grown)
        count(grown, before);
    return grown;
}

void base_free(void *block)
{
    if (current && block)
        atomic_fetch_sub(&current->bytes, (int64_t)malloc_usable_size(block));
    free(block);
}
