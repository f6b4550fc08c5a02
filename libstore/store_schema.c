/* schemas/store.sql, built in.  */
#include "libstore/store_internal.h"

const char *store_schema(void)
{
    return store_sql;
}
