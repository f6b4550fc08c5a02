#include "tests/support/allocation.h"

#include <check.h>
#include <errno.h>
#include <malloc.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* The linker's names for the wrapped functions and for the originals.  */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);

/* Code under test may allocate in several threads.  */
static atomic_ulong asked;
static atomic_ulong fail_at;

void allocation_fail_at(unsigned long n)
{
    atomic_store(&asked, 0);
    atomic_store(&fail_at, n);
}

unsigned long allocation_count(void)
{
    return atomic_load(&asked);
}

static bool fails(void)
{
    if (atomic_fetch_add(&asked, 1) + 1 != atomic_load(&fail_at))
        return false;
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
    return fails() ? NULL : __real_reallocarray(old, count, size);
}

/* ---- SQLite ---- */

static void *sqlite_malloc(int size)
{
    return malloc((size_t)size);
}

static void *sqlite_realloc(void *old, int size)
{
    return realloc(old, (size_t)size);
}

static int sqlite_size(void *block)
{
    return block ? (int)malloc_usable_size(block) : 0;
}

static int sqlite_round_up(int size)
{
    return (size + 7) & ~7;
}

static int sqlite_start(void *context)
{
    (void)context;
    return SQLITE_OK;
}

static void sqlite_stop(void *context)
{
    (void)context;
}

void allocation_take_sqlite(void)
{
    static sqlite3_mem_methods methods = { .xMalloc = sqlite_malloc,
                                           .xFree = free,
                                           .xRealloc = sqlite_realloc,
                                           .xSize = sqlite_size,
                                           .xRoundup = sqlite_round_up,
                                           .xInit = sqlite_start,
                                           .xShutdown = sqlite_stop };

    ck_assert_int_eq(sqlite3_config(SQLITE_CONFIG_MALLOC, &methods), SQLITE_OK);
    ck_assert_int_eq(sqlite3_initialize(), SQLITE_OK);
}
