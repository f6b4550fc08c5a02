/* schemas/store.sql, built in.  */
#include "libstore/internal.h"

const char *store_schema(void)
{
    return store_sql;
}
