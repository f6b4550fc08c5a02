/* strings.c - errors, growing arrays, and strings that are stored once. */
#include "libsymbolize/internal.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK_BYTES = 64 << 10,
    FIRST_SLOTS = 256,
};

/* A module's names and paths; a gigabyte of them is a hostile object.  */
static const uint64_t STRINGS_LIMIT = UINT64_C(1) << 30;

struct sym_chunk {
    struct sym_chunk *next;
    size_t used, capacity;
    char bytes[];
};

enum sym_status sym_fail(struct sym_error *error, enum sym_status status, const char *format, ...)
{
    va_list arguments;

    if (!error)
        return status;
    error->status = status;
    error->system_errno = 0;
    va_start(arguments, format);
    if (vsnprintf(error->message, sizeof error->message, format, arguments) < 0)
        error->message[0] = '\0';
    va_end(arguments);
    return status;
}

void *sym_grow(void *items, size_t *capacity, size_t count, size_t item_size)
{
    size_t wanted, bytes;

    if (count < *capacity)
        return items;
    if (__builtin_mul_overflow(*capacity, 2, &wanted))
        return NULL;
    if (wanted < 16)
        wanted = 16;
    if (__builtin_mul_overflow(wanted, item_size, &bytes))
        return NULL;
    void *grown = realloc(items, bytes);
    if (grown)
        *capacity = wanted;
    return grown;
}

char *sym_format(const char *format, ...)
{
    va_list arguments;
    char *text = NULL;

    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0)
        return NULL;
    text = malloc((size_t)length + 1);
    if (!text)
        return NULL;
    va_start(arguments, format);
    length = vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    if (length < 0)
        text[0] = '\0';
    return text;
}

/* FNV-1a.  The table is one module's: a hostile module that makes it slow hurts itself.  */
static size_t hash_bytes(const char *bytes, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)bytes[i]) * UINT64_C(0x100000001b3);
    return (size_t)(hash ^ (hash >> 32));
}

static bool grow_slots(struct sym_strings *strings)
{
    size_t slot_count = strings->slot_count ? strings->slot_count * 2 : FIRST_SLOTS;
    const char **slots = calloc(slot_count, sizeof *slots);

    if (!slots)
        return false;
    for (size_t i = 0; i < strings->slot_count; i++) {
        const char *string = strings->slots[i];
        if (!string)
            continue;
        size_t at = hash_bytes(string, strlen(string)) & (slot_count - 1);
        while (slots[at])
            at = (at + 1) & (slot_count - 1);
        slots[at] = string;
    }
    free(strings->slots);
    strings->slots = slots;
    strings->slot_count = slot_count;
    return true;
}

/* Room for size bytes in a chunk.  */
static char *take_bytes(struct sym_strings *strings, size_t size)
{
    struct sym_chunk *chunk = strings->chunks;

    if (size > STRINGS_LIMIT - strings->total_bytes)
        return NULL;
    if (!chunk || size > chunk->capacity - chunk->used) {
        size_t capacity = size > CHUNK_BYTES ? size : CHUNK_BYTES;
        chunk = malloc(sizeof *chunk + capacity);
        if (!chunk)
            return NULL;
        *chunk = (struct sym_chunk){ .next = strings->chunks, .capacity = capacity };
        strings->chunks = chunk;
    }
    char *bytes = chunk->bytes + chunk->used;
    chunk->used += size;
    strings->total_bytes += size;
    return bytes;
}

const char *sym_strings_intern(struct sym_strings *strings, const char *bytes, size_t length)
{
    if (length == 0)
        return "";
    if (strings->count >= strings->slot_count / 2 && !grow_slots(strings))
        return NULL;

    size_t at = hash_bytes(bytes, length) & (strings->slot_count - 1);
    for (; strings->slots[at]; at = (at + 1) & (strings->slot_count - 1)) {
        const char *string = strings->slots[at];
        if (strncmp(string, bytes, length) == 0 && string[length] == '\0')
            return string;
    }
    char *copy = take_bytes(strings, length + 1);
    if (!copy)
        return NULL;
    memcpy(copy, bytes, length);
    copy[length] = '\0';
    strings->slots[at] = copy;
    strings->count++;
    return copy;
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
    while (strings->chunks) {
        struct sym_chunk *next = strings->chunks->next;
        free(strings->chunks);
        strings->chunks = next;
    }
    free(strings->slots);
    *strings = (struct sym_strings){ 0 };
}
