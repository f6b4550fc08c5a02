/* builder.h - between what reads runs (read.c, readers) and what makes a set of them (builder.c,
 * match.c).
 *
 * Runs that come with stacks leave them here as call sites of one struct profile, so that what is
 * equal in all runs is stored, symbolized and named once.  */
#ifndef FXTDIFF_BUILDER_H
#define FXTDIFF_BUILDER_H

#include "cmd/fxtdiff/arena.h"
#include "cmd/fxtdiff/fxtdiff.h"

/* The stacks of one run: values of call sites, which may repeat.  */
struct diff_raw {
    profile_id *callsites;
    double *values;
    size_t count, callsite_capacity, value_capacity;
};

struct diff_builder {
    struct diff_set set;
    struct diff_texts keys;    /* of functions: same number */
    struct diff_texts strings; /* every text of the set */
    char *key;                 /* scratch */
    size_t key_capacity;
    size_t run_capacity, function_capacity, cost_capacity;
    struct diff_raw *raws; /* of each run */
    size_t raw_capacity;
    bool ignore_templates;

    struct profile *profile;            /* stacks of all runs */
    const struct diff_reading *reading; /* how to symbolize them; NULL: nothing to symbolize */
    char *kernel_symbols;               /* of the first trace that has any; owned */
    size_t kernel_symbols_size;
    int kind;               /* enum profile_kind of the traces; -1: none read yet */
    const char *type_label; /* of the run that said the type first */
};

/* A value of a stack of the current run.  The call site belongs to builder->profile.  */
void diff_add_stack(struct diff_builder *builder, profile_id callsite, double value);

/* A run of folded stacks has values of an unknown type: that of the others, or samples.  */
void diff_assume_type(struct diff_builder *builder);

/* The function of that name, made when it is new; and what is known of it on a side.  */
uint32_t diff_find_function(struct diff_builder *builder, const char *name, size_t length);
void diff_widen_place(struct diff_builder *builder, uint32_t function, enum diff_side side,
                      const struct diff_place *place);

/* stacks.c.  Which functions the frames of all stacks stand for; then the tree of the set and the
 * costs of its runs from what was left in the builder.  to as above.  */
struct diff_frames {
    uint8_t *used;       /* of each call site: bits 1 << enum diff_side */
    size_t *first;       /* of each frame, where its functions begin; [frame + 1] where they end */
    uint32_t *functions; /* outermost first */
};
void diff_name_frames(struct diff_builder *builder, struct diff_frames *out);
void diff_build_stacks(struct diff_builder *builder, const struct diff_frames *frames,
                       const uint32_t *to);
void diff_frames_release(struct diff_frames *frames);

/* match.c: find what was renamed.  to[i] becomes the function that function i is: itself, or
 * another, whose places were completed.  Of a builder without a profile frames are not looked
 * at.  */
void diff_match_renamed(struct diff_builder *builder, const struct diff_frames *frames,
                        uint32_t *to);

#endif /* FXTDIFF_BUILDER_H */
