/* near.h - which known name a mistyped one was meant for.  */
#ifndef CLI_NEAR_H
#define CLI_NEAR_H

#include <stdbool.h>
#include <stddef.h>

/* Letters to insert, remove, change or swap with their neighbour to make one name of the other,
 * upper and lower case being equal; SIZE_MAX for names of more than 64 bytes.  */
size_t near_distance(const char *a, const char *b);

/* Whether known may have been meant by typed: a third of its letters differ at most, or one holds
 * the other, a plural s aside ("samples", "cpu_sample").  */
bool near_is_meant(const char *typed, const char *known);

#endif /* CLI_NEAR_H */
