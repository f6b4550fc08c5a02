#include "base/json_read.h"

#include <string.h>

enum state {
    EXPECT_VALUE,
    EXPECT_VALUE_OR_END, /* of an array */
    EXPECT_KEY_OR_END,
    EXPECT_KEY,
    EXPECT_COMMA_OR_END,
    EXPECT_NOTHING,
    STATE_BAD,
};

void base_json_init(struct base_json_reader *reader, base_json_fill_fn fill, void *context)
{
    memset(reader, 0, offsetof(struct base_json_reader, bytes));
    reader->fill = fill;
    reader->context = context;
}

static enum base_json_token bad(struct base_json_reader *reader, const char *problem)
{
    if (reader->state != STATE_BAD)
        reader->problem = problem;
    reader->state = STATE_BAD;
    return BASE_JSON_BAD;
}

/* ---- Bytes ---- */

/* The next byte, which stays; -1: there is none.  */
static int peek(struct base_json_reader *reader)
{
    ssize_t length;

    if (reader->at < reader->end)
        return reader->bytes[reader->at];
    length = reader->fill(reader->context, reader->bytes, sizeof reader->bytes);
    if (length <= 0) {
        if (length < 0)
            (void)bad(reader, "it cannot be read");
        return -1;
    }
    reader->at = 0;
    reader->end = (size_t)length;
    return reader->bytes[0];
}

static int take(struct base_json_reader *reader)
{
    int byte = peek(reader);

    if (byte >= 0) {
        reader->at++;
        reader->offset++;
    }
    return byte;
}

static int peek_token(struct base_json_reader *reader)
{
    int byte;

    while ((byte = peek(reader)) == ' ' || byte == '\t' || byte == '\n' || byte == '\r')
        (void)take(reader);
    return byte;
}

static void keep(struct base_json_reader *reader, int byte)
{
    if (reader->length < BASE_JSON_TEXT)
        reader->text[reader->length++] = (char)byte;
    else
        reader->is_cut = true;
}

/* ---- Strings ---- */

static int hex_digit(int byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    if (byte >= 'a' && byte <= 'f')
        return byte - 'a' + 10;
    return byte >= 'A' && byte <= 'F' ? byte - 'A' + 10 : -1;
}

/* -1: not four hexadecimal digits.  */
static int32_t take_unit(struct base_json_reader *reader)
{
    int32_t unit = 0;

    for (unsigned i = 0; i < 4; i++) {
        int digit = hex_digit(take(reader));

        if (digit < 0)
            return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

static void keep_character(struct base_json_reader *reader, uint32_t code)
{
    if (code < 0x80) {
        keep(reader, (int)code);
        return;
    }
    if (code < 0x800) {
        keep(reader, (int)(0xc0 | code >> 6));
    } else if (code < 0x10000) {
        keep(reader, (int)(0xe0 | code >> 12));
        keep(reader, (int)(0x80 | (code >> 6 & 0x3f)));
    } else {
        keep(reader, (int)(0xf0 | code >> 18));
        keep(reader, (int)(0x80 | (code >> 12 & 0x3f)));
        keep(reader, (int)(0x80 | (code >> 6 & 0x3f)));
    }
    keep(reader, (int)(0x80 | (code & 0x3f)));
}

/* The character of an escape without u; -1: there is none.  */
static int escaped(int byte)
{
    static const char letters[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *found = byte > 0 ? strchr(letters, byte) : NULL;

    return found ? values[found - letters] : -1;
}

/* Surrogates come in pairs; half a pair becomes U+FFFD.  */
static void keep_unit(struct base_json_reader *reader, uint32_t unit, uint32_t *high)
{
    if (*high && unit >= 0xdc00 && unit < 0xe000) {
        keep_character(reader, 0x10000 + ((*high - 0xd800) << 10) + (unit - 0xdc00));
        *high = 0;
        return;
    }
    if (*high)
        keep_character(reader, 0xfffd);
    *high = unit >= 0xd800 && unit < 0xdc00 ? unit : 0;
    if (!*high)
        keep_character(reader, unit >= 0xdc00 && unit < 0xe000 ? 0xfffd : unit);
}

/* After a backslash.  */
static bool take_escape(struct base_json_reader *reader, uint32_t *high)
{
    int byte = take(reader);
    int32_t unit = byte == 'u' ? take_unit(reader) : escaped(byte);

    if (unit < 0)
        return false;
    keep_unit(reader, (uint32_t)unit, high);
    return true;
}

static bool take_string(struct base_json_reader *reader)
{
    uint32_t high = 0;
    int byte;

    (void)take(reader); /* the quote */
    while ((byte = take(reader)) != '"') {
        if (byte < 0x20) { /* also the end */
            (void)bad(reader, byte < 0 ? "a string has no end" : "a control character in a string");
            return false;
        }
        if (byte == '\\' && take_escape(reader, &high))
            continue;
        if (byte == '\\') {
            (void)bad(reader, "an escape that JSON does not have");
            return false;
        }
        if (high)
            keep_character(reader, 0xfffd);
        high = 0;
        keep(reader, byte);
    }
    if (high)
        keep_character(reader, 0xfffd);
    return true;
}

/* ---- Numbers and words ---- */

static size_t take_digits(struct base_json_reader *reader)
{
    size_t count = 0;

    for (int byte; (byte = peek(reader)) >= '0' && byte <= '9'; count++)
        keep(reader, take(reader));
    return count;
}

static bool take_number(struct base_json_reader *reader)
{
    bool zero;

    if (peek(reader) == '-')
        keep(reader, take(reader));
    zero = peek(reader) == '0';
    if (zero)
        keep(reader, take(reader));
    else if (take_digits(reader) == 0)
        return false;
    if (peek(reader) == '.') {
        keep(reader, take(reader));
        if (take_digits(reader) == 0)
            return false;
    }
    if (peek(reader) == 'e' || peek(reader) == 'E') {
        keep(reader, take(reader));
        if (peek(reader) == '+' || peek(reader) == '-')
            keep(reader, take(reader));
        return take_digits(reader) > 0;
    }
    return true;
}

static enum base_json_token take_word(struct base_json_reader *reader, const char *word,
                                      enum base_json_token token)
{
    for (; *word; word++)
        if (take(reader) != *word)
            return bad(reader, "a word that JSON does not have");
    return token;
}

/* ---- Structure ---- */

static bool is_in_object(const struct base_json_reader *reader)
{
    unsigned i = reader->depth - 1;

    return reader->is_object[i / 8] >> i % 8 & 1;
}

static void after_value(struct base_json_reader *reader)
{
    reader->state = reader->depth > 0 ? EXPECT_COMMA_OR_END : EXPECT_NOTHING;
}

static enum base_json_token open_one(struct base_json_reader *reader, bool object)
{
    unsigned i = reader->depth, bit = 1u << i % 8;

    (void)take(reader);
    if (i == BASE_JSON_DEPTH)
        return bad(reader, "objects and arrays are nested more than 256 deep");
    reader->is_object[i / 8] = (uint8_t)(object ? reader->is_object[i / 8] | bit
                                                : reader->is_object[i / 8] & ~bit);
    reader->depth++;
    reader->state = object ? EXPECT_KEY_OR_END : EXPECT_VALUE_OR_END;
    return object ? BASE_JSON_OBJECT : BASE_JSON_ARRAY;
}

static enum base_json_token close_one(struct base_json_reader *reader)
{
    bool object = is_in_object(reader);

    (void)take(reader);
    reader->depth--;
    after_value(reader);
    return object ? BASE_JSON_OBJECT_END : BASE_JSON_ARRAY_END;
}

static enum base_json_token take_value(struct base_json_reader *reader, int byte)
{
    if (byte == '{' || byte == '[')
        return open_one(reader, byte == '{');
    after_value(reader);
    switch (byte) {
    case '"':
        return take_string(reader) ? BASE_JSON_STRING : BASE_JSON_BAD;
    case 't':
        return take_word(reader, "true", BASE_JSON_TRUE);
    case 'f':
        return take_word(reader, "false", BASE_JSON_FALSE);
    case 'n':
        return take_word(reader, "null", BASE_JSON_NULL);
    default:
        break;
    }
    if (byte != '-' && (byte < '0' || byte > '9'))
        return bad(reader, byte < 0 ? "it ends in the middle" : "a value is expected");
    return take_number(reader) ? BASE_JSON_NUMBER : bad(reader, "a number that JSON does not have");
}

static enum base_json_token take_key(struct base_json_reader *reader, int byte)
{
    if (byte != '"')
        return bad(reader, byte < 0 ? "it ends in the middle" : "a key is expected");
    if (!take_string(reader))
        return BASE_JSON_BAD;
    if (peek_token(reader) != ':')
        return bad(reader, "a colon is expected after a key");
    (void)take(reader);
    reader->state = EXPECT_VALUE;
    return BASE_JSON_KEY;
}

static enum base_json_token next(struct base_json_reader *reader)
{
    int byte = peek_token(reader);

    if (reader->state == EXPECT_COMMA_OR_END && byte == ',') {
        (void)take(reader);
        reader->state = is_in_object(reader) ? EXPECT_KEY : EXPECT_VALUE;
        byte = peek_token(reader);
    }
    switch (reader->state) {
    case EXPECT_COMMA_OR_END:
        if (byte == (is_in_object(reader) ? '}' : ']'))
            return close_one(reader);
        return bad(reader, byte < 0 ? "it ends in the middle" : "a comma or an end is expected");
    case EXPECT_KEY_OR_END:
        return byte == '}' ? close_one(reader) : take_key(reader, byte);
    case EXPECT_KEY:
        return take_key(reader, byte);
    case EXPECT_VALUE_OR_END:
        return byte == ']' ? close_one(reader) : take_value(reader, byte);
    case EXPECT_VALUE:
        return take_value(reader, byte);
    case EXPECT_NOTHING:
        return byte < 0 ? BASE_JSON_END : bad(reader, "something follows the value");
    default:
        return BASE_JSON_BAD;
    }
}

enum base_json_token base_json_next(struct base_json_reader *reader)
{
    enum base_json_token token;

    reader->length = 0;
    reader->is_cut = false;
    token = next(reader);
    if (reader->state == STATE_BAD) /* also what could not be read on */
        token = BASE_JSON_BAD;
    reader->text[reader->length] = '\0';
    return token;
}

bool base_json_skip(struct base_json_reader *reader, enum base_json_token token)
{
    unsigned depth = reader->depth;

    if (token != BASE_JSON_OBJECT && token != BASE_JSON_ARRAY)
        return token != BASE_JSON_BAD;
    while (reader->depth >= depth && token != BASE_JSON_BAD)
        token = base_json_next(reader);
    return token != BASE_JSON_BAD;
}
