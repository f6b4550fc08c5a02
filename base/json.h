/* json.h - strings of JSON.  */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stddef.h>

typedef void (*base_json_put_fn)(void *context, const char *bytes, size_t length);

/* Pass bytes to put as a JSON string, in quotes.  Characters that base_shown_as_is() refuses are
 * escaped as \uXXXX, so the data are kept; a byte that is not UTF-8 becomes U+FFFD.  */
void base_json_string(const char *bytes, size_t length, base_json_put_fn put, void *context);

#endif /* BASE_JSON_H */
