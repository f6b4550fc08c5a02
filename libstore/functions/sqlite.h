/* sqlite.h - SQLite as the SQL functions use it.
 *
 * They are compiled twice: into libstore, which links SQLite, and into libfxtsql.so, which calls
 * whatever SQLite has loaded it, through a table.  */
#ifndef STORE_FUNCTIONS_SQLITE_H
#define STORE_FUNCTIONS_SQLITE_H

#ifdef FXTSQL_EXTENSION
#include <sqlite3ext.h>
extern const sqlite3_api_routines *sqlite3_api;
#else
#include <sqlite3.h>
#endif

#endif /* STORE_FUNCTIONS_SQLITE_H */
