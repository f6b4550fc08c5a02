/* The SQL functions, for those who open stores themselves.  */
#include <fxt/store.h>
#include "libstore/functions/functions.h"

int store_add_functions(struct sqlite3 *connection)
{
    return functions_register(connection);
}
