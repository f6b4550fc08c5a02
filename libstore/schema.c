/* schemas/store.sql, built in.  */
#include "libstore/internal.h"

/* Lines of C strings, made by the Makefile.  */
static const char schema[] =
#include "libstore/store_sql.inc"
    ;

const char *store_schema(void)
{
    return schema;
}
