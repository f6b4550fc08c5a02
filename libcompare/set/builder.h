/* builder.h - between the files that make a set: builder.c takes runs, frames.c names the functions
 * of frames, numbered_roots.c those of processes, match/ finds what was renamed, set_stacks.c adds
 * up.
 *
 * Each file keeps the first failure in the builder (builder_fail()) and returns false then.  */
#ifndef COMPARE_BUILDER_H
#define COMPARE_BUILDER_H

#include <fxt/compare_set.h>

#include "base/arena.h"
#include "base/numbering.h"
#include "libcompare/compare_internal.h"

/* The stacks of one run: values of call sites, which may repeat.  */
struct raw_stacks {
    struct raw_value {
        profile_id callsite;
        double value;
    } * items;
    size_t count, capacity;
};

struct compare_builder {
    struct compare_set set;
    struct base_arena arena;
    struct base_texts keys;      /* key number i is that of function i - 1 */
    struct base_texts strings;   /* every text of the set */
    struct base_texts raw_texts; /* what texts with escapes were made of */
    char *scratch;               /* of texts that are made */
    size_t scratch_capacity;
    size_t run_capacity, function_capacity, root_capacity, raw_text_capacity;
    size_t cost_capacity;    /* of the current run */
    struct raw_stacks *raws; /* of each run */
    size_t raw_capacity;
    struct profile *profile; /* stacks of all runs; NULL after the set was made */
    bool ignore_templates;
    bool is_finished;
    const char *type_label;     /* of the run that said the type first */
    struct compare_run no_run;  /* given out after a failure */
    struct compare_error error; /* the first failure */
};

#define NO_FUNCTION UINT32_MAX

static inline bool builder_is_ok(const struct compare_builder *builder)
{
    return builder->error.status == COMPARE_OK;
}

/* Keep a failure unless there was one before.  Returns false.  */
bool builder_fail(struct compare_builder *builder, enum compare_status status, const char *format,
                  ...) __attribute__((format(printf, 3, 4)));
bool builder_no_memory(struct compare_builder *builder);

/* The function with that name, which is added if it is new; NO_FUNCTION after a failure.  */
uint32_t builder_find_function(struct compare_builder *builder, const char *name, size_t length);
/* What place says of a function on a side widens what was known.  */
void builder_widen_place(struct compare_builder *builder, uint32_t function, enum compare_side side,
                         const struct compare_place *place);

/* The functions of all frames that have values (frames.c).  */
struct frame_functions {
    uint8_t *used; /* of each call site: bits 1 << side of the sides that have values below it */
    size_t *first; /* of each frame, where its functions begin; [frame + 1]: where they end */
    uint32_t *functions; /* outermost first */
};
bool frame_functions_find(struct compare_builder *builder, struct frame_functions *out);
void frame_functions_release(struct frame_functions *frames);

/* Roots of stacks "app-1234" and "app-1240/1241" become the function "app", if the numbers are
 * those of processes rather than of a pool's threads (numbered_roots.c).  */
bool numbered_roots_unite(struct compare_builder *builder, struct frame_functions *frames);

/* Find what was renamed (match.c).  to[i] becomes the function that function i is: itself, or
 * another one, whose places were completed; root_to[i] what it is as the root of a stack.  */
bool match_renamed(struct compare_builder *builder, const struct frame_functions *frames,
                   uint32_t *to, uint32_t *root_to);

/* Which builds of which modules each run sampled, and how much (builds.c).  */
bool builds_find(struct compare_builder *builder);

/* Make the tree of stacks, and the costs of the runs that have stacks (set_stacks.c).  */
bool stacks_add_up(struct compare_builder *builder, const struct frame_functions *frames,
                   const uint32_t *to, const uint32_t *root_to);

#endif /* COMPARE_BUILDER_H */
