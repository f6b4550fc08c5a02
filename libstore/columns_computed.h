/* columns_computed.h - conditions on what is computed from columns.  Private to libstore.  */
#ifndef STORE_COLUMNS_COMPUTED_H
#define STORE_COLUMNS_COMPUTED_H

#include "libstore/columns_bytecode.h"
#include "libstore/columns_table.h"

/* Find what a loop of SQLite's program tests of a row before it does anything else with it: the
 * text of these tests (columns_tests.h), or "" if there are none.  */
void computed_find(const struct bytecode *program, size_t filter, char text[TESTS_TEXT_MOST]);

#endif /* STORE_COLUMNS_COMPUTED_H */
