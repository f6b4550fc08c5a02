/* strings.c - errors, and strings that are stored once.  */
#include "libsymbolize/symbolize_internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

#define STRINGS_LEAST    (UINT64_C(192) << 20)
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
    if (length < 0)
        return NULL;
    base_account_adopt(text);
    return text;
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
    bool forced = base_account_force(true); /* names have a limit of their own, within the other */
    number = base_texts_add(&strings->texts, bytes, length, NULL);
    (void)base_account_force(forced);
    return number ? strings->texts.items[number - 1].bytes : NULL;
}

static uint64_t bytes_used(const struct base_texts *texts)
{
    size_t slots = texts->index.slots ? texts->index.mask + 1 : 0;

    return texts->arena.total + texts->capacity * sizeof *texts->items +
           slots * sizeof *texts->index.slots;
}

const char *sym_strings_intern(struct sym_strings *strings, const char *bytes, size_t length)
{
    uint64_t limit = strings->limit ? strings->limit : STRINGS_LEAST;
    uint64_t used = bytes_used(&strings->texts);

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
    base_free(joined);
    return interned;
}

void sym_strings_release(struct sym_strings *strings)
{
    base_texts_release(&strings->texts);
}
