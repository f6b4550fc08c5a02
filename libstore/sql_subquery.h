/* sql_subquery.h - subqueries with GROUP BY in the text of a statement.  Private to libstore.  */
#ifndef STORE_SQL_SUBQUERY_H
#define STORE_SQL_SUBQUERY_H

#include <stdbool.h>
#include <stddef.h>

#define SUBQUERY_ITEMS 8u /* columns */
#define SUBQUERIES     4u /* of a statement that are looked at */

/* Names of tables that take their place begin so.  */
#define DERIVED_NAME "fxt_derived_"

/* "(SELECT ... GROUP BY key)" where a table may be.  */
struct subquery {
    const char *start, *end; /* between the parentheses */
    const char *items[SUBQUERY_ITEMS];
    unsigned item_count;
    const char *key, *key_end; /* the text of its GROUP BY */
    bool is_table, is_select, has_from, is_wrong;
    unsigned words;
};

/* Find such subqueries.  Returns their number; 0 also if the statement has names that a table in
 * their place could change the meaning of, or if its parentheses are too many.  */
unsigned sql_find_subqueries(const char *sql, size_t length, struct subquery found[SUBQUERIES]);

/* Its column that begins with the text of the key; item_count: none.  */
unsigned sql_key_of(const struct subquery *is);

#endif /* STORE_SQL_SUBQUERY_H */
