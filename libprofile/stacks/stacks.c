/* stacks.c - strings, modules and call sites, each stored once.  Frames are in stack_frames.c.  */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "libprofile/stacks/stacks.h"

/* Ids are 32 bits wide and 0 means none; one is kept free so that a count of ids fits as well.  */
#define MAX_ID (UINT32_MAX - 1)

enum profile_status profile_stacks_open(struct profile_stacks **out, struct profile_error *error)
{
    struct profile_stacks *stacks = calloc(1, sizeof *stacks);

    if (!stacks)
        return profile_no_memory(error);
    *out = stacks;
    return PROFILE_OK;
}

void profile_stacks_close(struct profile_stacks *stacks)
{
    if (!stacks)
        return;
    base_index_release(&stacks->string_index);
    base_index_release(&stacks->module_index);
    base_index_release(&stacks->frame_index);
    base_index_release(&stacks->callsite_index);
    free(stacks->strings);
    free(stacks->modules);
    free(stacks->frames);
    free(stacks->callsites);
    base_arena_release(&stacks->arena);
    free(stacks);
}

enum profile_status stacks_reserve(void **items, size_t *capacity, size_t count, size_t size,
                                   struct base_index *index, const char *what,
                                   struct profile_error *error)
{
    if (count >= MAX_ID)
        return profile_fail(error, PROFILE_LIMIT, "more than %u distinct %s", MAX_ID, what);
    if (!base_make_room(&*items, capacity, count + 1, size))
        return profile_no_memory(error);
    return base_index_reserve(index) ? PROFILE_OK : profile_no_memory(error);
}

/* ---- Strings ---- */

static profile_id find_string(const struct profile_stacks *stacks, const char *bytes, size_t length,
                              uint64_t hash)
{
    size_t probe;
    uint32_t id;

    for (id = base_index_first(&stacks->string_index, hash, &probe); id;
         id = base_index_next(&stacks->string_index, hash, &probe)) {
        const struct stacks_string *string = &stacks->strings[id - 1];

        if (string->length == length && memcmp(string->bytes, bytes, length) == 0)
            return id;
    }
    return 0;
}

profile_id profile_stacks_string_count(const struct profile_stacks *stacks)
{
    return (profile_id)stacks->string_count;
}

enum profile_status profile_stacks_string(struct profile_stacks *stacks, const char *bytes,
                                          size_t length, profile_id *out,
                                          struct profile_error *error)
{
    enum profile_status status;
    uint64_t hash;
    char *copy;

    *out = 0;
    if (length == 0)
        return PROFILE_OK;
    hash = base_hash_bytes(bytes, length);
    *out = find_string(stacks, bytes, length, hash);
    if (*out)
        return PROFILE_OK;

    void *items = stacks->strings;
    status = stacks_reserve(&items, &stacks->string_capacity, stacks->string_count,
                            sizeof *stacks->strings, &stacks->string_index, "strings", error);
    stacks->strings = items;
    if (status != PROFILE_OK)
        return status;
    copy = base_arena_text(&stacks->arena, bytes, length);
    if (!copy)
        return profile_no_memory(error);
    stacks->strings[stacks->string_count++] = (struct stacks_string){ copy, length };
    *out = (profile_id)stacks->string_count;
    base_index_add(&stacks->string_index, hash, *out);
    return PROFILE_OK;
}

const char *profile_stacks_text(const struct profile_stacks *stacks, profile_id string,
                                size_t *length)
{
    assert(string <= stacks->string_count);
    if (length)
        *length = string ? stacks->strings[string - 1].length : 0;
    return string ? stacks->strings[string - 1].bytes : "";
}

/* ---- Modules ---- */

static bool same_module(const struct profile_module *a, const struct profile_module *b)
{
    return a->name == b->name && a->build_id_length == b->build_id_length &&
           memcmp(a->build_id, b->build_id, a->build_id_length) == 0;
}

/* A module is its name and its build ID together: two builds under one name stay apart, and so do
 * two names of one build, since both are worth showing.  */
enum profile_status profile_stacks_module(struct profile_stacks *stacks,
                                          const struct profile_module *module, profile_id *out,
                                          struct profile_error *error)
{
    struct profile_module copy = { .name = module->name };
    enum profile_status status;
    uint64_t hash;
    size_t probe;

    copy.build_id_length = module->build_id_length;
    if (copy.build_id_length > sizeof copy.build_id)
        copy.build_id_length = sizeof copy.build_id;
    memcpy(copy.build_id, module->build_id, copy.build_id_length);
    hash = base_hash(base_hash_bytes(copy.build_id, copy.build_id_length), copy.name);
    for (*out = base_index_first(&stacks->module_index, hash, &probe); *out;
         *out = base_index_next(&stacks->module_index, hash, &probe))
        if (same_module(&stacks->modules[*out - 1], &copy))
            return PROFILE_OK;

    void *items = stacks->modules;
    status = stacks_reserve(&items, &stacks->module_capacity, stacks->module_count,
                            sizeof *stacks->modules, &stacks->module_index, "modules", error);
    stacks->modules = items;
    if (status != PROFILE_OK)
        return status;
    stacks->modules[stacks->module_count++] = copy;
    *out = (profile_id)stacks->module_count;
    base_index_add(&stacks->module_index, hash, *out);
    return PROFILE_OK;
}

profile_id profile_stacks_module_count(const struct profile_stacks *stacks)
{
    return (profile_id)stacks->module_count;
}

struct profile_module profile_stacks_get_module(const struct profile_stacks *stacks,
                                                profile_id module)
{
    assert(module <= stacks->module_count);
    return module ? stacks->modules[module - 1] : (struct profile_module){ .name = 0 };
}

/* ---- Call sites ---- */

enum profile_status profile_stacks_callsite(struct profile_stacks *stacks, profile_id parent,
                                            profile_id frame, profile_id *out,
                                            struct profile_error *error)
{
    uint64_t hash = base_hash(parent, frame);
    enum profile_status status;
    size_t probe;

    assert(parent <= stacks->callsite_count && frame >= 1 && frame <= stacks->frame_count);
    for (*out = base_index_first(&stacks->callsite_index, hash, &probe); *out;
         *out = base_index_next(&stacks->callsite_index, hash, &probe)) {
        const struct stacks_callsite *callsite = &stacks->callsites[*out - 1];

        if (callsite->parent == parent && callsite->frame == frame)
            return PROFILE_OK;
    }

    void *items = stacks->callsites;
    status = stacks_reserve(&items, &stacks->callsite_capacity, stacks->callsite_count,
                            sizeof *stacks->callsites, &stacks->callsite_index, "call sites",
                            error);
    stacks->callsites = items;
    if (status != PROFILE_OK)
        return status;
    stacks->callsites[stacks->callsite_count++] = (struct stacks_callsite){
        .parent = parent,
        .frame = frame,
        .depth = parent ? stacks->callsites[parent - 1].depth + 1 : 0,
    };
    *out = (profile_id)stacks->callsite_count;
    base_index_add(&stacks->callsite_index, hash, *out);
    return PROFILE_OK;
}

profile_id profile_stacks_callsite_count(const struct profile_stacks *stacks)
{
    return (profile_id)stacks->callsite_count;
}

struct profile_callsite profile_stacks_get_callsite(const struct profile_stacks *stacks,
                                                    profile_id callsite)
{
    const struct stacks_callsite *found;

    assert(callsite <= stacks->callsite_count);
    if (callsite == 0)
        return (struct profile_callsite){ .parent = 0 };
    found = &stacks->callsites[callsite - 1];
    return (struct profile_callsite){ found->parent, found->frame, found->depth };
}
