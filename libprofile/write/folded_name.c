#include <fxt/profile.h>

#include <stdbool.h>
#include <string.h>

static bool is_blank(char c)
{
    return (unsigned char)c <= ' ' || c == 0x7f;
}

static bool is_of_number(char c)
{
    return (c >= '0' && c <= '9') || c == '.';
}

size_t profile_folded_name(char *bytes, size_t length)
{
    size_t kept = 0;
    size_t digits;

    for (size_t i = 0; i < length; i++) {
        char c = bytes[i];

        if (is_blank(c))
            c = ' ';
        if (c == ' ' && kept == 0)
            continue;
        bytes[kept++] = c == ';' ? ':' : c;
    }
    while (kept > 0 && bytes[kept - 1] == ' ')
        kept--;
    for (digits = kept; digits > 0 && is_of_number(bytes[digits - 1]);)
        digits--;
    if (digits > 0 && digits < kept && bytes[digits - 1] == ' ')
        bytes[digits - 1] = '_';
    return kept;
}
