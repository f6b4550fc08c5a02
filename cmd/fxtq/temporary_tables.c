#include "cmd/fxtq/temporary_tables.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

#define LEAST_PAGES 8192

/* SQLite's own page cache.  */
static sqlite3_pcache_methods2 original;
/* The default size of a cache, in pages: temporary tables have no other.  */
static int usual_pages;
static bool is_learning; /* it */

/* PRAGMA cache_size sets the size for files; there is no such command for temporary tables.  */
static void set_size(sqlite3_pcache *cache, int pages)
{
    if (is_learning)
        usual_pages = pages;
    else if (pages == usual_pages && pages < LEAST_PAGES)
        pages = LEAST_PAGES;
    original.xCachesize(cache, pages);
}

void temporary_tables_keep(void)
{
    sqlite3_pcache_methods2 methods;
    sqlite3 *db = NULL;

    if (sqlite3_config(SQLITE_CONFIG_GETPCACHE2, &original) != SQLITE_OK || !original.xCachesize)
        return;
    methods = original;
    methods.xCachesize = set_size;
    if (sqlite3_config(SQLITE_CONFIG_PCACHE2, &methods) != SQLITE_OK)
        return;
    is_learning = true;
    (void)sqlite3_open(":memory:", &db);
    (void)sqlite3_close(db);
    is_learning = false;
}
