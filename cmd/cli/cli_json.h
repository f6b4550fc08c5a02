/* cli_json.h - JSON as the programs print it: one object a line, snake_case keys
 * (docs/architecture.md, conventions).
 *
 * The writer puts commas where they are due; what is opened must be closed.  Strings are bytes:
 * what is not UTF-8 becomes U+FFFD.
 *
 * One rule for integers holds in all programs: up to JSON_NUMBER_MAX and down to its negative they
 * are numbers, beyond it strings of decimal digits, because many readers keep numbers as doubles.
 * Addresses are strings, "0x1f".  Doubles are numbers; those that are not finite are "NaN",
 * "Infinity" and "-Infinity".  */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include "cmd/cli/cli.h"

/* 2^53: every integer up to it is a double, too.  */
#define JSON_NUMBER_MAX (INT64_C(1) << 53)

struct json {
    struct cli_output *output;
    bool comma; /* a value stands before this place */
    bool html;  /* it stands in a page: no tag begins in a string */
};

/* In an array key is NULL.  */
void json_open(struct json *json, const char *key, char bracket); /* '{' or '[' */
void json_close(struct json *json, char bracket);                 /* '}' or ']' */
void json_end_line(struct json *json);                            /* behind the outermost object */

void json_string(struct json *json, const char *key, const char *bytes, size_t length);
void json_text(struct json *json, const char *key, const char *text); /* NUL-terminated */
void json_number(struct json *json, const char *key, int64_t number);
void json_unsigned(struct json *json, const char *key, uint64_t number);
void json_address(struct json *json, const char *key, uint64_t address); /* "0x1f" */
void json_double(struct json *json, const char *key,
                 double number); /* shortest form that reads back equal */
/* null for what is not finite, and for no text or an empty one.  */
void json_double_or_null(struct json *json, const char *key, double number);
void json_text_or_null(struct json *json, const char *key, const char *text);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);
void json_hex(struct json *json, const char *key, const uint8_t *bytes, size_t length);

#endif /* CLI_JSON_H */
