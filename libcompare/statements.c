/* statements.c - small files, line by line.  */
#include "libcompare/statements.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* ---- Lines ---- */

/* Where there is something else than UTF-8 without control characters: its line; 0: nowhere.  What
 * such a file says is printed, and must neither drive a terminal nor break XML.  */
static size_t strange_line(const struct statements *file)
{
    size_t line = 1, size;

    for (size_t i = 0; i < file->length; i += size) {
        unsigned char c = (unsigned char)file->bytes[i];

        size = base_utf8_character(file->bytes + i, file->length - i);
        line += c == '\n';
        if (size == 0 || c == 0x7f || (c < ' ' && !strchr("\t\r\n", c)) ||
            (size == 2 && c == 0xc2 && (unsigned char)file->bytes[i + 1] < 0xa0) ||
            (size == 3 && memcmp(file->bytes + i, "\xef\xbf", 2) == 0 &&
             (unsigned char)file->bytes[i + 2] >= 0xbe))
            return line;
    }
    return 0;
}

enum compare_status statements_open(struct statements *file, const char *name, const void *bytes,
                                    size_t length, size_t most, struct compare_error *error)
{
    char number[BASE_GROUPED_BYTES];
    size_t strange;

    *file = (struct statements){ .name = name, .length = length, .error = error };
    if (length > most)
        return compare_fail(error, COMPARE_MALFORMED, "%s: more than %s bytes", name,
                            base_grouped(most, number));
    if (length > 0 && memchr(bytes, '\0', length))
        return compare_fail(error, COMPARE_MALFORMED, "%s: not a text file", name);
    file->bytes = compare_array(length + 1, 1);
    if (!file->bytes)
        return compare_no_memory(error);
    if (length > 0)
        memcpy(file->bytes, bytes, length);
    strange = strange_line(file);
    if (strange == 0)
        return COMPARE_OK;
    statements_close(file);
    return compare_fail(error, COMPARE_MALFORMED, "%s:%zu: control characters, or not UTF-8", name,
                        strange);
}

void statements_close(struct statements *file)
{
    free(file->bytes);
    file->bytes = NULL;
}

char *statements_line(struct statements *file)
{
    char *line = file->bytes + file->at;
    size_t length;

    if (file->at >= file->length)
        return NULL;
    length = strcspn(line, "\n");
    file->at += length + 1;
    file->line++;
    while (length > 0 && is_blank(line[length - 1]))
        length--;
    line[length] = '\0';
    return line;
}

char *statements_next(struct statements *file)
{
    char *line;

    while ((line = statements_line(file)) != NULL) {
        while (is_blank(*line))
            line++;
        if (*line && *line != '#')
            return line;
    }
    return NULL;
}

enum compare_status statements_wrong(const struct statements *file, const char *format, ...)
{
    struct compare_error *error = file->error;
    va_list arguments;
    size_t used;

    (void)compare_fail(error, COMPARE_MALFORMED, "%s:%zu: ", file->name, file->line);
    if (!error)
        return COMPARE_MALFORMED;
    used = strlen(error->message);
    va_start(arguments, format);
    (void)vsnprintf(error->message + used, sizeof error->message - used, format, arguments);
    va_end(arguments);
    return COMPARE_MALFORMED;
}

/* ---- Words, patterns, numbers ---- */

char *statements_word(char **text)
{
    char *word = *text;
    char *end = word + strcspn(word, " \t");

    if (*end)
        *end++ = '\0';
    while (is_blank(*end))
        end++;
    *text = end;
    return word;
}

char *statements_last_word(char *text)
{
    size_t end = strlen(text), start;

    while (end > 0 && is_blank(text[end - 1]))
        end--;
    text[end] = '\0';
    start = end;
    while (start > 0 && !is_blank(text[start - 1]))
        start--;
    if (start > 0)
        text[start - 1] = '\0'; /* a blank */
    return text + start;
}

/* Where a '*' went too short, the last one takes one character more: linear memory, and at most
 * pattern times name steps.  */
static bool match_pattern(const char *pattern, const char *name)
{
    const char *star = NULL, *again = NULL;

    while (*name) {
        if (*pattern == '*') {
            star = pattern++;
            again = name;
        } else if (*pattern == '?' || (*pattern && *pattern == *name)) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star + 1;
            name = ++again;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

bool statements_number(const char *text, double *number, const char **rest)
{
    double scale = 1;
    const char *at = text;

    *number = 0;
    for (; *at >= '0' && *at <= '9'; at++)
        *number = *number * 10 + (*at - '0');
    if (at == text)
        return false;
    if (*at == '.')
        for (at++; *at >= '0' && *at <= '9'; at++) {
            scale *= 10;
            *number += (*at - '0') / scale;
        }
    *rest = at;
    return *number <= 1e18;
}

bool statements_match(const char *pattern, const struct compare_function *function, bool *failed)
{
    char *short_name;
    bool is_match;

    if (match_pattern(pattern, function->name))
        return true;
    short_name = profile_short_name(function->name, strlen(function->name));
    *failed |= !short_name;
    is_match = short_name && match_pattern(pattern, short_name);
    free(short_name);
    return is_match;
}
