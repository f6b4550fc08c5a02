/* compare_set.h - the input of a comparison: functions and stacks with their costs in the runs of
 * two builds.
 *
 * A builder takes runs one after another and builds a set.  A run is added as stacks, whose frames
 * are stored in the builder's profile, or as costs of functions:
 *
 *     compare_builder_open(NULL, &builder, &error);
 *     for each run:
 *         run = compare_builder_begin_run(builder, COMPARE_BASE, "base-1.fxt");
 *         run->samples = ...;
 *         compare_builder_set_type(builder, "cpu", "nanoseconds", &error);
 *         for each stack:
 *             compare_builder_add_stack(builder, callsite, value);
 *     profile_symbolize(compare_builder_profile(builder), session, &error);
 *     status = compare_builder_finish(builder, &set, &error);
 *     ...
 *     compare_builder_close(builder);
 *
 * Functions that add something return no status.  The first failure is kept, later additions are
 * ignored, and compare_builder_finish() returns that status.
 *
 * All texts are NUL-terminated UTF-8.  Input texts are made safe to show when they are copied:
 * control characters, bidirectional controls, line separators, bytes that are not UTF-8, U+FFFE and
 * U+FFFF become escapes such as \x9b and \u202e.  compare_raw_text() returns the original bytes.
 *
 * The library neither prints nor exits, and reads no files.  A handle must be used by one thread at
 * a time.  The result depends only on the additions and their order.  */
#ifndef FXT_COMPARE_SET_H
#define FXT_COMPARE_SET_H

#include <fxt/compare.h>
#include <fxt/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

enum compare_side { COMPARE_BASE = 0, COMPARE_NEW = 1, COMPARE_SIDES = 2 };

/* ---- The set ---- */

/* The place of a function on one side.  name is NULL if the side does not have the function.  */
struct compare_place {
    const char *name;    /* its name in that build; one of the names if there are several */
    const char *file;    /* as in the debug information; "" unknown */
    const char *module;  /* file name without folders; "" unknown */
    uint32_t start_line; /* of the declaration; 0 unknown */
    uint32_t first_line; /* sampled lines are [first_line, last_line]; 0 unknown */
    uint32_t last_line;
    bool is_root; /* it begins stacks, nothing calls it, and its file is unknown: a process */
};

/* A function of both builds, matched by the key of its name (below), or by its place if it was
 * renamed.  Ids count from 0.  */
struct compare_function {
    const char *name;                           /* for display */
    struct compare_place places[COMPARE_SIDES]; /* neither has a name: merged into another one */
    bool renamed;                               /* matched by place: the names differ */
};

/* The cost of a function in a run, in the unit of the set.  */
struct compare_cost {
    uint32_t function;
    double self;
    double total; /* with its callees, each stack counted once */
};

/* The cost of a stack in a run.  */
struct compare_stack_cost {
    uint32_t node; /* of the leaf */
    double value;
};

/* The environment of a run, as far as it is recorded.  NULL: unknown.  */
struct compare_environment {
    const char *cpu_model;
    const char *kernel;
    const char *arch;
    const char *compiler; /* of the module with most of the cost */
    const char *command;
    const char *commit;  /* what the program was built from */
    uint64_t period_ns;  /* between samples; 0 unknown */
    const char **builds; /* "BUILDID name" of the modules that have samples, sorted; may be NULL */
    size_t build_count;
    /* Of each build, the share of the run's cost, 0 to 1, in stacks that contain its code; NULL:
     * unknown.  */
    const double *build_shares;
    /* The same of code in files and in memory whose build is unknown, as code made at run time;
     * without the kernel's.  0 also if unknown.  */
    double unidentified;
};

struct compare_run {
    const char *label; /* as given */
    enum compare_side side;
    double cost;       /* the total of the sample type */
    double samples;    /* the number of samples from which the cost was estimated */
    bool type_assumed; /* the run does not name the type of its values */
    const char *lacks; /* the data it has no samples of, and those it has instead; NULL: unknown */
    double left_out;   /* functions up to this share, with callees, may be missing; 0: none */
    struct compare_cost *costs; /* sorted by function, none twice */
    size_t cost_count;
    /* sorted by node, none twice; none if only costs are known */
    struct compare_stack_cost *stacks;
    size_t stack_count;
    struct compare_environment environment;
};

/* A node of the tree of stacks.  A stack is represented by the node of its leaf.  Inlined functions
 * have nodes of their own.  Node 0 is the parent of the roots and has no function.  Parents have
 * smaller ids than their children.  */
struct compare_node {
    uint32_t parent;
    uint32_t function; /* UINT32_MAX for node 0 */
};

/* Type and unit of the values.  */
struct compare_type {
    const char *type; /* "cpu", "samples", "alloc_space", ... */
    const char *unit; /* "nanoseconds", "count", "bytes", ... */
};

/* Roots of stacks, as names of processes or threads, that are one although their names differ: most
 * of the cost above them is in the same functions.  */
struct compare_root {
    const char *base;
    const char *new_name;
};

/* A text of the set that has escapes, and the bytes that it was made of.  */
struct compare_raw {
    const char *text;
    const char *bytes; /* followed by a NUL */
    size_t length;
};

struct compare_set {
    struct compare_type type;
    struct compare_function *functions;
    size_t function_count;
    struct compare_root *roots; /* heaviest first; roots of the same name are not in it */
    size_t root_count;
    struct compare_node *nodes;
    size_t node_count;        /* including node 0, which always exists */
    struct compare_run *runs; /* base runs first; each side in the order of addition */
    size_t run_count;
    size_t side_runs[COMPARE_SIDES]; /* number of runs per side */
    struct compare_raw *raws;        /* sorted by the address of text; see compare_raw_text() */
    size_t raw_count;
    size_t unreadable_count; /* inputs that could not be read at all */
    bool damaged;            /* some input could only be read in part */
};

/* Return the mean cost of the runs of a side; 0 if it has none.  */
COMPARE_API double compare_mean_cost(const struct compare_set *set, enum compare_side side);

/* Return the mean cost of each stack per side: 2 * node_count numbers, base and new of one node
 * next to each other, to be released with free().  Returns NULL if there is no memory.  */
COMPARE_API double *compare_mean_stacks(const struct compare_set *set);

/* Return the share of a side's cost, 0 to 1, that is in code without symbols; negative if there is
 * no memory.  *name is set to the name of the function with most of it, such as "[kernel]"; NULL if
 * the share is 0.  */
COMPARE_API double compare_unnamed_share(const struct compare_set *set, enum compare_side side,
                                         const char **name);

/* Return the file of a function in the new build, else in the base.  *line is set to the line of
 * its declaration, else to the first sampled line.  "" and 0 if unknown.  line may be NULL.  */
COMPARE_API const char *compare_file_of(const struct compare_function *function, uint32_t *line);

/* Return the bytes that a text of the set was made of before it was made safe to show, followed by
 * a NUL; the text itself if it has no escapes.  *length is set to their number.  They may be no
 * UTF-8.  If several texts became the same one, the bytes are those of the first.  */
COMPARE_API const char *compare_raw_text(const struct compare_set *set, const char *text,
                                         size_t *length);

/* ---- Building a set ---- */

struct compare_builder;

struct compare_builder_options {
    size_t size;           /* sizeof(struct compare_builder_options) */
    bool ignore_templates; /* treat sort<int> and sort<long> as one function */
};

/* options may be NULL.  Returns COMPARE_OK, COMPARE_INVALID or COMPARE_NO_MEMORY.  */
COMPARE_API enum compare_status compare_builder_open(const struct compare_builder_options *options,
                                                     struct compare_builder **out,
                                                     struct compare_error *error);
COMPARE_API void compare_builder_close(struct compare_builder *builder); /* accepts NULL */

/* Return the profile whose stacks (profile_stacks_of()) have the call sites of all runs, so equal
 * stacks are stored, symbolized and named once.  It belongs to the builder until
 * compare_builder_finish(), which closes it.  */
COMPARE_API struct profile *compare_builder_profile(struct compare_builder *builder);

/* Begin a run.  Additions belong to it until the next run begins.  label is copied.
 *
 * Fill in samples, environment, type_assumed, lacks and left_out, with texts from
 * compare_builder_text() or of static storage.  If the run has no stacks, fill in cost, too;
 * otherwise it is the sum of the stacks.  The pointer is valid until the next run begins, and never
 * NULL.  */
COMPARE_API struct compare_run *compare_builder_begin_run(struct compare_builder *builder,
                                                          enum compare_side side,
                                                          const char *label);

/* The runs added so far, in order, to complete their environments.  */
COMPARE_API size_t compare_builder_run_count(const struct compare_builder *builder);
COMPARE_API struct compare_run *compare_builder_run(struct compare_builder *builder, size_t index);

/* Return a copy, safe to show, that lives as long as the builder.  Never NULL.  */
COMPARE_API const char *compare_builder_text(struct compare_builder *builder, const char *bytes,
                                             size_t length);

/* Add value, which must be finite and not negative, to a stack of the current run: a call site of
 * the builder's profile, or 0 for the empty stack.  */
COMPARE_API void compare_builder_add_stack(struct compare_builder *builder, profile_id callsite,
                                           double value);

/* Return the function with place->name on that side; if there is none, add it.  The members of
 * place are merged into those of the function.  NULL texts are unknown.  Texts are copied.  */
COMPARE_API uint32_t compare_builder_add_function(struct compare_builder *builder,
                                                  enum compare_side side,
                                                  const struct compare_place *place);

/* Add costs, finite and not negative, to a function of the current run, if runs have no stacks.  */
COMPARE_API void compare_builder_add_cost(struct compare_builder *builder, uint32_t function,
                                          double self, double total);

/* Set the type of the values of the current run.  Returns COMPARE_OK, or COMPARE_UNLIKE if an
 * earlier run has another type; then nothing is changed.  If no run has a type, that of the set is
 * samples/count.  */
COMPARE_API enum compare_status compare_builder_set_type(struct compare_builder *builder,
                                                         const char *type, const char *unit,
                                                         struct compare_error *error);

/* Return the type of the runs so far; members are NULL if none was set.  */
COMPARE_API struct compare_type compare_builder_type(const struct compare_builder *builder);

/* Record that an input could not be read at all: no verdict is possible.  */
COMPARE_API void compare_builder_add_unreadable(struct compare_builder *builder);

/* Record that an input could only be read in part: the verdict cannot be PASS.  */
COMPARE_API void compare_builder_set_damaged(struct compare_builder *builder);

/* Return the module of the builder's profile with most of the cost of a run; 0: none.  */
COMPARE_API profile_id compare_builder_heaviest_module(const struct compare_builder *builder,
                                                       size_t run);

/* Build the set: name the functions of all frames, match renamed functions, and add up the cost of
 * each function and each stack in each run.  *out belongs to the builder.
 *
 * Returns COMPARE_OK, the status of an earlier failure, COMPARE_NO_MEMORY, COMPARE_LIMIT (more than
 * 2^32 - 2 different stacks) or COMPARE_INVALID (called before).  On failure the builder can only
 * be closed.  */
COMPARE_API enum compare_status compare_builder_finish(struct compare_builder *builder,
                                                       const struct compare_set **out,
                                                       struct compare_error *error);

/* ---- Baselines: runs as a text file for a repository ---- */

/*     fxt-baseline 1
 *     # comments of people stay
 *     type cpu nanoseconds
 *     cpu_model AMD EPYC 7B13
 *     build 1f3a... app
 *     left_out 0.00012
 *     cost 2400000000 2412000000
 *     samples 2400 2412
 *     function main<TAB>src/main.c 10 12 40<TAB>app<TAB>1200 1180<TAB>998000 997500
 *
 * One run is one column: of cost, of samples, and of the two vectors of each function, which are
 * its own cost and its cost with callees in millionths of the run's cost.  Functions are sorted by
 * name; a place is "FILE START FIRST LAST" (lines; 0 unknown).  docs/comparison.md, section 7, has
 * the details.  */

enum { COMPARE_BASELINE_BYTES = 100000 }; /* larger files are neither read nor written */

/* Return whether these are the first bytes of a baseline.  16 bytes are enough.  */
COMPARE_API bool compare_is_baseline(const void *start, size_t length);

/* Add the runs of a baseline, whose labels are "NAME run 1", "NAME run 2", ...  name is also for
 * messages.  Returns COMPARE_OK, COMPARE_MALFORMED ("NAME:LINE: ..."; nothing was added),
 * COMPARE_UNLIKE (earlier runs have another type) or COMPARE_NO_MEMORY.  */
COMPARE_API enum compare_status compare_read_baseline(struct compare_builder *builder,
                                                      enum compare_side side, const char *name,
                                                      const void *bytes, size_t length,
                                                      struct compare_error *error);

/* Write the runs of one side as a baseline.  The comments of old (length bytes; may be NULL), an
 * earlier baseline, are kept.  Every run must have a cost and samples above 0.
 *
 * *out is a text of *out_length bytes, followed by a NUL, to be released with free().  The largest
 * functions are kept if not all fit.  Returns COMPARE_OK, COMPARE_INVALID (the side has no runs, or
 * an empty one), COMPARE_LIMIT (functions of more than 0.2 % of the cost would be left out: there
 * are too many runs) or COMPARE_NO_MEMORY.  */
COMPARE_API enum compare_status compare_write_baseline(const struct compare_set *set,
                                                       enum compare_side side, const void *old,
                                                       size_t length, char **out,
                                                       size_t *out_length,
                                                       struct compare_error *error);

/* ---- Names: matching the names of a function across builds ---- */

/* Compilers and linkers add parts to names that change from build to build although the function
 * was not edited.  The key of a name is the name without these parts:
 *
 *   foo.isra.0, foo.constprop.0, foo.part.3, foo.cold, foo.llvm.123, foo.lto_priv.0    foo
 *   foo(int) [clone .isra.0], foo(int) (.cold)                                    foo(int)
 *   f()::{lambda(int)#2}, f()::'lambda0'(int), f()::$_3     f()::{lambda(int)}, ..., f()::$_
 *   core::fmt::write::h0123456789abcdef, core[0f1e2d3c4b5a6978]::fmt::write
 *                                                                      core::fmt::write
 *   main.run.func2, main.run.func2.1                                       main.run.func
 *
 * Functions with one key are one function: their costs are added up.  */

/* Write the key of a name to out, which has room for length bytes, and return its length.  With
 * ignore_templates, template arguments are left out, too: sort<int> is sort.  The key is empty only
 * if length is 0.  */
COMPARE_API size_t compare_name_key(const char *name, size_t length, bool ignore_templates,
                                    char *out);

/* Profilers of interpreters write the sampled line into the names in folded stacks, which gives a
 * function as many names as lines: "run (src/app.py:12)", with a column "f (app.js:12:5)".  */
struct compare_placed_name {
    size_t length;    /* of "run (src/app.py", which followed by ")" is the function's name */
    const char *file; /* in the name */
    size_t file_length;
    unsigned line;
};

/* Find the file and the line in a name.  Returns false if it has none.  */
COMPARE_API bool compare_name_place(const char *name, size_t length,
                                    struct compare_placed_name *out);

/* Return whether a name represents code without symbols: "[libc.so.6]", "[kernel]", "[anon]".  */
COMPARE_API bool compare_name_is_missing(const char *name);

#ifdef __cplusplus
}
#endif

#endif /* FXT_COMPARE_SET_H */
