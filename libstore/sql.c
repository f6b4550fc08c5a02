/* The SQL functions, for those who open stores themselves.  */
#include "libstore/functions/functions.h"
#include "libstore/store.h"

int store_add_functions(struct sqlite3 *connection)
{
    return functions_register(connection);
}
