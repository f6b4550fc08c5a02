/* compiler.c - what a file says it was compiled with: the texts of its .comment section.  */
#include <stdio.h>
#include <string.h>

#include "libsymbolize/elf_object.h"

/* Whether the length bytes at text are one of the parts of joined, which "; " separates.  */
static bool is_there(const char *joined, const char *text, size_t length)
{
    for (const char *part = joined; *part;) {
        const char *end = strstr(part, "; ");
        size_t size = end ? (size_t)(end - part) : strlen(part);

        if (size == length && memcmp(part, text, length) == 0)
            return true;
        part += size + (end ? 2 : 0);
    }
    return false;
}

/* Append one text, unless it is there or does not fit as a whole.  */
static void join(char *joined, size_t size, const char *text, size_t length)
{
    size_t used = strlen(joined);

    if (length == 0 || is_there(joined, text, length) || length > size - used ||
        used + length + 3 > size)
        return;
    (void)snprintf(joined + used, size - used, "%s%.*s", used ? "; " : "", (int)length, text);
}

enum sym_status sym_compiler(const char *path, char *text, size_t size, struct sym_error *error)
{
    const struct sym_elf_section *section;
    struct sym_object *object = NULL;
    struct sym_bytes bytes;

    if (!path || !text || size == 0)
        return sym_fail(error, SYM_INVALID, "no path, or no room for a text");
    text[0] = '\0';
    enum sym_status status = sym_object_open(path, SYM_OBJECT_MAIN, &object, error);
    if (status != SYM_OK)
        return status;
    section = sym_object_by_name(object, ".comment");
    bytes = section ? sym_object_raw(object, section) : (struct sym_bytes){ 0 };
    for (size_t at = 0; at < bytes.size;) {
        const char *start = (const char *)bytes.data + at;
        size_t length = strnlen(start, bytes.size - at);

        join(text, size, start, length);
        at += length + 1;
    }
    sym_object_free(object);
    return text[0] ? SYM_OK : sym_fail(error, SYM_NOT_FOUND, "%s: says no compiler", path);
}
