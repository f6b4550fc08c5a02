#include "libstore/sql_text.h"

#include <string.h>
#include <strings.h>

bool sql_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || (unsigned char)c >= 0x80;
}

bool sql_is_word(const struct sql_word *word, const char *text)
{
    return word->length == strlen(text) && strncasecmp(word->at, text, word->length) == 0;
}

const char *sql_skip_quoted(const char *at, const char *end)
{
    const char close = *at == '[' ? ']' : *at;
    const char *found;

    if (at + 1 < end && at[0] == '-' && at[1] == '-') {
        found = memchr(at, '\n', (size_t)(end - at));
        return found ? found + 1 : end;
    }
    if (at + 1 < end && at[0] == '/' && at[1] == '*') {
        for (at += 2; at + 1 < end && !(at[0] == '*' && at[1] == '/'); at++)
            continue;
        return at + 1 < end ? at + 2 : end;
    }
    if (!strchr("'\"`[", *at))
        return NULL;
    found = memchr(at + 1, close, (size_t)(end - at - 1)); /* a doubled quote begins another one */
    return found ? found + 1 : end;
}

bool sql_is_comment(const char *at)
{
    return *at == '-' || *at == '/';
}
