/* stacks.h - how struct profile_stacks keeps its things.  Private to libprofile/stacks.  */
#ifndef PROFILE_STACKS_STACKS_H
#define PROFILE_STACKS_STACKS_H

#include "libprofile/profile_internal.h"

struct stacks_string {
    const char *bytes; /* in the arena, NUL-terminated */
    size_t length;
};

struct stacks_callsite {
    profile_id parent;
    profile_id frame;
    uint32_t depth;
};

/* Arrays hold id i at [i - 1].  */
struct profile_stacks {
    struct base_arena arena; /* bytes of strings, lines of frames */

    struct stacks_string *strings;
    size_t string_count, string_capacity;
    struct base_index string_index;

    struct profile_module *modules;
    size_t module_count, module_capacity;
    struct base_index module_index;

    struct profile_frame *frames;
    size_t frame_count, frame_capacity;
    struct base_index frame_index;

    struct stacks_callsite *callsites;
    size_t callsite_count, callsite_capacity;
    struct base_index callsite_index;
};

/* Make room for one more item in *items and in index.  The id it will have is *count + 1.  */
enum profile_status stacks_reserve(void **items, size_t *capacity, size_t count, size_t size,
                                   struct base_index *index, const char *what,
                                   struct profile_error *error);

#endif /* PROFILE_STACKS_STACKS_H */
