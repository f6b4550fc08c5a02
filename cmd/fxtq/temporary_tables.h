/* temporary_tables.h - how much of the tables that SQLite makes for a query stays in memory.  */
#ifndef FXTQ_TEMPORARY_TABLES_H
#define FXTQ_TEMPORARY_TABLES_H

/* Before SQLite is used.  SQLite keeps 2 MB of each temporary table or index in memory, and the
 * rest in a file, which it then reads page by page for each look-up.  Afterwards it keeps up to
 * 8,192 pages of each (34 MB).  If that cannot be arranged, queries are only slower.  */
void temporary_tables_keep(void);

#endif /* FXTQ_TEMPORARY_TABLES_H */
