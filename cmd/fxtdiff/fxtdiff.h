/* fxtdiff.h - between the files of fxtdiff: what goes in, what came out, and who prints it.
 *
 *   runs      struct diff_set: functions, stacks, and what each of them cost in each run
 *   report    struct diff_report: the comparison, in words and in the order in which it is shown
 *   outputs   diff_outputs[]: one row an option that writes a report (outputs.c)
 *   policies  diff_policies[]: one row an option that changes a verdict before it is written
 *
 * Memory that is not freed by a function named here is the set's or the report's arena and lives as
 * long as they do.  Running out of it ends the program (cli_allocate()).  All text is UTF-8 without
 * control characters unless said otherwise: it was cleaned when it came in.  */
#ifndef FXTDIFF_H
#define FXTDIFF_H

#include <fxt/compare.h>
#include <fxt/profile.h>
#include "cmd/cli/profiles.h"

enum diff_side { DIFF_BASE = 0, DIFF_NEW = 1, DIFF_SIDES = 2 };

/* ---- Functions and runs ---- */

/* Where one side has a function.  Absent: name is NULL.  */
struct diff_place {
    const char *name;    /* as that build calls it, one of its spellings if there are several */
    const char *file;    /* as the debug information has it; "" unknown */
    const char *module;  /* name without folders; "" unknown */
    uint32_t start_line; /* of the declaration; 0 unknown */
    uint32_t first_line; /* of what was sampled in it: [first_line, last_line]; 0 unknown */
    uint32_t last_line;
};

/* A function as it is matched across builds: without clone suffixes, numbers of lambdas, hashes
 * (<fxt/compare_set.h>).  Ids count from 0.  */
struct diff_function {
    const char *name; /* what it is shown as */
    struct diff_place places[DIFF_SIDES];
    bool renamed; /* matched by file and lines: the names differ */
};

struct diff_cost {
    uint32_t function;
    double self;
    double total; /* with what it called, each stack once */
};

/* What a stack cost: node of the set's tree.  */
struct diff_stack_cost {
    uint32_t node;
    double value;
};

/* What a run says of where it was made.  NULL: unknown.  */
struct diff_environment {
    const char *cpu_model;
    const char *kernel;
    const char *arch;
    const char *compiler;
    const char *command;
    uint64_t period_ns;  /* 0 unknown */
    const char **builds; /* "BUILDID name" of the modules that have samples, sorted; may be NULL */
    size_t build_count;
};

struct diff_run {
    const char *label; /* as given: a path, "-", "base run 3" */
    enum diff_side side;
    double cost;             /* in all: of the sample type */
    double samples;          /* from how many samples that was estimated */
    bool type_assumed;       /* it does not say of which type its values are */
    const char *lacks;       /* what it has no samples of, and which instead; NULL: unknown */
    double left_out;         /* functions of at most this share, with callees, may be missing */
    struct diff_cost *costs; /* sorted by function, none twice */
    size_t cost_count;
    /* sorted by node, none twice; none where only costs are known, as in baselines */
    struct diff_stack_cost *stacks;
    size_t stack_count;
    struct diff_environment environment;
};

/* A node of the tree of call sites: a stack is the node of its leaf.  Node 0 is none: the parent of
 * roots.  */
struct diff_node {
    uint32_t parent;
    uint32_t function; /* index into functions */
};

/* What the values mean.  */
struct diff_type {
    const char *type; /* "cpu", "samples", "alloc_space", ... */
    const char *unit; /* "nanoseconds", "count", "bytes", ... */
};

struct diff_arena; /* arena.h */

struct diff_set {
    struct diff_arena *arena;
    struct diff_type type;
    struct diff_function *functions;
    size_t function_count;
    struct diff_node *nodes; /* [0] is none */
    size_t node_count;       /* with it */
    struct diff_run *runs;   /* those of the base first, each side in the order given */
    size_t run_count;
    size_t side_runs[DIFF_SIDES];
    size_t unreadable_count; /* inputs of which nothing could be read: they are no runs */
};

/* ---- Building a set from something else than profiles ---- */

struct diff_builder; /* builder.h: keeps indexes; the set is complete after diff_builder_finish() */

/* A copy that lives as long as the set; control characters become '?'.  */
const char *diff_copy(struct diff_builder *builder, const char *bytes, size_t length);

/* Begin a run: what is added goes into it until the next one begins.  The run is borrowed until
 * then; fill in cost, samples and environment.  label is copied.  */
struct diff_run *diff_begin_run(struct diff_builder *builder, enum diff_side side,
                                const char *label);

/* The function with this name on that side, made when it is new.  What is known of its place widens
 * what was known; place->name is the spelling, which is matched by its key (<fxt/compare_set.h>).
 * Strings are copied when they are new.  */
uint32_t diff_add_function(struct diff_builder *builder, enum diff_side side,
                           const struct diff_place *place);

/* What a function cost in the current run, for runs without stacks.  */
void diff_add_cost(struct diff_builder *builder, uint32_t function, double self, double total);

/* The values of the run that was begun are of this type.  False, after a message, when runs before
 * it had another.  */
bool diff_set_type(struct diff_builder *builder, const char *type, const char *unit);

/* ---- Settings ---- */

/* How inputs are read: the same options for every command that reads runs.  */
struct diff_reading {
    struct cli_profiles profiles;
    const char *sample_type; /* --sample-type; NULL: as --metric and the input say */
    bool ignore_templates;
    unsigned jobs;       /* traces read at once; 0: as many as there are CPUs */
    const char *scratch; /* a folder that runs are shown without, for it will be gone; NULL: none */
};

struct diff_settings {
    struct diff_reading reading;
    struct compare_options compare;
    enum diff_metric { DIFF_METRIC_BOTH, DIFF_METRIC_SELF, DIFF_METRIC_TOTAL } metric;
    struct cli_texts inputs[DIFF_SIDES];
    size_t rows; /* of tables; 0: all */
    bool quiet;
    /* The argument of each diff_outputs[] and diff_policies[] row ("" for those that take none);
     * NULL: not given.  */
    const char **outputs;
    const char **policies;
};

/* Read paths as runs of a side, symbolized and matched.  Messages are printed; the status is the
 * worst.  */
enum cli_exit diff_read(struct diff_builder *builder, enum diff_side side,
                        const struct cli_texts *paths);

struct diff_builder *diff_builder_open(const struct diff_reading *reading); /* borrowed */
/* Symbolize, match what only one side has, sort, make the set.  It belongs to the builder.  NULL
 * after a message.  */
struct diff_set *diff_builder_finish(struct diff_builder *builder);
void diff_builder_close(struct diff_builder *builder); /* accepts NULL */

/* ---- Report ---- */

enum diff_state {
    DIFF_BOTH = 0,
    DIFF_NEW_FUNCTION = 1, /* no run of the base has it, though by its share they would */
    DIFF_GONE = 2,         /* no new run has it, likewise */
    DIFF_RENAMED = 3,      /* another name, the same place */
};

/* One family's numbers of one function in the order of struct compare_change, decided.  */
struct diff_row {
    uint32_t function; /* of the set */
    enum diff_state state;
    const struct diff_function *names;
    struct compare_change self;
    struct compare_change total;
    double self_interval[2];  /* 95 % limits of the change of share: new - base, 0.01 is a point */
    double total_interval[2]; /* equal to each other where runs do not tell */
    enum compare_flag flag;   /* the worse of both families' */
    /* Why a REGRESSED row does not fail the gate: a policy's reason, or NULL.  */
    const char *suppressed;
};

/* A rule beside the comparison that was kept or broken: budgets.  */
struct diff_rule {
    const char *text;   /* the rule as written: "function parse_* self < 5%" */
    const char *result; /* "parse_header has 6.2 %" */
    const char *place;  /* "budgets.txt:3" */
    const char *file;   /* of the function, for annotations; "" unknown */
    uint32_t line;
    enum diff_outcome { DIFF_RULE_KEPT, DIFF_RULE_BROKEN, DIFF_RULE_UNKNOWN } outcome;
};

struct diff_report {
    struct diff_arena *arena;
    const struct diff_set *set;
    const struct diff_settings *settings;

    enum compare_verdict verdict;
    /* Sentences, most important first: why the verdict is what it is, how many runs would do.  */
    const char **reasons;
    size_t reason_count;
    /* Of less weight: environments differ, runs without symbols, suppressions that expired.  */
    const char **notes;
    size_t note_count;
    const char *power; /* one line: what these runs could have found */

    /* NULL where there is nothing to compare with: one side only, for budgets, or runs that cannot
     * be compared, for which problem gives the reason.  */
    struct compare_result *comparison;
    const char *problem;          /* a phrase; NULL: none */
    const char *total_suppressed; /* why a regressed total does not fail the gate; NULL: it does */
    struct diff_rule *rules;
    size_t rule_count;

    /* Every function, the findings first: regressed, moved, improved, then by largest change.  */
    struct diff_row *rows;
    size_t row_count;
    size_t regressed_count; /* that count: neither moved nor suppressed */
    size_t moved_count;
    size_t improved_count;
    size_t suppressed_count;
    size_t new_count, gone_count, renamed_count;
    enum cli_exit input_status; /* CLI_DAMAGED when some input was */

    size_t reason_capacity, note_capacity, rule_capacity; /* for report.c only */
};

/* Compare the runs of a set.  NULL after a message: they are not of one kind.  set and settings are
 * borrowed; the report belongs to the caller.  It has no verdict before diff_report_judge().  */
struct diff_report *diff_report_open(const struct diff_set *set,
                                     const struct diff_settings *settings);
/* Decide, count and sort, with what policies did.  */
void diff_report_judge(struct diff_report *report);
enum cli_exit diff_report_exit(const struct diff_report *report); /* status of a verdict */
void diff_report_close(struct diff_report *report);               /* accepts NULL */
bool diff_total_regressed(const struct diff_report *report);      /* with a comparison */

/* For policies.  Text is copied.  After any of them the verdict is made anew.  */
void diff_report_reason(struct diff_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void diff_report_note(struct diff_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
struct diff_rule *diff_report_rule(struct diff_report *report);
const char *diff_report_text(struct diff_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The mean of runs of a side; of a stack (node) by run, of a function.  */
double diff_mean_cost(const struct diff_set *set, enum diff_side side);

/* What each stack cost in an average run of each side, for nodes 0..node_count - 1:
 * 2 * node_count numbers, base and new of a node beside each other, from malloc().  */
double *diff_mean_stacks(const struct diff_set *set);

/* "1.25 s", "12.0 MiB", "3,400": a cost in the set's unit.  text has room for 32 bytes.  */
const char *diff_amount(const struct diff_set *set, double value, char text[32]);

/* The larger of both families' changes of share, whatever its sign.  */
double diff_row_change(const struct diff_row *row);

/* "file:line" of the new side, else of the base; "" when unknown.  line may be NULL.  */
const char *diff_file_of(const struct diff_function *function, uint32_t *line);

const char *diff_verdict_name(enum compare_verdict verdict); /* "PASS", ... */
const char *diff_state_name(enum diff_state state);          /* "", "NEW", ... */
const char *diff_flag_name(enum compare_flag flag);          /* "regressed", ... */

/* ---- Readers, outputs, policies, commands ---- */

/* A kind of input beside traces.  Whatever is no regular file (standard input, a pipe) was copied
 * into one before.  */
struct diff_reader {
    /* Whether this is such a file, by its first bytes, uncompressed if they were gzip's.  */
    bool (*recognizes)(const unsigned char *start, size_t length);
    /* Add its runs: one, or as many as it has.  path is what to open, label what to call it in
     * messages and in struct diff_run.  Messages are printed.  */
    enum cli_exit (*read)(struct diff_builder *builder, enum diff_side side, const char *path,
                          const char *label);
};
extern const struct diff_reader diff_readers[]; /* readers.c; ends with recognizes NULL */

/* Writes a report.  argument is a path ("-" stdout) or "" when the option takes none.  Messages are
 * printed.  */
typedef enum cli_exit (*diff_write_fn)(const struct diff_report *report, const char *argument);

/* One row of diff_output_options[].  */
struct diff_output {
    diff_write_fn write;
    bool replaces_text; /* written to stdout in place of the text; its option takes none */
    bool is_profile;    /* which could be an input */
    bool binary;        /* nothing for a terminal */
};

/* The options of what is built (outputs.c; keys from DIFF_OUTPUT_KEYS on), and row by row what
 * writes it, NULL at the end.  Without an argument it is written to stdout.  */
enum { DIFF_OUTPUT_KEYS = 1000, DIFF_POLICY_KEYS = 2000 };
extern const struct cli_option diff_output_options[];
extern const struct diff_output diff_outputs[];

/* Looks at a finished comparison before anything is written: suppresses rows, adds rules, reasons
 * and notes.  Without a report - before anything was captured or read - only whether the argument
 * can be used.  Returns CLI_OK, or CLI_USAGE / CLI_ENVIRONMENT after a message, which ends the
 * program.  */
typedef enum cli_exit (*diff_policy_fn)(struct diff_report *report, const char *argument);

/* Likewise (policies.c; keys from DIFF_POLICY_KEYS on).  */
extern const struct cli_option diff_policy_options[];
extern const diff_policy_fn diff_policies[];

#endif /* FXTDIFF_H */
