/* strings.c - errors, and strings that are stored once.  */
#include "libsymbolize/symbolize_internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

#define STRINGS_LEAST    (UINT64_C(256) << 20)
#define STRINGS_PER_BYTE 16u

enum sym_status sym_fail(struct sym_error *error, enum sym_status status, const char *format, ...)
{
    BASE_FAIL(error, status, format);
    return status;
}

char *sym_format(const char *format, ...)
{
    va_list arguments;
    char *text = NULL;
    int length;

    va_start(arguments, format);
    length = vasprintf(&text, format, arguments);
    va_end(arguments);
    return length < 0 ? NULL : text;
}

uint64_t sym_strings_limit(uint64_t file_bytes)
{
    return STRINGS_LEAST + STRINGS_PER_BYTE * file_bytes;
}

const char *sym_strings_keep(struct sym_strings *strings, const char *bytes, size_t length)
{
    uint32_t number;

    if (length == 0)
        return "";
    number = base_texts_add(&strings->texts, bytes, length, NULL);
    return number ? strings->texts.items[number - 1].bytes : NULL;
}

const char *sym_strings_intern(struct sym_strings *strings, const char *bytes, size_t length)
{
    uint64_t limit = strings->limit ? strings->limit : STRINGS_LEAST;
    uint64_t used = strings->texts.arena.total;

    if (used > limit || length > limit - used) {
        strings->is_full |= base_texts_find(&strings->texts, bytes, length) == 0;
        if (strings->is_full)
            return "";
    }
    return sym_strings_keep(strings, bytes, length);
}

const char *sym_strings_join(struct sym_strings *strings, const char *directory, const char *name)
{
    size_t length = strlen(directory);

    if (name[0] == '/' || length == 0)
        return sym_strings_intern(strings, name, strlen(name));
    if (name[0] == '\0')
        return sym_strings_intern(strings, directory, length);
    char *joined = sym_format("%s%s%s", directory, directory[length - 1] == '/' ? "" : "/", name);
    if (!joined)
        return NULL;
    const char *interned = sym_strings_intern(strings, joined, strlen(joined));
    free(joined);
    return interned;
}

void sym_strings_release(struct sym_strings *strings)
{
    base_texts_release(&strings->texts);
}
