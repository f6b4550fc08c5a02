/* columns_prepare.h - statements that are planned again.  Private to libstore.  */
#ifndef STORE_COLUMNS_PREPARE_H
#define STORE_COLUMNS_PREPARE_H

#include "libstore/columns_read.h"

/* In place of *statement, whose text is sql, one whose scans give fewer rows, if it can.  */
void columns_prepare_again(struct store_columns *columns, const char *sql, int length,
                           sqlite3_stmt **statement);

#endif /* STORE_COLUMNS_PREPARE_H */
