#include "cmd/cli/cli_json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/hex.h"
#include "base/json.h"

static void put(struct json *json, const char *bytes, size_t length)
{
    (void)cli_output_write(json->output, bytes, length); /* the failure stays in output->failed */
}

static void put_text(struct json *json, const char *text)
{
    put(json, text, strlen(text));
}

static void put_key(struct json *json, const char *key)
{
    if (json->comma)
        put(json, ",", 1);
    json->comma = true;
    if (key) {
        put(json, "\"", 1);
        put_text(json, key);
        put(json, "\":", 2);
    }
}

void json_open(struct json *json, const char *key, char bracket)
{
    put_key(json, key);
    put(json, &bracket, 1);
    json->comma = false;
}

void json_close(struct json *json, char bracket)
{
    put(json, &bracket, 1);
    json->comma = true;
}

void json_end_line(struct json *json)
{
    put(json, "\n", 1);
    json->comma = false;
}

static void put_bytes(void *context, const char *bytes, size_t length)
{
    struct json *json = context;
    const char *tag;

    while (json->html && (tag = memchr(bytes, '<', length))) {
        put(json, bytes, (size_t)(tag - bytes));
        put_text(json, "\\u003c");
        length -= (size_t)(tag + 1 - bytes);
        bytes = tag + 1;
    }
    put(json, bytes, length);
}

void json_string(struct json *json, const char *key, const char *bytes, size_t length)
{
    put_key(json, key);
    base_json_string(bytes, length, put_bytes, json);
}

void json_text(struct json *json, const char *key, const char *text)
{
    json_string(json, key, text, strlen(text));
}

static void put_format(struct json *json, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void put_format(struct json *json, const char *key, const char *format, ...)
{
    char text[64];
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    put_key(json, key);
    if (length > 0)
        put(json, text, (size_t)length);
}

void json_number(struct json *json, const char *key, int64_t number)
{
    bool exact = number <= JSON_NUMBER_MAX && number >= -JSON_NUMBER_MAX;

    put_format(json, key, exact ? "%" PRId64 : "\"%" PRId64 "\"", number);
}

void json_unsigned(struct json *json, const char *key, uint64_t number)
{
    put_format(json, key, number <= JSON_NUMBER_MAX ? "%" PRIu64 : "\"%" PRIu64 "\"", number);
}

void json_address(struct json *json, const char *key, uint64_t address)
{
    put_format(json, key, "\"0x%" PRIx64 "\"", address);
}

void json_double(struct json *json, const char *key, double number)
{
    char text[32];

    if (!isfinite(number)) {
        json_text(json, key, isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity");
        return;
    }
    cli_shortest_double(text, number);
    /* A large double with a point, since it is no integer to the last digit.  */
    put_format(json, key, "%s%s", text,
               fabs(number) > (double)JSON_NUMBER_MAX && !strpbrk(text, ".e") ? ".0" : "");
}

void json_double_or_null(struct json *json, const char *key, double number)
{
    if (isfinite(number))
        json_double(json, key, number);
    else
        json_null(json, key);
}

void json_text_or_null(struct json *json, const char *key, const char *text)
{
    if (text && *text)
        json_text(json, key, text);
    else
        json_null(json, key);
}

void json_bool(struct json *json, const char *key, bool value)
{
    put_format(json, key, "%s", value ? "true" : "false");
}

void json_null(struct json *json, const char *key)
{
    put_format(json, key, "null");
}

void json_hex(struct json *json, const char *key, const uint8_t *bytes, size_t length)
{
    char pair[2];

    put_key(json, key);
    put(json, "\"", 1);
    for (size_t i = 0; i < length; i++) {
        put(json, pair, base_hex(pair, &bytes[i], 1));
    }
    put(json, "\"", 1);
}
