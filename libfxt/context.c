/* Providers and what they registered (section 1.5).  */
#include <stdlib.h>
#include <string.h>

#include "libfxt/fxt_internal.h"

#define DEFAULT_TICKS_PER_SECOND UINT64_C(1000000000)
#define THREAD_SLOTS             256u

void fxt_contexts_init(struct fxt_contexts *contexts, uint64_t max_bytes)
{
    *contexts = (struct fxt_contexts){ .max_bytes = max_bytes };
    contexts->initial.provider.ticks_per_second = DEFAULT_TICKS_PER_SECOND;
    contexts->initial.provider.name.bytes = "";
    fxt_clock_set(&contexts->initial.clock, &contexts->initial.provider);
    contexts->overflow.incomplete = true;
    contexts->current = &contexts->initial;
}

/* Allocated by fxt_contexts_set_string(); records see it const.  The text of index 0 is not.  */
static char *text_of(const struct fxt_string_slot *slot)
{
    return slot->capacity ? (char *)slot->string.bytes : NULL;
}

static void release_tables(struct fxt_context *context)
{
    for (size_t i = 0; i < context->string_count; i++)
        free(text_of(&context->strings[i]));
    free(context->strings);
    free(context->threads);
}

void fxt_contexts_release(struct fxt_contexts *contexts)
{
    for (size_t i = 0; i < contexts->bucket_count; i++) {
        if (!contexts->buckets[i])
            continue;
        release_tables(contexts->buckets[i]);
        free(contexts->buckets[i]);
    }
    free(contexts->buckets);
    release_tables(&contexts->initial);
}

/* Count bytes against the bound before they are allocated.  */
static bool reserve(struct fxt_contexts *contexts, uint64_t bytes)
{
    if (bytes > contexts->max_bytes - contexts->bytes)
        return false;
    contexts->bytes += bytes;
    return true;
}

/* The bucket that holds id, or the free one where it would go.  */
static struct fxt_context **find_bucket(struct fxt_context **buckets, size_t count, uint32_t id)
{
    size_t i = (id * UINT64_C(0x9e3779b97f4a7c15)) >> 32 & (count - 1);

    while (buckets[i] && buckets[i]->provider.id != id)
        i = (i + 1) & (count - 1);
    return &buckets[i];
}

static bool grow_buckets(struct fxt_contexts *contexts)
{
    size_t count = contexts->bucket_count ? 2 * contexts->bucket_count : 16;
    struct fxt_context **buckets = calloc(count, sizeof(struct fxt_context *));

    if (!buckets)
        return false;
    for (size_t i = 0; i < contexts->bucket_count; i++) {
        if (contexts->buckets[i])
            *find_bucket(buckets, count, contexts->buckets[i]->provider.id) = contexts->buckets[i];
    }
    free(contexts->buckets);
    contexts->buckets = buckets;
    contexts->bucket_count = count;
    return true;
}

/* Nameless, empty, with the clock of the default context.  */
static void start_provider(struct fxt_contexts *contexts, struct fxt_context *context, uint32_t id)
{
    context->provider = contexts->initial.provider;
    context->clock = contexts->initial.clock;
    context->known = (struct fxt_known){ 0 };
    context->provider.id = id;
    context->provider.name = (struct fxt_string){ .bytes = "" };
    /* It may have been here before, when there was no room for it.  */
    context->incomplete = contexts->overflowed;
}

/* The context for id, new if there is none; NULL with *result otherwise.  */
static struct fxt_context *find_or_create(struct fxt_contexts *contexts, uint32_t id,
                                          enum fxt_table_result *result)
{
    struct fxt_context **bucket;

    *result = FXT_TABLE_NO_MEMORY;
    if (4 * (contexts->used + 1) > 3 * contexts->bucket_count && !grow_buckets(contexts))
        return NULL;
    bucket = find_bucket(contexts->buckets, contexts->bucket_count, id);
    if (*bucket)
        return *bucket;
    if (!reserve(contexts, sizeof(struct fxt_context) + 3 * sizeof(void *))) {
        *result = FXT_TABLE_FULL;
        return NULL;
    }
    *bucket = calloc(1, sizeof **bucket);
    if (!*bucket)
        return NULL;
    start_provider(contexts, *bucket, id);
    contexts->used++;
    return *bucket;
}

/* The slot stays in the list of those in use.  */
static void drop_string(struct fxt_contexts *contexts, struct fxt_string_slot *slot)
{
    contexts->bytes -= slot->capacity;
    free(text_of(slot));
    slot->string = (struct fxt_string){ .bytes = NULL };
    slot->capacity = 0;
}

static void list_slot(struct fxt_context *context, unsigned index)
{
    struct fxt_string_slot *slot = &context->strings[index];

    if (slot->is_listed)
        return;
    slot->is_listed = true;
    slot->next_listed = context->first_listed;
    context->first_listed = (uint16_t)index;
}

/* Only what is in use: a trace can announce its provider with every other word.  */
static void drop_strings(struct fxt_contexts *contexts, struct fxt_context *context)
{
    while (context->first_listed) {
        struct fxt_string_slot *slot = &context->strings[context->first_listed];

        context->first_listed = slot->next_listed;
        drop_string(contexts, slot);
        slot->is_listed = false;
    }
}

/* Forget what the provider registered.  */
static void reset_provider(struct fxt_contexts *contexts, struct fxt_context *context)
{
    drop_strings(contexts, context);
    for (size_t i = 0; context->threads && i < THREAD_SLOTS; i++)
        context->threads[i].index = 0;
    start_provider(contexts, context, context->provider.id);
}

static enum fxt_table_result switch_context(struct fxt_contexts *contexts, uint32_t id, bool reset)
{
    enum fxt_table_result result;
    struct fxt_context *context = find_or_create(contexts, id, &result);

    if (!context) {
        if (result == FXT_TABLE_FULL) {
            contexts->overflowed = true;
            start_provider(contexts, &contexts->overflow, id);
            contexts->current = &contexts->overflow;
        }
        return result;
    }
    if (reset)
        reset_provider(contexts, context);
    contexts->current = context;
    return FXT_TABLE_OK;
}

void fxt_contexts_set_name(struct fxt_contexts *contexts, const uint8_t *bytes, size_t length)
{
    struct fxt_context *context = contexts->current;

    memcpy(context->name, bytes, length); /* an 8-bit length: fits */
    context->provider.name = (struct fxt_string){ .bytes = context->name,
                                                  .length = (uint32_t)length };
}

/* What the context registers cannot be kept.  From now on an entry of the default context could
 * stand for one of its own.  */
static enum fxt_table_result full(struct fxt_context *context)
{
    context->incomplete = true;
    return FXT_TABLE_FULL;
}

/* Make index a valid one of context's string table.  */
static enum fxt_table_result grow_strings(struct fxt_contexts *contexts,
                                          struct fxt_context *context, size_t index)
{
    size_t count = context->string_count ? context->string_count : 64;
    struct fxt_string_slot *strings;

    while (count <= index)
        count *= 2;
    if (!reserve(contexts, (count - context->string_count) * sizeof *strings))
        return full(context);
    strings = realloc(context->strings, count * sizeof *strings); /* count is at most 32,768 */
    if (!strings)
        return FXT_TABLE_NO_MEMORY;
    memset(strings + context->string_count, 0, (count - context->string_count) * sizeof *strings);
    strings[0].string.bytes = "";
    context->strings = strings;
    context->string_count = count;
    return FXT_TABLE_OK;
}

/* More than index may be known now, where what came before it came later.  Not looked for where
 * text was dropped for lack of room: whoever alternates that with what fits would have the whole
 * table looked through each time.  */
static void note_string(struct fxt_context *context, size_t index)
{
    size_t next = index;

    if (index != context->known.highest_string + 1)
        return;
    while (!context->incomplete && next + 1 < context->string_count &&
           context->strings[next + 1].string.bytes)
        next++;
    context->known.highest_string = (unsigned)next;
}

static void note_thread(struct fxt_context *context)
{
    unsigned next = context->known.highest_thread + 1;

    while (next < THREAD_SLOTS && context->threads[next].index)
        next++;
    context->known.highest_thread = next - 1;
}

/* What holds for the current context with its fallback.  */
static void refresh_known(struct fxt_contexts *contexts)
{
    const struct fxt_context *fallback = fxt_contexts_fallback(contexts);
    struct fxt_known *known = &contexts->known;

    *known = contexts->current->known;
    if (fallback && fallback->known.highest_string > known->highest_string)
        known->highest_string = fallback->known.highest_string;
    if (fallback && fallback->known.highest_thread > known->highest_thread)
        known->highest_thread = fallback->known.highest_thread;
}

/* magic-trace overwrites a hundred slots again and again: a slot's memory is used again when it
 * is large enough.  */
static enum fxt_table_result set_string(struct fxt_contexts *contexts, unsigned index,
                                        const uint8_t *bytes, uint32_t length)
{
    struct fxt_context *context = contexts->current;
    struct fxt_string_slot *slot;

    if (context == &contexts->overflow)
        return FXT_TABLE_FULL;
    if (index >= context->string_count) {
        enum fxt_table_result result = grow_strings(contexts, context, index);

        if (result != FXT_TABLE_OK)
            return result;
    }
    slot = &context->strings[index];
    if (!slot->string.bytes || slot->capacity < length) {
        uint32_t capacity = length < 16 ? 16 : length;
        char *room;

        drop_string(contexts, slot); /* also when there is no room: the old text would be wrong */
        if (context->known.highest_string >= index)
            context->known.highest_string = index - 1;
        if (!reserve(contexts, capacity))
            return full(context);
        room = malloc(capacity);
        if (!room)
            return FXT_TABLE_NO_MEMORY;
        slot->string = (struct fxt_string){ .bytes = room, .index = (uint16_t)index };
        slot->capacity = capacity;
        list_slot(context, index);
    }
    memcpy(text_of(slot), bytes, length);
    slot->string.length = length;
    note_string(context, index);
    return FXT_TABLE_OK;
}

static enum fxt_table_result set_thread(struct fxt_contexts *contexts, unsigned index,
                                        uint64_t process, uint64_t thread)
{
    struct fxt_context *context = contexts->current;

    if (context == &contexts->overflow)
        return FXT_TABLE_FULL;
    if (!context->threads) {
        if (!reserve(contexts, THREAD_SLOTS * sizeof *context->threads))
            return full(context);
        context->threads = calloc(THREAD_SLOTS, sizeof *context->threads);
        if (!context->threads)
            return FXT_TABLE_NO_MEMORY;
    }
    context->threads[index] =
        (struct fxt_thread){ .process = process, .thread = thread, .index = (uint8_t)index };
    note_thread(context);
    return FXT_TABLE_OK;
}

enum fxt_table_result fxt_contexts_switch(struct fxt_contexts *contexts, uint32_t id, bool reset)
{
    enum fxt_table_result result = switch_context(contexts, id, reset);

    refresh_known(contexts);
    return result;
}

enum fxt_table_result fxt_contexts_set_string(struct fxt_contexts *contexts, unsigned index,
                                              const uint8_t *bytes, uint32_t length)
{
    enum fxt_table_result result = set_string(contexts, index, bytes, length);

    refresh_known(contexts);
    return result;
}

enum fxt_table_result fxt_contexts_set_thread(struct fxt_contexts *contexts, unsigned index,
                                              uint64_t process, uint64_t thread)
{
    enum fxt_table_result result = set_thread(contexts, index, process, thread);

    refresh_known(contexts);
    return result;
}
