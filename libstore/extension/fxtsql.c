/* fxtsql.c - libfxtsql.so: the SQL functions in any program that loads SQLite extensions.
 *
 *     sqlite> .load libfxtsql
 *     sqlite> SELECT folded(callsite_id), count(*) FROM cpu_sample GROUP BY 1;  */
#include <sqlite3ext.h>

#include "libstore/functions/functions.h"

/* Where the table of SQLite's functions is; all files of libstore/functions call through it.  */
SQLITE_EXTENSION_INIT1

__attribute__((visibility("default"))) int sqlite3_fxtsql_init(sqlite3 *db, char **error,
                                                               const sqlite3_api_routines *api);

int sqlite3_fxtsql_init(sqlite3 *db, char **error, const sqlite3_api_routines *api)
{
    SQLITE_EXTENSION_INIT2(api);
    (void)error;
    return functions_register(db, NULL);
}
