/* line_text.c - pieces of lines, and what text profiles of gperftools, Go and Java share.  */
#include <math.h>
#include <string.h>

#include "libprofile/read/line_text.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int hex_value(char c)
{
    return is_digit(c)            ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static void advance(struct text *text, size_t count)
{
    text->at += count;
    text->length -= count;
}

void text_skip_blanks(struct text *text)
{
    while (text->length > 0 && is_blank(*text->at))
        advance(text, 1);
}

bool text_begins(struct text text, const char *word)
{
    size_t length = strlen(word);

    return text.length >= length && memcmp(text.at, word, length) == 0;
}

bool text_take(struct text *text, const char *word)
{
    if (!text_begins(*text, word))
        return false;
    advance(text, strlen(word));
    return true;
}

bool text_contains(struct text text, const char *word)
{
    return memmem(text.at, text.length, word, strlen(word)) != NULL;
}

bool text_equals(struct text text, const char *word)
{
    return text.length == strlen(word) && memcmp(text.at, word, text.length) == 0;
}

bool text_take_number(struct text *text, uint64_t *out)
{
    struct text at = *text;
    uint64_t number = 0;

    while (at.length > 0 && is_digit(*at.at)) {
        if (__builtin_mul_overflow(number, 10u, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*at.at - '0'), &number))
            return false;
        advance(&at, 1);
    }
    if (at.length == text->length)
        return false;
    *text = at;
    *out = number;
    return true;
}

bool text_take_signed(struct text *text, int64_t *out)
{
    struct text at = *text;
    bool negative = text_take(&at, "-");
    uint64_t number;

    if (!text_take_number(&at, &number) || number > INT64_MAX)
        return false;
    *text = at;
    *out = negative ? -(int64_t)number : (int64_t)number;
    return true;
}

bool text_take_hex(struct text *text, uint64_t *out)
{
    struct text at = *text, digits;
    uint64_t number = 0;

    (void)text_take(&at, "0x");
    digits = at;
    while (at.length > 0 && hex_value(*at.at) >= 0) {
        if (number >> 60)
            return false;
        number = number << 4 | (uint64_t)hex_value(*at.at);
        advance(&at, 1);
    }
    if (at.length == digits.length)
        return false;
    *text = at;
    *out = number;
    return true;
}

struct text text_take_token(struct text *text)
{
    struct text token = *text;

    while (text->length > 0 && !is_blank(*text->at))
        advance(text, 1);
    token.length -= text->length;
    return token;
}

struct text text_trim(struct text text)
{
    text_skip_blanks(&text);
    while (text.length > 0 && is_blank(text.at[text.length - 1]))
        text.length--;
    return text;
}

/* ---- Stacks ---- */

bool text_push_addresses(struct gather *gather, struct text text, size_t adjust_from)
{
    while (text.length > 0) {
        const char *found = memmem(text.at, text.length, "0x", 2);
        uint64_t address;

        if (!found)
            break;
        advance(&text, (size_t)(found - text.at));
        if (!text_take_hex(&text, &address)) {
            if (text.length < 3 || hex_value(text.at[2]) >= 0)
                return text.length < 3;
            advance(&text, 2); /* an x in a name */
            continue;
        }
        if (gather->stack_count >= adjust_from)
            address--;
        gather_push(gather, gather_address(gather, address));
    }
    return true;
}

/* "main.f+0x1c" without what follows the plus.  */
static struct text without_offset(struct text name)
{
    for (size_t i = name.length; i > 2; i--)
        if (memcmp(name.at + i - 3, "+0x", 3) == 0)
            return text_of(name.at, i - 3);
    return name;
}

/* "/src/main.go:17": the file, and *line.  */
static struct text split_line(struct text place, int64_t *line)
{
    size_t length = place.length;

    while (length > 0 && is_digit(place.at[length - 1]))
        length--;
    struct text digits = text_of(place.at + length, place.length - length);
    uint64_t number;

    *line = 0;
    if (length < 2 || place.at[length - 1] != ':' || !text_take_number(&digits, &number) ||
        number > INT32_MAX)
        return place;
    *line = (int64_t)number;
    return text_of(place.at, length - 1);
}

/* The location that a comment is about.  Go names the address of a call, as locations have it;
 * older versions name the address after it.  */
static uint32_t find_named(const struct gather *gather, uint64_t address)
{
    uint32_t location = base_pairs_find(&gather->location_keys, address, 0);

    return location ? location : base_pairs_find(&gather->location_keys, address - 1, 0);
}

void text_name_address(struct gather *gather, struct text comment)
{
    uint64_t address;
    struct text name, file;
    int64_t line;
    uint32_t location;

    (void)text_take(&comment, "#");
    text_skip_blanks(&comment);
    if (!text_begins(comment, "0x") || !text_take_hex(&comment, &address))
        return;
    text_skip_blanks(&comment);
    name = without_offset(text_take_token(&comment));
    file = split_line(text_trim(comment), &line);
    location = name.length ? find_named(gather, address) : 0;
    if (location)
        gather_name(gather, location,
                    gather_function(gather, gather_string(gather, name.at, name.length),
                                    gather_string(gather, file.at, file.length)),
                    line);
}

bool text_is_comment(struct text line)
{
    return line.length == 0 || *line.at == '#';
}

/* ---- Values ---- */

static int64_t to_integer(double number)
{
    return number >= 9223372036854775807.0    ? INT64_MAX
           : number <= -9223372036854775808.0 ? INT64_MIN
                                              : (int64_t)number;
}

void text_scale(int64_t *count, int64_t *size, int64_t rate)
{
    double scale;

    if (*count == 0 || *size == 0) {
        *count = *size = 0;
        return;
    }
    if (rate <= 1)
        return;
    scale = 1 / (1 - exp(-((double)*size / (double)*count) / (double)rate));
    *count = to_integer((double)*count * scale);
    *size = to_integer((double)*size * scale);
}

/* ---- Mappings ---- */

bool text_is_map_start(struct text line)
{
    return text_contains(line, "--- Memory map: ---") || text_contains(line, "MAPPED_LIBRARIES:");
}

/* "$build/lib.so", where a line said "build=/usr".  */
struct attribute {
    uint32_t name, value; /* strings */
};

struct maps {
    struct gather *gather;
    struct attribute attributes[16];
    size_t attribute_count;
};

static struct text get_string(const struct gather *gather, uint32_t string)
{
    struct text text = { .at = NULL };

    text.at = base_texts_get(&gather->strings, string + 1, &text.length);
    return text;
}

static uint32_t file_name(struct maps *maps, struct text file)
{
    char whole[4096];

    for (size_t i = 0; i < maps->attribute_count && text_begins(file, "$"); i++) {
        struct text name = get_string(maps->gather, maps->attributes[i].name);
        struct text value = get_string(maps->gather, maps->attributes[i].value);

        if (file.length - 1 < name.length || memcmp(file.at + 1, name.at, name.length) != 0 ||
            file.length - 1 - name.length + value.length > sizeof whole)
            continue;
        memcpy(whole, value.at, value.length);
        memcpy(whole + value.length, file.at + 1 + name.length, file.length - 1 - name.length);
        return gather_string(maps->gather, whole, file.length - 1 - name.length + value.length);
    }
    return gather_string(maps->gather, file.at, file.length);
}

static bool is_permission(struct text token)
{
    for (size_t i = 0; i < token.length; i++)
        if (!strchr("-rwxps", token.at[i]))
            return false;
    return token.length >= 3 && token.length <= 5;
}

/* "(@1000)".  */
static bool take_at_offset(struct text *line, uint64_t *offset)
{
    struct text at = *line;

    text_skip_blanks(&at);
    if (!text_take(&at, "(@") || !text_take_hex(&at, offset) || !text_take(&at, ")"))
        return false;
    *line = at;
    return true;
}

/* What follows the permissions in /proc/PID/maps: "00001000 08:01 1234 /bin/prog".  */
static bool take_proc_rest(struct text line, uint64_t *offset, struct text *file)
{
    uint64_t number;

    text_skip_blanks(&line);
    if (!text_take_hex(&line, offset))
        return false;
    text_skip_blanks(&line);
    if (!text_take_hex(&line, &number) || !text_take(&line, ":") || !text_take_hex(&line, &number))
        return false;
    text_skip_blanks(&line);
    if (!text_take_number(&line, &number))
        return false;
    *file = text_trim(line);
    return true;
}

/* "400000-408000: /bin/prog (@1000) b0b1", "400000-408000 r-xp 00001000 08:01 1234 /bin/prog".  */
static void take_mapping(struct maps *maps, struct text line)
{
    struct profile_pprof_mapping mapping = { .start = 0 };
    struct text file = { .at = "" }, build_id, rest;

    if (!text_take_hex(&line, &mapping.start) || !(text_take(&line, "-") || text_begins(line, " ")))
        return;
    text_skip_blanks(&line);
    if (!text_take_hex(&line, &mapping.limit) || mapping.limit <= mapping.start)
        return;
    (void)text_take(&line, ":");
    text_skip_blanks(&line);
    rest = line;
    if (is_permission(text_take_token(&rest))) {
        if (!memchr(line.at, 'x', (size_t)(rest.at - line.at)))
            return; /* no code */
        line = rest;
    }
    if (!take_proc_rest(line, &mapping.file_offset, &file)) {
        text_skip_blanks(&line);
        if (!text_begins(line, "(@"))
            file = text_take_token(&line);
        (void)take_at_offset(&line, &mapping.file_offset);
        text_skip_blanks(&line);
        build_id = text_take_token(&line);
        mapping.build_id = gather_string(maps->gather, build_id.at, build_id.length);
    }
    mapping.filename = file_name(maps, file);
    if (maps->gather->mapping_count < UINT16_MAX)
        (void)gather_mapping(maps->gather, &mapping);
}

static bool take_attribute(struct maps *maps, struct text line)
{
    const char *equals = memchr(line.at, '=', line.length);
    struct text name, value;

    if (!equals)
        return false;
    name = text_trim(text_of(line.at, (size_t)(equals - line.at)));
    value = text_trim(text_of(equals + 1, line.length - (size_t)(equals - line.at) - 1));
    if (name.length == 0 ||
        maps->attribute_count == sizeof maps->attributes / sizeof *maps->attributes)
        return false;
    maps->attributes[maps->attribute_count++] =
        (struct attribute){ gather_string(maps->gather, name.at, name.length),
                            gather_string(maps->gather, value.at, value.length) };
    return true;
}

void text_read_maps(struct gather *gather, bool is_map)
{
    struct maps maps = { .gather = gather };
    const char *at;
    size_t length;

    while (gather_line(gather, &at, &length)) {
        struct text line = text_of(at, length);

        if (!is_map)
            is_map = text_is_map_start(line);
        else if (!take_attribute(&maps, line))
            take_mapping(&maps, line);
    }
}

/* ---- Java ---- */

/* The number of bytes before the last word, which begins with "(".  */
static size_t before_parenthesis(struct text line)
{
    for (size_t i = line.length; i > 1; i--)
        if (line.at[i - 1] == '(' && is_blank(line.at[i - 2]))
            return i - 1;
    return line.length;
}

/* "Word.java:17", or a library, of which the name without folders is enough.  */
static struct text java_file(struct text place, int64_t *line)
{
    struct text file = split_line(place, line);

    for (size_t i = file.length; i > 0 && file.length == place.length; i--)
        if (file.at[i - 1] == '/')
            return text_of(file.at + i, file.length - i);
    return file;
}

/* "0x0000000d com.example.Word.count (Word.java:17)", "0x7 __read_nocancel (/lib/libc.so.6)".  */
static void take_java_name(struct gather *gather, struct text line)
{
    struct text name, file = { .at = "" };
    uint64_t address;
    int64_t number = 0;
    uint32_t location;
    size_t before;

    if (!text_begins(line, "0x") || !text_take_hex(&line, &address))
        return;
    line = text_trim(line);
    before = before_parenthesis(line);
    name = text_trim(text_of(line.at, before));
    if (before < line.length && line.at[line.length - 1] == ')')
        file = java_file(text_of(line.at + before + 1, line.length - before - 2), &number);
    else if (text_contains(line, "generated stub/JIT"))
        name = text_of("STUB", 4);
    location = base_pairs_find(&gather->location_keys, address, 0);
    if (!location || gather->locations[location - 1].line_count)
        return; /* of no sample */
    gather_name(gather, location,
                gather_function(gather, gather_string(gather, name.at, name.length),
                                gather_string(gather, file.at, file.length)),
                number);
}

void text_read_java_names(struct gather *gather)
{
    const char *at;
    size_t length;

    while (gather_line(gather, &at, &length))
        take_java_name(gather, text_of(at, length));
    for (size_t i = 0; i < gather->location_count; i++)
        gather->locations[i].address = 0; /* they were numbers, and no addresses */
}
