/* What the durable buffer holds: strings by content, threads, names; and the categories.  */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libtrace/engine.h"

#define MOST_STRINGS 0x7fffu
#define MOST_THREADS 0xffu
#define SLOTS        (1u << 16)
#define TEXT_BYTES   (2u << 20) /* no durable buffer holds more */
#define MOST_BYTES   32000u
#define LIST_BYTES   (1u << 20) /* 5000 categories of 100 bytes, twice */

struct string {
    uint32_t hash;
    uint32_t offset; /* in text */
    uint16_t length;
};

static struct {
    uint32_t number;
    uint32_t strings, threads; /* indices given out */
    size_t text_used;
    /* One mapping; what is not used costs nothing.  */
    char *text;
    uint16_t *slots; /* indices; 0: free */
    struct string *entries;
    char *categories[2]; /* of the session, and of the start */
    size_t category_count[2];
    bool all;
    struct {
        uint64_t process, thread;
    } thread_table[MOST_THREADS + 1];
} tables;

bool trace_tables_setup(void)
{
    size_t slots = SLOTS * sizeof *tables.slots;
    size_t entries = (MOST_STRINGS + 1) * sizeof *tables.entries;
    char *memory;

    if (tables.text)
        return true;
    memory = mmap(NULL, TEXT_BYTES + slots + entries + 2 * (size_t)LIST_BYTES,
                  PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    tables.text = memory;
    tables.slots = (uint16_t *)(void *)(memory + TEXT_BYTES);
    tables.entries = (struct string *)(void *)(memory + TEXT_BYTES + slots);
    tables.categories[0] = memory + TEXT_BYTES + slots + entries;
    tables.categories[1] = tables.categories[0] + LIST_BYTES;
    return true;
}

uint32_t trace_tables_number(void)
{
    return tables.number;
}

void trace_tables_clear(void)
{
    tables.number++;
    tables.strings = tables.threads = 0;
    tables.text_used = 0;
    memset(tables.slots, 0, SLOTS * sizeof *tables.slots);
}

/* ---- Strings ---- */

static uint32_t hash_of(const char *text, size_t length)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash;
}

/* The slot of the string, or the free one where it belongs.  */
static uint16_t *find(const char *text, size_t length, uint32_t hash)
{
    uint32_t slot = hash;

    for (;; slot++) {
        uint16_t index = tables.slots[slot % SLOTS];
        const struct string *entry = &tables.entries[index];

        if (index == 0 || (entry->hash == hash && entry->length == length &&
                           memcmp(tables.text + entry->offset, text, length) == 0))
            return &tables.slots[slot % SLOTS];
    }
}

static uint64_t words_of(size_t bytes)
{
    return (bytes + 7) / 8;
}

/* The record's memory is static: the lock is held.  */
static uint64_t record[TRACE_WORDS];

static void put_text(uint64_t *words, const char *text, size_t length)
{
    if (length > 0)
        words[words_of(length) - 1] = 0;
    memcpy(words, text, length);
}

uint16_t trace_tables_string(const char *text, size_t length)
{
    uint32_t hash = hash_of(text, length);
    uint64_t words = 1 + words_of(length);
    uint16_t *slot;

    if (length == 0 || length > MOST_BYTES)
        return 0;
    slot = find(text, length, hash);
    if (*slot != 0)
        return *slot;
    if (tables.strings == MOST_STRINGS || length > TEXT_BYTES - tables.text_used)
        return 0;
    record[0] = 2 | words << 4 | (uint64_t)(tables.strings + 1) << 16 | (uint64_t)length << 32;
    put_text(record + 1, text, length);
    if (!trace_buffer_put_durable(&trace_buffer, record, words))
        return 0;
    tables.strings++;
    tables.entries[tables.strings] = (struct string){ .hash = hash,
                                                      .offset = (uint32_t)tables.text_used,
                                                      .length = (uint16_t)length };
    memcpy(tables.text + tables.text_used, text, length);
    tables.text_used += length;
    *slot = (uint16_t)tables.strings;
    return *slot;
}

/* ---- Threads ---- */

uint32_t trace_tables_thread(uint64_t process, uint64_t thread, bool *is_new)
{
    if (is_new)
        *is_new = false;
    for (uint32_t i = 1; i <= tables.threads; i++)
        if (tables.thread_table[i].process == process && tables.thread_table[i].thread == thread)
            return i;
    if (tables.threads == MOST_THREADS)
        return 0;
    record[0] = 3 | 3 << 4 | (uint64_t)(tables.threads + 1) << 16;
    record[1] = process;
    record[2] = thread;
    if (!trace_buffer_put_durable(&trace_buffer, record, 3))
        return 0;
    tables.threads++;
    tables.thread_table[tables.threads].process = process;
    tables.thread_table[tables.threads].thread = thread;
    if (is_new)
        *is_new = true;
    return tables.threads;
}

void trace_tables_name_process(void)
{
    const char *name = program_invocation_short_name ? program_invocation_short_name : "";
    size_t length = strnlen(name, 100);
    uint64_t words = 2 + words_of(length);

    record[0] = 7 | words << 4 | (uint64_t)TRACE_OBJECT_PROCESS << 16 |
                (length > 0 ? (0x8000 | (uint64_t)length) << 24 : 0);
    record[1] = (uint64_t)getpid();
    put_text(record + 2, name, length);
    (void)trace_buffer_put_durable(&trace_buffer, record, words);
}

void trace_tables_name_thread(uint64_t process, uint64_t thread, const char *name)
{
    uint64_t key = trace_tables_string("process", 7);
    size_t length = strnlen(name, 100);
    uint64_t words = 2 + words_of(length);

    if (key == 0)
        return;
    record[0] = 7 | (words + 2) << 4 | (uint64_t)TRACE_OBJECT_THREAD << 16 |
                (length > 0 ? (0x8000 | (uint64_t)length) << 24 : 0) | UINT64_C(1) << 40;
    record[1] = thread;
    put_text(record + 2, name, length);
    record[words] = TRACE_ARG_KOID | 2 << 4 | key << 16;
    record[words + 1] = process;
    (void)trace_buffer_put_durable(&trace_buffer, record, words + 2);
}

/* ---- Categories ---- */

bool trace_categories_set(const struct trace_categories *categories, bool additional)
{
    const char *text = categories ? categories->text : NULL;
    size_t count = categories ? categories->count : 0, bytes = 0;

    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(text + bytes) + 1;

        if (length > LIST_BYTES - bytes)
            return false;
        bytes += length;
    }
    if (bytes > 0)
        memcpy(tables.categories[additional], text, bytes);
    tables.category_count[additional] = count;
    if (!additional)
        tables.all = count == 0;
    return true;
}

/* An entry that ends in * is a prefix; an empty one matches nothing.  */
static bool matches(const char *entry, const char *category)
{
    size_t length = strlen(entry);

    if (length == 0)
        return false;
    if (entry[length - 1] == '*')
        return strncmp(entry, category, length - 1) == 0;
    return strcmp(entry, category) == 0;
}

bool trace_categories_match(const char *category)
{
    if (category[0] == '\0')
        return false;
    if (tables.all)
        return true;
    for (unsigned list = 0; list < 2; list++) {
        const char *entry = tables.categories[list];

        for (size_t i = 0; i < tables.category_count[list]; i++) {
            if (matches(entry, category))
                return true;
            entry += strlen(entry) + 1;
        }
    }
    return false;
}
